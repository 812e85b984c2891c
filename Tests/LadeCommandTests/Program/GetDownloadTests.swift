import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// What `lade get` writes into files, and into pipes whose readers leave.
@Suite("lade get, into files and pipes", .timeLimit(.minutes(5)))
struct GetDownloadTests: GetSuite {
    @Test("command CM-05 ends quietly with 0 when its reader has left")
    func brokenPipe() async throws {
        let server = try server { _ in .bytes(Data(repeating: 0x78, count: 4 << 20)) }
        let outcome = try await LadeProcess.run("get", server.address(), to: .brokenPipe)
        #expect(outcome.status == 0)
        #expect(outcome.talk == "")
        let script = "lade get \(server.address()) | head -c 10; exit ${PIPESTATUS[0]}"
        let piped = try await LadeProcess.run("-c", script, program: "/bin/bash")
        #expect(piped.status == 0)
        #expect(piped.output == "xxxxxxxxxx")
        #expect(piped.talk == "")
    }

    @Test("command CM-06 gives a download its name when it is complete")
    func download() async throws {
        let proceed = Signal()
        let server = try LoopbackServer(script: [
            .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n123"), .wait(for: proceed), .send("456"),
        ])
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let process = try LadeProcess(["get", "-o", "out", server.address()], in: folder.path)
        try await proceed.arrivals(atLeast: 1)
        #expect(folder.text("out") == nil)
        proceed.raise()
        let outcome = try await process.outcome()
        #expect(outcome.status == 0)
        #expect(outcome.talk == "")
        #expect(folder.names == ["out"])
        #expect(folder.text("out") == "123456")
    }

    @Test("command CM-06 leaves nothing behind when a download fails")
    func failedDownload() async throws {
        let server = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234")
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let outcome = try await LadeProcess.run("get", "-o", "out", server.address(), in: folder.path)
        #expect(outcome.status == 7)
        #expect(folder.names == [])
    }

    @Test(
        "command CM-06 a part that was not asked for is no file, and no success",
        arguments: [["-o", "out"], ["-O"]]
    )
    func unaskedPart(_ options: [String]) async throws {
        let server = try server { _ in
            .text("hello", status: 206, [ServerField("Content-Range", "bytes 0-4/11"), ServerField("ETag", "\"1\"")])
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let process = try LadeProcess(["get"] + options + [server.address("/out")], in: folder.path)
        let outcome = try await process.outcome()
        #expect(outcome.status == 7)
        #expect(outcome.talkLines.suffix(2).first?.contains("206") == true)
        #expect(folder.names == [])
    }

    @Test("command CM-06 refuses an output without a name before anything is sent")
    func noName() async throws {
        let server = try server { _ in .text("hello") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let outcome = try await LadeProcess.run("get", "-o", "", server.address(), in: folder.path)
        #expect(outcome.status == 1)
        #expect(outcome.talkLines.count == 2)
        #expect(server.requestCount == 0)
        #expect(folder.names == [])
    }

    @Test("command CM-06 overwrites nothing without --force, and does not even ask the server")
    func overwriting() async throws {
        let server = try server { _ in .text("new") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("out", "old")
        let refused = try await LadeProcess.run("get", "-o", "out", server.address(), in: folder.path)
        #expect(refused.status == 14)
        #expect(refused.talkLines.count == 2)
        #expect(folder.text("out") == "old")
        #expect(server.requestCount == 0)
        // Nor does it ask for a password.
        let asked = try await LadeProcess.run("get", "-o", "out", "-u", "me", server.address(), in: folder.path)
        #expect(asked.status == 14)
        #expect(asked.talk == refused.talk)
        let forced = try await LadeProcess.run("get", "--force", "-o", "out", server.address(), in: folder.path)
        #expect(forced.status == 0)
        #expect(folder.text("out") == "new")
        #expect(folder.names == ["out"])
    }

    @Test("command CM-06 refuses a name that was taken during the download")
    func race() async throws {
        let proceed = Signal()
        let server = try LoopbackServer(script: [
            .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), .wait(for: proceed), .send("new"),
        ])
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let process = try LadeProcess(["get", "-o", "out", server.address()], in: folder.path)
        try await proceed.arrivals(atLeast: 1)
        _ = try folder.file("out", "old")
        proceed.raise()
        #expect(try await process.outcome().status == 14)
        #expect(folder.names == ["out"])
        #expect(folder.text("out") == "old")
    }

    @Test("command CM-06 does not save the page of an error, unless every status is a success")
    func errorPages() async throws {
        let server = try server { _ in .text("not here", status: 404) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let refused = try await LadeProcess.run("get", "-o", "out", server.address(), in: folder.path)
        #expect(refused.status == 4)
        #expect(folder.names == [])
        let kept = try await LadeProcess.run(
            "get",
            "--ignore-status",
            "-o",
            "out",
            server.address(),
            in: folder.path
        )
        #expect(kept.status == 0)
        #expect(folder.text("out") == "not here")
        let unwanted = try await LadeProcess.run(
            "get",
            "--ignore-status",
            "-f",
            "-o",
            "none",
            server.address(),
            in: folder.path
        )
        #expect(unwanted.status == 0)
        #expect(unwanted.talk == "")
        #expect(folder.names == ["out"])
    }

    @Test(
        "command CM-06 takes a harmless name from the server",
        arguments: [
            ("/a/b%20c.txt?x", nil, "b c.txt"),
            ("/a/..%2F..%2Fetc%2Fpasswd", nil, "passwd"),
            ("/", nil, "download"),
            ("/x", "attachment; filename=\"../../.bashrc\"", "bashrc"),
            ("/x", "attachment; filename=\"a\\\\b/c.txt\"", "c.txt"),
            ("/x", "attachment; filename*=UTF-8''%C3%9Cber%1B%2Ftest.txt; filename=\"y\"", "test.txt"),
            ("/x", "attachment; filename=\"-rf\"", "_rf"),
            ("/x", "attachment; filename=\"..\"", "x"),
            ("/x", "nonsense;;;", "x"),
        ] as [(String, String?, String)]
    )
    func names(target: String, disposition: String?, name: String) async throws {
        let server = try server { _ in
            .text("hi", disposition.map { [ServerField("Content-Disposition", $0)] } ?? [])
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let outcome = try await LadeProcess.run("get", "-OJ", server.address(target), in: folder.path)
        #expect(outcome.status == 0)
        #expect(folder.names == [name])
        #expect(outcome.talk == "lade: Saved as \(name).\n")
        let again = try await LadeProcess.run("get", "-OJ", server.address(target), in: folder.path)
        #expect(again.status == 14)
        let forced = try await LadeProcess.run("get", "-OJ", "--force", server.address(target), in: folder.path)
        #expect(forced.status == 14, "a name of the server replaces nothing, as with curl")
        let other = try TemporaryFolder()
        defer { other.remove() }
        let silent = try await LadeProcess.run("get", "-s", "-OJ", server.address(target), in: other.path)
        #expect(silent.status == 0)
        #expect(silent.talk == "")
    }

    @Test(
        "finding CF-11 -O takes the name from the address that was given, whatever the server or a redirect says",
        arguments: [
            ("/a/b%20c.txt?x#y", "b c.txt"), ("/a/..%2F..%2Fetc%2Fpasswd", "passwd"), ("/", "download"), ("/x", "x"),
            ("/a/.bashrc", "bashrc"), ("/moved", "moved"),
        ]
    )
    func givenName(target: String, name: String) async throws {
        let server = try server { request in
            request.target == "/moved"
                ? .status(302, [ServerField("Location", "/evil")])
                : .text("hi", [ServerField("Content-Disposition", "attachment; filename=\"evil\"")])
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let outcome = try await LadeProcess.run("get", "-LO", server.address(target), in: folder.path)
        #expect(outcome.status == 0)
        #expect(folder.names == [name])
        #expect(outcome.talk == "lade: Saved as \(name).\n")
    }
}
