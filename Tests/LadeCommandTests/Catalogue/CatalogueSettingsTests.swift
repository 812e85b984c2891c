import LadeCatalogue
import Testing

@testable import LadeCommand

@Suite("The arguments of lade catalogue", .timeLimit(.minutes(5)))
struct CatalogueSettingsTests {
    private func settings(_ arguments: String...) throws -> CatalogueSettings {
        var settings = CatalogueSettings()
        _ = try ArgumentParser(command: "lade catalogue", rows: CatalogueSettings.rows).read(arguments, into: &settings)
        return settings
    }

    @Test("finds a service in any letter case, and suggests similar names")
    func service() throws {
        #expect(try settings("tvShows").service().name == "tvShows")
        #expect(try settings("TVSHOWS").service().name == "tvShows")
        let error = #expect(throws: CommandError.self) { try settings("latestEpisodes").service() }
        #expect(
            error?.what == "there is no service “latestEpisodes”; did you mean tvLatestEpisodes, radioLatestEpisodes, "
                + "showLatestEpisodes?"
        )
        let unknown = #expect(throws: CommandError.self) { try settings("qqqqqqqqqqqqq").service() }
        #expect(unknown?.what == "there is no service “qqqqqqqqqqqqq”")
    }

    @Test("lists the services without one")
    func listing() throws {
        #expect(try settings().listsServices)
        #expect(try settings("services", "tv").listsServices)
        #expect(try !settings("tvShows").listsServices)
    }

    @Test("takes values by their place and by name")
    func values() throws {
        func values(_ name: String, _ operands: String...) throws -> [String: String] {
            var settings = CatalogueSettings()
            settings.operands = [name] + operands
            return try settings.values(of: CatalogueService.named(name)!)
        }

        #expect(try values("radioEpisodes", "radio1", "2023-12-30") == ["channelUid": "radio1", "day": "2023-12-30"])
        #expect(
            try values("radioEpisodes", "day=2023-12-30", "radio1") == ["channelUid": "radio1", "day": "2023-12-30"]
        )
        #expect(try values("mediaSearch", "a=b") == ["q": "a=b"])
        #expect(try values("mediaSearch", "q=a=b") == ["q": "a=b"])
        #expect(try values("tvTrendingMedias", "pageSize=") == ["pageSize": ""])
        #expect(throws: CommandError.usage("q is given twice", advice: "Give it once.")) {
            try values("mediaSearch", "q=a", "q=b")
        }
        #expect(
            throws: CommandError.usage(
                "showSearch has no place for “video”",
                advice: "It takes q, mediaType; write the rest as NAME=VALUE."
            )
        ) { try values("showSearch", "lac", "video") }
    }

    typealias Paging = (String, [String], String?)

    static let pagingRows: [Paging] = [
        ("tvTopics", [], nil), ("tvTopics", ["--all"], "--all: tvTopics has no pages"),
        ("tvTopics", ["--size", "5"], "--size: tvTopics has no pages"), ("tvShows", ["--size", "unlimited"], nil),
        ("tvLatestEpisodes", ["--size", "unlimited"], "--size: tvLatestEpisodes has no unlimited pages"),
        ("tvLatestEpisodes", ["--size", "100", "--all"], nil),
        ("tvLatestEpisodes", ["--size", "101"], "A page cannot have 101 items; it has 1 to 100."),
        ("tvLatestEpisodes", ["--size", "1000"], "A page cannot have 1000 items; it has 1 to 100."),
        ("tvLatestEpisodes", ["--size", "0"], "A page cannot have 0 items; it has 1 to 100."),
        ("tvLatestEpisodes", ["--size", "-1"], "A page cannot have -1 items; it has 1 to 100."),
        ("sectionMedias", ["--size", "5"], "--size: sectionMedias chooses the size of its pages"),
        ("sectionMedias", ["--pages", "2"], nil), ("medias", ["--size", "50"], nil),
        ("medias", ["--size", "51"], "--size: medias takes 50 URNs at most"),
    ]

    @Test("refuses paging that a service does not have", arguments: pagingRows)
    func paging(row: Paging) throws {
        var settings = CatalogueSettings()
        _ = try ArgumentParser(command: "lade catalogue", rows: CatalogueSettings.rows).read(row.1, into: &settings)
        var refusal: String?
        do throws(CommandError) { try settings.checkPaging(of: CatalogueService.named(row.0)!) } catch {
            refusal = error.what
        }
        #expect(refusal == row.2)
    }

    @Test("asks the public token service for public installations only")
    func tokens() throws {
        #expect(try settings().tokenAddress == Catalogue.tokenServiceURL)
        #expect(try settings("--base", "staging").tokenAddress == Catalogue.tokenServiceURL)
        #expect(try settings("--base", ":8080").tokenAddress == "http://localhost:8080/akahd/token")
        #expect(try settings("--base", "http://a.example/x/").tokenAddress == "http://a.example/x/akahd/token")
        #expect(try settings("--base", ":8080", "--token-service", ":1/t").tokenAddress == "http://localhost:1/t")
    }
}
