#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A show, which has episodes.
///
/// Shows are equal when their URNs are.
public struct Show: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The identifier among everything in the catalogue; from `urn`.
    public var urn = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// The way of broadcasting; from `transmission`.
    public var transmission: Transmission = .none
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?
    /// The broadcast times; from `broadcastInformation`.
    @Boxed public var broadcastInformation: BroadcastInformation?
    /// The title of the image; from `imageTitle`.
    public var imageTitle: String?
    /// The copyright of the image; from `imageCopyright`.
    public var imageCopyright: String?
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
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
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

    enum CodingKeys: String, JSONKey {
        case uid = "id"
        case urn, vendor, transmission, title, lead
        case summary = "description"
        case broadcastInformation, imageTitle, imageCopyright
        case homepageURL = "homepageUrl"
        case podcastSubscriptionURL = "podcastSubscriptionUrl"
        case podcastStandardDefinitionURL = "podcastFeedSdUrl"
        case podcastHighDefinitionURL = "podcastFeedHdUrl"
        case podcastDeezerURL = "podcastDeezerUrl"
        case podcastSpotifyURL = "podcastSpotifyUrl"
        case primaryChannelUid = "primaryChannelId"
        case imageURL = "imageUrl"
        case bannerImageURL = "bannerImageUrl"
        case posterImageURL = "posterImageUrl"
        case podcastImageURL = "podcastImageUrl"
        case numberOfEpisodes
        case topics = "topicList"
        case shouldFallbackToPosterImage = "posterImageIsFallbackUrl"
        case shouldFallbackToPodcastImage = "podcastImageIsFallbackUrl"
    }

    /// The image, for making addresses in different sizes.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// The banner.
    public var bannerImage: CatalogueImage? { CatalogueImage(bannerImageURL) }
    /// The poster, in portrait format.
    public var posterImage: CatalogueImage? { CatalogueImage(posterImageURL, variant: .poster) }
    /// The image of the podcast, a square.
    public var podcastImage: CatalogueImage? { CatalogueImage(podcastImageURL, variant: .podcast) }
    /// The key for comparing values.
    public var identity: String { urn }
}

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

    enum CodingKeys: String, JSONKey {
        case message = "hintText"
        case startDate, endDate, url
    }
}

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

    enum CodingKeys: String, JSONKey {
        case show
        case medias = "mediaList"
    }

    /// The key for comparing values.
    public var identity: String { show?.urn ?? "" }
}
