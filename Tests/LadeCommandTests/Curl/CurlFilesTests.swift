import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// What responses do to files that exist, beside the real curl and on their own.
@Suite("Responses and files that exist", .timeLimit(.minutes(5)))
struct CurlFilesTests {
    private static let old = "OLD OLD OLD"
    private static let modified = Date(timeIntervalSince1970: 1_500_000_000)

    /// A response, and whether its status is that of a page about something else than the resource.
    struct Answer: Sendable, CustomTestStringConvertible {
        var name: String
        var status: Int
        var body = "page"
        var fields: [ServerField] = []
        var isPage = false

        var testDescription: String { name }
        var response: ServerResponse { .bytes(Data(body.utf8), status: status, fields) }
    }

    private static let answers: [Answer] = [
        Answer(name: "200", status: 200, body: "new"), Answer(name: "200-empty", status: 200, body: ""),
        Answer(name: "204", status: 204, body: ""),
        Answer(
            name: "200-old",
            status: 200,
            body: "new",
            fields: [ServerField("Last-Modified", "Mon, 01 Jan 2001 00:00:00 GMT")]
        ),
        Answer(
            name: "206-other",
            status: 206,
            body: "OLD O",
            fields: [ServerField("Content-Range", "bytes 0-4/11")],
            isPage: true
        ),
        Answer(
            name: "206-rest",
            status: 206,
            body: " MORE",
            fields: [ServerField("Content-Range", "bytes 11-15/16"), ServerField("ETag", "\"1\"")],
            isPage: true
        ),
        Answer(name: "301", status: 301, fields: [ServerField("Location", "/x")], isPage: true),
        Answer(name: "304", status: 304, body: "", fields: [ServerField("ETag", "\"1\"")]),
        Answer(name: "404", status: 404, isPage: true), Answer(name: "404-empty", status: 404, body: "", isPage: true),
        Answer(name: "412", status: 412, isPage: true), Answer(name: "416", status: 416, isPage: true),
        Answer(
            name: "416-range",
            status: 416,
            fields: [ServerField("Content-Range", "bytes */11")],
            isPage: true
        ),
        Answer(name: "500", status: 500, isPage: true), Answer(name: "503", status: 503, isPage: true),
    ]

    /// What one run left in the file that existed, and in one that did not.
    private struct Left {
        var status: Int32
        var file: String?
        var talk: String
        var names: [String]
    }

    private static func server() throws -> LoopbackServer {
        try LoopbackServer { request in
            answers.first { "/" + $0.name == request.path }?.response ?? .status(400)
        }
    }

    private static func run(
        _ options: String,
        _ address: String,
        byCurl: Bool,
        hasFile: Bool = true
    ) async throws -> Left {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        if hasFile { _ = try folder.file("f", old) }
        _ = try folder.file("reference", "")
        _ = try folder.file("tag", "\"1\"\n")
        for name in folder.names {
            try FileManager.default.setAttributes([.modificationDate: modified], ofItemAtPath: folder.path + name)
        }
        let outcome: LadeProcess.Outcome
        if byCurl {
            let line = "\(RealCurl.path) -q -sS \(options) \(address)"
            outcome = try await LadeProcess.run("-c", line, program: "/bin/bash", in: folder.path)
        } else {
            let line = "curl \(options) \(address)"
            outcome = try await LadeProcess.run("get", "--no-config", "--from-curl", line, in: folder.path)
        }
        return Left(status: outcome.status, file: folder.text("f"), talk: outcome.talk, names: folder.names)
    }

    private static let lines = [
        "-o f", "-f -o f", "--fail-with-body -o f", "-C - -o f", "-f -C - -o f", "-z reference -o f",
        "-z reference -f -o f", "--etag-compare tag -o f", "-r 0-3 -o f",
    ]

    @Test(
        "finding CL-1 a line of curl leaves each file that curl leaves, and replaces none by a page",
        .enabled(if: RealCurl.isThere),
        arguments: lines
    )
    func existing(options: String) async throws {
        let server = try Self.server()
        for answer in Self.answers {
            let address = server.address("/" + answer.name)
            let theirs = try await Self.run(options, address, byCurl: true)
            let ours = try await Self.run(options, address, byCurl: false)
            let comment: Comment = "\(answer.name): \(ours) \(theirs)"
            let appends = options.contains("-C") && answer.name == "206-rest"
            if theirs.file == Self.old {
                #expect(ours.file == Self.old, comment)
            } else if answer.isPage, !appends, !(options.hasPrefix("-r") && answer.name == "206-other") {
                #expect(ours.file == Self.old && ours.status != 0, comment)
            } else {
                #expect(ours.file == theirs.file && ours.status == 0, comment)
            }
            if answer.status == 304 {
                #expect((ours.status == 0) == (options.contains("-z") || options.contains("tag")), comment)
            }
            #expect(ours.names == theirs.names, comment)
        }
    }

    @Test(
        "finding CL-1 a line of curl makes the new files that curl makes",
        .enabled(if: RealCurl.isThere),
        arguments: ["-o f", "-f -o f", "-C - -o f", "-z reference -o f", "--etag-compare tag -o f"]
    )
    func new(options: String) async throws {
        let server = try Self.server()
        // A part or a 416 that was not asked for is an error, as the documentation says.
        for answer in Self.answers where ![206, 416].contains(answer.status) {
            let address = server.address("/" + answer.name)
            let theirs = try await Self.run(options, address, byCurl: true, hasFile: false)
            let ours = try await Self.run(options, address, byCurl: false, hasFile: false)
            #expect(ours.file == theirs.file && ours.names == theirs.names, "\(answer.name): \(ours) \(theirs)")
        }
    }

    @Test("finding CL-1 with --include and -I, too, no file is touched by a 304 or a page", arguments: ["-i", "-I"])
    func heads(option: String) async throws {
        let server = try Self.server()
        for answer in Self.answers where answer.isPage && answer.status != 206 || answer.status == 304 {
            for condition in ["", "-z reference"] {
                let options = "\(option) \(condition) -o f"
                let left = try await Self.run(options, server.address("/" + answer.name), byCurl: false)
                #expect(left.file == Self.old, "\(options) \(answer.name): \(left)")
            }
        }
    }

    @Test(
        "finding CL-1 a tag is saved behind the body that has it, and one that is there by no other response",
        arguments: [
            ("/new", "\"2\"\n", 0), ("/same", "\"1\"\n", 0), ("/missing", "\"1\"\n", 4), ("/empty", "\"1\"\n", 0),
            ("/cut", "\"1\"\n", 7),
        ] as [(String, String, Int32)]
    )
    func tags(path: String, tag: String, status: Int32) async throws {
        let server = try LoopbackServer { request in
            switch request.path {
            case "/new": .text("new", [ServerField("ETag", "\"2\"")])
            case "/same": .status(304, [ServerField("ETag", "\"3\"")])
            case "/missing": .text("page", status: 404, [ServerField("ETag", "\"4\"")])
            case "/empty": .text("new", [ServerField("ETag", "")])
            default:
                ServerResponse(
                    status: 200,
                    fields: [ServerField("ETag", "\"5\""), ServerField("Content-Length", "9")],
                    body: .raw { try $0.close() }
                )
            }
        }
        for output in [["-o", "f"], []] {
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            _ = try folder.file("tag", "\"1\"\n")
            let arguments = ["get", "--etag-compare", "tag", "--etag-save", "tag"] + output + [server.address(path)]
            let outcome = try await LadeProcess(arguments, in: folder.path).outcome()
            #expect(outcome.status == status, "\(outcome.talk)")
            #expect(folder.text("tag") == tag)
        }
    }

    @Test("finding CL-1 a list is replaced by --restart when its first page is there, not before")
    func pages() async throws {
        let isUp = Locked(false)
        let server = try LoopbackServer { _ in
            isUp.withLock(\.self) ? .json("[3]") : .text("page", status: 404)
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("list", "1\n2\n")
        let arguments = ["pages", server.address(), "-o", "list", "--restart"]
        let failed = try await LadeProcess(arguments, in: folder.path).outcome()
        #expect(failed.status == 4, "\(failed.talk)")
        #expect(folder.text("list") == "1\n2\n" && folder.names == ["list"])
        isUp.withLock { $0 = true }
        let outcome = try await LadeProcess(arguments, in: folder.path).outcome()
        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(folder.text("list") == "3\n")
    }

    // MARK: - Protected files

    @Test("finding CL-2 --no-clobber overwrites nothing when all numbers are taken", arguments: [true, false])
    func noClobber(isForCurl: Bool) async throws {
        let server = try LoopbackServer { _ in .text("new") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        for name in ["f"] + (1...100).map({ "f.\($0)" }) { _ = try folder.file(name, Self.old) }
        let line = "curl --no-clobber -o f \(server.address())"
        let outcome =
            isForCurl
            ? try await LadeProcess.run("get", "--from-curl", line, in: folder.path)
            : try await LadeProcess.run("get", "--no-clobber", "-o", "f", server.address(), in: folder.path)
        #expect(outcome.status == 14 && outcome.talkLines.count == 2, "\(outcome.talk)")
        #expect(folder.names.count == 101)
        #expect(folder.names.allSatisfy { folder.text($0) == Self.old })
        #expect(server.requestCount == 0)
    }

    @Test("finding CL-2 --no-clobber gives each of several responses a file of its own, also with -Z and -J")
    func numbered() async throws {
        let server = try LoopbackServer { request in
            .text(request.path, [ServerField("Content-Disposition", "attachment; filename=\"j\"")])
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("f", Self.old)
        let list = "\(server.address("/a")) -o f \(server.address("/b")) -o f \(server.address("/c"))"
        for options in ["--no-clobber -o f", "-Z --no-clobber -o f"] {
            let outcome = try await LadeProcess.run("get", "--from-curl", "curl \(options) \(list)", in: folder.path)
            #expect(outcome.status == 0, "\(outcome.talk)")
        }
        #expect(folder.names == ["f"] + (1...6).map { "f.\($0)" })
        #expect(Set(folder.names.dropFirst().map { folder.text($0) }) == ["/a", "/b", "/c"])
        #expect(folder.text("f") == Self.old)
        for path in ["/a", "/b"] {
            let line = "curl --no-clobber -OJ \(server.address(path))"
            #expect(try await LadeProcess.run("get", "--from-curl", line, in: folder.path).status == 0)
        }
        #expect(folder.text("j") == "/a" && folder.text("j.1") == "/b")
    }

    @Test(
        "finding CL-2 two responses for one file are refused before anything is sent",
        arguments: [
            "-o f H/a -o f H/b", "-o f H/a -o ./f H/b", "-o f H/a --next -o f H/b", "-O H/a/x -O H/b/x",
            "-O H/x -O H/%78", "-Z --remote-name-all H/a/x H/b/x", "-o f 'H/[1-3]'", "-o link H/a -o f H/b",
            "-O H/\(String(repeating: "y", count: 200))1 -O H/\(String(repeating: "y", count: 200))2",
            "-D f -o f H/a", "--etag-save f -o f H/a", "-c f -o f H/a", "--etag-save t H/a H/b",
            "--create-dirs -o new/f H/a -o new/f H/b",
        ]
    )
    func collisions(options: String) async throws {
        let server = try LoopbackServer { .text($0.path) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("f", Self.old)
        #expect(symlink("f", folder.path + "link") == 0)
        let line = "curl " + options.replacing("H/", with: server.address("/"))
        let outcome = try await LadeProcess.run("get", "--from-curl", line, in: folder.path)
        #expect(outcome.status == 1 && outcome.talkLines.count == 2, "\(outcome.talk)")
        #expect(server.requestCount == 0)
        #expect(folder.text("f") == Self.old && folder.names == ["f", "link"])
    }

    @Test(
        "finding CL-2 files of different kinds are refused as one before anything is sent",
        arguments: [
            "get -o f --session ./f H/a", "get -c f --session ./f H/a", "get -o f --events f H/a",
            "get --etag-save f --events ./f H/a", "pages -o f --events f H/a", "pages -o f -c f H/a",
            "pages -o f --state f H/a", "pages -o f --session ./f H/a", "pages -o g --state link --events f H/a",
        ]
    )
    func kinds(line: String) async throws {
        let server = try LoopbackServer { _ in .json("[1]") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("f", Self.old)
        #expect(symlink("f", folder.path + "link") == 0)
        let words = line.replacing("H/", with: server.address("/")).split(separator: " ").map(String.init)
        let outcome = try await LadeProcess(words, in: folder.path).outcome()
        #expect(outcome.status == 1 && outcome.talk.contains("both write"), "\(outcome.talk)")
        #expect(server.requestCount == 0)
        #expect(folder.text("f") == Self.old && folder.names == ["f", "link"])
    }

    @Test(
        "finding CL-2 what several responses may share is no collision",
        arguments: [
            "-o /dev/null H/a -o /dev/null H/b", "-D h -o x H/a -o y H/b", "-c jar -o x H/a -o y H/b",
            "-o x H/a --next -o X H/b",
        ]
    )
    func shared(options: String) async throws {
        let server = try LoopbackServer { .text($0.path) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let line = "curl " + options.replacing("H/", with: server.address("/"))
        let outcome = try await LadeProcess.run("get", "--from-curl", line, in: folder.path)
        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(server.requestCount == 2)
    }

    @Test("finding CL-2 a name of the server replaces no file that the command has written, in either order")
    func namedByServer() async throws {
        let server = try LoopbackServer { request in
            .text(request.path, [ServerField("Content-Disposition", "attachment; filename=\"given\"")])
        }
        for order in ["-o given H/a --next -OJ H/b", "-OJ H/a --next -o given H/b", "-OJ H/a -OJ H/b"] {
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let line = "curl " + order.replacing("H/", with: server.address("/"))
            let outcome = try await LadeProcess.run("get", "--from-curl", line, in: folder.path)
            #expect(outcome.status == 14, "\(order): \(outcome.talk)")
            #expect(folder.text("given") == "/a" && folder.names == ["given"])
        }
    }

    // MARK: - Conditions

    /// Runs a command in this process, with its messages on a terminal.
    private func run(_ arguments: [String]) async throws -> (code: ExitCode, output: String, talk: String) {
        let aside = try TemporaryFolder()
        defer { aside.remove() }
        var console = Console()
        console.output = try Descriptor.open(aside.file("out", ""), O_WRONLY)
        (console.isOutputTerminal, console.laysOut) = (false, false)
        (console.isTalkTerminal, console.coloursTalk) = (true, false)
        console.talk = LineLog(try Descriptor.open(aside.file("talk", ""), O_WRONLY))
        let context = CommandContext(table: .standard, console: console, interruption: Interruption())
        var code = ExitCode.success
        do throws(CommandError) {
            code = try await context.table.run(arguments, in: context)
        } catch {
            code = error.code
        }
        console.talk.flush()
        return (code, aside.text("out") ?? "", aside.text("talk") ?? "")
    }

    @Test(
        "finding CL-12 a condition that holds is a success, leaves the file, and is one line on a terminal",
        arguments: [["-z", "reference"], ["--etag-compare", "tag"], ["If-None-Match:\"1\""]],
        [["-o", "f"], ["--force", "-o", "f"], ["-o", "none"], []] as [[String]]
    )
    func conditions(condition: [String], output: [String]) async throws {
        let server = try Self.server()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("f", Self.old)
        _ = try folder.file("reference", "")
        _ = try folder.file("tag", "\"1\"\n")
        let words = (output + [server.address("/304")] + condition)
            .map { ["f", "none", "reference", "tag"].contains($0) ? folder.path + $0 : $0 }
        let outcome = try await run(["get", "--no-config"] + words)
        #expect(outcome.code == .success && outcome.output == "", "\(outcome)")
        let lines = outcome.talk.split(separator: "\n")
        #expect(lines.count == 1 && lines.first?.contains("It has not changed") == true, "\(outcome)")
        #expect(folder.text("f") == Self.old && folder.names == ["f", "reference", "tag"])
        let piped = try await LadeProcess(["get", "--no-config"] + words).outcome()
        #expect(piped.status == 0 && piped.talk == "" && piped.output == "")
    }

    @Test("finding CL-12 a 304 without a condition, and a file that would be replaced without --force, are no success")
    func noCondition() async throws {
        let server = try Self.server()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        _ = try folder.file("f", Self.old)
        _ = try folder.file("tag", "\"9\"\n")
        let odd = try await LadeProcess.run("get", "--force", "-o", "f", server.address("/304"), in: folder.path)
        #expect(odd.status == 3)
        let arguments = ["get", "--etag-compare", "tag", "-o", "f", server.address("/200")]
        let changed = try await LadeProcess(arguments, in: folder.path).outcome()
        #expect(changed.status == 14 && changed.talk.contains("--force"), "\(changed.talk)")
        #expect(folder.text("f") == Self.old)
        let forced = try await LadeProcess(arguments + ["--force"], in: folder.path).outcome()
        #expect(forced.status == 0 && folder.text("f") == "new", "\(forced.talk)")
        let shown = try await LadeProcess.run("explain", server.address("/304"), "If-None-Match:\"1\"")
        #expect(shown.status == 0, "\(shown.talk)")
    }

    // MARK: - Calls at the same time

    @Test("finding CL-3 the failure that ends calls at the same time is told, and is the exit code")
    func failEarly() async throws {
        let isInFlight = Signal()
        let server = try LoopbackServer { request in
            guard request.path == "/slow" else {
                isInFlight.waitOnThread()
                return .status(404)
            }
            return ServerResponse(
                status: 200,
                fields: [ServerField("Content-Length", "9")],
                body: .raw { connection in
                    isInFlight.raise()
                    try connection.stall()
                }
            )
        }
        let outcome = try await LadeProcess.run(
            "get",
            "-Z",
            "--fail-early",
            "--max-time",
            "60s",
            server.address("/slow"),
            server.address("/missing")
        )
        #expect(outcome.status == 4, "\(outcome.talk)")
        #expect(outcome.talkLines.count == 2 && outcome.talk.contains("404"), "\(outcome.talk)")
    }

    @Test("finding CL-3 the first that ends the calls counts, in the order of time")
    func firstEnd() {
        let (missing, other) = (CommandError.usage("missing"), CommandError.usage("other"))
        var failures = FetchFailures(endsEarly: true)
        failures.add(missing, of: 1)
        failures.add(.interrupted, of: 0)
        failures.add(other, of: 2)
        #expect(failures.result == missing && failures.unreported == [missing, other])
        var interrupted = FetchFailures(endsEarly: true)
        interrupted.add(.interrupted, of: 2)
        interrupted.add(missing, of: 0)
        #expect(interrupted.result == .interrupted && interrupted.unreported.isEmpty)
        var closed = FetchFailures(endsEarly: false)
        closed.add(missing, of: 1)
        closed.add(.brokenPipe, of: 0)
        closed.add(.interrupted, of: 2)
        #expect(closed.result == .brokenPipe)
        var all = FetchFailures(endsEarly: false)
        all.add(other, of: 2)
        all.add(missing, of: 1)
        #expect(all.result == missing && all.unreported == [missing, other] && all.end == nil)
    }
}
