import Foundation
import Lade
import LadeCatalogueServer
import LadeTesting
import Testing

@testable import LadeCatalogue
@testable import LadeCommand

@Suite("The tables of lade catalogue", .timeLimit(.minutes(5)))
struct CatalogueTableTests {
    private func table(_ json: String) throws -> TextTable {
        try #require(Array(CatalogueTable.tables(of: try CatalogueResponse(Data(json.utf8)))).first)
    }

    @Test("shows the titles, dates, lengths, shows and URNs of medias")
    func medias() throws {
        let table = try table(
            """
            {"mediaList": [{"urn": "urn:rts:video:1", "title": "Le lac", "date": "2023-12-30T20:05:00+01:00",
              "duration": 3905000, "show": {"title": "Nature"}}, {"urn": "urn:rts:video:2", "duration": 59999}]}
            """
        )

        #expect(table.columns.map(\.title) == ["Title", "Date", "Length", "Show", "URN"])
        #expect(
            table.rows == [
                ["Le lac", "2023-12-30 20:05", "1:05:05", "Nature", "urn:rts:video:1"],
                ["", "", "0:59", "", "urn:rts:video:2"],
            ]
        )
    }

    @Test("shows a guide as one list, whose rows name their channels")
    func guide() throws {
        let table = try table(
            """
            {"programGuide": [{"channel": {"title": "Un"}, "programList": [
              {"title": "Météo", "startTime": "2023-12-30T20:00:00+01:00"}, {"title": "Film"}]}, {}]}
            """
        )

        #expect(table.rows == [["Un", "2023-12-30 20:00", "Météo", ""], ["Un", "", "Film", ""]])
    }

    @Test("shows the members of a single object, the important ones first")
    func object() throws {
        let table = try table(
            """
            {"zeta": true, "duration": 61000, "urn": "urn:rts:video:1", "title": "Le lac", "parts": [1, 2], "point": {},
             "show": {"title": "Nature", "urn": "urn:rts:show:tv:1"}, "none": null, "ratio": 1.50}
            """
        )

        #expect(
            table.rows == [
                ["title", "Le lac"], ["urn", "urn:rts:video:1"], ["duration", "1:01"], ["parts", "2 elements"],
                ["ratio", "1.50"], ["show", "Nature, urn:rts:show:tv:1"], ["zeta", "true"],
            ]
        )
    }

    @Test("lets no value control the terminal or add a line")
    func hostile() throws {
        let table = try table(
            #"{"mediaList": [{"title": "a\u001b[2J\nb\t\u202e", "date": "T\u0007T", "duration": "\r", "urn": [1]}, 7]}"#
        )

        for row in table.rows {
            #expect(row.allSatisfy { $0.unicodeScalars.allSatisfy { !$0.rewritesDisplay } })
        }
        #expect(table.rows.first?.first == "a\\x1B[2J\\x0Ab\\x09\\u{202E}")
        #expect(table.rows.count == 2)
    }

    @Test("makes the addresses of all images of an item")
    func images() throws {
        let response = try CatalogueResponse(
            Data(
                #"""
                {"showList": [{"title": "A", "urn": "urn:1", "posterImageUrl": "https://x.example/p.png",
                  "imageUrl": "https://x.example/i"}, {"title": "B"}, {"imageUrl": 5}]}
                """#.utf8
            )
        )
        let catalogue = try Catalogue("http://127.0.0.1:1")

        let items = CatalogueTable.images(of: response, catalogue, .width480)

        let base = "http://127.0.0.1:1/images/?imageUrl=https://x.example/"
        #expect(
            items == [
                .init(
                    title: "A",
                    name: "urn:1",
                    links: [
                        .init(label: "image", address: base + "i&format=jpg&width=480"),
                        .init(label: "poster", address: base + "p.png&format=png&width=480"),
                    ]
                )
            ]
        )
    }

    @Test("finds the medias among the items, also those of episodes")
    func mediaURNs() throws {
        func urns(_ json: String) throws -> [String] {
            CatalogueTable.mediaURNs(of: try CatalogueResponse(Data(json.utf8)))
        }

        #expect(try urns(#"{"mediaList": [{"urn": "urn:rts:video:1"}, {"urn": "x"}, {}]}"#) == ["urn:rts:video:1"])
        #expect(
            try urns(#"{"episodeList": [{"mediaList": [{"urn": "urn:rts:audio:2"}]}]}"#) == ["urn:rts:audio:2"]
        )
        #expect(try urns(#"{"urn": "urn:rts:video:3", "title": "A"}"#) == ["urn:rts:video:3"])
        #expect(try urns(#"{"showList": [{"urn": "urn:rts:show:tv:1"}]}"#) == [])
    }

    @Test("lists the services with their arguments, units and pages")
    func services() throws {
        let names = ["tvShowSearch", "media", "tvHeroStageMedias", "allRadioShows", "sectionShows"]
        let table = CatalogueTable.services(names.compactMap { CatalogueService.named($0) })
        let media = try #require(CatalogueService.named("media"))
        let episodes = try #require(CatalogueService.named("radioEpisodes"))

        #expect(table.columns.map(\.title) == ["Service", "Pages", "Units", "Arguments"])
        #expect(
            table.rows == [
                ["tvShowSearch", "yes", "srf rts rsi rtr swi", "q"], ["media", "–", "any", "urn"],
                ["tvHeroStageMedias", "–", "none", ""], ["allRadioShows", "unlimited", "srf rts rsi rtr", ""],
                [
                    "sectionShows", "own size", "srf rts rsi rtr swi ssatr",
                    "uid [userId] [isPublished] [previewDate]",
                ],
            ]
        )
        #expect(CatalogueTable.services([media], for: .rts).rows == [["media", "–", "urn"]])
        #expect(
            CatalogueTable.arguments(episodes).rows == [
                ["channelUid", "required", "an identifier"], ["day", "optional", "a day, such as 2023-12-30"],
            ]
        )
    }

    private static let values = [
        "channelUid": "radio1", "urn": "urn:rts:video:100001", "urns": "urn:rts:video:100001,urn:rts:video:100002",
        "topicUid": "1", "topicId": "1", "userId": "me", "type": "event", "endpoint": "clicked", "event": "event-1",
        "uid": "page1", "product": "PLAY_VIDEO", "topicUrn": "urn:rts:topic:tv:1", "showUrn": "urn:rts:show:tv:sh1000",
        "q": "nature", "includes": "eau", "ids": "sh1000", "day": "2023-12-30", "sectionUid": "sec1",
    ]

    /// The values for services whose arguments mean something else.
    private static let others: [String: [String: String]] = [
        "tvChannel": ["channelUid": "chan1"], "tvLatestPrograms": ["channelUid": "chan1"],
        "section": ["uid": "sec0"], "sectionMedias": ["uid": "sec0"], "sectionShows": ["uid": "sec1"],
        "sectionShowAndMedias": ["uid": "sec2"], "mediaSearch": ["q": "lac"],
        "increaseSearchResultsViewCount": ["urn": "urn:rts:show:tv:sh1000"],
        "topicLatestMedias": ["urn": "urn:rts:topic:tv:1"], "topicMostPopularMedias": ["urn": "urn:rts:topic:tv:1"],
        "show": ["urn": "urn:rts:show:tv:sh1000"], "showLatestEpisodes": ["urn": "urn:rts:show:tv:sh1000"],
        "showLatestMedias": ["urn": "urn:rts:show:tv:sh1000"], "shows": ["urns": "urn:rts:show:tv:sh1000"],
        "showsLatestMedias": ["urns": "urn:rts:show:tv:sh1000"],
        "moduleLatestMedias": ["urn": "urn:swi:module:event:mod1"],
        "tvShow": ["uid": "sh1000"], "tvShowLatestEpisodes": ["uid": "sh1000"],
        "radioShow": ["uid": "rs1000"], "radioShowLatestEpisodes": ["uid": "rs1000"],
        "radioShowsByUids": ["ids": "rs1000"], "onlineShowsByUids": ["ids": "os1000"],
        "onlineShow": ["uid": "os1000"], "onlineShowLatestEpisodes": ["uid": "os1000"],
        "videos": ["ids": "100000"], "video": ["ids": "100000"], "audios": ["ids": "a100000"],
        "audio": ["ids": "a100000"], "videoComposition": ["uid": "100000"],
        "audioComposition": ["uid": "a100000"], "videoSearch": ["q": "lac"], "audioSearch": ["q": "lac"],
        "moduleLatestMediasByUid": ["uid": "mod1"], "moduleSectionLatestMedias": ["uid": "mod1"],
        "increaseSocialCountByUid": ["type": "video", "uid": "100000"],
        "recommendedVideos": ["uid": "100000"], "recommendedVideosForUser": ["uid": "100000"],
    ]

    @Test("shows the response of every service, called by name for each business unit that offers it")
    func everyService() async throws {
        let server = try LocalCatalogue()
        let catalogue = try Catalogue(server.address(""))
        var settings = Service.Settings()
        settings.retries.limit = 0
        let loader = try Loader(settings)

        for service in CatalogueService.all {
            let values = Self.values.merging(Self.others[service.name] ?? [:]) { _, own in own }.filter { name, _ in
                service.arguments.contains { $0.name == name && ($0.isRequired || name == "day") }
            }
            let units: [Catalogue.BusinessUnit?] = service.needsBusinessUnit ? service.sortedUnits : [nil]
            for unit in units {
                let endpoint = try catalogue.call(service, unit, values)
                let page = try await loader.load(endpoint.firstPage(), of: endpoint)
                let table = try #require(Array(CatalogueTable.tables(of: page.value)).first)
                let place: Comment = "\(service.name) \(unit?.rawValue ?? "")"
                #expect(!table.rows.isEmpty, place)
                #expect(table.rows.allSatisfy { $0.count == table.columns.count && $0.contains { !$0.isEmpty } }, place)
                // No column is empty as a whole, which would be a key that the services do not have.
                // Livestreams have no length.
                for index in table.columns.indices where table.columns[index].title != "Length" {
                    #expect(table.rows.contains { !$0[index].isEmpty }, "\(service.name) \(table.columns[index].title)")
                }
            }
        }
    }
}
