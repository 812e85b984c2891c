#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A show: what its episodes have in common.
///
/// Shows are equal when their URNs are.
public struct Show: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The identifier among everything in the catalogue; from `urn`.
    public var urn = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// How it is broadcast; from `transmission`.
    public var transmission: Transmission = .none
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?
    /// When it is broadcast; from `broadcastInformation`.
    @Boxed public var broadcastInformation: BroadcastInformation?
    /// What the image shows; from `imageTitle`.
    public var imageTitle: String?
    /// Where the rights to the image lie; from `imageCopyright`.
    public var imageCopyright: String?
    /// Its home page; from `homepageUrl`.
    public var homepageURL: URL?
    /// Where to subscribe to its podcast; from `podcastSubscriptionUrl`.
    public var podcastSubscriptionURL: URL?
    /// The feed in standard definition; from `podcastFeedSdUrl`.
    public var podcastStandardDefinitionURL: URL?
    /// The feed in high definition; from `podcastFeedHdUrl`.
    public var podcastHighDefinitionURL: URL?
    /// The podcast at Deezer; from `podcastDeezerUrl`.
    public var podcastDeezerURL: URL?
    /// The podcast at Spotify; from `podcastSpotifyUrl`.
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
    /// How many episodes there are; from `numberOfEpisodes`.
    public var numberOfEpisodes: Int?
    /// Its topics; from `topicList`.
    public var topics: [Topic]?
    /// Whether the poster stands in for a missing one; from `posterImageIsFallbackUrl`.
    public var shouldFallbackToPosterImage: Bool?
    /// Whether the image of the podcast stands in for a missing one; from `podcastImageIsFallbackUrl`.
    public var shouldFallbackToPodcastImage: Bool?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn, vendor, transmission, title, lead, broadcastInformation, imageTitle, imageCopyright
        case numberOfEpisodes
        case uid = "id"
        case summary = "description"
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
        case topics = "topicList"
        case shouldFallbackToPosterImage = "posterImageIsFallbackUrl"
        case shouldFallbackToPodcastImage = "podcastImageIsFallbackUrl"
    }

    /// The image.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// The banner.
    public var bannerImage: CatalogueImage? { CatalogueImage(bannerImageURL) }
    /// The poster, in portrait format.
    public var posterImage: CatalogueImage? { CatalogueImage(posterImageURL, variant: .poster) }
    /// The image of the podcast, a square.
    public var podcastImage: CatalogueImage? { CatalogueImage(podcastImageURL, variant: .podcast) }
    /// What tells it from others of its kind.
    public var identity: String { urn }
}

/// When a show is broadcast.
public struct BroadcastInformation: CatalogueModel {
    /// The text to show; from `hintText`.
    public var message = ""
    /// From when to show it; from `startDate`.
    public var startDate: Date?
    /// Until when to show it; from `endDate`.
    public var endDate: Date?
    /// A page about it; from `url`.
    public var url: URL?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case startDate, endDate, url
        case message = "hintText"
    }
}

/// A show and some of its medias.
///
/// Two are equal when the URNs of their shows are.
public struct ShowAndMedias: KeyedModel {
    /// The show; from `show`.
    @Boxed public var show: Show?
    /// The medias; from `mediaList`.
    public var medias: [Media] = []

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case show
        case medias = "mediaList"
    }

    /// What tells it from others of its kind.
    public var identity: String { show?.urn ?? "" }
}
