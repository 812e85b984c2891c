#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Reads the secret of `--auth` from its source, or asks the user.
struct SecretReader: Sendable {
    /// The source; nil to ask on the terminal.
    let source: PolicySettings.SecretSource?
    /// The prompt on the terminal.
    let prompt: PasswordPrompt
    /// The beginning of the options that name a source.
    var option = "--secret"

    // A longer file is not a secret but the wrong file.
    private static let limit = 64 << 10

    /// Reads the secret.
    ///
    /// - Throws: A usage error when there is none; the quiet error of an interruption when the task is cancelled.
    func secret(asking question: String) async throws(CommandError) -> Secret {
        switch source {
        case nil:
            return try await prompt.ask(question, otherwise: "Give it by \(option)-env NAME or \(option)-fd N.")
        case .environment(let name):
            guard let value = try Environment.value(named: name), !value.isEmpty else {
                throw .usage("\(option)-env: the variable \(name) is not set", advice: "Set and export it.")
            }
            return Secret(value)
        case .descriptor(let number):
            return try await read(Descriptor(number: number))
        }
    }

    /// Reads to the end, and removes the line end that most tools add.
    private func read(_ descriptor: Descriptor) async throws(CommandError) -> Secret {
        let result = await BlockingQueue(label: "lade.secret").run { () -> Result<Data, SystemError> in
            var all = Data()
            do throws(SystemError) {
                while all.count <= Self.limit {
                    let chunk = try descriptor.read(upTo: 4_096)
                    if chunk.isEmpty { break }
                    all.append(chunk)
                }
                return .success(all)
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case nil: throw .interrupted
        case .failure(let error):
            throw .usage("\(option)-fd \(descriptor.number): \(error.reason)", advice: "Open it in the shell: 3<FILE.")
        case .success(let data):
            let isLineEnd = { (byte: UInt8) in byte == 0x0A || byte == 0x0D }
            let secret = data.prefix { !isLineEnd($0) }
            guard !secret.isEmpty, data.count <= Self.limit, data[secret.endIndex...].allSatisfy(isLineEnd),
                !secret.contains(0), let text = String(validating: secret, as: UTF8.self)
            else {
                throw .usage("\(option)-fd \(descriptor.number) has no secret of one line", advice: "Check the file.")
            }
            return Secret(text)
        }
    }
}
