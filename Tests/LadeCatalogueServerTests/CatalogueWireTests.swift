import Foundation
import LadeCatalogue
import LadeCatalogueServer
import Testing

/// A service, called by the client library: gives how many items, or objects, came back.
struct WireCall: Sendable, CustomTestStringConvertible {
    /// The pages to load of a service that has pages.
    struct Pages: Sendable {
        var size = 10
        var limit: Int? = 2

        /// All of them.
        static let all = Pages(size: 20, limit: nil)
    }

    typealias Call = @Sendable (Loader, Catalogue, Catalogue.BusinessUnit, Pages) async throws -> Int

    let service: CatalogueService
    private let perform: Call

    init(_ name: String, _ perform: @escaping Call) {
        guard let service = CatalogueService.named(name) else { preconditionFailure("no service is named \(name)") }
        self.service = service
        self.perform = perform
    }

    func call(
        _ loader: Loader,
        _ catalogue: Catalogue,
        _ unit: Catalogue.BusinessUnit,
        _ pages: Pages = Pages()
    ) async throws -> Int {
        try await perform(loader, catalogue, unit, pages)
    }

    var testDescription: String { service.name }

    /// A service that gives an object.
    static func one<Value>(
        _ name: String,
        _ make: @escaping @Sendable (Catalogue, Catalogue.BusinessUnit) throws -> Endpoint<Value>
    ) -> WireCall {
        WireCall(name) { loader, catalogue, unit, _ in
            _ = try await loader.load(try make(catalogue, unit))
            return 1
        }
    }

    /// A service that gives a list.
    static func list<Item>(
        _ name: String,
        _ make: @escaping @Sendable (Catalogue, Catalogue.BusinessUnit) throws -> Endpoint<[Item]>
    ) -> WireCall {
        WireCall(name) { loader, catalogue, unit, _ in
            try await loader.load(try make(catalogue, unit)).count
        }
    }

    /// A service that gives pages of a list.
    static func pages<Item>(
        _ name: String,
        _ make: @escaping @Sendable (Catalogue, Catalogue.BusinessUnit) throws -> PagedEndpoint<Catalogue.Listing<Item>>
    ) -> WireCall {
        WireCall(name) { loader, catalogue, unit, pages in
            var count = 0
            let list = try make(catalogue, unit)
            for try await page in loader.pages(of: list, size: pages.size, pageLimit: pages.limit) {
                count += page.value.items.count
            }
            return count
        }
    }

    /// A service that gives pages of an object.
    static func objects<Object>(
        _ name: String,
        _ make:
            @escaping @Sendable (Catalogue, Catalogue.BusinessUnit) throws -> PagedEndpoint<
                Catalogue.PagedObject<Object>
            >
    ) -> WireCall {
        WireCall(name) { loader, catalogue, unit, pages in
            var count = 0
            let list = try make(catalogue, unit)
            for try await _ in loader.pages(of: list, size: pages.size, pageLimit: pages.limit) { count += 1 }
            return count
        }
    }

    private static let day = Catalogue.Day(day: 30, month: 12, year: 2023)
    private static let urn = "urn:rts:video:100001"

    static let today: [WireCall] = [
        .list("tvChannels") { try $0.tvChannels($1) },
        .one("tvChannel") { try $0.tvChannel($1, uid: "chan1") },
        .objects("tvLatestPrograms") { try $0.tvLatestPrograms($1, uid: "chan1") },
        .list("tvPrograms") { try $0.tvPrograms($1) },
        .list("tvThirdPartyPrograms") { try $0.tvThirdPartyPrograms($1, day: day) },
        .list("tvLivestreams") { try $0.tvLivestreams($1) },
        .pages("tvScheduledLivestreams") { try $0.tvScheduledLivestreams($1, eventType: .news) },
        .pages("tvEditorialMedias") { try $0.tvEditorialMedias($1) },
        .list("tvHeroStageMedias") { try $0.tvHeroStageMedias($1) },
        .pages("tvLatestMedias") { try $0.tvLatestMedias($1) },
        .pages("tvMostPopularMedias") { try $0.tvMostPopularMedias($1) },
        .pages("tvSoonExpiringMedias") { try $0.tvSoonExpiringMedias($1) },
        .list("tvTrendingMedias") { try $0.tvTrendingMedias($1, limit: 20) },
        .pages("tvLatestEpisodes") { try $0.tvLatestEpisodes($1) },
        .pages("tvLatestWebFirstEpisodes") { try $0.tvLatestWebFirstEpisodes($1) },
        .pages("tvEpisodes") { try $0.tvEpisodes($1, day: day) },
        .list("tvTopics") { try $0.tvTopics($1) },
        .pages("tvShows") { try $0.tvShows($1) },
        .pages("tvShowSearch") { try $0.tvShowSearch($1, matching: "nature") },
        .pages("tvMostPopularShows") { try $0.tvMostPopularShows($1, topicUid: "2") },
        .list("radioChannels") { try $0.radioChannels($1) },
        .one("radioChannel") { try $0.radioChannel($1, uid: "radio1") },
        .objects("radioLatestPrograms") { try $0.radioLatestPrograms($1, uid: "radio1") },
        .list("radioLivestreams") { try $0.radioLivestreams($1, channelUid: "radio1") },
        .list("radioLivestreamsOfProviders") { try $0.radioLivestreamsOfProviders($1, of: .all) },
        .pages("radioLatestMedias") { try $0.radioLatestMedias($1, channelUid: "radio1") },
        .pages("radioMostPopularMedias") { try $0.radioMostPopularMedias($1, channelUid: "radio1") },
        .pages("radioLatestEpisodes") { try $0.radioLatestEpisodes($1, channelUid: "radio1") },
        .pages("radioEpisodes") { try $0.radioEpisodes($1, day: day, channelUid: "radio1") },
        .pages("radioLatestVideos") { try $0.radioLatestVideos($1, channelUid: "radio1") },
        .list("radioTopics") { try $0.radioTopics($1) },
        .pages("radioShows") { try $0.radioShows($1, channelUid: "radio1") },
        .pages("allRadioShows") { try $0.allRadioShows($1) },
        .pages("radioShowSearch") { try $0.radioShowSearch($1, matching: "sport") },
        .pages("radioSongs") { try $0.radioSongs($1, channelUid: "radio1") },
        .one("radioCurrentSong") { try $0.radioCurrentSong($1, channelUid: "radio1") },
        .pages("liveCenterVideos") { try $0.liveCenterVideos($1) },
        .pages("mediaSearch") { try $0.mediaSearch($1, matching: "promenade") },
        .pages("mediaSearchWithSettings") {
            try $0.mediaSearch($1, matching: "lac", settings: Catalogue.MediaSearchSettings())
        },
        .pages("showSearch") { try $0.showSearch($1, matching: "science") },
        .list("tvMostSearchedShows") { try $0.tvMostSearchedShows($1) },
        .list("radioMostSearchedShows") { try $0.radioMostSearchedShows($1) },
        .list("mostSearchedShows") { try $0.mostSearchedShows($1) },
        .pages("videosWithTags") { try $0.videosWithTags($1, ["eau"], excluding: ["neige"]) },
        .pages("videosWithTagsExcludingFullLength") { try $0.videosWithTags($1, ["eau"], excludesFullLength: true) },
        .pages("recommendedMedias") { catalogue, _ in try catalogue.recommendedMedias(urn: urn) },
        .pages("recommendedMediasForUser") { catalogue, _ in
            try catalogue.recommendedMediasForUser(urn: urn, userId: "me")
        },
        .list("modules") { try $0.modules($1) },
        .one("increaseSocialCount") { catalogue, _ in
            try catalogue.increaseSocialCount(.whatsApp, urn: urn, event: "event-1")
        },
        .one("increaseSearchResultsViewCount") { catalogue, _ in
            try catalogue.increaseSearchResultsViewCount(showURN: "urn:rts:show:tv:sh1000")
        },
        .one("page") { try $0.page($1, uid: "page1", isPublished: false) },
        .one("landingPage") { try $0.landingPage($1, product: .playVideo) },
        .one("topicPage") { try $0.topicPage($1, topicURN: "urn:rts:topic:tv:1") },
        .one("showPage") { try $0.showPage($1, showURN: "urn:rts:show:tv:sh1000", product: .playVideo) },
        .one("section") { try $0.section($1, uid: "sec0") },
        .pages("sectionMedias") { try $0.sectionMedias($1, uid: "sec0") },
        .pages("sectionShows") { try $0.sectionShows($1, uid: "sec1") },
        .objects("sectionShowAndMedias") { try $0.sectionShowAndMedias($1, uid: "sec2") },
        .one("media") { catalogue, _ in try catalogue.media(urn: urn) },
        .pages("medias") { catalogue, _ in
            try catalogue.medias(urns: (0..<13).map { "urn:srf:video:\(100_000 + $0)" })
        },
        .pages("topicLatestMedias") { catalogue, _ in try catalogue.topicLatestMedias(topicURN: "urn:rsi:topic:tv:3") },
        .pages("topicMostPopularMedias") { catalogue, _ in
            try catalogue.topicMostPopularMedias(topicURN: "urn:rsi:topic:tv:3")
        },
        .one("mediaComposition") { catalogue, _ in try catalogue.mediaComposition(urn: urn) },
        .one("show") { catalogue, _ in try catalogue.show(urn: "urn:rts:show:radio:rs1001") },
        .pages("shows") { catalogue, _ in
            try catalogue.shows(urns: ["urn:rts:show:tv:sh1001", "urn:rsi:show:tv:sh1002"])
        },
        .objects("showLatestEpisodes") { catalogue, _ in
            try catalogue.showLatestEpisodes(showURN: "urn:rts:show:tv:sh1001", until: day)
        },
        .pages("showLatestMedias") { catalogue, _ in try catalogue.showLatestMedias(showURN: "urn:rts:show:tv:sh1001")
        },
        .pages("showsLatestMedias") { catalogue, _ in
            try catalogue.showsLatestMedias(showURNs: ["urn:rts:show:tv:sh1001"], filter: .episodesOnly)
        },
        .pages("moduleLatestMedias") { catalogue, _ in
            try catalogue.moduleLatestMedias(moduleURN: "urn:swi:module:event:mod1")
        },
    ]

    static let firstGeneration: [WireCall] = [
        .pages("tvTrendingMediaPages") { try $0.tvTrendingMedias($1) },
        .pages("tvTopicLatestMedias") { try $0.tvTopicLatestMedias($1, topicUid: "1") },
        .pages("tvTopicMostPopularMedias") { try $0.tvTopicMostPopularMedias($1, topicUid: "1") },
        .list("tvShowsByUids") { try $0.tvShowsByUids($1, uids: ["sh1000", "nothing"]) },
        .one("tvShow") { try $0.tvShow($1, uid: "sh1000") },
        .objects("tvShowLatestEpisodes") { try $0.tvShowLatestEpisodes($1, showUid: "sh1000", untilMonthOf: day) },
        .list("radioShowsByUids") { try $0.radioShowsByUids($1, uids: ["rs1000"]) },
        .one("radioShow") { try $0.radioShow($1, uid: "rs1000") },
        .objects("radioShowLatestEpisodes") { try $0.radioShowLatestEpisodes($1, showUid: "rs1000") },
        .pages("onlineShows") { try $0.onlineShows($1) },
        .list("onlineShowsByUids") { try $0.onlineShowsByUids($1, uids: ["os1000"]) },
        .one("onlineShow") { try $0.onlineShow($1, uid: "os1000") },
        .objects("onlineShowLatestEpisodes") { try $0.onlineShowLatestEpisodes($1, showUid: "os1000") },
        .list("videos") { try $0.videos($1, uids: ["100000", "100001"]) },
        .one("video") { try $0.video($1, uid: "100000") },
        .one("videoComposition") { try $0.videoComposition($1, uid: "100000", chaptersOnly: true) },
        .pages("videoSearch") { try $0.videoSearch($1, matching: "lac") },
        .list("audios") { try $0.audios($1, uids: ["a100000"]) },
        .one("audio") { try $0.audio($1, uid: "a100000") },
        .one("audioComposition") { try $0.audioComposition($1, uid: "a100000") },
        .pages("audioSearch") { try $0.audioSearch($1, matching: "lac") },
        .pages("tvShowResults") { try $0.tvShowResults($1, matching: "nature") },
        .pages("radioShowResults") { try $0.radioShowResults($1, matching: "nature") },
        .pages("moduleLatestMediasByUid") { try $0.moduleLatestMediasByUid($1, uid: "mod1") },
        .pages("moduleSectionLatestMedias") {
            try $0.moduleSectionLatestMedias($1, uid: "mod1", sectionUid: "sec1")
        },
        WireCall("serviceMessage") { loader, catalogue, unit, _ in
            let message = try await loader.load(try catalogue.serviceMessage(unit))
            #expect(message.uid == "message-\(unit)" && !message.text.isEmpty)
            #expect(message.modificationDate != nil && message.url != nil)
            return 1
        },
        .list("events") { try $0.events($1) },
        .pages("recommendedVideos") { try $0.recommendedVideos($1, uid: "100000") },
        .pages("recommendedVideosForUser") { try $0.recommendedVideosForUser($1, uid: "100000", userId: "me") },
        .pages("latestAudios") { try $0.latestAudios($1) },
        .pages("mostPopularAudios") { try $0.mostPopularAudios($1) },
        WireCall("increaseSocialCountByUid") { loader, catalogue, unit, _ in
            let composition = try await loader.load(try catalogue.mediaComposition(urn: urn))
            let chapter = try #require(composition.mainChapter)
            _ = try await loader.load(try catalogue.increaseSocialCountByUid(.view, unit, of: chapter))
            return 1
        },
    ]
}

@Suite("The catalogue's client and the local catalogue", .timeLimit(.minutes(5)))
struct CatalogueWireTests {
    private let server: LocalCatalogue
    private let catalogue: Catalogue
    private let loader: Loader

    init() throws {
        server = try LocalCatalogue()
        catalogue = try Catalogue(server.address(""))
        var settings = Service.Settings()
        settings.retries.limit = 0
        loader = try Loader(settings)
    }

    @Test("has a call for every service")
    func completeness() {
        let called = (WireCall.today + WireCall.firstGeneration).map(\.service.name)
        let services = (CatalogueService.today + CatalogueService.firstGeneration).map(\.name)

        #expect(Set(called) == Set(services) && called.count == services.count)
    }

    @Test(
        "every service answers every business unit that has it, and the others are refused before anything is sent",
        arguments: WireCall.today + WireCall.firstGeneration
    )
    func services(call: WireCall) async throws {
        for unit in Catalogue.BusinessUnit.allCases {
            guard !call.service.needsBusinessUnit || call.service.isAvailable(for: unit) else {
                let before = server.counts.requests
                await #expect(throws: CatalogueError.self) { try await call.call(loader, catalogue, unit) }
                // Only the event to post was loaded.
                let loaded = call.service.name == "increaseSocialCountByUid" ? 1 : 0
                #expect(server.counts.requests == before + loaded)
                continue
            }
            #expect(try await call.call(loader, catalogue, unit) > 0, "\(unit)")
        }
    }

    @Test(
        "a service that a business unit does not have is refused by the server, too",
        arguments: WireCall.today + WireCall.firstGeneration
    )
    func refusals(call: WireCall) async throws {
        var unchecked = catalogue
        unchecked.checksAvailability = false
        for unit in Catalogue.BusinessUnit.allCases
        where call.service.needsBusinessUnit && !call.service.isAvailable(for: unit) {
            let failure = await #expect(throws: (any Error).self, "\(unit)") {
                try await call.call(loader, unchecked, unit)
            }
            let error = failure as? LoadingError ?? (failure as? PageError)?.loading
            let isOfSearch = call.service.name == "mediaSearchWithSettings" && unit == .swi
            #expect(error?.context.status == (isOfSearch ? 400 : 404), "\(unit): \(String(describing: failure))")
        }
    }
}

@Suite("The whole catalogue", .timeLimit(.minutes(5)))
struct CatalogueWalkTests {
    /// The number of items of every service for every business unit that has it, each with all of its pages.
    private func walk(_ server: LocalCatalogue) async throws -> [String: Int] {
        var settings = Service.Settings()
        settings.retries.limit = 8
        // Without delays, and for the services that count, too.
        settings.retries.immediateTries = 8
        settings.retries.methods = .all
        settings.retryBudget = nil
        let loader = try Loader(settings)
        let catalogue = try Catalogue(server.address(""))
        return try await withThrowingTaskGroup(of: (String, Int).self) { group in
            var counts: [String: Int] = [:]
            var running = 0
            for call in WireCall.today + WireCall.firstGeneration {
                for unit in Catalogue.BusinessUnit.allCases where call.service.isAvailable(for: unit) {
                    // A service by URN has no business unit.
                    guard call.service.needsBusinessUnit || unit == .rts else { continue }
                    if running == 8, let (name, count) = try await group.next() {
                        counts[name] = count
                    } else {
                        running += 1
                    }
                    group.addTask {
                        ("\(call.service.name) \(unit)", try await call.call(loader, catalogue, unit, .all))
                    }
                }
            }
            for try await (name, count) in group { counts[name] = count }
            return counts
        }
    }

    @Test("every page of every service arrives whole, also when the catalogue fails again and again")
    func wholeCatalogue() async throws {
        var options = LocalCatalogue.Options()
        options.medias = 200
        options.shows = 24
        let sound = try LocalCatalogue(options)
        options.faults = [.unavailable: 7, .reset: 11, .truncate: 13]
        let faulty = try LocalCatalogue(options)
        let clock = ContinuousClock()
        let began = clock.now

        let found = try await walk(faulty)
        let elapsed = began.duration(to: clock.now)

        let faults = faulty.counts.faults.values.reduce(0, +)
        print("The catalogue's \(found.count) lists, \(faulty.counts.requests) requests, \(faults) faults: \(elapsed)")
        #expect(try await walk(sound) == found)
        #expect(found.count > 350 && found.values.allSatisfy { $0 > 0 })
        #expect(faulty.counts.faults.keys.count == 3 && faults > 100)
        #expect(faulty.counts.requests == sound.counts.requests + faults)
        #expect(found["tvLatestEpisodes rts"] == 200 && found["tvShows swi"] == 24)
    }
}

extension PageError {
    fileprivate var loading: LoadingError? {
        if case .loading(let error) = cause { error } else { nil }
    }
}
