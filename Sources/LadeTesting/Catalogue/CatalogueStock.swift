#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// Invented shows and medias, made from a seed when they are first asked for (`integration-layer.md` §20.1, §20.4).
final class CatalogueStock: Sendable {
    static let businessUnits = ["srf", "rts", "rsi", "rtr", "swi"]

    private struct Key: Hashable {
        var unit: String
        var isShow: Bool
    }

    private let seed: UInt64
    private let shows: Int
    private let medias: Int
    private let made = Locked<[Key: [Data?]]>([:])

    init(seed: UInt64, shows: Int, medias: Int) {
        self.seed = seed
        self.shows = max(shows, 1)
        self.medias = max(medias, 0)
    }

    func media(_ index: Int, _ unit: String) -> Data {
        item(Key(unit: unit, isShow: false), index, medias) { makeMedia(index, unit) }
    }

    func show(_ index: Int, _ unit: String) -> Data {
        item(Key(unit: unit, isShow: true), index, shows) { makeShow(index, unit) }
    }

    private func item(_ key: Key, _ index: Int, _ count: Int, _ make: () -> Data) -> Data {
        if let known = made.withLock({ $0[key]?[index] }) { return known }
        let new = make()
        made.withLock { $0[key, default: Array(repeating: nil, count: count)][index] = new }
        return new
    }

    // MARK: - Making

    private static let places = [
        "le lac", "la montagne", "la vallée", "la gare", "le vieux port", "la forêt", "le marché", "l'île", "le col",
        "la rivière", "le glacier", "la place", "le jardin", "le phare", "la ruelle", "le moulin",
    ]
    private static let times = [
        "au matin", "à midi", "le soir", "en hiver", "au printemps", "sous la pluie", "un dimanche", "après l'orage",
    ]
    private static let kinds = [
        "Promenade", "Portrait", "Rencontre", "Enquête", "Concert", "Atelier", "Voyage", "Débat",
    ]
    private static let themes = ["Nature", "Histoire", "Musique", "Sport", "Science", "Cuisine", "Cinéma", "Société"]
    private static let colours = ["YELLOW", "GREEN", "RED"]

    private func makeShow(_ index: Int, _ unit: String) -> Data {
        var random = SeededBits(seed ^ 0x5_0000 ^ UInt64(index) &* 0x9E37_79B9)
        let identifier = "sh\(1000 + index)"
        let theme = random.pick(Self.themes)
        let place = random.pick(Self.places)
        return Data(
            """
            {"id":"\(identifier)","urn":"urn:\(unit):show:tv:\(identifier)","vendor":"\(unit.uppercased())",\
            "transmission":"TV","title":"\(theme) \(index + 1)","lead":"Autour de \(place)",\
            "description":"Chaque semaine, \(place) et ses gens.",\
            "homepageUrl":"https://example.org/\(identifier)","primaryChannelId":"chan\(index % 4 + 1)",\
            "imageUrl":"https://img.example.org/\(identifier).jpg",\
            "bannerImageUrl":"https://img.example.org/\(identifier)-banner.jpg",\
            "posterImageIsFallbackUrl":\(random.next(below: 2) == 0),\
            "numberOfEpisodes":\(random.next(below: 400) + 1),\
            "topicList":[{"id":"\(index % 8)","urn":"urn:\(unit):topic:tv:\(index % 8)",\
            "vendor":"\(unit.uppercased())","transmission":"TV","title":"\(theme)"}]}
            """.utf8
        )
    }

    private func makeMedia(_ index: Int, _ unit: String) -> Data {
        var random = SeededBits(seed ^ UInt64(index) &* 0x9E37_79B9_7F4A_7C15)
        let identifier = String(100_000 + index)
        let vendor = unit.uppercased()
        let kind = random.pick(Self.kinds)
        let place = random.pick(Self.places)
        let title = "\(kind) : \(place) \(random.pick(Self.times))"
        let show = random.next(below: shows)
        let day = random.next(below: 28) + 1
        let month = random.next(below: 12) + 1
        let date = "2023-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)"
        let minutes = random.next(below: 85) + 5
        return Data(
            """
            {"id":"\(identifier)","urn":"urn:\(unit):video:\(identifier)","vendor":"\(vendor)","mediaType":"VIDEO",\
            "title":"\(title)","lead":"\(kind) par \(random.pick(Self.places))",\
            "description":"\(minutes) minutes \\u2014 \(place).",\
            "imageUrl":"https://img.example.org/\(identifier).image/16x9","imageTitle":"\(place)",\
            "imageFocalPoint":{"percentageX":\(random.next(below: 101)),"percentageY":\(random.next(below: 101))},\
            "type":"EPISODE","date":"\(date)T19:30:00+02:00","duration":\(minutes * 60_000),\
            "validFrom":"\(date)T20:30:00+02:00","playableAbroad":\(random.next(below: 2) == 0),\
            "presentation":"DEFAULT","youthProtectionColor":"\(random.pick(Self.colours))",\
            "podcastHdUrl":"https://media.example.org/\(identifier)-hd.mp4",\
            "socialCountList":[{"key":"srgView","value":\(random.next(below: 90_000))},\
            {"key":"srgLike","value":\(random.next(below: 900))}],\
            "show":{"id":"sh\(1000 + show)","urn":"urn:\(unit):show:tv:sh\(1000 + show)","vendor":"\(vendor)",\
            "transmission":"TV","title":"\(Self.themes[show % Self.themes.count]) \(show + 1)",\
            "imageUrl":"https://img.example.org/sh\(1000 + show).jpg"}}
            """.utf8
        )
    }
}

/// Numbers that are the same for the same seed, on every platform (splitmix64).
private struct SeededBits {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next(below limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
    }

    mutating func pick(_ words: [String]) -> String { words[next(below: words.count)] }
}
