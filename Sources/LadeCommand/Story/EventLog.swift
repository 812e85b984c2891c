import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes every event of a command to a file, one JSON object on each line (`--events`).
final class EventLog: Call.Observer {
    private let log: LineLog
    private let path: String
    private let start: Instant

    /// Opens the file for appending, so that nothing is overwritten; a new file can be read by its owner only.
    ///
    /// A pipe must have a reader.
    ///
    /// - Throws: A local error when it cannot be opened.
    init(_ path: String, start: Instant, hiding secrets: SecretMask? = nil) throws(CommandError) {
        do throws(SystemError) {
            let file = try Descriptor.open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, mode: 0o600)
            // A line after a gap would hide that others are missing.
            log = LineLog(file, hiding: secrets, endsAtFailure: true)
        } catch {
            throw .file(path, "written", error)
        }
        self.path = path
        self.start = start
    }

    /// Writes a line.
    func record(_ event: Call.Event, of call: Call) {
        log.write(EventRecord(event).line(at: start.duration(to: call.time.now), of: call))
    }

    /// Waits until every line is in the file, and returns the error if one could not be written.
    ///
    /// When the task is cancelled, a pipe whose reader takes no more is waited for one second at most.
    func failure() async -> CommandError? {
        await log.takeFailure().map { CommandError.file(path, "written", $0) }
    }
}
