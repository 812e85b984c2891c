import Lade

/// The secrets that a command was given, masked by value in everything that it says.
///
/// The library leaves out what it knows to be a secret. This is the last door: it also finds a secret that a server repeats
/// where the library does not look. Data on the standard output is the user's and passes as it is.
final class SecretMask: Sendable {
    /// Shorter texts would be found in every other word.
    private static let leastLength = 4

    private struct State {
        var secrets: Set<Secret> = []
        var rule: Redaction?
        var isOff = false
    }

    private let state = Locked(State())

    /// Adds secrets; they are masked in what is said from now on.
    func add(_ secrets: [Secret]) {
        state.withLock { state in
            state.secrets.formUnion(secrets)
            let forms = state.secrets.map { $0.reveal() }.flatMap { text in
                [text, String(JSONQuoting.string(text).dropFirst().dropLast()), text.escapedForDisplay(limit: .max)]
            }
            state.rule = Redaction(names: [], values: forms, leastLength: Self.leastLength)
        }
    }

    /// Masks nothing from now on, for a user that asked to see secrets.
    func showSecrets() {
        state.withLock { $0.isOff = true }
    }

    /// Whether the user asked to see secrets.
    var showsSecrets: Bool { state.withLock { $0.isOff } }

    /// A text without the secrets.
    func masked(_ text: String) -> String {
        state.withLock { $0.isOff ? nil : $0.rule }?.maskingValues(text) ?? text
    }
}
