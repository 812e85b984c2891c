import LadeCore
import LadeTesting

/// The reason for refusing a request.
struct CatalogueRefusal: Error {
    var status: Int
    var message: String

    static func notFound(_ message: String) -> CatalogueRefusal { CatalogueRefusal(status: 404, message: message) }
    static func badRequest(_ message: String) -> CatalogueRefusal { CatalogueRefusal(status: 400, message: message) }
}

/// The components of a request for a service.
struct CatalogueAsked {
    let request: ServerRequest
    /// The business unit in the path; empty for a service without one.
    let unit: String
    /// The decoded values of the path's placeholders, in order.
    let values: [String]

    subscript(_ item: String) -> String? { request.queryItem(item) }

    /// The elements of a query item with a list; empty for an empty one.
    func list(_ item: String) -> [String] {
        (self[item] ?? "").split(separator: ",").map(String.init)
    }
}

/// The services of the catalogue, with their paths, business units and responses.
enum CatalogueServices {
    static let allUnits: Set<String> = ["srf", "rts", "rsi", "rtr", "swi", "ssatr"]
    private static let national: Set<String> = ["srf", "rts", "rsi", "rtr"]
    private static let international: Set<String> = ["srf", "rts", "rsi", "rtr", "swi"]

    /// One service.
    struct Row: Sendable {
        typealias Respond = @Sendable (CatalogueResponses, CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse

        /// The components of the path; `*` stands for any component, and `**` at the end for all that follow.
        let path: [Substring]
        /// The business units that offer the service; nil for a path without one.
        let units: Set<String>?
        /// The business units that offered it in the first generation of services, whose paths end in `.json`.
        let earlierUnits: Set<String>?
        /// Whether the service exists only in the first generation.
        let isFirstGeneration: Bool
        let method: String
        let respond: Respond

        init(
            _ path: String,
            _ units: Set<String>?,
            before earlierUnits: Set<String>? = nil,
            isFirstGeneration: Bool = false,
            method: String = "GET",
            _ respond: @escaping Respond
        ) {
            self.path = path.split(separator: "/")
            self.units = units
            self.earlierUnits = earlierUnits
            self.isFirstGeneration = isFirstGeneration
            self.method = method
            self.respond = respond
        }

        func values(_ components: ArraySlice<Substring>) -> [String]? {
            let isOpen = path.last == "**"
            guard isOpen ? components.count >= path.count : components.count == path.count else { return nil }
            var values: [String] = []
            for (part, component) in zip(path, components) {
                switch part {
                case "*", "**": values.append(String(decoding: String(component).percentDecodedBytes, as: UTF8.self))
                default: if part != component { return nil }
                }
            }
            return values
        }
    }

    /// The row for a path below `integrationlayer/`, with the values of its placeholders.
    ///
    /// - Throws: A refusal that names the unknown part of the path.
    static func find(
        _ path: ArraySlice<Substring>,
        _ request: ServerRequest
    ) throws(CatalogueRefusal) -> (Row, CatalogueAsked) {
        var components = path
        guard let version = components.popFirst(), version == "2.0" || version == "2.1", let first = components.first
        else { throw .notFound("There is no such version of the services.") }
        var isFirstGeneration = false
        if let last = components.last, last.hasSuffix(".json") {
            isFirstGeneration = true
            components[components.endIndex - 1] = last.dropLast(5)
        }
        let unit = allUnits.contains(String(first)) ? String(first) : ""
        if !unit.isEmpty { components.removeFirst() }
        guard let resource = components.first else { throw .notFound("There is no such service.") }
        for row in byResource[resource] ?? [] {
            guard (row.units == nil) == unit.isEmpty, isFirstGeneration || !row.isFirstGeneration else { continue }
            guard let values = row.values(components) else { continue }
            // The current services have another version of compositions.
            guard (version == "2.1") == (row.path[0] == "mediaComposition" && !isFirstGeneration && row.units == nil)
            else {
                continue
            }
            let units = isFirstGeneration ? row.earlierUnits ?? row.units : row.units
            guard units?.contains(unit) ?? true else {
                throw .notFound("The service \(row.path.joined(separator: "/")) is not available for \(unit).")
            }
            return (row, CatalogueAsked(request: request, unit: unit, values: values))
        }
        throw .notFound("There is no such service.")
    }

    private static let byResource = Dictionary(grouping: rows) { $0.path[0] }

    /// A row for each service.
    static let rows: [Row] = today + firstGeneration

    private static let today: [Row] = [
        // Television: channels, livestreams and programs.
        Row("channelList/tv", national) { responses, asked in responses.channels(asked, "tv") },
        Row("channel/*/tv/nowAndNext", national) { responses, asked throws(CatalogueRefusal) in
            try responses.channel(asked, "tv")
        },
        Row("programListComposition/tv/byChannel/*", national) { responses, asked throws(CatalogueRefusal) in
            try responses.programs(asked, "tv")
        },
        Row("programGuide/tv/byDate/*", national) { responses, asked throws(CatalogueRefusal) in
            try responses.guide(asked, isThirdParty: false)
        },
        Row("programGuideNonSrg/tv/byDate/*", ["srf", "rtr"]) { responses, asked throws(CatalogueRefusal) in
            try responses.guide(asked, isThirdParty: true)
        },
        Row("mediaList/video/livestreams", national) { responses, asked in responses.whole(.all(.livestream), asked) },
        Row("mediaList/video/scheduledLivestreams", national) { responses, asked throws(CatalogueRefusal) in
            try responses.events(asked)
        },
        // Television: medias, topics and shows.
        Row("mediaList/video/editorial", international, medias(.all(.video))),
        Row("mediaList/video/heroStage", []) { responses, asked in responses.whole(.first(10, .video), asked) },
        Row("mediaList/video/latestEpisodes", international, medias(.all(.video))),
        Row("mediaList/video/mostClicked", international) { responses, asked throws(CatalogueRefusal) in
            guard let topic = asked["topicId"] else { return try responses.page(.popular(.video), asked) }
            return try responses.page(responses.topic(topic), asked)
        },
        Row("mediaList/video/soonExpiring", ["srf", "rts", "rsi"], before: ["srf", "rsi"], medias(.popular(.video))),
        Row("mediaList/video/trending", international) { responses, asked throws(CatalogueRefusal) in
            try responses.trending(asked)
        },
        Row("mediaList/video/latestEpisodes/webFirst", ["rts"], medias(.first(200, .video))),
        Row("mediaList/video/episodesByDate/*", national) { responses, asked throws(CatalogueRefusal) in
            try responses.page(responses.published(asked.values[0], .video), asked)
        },
        Row("topicList/tv", international) { responses, asked in responses.topics(asked, "tv") },
        Row("showList/tv/alphabetical", international, allShows(.tvShow)),
        Row("searchResultShowList/tv", international, showSearch([.tvShow])),
        Row("showList/tv/byTopic/*/mostClicked", national) { responses, asked throws(CatalogueRefusal) in
            try responses.shows(responses.shows(ofTopic: asked.values[0]), asked)
        },
        // Radio.
        Row("channelList/radio", national) { responses, asked in responses.channels(asked, "radio") },
        Row("channel/*/radio/nowAndNext", national) { responses, asked throws(CatalogueRefusal) in
            try responses.channel(asked, "radio")
        },
        Row("programListComposition/radio/byChannel/*", national) { responses, asked throws(CatalogueRefusal) in
            try responses.programs(asked, "radio")
        },
        Row("mediaList/audio/livestreamsByChannel/*", national) { responses, asked throws(CatalogueRefusal) in
            let channel = try responses.channelIndex(asked.values[0], "radio")
            return responses.whole(.only([CatalogueItem(.radioLivestream, channel)]), asked)
        },
        Row("mediaList/audio/livestreams", national) { responses, asked in
            responses.whole(asked["onlyThirdPartyContentProvider"] == nil ? .all(.radioLivestream) : .only([]), asked)
        },
        Row("mediaList/audio/latestByChannel/*", national, ofChannel(.audio)),
        Row("mediaList/audio/mostClickedByChannel/*", national, ofChannel(.audio)),
        Row("mediaList/audio/latestEpisodesByChannel/*", national, before: ["srf", "rts", "rtr"], ofChannel(.audio)),
        Row("mediaList/audio/episodesByDateAndChannel/*/*", national) { responses, asked throws(CatalogueRefusal) in
            _ = try responses.channelIndex(asked.values[1], "radio")
            return try responses.page(responses.published(asked.values[0], .audio), asked)
        },
        Row("mediaList/video/latestByChannel/*", ["rts"], ofChannel(.clip)),
        Row("topicList/radio", international) { responses, asked in responses.topics(asked, "radio") },
        Row("showList/radio/alphabeticalByChannel/*", national) { responses, asked throws(CatalogueRefusal) in
            let channel = try responses.channelIndex(asked.values[0], "radio")
            return try responses.shows(responses.stock.list(.radioShow, channel, every: 4), asked, isUnlimited: true)
        },
        Row("showList/radio/alphabetical", national, allShows(.radioShow)),
        Row("searchResultShowList/radio", national, showSearch([.radioShow])),
        Row("songList/radio/byChannel/*", national) { responses, asked throws(CatalogueRefusal) in
            try responses.songs(asked)
        },
        // Live centre and search.
        Row("mediaList/video/scheduledLivestreams/livecenter", national) { responses, asked throws(CatalogueRefusal) in
            try responses.liveCenter(asked)
        },
        Row("searchResultMediaList", international) { responses, asked throws(CatalogueRefusal) in
            try responses.search(asked)
        },
        Row("searchResultShowList", international, showSearch(CatalogueKind.shows)),
        Row("showList/tv/mostClickedSearchResults", [], allShows(.tvShow)),
        Row("showList/radio/mostClickedSearchResults", [], allShows(.radioShow)),
        Row("showList/mostClickedSearchResults", [], allShows(.tvShow)),
        Row("mediaList/video/latestByTags", national, tagged(.video)),
        Row("mediaList/video/latestByTags/excludeFullLength", ["srf", "rts", "rsi"], tagged(.clip)),
        // Recommendations, modules, popularity.
        Row("mediaList/recommended/byUrn/*", nil, recommended),
        Row("mediaList/recommendedByUserId/byUrn/*/*", nil, recommended),
        Row("moduleConfigList/*", ["swi"], before: international) { responses, asked throws(CatalogueRefusal) in
            try responses.modules(asked)
        },
        Row("mediaStatistic/byUrn/*/**", nil, method: "POST") { responses, asked throws(CatalogueRefusal) in
            try responses.count(asked)
        },
        Row("showStatistic/byUrn/*/searchResultClicked", nil, method: "POST") {
            responses,
            asked throws(CatalogueRefusal) in
            try responses.countShow(asked)
        },
        // Editorial pages.
        Row("page/landingPage/byProduct/*", allUnits) { responses, asked throws(CatalogueRefusal) in
            try responses.landingPage(asked)
        },
        Row("page/byTopicUrn/*", allUnits) { responses, asked throws(CatalogueRefusal) in try responses.topicPage(asked)
        },
        Row("page/*/showPage/*", allUnits) { responses, asked throws(CatalogueRefusal) in try responses.showPage(asked)
        },
        Row("page/*", allUnits) { responses, asked throws(CatalogueRefusal) in try responses.contentPage(asked) },
        Row("section/mediaSection/*", allUnits) { responses, asked throws(CatalogueRefusal) in
            try responses.sectionContent(asked, .medias)
        },
        Row("section/showSection/*", allUnits) { responses, asked throws(CatalogueRefusal) in
            try responses.sectionContent(asked, .shows)
        },
        Row("section/mediaSectionWithShow/*", allUnits) { responses, asked throws(CatalogueRefusal) in
            try responses.sectionContent(asked, .showAndMedias)
        },
        Row("section/*", allUnits) { responses, asked throws(CatalogueRefusal) in try responses.section(asked) },
        // By URN.
        Row("media/byUrn/*", nil) { responses, asked throws(CatalogueRefusal) in try responses.media(asked) },
        Row("mediaList/byUrns", nil) { responses, asked throws(CatalogueRefusal) in try responses.medias(asked) },
        Row("mediaList/latest/byTopicUrn/*", nil, ofTopicURN),
        Row("mediaList/mostClicked/byTopicUrn/*", nil, ofTopicURN),
        Row("mediaComposition/byUrn/*", nil) { responses, asked throws(CatalogueRefusal) in
            try responses.composition(asked)
        },
        Row("show/byUrn/*", nil) { responses, asked throws(CatalogueRefusal) in try responses.show(asked) },
        Row("showList/byUrns", nil) { responses, asked throws(CatalogueRefusal) in try responses.showsByURNs(asked) },
        Row("episodeComposition/latestByShow/byUrn/*", nil) { responses, asked throws(CatalogueRefusal) in
            let (unit, show) = try responses.showOf(asked.values[0])
            return try responses.episodes(of: show, unit, asked)
        },
        Row("mediaList/latest/byShowUrn/*", nil) { responses, asked throws(CatalogueRefusal) in
            let (unit, show) = try responses.showOf(asked.values[0])
            return try responses.page(responses.medias(of: show), asked, unit: unit)
        },
        Row("mediaList/latest/byShowUrns", nil) { responses, asked throws(CatalogueRefusal) in
            try responses.mediasOfShows(asked)
        },
        Row("mediaList/latestByModuleConfigUrn/*", nil) { responses, asked throws(CatalogueRefusal) in
            guard let urn = StockURN(asked.values[0]), case .module = urn.subject else {
                throw .badRequest("That is the URN of no module.")
            }
            return try responses.page(.first(60, .clip), asked, unit: urn.unit)
        },
    ]

    private static let firstGeneration: [Row] = [
        Row("mediaList/video/latestByTopic/*", international, isFirstGeneration: true) {
            responses,
            asked throws(CatalogueRefusal) in
            try responses.page(responses.topic(asked.values[0]), asked)
        },
        Row("showList/tv/byIds", international, isFirstGeneration: true, byIds([.tvShow], "showList")),
        Row("show/tv/*", international, isFirstGeneration: true, byId(.tvShow)),
        Row("episodeComposition/latestByShow/tv/*", international, isFirstGeneration: true, episodes(.tvShow)),
        Row("showList/radio/byIds", national, isFirstGeneration: true, byIds([.radioShow], "showList")),
        Row("show/radio/*", national, isFirstGeneration: true, byId(.radioShow)),
        Row("episodeComposition/latestByShow/radio/*", national, isFirstGeneration: true, episodes(.radioShow)),
        Row("showList/online/alphabetical/all", ["srf", "rtr"], isFirstGeneration: true, allShows(.onlineShow)),
        Row("showList/online/byIds", online, isFirstGeneration: true, byIds([.onlineShow], "showList")),
        Row("show/online/*", online, isFirstGeneration: true, byId(.onlineShow)),
        Row("episodeComposition/latestByShow/online/*", online, isFirstGeneration: true, episodes(.onlineShow)),
        Row("mediaList/video/byIds", international, isFirstGeneration: true, byIds(videos, "mediaList")),
        Row("mediaComposition/video/*", international, isFirstGeneration: true, composition(videos)),
        Row("searchResultListMedia/video", international, isFirstGeneration: true) {
            responses,
            asked throws(CatalogueRefusal) in
            try responses.earlierSearch(asked, .video)
        },
        Row("mediaList/audio/byIds", national, isFirstGeneration: true, byIds(audios, "mediaList")),
        Row("mediaComposition/audio/*", national, isFirstGeneration: true, composition(audios)),
        Row("searchResultListMedia/audio", national, isFirstGeneration: true) {
            responses,
            asked throws(CatalogueRefusal) in
            try responses.earlierSearch(asked, .audio)
        },
        Row(
            "searchResultListShow/tv",
            international,
            isFirstGeneration: true,
            showSearch([.tvShow], "searchResultListShow")
        ),
        Row(
            "searchResultListShow/radio",
            national,
            isFirstGeneration: true,
            showSearch([.radioShow], "searchResultListShow")
        ),
        Row("mediaList/latestByModule/*/*", international, isFirstGeneration: true, medias(.first(60, .clip))),
        Row(
            "mediaList/latestByModuleAndSection/*/*/*",
            international,
            isFirstGeneration: true,
            medias(.first(20, .clip))
        ),
        Row("mediaStatistic/video/*/**", international, isFirstGeneration: true, method: "POST") {
            responses,
            asked throws(CatalogueRefusal) in
            try responses.count(asked, videos)
        },
        Row("mediaStatistic/audio/*/**", international, isFirstGeneration: true, method: "POST") {
            responses,
            asked throws(CatalogueRefusal) in
            try responses.count(asked, audios)
        },
        Row("general/information", international, isFirstGeneration: true) { responses, asked in
            responses.serviceMessage(asked)
        },
        Row("eventConfigList", international, isFirstGeneration: true) { responses, asked in
            responses.modules(asked, "eventConfigList")
        },
        Row("mediaList/video/recommended/*", international, isFirstGeneration: true, recommendedVideos),
        Row("mediaList/video/recommendedByUserId/*/*", international, isFirstGeneration: true, recommendedVideos),
        Row("mediaList/audio/latest", national, isFirstGeneration: true, medias(.all(.audio))),
        Row("mediaList/audio/mostClicked", national, isFirstGeneration: true, medias(.popular(.audio))),
    ]

    private static let online: Set<String> = ["srf", "rsi", "rtr", "swi"]
    private static let videos: [CatalogueKind] = [.livestream, .event, .clip, .video]
    private static let audios: [CatalogueKind] = [.radioLivestream, .audio]

    // MARK: - Responses that several services give

    private static func medias(_ list: CatalogueList) -> Row.Respond {
        { responses, asked throws(CatalogueRefusal) in try responses.page(list, asked) }
    }

    private static func ofChannel(_ kind: CatalogueKind) -> Row.Respond {
        { responses, asked throws(CatalogueRefusal) in
            let channel = try responses.channelIndex(asked.values[0], "radio")
            return try responses.page(responses.stock.list(kind, channel, every: 4), asked)
        }
    }

    private static let ofTopicURN: Row.Respond = { responses, asked throws(CatalogueRefusal) in
        // An unknown topic has no medias, which is not an error.
        guard let urn = StockURN(asked.values[0]), case .topic(let topic) = urn.subject else {
            return try responses.page(.only([]), asked)
        }
        return try responses.page(responses.stock.list(.video, topic, every: 8), asked, unit: urn.unit)
    }

    private static func tagged(_ kind: CatalogueKind) -> Row.Respond {
        { responses, asked throws(CatalogueRefusal) in try responses.tagged(kind, asked) }
    }

    private static let recommended: Row.Respond = { responses, asked throws(CatalogueRefusal) in
        let (unit, item) = try responses.mediaOf(asked.values[0])
        return try responses.page(
            .first(item.kind.isAudio ? 30 : 50, item.kind.isAudio ? .audio : .video),
            asked,
            unit: unit
        )
    }

    private static let recommendedVideos: Row.Respond = { responses, asked throws(CatalogueRefusal) in
        _ = try responses.item(asked.values[0], videos)
        return try responses.page(.first(50, .video), asked)
    }

    private static func allShows(_ kind: CatalogueKind) -> Row.Respond {
        { responses, asked throws(CatalogueRefusal) in
            try responses.shows(.all(kind), asked, isUnlimited: kind != .onlineShow)
        }
    }

    private static func showSearch(_ kinds: [CatalogueKind], _ root: String = "searchResultShowList") -> Row.Respond {
        { responses, asked throws(CatalogueRefusal) in try responses.searchShows(asked, kinds, root) }
    }

    private static func byIds(_ kinds: [CatalogueKind], _ root: String) -> Row.Respond {
        { responses, asked throws(CatalogueRefusal) in try responses.byIds(asked, kinds, root) }
    }

    private static func byId(_ kind: CatalogueKind) -> Row.Respond {
        { responses, asked throws(CatalogueRefusal) in
            .item(responses.stock.json(try responses.item(asked.values[0], [kind]), asked.unit))
        }
    }

    private static func episodes(_ kind: CatalogueKind) -> Row.Respond {
        { responses, asked throws(CatalogueRefusal) in
            try responses.episodes(of: responses.item(asked.values[0], [kind]), asked.unit, asked)
        }
    }

    private static func composition(_ kinds: [CatalogueKind]) -> Row.Respond {
        { responses, asked throws(CatalogueRefusal) in
            let item = try responses.item(asked.values[0], kinds)
            return responses.composition(of: item, nil, asked.unit, onlyChapters: asked["onlyChapters"] == "true")
        }
    }
}
