#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A result of a search for videos or audios of the seed era.
///
/// Two are equal when their URNs are.
public struct SearchResultMedia: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The identifier among everything in the catalogue; from `urn`.
    public var urn = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// Video or audio; from `mediaType`.
    public var mediaType: MediaType = .none
    /// The title; from `title`.
    public var title = ""
    /// A short introduction; from `lead`.
    public var lead: String?
    /// A longer text; from `description`.
    public var summary: String?
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// What the image shows; from `imageTitle`.
    public var imageTitle: String?
    /// Where the rights to the image lie; from `imageCopyright`.
    public var imageCopyright: String?
    /// When it was published; from `date`.
    public var date: Date?
    /// How long it plays; from `duration`.
    public var duration: Duration = .zero
    /// How it is shown; from `presentation`.
    public var presentation: Presentation = .none
    /// The episode; from `episode`.
    var episode: Reference?
    /// The show; from `show`.
    var show: Reference?
    /// The identifier of the channel; from `channelId`.
    public var channelUid: String?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn, vendor, mediaType, title, lead, imageTitle, imageCopyright, date, duration, presentation
        case episode, show
        case uid = "id"
        case summary = "description"
        case imageURL = "imageUrl"
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
    /// The image.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// What tells it from others of its kind.
    public var identity: String { urn }

    /// What a result says about its episode or show.
    struct Reference: CatalogueModel {
        /// The identifier; from `id`.
        var uid: String?
        /// The title; from `title`.
        var title: String?

        init() {}

        enum CodingKeys: String, JSONKey {
            case title
            case uid = "id"
        }
    }
}

/// A result of a search for shows of the seed era.
///
/// Two are equal when their URNs are.
public struct SearchResultShow: KeyedModel {
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
    /// The address of the image; from `imageUrl`.
    var imageURL: URL?
    /// What the image shows; from `imageTitle`.
    public var imageTitle: String?
    /// Where the rights to the image lie; from `imageCopyright`.
    public var imageCopyright: String?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn, vendor, transmission, title, lead, imageTitle, imageCopyright
        case uid = "id"
        case summary = "description"
        case imageURL = "imageUrl"
    }

    /// The image.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// What tells it from others of its kind.
    public var identity: String { urn }
}
