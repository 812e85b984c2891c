/// Whole lines to a descriptor, in order, without making the caller wait.
///
/// Events are told from the transport's own threads, which must not block; a queue of our own does the writing.
final class LineLog: Sendable {
    private let descriptor: Descriptor
    private let queue = BlockingQueue(label: "lade.log")
    private let secrets: SecretMask?

    /// Makes a log that writes to a descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: Where the lines go.
    ///   - secrets: What no line shows.
    init(_ descriptor: Descriptor, hiding secrets: SecretMask? = nil) {
        self.descriptor = descriptor
        self.secrets = secrets
    }

    /// Writes a text after everything that was written before.
    func write(_ text: String) {
        // A log that cannot be written is no reason to fail, and there is no other place to say so.
        queue.enqueue { [descriptor, text = secrets?.masked(text) ?? text] in try? descriptor.write(text.utf8) }
    }

    /// Waits until everything is written.
    func flush() {
        queue.drain()
    }
}
