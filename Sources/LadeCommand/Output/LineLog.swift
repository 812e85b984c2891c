import Lade

/// Writes whole lines to a descriptor, in order, without blocking the caller.
///
/// Events are recorded on transport threads, which must not block, so a separate queue writes the lines.
final class LineLog: Sendable {
    private let descriptor: Descriptor
    private let queue = BlockingQueue(label: "lade.log")
    private let secrets: SecretMask?
    private let endsAtFailure: Bool
    private let failure = Locked(SystemError?.none)

    /// Makes a log that writes to a descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: Where the lines go.
    ///   - secrets: The secrets that no line shows.
    ///   - endsAtFailure: Whether nothing is written after a line that could not be written.
    init(_ descriptor: Descriptor, hiding secrets: SecretMask? = nil, endsAtFailure: Bool = false) {
        self.descriptor = descriptor
        self.secrets = secrets
        self.endsAtFailure = endsAtFailure
    }

    /// Writes a text after everything written before; a failure is kept for ``takeFailure()``.
    func write(_ text: String) {
        queue.enqueue { [self, text = secrets?.masked(text) ?? text] in
            if endsAtFailure, failure.withLock({ $0 != nil }) { return }
            do throws(SystemError) {
                try descriptor.write(text.utf8)
            } catch {
                failure.withLock { $0 = $0 ?? error }
            }
        }
    }

    /// Waits until everything is written, and returns the error of the first line that could not be written.
    func takeFailure() -> SystemError? {
        flush()
        return failure.withLock(\.self)
    }

    /// Waits until everything is written.
    func flush() {
        queue.drain()
    }
}
