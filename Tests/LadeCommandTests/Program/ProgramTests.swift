import Foundation
import Lade
import LadeCatalogueServer
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

@testable import LadeCommand

/// The built program where it needs no network.
@Suite("lade", .timeLimit(.minutes(5)))
struct ProgramTests {
    @Test("command CM-08 prints the help of each command to the standard output")
    func help() async throws {
        let pages = HelpPage(table: .standard)
        #expect(try await LadeProcess.run("--help").output == pages.overview)
        for command in CommandTable.standard.commands {
            let outcome = try await LadeProcess.run(command.name, "--help")
            #expect(outcome.status == 0)
            #expect(outcome.output == pages.page(of: command))
            #expect(try await LadeProcess.run("help", command.name).output == outcome.output)
        }
        #expect(try await LadeProcess.run("help", "exit-codes").output == pages.exitCodes)
    }

    @Test(
        "command CM-08 suggests the nearest command, option and topic",
        arguments: [
            (["gte"], "lade: there is no command “gte”; did you mean “get”?"),
            (["get", "--heder", "x"], "lade: there is no option --heder; did you mean --header?"),
            (["--versoin"], "lade: there is no option --versoin; did you mean --version?"),
            (["help", "exit-code"], "lade: there is no help about “exit-code”; did you mean “exit-codes”?"),
        ]
    )
    func suggestions(arguments: [String], line: String) async throws {
        let outcome = try await LadeProcess(arguments).outcome()
        #expect(outcome.status == 1)
        #expect(outcome.output == "")
        #expect(outcome.talkLines.count == 2)
        #expect(outcome.talkLines.first == line)
    }

    @Test("fetches an address without the word get, with options before or behind it")
    func addressAlone() async throws {
        let server = try LoopbackServer { request in .text("\(request.method) \(request.target)") }
        #expect(try await LadeProcess.run(server.address("/a")).output == "GET /a")
        #expect(try await LadeProcess.run(server.authority + "/b", "x==1").output == "GET /b?x=1")
        #expect(try await LadeProcess.run("-X", "PUT", server.address("/c")).output == "PUT /c")
        #expect(try await LadeProcess.run("--json", "{}", server.address("/d")).output == "POST /d")
        #expect(try await LadeProcess.run(":\(server.authority.split(separator: ":")[1])/e").output == "GET /e")
        let unknown = try await LadeProcess.run("nosuch")
        #expect(unknown.talkLines.first == "lade: there is no command “nosuch”")
    }

    @Test("command CM-08 shows the overview as an error when nothing is asked for")
    func nothing() async throws {
        let outcome = try await LadeProcess.run()
        #expect(outcome.status == 1)
        #expect(outcome.output == "")
        #expect(outcome.talk == HelpPage(table: .standard).overview)
    }

    @Test("command CM-08 shows examples that work")
    func examples() async throws {
        let server = try LoopbackServer { request in request.path == "/shows" ? .json("[]") : .text("film") }
        let catalogue = try LocalCatalogue()
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let entry = #"""
            {"startedDateTime":"2026-01-01T00:00:00.000Z","time":1,"request":{"method":"GET","url":"https://a.example/",\#
            "httpVersion":"HTTP/1.1","cookies":[],"headers":[],"queryString":[],"headersSize":-1,"bodySize":0},\#
            "response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","cookies":[],"headers":[],\#
            "content":{"size":0,"mimeType":"text/plain"},"redirectURL":"","headersSize":-1,"bodySize":0},\#
            "cache":{},"timings":{"send":0,"wait":1,"receive":0}}
            """#
        let recording = #"{"log":{"version":"1.2","creator":{"name":"a","version":"1"},"entries":["#
        try Data((recording + [entry, entry, entry].joined(separator: ",") + "]}}").utf8)
            .write(to: URL(filePath: folder.path + "session.har"))
        // The whole demonstration takes minutes; its quick forms are enough here.
        let examples = CommandTable.standard.commands.flatMap(\.examples).filter { $0.line != "lade demo" }
        for example in examples {
            let line = example.line.replacingOccurrences(
                of: "https://api.example.com",
                with: "http://\(server.authority)"
            )
            .replacingOccurrences(of: "--for 10m", with: "--for 10ms")
            .replacingOccurrences(of: "lade catalogue ", with: "lade catalogue --base \(catalogue.address("")) ")
            // A program that is not there is replaced by one that takes anything.
            let script = """
                for tool in fish man; do
                    command -v $tool >/dev/null || eval "$tool() { cat >/dev/null; }"
                done
                set -e -o pipefail
                \(line.hasSuffix("| source") ? line.replacingOccurrences(of: "source", with: "fish") : line)
                """
            let outcome = try await LadeProcess.run("-c", script, program: "/bin/bash", in: folder.path)
            #expect(outcome.status == 0, "\(line): \(outcome.talk)")
        }
        #expect(
            server.requests.map { "\($0.method) \($0.target)" } == [
                "GET /shows?size=10", "POST /shows", "GET /show.mp4", "GET /shows?size=50", "GET /shows?page=1",
                "GET /shows", "GET /shows", "GET /shows", "GET /shows",
            ]
        )
        #expect(folder.text("show.mp4") == "film")
    }

    @Test(
        "command CM-08 completes commands, options and values in bash",
        arguments: [
            ("lade ge", "get"), ("lade get --conn", "--connect-timeout --connect-to"), ("lade help exit", "exit-codes"),
            ("lade completions ", "bash zsh fish"),
            ("lade catalogue module", "modules moduleLatestMedias moduleLatestMediasByUid moduleSectionLatestMedias"),
            ("lade catalogue tvTopics --unit ss", "ssatr"), ("lade --ver", "--version"), ("lade get -o ", ""),
        ]
    )
    func bash(typed: String, offered: String) async throws {
        let script = """
            source <(lade completions bash)
            COMP_WORDS=(\(typed)\(typed.hasSuffix(" ") ? "''" : "")); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _lade
            echo "${COMPREPLY[*]}"
            """
        let outcome = try await LadeProcess.run("-c", script, program: "/bin/bash")
        #expect(outcome.output == offered + "\n")
        #expect(outcome.talk == "")
    }

    @Test("command CM-08 gives zsh and fish what they can read", arguments: ["zsh", "fish"])
    func shells(shell: String) async throws {
        guard let path = ["/bin/", "/usr/bin/", "/usr/local/bin/"].map({ $0 + shell }).first(where: isExecutable) else {
            return
        }
        let script = try await LadeProcess.run("completions", shell).output
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let outcome = try await LadeProcess.run("-n", try folder.file("script", script), program: path)
        #expect(outcome.status == 0, "\(outcome.talk)")
    }

    @Test("command CM-08 prints a manual page that the formatter has nothing to say about")
    func manual() async throws {
        let groff = "/usr/bin/groff"
        let source = try await LadeProcess.run("help", "--man").output
        #expect(source == ManPage(table: .standard).source)
        guard isExecutable(groff) else { return }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let page = try folder.file("lade.1", source)
        let outcome = try await LadeProcess.run("-man", "-Tutf8", "-ww", "-z", page, program: groff)
        #expect(outcome.status == 0)
        #expect(outcome.talk == "")
    }

    private func isExecutable(_ path: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: path)
    }

    @Test("command CM-09 makes no service for --help, whatever else is asked for")
    func frugal() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let services = Locked(0)
        var console = Console()
        console.output = try Descriptor.open(folder.file("out", ""), O_WRONLY)
        var context = CommandContext(table: .standard, console: console, interruption: Interruption())
        context.makeService = { settings throws(LoadingError) in
            services.withLock { $0 += 1 }
            return Service(settings, transport: ScriptedTransport(answering: .status(204)))
        }

        let code = try await context.table.run(["get", "http://h/", "-v", "--help"], in: context)

        #expect(code == .success)
        #expect(folder.text("out") == CommandTable.standard["get"].map { HelpPage(table: .standard).page(of: $0) })
        #expect(services.withLock(\.self) == 0)
        #expect(try await context.table.run(["get", "http://h/"], in: context) == .success)
        #expect(services.withLock(\.self) == 1)
    }

    @Test("prints any help without reading a file, whatever else is asked for: finding FQ-24 command CM-09")
    func helpReadsNothing() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        // A configuration that cannot be parsed is an error of every call.
        let configuration = folder.path + ".config/lade"
        try FileManager.default.createDirectory(atPath: configuration, withIntermediateDirectories: true)
        try Data("[unclosed\n".utf8).write(to: URL(fileURLWithPath: configuration + "/config"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: configuration + "/config")
        let pages = HelpPage(table: .standard)
        let get = try #require(CommandTable.standard["get"])
        let expected = [
            (["--help"], pages.overview), (["get", "--help"], pages.page(of: get)),
            (["http://127.0.0.1:1/", "-d", "@missing", "--netrc", "--help"], pages.page(of: get)),
            (["help", "get"], pages.page(of: get)), (["help", "exit-codes"], pages.exitCodes),
        ]
        for (line, text) in expected {
            let outcome = try await LadeProcess(line, in: folder.path).outcome()
            #expect(outcome.status == 0, "\(line): \(outcome.talk)")
            #expect(outcome.talk == "", "\(line): \(outcome.talk)")
            #expect(outcome.output == text, "\(line)")
        }
        #expect(try await LadeProcess(["get", "http://127.0.0.1:1/"], in: folder.path).outcome().status == 14)
    }

    @Test("command CM-10 lists transport, TLS, codings and HTTP versions")
    func version() async throws {
        #expect(try await LadeProcess.run("--version").output == "lade \(Version.number)\n")
        #expect(try await LadeProcess.run("-V").output == "lade \(Version.number)\n")
        let outcome = try await LadeProcess.run("--version", "--json")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        )
        #expect(object["version"] as? String == Version.number)
        #expect((object["transport"] as? [String: String])?["name"]?.isEmpty == false)
        #expect((object["tls"] as? String)?.isEmpty == false)
        #expect((object["codings"] as? [String])?.contains("gzip") == true)
        #expect((object["httpVersions"] as? [String])?.contains("HTTP/1.1") == true)
    }

    @Test("command CM-05 ends without a message and with 0 when the help has no reader")
    func brokenPipe() async throws {
        let outcome = try await LadeProcess.run("--help", to: .brokenPipe)
        #expect(outcome.status == 0)
        #expect(outcome.talk == "")
    }

    @Test("command CM-03 ends with 14 when a standard stream that it needs is closed")
    func closedStreams() async throws {
        let closed = try await LadeProcess.run("-c", "exec lade --version >&-", program: "/bin/bash")
        #expect(closed.status == 14)
        #expect(closed.talkLines.count == 2)
    }
}
