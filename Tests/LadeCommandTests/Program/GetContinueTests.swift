import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Downloads that the next command completes.
@Suite("lade get, continuing a file", .timeLimit(.minutes(5)))
struct GetContinueTests: GetResumeSuite {
    #if os(Linux)
        /// A server that stops in the middle of the first response.
        private func stoppingServer() throws -> LoopbackServer {
            try server { request, number in
                number == 0 ? Self.whole(upTo: 200_000, .silence) : Self.rest(of: request)
            }
        }

        /// Waits until the part has bytes, which only the file system shows.
        private func arrival(in folder: TemporaryFolder) async throws {
            let watch = inotify_init1(Int32(IN_CLOEXEC))
            defer { close(watch) }
            try #require(inotify_add_watch(watch, folder.path, UInt32(IN_MODIFY)) >= 0)
            let queue = BlockingQueue(label: "lade.test.watch")
            while (FileManager.default.contents(atPath: folder.path + ".big.bin.lade-part") ?? Data()).isEmpty {
                _ = await queue.run { () -> Int in
                    var buffer = [UInt8](repeating: 0, count: 4_096)
                    return read(watch, &buffer, buffer.count)
                }
            }
        }

        @Test("resumes -O after Ctrl-C and after kill -9, and leaves no part behind", arguments: [SIGINT, SIGKILL])
        func resumed(signal: Int32) async throws {
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let server = try stoppingServer()
            let first = try LadeProcess(["-O", server.address("/big.bin")], in: folder.path)
            try await arrival(in: folder)
            first.send(signal)
            let ended = try await first.outcome()
            #expect(ended.status == 128 + signal)
            #expect(folder.names.contains(".big.bin.lade-part"))

            let second = try await LadeProcess.run("-O", server.address("/big.bin"), in: folder.path)

            #expect(second.status == 0, "\(second.talk)")
            #expect(folder.names == ["big.bin"])
            #expect(Self.same(FileManager.default.contents(atPath: folder.path + "big.bin"), Self.content))
        }
    #endif

    @Test(
        "completes with -C a file that another tool has begun",
        arguments: [["-C"], ["-C", "-"], ["-C-"], ["--continue"]]
    )
    func foreign(option: [String]) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try Data(Self.content.prefix(70_000)).write(to: URL(fileURLWithPath: folder.path + "out"))
        let server = try server { request, _ in
            let range = ServerField("Content-Range", "bytes 70000-299999/300000")
            return request["Range"] == "bytes=70000-"
                ? Self.whole(Self.content[70_000...], [Self.tag, range], status: 206) : .status(400)
        }
        let outcome = try await LadeProcess(["get"] + option + ["-o", "out", server.address()], in: folder.path)
            .outcome()
        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(Self.same(FileManager.default.contents(atPath: folder.path + "out"), Self.content))
        #expect(folder.names == ["out"])
        #expect(server.requests.allSatisfy { $0["If-Range"] == nil })
    }

    @Test("continues with -C where an interrupted completion ended, with the version of its first answer")
    func foreignTwice() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try Data(Self.content.prefix(70_000)).write(to: URL(fileURLWithPath: folder.path + "out"))
        let server = try server { request, number in
            let range = ServerField("Content-Range", "bytes 70000-299999/300000")
            return number == 0
                ? Self.whole(Self.content[70_000...], [Self.tag, range], status: 206, upTo: 30_000)
                : Self.rest(of: request)
        }
        let first = try await LadeProcess.run("get", "-C", "-o", "out", server.address(), in: folder.path)
        #expect(first.status == 7)
        #expect(first.talk.contains("lade: 100 kB are kept; the same command resumes.\n"))
        let second = try await LadeProcess.run("get", "-C", "-o", "out", server.address(), in: folder.path)
        #expect(second.status == 0, "\(second.talk)")
        #expect(Self.ranges(server) == ["bytes=70000-", "bytes=100000-"])
        #expect(Self.same(FileManager.default.contents(atPath: folder.path + "out"), Self.content))
        #expect(folder.names == ["out"])
    }

    @Test("leaves a file as it is with -C when the server does not send its rest")
    func noRest() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("out", "old")
        let server = try server { _, _ in Self.whole() }
        let outcome = try await LadeProcess.run("get", "-C", "-o", "out", server.address(), in: folder.path)
        #expect(outcome.status == 14)
        #expect(outcome.talkLines.count == 2)
        #expect(outcome.talk.contains("does not send the rest"))
        #expect(folder.text("out") == "old")
        #expect(folder.names == ["out"])
    }

    @Test("ends well with -C when nothing is missing, and begins an empty file")
    func complete() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("out", "all")
        _ = try folder.file("empty", "")
        let whole = try server { _, _ in .status(416, [ServerField("Content-Range", "bytes */3")]) }
        let outcome = try await LadeProcess.run("get", "-C", "-o", "out", whole.address(), in: folder.path)
        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(folder.text("out") == "all")
        let begun = try server { _, _ in .text("text") }
        #expect(try await LadeProcess.run("get", "-C", "-o", "empty", begun.address(), in: folder.path).status == 0)
        #expect(folder.text("empty") == "text")
        #expect(folder.names == ["empty", "out"])
    }

    @Test("shows the message of a server whose status makes no file")
    func message() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { _, _ in .json(#"{"error":"no \u001b[31mquota"}"#, status: 403) }
        let outcome = try await LadeProcess.run("get", "-o", "out", server.address(), in: folder.path)
        #expect(outcome.status == 4)
        #expect(outcome.talk.hasPrefix("{\n  \"error\": \"no \\u001b[31mquota\"\n}\nlade: "))
        #expect(folder.names == [])
        let quiet = try await LadeProcess.run("get", "-f", "-o", "out", server.address(), in: folder.path)
        #expect(quiet.talkLines.count == 2)
        let device = try await LadeProcess.run("get", "-o", "/dev/null", server.address(), in: folder.path)
        #expect(device.talk.contains("quota"))
    }

    @Test("shows no more than the beginning of a message, and nothing that is no text")
    func messageLimits() {
        let lines = ServerMessage.text(of: Data(String(repeating: "a\n", count: 50).utf8), contentType: nil)
        #expect(lines == String(repeating: "a\n", count: 20) + "...\n")
        #expect(ServerMessage.text(of: Data([0x61, 0]), contentType: nil) == "")
        #expect(ServerMessage.text(of: Data(), contentType: nil) == "")
        #expect(ServerMessage.text(of: Data("one".utf8), contentType: "text/plain") == "one\n")
    }
}
