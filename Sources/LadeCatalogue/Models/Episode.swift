#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An episode of a show.
///
/// Episodes are equal when their identifiers are.
public struct Episode: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?
    /// What the image shows; from `imageTitle`.
    public var imageTitle: String?
    /// Where the rights to the image lie; from `imageCopyright`.
    public var imageCopyright: String?
    /// When it was published; from `publishedDate`.
    public var date: Date?
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// The URN of its media; from `fullLengthUrn`.
    public var fullLengthURN: String?
    /// Its medias; from `mediaList`.
    public var medias: [Media]?
    /// How often it was viewed; from `socialCount`.
    public var socialCount: SocialCount?
    /// The season; from `seasonNumber`.
    public var seasonNumber: Int?
    /// The number of the episode; from `number`.
    public var episodeNumber: Int?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case title, lead, imageTitle, imageCopyright, socialCount, seasonNumber
        case uid = "id"
        case summary = "description"
        case date = "publishedDate"
        case imageURL = "imageUrl"
        case fullLengthURN = "fullLengthUrn"
        case medias = "mediaList"
        case episodeNumber = "number"
    }

    /// The image.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// What tells it from others of its kind.
    public var identity: String { uid }
}

/// Episodes of a show.
///
/// Two are equal when the URNs of their shows are.
public struct EpisodeComposition: KeyedModel {
    /// The channel; from `channel`.
    @Boxed public var channel: Channel?
    /// The show; from `show`.
    @Boxed public var show: Show?
    /// The episodes; from `episodeList`.
    public var episodes: [Episode]?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case channel, show
        case episodes = "episodeList"
    }

    /// What tells it from others of its kind.
    public var identity: String { show?.urn ?? "" }
}

/// A page about a media.
///
/// Two are equal when their identifiers are.
public struct RelatedContent: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The address of the page; from `url`.
    public var url: URL?
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case url, title, lead
        case uid = "id"
        case summary = "description"
    }

    /// What tells it from others of its kind.
    public var identity: String { uid }
}
