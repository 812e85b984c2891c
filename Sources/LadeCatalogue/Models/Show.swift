#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// A show, which has episodes.
    ///
    /// Shows are equal when their URNs are.
    public struct Show: BroadcastItem {
        /// The identifiers, texts and image.
        public var itemProperties = ItemProperties()
        /// The way of broadcasting; from `transmission`.
        public var transmission: Transmission = .none
        /// The broadcast times; from `broadcastInformation`.
        @Boxed public var broadcastInformation: BroadcastInformation?
        /// The address of the show's home page; from `homepageUrl`.
        public var homepageURL: URL?
        /// The address for subscribing to the podcast; from `podcastSubscriptionUrl`.
        public var podcastSubscriptionURL: URL?
        /// The feed in standard definition; from `podcastFeedSdUrl`.
        public var podcastStandardDefinitionURL: URL?
        /// The feed in high definition; from `podcastFeedHdUrl`.
        public var podcastHighDefinitionURL: URL?
        /// The address of the podcast at Deezer; from `podcastDeezerUrl`.
        public var podcastDeezerURL: URL?
        /// The address of the podcast at Spotify; from `podcastSpotifyUrl`.
        public var podcastSpotifyURL: URL?
        /// The identifier of its main channel; from `primaryChannelId`.
        public var primaryChannelUid: String?
        /// The address of the banner; from `bannerImageUrl`.
        var bannerImageURL: URL?
        /// The address of the poster; from `posterImageUrl`.
        var posterImageURL: URL?
        /// The address of the image of the podcast; from `podcastImageUrl`.
        var podcastImageURL: URL?
        /// The number of episodes; from `numberOfEpisodes`.
        public var numberOfEpisodes: Int?
        /// The topics of the show; from `topicList`.
        public var topics: [Topic]?
        /// Whether the poster is a placeholder; from `posterImageIsFallbackUrl`.
        public var shouldFallbackToPosterImage: Bool?
        /// Whether the image of the podcast is a placeholder; from `podcastImageIsFallbackUrl`.
        public var shouldFallbackToPodcastImage: Bool?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try itemProperties.read(members)
            try members.read("transmission", &transmission)
            try members.read("broadcastInformation", &_broadcastInformation)
            try members.read("homepageUrl", &homepageURL)
            try members.read("podcastSubscriptionUrl", &podcastSubscriptionURL)
            try members.read("podcastFeedSdUrl", &podcastStandardDefinitionURL)
            try members.read("podcastFeedHdUrl", &podcastHighDefinitionURL)
            try members.read("podcastDeezerUrl", &podcastDeezerURL)
            try members.read("podcastSpotifyUrl", &podcastSpotifyURL)
            try members.read("primaryChannelId", &primaryChannelUid)
            try members.read("bannerImageUrl", &bannerImageURL)
            try members.read("posterImageUrl", &posterImageURL)
            try members.read("podcastImageUrl", &podcastImageURL)
            try members.read("numberOfEpisodes", &numberOfEpisodes)
            try members.read("topicList", &topics)
            try members.read("posterImageIsFallbackUrl", &shouldFallbackToPosterImage)
            try members.read("podcastImageIsFallbackUrl", &shouldFallbackToPodcastImage)
        }

        /// The banner.
        public var bannerImage: CatalogueImage? { CatalogueImage(bannerImageURL) }
        /// The poster, in portrait format.
        public var posterImage: CatalogueImage? { CatalogueImage(posterImageURL, variant: .poster) }
        /// The image of the podcast, a square.
        public var podcastImage: CatalogueImage? { CatalogueImage(podcastImageURL, variant: .podcast) }
        /// The key for comparing values.
        public var identity: String { urn }
    }
}

extension Catalogue.Show {
    /// The broadcast times of a show.
    public struct BroadcastInformation: CatalogueModel {
        /// The text to show; from `hintText`.
        public var message = ""
        /// When the message is first shown; from `startDate`.
        public var startDate: Date?
        /// Until when to show it; from `endDate`.
        public var endDate: Date?
        /// A page about it; from `url`.
        public var url: URL?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("hintText", &message)
            try members.read("startDate", &startDate)
            try members.read("endDate", &endDate)
            try members.read("url", &url)
        }
    }
}

extension Catalogue {
    /// A show with some of its medias.
    ///
    /// Values are equal when the URNs of their shows are.
    public struct ShowAndMedias: KeyedModel {
        /// The show; from `show`.
        @Boxed public var show: Show?
        /// The medias; from `mediaList`.
        public var medias: [Media] = []

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("show", &_show)
            try members.read("mediaList", &medias)
        }

        /// The key for comparing values.
        public var identity: String { show?.urn ?? "" }
    }
}
