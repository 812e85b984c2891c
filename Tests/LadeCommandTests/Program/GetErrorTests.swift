import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// What `lade get` ends with and says of it: exit codes, errors, stories, events.
@Suite("lade get, when something goes wrong", .timeLimit(.minutes(5)))
struct GetErrorTests: GetSuite {
    @Test(
        "command CM-03 ends with the class of the status",
        arguments: [
            (200, 0), (204, 0), (304, 3), (302, 3), (404, 4), (429, 4), (500, 5), (999, 5),
        ]
    )
    func statuses(status: Int, code: Int32) async throws {
        let server = try server { _ in .status(status) }
        #expect(try await LadeProcess.run("get", server.address()).status == code)
        #expect(try await LadeProcess.run("get", "--ignore-status", server.address()).status == 0)
    }

    @Test("command CM-03 distinguishes time-outs, networks, TLS, limits and local files")
    func codes() async throws {
        let stalling = try LoopbackServer(script: [.readRequest, .stall])
        #expect(try await LadeProcess.run("get", "-m", "50ms", stalling.address()).status == 2)
        #expect(try await LadeProcess.run("get", "--idle-timeout", "50ms", stalling.address()).status == 2)
        let refusing = try LoopbackServer(script: [])
        refusing.stopAccepting()
        #expect(try await LadeProcess.run("get", refusing.address()).status == 7)
        let garbage = try LoopbackServer(answering: "FOOBAR")
        #expect(try await LadeProcess.run("get", garbage.address()).status == 7)
        let short = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234")
        let incomplete = try await LadeProcess.run("get", short.address())
        #expect(incomplete.status == 7)
        #expect(incomplete.output == "1234")
        let plain = try LoopbackServer(script: [.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .stall])
        #expect(try await LadeProcess.run("get", "https://" + plain.authority).status == 8)
        let server = try server()
        #expect(try await LadeProcess.run("get", "--max-size", "10", server.address()).status == 13)
        for body in [ServerResponse.text("12345"), .chunks(["12", "345"])] {
            let five = try self.server { _ in body }
            let exact = try await LadeProcess.run("get", "--max-size", "5", five.address())
            #expect(exact.status == 0)
            #expect(exact.output == "12345")
            #expect(try await LadeProcess.run("get", "--max-size", "4", five.address()).status == 13)
        }
        let broken = try self.server { _ in .text("no gzip", [ServerField("Content-Encoding", "gzip")]) }
        #expect(try await LadeProcess.run("get", broken.address()).status == 13)
        #expect(try await LadeProcess.run("get", "-d", "@/nowhere/x", server.address()).status == 14)
        #expect(try await LadeProcess.run("get", "-o", "/nowhere/x", server.address()).status == 14)
        #expect(try await LadeProcess.run("get").status == 1)
    }

    @Test("command CM-03 ends with 14 when the standard output takes no more", .enabled(if: onLinux))
    func fullOutput() async throws {
        let server = try server()
        let outcome = try await LadeProcess.run("get", server.address(), to: .file("/dev/full"))
        #expect(outcome.status == 14)
        #expect(outcome.talkLines.count == 2)
    }

    @Test(
        "command CM-03 ends with 130 and leaves nothing behind when interrupted",
        arguments: [
            (SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129),
        ] as [(Int32, Int32)]
    )
    func interrupted(signal: Int32, status: Int32) async throws {
        let server = try LoopbackServer(script: [
            .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234"), .stall,
        ])
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let process = try LadeProcess(["get", "-o", "out", server.address()], in: folder.path)
        _ = try await server.head(at: 0)
        process.send(signal)
        let outcome = try await process.outcome()
        #expect(outcome.status == status)
        // Without a validator no part is kept (UF-1).
        #expect(outcome.talkLines == ["lade: Nothing of the download is kept; the same command begins anew."])
        #expect(folder.names == [])
        try await server.connectionClosed(at: 0)
    }

    @Test("command CM-03 hands on what arrived before the interruption")
    func interruptedPipe() async throws {
        let server = try LoopbackServer(script: [
            .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234"), .stall,
        ])
        let process = try LadeProcess(["get", server.address()])
        try await process.output(atLeast: 4)
        process.send(SIGINT)
        let outcome = try await process.outcome()
        #expect(outcome.status == 130)
        #expect(outcome.output == "1234")
    }

    @Test("command CM-03 ends with 143 when terminated while it waits for the standard input")
    func terminatedInput() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        // The pipe keeps a writer. It holds less than `head` writes, so the program reads when `head` ends.
        let script = """
            mkfifo pipe; exec 3<>pipe
            lade get http://127.0.0.1:1/ --data-binary @- -d a <&3 3>&- &
            head -c 300000 /dev/zero >&3
            kill -TERM $!; wait $!
            """

        let outcome = try await LadeProcess.run("-c", script, program: "/bin/bash", in: folder.path)

        #expect(outcome.status == 143)
        #expect(outcome.talk == "")
    }

    @Test("command CM-03 writes nothing of a body whose announced size is above --max-size")
    func announcedSize() async throws {
        // More than arrives at a time.
        let body = Data(repeating: UInt8(ascii: "x"), count: 1 << 20)
        let server = try server { _ in .bytes(body) }

        let refused = try await LadeProcess.run("get", "--max-size", "1048575", server.address())
        let taken = try await LadeProcess.run("get", "--max-size", "1048576", server.address())

        #expect(refused.status == 13)
        #expect(refused.output == "")
        #expect(taken.status == 0)
        #expect(taken.output.utf8.count == body.count)
    }

    @Test("writes no page of an error to a device or a pipe, though its message is not shown either")
    func errorPage() async throws {
        let server = try server { _ in .text("page", status: 404) }

        for option in ["-s", "-f"] {
            let outcome = try await LadeProcess.run("get", option, "-o", "/dev/stdout", server.address())
            #expect(outcome.status == 4)
            #expect(outcome.output == "")
        }
    }

    @Test("command CM-04 says an error in two lines without secrets")
    func errors() async throws {
        let server = try server { _ in .status(503) }
        let address = "http://me:pw1@\(server.authority)/x?token=pw2"
        let outcome = try await LadeProcess.run("get", address, "Authorization:Bearer pw3")
        #expect(
            outcome.talk == """
                lade: GET http://\(server.authority)/x?token=<redacted>: The server responded with 503.
                      Try again later; the response may say when in Retry-After (-i).

                """
        )
        let silent = try await LadeProcess.run("get", "-s", address)
        #expect(silent.status == 5)
        #expect(silent.talk == "")
        #expect(try await LadeProcess.run("get", "-sS", address).talkLines.count == 2)
    }

    @Test("command CM-04 adds the story with --verbose, without secrets")
    func story() async throws {
        let server = try server { _ in .text("hi", [ServerField("Set-Cookie", "s=pw4")]) }
        let outcome = try await LadeProcess.run(
            "get",
            "-v",
            "-u",
            "me:pw1",
            "\(server.address("/x?token=pw2"))",
            "X-Api-Key:pw3"
        )
        #expect(outcome.output == "hi")
        let lines = outcome.talkLines
        #expect(lines.first == "> GET http://\(server.authority)/x?token=<redacted>")
        #expect(lines.contains("> Authorization: <redacted>"))
        #expect(lines.contains("< HTTP/1.1 200 OK"))
        #expect(lines.contains("< Set-Cookie: <redacted>"))
        #expect(lines.contains { $0.hasPrefix("* complete: ") })
        #expect(!outcome.talk.contains("pw"))
        let basic = Data("me:pw1".utf8).base64EncodedString()
        #expect(try await server.request(at: 0)["Authorization"] == "Basic \(basic)")
        #expect(!outcome.talk.contains(basic))
    }

    @Test("command CM-04 writes every event to a file, and adds to what is there")
    func events() async throws {
        let server = try server()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        for _ in 0..<2 {
            let outcome = try await LadeProcess.run("get", "--events", "log", server.address(), in: folder.path)
            #expect(outcome.status == 0)
        }
        let lines = (folder.text("log") ?? "").split(separator: "\n").map(String.init)
        let names = try lines.map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["event"] as? String
        }
        let once = [
            "callStarted", "attemptStarted", "exchangeStarted", "headReceived", "exchangeFinished", "callFinished",
            "bodyFinished",
        ]
        #expect(names.count == 14)
        #expect(Set(names) == Set(once))
    }

    private static var onLinux: Bool {
        #if os(Linux)
            true
        #else
            false
        #endif
    }
}
