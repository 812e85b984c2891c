import Lade

/// Masks the secrets of a command in everything that it prints.
///
/// The library leaves out the values that it handles as secrets. The mask also finds a secret that a server repeats
/// elsewhere. Data on the standard output belongs to the user and is not masked.
final class SecretMask: Sendable {
    /// Shorter texts would match parts of many words.
    private static let leastLength = 4

    private struct State {
        var secrets: Set<Secret> = []
        var rule: Redaction?
        var isOff = false
    }

    private let state = Locked(State())

    /// Adds secrets, which are masked in all later messages.
    func add(_ secrets: [Secret]) {
        state.withLock { state in
            state.secrets.formUnion(secrets)
            let forms = state.secrets.map { $0.reveal() }.flatMap { text in
                [text, String(JSONQuoting.string(text).dropFirst().dropLast()), text.escapedForDisplay(limit: .max)]
            }
            state.rule = Redaction(names: [], values: forms, leastLength: Self.leastLength)
        }
    }

    /// Stops masking, for --show-secrets.
    func showSecrets() {
        state.withLock { $0.isOff = true }
    }

    /// Whether the user asked to see secrets.
    var showsSecrets: Bool { state.withLock { $0.isOff } }

    /// A text with its secrets masked.
    func masked(_ text: String) -> String {
        state.withLock { $0.isOff ? nil : $0.rule }?.maskingValues(text) ?? text
    }
}
