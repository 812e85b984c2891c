import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// The first Ctrl-C, while bytes are ready and while none come.
@Suite("Interrupts", .timeLimit(.minutes(5)))
struct InterruptTests {
    /// A server whose body never ends, and is always ready.
    private func endlessServer() throws -> LoopbackServer {
        let block = Data(repeating: UInt8(ascii: "x"), count: 64 << 10)
        return try LoopbackServer { _ in
            let fields = [ServerField("Content-Length", String(1 << 40)), ServerField("ETag", "\"1\"")]
            return ServerResponse(
                fields: fields,
                body: .raw { connection in while true { try connection.send(block) } }
            )
        }
    }

    @Test(
        "finding UF-1 one interrupt ends a download of bytes that are ready, and says what is kept",
        arguments: [["-O"], ["-o", "file"]]
    )
    func download(target: [String]) async throws {
        let server = try endlessServer()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let process = try LadeProcess(["get"] + target + [server.address("/file")], in: folder.path)
        try await server.sent(atLeast: 16 << 20)
        process.send(SIGINT)

        let outcome = try await process.outcome()

        #expect(outcome.status == 130)
        #expect(outcome.talkLines.last?.hasSuffix(" are kept; the same command resumes.") == true)
        #expect(folder.names == [".file.lade-note", ".file.lade-part"])
    }

    @Test("finding UF-1 one interrupt ends a body on the standard output while bytes are ready")
    func standardOutput() async throws {
        let server = try endlessServer()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let process = try LadeProcess(["get", server.address()], to: .file("/dev/null"), in: folder.path)
        try await server.sent(atLeast: 16 << 20)
        process.send(SIGINT)

        #expect(try await process.outcome().status == 130)
    }

    @Test("finding UF-1 an interrupt before a version is known says that nothing is kept")
    func nothingKept() async throws {
        let server = try LoopbackServer(script: [.readRequest, .stall])
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let process = try LadeProcess(["get", "-o", "file", server.address()], in: folder.path)
        _ = try await server.head(at: 0)
        process.send(SIGINT)

        let outcome = try await process.outcome()

        #expect(outcome.status == 130)
        #expect(outcome.talkLines == ["lade: Nothing of the download is kept; the same command begins anew."])
        #expect(folder.names == [])
    }

    @Test("one interrupt ends pages of a silent server, and saves whole pages: finding UF-1 finding CF-31 pages PA-24")
    func silentPages() async throws {
        let server = try LoopbackServer { request in
            guard request.queryItem("p") == nil else {
                return ServerResponse(body: .raw { connection in try connection.stall() })
            }
            return .json("[1]", [ServerField("Link", "</?p=1>; rel=next")])
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let process = try LadeProcess(["pages", server.address(), "-o", "all"], in: folder.path)
        _ = try await server.head(at: 1)
        process.send(SIGINT)

        let outcome = try await process.outcome()

        #expect(outcome.status == 12)
        #expect(
            outcome.talkLines == [
                "lade: Finishing the page; interrupt again to end immediately.",
                "lade: Stopped after 1 page, 1 item.", "      The same command continues from there.",
            ]
        )
        #expect(folder.text("all") == "1\n")
    }

    @Test("finding CF-31 SIGQUIT ends the program immediately, without a report of a crash")
    func quit() async throws {
        let server = try LoopbackServer(script: [.readRequest, .stall])
        let process = try LadeProcess(["get", server.address()])
        _ = try await server.head(at: 0)
        process.send(SIGQUIT)

        let outcome = try await process.outcome()

        #expect(outcome.status == 131)
        #expect(outcome.talk == "")
        #expect(outcome.output == "")
    }
}
