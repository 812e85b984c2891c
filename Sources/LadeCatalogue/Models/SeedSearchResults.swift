#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A result of a search for videos or audios, in the first generation of services.
///
/// Values are equal when their URNs are.
public struct SearchResultMedia: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The identifier among everything in the catalogue; from `urn`.
    public var urn = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// The media type, video or audio; from `mediaType`.
    public var mediaType: MediaType = .none
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// The title of the image; from `imageTitle`.
    public var imageTitle: String?
    /// The copyright of the image; from `imageCopyright`.
    public var imageCopyright: String?
    /// The date of publication; from `date`.
    public var date: Date?
    /// The duration; from `duration`.
    public var duration: Duration = .zero
    /// The presentation; from `presentation`.
    public var presentation: Presentation = .none
    /// The episode; from `episode`.
    var episode: Reference?
    /// The show; from `show`.
    var show: Reference?
    /// The identifier of the channel; from `channelId`.
    public var channelUid: String?

    /// Makes an empty value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case uid = "id"
        case urn, vendor, mediaType, title, lead
        case summary = "description"
        case imageURL = "imageUrl"
        case imageTitle, imageCopyright, date, duration, presentation, episode, show
        case channelUid = "channelId"
    }

    /// The identifier of the episode; from `episode.id`.
    public var episodeUid: String? { episode?.uid }
    /// The title of the episode; from `episode.title`.
    public var episodeTitle: String? { episode?.title }
    /// The identifier of the show; from `show.id`.
    public var showUid: String? { show?.uid }
    /// The title of the show; from `show.title`.
    public var showTitle: String? { show?.title }
    /// The image, for making addresses in different sizes.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// The key for comparing values.
    public var identity: String { urn }

    /// The episode or show of a result.
    struct Reference: CatalogueModel {
        /// The identifier; from `id`.
        var uid: String?
        /// The title; from `title`.
        var title: String?

        init() {}

        enum CodingKeys: String, JSONKey {
            case uid = "id"
            case title
        }
    }
}

/// A result of a search for shows, in the first generation of services.
///
/// Values are equal when their URNs are.
public struct SearchResultShow: KeyedModel {
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
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// The title of the image; from `imageTitle`.
    public var imageTitle: String?
    /// The copyright of the image; from `imageCopyright`.
    public var imageCopyright: String?

    /// Makes an empty value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case uid = "id"
        case urn, vendor, transmission, title, lead
        case summary = "description"
        case imageURL = "imageUrl"
        case imageTitle, imageCopyright
    }

    /// The image, for making addresses in different sizes.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// The key for comparing values.
    public var identity: String { urn }
}
