import Foundation
import LadeTesting
import SharedDoubles
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@testable import Lade
@testable import LadeCommand

/// `lade get` in this process, in virtual time, on a scripted transport.
@Suite(.timeLimit(.minutes(5)))
struct FetchTests {
    /// What a run left behind.
    private struct Outcome {
        var code: ExitCode
        /// Whether the error that ended the run is still to be printed.
        var isLoud = false
        var output = ""
        var talk = ""
        /// The text of the file `out` in the folder of the run.
        var file: String?
    }

    /// Runs the command; `OUT` among the arguments is a file of its own.
    private func run(
        _ arguments: [String],
        on transport: ScriptedTransport,
        to output: Descriptor? = nil
    ) async throws -> Outcome {
        let folder = try TemporaryFolder()
        let aside = try TemporaryFolder()
        defer {
            folder.remove()
            aside.remove()
        }
        let time = VirtualTime()
        var console = Console()
        let ownOutput = try Descriptor.open(aside.file("out", ""), O_WRONLY)
        let talk = try Descriptor.open(aside.file("talk", ""), O_WRONLY)
        defer { for descriptor in [ownOutput, talk] { try? descriptor.close() } }
        console.output = output ?? ownOutput
        console.talk = LineLog(talk)
        (console.isOutputTerminal, console.isTalkTerminal) = (false, false)
        (console.usesColour, console.coloursTalk, console.laysOut) = (false, false, false)
        var context = CommandContext(table: .standard, console: console, interruption: Interruption(), time: time)
        context.makeService = { settings throws(LoadingError) in
            var settings = settings
            settings.retries.backoff = .none
            return Service(settings, transport: transport)
        }
        let words = ["get", "-q"] + arguments.map { $0 == "OUT" ? folder.path + "out" : $0 }
        var outcome = await time.runAutomatically { [context] in
            do throws(CommandError) {
                return Outcome(code: try await context.table.run(words, in: context))
            } catch {
                return Outcome(code: error.code, isLoud: !error.isQuiet)
            }
        }
        console.talk.flush()
        outcome.output = aside.text("out") ?? ""
        outcome.talk = aside.text("talk") ?? ""
        outcome.file = folder.text("out")
        return outcome
    }

    /// A response that can be resumed, since it has a strong validator.
    private static func tagged(_ text: String) -> ScriptedResponse { .text(text, headers: ["ETag": "\"1\""]) }

    // MARK: - Statuses

    @Test(
        "writes the body of a success to a file, and with --ignore-status that of every status, with -f below 400",
        arguments: [
            ([], 299, .success, true), ([], 300, .redirection, false), (["--ignore-status"], 999, .success, true),
            (["--ignore-status", "-f"], 399, .success, true), (["--ignore-status", "-f"], 400, .success, false),
        ] as [([String], Int, ExitCode, Bool)]
    )
    func fileStatuses(options: [String], status: Int, code: ExitCode, isWritten: Bool) async throws {
        let transport = ScriptedTransport(answering: .text("page", status: Response.Status(status)))
        let outcome = try await run(options + ["http://h/", "-o", "OUT"], on: transport)
        #expect(outcome.code == code)
        #expect(outcome.file == (isWritten ? "page" : nil))
        #expect(outcome.output == "")
    }

    @Test(
        "writes the body of every status to the standard output, with -f below 400",
        arguments: [
            ([], 500, .serverError, true), (["-f"], 399, .redirection, true), (["-f"], 400, .clientError, false),
        ] as [([String], Int, ExitCode, Bool)]
    )
    func outputStatuses(options: [String], status: Int, code: ExitCode, isWritten: Bool) async throws {
        let transport = ScriptedTransport(answering: .text("page", status: Response.Status(status)))
        let outcome = try await run(options + ["http://h/"], on: transport)
        #expect(outcome.code == code)
        #expect(outcome.output == (isWritten ? "page" : ""))
    }

    @Test(
        "shows the message of a server whose body is written to no file, neither with -s nor with -f",
        arguments: ["OUT", "/dev/null"]
    )
    func messages(path: String) async throws {
        for (options, talk) in [([], "page\n"), (["-s"], ""), (["-f"], "")] {
            let transport = ScriptedTransport(answering: .text("page", status: 404))
            let outcome = try await run(options + ["http://h/", "-o", path], on: transport)
            #expect(outcome.code == .clientError)
            #expect(outcome.talk == talk, "\(options)")
            #expect(outcome.file == nil)
        }
    }

    // MARK: - Files

    @Test("writes the head in front of the body with -i, and alone with -I", arguments: [["-i"], ["-I"]])
    func head(options: [String]) async throws {
        let head = "HTTP/1.1 200 \r\nX-A: b\r\nContent-Length: 4\r\n\r\n"
        let body = options == ["-I"] ? "" : "text"
        for target in [["-o", "OUT"], []] {
            let answer = ScriptedResponse.bytes(Data("text".utf8), headers: ["X-A": "b"])
            let outcome = try await run(options + ["http://h/"] + target, on: ScriptedTransport(answering: answer))
            #expect(outcome.code == .success)
            #expect((target.isEmpty ? outcome.output : outcome.file) == head + body)
        }
    }

    @Test("writes the head of HTTP/2 without a reason phrase")
    func headOfHTTP2() async throws {
        let answer = ScriptedResponse.bytes(Data("text".utf8)).version(.http2)
        let outcome = try await run(["-i", "http://h/"], on: ScriptedTransport(answering: answer))
        #expect(outcome.output == "HTTP/2 200 \r\nContent-Length: 4\r\n\r\ntext")
    }

    @Test("keeps no file that is larger than --max-size")
    func maximumSize() async throws {
        for (size, code) in [("3", ExitCode.decoding), ("4", .success)] {
            let transport = ScriptedTransport(answering: .text("text"))
            let outcome = try await run(["--max-size", size, "http://h/", "-o", "OUT"], on: transport)
            #expect(outcome.code == code)
            #expect(outcome.file == (code == .success ? "text" : nil))
        }
    }

    @Test("says what is kept of a download that failed, but not with -s")
    func kept() async throws {
        for (options, talk) in [([], "lade: 2 B are kept; the same command resumes.\n"), (["-s"], "")] {
            let transport = ScriptedTransport(answering: Self.tagged("text").breaking(after: 2))
            let outcome = try await run(options + ["http://h/", "-o", "OUT"], on: transport)
            #expect(outcome.code == .network)
            #expect(outcome.talk == talk)
        }
    }

    // MARK: - Selections

    @Test("selects from the body of a success alone")
    func selections() async throws {
        let json = #"{"a": 1}"#
        let failed = ScriptedTransport(answering: .json(json, status: 404))
        let refused = try await run(["--select", "/a", "http://h/"], on: failed)
        #expect(refused.code == .clientError)
        #expect(refused.output == json)
        let ignored = ScriptedTransport(answering: .json(json, status: 404))
        let taken = try await run(["--select", "/a", "--ignore-status", "http://h/"], on: ignored)
        #expect(taken.code == .success)
        #expect(taken.output == "1\n")
        let head = try await run(["--select", "/a", "-I", "http://h/"], on: ScriptedTransport(answering: .json("")))
        #expect(head.code == .success)
        #expect(head.output.hasPrefix("HTTP/1.1 200 \r\n"))
    }

    @Test("selects from a body of --max-size")
    func selectionOfMaximumSize() async throws {
        for (size, code) in [("7", ExitCode.decoding), ("8", .success)] {
            let transport = ScriptedTransport(answering: .steps([.bytes(Data(#"{"a": 1}"#.utf8))]))
            let outcome = try await run(["--max-size", size, "--select", "/a", "http://h/"], on: transport)
            #expect(outcome.code == code)
            #expect(outcome.output == (code == .success ? "1\n" : ""))
        }
    }

    @Test(
        "lays out the selected part where it is JSON, with --raw-output a string as text",
        arguments: [
            (#"{"b":1}"#, "{\n  \u{1B}[34;1m\"b\"\u{1B}[0m: \u{1B}[33m1\u{1B}[0m\n}\n"),
            ("[1]", "[\n  \u{1B}[33m1\u{1B}[0m\n]\n"), (#""{b""#, "{b\n"), (#""[1""#, "[1\n"),
            (#""b\u001b""#, "b\\x1B\n"),
        ]
    )
    func laidOutSelection(value: String, shown: String) async throws {
        let transport = ScriptedTransport(answering: .json("{\"a\":\(value)}"))
        let outcome = try await run(["--color", "always", "-r", "--select", "/a", "http://h/"], on: transport)
        #expect(outcome.output == shown)
    }

    @Test("refuses a body that begins anew and is announced larger than --max-size, before any of it is written")
    func anew() async throws {
        let large = ScriptedResponse.text("123456").inPieces(of: 2)
        let transport = ScriptedTransport(answering: ScriptedResponse.text("12").breaking(after: 0), large)
        let outcome = try await run(["--retry", "1", "--max-size", "5", "http://h/"], on: transport)
        #expect(outcome.code == .decoding)
        #expect(outcome.output == "")
        #expect(transport.received.count == 2)
    }

    // MARK: - After the call

    @Test("writes the facts of the whole call with -w, and none of an interrupted one")
    func writeOut() async throws {
        let transport = ScriptedTransport(
            answering: .status(302, headers: ["Location": "/b"]),
            .status(404, headers: ["Content-Length": "0"])
        )
        let arguments = ["-L", "-s", "-w", "%{http_code} %{num_redirects} %{exitcode}", "http://h/"]
        let failed = try await run(arguments, on: transport)
        #expect(failed.code == .clientError)
        #expect(failed.output == "404 1 4")
        let cancelled = ScriptedTransport(answering: .fails(LoadingError(.cancelled)))
        let interrupted = try await run(arguments, on: cancelled)
        #expect(interrupted.code == .interrupted)
        #expect(interrupted.output == "")
    }

    @Test("keeps the cookies of a call whose status is no success")
    func cookiesOfFailure() async throws {
        let transport = ScriptedTransport(answering: .status(404, headers: ["Set-Cookie": "name=value"]))
        let outcome = try await run(["-c", "OUT", "http://h.example/"], on: transport)
        #expect(outcome.code == .clientError)
        #expect(outcome.file?.contains("name\tvalue") == true, "\(outcome.file ?? "")")
    }

    // MARK: - Several addresses

    @Test("sends the cookies of a call to the next address")
    func sharedCookies() async throws {
        let transport = ScriptedTransport(answering: .status(200, headers: ["Set-Cookie": "name=value"]), .status(200))
        let outcome = try await run(["-c", "OUT", "http://h.example/a", "http://h.example/b"], on: transport)
        #expect(outcome.code == .success)
        #expect(transport.received.map { $0.request.headers["Cookie"] } == [nil, "name=value"])
        #expect(outcome.file?.contains("name\tvalue") == true, "\(outcome.file ?? "")")
    }

    @Test("ends with the error of the first address that failed, after each error was printed once, none with -s")
    func severalErrors() async throws {
        for (options, lines) in [([], 4), (["-s"], 0)] {
            let transport = ScriptedTransport(answering: .status(404), .status(500), .text("text"))
            let outcome = try await run(options + ["http://h/a", "http://h/b", "http://h/c"], on: transport)
            #expect(outcome.code == .clientError)
            #expect(!outcome.isLoud)
            #expect(outcome.talk.split(separator: "\n").count == lines, "\(outcome.talk)")
            #expect(outcome.output == "text")
        }
    }

    @Test("sends nothing to the next address after an interruption, or when the reader of the output has left")
    func ended() async throws {
        let cancelled = ScriptedTransport(answering: .fails(LoadingError(.cancelled)), .text("text"))
        let interrupted = try await run(["http://h/a", "http://h/b"], on: cancelled)
        #expect(interrupted.code == .interrupted)
        #expect(cancelled.received.count == 1)

        signal(SIGPIPE, SIG_IGN)
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path + "pipe"
        try #require(mkfifo(path, 0o600) == 0)
        let reader = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
        let sink = try Descriptor.open(path, O_WRONLY)
        try reader.close()
        let transport = ScriptedTransport(answering: .text("text"), .text("text"))
        let closed = try await run(["http://h/a", "http://h/b"], on: transport, to: sink)
        #expect(closed.code == .success)
        #expect(transport.received.count == 1)
        try sink.close()
    }
}
