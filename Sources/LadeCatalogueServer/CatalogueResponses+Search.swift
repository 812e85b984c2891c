#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting

extension CatalogueResponses {
    /// The query items for the settings of a search.
    private static let settings: Set<Substring> = [
        "includeAggregations", "includeSuggestions", "operator", "enableFuzzySearch", "showUrns", "topicUrns",
        "mediaType",
        "subtitlesAvailable", "downloadAvailable", "playableAbroad", "quality", "durationFromInMinutes",
        "durationToInMinutes", "publishedDateFrom", "publishedDateTo", "sortBy", "sortDir",
    ]

    func search(_ asked: CatalogueAsked) throws(CatalogueRefusal) -> ServerResponse {
        let names = (asked.request.query ?? "").split(separator: "&").compactMap { $0.split(separator: "=").first }
        if asked.unit == "swi", names.contains(where: Self.settings.contains) {
            throw .badRequest("This business unit searches by words alone, without settings.")
        }
        let matching = CatalogueSearch.Matching(
            isAny: asked["operator"] == "or",
            isWhole: asked["enableFuzzySearch"] == "false" || asked.unit == "swi"
        )
        let filter = try SearchFilter(asked, self)
        var found = search.medias(asked["q"] ?? "", matching)
        if !filter.isEmpty { found = found.filter { filter.accepts($0, stock) } }
        if asked["sortBy"] == "date" {
            found = found.map { ($0, stock.facts($0).day) }.sorted { $0.1 > $1.1 }.map(\.0)
            if asked["sortDir"] == "asc" { found.reverse() }
        }
        var lead = "\"total\":\(found.count),"
        if asked["includeAggregations"] != "false" { lead += "\"aggregations\":\(aggregations(found, asked.unit))," }
        if asked["includeSuggestions"] == "true", let query = asked["q"] {
            let words = StockWords.kinds.filter { $0.lowercased().hasPrefix(query.lowercased()) }
            let list = words.map { #"{"text":"\#($0.lowercased())","exactMatchTotal":\#(found.count)}"# }
            lead += "\"suggestionList\":[\(list.joined(separator: ","))],"
        }
        return try page("searchResultMediaList", found.count, asked, lead: lead) {
            let item = found[$0]
            return Data(#"{"urn":"\#(item.urn(asked.unit))","title":"\#(self.stock.facts(item).title)"}"#.utf8)
        }
    }

    func searchShows(
        _ asked: CatalogueAsked,
        _ kinds: [CatalogueKind],
        _ root: String
    ) throws(CatalogueRefusal) -> ServerResponse {
        guard let query = asked["q"] else { throw .badRequest("q is missing.") }
        var wanted = kinds
        switch asked["mediaType"] {
        case nil: break
        case "video": wanted = kinds.filter { $0 != .radioShow }
        case "audio": wanted = kinds.filter { $0 == .radioShow }
        default: throw .badRequest("mediaType is video or audio.")
        }
        let found = search.shows(query, wanted, isWhole: asked.unit == "swi")
        return try page(root, found.count, asked, lead: "\"total\":\(found.count),") {
            let show = found[$0]
            guard root == "searchResultShowList" else { return self.stock.json(show, asked.unit) }
            return Data(#"{"urn":"\#(show.urn(asked.unit))","title":"\#(self.stock.showTitle(show))"}"#.utf8)
        }
    }

    /// The search of the first generation, whose results are complete.
    func earlierSearch(_ asked: CatalogueAsked, _ kind: CatalogueKind) throws(CatalogueRefusal) -> ServerResponse {
        guard let query = asked["q"] else { throw .badRequest("q is missing.") }
        let matching = CatalogueSearch.Matching(isAny: false, isWhole: asked.unit == "swi")
        let found = search.medias(query, matching).filter { $0.kind == kind }
        return try page("searchResultListMedia", found.count, asked, lead: "\"total\":\(found.count),") {
            self.stock.json(found[$0], asked.unit)
        }
    }

    private func aggregations(_ found: [CatalogueItem], _ unit: String) -> String {
        var (videos, long) = (0, 0)
        var (shows, topics): ([CatalogueItem: Int], [Int: Int]) = ([:], [:])
        var dates: [CatalogueDay: Int] = [:]
        for item in found {
            let facts = stock.facts(item)
            videos += item.kind == .video ? 1 : 0
            long += facts.minutes >= 30 ? 1 : 0
            shows[facts.show, default: 0] += 1
            topics[facts.topic, default: 0] += 1
            dates[facts.day, default: 0] += 1
        }
        func flags(_ name: String, _ count: Int) -> String {
            #"[{"\#(name)":true,"count":\#(count)},{"\#(name)":false,"count":\#(found.count - count)}]"#
        }
        let showList = shows.sorted { ($1.value, $0.key.uid) < ($0.value, $1.key.uid) }.prefix(10).map { show, count in
            #"{"urn":"\#(show.urn(unit))","title":"\#(stock.showTitle(show))","count":\#(count)}"#
        }
        let topicList = topics.sorted { $0.key < $1.key }.map { topic, count in
            let title = StockWords.themes[topic]
            return #"{"urn":"urn:\#(unit):topic:tv:\#(topic)","title":"\#(title)","count":\#(count)}"#
        }
        let dateList = dates.sorted { $0.key > $1.key }.prefix(10).map { #"{"date":"\#($0.text)","count":\#($1)}"# }
        let half = (found.count + 1) / 2
        return """
            {"mediaTypeList":[{"mediaType":"VIDEO","count":\(videos)},\
            {"mediaType":"AUDIO","count":\(found.count - videos)}],\
            "subtitleAvailableList":\(flags("subtitlesAvailable", videos)),\
            "downloadAvailableList":\(flags("downloadAvailable", half)),\
            "playableAbroadList":\(flags("playableAbroad", half)),\
            "qualityList":[{"quality":"HD","count":\(half)},{"quality":"SD","count":\(found.count - half)}],\
            "showList":[\(showList.joined(separator: ","))],"topicList":[\(topicList.joined(separator: ","))],\
            "durationListInMinutes":[{"duration":5,"count":\(found.count - long)},{"duration":30,"count":\(long)}],\
            "dateList":[\(dateList.joined(separator: ","))]}
            """
    }
}

/// The filters of a search.
private struct SearchFilter {
    private var shows: Set<CatalogueItem>?
    private var topics: Set<Int>?
    private var kind: CatalogueKind?
    private var step = 1
    private var minutes = 0.0...Double.infinity
    private var days = CatalogueDay(number: .min)...CatalogueDay(number: .max)

    init(_ asked: CatalogueAsked, _ responses: CatalogueResponses) throws(CatalogueRefusal) {
        if asked["showUrns"] != nil {
            shows = Set(
                asked.list("showUrns").compactMap { text -> CatalogueItem? in
                    if case .item(let show) = StockURN(text)?.subject { show } else { nil }
                }
            )
        }
        if asked["topicUrns"] != nil {
            topics = Set(
                asked.list("topicUrns").compactMap { text -> Int? in
                    if case .topic(let topic) = StockURN(text)?.subject { topic } else { nil }
                }
            )
        }
        switch asked["mediaType"] {
        case nil: break
        case "video": kind = .video
        case "audio": kind = .audio
        default: throw .badRequest("mediaType is video or audio.")
        }
        if asked["subtitlesAvailable"] == "true" { kind = .video }
        // Every second media can be downloaded, can be played abroad, or has a high quality.
        for name in ["downloadAvailable", "playableAbroad"] where asked[name] == "true" { step = 2 }
        if asked["quality"] == "hd" { step = 2 }
        let shortest = try Self.number(asked["durationFromInMinutes"]) ?? 0
        let longest = try Self.number(asked["durationToInMinutes"]) ?? .infinity
        guard shortest <= longest else { throw .badRequest("The longest duration is below the shortest.") }
        minutes = shortest...longest
        let first = try asked["publishedDateFrom"].map { text throws(CatalogueRefusal) in try responses.day(text) }
        let last = try asked["publishedDateTo"].map { text throws(CatalogueRefusal) in try responses.day(text) }
        let (lower, upper) = (first ?? days.lowerBound, last ?? days.upperBound)
        guard lower <= upper else { throw .badRequest("The last day is before the first.") }
        days = lower...upper
    }

    var isEmpty: Bool {
        shows == nil && topics == nil && kind == nil && step == 1 && minutes == 0...Double.infinity
            && days == CatalogueDay(number: .min)...CatalogueDay(number: .max)
    }

    func accepts(_ item: CatalogueItem, _ stock: CatalogueStock) -> Bool {
        let facts = stock.facts(item)
        if let kind, kind != item.kind { return false }
        if let shows, !shows.contains(facts.show) { return false }
        if let topics, !topics.contains(facts.topic) { return false }
        return item.index % step == 0 && minutes.contains(Double(facts.minutes)) && days.contains(facts.day)
    }

    private static func number(_ text: String?) throws(CatalogueRefusal) -> Double? {
        guard let text else { return nil }
        guard let number = Double(text), number >= 0 else { throw .badRequest("A duration is a number of minutes.") }
        return number
    }
}
