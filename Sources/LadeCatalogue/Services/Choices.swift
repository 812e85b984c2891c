/// Whose radio livestreams are wanted.
public enum ContentProviders: Sendable, Hashable, CaseIterable {
    /// Those of the broadcaster.
    case `default`
    /// Those of others, too.
    case all
    /// Those of Swiss Satellite Radio alone.
    case swissSatelliteRadio

    var items: [String: String] {
        switch self {
        case .default: [:]
        case .all: ["includeThirdPartyStreams": "true"]
        case .swissSatelliteRadio: ["onlyThirdPartyContentProvider": BusinessUnit.ssatr.rawValue]
        }
    }
}

/// Which videos of the live centre are wanted.
public enum ContentTypeFilter: String, Sendable, Hashable, CaseIterable {
    /// All.
    case none = ""
    /// Scheduled livestreams.
    case scheduledLivestream = "scheduled_livestream"
    /// Episodes.
    case episode

    var item: String? { self == .none ? nil : rawValue }
}

/// Which medias of some shows are wanted.
public enum MediaFilter: Sendable, Hashable, CaseIterable {
    /// All.
    case none
    /// Episodes.
    case episodesOnly
    /// All but episodes.
    case episodesExcluded

    var item: String? {
        switch self {
        case .none: nil
        case .episodesOnly: "episode"
        case .episodesExcluded: "clip,segment"
        }
    }
}

/// Which scheduled livestreams are wanted.
public enum ScheduledLivestreamEventType: String, Sendable, Hashable, CaseIterable {
    /// All.
    case all
    /// News.
    case news
    /// Sport.
    case sport

    var item: String? { self == .all ? nil : rawValue }
}

/// An application that editors put pages together for.
public struct Product: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name, as addresses have it.
    public let name: String

    /// Makes a product of its name.
    public init(_ name: String) { self.name = name }

    /// Makes a product of its name.
    public init(stringLiteral name: String) { self.name = name }

    /// The name.
    public var description: String { name }

    /// The video application.
    public static let playVideo = Product("PLAY_VIDEO")
    /// The audio application.
    public static let playAudio = Product("PLAY_AUDIO")
    /// The news application.
    public static let newsApp = Product("NEWS_APP")
    /// Videos in the news application.
    public static let newsVideo = Product("NEWS_VIDEO")
    /// Audios in the news application.
    public static let newsAudio = Product("NEWS_AUDIO")
}
