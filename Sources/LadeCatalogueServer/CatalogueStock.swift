#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// Invented shows and medias, generated from a seed on first use.
final class CatalogueStock: Sendable {
    static let modules = 3

    private struct Key: Hashable {
        var unit: String
        var kind: CatalogueKind
    }

    let seed: UInt64
    private let shows: Int
    private let medias: Int
    private let made = Locked<[Key: [Data?]]>([:])

    init(seed: UInt64, shows: Int, medias: Int) {
        self.seed = seed
        self.shows = max(shows, 1)
        self.medias = max(medias, 0)
    }

    /// The number of items of a kind.
    func count(_ kind: CatalogueKind) -> Int {
        switch kind {
        case .video: medias
        case .audio, .clip: (medias + 9) / 10
        case .livestream, .radioLivestream: 4
        case .event: 24
        case .tvShow: shows
        case .radioShow, .onlineShow: (shows + 3) / 4
        }
    }

    func has(_ item: CatalogueItem) -> Bool { (0..<count(item.kind)).contains(item.index) }

    /// The item as JSON.
    func json(_ item: CatalogueItem, _ unit: String) -> Data {
        let key = Key(unit: unit, kind: item.kind)
        if let known = made.withLock({ $0[key]?[item.index] }) { return known }
        let new = item.kind.transmission == nil ? makeMedia(item, unit) : makeShow(item, unit)
        let count = count(item.kind)
        made.withLock { $0[key, default: Array(repeating: nil, count: count)][item.index] = new }
        return new
    }

    // MARK: - Facts

    /// The properties of a media in all lists.
    struct Facts {
        var kind: String
        var place: String
        var time: String
        var minutes: Int
        var day: CatalogueDay
        var show: CatalogueItem
        var topic: Int
        var bits: SeededBits

        var title: String { "\(kind) : \(place) \(time)" }
    }

    /// The show of a media; neighbouring medias belong to different shows.
    func show(of item: CatalogueItem) -> CatalogueItem {
        let kind: CatalogueKind = item.kind.isAudio ? .radioShow : .tvShow
        return CatalogueItem(kind, item.index % count(kind))
    }

    /// The number of videos or audios per day.
    func perDay(_ kind: CatalogueKind) -> Int { max(1, count(kind) / 365) }

    func facts(_ item: CatalogueItem) -> Facts {
        let salt = UInt64(CatalogueKind.allCases.firstIndex(of: item.kind) ?? 0)
        var bits = SeededBits(seed ^ (salt << 48) ^ UInt64(item.index) &* 0x9E37_79B9_7F4A_7C15)
        return Facts(
            kind: bits.pick(StockWords.kinds),
            place: bits.pick(StockWords.places),
            time: bits.pick(StockWords.times),
            minutes: bits.next(below: 85) + 5,
            day: CatalogueDay(number: CatalogueDay.newest.number - item.index / perDay(item.kind) % 3650),
            show: show(of: item),
            topic: item.index % 8,
            bits: bits
        )
    }

    func showTitle(_ show: CatalogueItem) -> String {
        "\(StockWords.themes[show.index % StockWords.themes.count]) \(show.index + 1)"
    }

    // MARK: - Making

    private func makeShow(_ item: CatalogueItem, _ unit: String) -> Data {
        var random = SeededBits(seed ^ 0x5_0000 ^ UInt64(item.index) &* 0x9E37_79B9)
        let uid = item.uid
        let vendor = unit.uppercased()
        let transmission = item.kind.transmission ?? "tv"
        let theme = StockWords.themes[item.index % StockWords.themes.count]
        let place = random.pick(StockWords.places)
        let channel = item.kind == .radioShow ? "radio" : "chan"
        return Data(
            """
            {"id":"\(uid)","urn":"\(item.urn(unit))","vendor":"\(vendor)",\
            "transmission":"\(transmission.uppercased())","title":"\(showTitle(item))","lead":"Autour de \(place)",\
            "description":"Chaque semaine, \(place) et ses gens.",\
            "homepageUrl":"https://example.org/\(uid)","primaryChannelId":"\(channel)\(item.index % 4 + 1)",\
            "imageUrl":"https://img.example.org/\(uid).jpg",\
            "bannerImageUrl":"https://img.example.org/\(uid)-banner.jpg",\
            "posterImageUrl":"https://img.example.org/\(uid)-poster.jpg",\
            "podcastImageUrl":"https://img.example.org/\(uid)-podcast.jpg",\
            "posterImageIsFallbackUrl":\(random.next(below: 2) == 0),\
            "numberOfEpisodes":\(random.next(below: 400) + 1),\
            "topicList":[\(topic(item.index % 8, unit, transmission, theme))]}
            """.utf8
        )
    }

    /// A topic without its subtopics.
    func topic(_ index: Int, _ unit: String, _ transmission: String, _ title: String) -> String {
        """
        {"id":"\(index)","urn":"urn:\(unit):topic:\(transmission):\(index)","vendor":"\(unit.uppercased())",\
        "transmission":"\(transmission.uppercased())","title":"\(title)",\
        "imageUrl":"https://img.example.org/t\(index).jpg"}
        """
    }

    private func makeMedia(_ item: CatalogueItem, _ unit: String) -> Data {
        Data("{\(mediaMembers(item, unit)),\(showMember(item, unit))}".utf8)
    }

    /// The show of a media, as a member of an object.
    func showMember(_ item: CatalogueItem, _ unit: String) -> String {
        let show = show(of: item)
        return """
            "show":{"id":"\(show.uid)","urn":"\(show.urn(unit))","vendor":"\(unit.uppercased())",\
            "transmission":"\((show.kind.transmission ?? "tv").uppercased())","title":"\(showTitle(show))",\
            "imageUrl":"https://img.example.org/\(show.uid).jpg"}
            """
    }

    /// The members that medias and chapters have in common.
    func mediaMembers(_ item: CatalogueItem, _ unit: String) -> String {
        let facts = facts(item)
        var random = facts.bits
        let uid = item.uid
        let (type, duration) =
            switch item.kind {
            case .clip: ("CLIP", facts.minutes * 6000)
            case .livestream, .radioLivestream: ("LIVESTREAM", 0)
            case .event: ("SCHEDULED_LIVESTREAM", facts.minutes * 60_000)
            default: ("EPISODE", facts.minutes * 60_000)
            }
        let channel = item.kind.isAudio ? #","channel":\#(channel(item.index % 4, unit, "radio"))"# : ""
        return """
            "id":"\(uid)","urn":"\(item.urn(unit))","vendor":"\(unit.uppercased())",\
            "mediaType":"\(item.kind.mediaWord.uppercased())",\
            "title":"\(facts.title)","lead":"\(facts.kind) par \(random.pick(StockWords.places))",\
            "description":"\(facts.minutes) minutes \\u2014 \(facts.place).",\
            "imageUrl":"https://img.example.org/\(uid).image/16x9","imageTitle":"\(facts.place)",\
            "imageFocalPoint":{"percentageX":\(random.next(below: 101)),"percentageY":\(random.next(below: 101))},\
            "type":"\(type)","date":"\(facts.day.at(19, 30))","duration":\(duration),\
            "validFrom":"\(facts.day.at(20, 30))","playableAbroad":\(random.next(below: 2) == 0),\
            "presentation":"DEFAULT","youthProtectionColor":"\(random.pick(StockWords.colours))",\
            "podcastHdUrl":"https://media.example.org/\(uid)-hd.mp4",\
            "socialCountList":[{"key":"srgView","value":\(random.next(below: 90_000))},\
            {"key":"srgLike","value":\(random.next(below: 900))}]\(channel)
            """
    }

    /// A channel without its programs.
    func channel(_ index: Int, _ unit: String, _ transmission: String, more: String = "") -> String {
        let uid = "\(transmission == "radio" ? "radio" : "chan")\(index + 1)"
        return """
            {"id":"\(uid)","urn":"urn:\(unit):channel:\(transmission):\(uid)","vendor":"\(unit.uppercased())",\
            "transmission":"\(transmission.uppercased())",\
            "title":"\(transmission == "radio" ? "Onde" : "Canal") \(index + 1)",\
            "imageUrl":"https://img.example.org/\(uid).png","imageUrlRaw":"https://img.example.org/\(uid).svg",\
            "timeTableUrl":"https://example.org/\(uid)/timetable"\(more)}
            """
    }
}
