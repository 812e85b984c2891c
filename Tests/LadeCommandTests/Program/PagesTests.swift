import Foundation
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

@testable import Lade
@testable import LadeCommand

/// The built program against the local catalogue.
@Suite("lade pages and lade serve", .timeLimit(.minutes(5)))
struct PagesTests {
    private static let list = "/integrationlayer/2.0/rts/mediaList/video/latestEpisodes"

    private func catalogue(medias: Int = 35, _ change: (inout LocalCatalogue.Options) -> Void = { _ in })
        throws -> LocalCatalogue
    {
        var options = LocalCatalogue.Options()
        options.medias = medias
        change(&options)
        return try LocalCatalogue(options)
    }

    private func lines(_ catalogue: LocalCatalogue, _ count: Int) -> String {
        (0..<count).map { String(decoding: catalogue.media($0), as: UTF8.self) + "\n" }.joined()
    }

    @Test(
        "pages PA-20 writes a whole list to the pipe, byte for byte",
        arguments: [
            [list, "--items", "/mediaList"],
            [list, "--items", "/mediaList", "--size", "20", "--size-query", "pageSize"],
            ["/medias", "--next", "page:page", "--prefetch", "3", "--total", "header:X-Total-Count"],
            ["/medias", "--next", "offset:offset", "--size", "9", "--size-query", "limit", "--prefetch", "2"],
            ["/medias"],
        ]
    )
    func wholeList(arguments: [String]) async throws {
        let catalogue = try catalogue()
        let outcome = try await LadeProcess(
            ["pages", catalogue.address(arguments[0])] + arguments.dropFirst()
        ).outcome()

        #expect(outcome.talk == "")
        #expect(outcome.status == 0)
        #expect(outcome.output == lines(catalogue, 35))
    }

    @Test("refuses a page with the items of an earlier one, unless it is the end or to be kept")
    func repeatedPages() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer { request in
            .json("[\(min(request.queryItem("page").flatMap { Int($0) } ?? 0, 2))]")
        }
        let arguments = ["pages", server.address(), "--next", "page:page"]
        let error =
            "lade: Page 3 has the content of an earlier page, so the server ignores the page's number or cursor, or has "
            + "no further pages: GET \(server.address())?page=3."

        let refused = try await LadeProcess(arguments).outcome()
        let kept = try await LadeProcess(arguments + ["--repeated", "keep", "--max-pages", "4"]).outcome()
        var files: [LadeProcess.Outcome] = []
        for choice in [[], ["--repeated", "refuse"], ["--repeated", "end"]] {
            files.append(try await LadeProcess(arguments + ["-o", "all"] + choice, in: folder.path).outcome())
        }

        #expect(refused.status == 13)
        #expect(refused.output == "1\n2\n")
        #expect(
            refused.talkLines == [
                error, "      Check --next; --repeated end stops before such a page, --repeated keep writes it.",
            ]
        )
        #expect(kept.status == 0)
        #expect(kept.output == "1\n2\n2\n2\n")
        #expect(files.map(\.status) == [12, 12, 0])
        #expect(folder.text("all") == "1\n2\n")
    }

    @Test("takes no part of a document for a page")
    func unrequestedPart() async throws {
        let server = try LoopbackServer { _ in
            .json("[1,2]", status: 206, [ServerField("Content-Range", "bytes 0-4/50")])
        }

        let outcome = try await LadeProcess.run("pages", server.address(), "--retry", "0")

        #expect(outcome.status == 7)
        #expect(outcome.output == "")
        #expect(
            outcome.talkLines.last == "      It is a part that was not requested; report it to the server's operator."
        )
    }

    @Test("pages PA-22 continues where a failure ended it, and command CM-03 exits with 12")
    func resumes() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let catalogue = try catalogue { $0.faults = [.unavailable: 3] }
        let arguments = ["pages", catalogue.address(Self.list), "--items", "/mediaList", "-o", "all", "--retry", "0"]

        var outcomes: [LadeProcess.Outcome] = []
        for _ in 0..<3 { outcomes.append(try await LadeProcess(arguments, in: folder.path).outcome()) }

        // Requests 1, 4 and 7 fail: the first run has nothing to continue, the second ends after two pages.
        #expect(outcomes.map(\.status) == [5, 12, 0])
        #expect(outcomes.map(\.talkLines.count) == [2, 2, 0])
        #expect(folder.text("all") == lines(catalogue, 35))
    }

    @Test("pages PA-23 refuses other arguments and what is not its own, and begins anew with --restart")
    func arguments() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let catalogue = try catalogue()
        let address = catalogue.address("/medias")
        _ = try folder.file("mine", "mine")

        #expect(try await LadeProcess.run("pages", address, "-o", "all", in: folder.path).status == 0)
        let other = try await LadeProcess.run("pages", address, "-o", "all", "--identity", "/id", in: folder.path)
        let foreign = try await LadeProcess.run("pages", address, "-o", "mine", in: folder.path)
        let anew = try await LadeProcess.run(
            "pages",
            address,
            "-o",
            "all",
            "--identity",
            "/id",
            "--restart",
            in: folder.path
        )

        #expect(other.status == 1)
        #expect(other.talk.contains("identity was not given and is /id"))
        #expect(foreign.status == 14)
        #expect(folder.text("mine") == "mine")
        #expect(anew.status == 0)
        #expect(folder.text("all") == lines(catalogue, 35))
    }

    @Test("pages PA-24 finishes the page at the first interrupt, saves, and ends with 12")
    func interrupt() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let signal = Signal()
        let server = try LoopbackServer { request in
            let page = request.queryItem("p").flatMap { Int($0) } ?? 0
            if page == 1 { signal.waitOnThread() }
            return .json("[\(page)]", [ServerField("Link", "</?p=\(page + 1)>; rel=next")])
        }
        let process = try LadeProcess(["pages", server.address(), "-o", "all"], in: folder.path)
        _ = try await server.head(at: 1)
        process.send(SIGINT)
        // The response may come once the program has said that it heard.
        try await process.talk(atLeast: 10)
        signal.raise()

        let outcome = try await process.outcome()

        #expect(outcome.status == 12)
        #expect(outcome.talk.contains("The same command continues from there."))
        #expect(folder.text("all") == "0\n1\n")
    }

    @Test(
        "names each changed argument with both values, and changes nothing without --restart: finding FQ-24 pages PA-23",
        arguments: [
            (["--items", "/b"], "items was /a and is /b"),
            (["--next", "body:/n"], "next was the common places and is body /n"),
            (["--size", "7"], "size was 0 and is 7"), (["--identity", "/id"], "identity was not given and is /id"),
            (["--unique", "--identity", "/id"], "duplicates was kept and is dropped"),
            (["--total", "/t"], "total was not given and is body /t"), (["-X", "POST"], "method was GET and is POST"),
            (["-d", "x"], "body was not given and is "), (["Accept:text/x"], "accept was */* and is text/x"),
            (["Accept-Language:de"], "accept-language was not given and is de"), (["p==1"], "url was "),
        ]
    )
    func changedArguments(change: [String], difference: String) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer { _ in .json(#"{"a":[{"id":1}],"b":[{"id":2},{"id":2}]}"#) }
        // The last of an option's values counts.
        let arguments = ["pages", server.address(), "-o", "all", "--items", "/a"]
        #expect(try await LadeProcess(arguments, in: folder.path).outcome().status == 0)
        let journal = folder.text("all.journal")

        let refused = try await LadeProcess(arguments + change, in: folder.path).outcome()
        let afterwards = (folder.text("all"), folder.text("all.journal"), server.requests.count)
        let anew = try await LadeProcess(arguments + change + ["--restart"], in: folder.path).outcome()

        #expect(refused.status == 1)
        #expect(refused.output == "")
        #expect(refused.talkLines.count == 2)
        #expect(refused.talkLines.last?.contains("--restart") == true)
        #expect(refused.talkLines.first?.contains(difference) == true, "\(refused.talk)")
        #expect(afterwards == ("{\"id\":1}\n", journal, 1))
        #expect(anew.status == 0)
        #expect(server.requests.count == 2)
        #expect(folder.text("all") == (change[0] == "--items" ? "{\"id\":2}\n{\"id\":2}\n" : "{\"id\":1}\n"))
    }

    @Test("one interrupt finishes the page, two stop, and the same command completes both: finding FQ-24 pages PA-24")
    func interrupts() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let gates = [1: Signal(), 3: Signal()]
        let server = try LoopbackServer { request in
            let page = request.queryItem("p").flatMap { Int($0) } ?? 0
            gates[page]?.waitOnThread()
            return .json("[\(page)]", page < 4 ? [ServerField("Link", "</?p=\(page + 1)>; rel=next")] : [])
        }
        let arguments = ["pages", server.address(), "-o", "all"]

        let first = try LadeProcess(arguments, in: folder.path)
        _ = try await server.head(at: 1)
        first.send(SIGINT)
        // The page is answered only after the program has received the interrupt.
        try await first.talk(atLeast: 10)
        gates[1]?.raise()
        let saved = try await first.outcome()
        let pages = folder.text("all")
        let targets = server.requests.map(\.target)

        let second = try LadeProcess(arguments, in: folder.path)
        _ = try await server.head(at: 3)
        second.send(SIGINT)
        try await second.talk(atLeast: 10)
        second.send(SIGINT)
        let stopped = try await second.outcome()
        gates[3]?.raise()
        let third = try await LadeProcess(arguments, in: folder.path).outcome()

        #expect(saved.status == 12)
        #expect(saved.output == "")
        #expect(
            saved.talkLines == [
                "lade: Finishing the page; interrupt again to end immediately.",
                "lade: Stopped after 2 pages, 2 items.",
                "      The same command continues from there.",
            ]
        )
        #expect(pages == "0\n1\n")
        #expect(targets == ["/", "/?p=1"])
        #expect(stopped.status == 130)
        #expect(third.status == 0)
        #expect(folder.text("all") == "0\n1\n2\n3\n4\n")
        #expect(folder.names == ["all", "all.journal"])
        #expect(server.requests[2].target == "/?p=2")
    }

    @Test("keeps the journal where --state says, and continues from there")
    func state() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let catalogue = try catalogue()
        let arguments = ["pages", catalogue.address("/medias"), "-o", "all", "--state", "journal"]

        let first = try await LadeProcess(arguments + ["--max-items", "3"], in: folder.path).outcome()
        let begun = (folder.names, folder.text("all"))
        let second = try await LadeProcess(arguments, in: folder.path).outcome()

        #expect(first.status == 0)
        #expect(second.status == 0)
        #expect(begun == (["all", "journal"], lines(catalogue, 3)))
        #expect(folder.names == ["all", "journal"])
        #expect(folder.text("all") == lines(catalogue, 35))
    }

    @Test("keeps the fields and cookies of a session, and sends them with every page")
    func session() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer { request in
            let next = request.path == "/" ? [ServerField("Link", "</2>; rel=next")] : []
            let item = "\"\(request["Cookie"] ?? "-") \(request["X-A"] ?? "-")\""
            return .json("[\(item)]", next + [ServerField("Set-Cookie", "s=1; Path=/")])
        }

        let first = try await LadeProcess.run("pages", server.address(), "--session=s", "X-A:1", in: folder.path)
        let second = try await LadeProcess.run("pages", server.address(), "--session=s", in: folder.path)

        #expect(first.output == "\"- 1\"\n\"s=1 1\"\n")
        #expect(second.output == "\"s=1 1\"\n\"s=1 1\"\n")
    }

    @Test("writes to the standard output with --out -, and to no file of that name")
    func standardOutput() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer { _ in .json("[1]") }

        let outcome = try await LadeProcess.run("pages", server.address(), "--out", "-", in: folder.path)

        #expect(outcome.status == 0)
        #expect(outcome.output == "1\n")
        #expect(folder.names == [])
    }

    @Test("escapes the control characters of items on a terminal, and nowhere else")
    func terminal() async throws {
        let server = try LoopbackServer { _ in .json("[\"\u{9B}2J\"]") }

        let shown = try await LadeProcess.run("pages", server.address(), to: .terminal)
        let piped = try await LadeProcess.run("pages", server.address())

        #expect(shown.status == 0)
        #expect(shown.output == "\"\\u009b2J\"\r\n")
        #expect(piped.output == "\"\u{9B}2J\"\n")
    }

    @Test("command CM-05 ends without a message and with 0 when its output has no reader any more")
    func brokenPipe() async throws {
        let catalogue = try catalogue(medias: 5_000)
        let outcome = try await LadeProcess(["pages", catalogue.address("/medias")], to: .brokenPipe).outcome()

        #expect(outcome.status == 0)
        #expect(outcome.talk == "")
    }

    @Test(
        "says what is wrong with paging options",
        arguments: [
            ["--next", "nonsense"], ["--next", "cursor:/a"], ["--items", "a"], ["--size", "0"], ["--prefetch", "-1"],
            ["--unique"], ["--restart"], ["--next", "page:p=x"],
        ]
    )
    func usage(arguments: [String]) async throws {
        let outcome = try await LadeProcess(["pages", "http://127.0.0.1:1/"] + arguments).outcome()

        #expect(outcome.status == 1)
        #expect(outcome.talkLines.count == 2)
    }

    @Test(
        "reads every form of --next",
        arguments: [
            ("link", Pages.Rule.link(relation: "next")), ("link:more", .link(relation: "more")),
            ("body:/a/b", .body(["a", "b"])), ("cursor:/c=after", .bodyCursor(["c"], query: "after")),
            ("header:X-C=after", .headerCursor("X-C", query: "after")), ("page:p", .pageNumber(query: "p")),
            ("page:p=0", .pageNumber(query: "p", first: 0)), ("offset:o", .offset(query: "o")),
        ]
    )
    func rules(text: String, rule: Pages.Rule) throws {
        #expect(try PagingSettings.rule(text) == rule)
    }

    @Test("shows no control characters on a terminal, and the same JSON")
    func controlCharacters() {
        #expect(PagesRun.shown(Data("{\"a\":\"\u{7F}\u{9B}é\"}\n".utf8)) == Array("{\"a\":\"\\u007f\\u009bé\"}\n".utf8))
    }

    @Test("finding FL-11 shows no bidirectional controls on a terminal, and the same JSON")
    func bidirectionalControls() throws {
        let controls = "\u{200E}\u{200F}\u{061C}\u{202A}\u{202E}\u{2066}\u{2069}\u{2028}\u{2029}\u{FEFF}"
        let line = Data("{\"a\":\"\(controls)é\"}\n".utf8)

        let shown = PagesRun.shown(line)

        let text = String(decoding: shown, as: UTF8.self)
        #expect(!text.unicodeScalars.contains { controls.unicodeScalars.contains($0) })
        #expect(text.hasPrefix("{\"a\":\"\\u200e\\u200f\\u061c\\u202a"))
        #expect(text.hasSuffix("é\"}\n"))
        #expect(try JSONDecoder().decode([String: String].self, from: Data(shown)) == ["a": controls + "é"])
    }

    @Test(
        "finding FQ-22 ends at the second interrupt with the status of its signal, and leaves no temporary file",
        arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)]
    )
    func secondInterrupt(signal: Int32, status: Int32) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try LoopbackServer(script: [.readRequest, .stall])
        // A program that ignores the second interrupt ends at this time-out, with another status.
        let process = try LadeProcess(
            ["pages", server.address(), "-o", "all", "--retry", "0", "--idle-timeout", "10s"],
            in: folder.path
        )
        _ = try await server.head(at: 0)
        process.send(SIGINT)
        // The program has received the first once it says so.
        try await process.talk(atLeast: 10)
        process.send(signal)

        let outcome = try await process.outcome()

        #expect(outcome.status == status)
        #expect(outcome.talkLines == ["lade: Finishing the page; interrupt again to end immediately."])
        #expect(folder.names == ["all", "all.journal"])
    }

    @Test("does not end by a signal that it was started to ignore, as with nohup")
    func ignoredSignal() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let gate = Signal()
        let server = try LoopbackServer { _ in
            gate.waitOnThread()
            return .json("[1]", [ServerField("Link", "</?p=1>; rel=next")])
        }
        let process = try LadeProcess(
            ["-c", "trap '' HUP; exec lade pages \"$0\" -o all", server.address()],
            program: "/bin/bash",
            in: folder.path
        )
        _ = try await server.head(at: 0)

        process.send(SIGHUP)
        process.send(SIGINT)
        // If SIGHUP counted, SIGINT would be the second signal and end the program immediately.
        try await process.talk(atLeast: 10)
        gate.raise()
        let outcome = try await process.outcome()

        #expect(outcome.status == 12)
        #expect(folder.text("all") == "1\n")
    }

    @Test("serves a catalogue, prints its address, and ends well when interrupted")
    func serve() async throws {
        let process = try LadeProcess(["serve", "--medias", "12"])
        try await process.output(atLeast: 20)
        let pages = try await LadeProcess.run("pages", "\(process.outputSoFar().dropLast())medias")
        process.send(SIGINT)
        let outcome = try await process.outcome()

        #expect(pages.status == 0)
        #expect(pages.output.split(separator: "\n").count == 12)
        #expect(outcome.status == 0)
        #expect(outcome.talk.contains("/medias"))
    }
}
