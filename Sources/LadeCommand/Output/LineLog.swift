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

    /// Replaces the cursor's line by a line that fits the terminal, so that the next line can replace it.
    ///
    /// - Parameters:
    ///   - line: The text, in which texts of others control nothing; empty to remove the line.
    ///   - columns: The width of the terminal; by default its own, if it has one.
    func show(_ line: String, in columns: Int? = nil) {
        // The last column stays free: some terminals go to the next line after it.
        let most = max(0, (columns ?? descriptor.columns ?? 1_000) - 1)
        write("\r\(line.escapedForDisplay(limit: 1_000).truncated(toColumns: most))\u{1B}[K")
    }

    /// Writes a line for the user.
    ///
    /// A text of others within the line cannot add a line or control the terminal.
    func say(_ line: String) {
        write(line.escapedForDisplay(limit: 4_000) + "\n")
    }

    /// Waits until everything is written, and returns the error of the first line that could not be written.
    ///
    /// A cancelled task waits for one second at most.
    func takeFailure() async -> SystemError? {
        if descriptor.isRegularFile {
            flush()
        } else if await queue.run({}) == nil {
            queue.drain(atMostSeconds: 1)
        }
        return failure.withLock(\.self)
    }

    /// Waits until everything is written.
    func flush() {
        queue.drain()
    }
}
