import Foundation
import Lade
import LadeTesting
import Testing

@testable import LadeCatalogue

@Suite("Calling services by name", .timeLimit(.minutes(5)))
struct CallTests {
    private let catalogue: Catalogue

    init() throws {
        var catalogue = try Catalogue("https://il.example.com")
        let time = VirtualTime(date: Date(timeIntervalSince1970: 1_700_000_000))
        catalogue.decoder.time = time
        self.catalogue = catalogue
    }

    private func target(
        _ service: String,
        _ unit: Catalogue.BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws -> String {
        let service = try #require(CatalogueService.named(service))
        let url = try catalogue.call(service, unit, values).endpoint.request.url.absoluteString
        return url.replacing("https://il.example.com/integrationlayer/", with: "").replacing(
            "vector=appplay",
            with: "V"
        )
    }

    @Test("each service has the variables of its path, then its query items, required ones first")
    func arguments() {
        for service in CatalogueService.all {
            let names = service.arguments.map(\.name)
            let items = service.query.filter { !$0.contains("=") }
            #expect(Set(names) == Set(service.variables + items + (service.acceptsEvent ? ["event"] : [])))
            #expect(Set(names).count == names.count, "\(service.name)")
            let required = service.arguments.map(\.isRequired)
            #expect(required == required.sorted { $0 && !$1 }, "\(service.name)")
            for variable in service.variables where variable != "day" {
                #expect(service.arguments.contains { $0.name == variable && $0.isRequired }, "\(service.name)")
            }
        }
        #expect(CatalogueService.named("radioEpisodes")?.arguments.map(\.name) == ["channelUid", "day"])
        #expect(CatalogueService.named("tvShows")?.name == "tvShows")
        #expect(CatalogueService.named("tvshows") == nil)
    }

    @Test("sends what the typed function sends")
    func requests() throws {
        #expect(
            try target("tvEpisodes", .srf, ["day": "2023-12-30"])
                == "2.0/srf/mediaList/video/episodesByDate/2023-12-30?V&pageSize=10"
        )
        // The current day in Zurich, as the function has it by default.
        #expect(
            try target("tvPrograms", .rts, ["reduced": "true"])
                == "2.0/rts/programGuide/tv/byDate/2023-11-14?reduced=true&V"
        )
        #expect(try target("mediaSearch", .rsi, ["q": "lago & neve"]).contains("?q=lago%20%26%20neve&V"))
        #expect(try target("media", nil, ["urn": "urn:rts:video:1"]) == "2.0/media/byUrn/urn:rts:video:1?V")
        #expect(try target("radioCurrentSong", .rts, ["channelUid": "1"]).contains("onlyCurrentSong=true"))
        #expect(
            try target("tvShowLatestEpisodes", .rts, ["uid": "1", "maxPublishedDate": "2023-12"])
                .contains("maxPublishedDate=2023-12")
        )
    }

    @Test("a number is sent without a sign and leading zeros, and an identifier with each byte encoded that must be")
    func normalForms() throws {
        for text in ["007", "+7", "7"] {
            #expect(try target("tvTrendingMedias", .rts, ["pageSize": text]).contains("?pageSize=7&"))
        }
        #expect(try target("tvChannel", .rts, ["channelUid": "a\u{1}/b"]).contains("channel/a%01%2Fb/tv"))
    }

    @Test("divides a list of URNs into pages")
    func urns() async throws {
        let urns = (0..<13).map { "urn:srf:video:\($0)" }.joined(separator: ",")
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.json(#"{"mediaList": [{"urn": "urn:srf:video:0"}]}"#))
        let loader = Service(transport: transport).anonymous.makeLoader()

        let endpoint = try catalogue.call(CatalogueService.named("medias")!, nil, ["urns": urns])
        var counts: [Int] = []
        for try await page in loader.pages(of: endpoint, size: 5) { counts.append(page.value.items?.count ?? -1) }

        #expect(counts == [1, 1, 1])
        #expect(transport.requests.map { $0.url.absoluteString.split(separator: "video").count - 1 } == [5, 5, 3])
    }

    @Test("follows the address of the next page only for services with pages")
    func next() async throws {
        let transport = ScriptedTransport()
        transport.on("first") { !$0.url.absoluteString.contains("token") }.respond(
            .json(#"{"mediaList": [{}, {}], "topicList": [{}], "total": 3, "next": "/integrationlayer/x?token=1"}"#)
        )
        transport.on("next") { $0.url.absoluteString.contains("token") }.respond(.json(#"{"mediaList": [{}]}"#))
        let loader = Service(transport: transport).anonymous.makeLoader()

        var counts: [Int] = []
        for try await page in loader.pages(of: try catalogue.call(CatalogueService.named("tvLatestEpisodes")!, .rts)) {
            counts.append(page.value.items?.count ?? -1)
            if counts.count == 1 { #expect(page.value.total == 3) }
        }
        for try await page in loader.pages(of: try catalogue.call(CatalogueService.named("tvTopics")!, .rts)) {
            counts.append(page.value.items?.count ?? -1)
        }

        #expect(counts == [2, 1, 2])
    }

    @Test("the next page comes from the custom host, as with the typed function")
    func customHost() async throws {
        let rig = try CatalogueRig("https://mirror.example.com:8443") { $0.globalHeaders = ["X-Client": "secret"] }
        rig.transport.on("next") { $0.url.query()?.contains("next=") == true }.respond(.json(#"{"mediaList": [{}]}"#))
        rig.transport.onAnyRequest().respond(
            .json(#"{"mediaList": [{}], "next": "https://il.srgssr.ch/integrationlayer/list?next=2"}"#)
        )

        let pages = try await rig.provider.pages { try $0.call(CatalogueService.named("tvLatestEpisodes")!, .srf) }
            .collected()
        #expect(pages.count == 2)
        let next = try #require(rig.transport.requests.last)
        #expect(next.url.absoluteString == "https://mirror.example.com:8443/integrationlayer/list?next=2")
        #expect(next.headers["X-Client"] == "secret")
    }

    @Test("posts the event that is counted")
    func event() throws {
        let values = ["urn": "urn:rts:video:1", "endpoint": "liked", "event": "abc"]
        let request = try catalogue.call(CatalogueService.named("increaseSocialCount")!, nil, values).endpoint.request

        #expect(request.method == .post)
        #expect(request.url.absoluteString.contains("/byUrn/urn:rts:video:1/liked"))
        #expect(request.body != nil)
    }

    typealias Refusal = (String, Catalogue.BusinessUnit?, [String: String], CatalogueError)

    static let refusals: [Refusal] = [
        (
            "tvTopics", nil, [:],
            .missingBusinessUnit(service: "tvTopics", availableFor: [.rsi, .rtr, .rts, .srf, .swi])
        ),
        (
            "tvTopics", .ssatr, [:],
            .unavailable(service: "tvTopics", .ssatr, availableFor: [.rsi, .rtr, .rts, .srf, .swi])
        ),
        ("media", nil, ["urn": "urn:rts"], .malformedURN("urn:rts")),
        ("medias", nil, ["urns": "urn:rts:video:1,,urn:rts:video:2"], .malformedURN("")),
        (
            "showsLatestMedias", nil,
            ["urns": (0...10).map { "urn:rts:show:tv:\($0)" }.joined(separator: ",")],
            .tooMany(name: "URNs", 11, limit: 10)
        ),
        ("tvEpisodes", .rts, ["day": "2023-02-29"], .dayOutOfRange("2023-02-29")),
        ("mediaSearch", .rts, ["q": " \t"], .emptyQuery),
        ("tvTrendingMedias", .rts, ["pageSize": "51"], .limit(name: "pageSize", 51, allowed: 0...50)),
        ("page", .rts, ["uid": ".."], invalid("page", "uid", "..")),
        ("page", .rts, ["uid": ""], invalid("page", "uid", "")),
        (
            "page", .rts, ["uid": "1", "isPublished": "yes"],
            invalid("page", "isPublished", "yes")
        ),
        (
            "page", .rts, ["uid": "1", "previewDate": "2023-01-01T24:00:00"],
            invalid("page", "previewDate", "2023-01-01T24:00:00")
        ),
        (
            "tvShowLatestEpisodes", .rts, ["uid": "1", "maxPublishedDate": "2023-13"],
            invalid("tvShowLatestEpisodes", "maxPublishedDate", "2023-13")
        ),
        (
            "mediaSearchWithSettings", .rts, ["durationFromInMinutes": "-1"],
            invalid("mediaSearchWithSettings", "durationFromInMinutes", "-1")
        ),
        ("videos", .rts, ["ids": "1,,2"], .invalidIdentifier(name: "identifier", "")),
        ("modules", .swi, ["type": "other"], invalid("modules", "type", "other")),
        (
            "mediaSearch", .rts, [:],
            .missingArgument(service: "mediaSearch", name: "q", form: "the words to search for")
        ),
        ("tvTopics", .rts, ["q": "x"], .unknownArgument(service: "tvTopics", name: "q", known: [])),
        ("tvEpisodes", .rts, ["dya": "x"], .unknownArgument(service: "tvEpisodes", name: "dya", known: ["day"])),
    ]

    private static func invalid(_ service: String, _ name: String, _ value: String) -> CatalogueError {
        let argument = CatalogueService.named(service)?.arguments.first { $0.name == name }
        return .invalidArgument(name: name, value, form: argument?.form.description ?? "no argument")
    }

    @Test("refuses a call that the service would refuse, before anything is sent", arguments: refusals)
    func refuses(refusal: Refusal) {
        #expect(throws: refusal.3) { try catalogue.call(CatalogueService.named(refusal.0)!, refusal.1, refusal.2) }
    }

    @Test("says in one sentence what is wrong")
    func descriptions() {
        for refusal in Self.refusals {
            let text = refusal.3.description
            #expect(text.hasSuffix(".") && !text.contains("no urn") && !text.contains("\n"), "\(text)")
        }
        #expect(
            Self.refusals[0].3.description == "The service tvTopics needs a business unit: rsi, rtr, rts, srf, swi."
        )
    }

    @Test("finds the list of a response, and none in a single object")
    func lists() throws {
        func key(_ json: String) throws -> String? { try CatalogueResponse(Data(json.utf8)).listKey }

        #expect(try key(#"{"mediaList": []}"#) == "mediaList")
        #expect(try key(#"{"title": "A show", "topicList": []}"#) == nil)
        #expect(try key(#"{"title": "A page", "sectionList": []}"#) == "sectionList")
        #expect(try key(#"{"show": {}, "episodeList": []}"#) == "episodeList")
        #expect(try key(#"{"mediaList": {}}"#) == nil)
        #expect(try key("[]") == nil)
        #expect(throws: JSONError.self) { try key("{") }
    }
}
