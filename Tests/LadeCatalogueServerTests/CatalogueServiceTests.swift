import Foundation
import Lade
import LadeCatalogueServer
import Testing

/// A service as a client knows it: its path below `integrationlayer/2.0/BU/`, the list or a member of its response, its units.
struct ServiceSample: Sendable, CustomTestStringConvertible {
    var path: String
    var root: String
    var units: Set<String>
    /// Whether something is in the list.
    var hasItems = true

    static let national: Set<String> = ["srf", "rts", "rsi", "rtr"]
    static let international = national.union(["swi"])
    static let all = international.union(["ssatr"])

    init(_ path: String, _ root: String, _ units: Set<String> = national, hasItems: Bool = true) {
        self.path = path
        self.root = root
        self.units = units
        self.hasItems = hasItems
    }

    var testDescription: String { path }

    static let today: [ServiceSample] = [
        ServiceSample("channelList/tv", "channelList"),
        ServiceSample("channel/chan2/tv/nowAndNext", "now"),
        ServiceSample("programListComposition/tv/byChannel/chan1", "programList"),
        ServiceSample("programGuide/tv/byDate/2026-11-22", "programGuide"),
        ServiceSample("programGuideNonSrg/tv/byDate/2023-05-01", "programGuide", ["srf", "rtr"]),
        ServiceSample("mediaList/video/livestreams", "mediaList"),
        ServiceSample("mediaList/video/scheduledLivestreams?signLanguageOnly=true&eventType=news", "mediaList"),
        ServiceSample("mediaList/video/editorial", "mediaList", international),
        ServiceSample("mediaList/video/heroStage", "mediaList", []),
        ServiceSample("mediaList/video/latestEpisodes", "mediaList", international),
        ServiceSample("mediaList/video/mostClicked", "mediaList", international),
        ServiceSample("mediaList/video/soonExpiring", "mediaList", ["srf", "rts", "rsi"]),
        ServiceSample("mediaList/video/trending?maxCountEditorPicks=2&onlyEpisodes=true", "mediaList", international),
        ServiceSample("mediaList/video/latestEpisodes/webFirst", "mediaList", ["rts"]),
        ServiceSample("mediaList/video/episodesByDate/2023-12-30", "mediaList"),
        ServiceSample("topicList/tv", "topicList", international),
        ServiceSample("showList/tv/alphabetical?pageSize=unlimited", "showList", international),
        ServiceSample("searchResultShowList/tv?q=nature", "searchResultShowList", international),
        ServiceSample("showList/tv/byTopic/3/mostClicked", "showList"),
        ServiceSample("channelList/radio", "channelList"),
        ServiceSample("channel/radio1/radio/nowAndNext?livestreamId=radio1", "next"),
        ServiceSample("programListComposition/radio/byChannel/radio1", "programList"),
        ServiceSample("mediaList/audio/livestreamsByChannel/radio3", "mediaList"),
        ServiceSample("mediaList/audio/livestreams?includeThirdPartyStreams=true", "mediaList"),
        ServiceSample("mediaList/audio/livestreams?onlyThirdPartyContentProvider=ssatr", "mediaList", hasItems: false),
        ServiceSample("mediaList/audio/latestByChannel/radio1", "mediaList"),
        ServiceSample("mediaList/audio/mostClickedByChannel/radio1", "mediaList"),
        ServiceSample("mediaList/audio/latestEpisodesByChannel/radio4", "mediaList"),
        ServiceSample("mediaList/audio/episodesByDateAndChannel/2023-12-30/radio1", "mediaList"),
        ServiceSample("mediaList/video/latestByChannel/radio1", "mediaList", ["rts"]),
        ServiceSample("topicList/radio", "topicList", international),
        ServiceSample("showList/radio/alphabeticalByChannel/radio2", "showList"),
        ServiceSample("showList/radio/alphabetical", "showList"),
        ServiceSample("searchResultShowList/radio?q=mus", "searchResultShowList", national),
        ServiceSample("songList/radio/byChannel/radio1?pageSize=unlimited", "songList"),
        ServiceSample("songList/radio/byChannel/radio1?onlyCurrentSong=true", "songList"),
        ServiceSample("mediaList/video/scheduledLivestreams/livecenter?onlyEventsWithResult=true", "mediaList"),
        ServiceSample("searchResultMediaList?q=promenade", "searchResultMediaList", international),
        ServiceSample("searchResultMediaList?q=promenade&sortBy=date&sortDir=asc", "searchResultMediaList"),
        ServiceSample("searchResultShowList?q=Sport", "searchResultShowList", international),
        ServiceSample("showList/tv/mostClickedSearchResults", "showList", []),
        ServiceSample("showList/radio/mostClickedSearchResults", "showList", []),
        ServiceSample("showList/mostClickedSearchResults", "showList", []),
        ServiceSample("mediaList/video/latestByTags?includes=eau,neige&excludes=neige", "mediaList"),
        ServiceSample("mediaList/video/latestByTags/excludeFullLength", "mediaList", ["srf", "rts", "rsi"]),
        ServiceSample("moduleConfigList/event", "moduleConfigList", ["swi"]),
        ServiceSample("page/page1?isPublished=false&previewDate=2023-01-01T00:00:00", "sectionList", all),
        ServiceSample("page/landingPage/byProduct/PLAY_VIDEO", "sectionList", all),
        ServiceSample("page/byTopicUrn/urn:rts:topic:tv:2", "topicUrn", all),
        ServiceSample("page/PLAY_VIDEO/showPage/urn:rts:show:tv:sh1003", "sectionList", all),
        ServiceSample("section/sec3", "representation", all),
        ServiceSample("section/mediaSection/sec0?userId=me", "mediaList", all),
        ServiceSample("section/showSection/sec1", "showList", all),
        ServiceSample("section/mediaSectionWithShow/sec2", "show", all),
    ]

    static let firstGeneration: [ServiceSample] = [
        ServiceSample("mediaList/video/editorial.json", "mediaList", international),
        ServiceSample("mediaList/video/trending.json", "mediaList", international),
        ServiceSample("mediaList/video/soonExpiring.json", "mediaList", ["srf", "rsi"]),
        ServiceSample("mediaList/audio/latestEpisodesByChannel/radio1.json", "mediaList", ["srf", "rts", "rtr"]),
        ServiceSample("moduleConfigList/event.json", "moduleConfigList", international),
        ServiceSample("mediaList/video/latestByTopic/4.json", "mediaList", international),
        ServiceSample("mediaList/video/mostClicked.json?topicId=4", "mediaList", international),
        ServiceSample("showList/tv/byIds.json?ids=sh1000,unknown", "showList", international),
        ServiceSample("show/tv/sh1000.json", "homepageUrl", international),
        ServiceSample(
            "episodeComposition/latestByShow/tv/sh1000.json?maxPublishedDate=2023-11",
            "episodeList",
            international
        ),
        ServiceSample("showList/radio/byIds.json?ids=rs1000", "showList"),
        ServiceSample("show/radio/rs1001.json", "homepageUrl"),
        ServiceSample("episodeComposition/latestByShow/radio/rs1001.json", "episodeList"),
        ServiceSample("showList/online/alphabetical/all.json", "showList", ["srf", "rtr"]),
        ServiceSample("showList/online/byIds.json?ids=os1001", "showList", ["srf", "rsi", "rtr", "swi"]),
        ServiceSample("show/online/os1001.json", "homepageUrl", ["srf", "rsi", "rtr", "swi"]),
        ServiceSample("episodeComposition/latestByShow/online/os1001.json", "show", ["srf", "rsi", "rtr", "swi"]),
        ServiceSample("mediaList/video/byIds.json?ids=100000,c100001", "mediaList", international),
        ServiceSample("mediaComposition/video/100002.json?onlyChapters=true", "chapterList", international),
        ServiceSample("searchResultListMedia/video.json?q=lac", "searchResultListMedia", international),
        ServiceSample("mediaList/audio/byIds.json?ids=a100000", "mediaList"),
        ServiceSample("mediaComposition/audio/a100000.json", "chapterList"),
        ServiceSample("searchResultListMedia/audio.json?q=concert", "searchResultListMedia"),
        ServiceSample("searchResultListShow/tv.json?q=sport", "searchResultListShow", international),
        ServiceSample("searchResultListShow/radio.json?q=sport", "searchResultListShow"),
        ServiceSample("mediaList/latestByModule/event/mod1.json", "mediaList", international),
        ServiceSample("mediaList/latestByModuleAndSection/event/mod1/sec1.json", "mediaList", international),
        ServiceSample("general/information.json", "text", international),
        ServiceSample("eventConfigList.json", "eventConfigList", international),
        ServiceSample("mediaList/video/recommended/100000.json", "mediaList", international),
        ServiceSample("mediaList/video/recommendedByUserId/100000/me.json", "mediaList", international),
        ServiceSample("mediaList/audio/latest.json", "mediaList"),
        ServiceSample("mediaList/audio/mostClicked.json", "mediaList"),
    ]
}

@Suite("The services of the local catalogue", .timeLimit(.minutes(5)))
struct CatalogueServiceTests {
    @Test(
        "each service answers for the business units that have it, and says that the others have it not",
        arguments: ServiceSample.today + ServiceSample.firstGeneration
    )
    func availability(sample: ServiceSample) async throws {
        let client = try CatalogueClient()
        for unit in ServiceSample.all {
            let path = "2.0/\(unit)/\(sample.path)"
            // The settings of a search make that of one business unit fail.
            let status: Response.Status = unit == "swi" && sample.path.contains("sortBy") ? 400 : 404
            guard sample.units.contains(unit) else {
                let message = try await client.refusal(path, status: status)
                #expect(status == 400 ? message.contains("settings") : message.contains("not available for \(unit)"))
                continue
            }
            let answer = try await client.object(path)
            let member = try #require(answer[sample.root], "\(path) has \(answer.keys.sorted())")
            if let list = member as? [Any] { #expect(list.isEmpty != sample.hasItems, "\(path)") }
        }
    }

    @Test(
        "services that go by URNs answer for the unit of the URN",
        arguments: [
            ("2.0/media/byUrn/urn:srf:video:100007", "title"), ("2.0/media/byUrn/urn:rts:audio:a100007", "channel"),
            ("2.0/mediaList/latest/byTopicUrn/urn:rsi:topic:tv:3", "next"),
            ("2.0/mediaList/mostClicked/byTopicUrn/urn:rsi:topic:radio:3", "next"),
            ("2.1/mediaComposition/byUrn/urn:rts:video:100000", "chapterUrn"),
            ("2.0/show/byUrn/urn:rtr:show:tv:sh1000", "numberOfEpisodes"),
            (
                "2.0/episodeComposition/latestByShow/byUrn/urn:srf:show:tv:sh1000?maxPublishedDate=2023-10-01",
                "episodeList"
            ),
            ("2.0/mediaList/latest/byShowUrn/urn:srf:show:radio:rs1001", "mediaList"),
            ("2.0/mediaList/latest/byShowUrns?urns=urn:srf:show:tv:sh1000,urn:srf:show:tv:sh1001", "mediaList"),
            ("2.0/mediaList/latestByModuleConfigUrn/urn:swi:module:event:mod1:sec1", "mediaList"),
            ("2.0/mediaList/recommended/byUrn/urn:srf:video:100007", "mediaList"),
            ("2.0/mediaList/recommendedByUserId/byUrn/urn:srf:video:100007/me", "mediaList"),
            ("2.0/mediaComposition/byUrn/urn:rts:video:100000.json", "chapterList"),
        ]
    )
    func byURN(path: String, member: String) async throws {
        let answer = try await CatalogueClient().object(path)

        #expect(answer[member] != nil)
        if let list = answer["mediaList"] as? [[String: Any]] { #expect(!list.isEmpty) }
    }

    @Test("lists by URNs leave out what is unknown, keep the order, and take 50 at most")
    func urnLists() async throws {
        let client = try CatalogueClient()
        let urns = "urn:srf:video:100003,urn:rts:audio:a100001,urn:rts:video:no,urn:xx:video:1,urn:srf:show:tv:sh1000"
        let found = try await client.list("2.0/mediaList/byUrns?urns=\(urns)", "mediaList")
        let shows = try await client.list("2.0/showList/byUrns?urns=\(urns),urn:rsi:show:radio:rs1000", "showList")
        let many = Array(repeating: "urn:srf:video:100003", count: 51).joined(separator: ",")

        #expect(found.map { $0["urn"] as? String } == ["urn:srf:video:100003", "urn:rts:audio:a100001"])
        #expect(shows.map { $0["urn"] as? String } == ["urn:srf:show:tv:sh1000", "urn:rsi:show:radio:rs1000"])
        #expect(try await client.list("2.0/mediaList/byUrns?urns=", "mediaList").isEmpty)
        #expect(try await client.refusal("2.0/mediaList/byUrns?urns=\(many)", status: 400).contains("50"))
        let eleven = Array(repeating: "urn:srf:show:tv:sh1000", count: 11).joined(separator: ",")
        #expect(try await client.refusal("2.0/mediaList/latest/byShowUrns?urns=\(eleven)", status: 400).contains("10"))
    }

    @Test("filters the medias of shows by type and by day")
    func showFilters() async throws {
        let client = try CatalogueClient()
        let path = "2.0/mediaList/latest/byShowUrns?urns=urn:srf:show:tv:sh1000,urn:srf:show:tv:sh1001&pageSize=100"
        let episodes = try await client.list(path + "&types=episode&maxPublishedDate=2023-10-01", "mediaList")
        let clips = try await client.list(path + "&types=clip,segment", "mediaList")

        #expect(!episodes.isEmpty && episodes.allSatisfy { $0["type"] as? String == "EPISODE" })
        #expect(episodes.allSatisfy { ($0["date"] as? String ?? "9") < "2023-10-02" })
        #expect(!clips.isEmpty && clips.allSatisfy { $0["type"] as? String == "CLIP" })
    }

    @Test(
        "refuses what cannot be meant",
        arguments: [
            ("2.0/rts/mediaList/video/latestEpisodes?pageSize=unlimited", 400),
            ("2.0/rts/mediaList/video/latestEpisodes?pageSize=0", 400),
            ("2.0/rts/mediaList/video/latestEpisodes?pageSize=-3", 400),
            ("2.0/rts/mediaList/video/latestEpisodes?pageSize=many", 400),
            ("2.0/rts/mediaList/video/trending?pageSize=51", 400),
            ("2.0/rts/mediaList/video/episodesByDate/2023-02-30", 400),
            ("2.0/rts/programGuide/tv/byDate/today", 400),
            ("2.0/rts/channel/chan9/tv/nowAndNext", 404),
            ("2.0/rts/programListComposition/tv/byChannel/chan1?minEndTime=yesterday", 400),
            ("2.0/rts/searchResultMediaList?q=a&durationFromInMinutes=9&durationToInMinutes=3", 400),
            ("2.0/rts/searchResultShowList/tv", 400),
            ("2.0/rts/page/landingPage/byProduct/OTHER", 404),
            ("2.0/rts/page/nothing", 404),
            ("2.0/rts/section/sec99", 404),
            ("2.0/rts/section/showSection/sec0", 400),
            ("2.0/media/byUrn/urn:rts:video:99", 400),
            ("2.0/media/byUrn/rubbish", 400),
            ("2.1/mediaComposition/byUrn/urn:rts:video:100000-9", 400),
            ("2.0/mediaComposition/byUrn/urn:rts:video:100000", 404),
            ("2.0/show/byUrn/urn:rts:show:tv:sh1", 400),
            ("2.0/rts/show/tv/sh1000", 404),
            ("2.0/rts/mediaList/video/recommended/unknown.json", 404),
            ("2.0/rts/general/information", 404), ("2.0/rts/eventConfigList", 404),
            ("2.0/rts/mediaList/video/byIds.json?ids=unknown", 404),
            ("2.0/tvo/mediaList/video/latestEpisodes", 404),
            ("2.0/rts", 404), ("3.0/rts/topicList/tv", 404), ("2.0/rts/rubbish/a/b/c", 404), ("", 404),
        ] as [(String, Int)]
    )
    func refusals(path: String, code: Int) async throws {
        let message = try await CatalogueClient().refusal(path, status: Response.Status(code))

        #expect(message.hasSuffix("."))
    }

    @Test("a composition has chapters with segments in context, and chapters alone without it")
    func compositions() async throws {
        let client = try CatalogueClient()
        let inContext = try await client.object("2.1/mediaComposition/byUrn/urn:rts:video:100001-2")
        let alone = try await client.object("2.1/mediaComposition/byUrn/urn:rts:video:100001?onlyChapters=true")
        let live = try await client.object("2.1/mediaComposition/byUrn/urn:rts:audio:radio1")
        let chapters = try #require(inContext["chapterList"] as? [[String: Any]])
        let segments = try #require(chapters.first?["segmentList"] as? [[String: Any]])
        let standalone = try #require(alone["chapterList"] as? [[String: Any]])
        let resources = try #require(
            (live["chapterList"] as? [[String: Any]])?.first?["resourceList"] as? [[String: Any]]
        )

        #expect(inContext["chapterUrn"] as? String == "urn:rts:video:100001")
        #expect(inContext["segmentUrn"] as? String == "urn:rts:video:100001-2")
        #expect(chapters.count == 1 && segments.count == 3)
        #expect(standalone.count == 4 && standalone[0]["segmentList"] == nil)
        #expect(standalone[1]["fullLengthUrn"] as? String == "urn:rts:video:100001")
        #expect(standalone[1]["fullLengthMarkOut"] as? Int == segments[0]["markOut"] as? Int)
        #expect(resources.map { $0["streaming"] as? String } == ["HLS", "PROGRESSIVE"])
        #expect(resources.allSatisfy { $0["live"] as? Bool == true })
    }

    @Test("programs of a channel lie within the interval, newest first")
    func programs() async throws {
        let client = try CatalogueClient()
        let path = "2.0/srf/programListComposition/tv/byChannel/chan1"
        let times = "minEndTime=2023-05-01T06:00:00&maxStartTime=2023-05-01T08:30:00"
        let programs = try await client.list("\(path)?\(times)", "programList")
        let day = try await client.list(
            "2.0/srf/programGuide/tv/byDate/2023-05-01?channelId=chan1&reduced=true",
            "programGuide"
        )
        let guide = try #require(day.first?["programList"] as? [[String: Any]])

        #expect(
            programs.map { $0["startTime"] as? String } == [8, 7, 6, 5].map { "2023-05-01T0\($0):00:00+01:00" }
        )
        #expect(day.count == 1 && guide.count == 24)
        #expect(guide.first?["startTime"] as? String == "2023-05-01T05:00:00+01:00")
        #expect(guide.last?["endTime"] as? String == "2023-05-02T05:00:00+01:00")
        #expect(guide.allSatisfy { $0.count == 3 })
    }

    @Test("a search matches all words by their beginnings, and settings narrow it")
    func search() async throws {
        let client = try CatalogueClient()
        func search(_ items: String, _ unit: String = "srf") async throws -> [String: Any] {
            try await client.object("2.0/\(unit)/searchResultMediaList?\(items)")
        }
        func total(_ items: String, _ unit: String = "srf") async throws -> Int {
            try await search(items, unit)["total"] as? Int ?? -1
        }
        let both = try await search("q=prom+lac&pageSize=50".replacing("+", with: "%20"))
        let titles = (both["searchResultMediaList"] as? [[String: Any]] ?? []).compactMap { $0["title"] as? String }

        #expect(titles.count == 50 && titles.allSatisfy { $0.hasPrefix("Promenade : le lac") })
        #expect((both["aggregations"] as? [String: Any])?.count == 9)
        #expect(try await search("q=lac&includeAggregations=false")["aggregations"] == nil)
        #expect(try await search("q=conc&includeSuggestions=true")["suggestionList"] != nil)
        #expect(try await total("q=prom") > 0)
        #expect(try await total("q=prom&enableFuzzySearch=false") == 0)
        #expect(try await total("q=prom", "swi") == 0)
        #expect(try await total("q=xylophone") == 0)
        #expect(try await total("q=lac%20gare") == 0)
        let any = try await total("q=lac%20gare&operator=or")
        #expect(try await total("q=lac") + total("q=gare") == any)
        #expect(try await total("") == 22_000)
        #expect(try await total("mediaType=audio") == 2000)
        #expect(try await total("showUrns=urn:srf:show:tv:sh1000") == 84)
        let short = try await total("durationToInMinutes=20")
        let long = try await total("durationFromInMinutes=21")
        #expect(short > 0 && short + long == 22_000)
        #expect(try await total("publishedDateFrom=2023-12-30&mediaType=video") == 108)
    }

    @Test("counts what is posted")
    func popularity() async throws {
        let client = try CatalogueClient()
        func post(_ path: String, _ body: String? = nil) async throws -> Response {
            try await client.get("/integrationlayer/2.0/\(path)", method: .post, body: body)
        }
        func text(_ response: Response) -> String { String(decoding: response.body.bytes ?? Data(), as: UTF8.self) }
        let path = "mediaStatistic/byUrn/urn:rts:video:100001/shared/google"
        let first = try await post(path, #"{"eventData": "x"}"#)
        let second = try await post(path, #"{"eventData": "x"}"#)

        #expect(text(first).contains(#""key":"googleShare","value":1201"#))
        #expect(text(second).contains(#""value":1202"#))
        #expect(text(try await post("srf/mediaStatistic/video/100001/clicked.json", "{}")).contains("srgView"))
        #expect(text(try await post("showStatistic/byUrn/urn:srf:show:tv:sh1000/searchResultClicked")).contains("1201"))
        #expect(try await post(path, "no").status == 400)
        #expect(try await post("mediaStatistic/byUrn/urn:rts:video:100001/hated", "{}").status == 404)
        #expect(try await client.get("/integrationlayer/2.0/\(path)").status == 405)
        #expect(try await post("rts/topicList/tv").status == 405)
    }

    @Test("gives images of the width that is asked for, and tokens for streams")
    func imagesAndTokens() async throws {
        let client = try CatalogueClient()
        let image = try await client.get("/images/?imageUrl=https://img.example.org/1.jpg&format=jpg&width=320")
        let bytes = [UInt8](image.body.bytes ?? Data())
        let token = try await client.get("/akahd/token?acl=/i/x.csmil/*")
        let said = try JSONSerialization.jsonObject(with: token.body.bytes ?? Data()) as? [String: [String: Any]]

        #expect(image.headers["Content-Type"] == "image/png" && bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        #expect(Array(bytes[16..<24]) == [0, 0, 1, 64, 0, 0, 0, 180])
        #expect(
            (said?["token"]?["authparams"] as? String)?.hasPrefix("hdnts=exp=1700000030~acl=/i/x.csmil/*~hmac=") == true
        )
        #expect(try await client.get("/images/?imageUrl=x&width=0").status == 400)
        #expect(try await client.get("/akahd/token").status == 400)
        #expect(try await client.get("/images/?imageUrl=x&width=8", method: .post, body: "").status == 405)
    }

    @Test("sections have pages without a size, and every list ends")
    func pages() async throws {
        var options = LocalCatalogue.Options()
        options.medias = 3000
        let client = try CatalogueClient(options)
        func walk(_ path: String, _ root: String) async throws -> [Int] {
            var sizes: [Int] = []
            var target: String? = client.catalogue.address("/integrationlayer/2.0/\(path)")
            while let address = target {
                let body = try await client.get(address).body.bytes ?? Data()
                let page = try JSONSerialization.jsonObject(with: body) as? [String: Any]
                sizes.append((page?[root] as? [Any])?.count ?? -1)
                target = page?["next"] as? String
            }
            return sizes
        }

        #expect(try await walk("rts/section/mediaSection/sec0?pageSize=50", "mediaList") == [10, 10, 10, 6])
        #expect(try await walk("srf/showList/tv/alphabetical?pageSize=unlimited", "showList") == [240])
        #expect(try await walk("srf/showList/tv/alphabetical?pageSize=1000", "showList") == [100, 100, 40])
        #expect(try await walk("srf/songList/radio/byChannel/radio1?pageSize=100", "songList") == [100, 20])
        #expect(try await walk("srf/mediaList/video/soonExpiring?pageSize=100", "mediaList").reduce(0, +) == 1000)
        #expect(
            try await walk("episodeComposition/latestByShow/byUrn/urn:srf:show:tv:sh1000", "episodeList") == [10, 3]
        )
    }

    @Test("is the same for the same seed, whatever is asked first")
    func determinism() async throws {
        let paths = ServiceSample.today.map { "/integrationlayer/2.0/\($0.units.sorted().first ?? "srf")/\($0.path)" }
        let (one, other) = (try CatalogueClient(), try CatalogueClient())
        var first: [String: Data] = [:]
        for path in paths { first[path] = try await one.get(path).body.bytes }
        for path in paths.reversed() {
            // Addresses of next pages name the port.
            let ports = (String(one.catalogue.port), String(other.catalogue.port))
            let text = String(decoding: try await other.get(path).body.bytes ?? Data(), as: UTF8.self)
            let expected = String(decoding: first[path] ?? Data(), as: UTF8.self)
            #expect(text.replacing(ports.1, with: ports.0) == expected)
        }
    }

    @Test("requires a token for every service when it is set to, and spreads faults over all of them")
    func tokensAndFaults() async throws {
        var options = LocalCatalogue.Options()
        options.requiresToken = true
        let closed = try CatalogueClient(options)
        let open = try CatalogueClient()

        for path in ["/integrationlayer/2.0/rts/topicList/tv", "/images/?imageUrl=x&width=8", "/akahd/token?acl=x"] {
            #expect(try await closed.get(path).status == 401)
            #expect(
                try await open.get(path + "&fault=503".replacing("&", with: path.contains("?") ? "&" : "?")).status
                    == 503
            )
        }
    }
}
