/// Writes whole lines to a descriptor, in order, without blocking the caller.
///
/// Events are recorded on transport threads, which must not block, so a separate queue writes the lines.
final class LineLog: Sendable {
    private let descriptor: Descriptor
    private let queue = BlockingQueue(label: "lade.log")
    private let secrets: SecretMask?

    /// Makes a log that writes to a descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: Where the lines go.
    ///   - secrets: The secrets that no line shows.
    init(_ descriptor: Descriptor, hiding secrets: SecretMask? = nil) {
        self.descriptor = descriptor
        self.secrets = secrets
    }

    /// Writes a text after everything written before.
    func write(_ text: String) {
        // A failed write to the log is not an error of the command, and there is no other place to report it.
        queue.enqueue { [descriptor, text = secrets?.masked(text) ?? text] in try? descriptor.write(text.utf8) }
    }

    /// Waits until everything is written.
    func flush() {
        queue.drain()
    }
}
