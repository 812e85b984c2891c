import Foundation
import SharedDoubles
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct LineLogTests {
    @Test("writes nothing after a line that could not be written, where that hides a gap", arguments: [false, true])
    func gap(endsAtFailure: Bool) async throws {
        signal(SIGPIPE, SIG_IGN)
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path + "pipe"
        try #require(mkfifo(path, 0o600) == 0)
        // Without a reader a write fails; with another one it succeeds again.
        let first = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
        let sink = try Descriptor.open(path, O_WRONLY)
        let log = LineLog(sink, endsAtFailure: endsAtFailure)
        try first.close()

        log.write("1\n")
        log.flush()
        let second = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
        log.write("2\n")
        let failure = await log.takeFailure()
        try sink.close()

        #expect(failure == SystemError(number: EPIPE))
        #expect(String(decoding: try second.read(upTo: 10), as: UTF8.self) == (endsAtFailure ? "" : "2\n"))
        try second.close()
    }
}
