extension Catalogue {
    /// The providers of radio livestreams to include.
    public enum ContentProviders: Sendable, Hashable, CaseIterable {
        /// The broadcaster itself.
        case `default`
        /// The broadcaster and all other providers.
        case all
        /// Swiss Satellite Radio only.
        case swissSatelliteRadio

        var items: [String: String] {
            switch self {
            case .default: [:]
            case .all: ["includeThirdPartyStreams": "true"]
            case .swissSatelliteRadio: ["onlyThirdPartyContentProvider": BusinessUnit.ssatr.rawValue]
            }
        }
    }

    /// The kinds of live centre videos to include.
    public enum ContentTypeFilter: String, Sendable, Hashable, CaseIterable {
        /// All videos.
        case none = ""
        /// Scheduled livestreams.
        case scheduledLivestream = "scheduled_livestream"
        /// Episodes.
        case episode

        var item: String? { self == .none ? nil : rawValue }
    }

    /// The medias of shows to include.
    public enum MediaFilter: Sendable, Hashable, CaseIterable {
        /// All medias.
        case none
        /// Episodes.
        case episodesOnly
        /// All medias except episodes.
        case episodesExcluded

        var item: String? {
            switch self {
            case .none: nil
            case .episodesOnly: "episode"
            case .episodesExcluded: "clip,segment"
            }
        }
    }

    /// The scheduled livestreams to include.
    public enum ScheduledLivestreamEventType: String, Sendable, Hashable, CaseIterable {
        /// All livestreams.
        case all
        /// News.
        case news
        /// Sport.
        case sport

        var item: String? { self == .all ? nil : rawValue }
    }

    /// An application with its own editorial pages.
    public struct Product: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The name in addresses.
        public let name: String

        /// Makes a product from its name.
        public init(_ name: String) { self.name = name }

        /// Makes a product from its name.
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
}
