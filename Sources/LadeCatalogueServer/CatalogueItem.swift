/// The kinds of items in lists.
enum CatalogueKind: String, CaseIterable {
    case video
    case audio
    case clip
    case livestream
    case radioLivestream
    case event
    case tvShow
    case radioShow
    case onlineShow

    /// The prefix of identifiers; those of videos are only numbers.
    var prefix: String {
        switch self {
        case .video: ""
        case .audio: "a"
        case .clip: "c"
        case .livestream: "live"
        case .radioLivestream: "radio"
        case .event: "event"
        case .tvShow: "sh"
        case .radioShow: "rs"
        case .onlineShow: "os"
        }
    }

    /// The number of the first identifier.
    var firstNumber: Int {
        switch self {
        case .video, .audio, .clip: 100_000
        case .livestream, .radioLivestream: 1
        case .event: 100
        case .tvShow, .radioShow, .onlineShow: 1000
        }
    }

    /// The transmission of shows; nil for medias.
    var transmission: String? {
        switch self {
        case .tvShow: "tv"
        case .radioShow: "radio"
        case .onlineShow: "online"
        default: nil
        }
    }

    var isAudio: Bool { self == .audio || self == .radioLivestream }

    /// The word in the URNs of medias.
    var mediaWord: String { isAudio ? "audio" : "video" }

    static let shows: [CatalogueKind] = [.tvShow, .radioShow, .onlineShow]
}

/// An item: its kind, and its position among items of that kind.
struct CatalogueItem: Hashable {
    var kind: CatalogueKind
    var index: Int

    var uid: String { kind.prefix + String(kind.firstNumber + index) }

    func urn(_ unit: String) -> String {
        if let transmission = kind.transmission { return "urn:\(unit):show:\(transmission):\(uid)" }
        return "urn:\(unit):\(kind.mediaWord):\(uid)"
    }

    init(_ kind: CatalogueKind, _ index: Int) {
        self.kind = kind
        self.index = index
    }

    /// Parses an identifier of one of some kinds.
    init?(uid: some StringProtocol, of kinds: [CatalogueKind]) {
        for kind in kinds where uid.hasPrefix(kind.prefix) {
            let digits = uid.dropFirst(kind.prefix.count)
            guard let number = Int(digits), number >= kind.firstNumber, digits == String(number) else { continue }
            self.init(kind, number - kind.firstNumber)
            return
        }
        return nil
    }
}

/// The components of a URN.
struct StockURN {
    /// The subject that the URN identifies.
    enum Subject {
        case item(CatalogueItem)
        case topic(Int)
        case module(Int)
    }

    var unit: String
    var subject: Subject

    /// Parses a URN; nil when it cannot identify anything in the catalogue.
    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0].lowercased() == "urn" else { return nil }
        unit = parts[1].lowercased()
        guard CatalogueServices.allUnits.contains(unit) else { return nil }
        switch (parts[2].lowercased(), parts.count) {
        case ("video", 4), ("audio", 4):
            let kinds = CatalogueKind.allCases.filter { kind in
                kind.transmission == nil && kind.mediaWord == parts[2].lowercased()
            }
            guard let item = CatalogueItem(uid: parts[3], of: kinds) else { return nil }
            subject = .item(item)
        case ("show", 5):
            let kinds = CatalogueKind.shows.filter { $0.transmission == parts[3].lowercased() }
            guard let item = CatalogueItem(uid: parts[4], of: kinds) else { return nil }
            subject = .item(item)
        case ("topic", 5):
            guard let topic = Int(parts[4]), (0..<8).contains(topic) else { return nil }
            subject = .topic(topic)
        case ("module", 5), ("module", 6):
            guard parts[3].lowercased() == "event", let number = Int(parts[4].dropFirst(3)), parts[4].hasPrefix("mod"),
                (1...CatalogueStock.modules).contains(number)
            else { return nil }
            subject = .module(number - 1)
        default: return nil
        }
    }
}
