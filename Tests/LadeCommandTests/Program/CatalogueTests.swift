import Foundation
import LadeCatalogue
import LadeCatalogueServer
import LadeTesting
import Testing

@testable import LadeCommand

/// The built program against the local catalogue.
@Suite("lade catalogue", .timeLimit(.minutes(5)))
struct CatalogueTests {
    private let catalogue: LocalCatalogue

    init() throws {
        var options = LocalCatalogue.Options()
        options.medias = 35
        catalogue = try LocalCatalogue(options)
    }

    private func run(_ arguments: String..., to sink: LadeProcess.Output = .pipe) async throws -> LadeProcess.Outcome {
        let process = try LadeProcess(["catalogue", "--base", catalogue.address("")] + arguments, to: sink)
        return try await process.outcome()
    }

    @Test("lists the services of a business unit, and those with a text in their names")
    func services() async throws {
        let all = try await run("services")
        let swi = try await run("services", "--unit", "SWI")
        let found = try await run("services", "showsear")

        #expect(all.status == 0)
        #expect(all.talk == "")
        #expect(all.output.split(separator: "\n").count == CatalogueService.all.count)
        #expect(swi.output.contains("modules\t–\ttype\n"))
        #expect(!swi.output.contains("tvEpisodes"))
        #expect(
            found.output.split(separator: "\n").map { $0.prefix { $0 != "\t" } } == [
                "tvShowSearch", "radioShowSearch", "showSearch",
            ]
        )
    }

    @Test("explains the arguments of a service whose whole name was given, on a terminal alone")
    func serviceArguments() async throws {
        let shown = try await run("services", "tvShowSearch", to: .terminal)
        let similar = try await run("services", "tvShowSear", to: .terminal)
        let piped = try await run("services", "tvShowSearch")
        let service = try #require(CatalogueService.all.first { $0.name == "tvShowSearch" })

        #expect(!service.arguments.isEmpty)
        for argument in service.arguments { #expect(shown.output.contains("\n\(argument.name) ")) }
        for argument in service.arguments { #expect(!similar.output.contains("\n\(argument.name) ")) }
        #expect(piped.output.split(separator: "\n").count == 1)
    }

    @Test("prints a page with tabs in a pipe, and several pages as one list")
    func pages() async throws {
        let one = try await run("tvLatestEpisodes", "--unit", "rts", "--size", "5")
        let two = try await run("tvLatestEpisodes", "--unit", "rts", "--size", "5", "--pages", "2")
        let all = try await run("tvLatestEpisodes", "--unit", "rts", "--size", "20", "--all")

        #expect(one.status == 0)
        #expect(one.talk == "")
        let lines = one.output.split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines.allSatisfy { $0.split(separator: "\t").count == 5 })
        #expect(lines.first?.hasSuffix("\turn:rts:video:100000") == true)
        #expect(two.output.hasPrefix(one.output))
        #expect(two.output.split(separator: "\n").count == 10)
        #expect(all.output.hasPrefix(two.output))
        #expect(all.output.split(separator: "\n").count == 35)
    }

    @Test("prints a table with titles on a terminal, which fits it")
    func terminal() async throws {
        let outcome = try await run("tvLatestEpisodes", "--unit", "rts", "--pages", "2", to: .terminal)

        let lines = outcome.output.replacing("\r\n", with: "\n").split(separator: "\n")
        #expect(lines.count == 21)
        #expect(lines.first?.hasPrefix("\u{1B}[1mTitle ") == true)
        // The terminal has no size, so the width is 80.
        #expect(lines.dropFirst().allSatisfy { String($0).columnCount <= 80 })
        #expect(lines.contains { $0.contains("…") })
    }

    @Test("prints with --json what the catalogue sent, a document for each page")
    func json() async throws {
        let outcome = try await run("tvLatestEpisodes", "--unit", "rts", "--json", "--pages", "2", "--size", "3")

        let lines = outcome.output.split(separator: "\n")
        #expect(lines.count == 2)
        for line in lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect((object?["mediaList"] as? [Any])?.count == 3)
        }
    }

    @Test("prints the addresses of images and streams, with tokens")
    func addresses() async throws {
        let images = try await run("tvShows", "--unit", "rts", "--size", "2", "--images", "480")
        let streams = try await run("tvLatestEpisodes", "--unit", "rts", "--size", "2", "--streams")
        let one = try await run("mediaComposition", "urn:rts:video:100001", "--streams")

        let image = catalogue.address("/images/?imageUrl=https://img.example.org/sh1000.jpg&format=jpg&width=480")
        #expect(images.output.hasPrefix("urn:rts:show:tv:sh1000\timage\t\(image)\n"))
        let lines = streams.output.split(separator: "\n").map(String.init)
        #expect(
            lines.map { $0.replacing(/hmac=.*/, with: "") } == [
                "urn:rts:video:100000\tHLS SD\thttps://stream.example.org/100000-sd/master.m3u8",
                "urn:rts:video:100000\tHLS HD\thttps://stream.example.org/100000-hd/master.m3u8?"
                    + "hdnts=exp=1700000030~acl=/100000-hd/*~",
                "urn:rts:video:100001\tHLS SD\thttps://stream.example.org/100001-sd/master.m3u8",
                "urn:rts:video:100001\tHLS HD\thttps://stream.example.org/100001-hd/master.m3u8?"
                    + "hdnts=exp=1700000030~acl=/100001-hd/*~",
            ]
        )
        #expect(one.output == lines.suffix(2).map { $0 + "\n" }.joined())
    }

    @Test("makes every request of a call as the options of the connection say")
    func connection() async throws {
        // Nothing answers at the address itself.
        let arguments = [
            "catalogue", "--base", "http://127.0.0.1:1/", "--connect-to", "127.0.0.1:\(catalogue.port)",
            "tvLatestEpisodes", "--unit", "rts", "--size", "2", "--streams", "--retry", "0",
        ]

        let outcome = try await LadeProcess(arguments).outcome()

        #expect(outcome.status == 0, "\(outcome.talk)")
        #expect(outcome.output.split(separator: "\n").count == 4)
    }

    static let mistakeRows: [([String], String)] = [
        (["nosuch"], "lade: there is no service “nosuch”"),
        (["tvTopic", "--unit", "rts"], "lade: there is no service “tvTopic”; did you mean tvTopics"),
        (["tvTopics"], "lade: The service tvTopics needs a business unit: rsi, rtr, rts, srf, swi."),
        (["tvTopics", "--unit", "ssatr"], "lade: The service tvTopics is not available for ssatr"),
        (["tvTopics", "--unit", "sfr"], "lade: --unit: there is no “sfr”; did you mean “srf”?"),
        (["media", "urn:rts"], "lade: “urn:rts” is no URN"), (["media"], "lade: The service media needs urn, a URN."),
        (["tvEpisodes", "2023-02-30", "--unit", "rts"], "lade: “2023-02-30” is no day"),
        (["tvLatestEpisodes", "--unit", "rts", "--size", "1000"], "lade: A page cannot have 1000 items"),
        (["mediaSearch", " ", "--unit", "rts"], "lade: There is nothing to search for."),
        (["tvTopics", "--unit", "rts", "--json", "--streams"], "lade: both --json and --streams"),
        (["tvShows", "--unit", "rts", "--images", "100"], "lade: --images: “100” is no width"),
        (["services", "zzzz"], "lade: no service has “zzzz” in its name"),
    ]

    @Test("refuses mistakes in two lines before anything is sent", arguments: mistakeRows)
    func mistakes(arguments: [String], line: String) async throws {
        let process = try LadeProcess(["catalogue", "--base", catalogue.address("")] + arguments)
        let outcome = try await process.outcome()

        #expect(outcome.status == 1)
        #expect(outcome.output == "")
        #expect(outcome.talkLines.count == 2)
        #expect(outcome.talkLines.first?.hasPrefix(line) == true, "\(outcome.talk)")
        #expect(catalogue.counts.requests == 0)
    }

    @Test("reports what the catalogue says about a request that it refuses")
    func refusal() async throws {
        let outcome = try await run("media", "urn:rts:video:1")

        #expect(outcome.status == 4)
        #expect(outcome.talkLines.count == 2)
        #expect(outcome.talkLines.first?.hasSuffix("It says: That is the URN of no media.") == true)
    }

    /// Responses that are no response of the catalogue, and the error; nil for one that is merely empty.
    static let malformedRows: [(String, String?)] = [
        ("null", "The catalogue's response is null, not an object."),
        ("[]", "The catalogue's response is a list, not an object."),
        ("[{}]", "The catalogue's response is a list, not an object."),
        ("\"text\"", "The catalogue's response is a text, not an object."),
        ("17", "The catalogue's response is a number, not an object."),
        ("false", "The catalogue's response is a truth value, not an object."),
        (#"{"mediaList":{}}"#, "The catalogue's mediaList is an object, not a list."),
        (#"{"mediaList":"x"}"#, "The catalogue's mediaList is a text, not a list."),
        (#"{"mediaList":[{"title":"x"},null]}"#, "Item 1 of the catalogue's mediaList is null, not an object."),
        (#"{"mediaList":[[]]}"#, "Item 0 of the catalogue's mediaList is a list, not an object."),
        (#"{"mediaList":null}"#, nil), ("{}", nil), (#"{"mediaList":[]}"#, nil),
    ]

    @Test(
        "refuses an answer that is none of the catalogue's, with the code of a decoding failure",
        arguments: malformedRows,
        [[], ["--images", "480"], ["--streams"]]
    )
    func malformedAnswers(row: (answer: String, error: String?), options: [String]) async throws {
        let server = try LoopbackServer { _ in .json(row.answer) }
        let arguments = ["catalogue", "--base", server.address(""), "--unit", "rts", "tvLatestEpisodes"]

        let outcome = try await LadeProcess(arguments + options).outcome()

        #expect(outcome.output == "")
        guard let error = row.error else {
            #expect(outcome.status == 0)
            #expect(outcome.talkLines.count == 1)
            return
        }
        #expect(outcome.status == 13)
        #expect(outcome.talkLines == ["lade: \(error)", "      Print the response with --json."])
    }

    @Test("prints any document with --json")
    func malformedJSON() async throws {
        let server = try LoopbackServer { _ in .json("null") }
        let outcome = try await LadeProcess.run(
            "catalogue",
            "--base",
            server.address(""),
            "tvLatestEpisodes",
            "--unit",
            "rts",
            "--json"
        )

        #expect(outcome.status == 0)
        #expect(outcome.output == "null\n")
    }

    @Test("reports an empty list")
    func empty() async throws {
        let outcome = try await run("mediaSearch", "nothinglikethis", "--unit", "rts")

        #expect(outcome.status == 0)
        #expect(outcome.output == "")
        #expect(outcome.talk == "lade: The catalogue responded without any item.\n")
    }
}
