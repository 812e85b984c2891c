import Foundation
import LadeTesting
import Testing

@testable import LadeCatalogue

@Suite("Services", .timeLimit(.minutes(5)))
struct ServiceTests {
    /// A time on 2023-11-14, so that today is known.
    private func catalogue() throws -> Catalogue {
        var catalogue = try Catalogue("https://catalogue.example.com")
        catalogue.vector = .app
        catalogue.decoder.time = VirtualTime(date: Date(timeIntervalSince1970: 1_700_000_000))
        return catalogue
    }

    private static func rows(_ prefixes: [String]) -> [Case<ServiceRow>] {
        ServiceRow.all.filter { entry in
            prefixes.contains { entry.number == "§4 \($0)" || entry.number.hasPrefix("§4 \($0) ") }
        }
    }

    @Test(
        "every service is at its path with its query, for each business unit that has it, and refused for the others",
        arguments: ServiceRow.all
    )
    func requests(_ entry: Case<ServiceRow>) throws {
        let catalogue = try catalogue()
        let row = entry.row
        for unit in Catalogue.BusinessUnit.allCases {
            guard row.units.contains(unit) else {
                let error = #expect(throws: CatalogueError.self) { try row.call(catalogue, unit) }
                guard case .unavailable(let service, unit, let units) = error else {
                    Issue.record("\(unit): \(String(describing: error))")
                    continue
                }
                #expect(Set(units) == Set(row.units) && error?.description.contains(service) == true)
                #expect(error?.description.contains(unit.rawValue) == true)
                continue
            }
            let request = try row.call(catalogue, unit)
            let parts = row.target.replacing("{bu}", with: unit.rawValue).split(separator: "?", maxSplits: 1)
            #expect(request.url.absoluteString.hasPrefix("https://catalogue.example.com/integrationlayer/\(parts[0])?"))
            let isSeed = parts[0].hasSuffix(".json")
            var expected: [String] = parts.count == 1 ? [] : [String(parts[1])]
            if row.target.contains("q=a&b") == false {
                expected = expected.flatMap { $0.split(separator: "&").map(String.init) }
            }
            expected.insert("vector=appplay", at: isSeed ? 0 : expected.count)
            if row.isSized { expected.append("pageSize=10") }
            let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
            #expect(items.map { "\($0.name)=\($0.value ?? "")" } == expected)
            #expect(request.redirectLimit == 0 && request.headers["Accept"] == nil)
            #expect((request.method == .post) == request.url.path().contains("tatistic"))
        }
    }

    @Test("a service that is not available is asked for when the check is off")
    func uncheckedAvailability() throws {
        var catalogue = try catalogue()
        catalogue.checksAvailability = false
        for entry in ServiceRow.all {
            for unit in Catalogue.BusinessUnit.allCases {
                #expect(throws: Never.self, "\(entry.number)") { try entry.row.call(catalogue, unit) }
            }
        }
    }

    @Test("the list of services has each of them once, with its variables")
    func list() {
        let all = CatalogueService.today + CatalogueService.firstGeneration

        #expect(Set(all.map(\.name)).count == all.count && CatalogueService.today.count == 69)
        #expect(CatalogueService.firstGeneration.count == 32)
        let areFirst = CatalogueService.firstGeneration.allSatisfy(\.isFirstGeneration)
        #expect(areFirst)
        #expect(
            CatalogueService.named("radioEpisodes")!.variables == ["day", "channelUid"]
                && CatalogueService.named("radioEpisodes")!.needsBusinessUnit
        )
        #expect(
            !CatalogueService.named("media")!.needsBusinessUnit && CatalogueService.named("media")!.variables == ["urn"]
        )
        #expect(
            CatalogueService.named("tvSoonExpiringMedias")!.isAvailable(for: .rsi)
                && !CatalogueService.named("tvSoonExpiringMedias")!.isAvailable(for: .rtr)
        )
        #expect(CatalogueService.named("media")!.description == "media 2.0/media/byUrn/{urn}")
    }

    @Test("broadcasters that models name are business units, unless they cannot be asked about")
    func vendors() {
        #expect(
            [Catalogue.Vendor.rsi, .rtr, .rts, .srf, .swi, .ssatr].map(\.businessUnit) == [
                .rsi, .rtr, .rts, .srf, .swi, .ssatr,
            ]
        )
        #expect([Catalogue.Vendor.tvo, .canalAlpha, .none].allSatisfy { $0.businessUnit == nil })
        #expect(Catalogue.BusinessUnit.allCases.allSatisfy { $0.vendor.businessUnit == $0 })
    }

    // MARK: - Bad input

    @Test("what cannot be asked for is refused before anything is sent")
    func badInput() throws {
        let catalogue = try catalogue()
        func expect(_ error: CatalogueError, _ call: () throws -> Void, _ location: SourceLocation = #_sourceLocation) {
            #expect(throws: error, sourceLocation: location, performing: call)
        }
        for urn in [
            "", "rts", "urn:rts", "urn:rts:video", "urn:rts:video:", "urn::video:1", "xrn:rts:video:1",
            "urn:rts:video:1 2", "urn:rts:video:1,2", "urn:rts:video:é", "urn:rts:video:1\n",
        ] {
            let error = CatalogueError.malformedURN(urn.escapedForDisplay(limit: 80))
            expect(error) { _ = try catalogue.media(urn: urn) }
            expect(error) { _ = try catalogue.mediaComposition(urn: urn) }
            expect(error) { _ = try catalogue.increaseSocialCount(.view, urn: urn, event: "e") }
        }
        for urn in ["", "a b", "a,b", "a\n"] {
            expect(.malformedURN(urn.escapedForDisplay(limit: 80))) {
                _ = try catalogue.medias(urns: ["urn:rts:video:1", urn])
            }
        }
        for query in ["", " ", "\n\t"] {
            expect(.emptyQuery) { _ = try catalogue.tvShowSearch(.rts, matching: query) }
            expect(.emptyQuery) { _ = try catalogue.mediaSearch(.rts, matching: query) }
            expect(.emptyQuery) { _ = try catalogue.showSearch(.rts, matching: query, transmission: .radio) }
        }
        expect(.emptyQuery) { _ = try catalogue.mediaSearch(.rts, matching: nil) }
        let far = Catalogue.Day(year: 10_000)
        expect(.dayOutOfRange("10000-01-01")) { _ = try catalogue.tvEpisodes(.rts, day: far) }
        expect(.dayOutOfRange("10000-01-01")) { _ = try catalogue.tvPrograms(.rts, day: far) }
        expect(.dayOutOfRange("10000-01-01")) {
            _ = try catalogue.showLatestEpisodes(showURN: "urn:rts:show:tv:1", until: far)
        }
        expect(.dayOutOfRange("10000-01-01")) {
            _ = try catalogue.tvShowLatestEpisodes(.rts, showUid: "1", untilMonthOf: far)
        }
        var settings = Catalogue.MediaSearchSettings()
        settings.toDay = far
        expect(.dayOutOfRange("10000-01-01")) { _ = try catalogue.mediaSearch(.rts, matching: "x", settings: settings) }
        settings = Catalogue.MediaSearchSettings()
        settings.showURNs = ["x"]
        expect(.malformedURN("x")) { _ = try catalogue.mediaSearch(.rts, matching: "x", settings: settings) }
        expect(.limit(name: "limit", 51, allowed: 0...50)) { _ = try catalogue.tvTrendingMedias(.rts, limit: 51) }
        expect(.limit(name: "editorial limit", -1, allowed: 0...50)) {
            _ = try catalogue.tvTrendingMedias(.rts, editorialLimit: -1)
        }
        let eleven = (0..<11).map { "urn:rts:show:tv:\($0)" }
        expect(.tooMany(name: "URNs", 11, limit: 10)) { _ = try catalogue.showsLatestMedias(showURNs: eleven) }
        for uid in ["", ".", ".."] {
            expect(.invalidIdentifier(name: "channelUid", uid)) { _ = try catalogue.tvChannel(.rts, uid: uid) }
        }
        expect(.invalidIdentifier(name: "identifier", "a,b")) { _ = try catalogue.videosWithTags(.rts, ["a,b"]) }
        expect(.invalidIdentifier(name: "event", "")) {
            _ = try catalogue.increaseSocialCount(.view, urn: "urn:rts:video:1", event: "")
        }
        expect(.nothingChosen(name: "module type")) { _ = try catalogue.modules(.swi, type: .none) }
        expect(.nothingChosen(name: "social count type")) {
            _ = try catalogue.increaseSocialCount(.none, urn: "urn:rts:video:1", event: "e")
        }
        expect(.nothingChosen(name: "transmission online")) {
            _ = try catalogue.showSearch(.rts, matching: "x", transmission: .online)
        }
    }

    @Test("catalogue IL-SEED21 an identifier cannot leave its component of the path")
    func identifiers() throws {
        let catalogue = try catalogue()
        let request = try catalogue.tvChannel(.rts, uid: "a b@c/../../x?y#z%2F;é").request

        #expect(
            request.url.path(percentEncoded: true).hasSuffix(
                "/channel/a%20b@c%2F..%2F..%2Fx%3Fy%23z%252F;%C3%A9/tv/nowAndNext"
            )
        )
        #expect(request.queryItems == ["vector": "appplay"])
    }

    // MARK: - Common services

    @Test("catalogue IL-COM1 a known URN gives its media, and an unknown one an error")
    func media() async throws {
        let rig = try knownRig()

        #expect(try await rig.provider.load { try $0.media(urn: "urn:rts:video:1") }.urn == "known")
        await #expect(throws: LoadingError.self) {
            try await rig.provider.load { try $0.media(urn: "urn:rts:video:2") }
        }
    }

    @Test("catalogue IL-COM8 a known URN gives its composition, and an unknown one an error")
    func composition() async throws {
        let rig = try knownRig()

        #expect(try await rig.provider.load { try $0.mediaComposition(urn: "urn:rts:video:1") }.chapterURN == "known")
        await #expect(throws: LoadingError.self) {
            try await rig.provider.load { try $0.mediaComposition(urn: "urn:rts:video:2") }
        }
    }

    @Test("catalogue IL-COM9 a known URN gives its show, and an unknown one an error")
    func show() async throws {
        let rig = try knownRig()

        #expect(try await rig.provider.load { try $0.show(urn: "urn:rts:show:tv:1") }.urn == "known")
        await #expect(throws: LoadingError.self) {
            try await rig.provider.load { try $0.show(urn: "urn:rts:show:tv:2") }
        }
    }

    /// Answers for URNs that end in 1, and with 404 for others.
    private func knownRig() throws -> CatalogueRig {
        let rig = try CatalogueRig()
        rig.transport.on("known") { $0.url.path().hasSuffix(":1") }.respond(
            .json(#"{"urn": "known", "chapterUrn": "known"}"#)
        )
        rig.transport.onAnyRequest().respond(.status(404))
        return rig
    }

    private func mediaURNs(_ urns: [String]) async throws -> [String] {
        let rig = try CatalogueRig()
        rig.serveLists()
        return try await rig.provider.pages { try $0.medias(urns: urns) }.collected().flatMap(\.value.items).map(\.urn)
    }

    private func showURNs(_ urns: [String]) async throws -> [String] {
        let rig = try CatalogueRig()
        rig.serveLists()
        return try await rig.provider.pages { try $0.shows(urns: urns) }.collected().flatMap(\.value.items).map(\.urn)
    }

    @Test(
        "catalogue IL-COM2 medias of several kinds and business units are one list",
        arguments: ["urn:srf:video:2", "urn:srf:audio:2", "urn:rts:video:2"]
    )
    func medias(second: String) async throws {
        #expect(try await mediaURNs(["urn:srf:video:1", second]) == ["urn:srf:video:1", second])
    }

    @Test("catalogue IL-COM3 an unknown media is left out of the list")
    func mediasWithUnknown() async throws {
        let urns = ["urn:srf:video:1", "urn:srf:video:unknown", "urn:srf:video:2"]

        #expect(try await mediaURNs(urns) == ["urn:srf:video:1", "urn:srf:video:2"])
    }

    @Test(
        "catalogue IL-COM4 the list of unknown medias, and of none, is empty",
        arguments: [["urn:srf:video:unknown"], []]
    )
    func unknownMedias(urns: [String]) async throws {
        #expect(try await mediaURNs(urns).isEmpty)
    }

    @Test(
        "catalogue IL-COM10 shows of several transmissions and business units are one list",
        arguments: [["urn:srf:show:tv:2"], ["urn:srf:show:radio:2"], ["urn:rts:show:tv:2", "urn:rts:show:tv:3"]]
    )
    func shows(others: [String]) async throws {
        let urns = ["urn:srf:show:tv:1"] + others

        #expect(try await showURNs(urns) == urns)
    }

    @Test("catalogue IL-COM11 unknown shows and malformed URNs are left out of the list")
    func showsWithUnknown() async throws {
        let urns = ["urn:srf:show:tv:1", "urn:srf:show:tv:unknown", "urn:rts:show:tv:unknown", "malformed"]

        #expect(try await showURNs(urns) == ["urn:srf:show:tv:1"])
    }

    @Test(
        "catalogue IL-COM12 the list of unknown shows, and of none, is empty",
        arguments: [["urn:srf:show:tv:unknown"], []]
    )
    func unknownShows(urns: [String]) async throws {
        #expect(try await showURNs(urns).isEmpty)
    }

    @Test("catalogue IL-BUS14 two shows by their URNs are a list of two")
    func twoShows() async throws {
        #expect(try await showURNs(["urn:srf:show:tv:1", "urn:srf:show:tv:2"]).count == 2)
    }

    @Test("catalogue IL-COM5 three URNs in pages of two keep their order, and there is no third page")
    func threeURNs() async throws {
        let rig = try CatalogueRig()
        rig.serveLists()
        let urns = ["urn:srf:video:3", "urn:srf:video:1", "urn:srf:video:2"]
        let pages = try await rig.provider.pages(size: 2) { try $0.medias(urns: urns) }.collected()

        #expect(pages.map { $0.value.items.map(\.urn) } == [Array(urns.prefix(2)), Array(urns.suffix(1))])
        #expect(pages.last?.next == nil && rig.transport.requests.count == 2)
    }

    private static let lists: [(json: String, count: Int)] = [(Samples.mediaList, 2), ("{}", 0)]

    @Test("catalogue IL-COM6 the latest medias of a topic are a list, empty for an unknown topic", arguments: lists)
    func latestOfTopic(list: (json: String, count: Int)) async throws {
        let rig = try CatalogueRig()
        rig.answer(list.json)
        let page = try await rig.provider.load { try $0.topicLatestMedias(topicURN: "urn:rts:topic:tv:1").endpoint }

        #expect(page.items.count == list.count)
    }

    @Test("catalogue IL-COM7 the most popular medias of a topic are a list", arguments: lists)
    func popularOfTopic(list: (json: String, count: Int)) async throws {
        let rig = try CatalogueRig()
        rig.answer(list.json)
        let page = try await rig.provider.load {
            try $0.topicMostPopularMedias(topicURN: "urn:rts:topic:tv:1").endpoint
        }

        #expect(page.items.count == list.count)
    }

    @Test("catalogue IL-COM14 the latest medias of a show of each business unit are a list", arguments: ["rts", "srf"])
    func latestOfShow(unit: String) async throws {
        let rig = try CatalogueRig()
        rig.answer(Samples.mediaList)
        let page = try await rig.provider.load { try $0.showLatestMedias(showURN: "urn:\(unit):show:tv:1").endpoint }

        #expect(page.items.count == 2)
    }

    @Test("catalogue IL-COM13 the latest episodes of a show, with and without a last day")
    func latestEpisodes() async throws {
        let rig = try CatalogueRig()
        rig.answer(Samples.episodeComposition)
        for day in [nil, Catalogue.Day(day: 1, month: 5, year: 2023)] {
            let page = try await rig.provider.load {
                try $0.showLatestEpisodes(showURN: "urn:rts:show:tv:sh1", until: day).endpoint
            }
            #expect(page.show?.uid == "sh1" && page.episodes?.count == 1)
        }
        #expect(rig.queries.map { $0["maxPublishedDate"] } == [nil, "2023-05-01"])
    }

    @Test("catalogue IL-COM15 the latest medias of some shows are a list")
    func latestOfShows() async throws {
        let (rig, items) = try await latestOfShows(.none, type: "EPISODE")

        #expect(items.count == 1 && rig.queries[0]["types"] == nil)
        #expect(rig.queries[0]["maxPublishedDate"] == "2023-05-01")
    }

    @Test("catalogue IL-COM16 the latest episodes of some shows are episodes alone")
    func latestEpisodesOfShows() async throws {
        let (rig, items) = try await latestOfShows(.episodesOnly, type: "EPISODE")

        #expect(items.map(\.contentType) == [.episode] && rig.queries[0]["types"] == "episode")
    }

    @Test("catalogue IL-COM17 the latest clips of some shows have no episode")
    func latestClipsOfShows() async throws {
        let (rig, items) = try await latestOfShows(.episodesExcluded, type: "CLIP")

        #expect(items.map(\.contentType) == [.clip] && rig.queries[0]["types"] == "clip,segment")
    }

    private func latestOfShows(_ filter: Catalogue.MediaFilter, type: String) async throws -> (
        CatalogueRig, [Catalogue.Media]
    ) {
        let rig = try CatalogueRig()
        rig.answer(#"{"mediaList": [{"type": "\#(type)"}]}"#)
        let page = try await rig.provider.load {
            try $0.showsLatestMedias(
                showURNs: ["urn:rts:show:tv:1"],
                filter: filter,
                until: Catalogue.Day(day: 1, month: 5, year: 2023)
            ).endpoint
        }
        return (rig, page.items)
    }

    private let subtitles = """
        "subtitleInformationList": [
            {"locale": "fr", "source": "HLS", "type": "SDH"}, {"locale": "fr", "source": "EXTERNAL", "type": "SDH"}
        ]
        """

    @Test("catalogue IL-COM18 a media with subtitles of two sources has a variant of each")
    func subtitleVariants() throws {
        let media = try decoded(Catalogue.Media.self, "{\(subtitles)}")

        #expect([.hls, .external, .dash].map { media.subtitleVariants(source: $0).count } == [1, 1, 0])
        #expect(media.recommendedSubtitleVariantSource == .hls)
        #expect(media.audioVariants == nil && media.recommendedAudioVariantSource == .none)
        #expect(media.subtitleVariants?.allSatisfy { $0.type == .sdh && $0.locale?.identifier == "fr" } == true)
    }

    @Test("catalogue IL-COM19 a media with an audio track has a variant of it")
    func audioVariants() throws {
        let tracks = #""audioTrackList": [{"locale": "fr", "source": "HLS"}]"#
        let media = try decoded(Catalogue.Media.self, "{\(subtitles), \(tracks)}")

        #expect(
            media.audioVariants?.map(\.source) == [.hls]
                && media.audioVariants?.first?.type == Catalogue.Variant.Kind.none
        )
        #expect(media.audioVariants?.first?.locale != nil && media.recommendedAudioVariantSource == .hls)
    }

    // MARK: - Editorial pages

    private func expectPage(
        _ type: Catalogue.EditorialPage.Kind,
        isPublished: Bool,
        _ location: SourceLocation = #_sourceLocation,
        _ make: @Sendable (Catalogue) throws -> Endpoint<Catalogue.EditorialPage>
    ) async throws {
        let rig = try CatalogueRig()
        rig.answer(#"{"type": "\#(type.rawValue)", "description": "About", "isPublished": \#(isPublished)}"#)
        let page = try await rig.provider.load { try make($0) }

        #expect((page.type, page.isPublished, page.summary) == (type, isPublished, "About"), sourceLocation: location)
        #expect(rig.queries[0]["isPublished"] == (isPublished ? nil : "false"), sourceLocation: location)
    }

    @Test("catalogue IL-CNT1 a page by its identifier is a landing page", arguments: [true, false])
    func page(isPublished: Bool) async throws {
        try await expectPage(.landing, isPublished: isPublished) {
            try $0.page(.rts, uid: "1", isPublished: isPublished)
        }
    }

    @Test(
        "catalogue IL-CNT2 the landing page of a product, by constant and by name",
        arguments: [Catalogue.Product.playVideo, "PLAY_VIDEO"],
        [true, false]
    )
    func landingPage(product: Catalogue.Product, isPublished: Bool) async throws {
        try await expectPage(.landing, isPublished: isPublished) {
            try $0.landingPage(.rts, product: product, isPublished: isPublished)
        }
    }

    @Test("catalogue IL-CNT4 the page of a topic is a topic page", arguments: [true, false])
    func topicPage(isPublished: Bool) async throws {
        try await expectPage(.topic, isPublished: isPublished) {
            try $0.topicPage(.rts, topicURN: "urn:rts:topic:tv:1", isPublished: isPublished)
        }
    }

    @Test(
        "catalogue IL-CNT5 the page of a show, by constant and by name of the product",
        arguments: [Catalogue.Product.playVideo, "PLAY_VIDEO"],
        [true, false]
    )
    func showPage(product: Catalogue.Product, isPublished: Bool) async throws {
        try await expectPage(.show, isPublished: isPublished) {
            try $0.showPage(.rts, showURN: "urn:rts:show:tv:1", product: product, isPublished: isPublished)
        }
    }

    @Test("catalogue IL-CNT7 a micro page has a summary", arguments: [true, false])
    func microPage(isPublished: Bool) async throws {
        try await expectPage(.micro, isPublished: isPublished) {
            try $0.page(.rts, uid: "micro", isPublished: isPublished)
        }
    }

    @Test("catalogue IL-CNT3 the landing page of an unknown product is an error")
    func unknownProduct() async throws {
        let rig = try CatalogueRig()
        rig.answer("{}", status: 404)

        await #expect(throws: LoadingError.self) {
            try await rig.provider.load { try $0.landingPage(.rts, product: "X") }
        }
    }

    @Test("catalogue IL-CNT6 the page of a show in an unknown product is an error")
    func showPageOfUnknownProduct() async throws {
        let rig = try CatalogueRig()
        rig.answer("{}", status: 404)

        await #expect(throws: LoadingError.self) {
            try await rig.provider.load { try $0.showPage(.rts, showURN: "urn:rts:show:tv:1", product: "X") }
        }
    }

    @Test("catalogue IL-CNT8 a section by its identifier", arguments: [true, false])
    func section(isPublished: Bool) async throws {
        let rig = try CatalogueRig()
        rig.answer(#"{"id": "s", "sectionType": "MediaSection"}"#)

        let section = try await rig.provider.load { try $0.section(.rts, uid: "s", isPublished: isPublished) }
        #expect(section.uid == "s" && section.type == .medias)
        #expect(rig.queries.map { $0["isPublished"] } == [isPublished ? nil : "false"])
    }

    @Test("catalogue IL-CNT9 the medias, the shows, and the show with medias of a section", arguments: [true, false])
    func sections(isPublished: Bool) async throws {
        let rig = try CatalogueRig()
        func answer(_ part: String, _ json: String) {
            rig.transport.on(part) { $0.url.path().contains("/\(part)/") }.respond(.json(json))
        }
        answer("mediaSection", Samples.mediaList)
        answer("showSection", Samples.showList)
        answer("mediaSectionWithShow", Samples.showAndMedias)

        #expect(
            try await rig.provider.load { try $0.sectionMedias(.rts, uid: "s", isPublished: isPublished).endpoint }
                .items.count == 2
        )
        #expect(
            try await rig.provider.load { try $0.sectionShows(.rts, uid: "s", isPublished: isPublished).endpoint }.items
                .count == 1
        )
        #expect(
            try await rig.provider.load {
                try $0.sectionShowAndMedias(.rts, uid: "s", isPublished: isPublished).endpoint
            }.show?.uid == "sh1"
        )
        #expect(rig.queries.allSatisfy { $0["isPublished"] == (isPublished ? nil : "false") })
    }

    // MARK: - Business units

    private let national: [Catalogue.BusinessUnit] = [.srf, .rts, .rsi, .rtr]

    /// Checks that each of the services, by its number, is available for these national units and no other.
    private func expect(
        services: [String],
        for units: [Catalogue.BusinessUnit],
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let catalogue = try catalogue()
        let rows = Self.rows(services)
        #expect(rows.count >= services.count, sourceLocation: location)
        for row in rows {
            for unit in national {
                let isMade = (try? row.row.call(catalogue, unit)) != nil
                #expect(isMade == units.contains(unit), "\(row.number) \(unit)", sourceLocation: location)
            }
        }
    }

    @Test("catalogue IL-BUS1 each national unit has the basic services of TV")
    func businessUnits1() throws {
        try expect(services: ["1", "2", "3", "5", "9", "10", "12", "13", "15", "16", "17", "18", "19"], for: national)
    }

    @Test("catalogue IL-BUS4 each national unit has scheduled livestreams")
    func businessUnits4() throws {
        try expect(services: ["6"], for: national)
    }

    @Test("catalogue IL-BUS5 no national unit has the hero stage, the most searched shows or modules")
    func businessUnits5() throws {
        try expect(services: ["7"], for: national)
        try expect(services: ["8", "40", "43"], for: [])
    }

    @Test("catalogue IL-BUS6 three units have the videos that expire soon")
    func businessUnits6() throws {
        try expect(services: ["11"], for: [.srf, .rts, .rsi])
    }

    @Test("catalogue IL-BUS7 one unit has web-first episodes and the videos of a radio channel")
    func businessUnits7() throws {
        try expect(services: ["14", "29"], for: [.rts])
    }

    @Test("catalogue IL-BUS8 each national unit has the basic services of radio")
    func businessUnits8() throws {
        try expect(
            services: ["20", "21", "22", "23", "24", "25", "26", "27", "28", "30", "31", "33", "34"],
            for: national
        )
    }

    @Test("catalogue IL-BUS9 each national unit has the current song")
    func businessUnits9() throws {
        try expect(services: ["35"], for: national)
    }

    @Test("catalogue IL-BUS10 each national unit has the live center")
    func businessUnits10() throws {
        try expect(services: ["36"], for: national)
    }

    @Test("catalogue IL-BUS11 each national unit has the search for medias")
    func businessUnits11() throws {
        try expect(services: ["37"], for: national)
    }

    @Test("catalogue IL-BUS12 each national unit has the searches for shows")
    func businessUnits12() throws {
        try expect(services: ["38", "39"], for: national)
    }

    @Test("catalogue IL-BUS2 each national unit has the programs of the broadcaster")
    func programs() {
        #expect(CatalogueService.named("tvPrograms")!.units == [.srf, .rts, .rsi, .rtr])
    }

    @Test("catalogue IL-BUS3 two units have the programs of third parties")
    func thirdPartyPrograms() {
        #expect(CatalogueService.named("tvThirdPartyPrograms")!.units == [.srf, .rtr])
    }

    @Test("catalogue IL-BUS11 a search has aggregations unless they are off")
    func aggregations() async throws {
        let rig = try CatalogueRig()
        rig.transport.on("off") { $0.queryItems["includeAggregations"] == "false" }
            .respond(.json(#"{"searchResultMediaList": [{"urn": "urn:srf:video:1"}], "total": 1}"#))
        rig.answer(Samples.mediaSearch.replacing("\"suggestionList\"", with: "\"x\""))
        var off = Catalogue.MediaSearchSettings()
        off.aggregationsEnabled = false
        for settings in [nil, off, Catalogue.MediaSearchSettings()] {
            let page = try await rig.provider.load {
                try $0.mediaSearch(.srf, matching: "berg", settings: settings).endpoint
            }
            #expect(!page.urns.isEmpty && page.suggestions == nil)
            #expect((page.aggregations == nil) == (settings == off))
        }
    }

    @Test("catalogue IL-BUS13 videos with tags")
    func tags() throws {
        let catalogue = try catalogue()
        for unit in [Catalogue.BusinessUnit.srf, .rts, .rsi] {
            for tags in [["a"], ["a", "b"], []] {
                #expect(throws: Never.self) {
                    try catalogue.videosWithTags(unit, tags, excluding: ["c"], excludesFullLength: true)
                }
            }
        }
        #expect(throws: Never.self) { try catalogue.videosWithTags(.rtr, ["a"]) }
        #expect(throws: CatalogueError.self) { try catalogue.videosWithTags(.rtr, ["a"], excludesFullLength: true) }
        let request = try catalogue.videosWithTags(.srf, ["a", "b"], excluding: ["c", "d"]).endpoint.request
        #expect(request.queryItems["includes"] == "a,b" && request.queryItems["excludes"] == "c,d")
    }

    @Test("catalogue IL-BUS15 a show has topics")
    func showTopics() throws {
        #expect(try decoded(Catalogue.Listing<Catalogue.Show>.self, Samples.showList).items[0].topics?.isEmpty == false)
    }

    @Test("catalogue IL-BUS16 a topic has subtopics")
    func subtopics() throws {
        #expect(
            try decoded(Catalogue.Listing<Catalogue.Topic>.self, Samples.topicList).items.contains {
                $0.subtopics?.isEmpty == false
            }
        )
    }

    @Test("catalogue IL-SEED22 a video by its identifier is a list of one")
    func video() async throws {
        let rig = try seedRig()

        #expect(try await rig.provider.load { try $0.video(.rts, uid: "1") }?.uid == "1")
    }

    @Test("catalogue IL-SEED23 lists by identifiers leave out unknown ones, and are an error when all are unknown")
    func seedLists() async throws {
        let rig = try seedRig()

        #expect(try await rig.provider.load { try $0.videos(.rts, uids: ["1", "2"]) }.map(\.uid) == ["1", "2"])
        let audios = try await rig.provider.load { try $0.audios(.rts, uids: ["1", "2", "unknown"]) }
        #expect(audios.map(\.uid) == ["1", "2"])
        await #expect(throws: LoadingError.self) {
            try await rig.provider.load { try $0.videos(.rts, uids: ["unknown"]) }
        }
        await #expect(throws: LoadingError.self) {
            try await rig.provider.load { try $0.audio(.rts, uid: "unknown") }
        }
    }

    /// Responses with two medias, and with 404 for an unknown one alone.
    private func seedRig() throws -> CatalogueRig {
        let rig = try CatalogueRig()
        rig.transport.on("all unknown") { $0.queryItems["ids"] == "unknown" }.respond(.status(404))
        rig.answer(#"{"mediaList": [{"id": "1"}, {"id": "2"}]}"#)
        return rig
    }

    @Test("catalogue IL-SEED24 swissinfo is refused what it does not have")
    func swissinfo() throws {
        let catalogue = try catalogue()
        for row in ServiceRow.all where !row.row.units.contains(.swi) {
            #expect(throws: CatalogueError.self, "\(row.number)") { try row.row.call(catalogue, .swi) }
        }
        #expect(ServiceRow.all.filter { !$0.row.units.contains(.swi) }.count > 30)
    }

    @Test("catalogue IL-SEED28 events of a business unit are a list")
    func modules() async throws {
        let rig = try CatalogueRig { $0.checksAvailability = false }
        rig.answer(Samples.modules)
        for unit in Catalogue.BusinessUnit.allCases {
            #expect(try await rig.provider.load { try $0.modules(unit) }.map(\.uid) == ["mod1"])
        }
    }

    @Test(
        "catalogue IL-SEED29 each kind of count has its path, for a segment and for a composition",
        arguments: [
            (Catalogue.SocialCount.Kind.view, "clicked"), (.like, "liked"), (.facebook, "shared/facebook"),
            (.twitter, "shared/twitter"),
            (.googlePlus, "shared/google"), (.whatsApp, "shared/whatsapp"),
        ]
    )
    func socialCounts(type: Catalogue.SocialCount.Kind, endpoint: String) async throws {
        let rig = try CatalogueRig { $0.globalHeaders = ["Content-Type": "text/plain"] }
        rig.answer(Samples.socialCounts)
        let composition = try decoded(Catalogue.MediaComposition.self, Samples.mediaComposition)
        var whole = composition
        whole.segmentURN = nil
        let chapter = try #require(composition.mainChapter)

        for call in [
            try rig.catalogue.increaseSocialCount(type, of: composition),
            try rig.catalogue.increaseSocialCount(type, of: whole),
            try rig.catalogue.increaseSocialCount(type, of: chapter),
            try rig.catalogue.increaseSocialCount(type, urn: chapter.urn, event: "opaque"),
            try rig.catalogue.increaseSocialCountByUid(type, .srf, of: chapter),
        ] {
            #expect(try await rig.loader.load(call).socialCounts?.map(\.value) == [1201])
        }
        #expect(
            rig.paths.map { $0.components(separatedBy: ":").last ?? "" } == [
                "seg2/\(endpoint)", "full1/\(endpoint)", "full1/\(endpoint)", "full1/\(endpoint)",
                "2.0/srf/mediaStatistic/video/full1/\(endpoint).json",
            ]
        )
        // The segment has no event.
        #expect(
            rig.transport.received.map(\.text) == [
                "{}", #"{"eventData":"opaque-1"}"#, #"{"eventData":"opaque-1"}"#, #"{"eventData":"opaque"}"#,
                #"{"eventData":"opaque-1"}"#,
            ]
        )
        #expect(
            rig.transport.requests.allSatisfy {
                $0.method == .post && $0.headers.all("Content-Type") == ["application/json"]
            }
        )
    }

    // MARK: - Search settings

    @Test("catalogue IL-SET1 new settings have the defaults")
    func defaultSettings() {
        let settings = Catalogue.MediaSearchSettings()

        #expect(settings.aggregationsEnabled && !settings.suggestionsEnabled && !settings.matchesAnyWord)
        #expect(!settings.matchesExactly)
        #expect(
            settings.showURNs.isEmpty && settings.topicURNs.isEmpty && settings.mediaType == .none
                && settings.quality == .none
        )
        #expect(!settings.subtitlesAvailable && !settings.downloadAvailable && !settings.playableAbroad)
        #expect(settings.minimumDurationInMinutes == nil && settings.maximumDurationInMinutes == nil)
        #expect(settings.fromDay == nil && settings.toDay == nil)
        #expect(!settings.sortsByDate && !settings.sortsAscending)
        #expect(
            settings.queryItems.map { "\($0.name)=\($0.value)" } == [
                "includeAggregations=true", "includeSuggestions=false", "sortBy=default", "sortDir=desc",
            ]
        )
    }

    private func filledSettings() -> Catalogue.MediaSearchSettings {
        var settings = Catalogue.MediaSearchSettings()
        settings.aggregationsEnabled = false
        settings.suggestionsEnabled = true
        settings.matchesAnyWord = true
        settings.matchesExactly = true
        settings.showURNs = ["urn:rts:show:tv:2", "urn:rts:show:tv:1"]
        settings.topicURNs = ["urn:rts:topic:tv:1"]
        settings.mediaType = .audio
        settings.subtitlesAvailable = true
        settings.downloadAvailable = true
        settings.playableAbroad = true
        settings.quality = .hq
        settings.minimumDurationInMinutes = 10
        settings.maximumDurationInMinutes = 12.5
        settings.fromDay = Catalogue.Day(day: 1, month: 5, year: 2023)
        settings.toDay = Catalogue.Day(day: 2, month: 5, year: 2023)
        settings.sortsByDate = true
        settings.sortsAscending = true
        return settings
    }

    @Test("catalogue IL-SET2 a copy of settings has each of them, and they are all sent")
    func filled() {
        let settings = filledSettings()
        let copy = settings

        #expect(copy == settings && copy.hashValue == settings.hashValue)
        #expect(
            copy.queryItems.map { "\($0.name)=\($0.value)" } == [
                "includeAggregations=false", "includeSuggestions=true", "operator=or", "enableFuzzySearch=false",
                "showUrns=urn:rts:show:tv:1,urn:rts:show:tv:2", "topicUrns=urn:rts:topic:tv:1", "mediaType=audio",
                "subtitlesAvailable=true", "downloadAvailable=true", "playableAbroad=true", "quality=hd",
                "durationFromInMinutes=10",
                "durationToInMinutes=12.5", "publishedDateFrom=2023-05-01", "publishedDateTo=2023-05-02", "sortBy=date",
                "sortDir=asc",
            ]
        )
        var sd = settings
        sd.quality = .sd
        #expect(sd.queryItems.contains { $0 == ("quality", "sd") })
    }

    @Test("catalogue IL-SET3 new settings are equal")
    func newSettings() {
        #expect(Catalogue.MediaSearchSettings() == Catalogue.MediaSearchSettings())
    }

    @Test("catalogue IL-SET4 settings with the same values are equal, and so are their query items")
    func equalSettings() {
        #expect(filledSettings() == filledSettings())
        #expect(filledSettings().queryItems.elementsEqual(filledSettings().queryItems, by: ==))
    }

    @Test("catalogue IL-SET5 settings with one other value are different, and so are their query items")
    func differentSettings() {
        var other = filledSettings()
        other.aggregationsEnabled = true
        #expect(other != filledSettings() && !other.queryItems.elementsEqual(filledSettings().queryItems, by: ==))
    }

    // MARK: - Messages

    @Test("every reason has a message in five languages, and none has none", arguments: MessageLanguage.allCases)
    func messages(language: MessageLanguage) throws {
        let reasons = Catalogue.BlockingReason.allCases.filter { $0 != .none }
        let messages = reasons.compactMap { $0.message(in: language) }
        #expect(Set(messages).count == reasons.count && !messages.contains(""))
        #expect(
            Catalogue.BlockingReason.none.message(in: language) == nil
                && Catalogue.BlockingReason.none.skipMessage(in: language) == nil
        )
        for reason in reasons {
            let message = try #require(reason.message(in: language))
            let skip = try #require(reason.skipMessage(in: language))
            let isSame = reason == .journalistic || reason == .vpnOrProxy
            #expect((skip == message) == isSame && skip.hasSuffix(message))
        }
        for color in [Catalogue.YouthProtectionColor.yellow, .red] {
            #expect(
                color.message(in: language)?.isEmpty == false
                    && color.accessibilityLabel(in: language)?.isEmpty == false
            )
        }
        #expect(
            Catalogue.YouthProtectionColor.none.message(in: language) == nil
                && Catalogue.YouthProtectionColor.none.accessibilityLabel(in: language) == nil
        )
        #expect(
            Catalogue.YouthProtectionColor.red.message(in: language)
                != Catalogue.YouthProtectionColor.red.accessibilityLabel(in: language)
        )
    }

    @Test("messages belong to their reasons")
    func messageRows() {
        #expect(Catalogue.BlockingReason.geoblocking.message(in: .romansh) == "Mo disponibel en Svizra.")
        #expect(Catalogue.BlockingReason.ageRating18.message(in: .english) == "Playable from 22:00 to 05:00 (age 18).")
        #expect(Catalogue.BlockingReason.ageRating12.message(in: .german) == "Abspielbar von 20:00 bis 06:00 (ab 12).")
        #expect(Catalogue.BlockingReason.endDate.skipMessage(in: .french) == "Partie ignorée : Expiré.")
        #expect(Catalogue.BlockingReason.unknown.message(in: .italian) == "Riproduzione impossibile.")
        #expect(
            Catalogue.BlockingReason.startDate.skipMessage(in: .english)
                == "Part skipped: Not started. Come back later."
        )
    }
}
