import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// The built program against a server on loopback.
@Suite("lade get", .timeLimit(.minutes(5)))
struct GetTests: GetSuite {
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
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        // A dash is the standard input, whatever files there are.
        _ = try folder.file("-", "file")
        let process = try LadeProcess(["get", server.address()] + arguments, input: "in\n", in: folder.path)
        #expect(try await process.outcome().status == 0)
        #expect(try await server.request(at: 0).text == body)
    }

    @Test("command CM-01 does not wait for a standard input that it has no use for")
    func idleInput() async throws {
        let server = try server()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try #require(mkfifo(folder.path + "fifo", 0o600) == 0)
        // The shell holds the pipe open, and nothing is ever written into it.
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

    @Test("command CM-02 shows escaped characters and other charsets as text on a terminal")
    func charsets() async throws {
        let server = try server { request in
            request.path == "/j"
                ? .json(#"{"a":"\u00dcber \ud83d\ude00 \/ \u001b \u202e \u0022"}"#)
                : .bytes(Data([0xDC, 0x62, 0x80]), [ServerField("Content-Type", "text/plain; charset=ISO-8859-1")])
        }
        let json = try await LadeProcess.run(server.address("/j"), to: .terminal, environment: ["NO_COLOR": "1"])
        #expect(json.output == "{\r\n  \"a\": \"Über 😀 / \\u001b \\u202e \\u0022\"\r\n}\r\n")
        #expect(try await LadeProcess.run(server.address("/t"), to: .terminal).output == "Üb€\r\n")
        #expect(try await LadeProcess.run(server.address("/j")).output.contains(#"\u00dc"#))
    }

    @Test("colours the status line by its class, and names the reason, on a terminal")
    func colouredHead() async throws {
        let server = try server { .text("x", status: $0.path == "/bad" ? 404 : 200, [ServerField("X-A", "b")]) }
        let good = try await LadeProcess.run("-i", server.address(), to: .terminal)
        #expect(good.output.hasPrefix("\u{1B}[32mHTTP/1.1 200 OK\u{1B}[0m\r\n"))
        #expect(good.output.contains("\u{1B}[36mX-A\u{1B}[0m: b\r\n"))
        let bad = try await LadeProcess.run("-i", server.address("/bad"), to: .terminal)
        #expect(bad.output.hasPrefix("\u{1B}[31mHTTP/1.1 404 Not Found\u{1B}[0m\r\n"))
        // The standard error is the terminal as well.
        let story = "exec lade -v \(server.address("/bad")) 2>&1"
        let verbose = try await LadeProcess.run("-c", story, program: "/bin/bash", to: .terminal)
        #expect(verbose.output.contains("< \u{1B}[31mHTTP/1.1 404 Not Found\u{1B}[0m\r\n"))
        #expect(verbose.output.contains("> \u{1B}[36mHost\u{1B}[0m: \(server.authority)\r\n"))
    }

    @Test("obeys --color", arguments: [("never", false, false), ("auto", true, false), ("always", true, true)])
    func colour(choice: String, onTerminal: Bool, inPipe: Bool) async throws {
        let server = try server()
        let terminal = try await LadeProcess.run("--color", choice, server.address(), to: .terminal)
        #expect(terminal.output.contains("\u{1B}") == onTerminal)
        let pipe = try await LadeProcess.run("--color=\(choice)", server.address())
        #expect(pipe.output.contains("\u{1B}[") == inPipe)
        let wrong = try await LadeProcess.run("--color", "yes", server.address())
        #expect(wrong.status == 1)
        #expect(wrong.talkLines.count == 2)
    }

    @Test("shows with -v every field that is sent, and the size of the body")
    func sentFields() async throws {
        let server = try server { _ in .text("hi") }
        let outcome = try await LadeProcess.run("-v", server.address("/x"), "a=ü", "X-A:1", "-b", "c=s3cret")
        let received = try await server.request(at: 0)
        let shown = outcome.talkLines.filter { $0.hasPrefix("> ") }.dropFirst().map { $0.dropFirst(2).lowercased() }
        // The order is the transport's.
        let sent = received.fields.map { field in
            field.name == "Cookie" ? "cookie: <redacted>" : "\(field.name.lowercased()): \(field.value.lowercased())"
        }
        #expect(shown.sorted() == (sent + ["{\"a\":\"ü\"}"]).sorted())
        #expect(outcome.talkLines.contains("* sending a body of 10 bytes"))
        #expect(!outcome.talk.contains("s3cret"))
        let asked = try await LadeProcess.run("-v", "--show-secrets", server.address(), "-b", "c=s3cret", "-u", "me:pw")
        #expect(asked.talkLines.contains("> Cookie: c=s3cret"))
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
        #expect(outcome.output.contains("X-Odd\u{1B}[0m: \\x9B2J\r\n"))
    }

    @Test("command CM-02 keeps what is no text off a terminal")
    func binary() async throws {
        let server = try server { _ in .bytes(Data([0x89, 0x50, 0x00, 0x01])) }
        let outcome = try await LadeProcess.run("get", server.address(), to: .terminal)
        #expect(outcome.status == 0)
        #expect(outcome.output == "")
        #expect(outcome.talkLines.count == 1)
    }

    @Test("prints the head with -i and with -I")
    func heads() async throws {
        let server = try server { _ in .text("hi", [ServerField("X-A", "b")]) }
        let included = try await LadeProcess.run("get", "-i", server.address())
        #expect(included.output.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(included.output.contains("\r\nX-A: b\r\n"))
        #expect(included.output.hasSuffix("\r\n\r\nhi"))
        let asked = try await LadeProcess.run("get", "-I", server.address())
        #expect(asked.output.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(asked.output.hasSuffix("\r\n\r\n"))
        #expect(try await server.request(at: 1).method == "HEAD")
    }

    @Test(
        "command CM-01 asks for a password on the terminal itself, unseen",
        .enabled(if: FileManager.default.isExecutableFile(atPath: setsid)),
        arguments: [("me", "me"), ("m\u{1B}[1me", "m\\x1B[1me")]
    )
    func password(user: String, shown: String) async throws {
        let server = try server { _ in .status(204) }
        // The terminal must be that of a session, which a test is not.
        let arguments = ["--wait", "--ctty", LadeProcess.path, "get", "-u", user, server.address()]
        let process = try LadeProcess(arguments, program: Self.setsid, to: .terminal)
        let question = "Password of \(shown) at 127.0.0.1: "
        // The echo is off before the question appears.
        try await process.output(atLeast: 1)
        try process.type("p:w\n")
        let outcome = try await process.outcome()
        #expect(outcome.status == 0)
        #expect(outcome.output == question + "\r\n")
        let basic = Data("\(user):p:w".utf8).base64EncodedString()
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
        options.address = .unixSocket(path: folder.path + "s")
        let server = try LoopbackServer(options) { _ in .text("hi") }
        let outcome = try await LadeProcess.run("get", "--unix-socket", folder.path + "s", "http://localhost/x")
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
