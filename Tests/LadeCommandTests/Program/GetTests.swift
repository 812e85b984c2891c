import Foundation
import LadeTesting
import Testing

@testable import LadeCommand

/// The built program against a server on loopback.
@Suite("lade get")
struct GetTests {
    private static let shows = #"{"shows":[{"title":"Über\u001b[31m","n":1.10}]}"#

    private func server(
        _ answer: @escaping @Sendable (ServerRequest) -> ServerResponse = { _ in .json(shows) }
    ) throws -> LoopbackServer {
        try LoopbackServer(handler: answer)
    }

    // MARK: - CM-01, CM-02

    @Test("command CM-01 writes data to the standard output and nothing else there or elsewhere")
    func data() async throws {
        let server = try server()
        let outcome = try await LadeProcess.run("get", server.address("/shows"))
        #expect(outcome.status == 0)
        #expect(outcome.output == Self.shows)
        #expect(outcome.talk == "")
    }

    @Test("command CM-01 says what goes wrong on the standard error alone")
    func talk() async throws {
        let server = try server { _ in .json("{}", status: 404) }
        let outcome = try await LadeProcess.run("get", "-f", server.address("/shows"))
        #expect(outcome.status == 4)
        #expect(outcome.output == "")
        #expect(outcome.talkLines.count == 2)
    }

    @Test(
        "command CM-01 reads the standard input only where it is asked to",
        arguments: [
            (["-"], "in\n"), (["--stdin"], "in\n"), (["-d", "@-"], "in"), (["--data-binary", "@-"], "in\n"),
            (["-T", "-"], "in\n"), (["-X", "POST"], ""), (["-d", "x"], "x"),
        ]
    )
    func input(arguments: [String], body: String) async throws {
        let server = try server()
        let process = try LadeProcess(["get", server.address()] + arguments, input: "in\n")
        #expect(try await process.outcome().status == 0)
        #expect(try await server.request(at: 0).text == body)
    }

    @Test("command CM-01 does not wait for a standard input that it has no use for")
    func idleInput() async throws {
        let server = try server()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try #require(mkfifo(folder.path + "/fifo", 0o600) == 0)
        // The shell holds the pipe open, and nobody ever writes into it.
        let script = "exec 3<>fifo; lade get \(server.address()) <fifo"
        let outcome = try await LadeProcess.run("-c", script, program: "/bin/bash", in: folder.path)
        #expect(outcome.status == 0)
        #expect(outcome.output == Self.shows)
    }

    @Test("command CM-02 passes raw bytes into a pipe")
    func raw() async throws {
        let bytes = Data([0x00, 0x1B, 0xFF, 0x0D, 0x0A])
        let server = try server { _ in .bytes(bytes) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.file("out", "")
        let outcome = try await LadeProcess.run("get", server.address(), to: .file(file))
        #expect(outcome.status == 0)
        #expect(FileManager.default.contents(atPath: file) == bytes)
    }

    @Test("command CM-02 lays JSON out in colours on a terminal and escapes what would control it")
    func terminal() async throws {
        let server = try server()
        let outcome = try await LadeProcess.run("get", server.address(), to: .terminal)
        #expect(outcome.status == 0)
        let expected = """
            {
              \u{1B}[34;1m"shows"\u{1B}[0m: [
                {
                  \u{1B}[34;1m"title"\u{1B}[0m: \u{1B}[32m"Über\\u001b[31m"\u{1B}[0m,
                  \u{1B}[34;1m"n"\u{1B}[0m: \u{1B}[33m1.10\u{1B}[0m
                }
              ]
            }

            """
        #expect(outcome.output == expected.replacingOccurrences(of: "\n", with: "\r\n"))
    }

    @Test("command CM-02 obeys NO_COLOR and TERM=dumb", arguments: [["NO_COLOR": "1"], ["TERM": "dumb"]])
    func noColour(environment: [String: String]) async throws {
        let server = try server()
        let outcome = try await LadeProcess.run("get", server.address(), to: .terminal, environment: environment)
        #expect(outcome.output.hasPrefix("{\r\n  \"shows\": [\r\n"))
        #expect(!outcome.output.contains("\u{1B}"))
    }

    @Test("command CM-02 escapes the control characters of texts and heads on a terminal")
    func controls() async throws {
        let server = try server { _ in
            .text("a\u{1B}]0;title\u{7}\u{202E}b", [ServerField("X-Odd", "\u{9B}2J")])
        }
        let outcome = try await LadeProcess.run("get", "-i", server.address(), to: .terminal)
        #expect(outcome.output.hasSuffix("\r\n\r\na\\x1B]0;title\\x07\\u{202E}b\r\n"))
        #expect(outcome.output.contains("X-Odd: \\x9B2J\r\n"))
    }

    @Test("command CM-02 keeps what is no text off a terminal")
    func binary() async throws {
        let server = try server { _ in .bytes(Data([0x89, 0x50, 0x00, 0x01])) }
        let outcome = try await LadeProcess.run("get", server.address(), to: .terminal)
        #expect(outcome.status == 0)
        #expect(outcome.output == "")
        #expect(outcome.talkLines.count == 1)
    }

    // MARK: - CM-03, CM-04

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

    @Test("command CM-03 tells time-outs, networks, TLS, limits and local files apart")
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

    private static var onLinux: Bool {
        #if os(Linux)
            true
        #else
            false
        #endif
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
        #expect(outcome.talk == "")
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

    @Test("command CM-04 says an error in two lines without secrets")
    func errors() async throws {
        let server = try server { _ in .status(503) }
        let address = "http://me:pw1@\(server.authority)/x?token=pw2"
        let outcome = try await LadeProcess.run("get", address, "Authorization:Bearer pw3")
        #expect(
            outcome.talk == """
                lade: GET http://\(server.authority)/x?token=<redacted>: The server answered 503.
                      Try again later; the answer may say when in Retry-After (-i).

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
        #expect(lines.contains("< HTTP/1.1 200"))
        #expect(lines.contains("< Set-Cookie: <redacted>"))
        #expect(lines.last?.hasPrefix("* exchange finished: ") == true)
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
        let lines = (folder.text(of: "log") ?? "").split(separator: "\n").map(String.init)
        let names = try lines.map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["event"] as? String
        }
        let once = [
            "callStarted", "attemptStarted", "exchangeStarted", "headReceived", "exchangeFinished", "callFinished",
        ]
        #expect(names.count == 12)
        #expect(Set(names) == Set(once))
    }

    // MARK: - CM-05, CM-06

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
        #expect(folder.text(of: "out") == nil)
        proceed.raise()
        let outcome = try await process.outcome()
        #expect(outcome.status == 0)
        #expect(outcome.talk == "")
        #expect(folder.names == ["out"])
        #expect(folder.text(of: "out") == "123456")
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

    @Test("command CM-06 overwrites nothing without --force, and does not even ask the server")
    func overwriting() async throws {
        let server = try server { _ in .text("new") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("out", "old")
        let refused = try await LadeProcess.run("get", "-o", "out", server.address(), in: folder.path)
        #expect(refused.status == 14)
        #expect(refused.talkLines.count == 2)
        #expect(folder.text(of: "out") == "old")
        #expect(server.requestCount == 0)
        let forced = try await LadeProcess.run("get", "--force", "-o", "out", server.address(), in: folder.path)
        #expect(forced.status == 0)
        #expect(folder.text(of: "out") == "new")
        #expect(folder.names == ["out"])
    }

    @Test("command CM-06 refuses a name that was taken while the download was under way")
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
        #expect(folder.text(of: "out") == "old")
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
        #expect(folder.text(of: "out") == "not here")
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
        let outcome = try await LadeProcess.run("get", "-O", server.address(target), in: folder.path)
        #expect(outcome.status == 0)
        #expect(folder.names == [name])
        #expect(outcome.talk == "lade: Saved as \(name).\n")
        let again = try await LadeProcess.run("get", "-O", server.address(target), in: folder.path)
        #expect(again.status == 14)
    }

    // MARK: - What curl's flags do

    @Test("prints the head with -i and with -I")
    func heads() async throws {
        let server = try server { _ in .text("hi", [ServerField("X-A", "b")]) }
        let included = try await LadeProcess.run("get", "-i", server.address())
        #expect(included.output.hasPrefix("HTTP/1.1 200\r\n"))
        #expect(included.output.contains("\r\nX-A: b\r\n"))
        #expect(included.output.hasSuffix("\r\n\r\nhi"))
        let asked = try await LadeProcess.run("get", "-I", server.address())
        #expect(asked.output.hasPrefix("HTTP/1.1 200\r\n"))
        #expect(asked.output.hasSuffix("\r\n\r\n"))
        #expect(try await server.request(at: 1).method == "HEAD")
    }

    @Test(
        "command CM-01 asks for a password on the terminal itself, unseen",
        .enabled(if: FileManager.default.isExecutableFile(atPath: setsid))
    )
    func password() async throws {
        let server = try server { _ in .status(204) }
        // The terminal must be that of a session, which a test is not.
        let arguments = ["--wait", "--ctty", LadeProcess.path, "get", "-u", "me", server.address()]
        let process = try LadeProcess(arguments, program: Self.setsid, to: .terminal)
        let question = "Password of me at 127.0.0.1: "
        try await process.output(atLeast: question.count)
        try process.type("p:w\n")
        let outcome = try await process.outcome()
        #expect(outcome.status == 0)
        #expect(outcome.output == question + "\r\n")
        let basic = Data("me:p:w".utf8).base64EncodedString()
        #expect(try await server.request(at: 0)["Authorization"] == "Basic \(basic)")
    }

    private static let setsid = "/usr/bin/setsid"

    @Test("sends what the items say")
    func items() async throws {
        let server = try server { .text($0.text) }
        let outcome = try await LadeProcess.run(
            "get",
            server.address("/x?a=1"),
            "b=ü",
            "n:=1.10",
            "q==a b",
            "X-A:c"
        )
        #expect(outcome.output == #"{"b":"ü","n":1.10}"#)
        let request = try await server.request(at: 0)
        #expect(request.method == "POST")
        #expect(request.target == "/x?a=1&q=a%20b")
        #expect(request["Content-Type"] == "application/json")
        #expect(request["X-A"] == "c")
        #expect(request["User-Agent"] == "lade/\(Version.number)")
    }

    @Test("dials another host than the address names")
    func connectTo() async throws {
        let server = try server()
        let outcome = try await LadeProcess.run("get", "http://api.example/x", "--connect-to", server.authority)
        #expect(outcome.status == 0)
        #expect(try await server.request(at: 0)["Host"] == "api.example")
    }

    @Test("goes through a Unix-domain socket")
    func unixSocket() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var options = LoopbackServer.Options()
        options.endpoint = .unixSocket(path: folder.path + "/s")
        let server = try LoopbackServer(options) { _ in .text("hi") }
        let outcome = try await LadeProcess.run("get", "--unix-socket", folder.path + "/s", "http://localhost/x")
        #expect(outcome.output == "hi")
        #expect(server.requestCount == 1)
    }

    @Test("asks for no compression with --raw")
    func rawCoding() async throws {
        let server = try server()
        _ = try await LadeProcess.run("get", "--raw", server.address())
        _ = try await LadeProcess.run("get", server.address())
        #expect(try await server.request(at: 0)["Accept-Encoding"] == nil)
        #expect(try await server.request(at: 1)["Accept-Encoding"]?.contains("gzip") == true)
    }
}
