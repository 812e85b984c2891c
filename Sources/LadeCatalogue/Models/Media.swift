#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A video or an audio, as contained in lists.
///
/// Medias are equal when their URNs are.
public struct Media: MediaMetadata, KeyedModel {
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
    /// The part of the image that matters; from `imageFocalPoint`.
    public var imageFocalPoint: FocalPoint?
    /// The kind of content; from `type`.
    public var contentType: ContentType = .none
    /// The date of publication or production; from `date`.
    public var date: Date?
    /// The duration; from `duration`.
    public var duration: Duration = .zero
    /// When the availability begins; from `validFrom`.
    public var startDate: Date?
    /// When the availability ends; from `validTo`.
    public var endDate: Date?
    /// Whether it can be played outside Switzerland; from `playableAbroad`.
    public var isPlayableAbroad = false
    /// The presentation; from `presentation`.
    public var presentation: Presentation = .none
    /// The warning for young people; from `youthProtectionColor`.
    public var youthProtectionColor: YouthProtectionColor = .none
    /// The service's blocking reason, independent of the date; from `blockReason`.
    public var originalBlockingReason: BlockingReason = .none
    /// The reason why it is on the list; from `assignedBy`.
    public var source: MediaSource = .none
    /// The title for screen readers; from `mediaDescription`.
    public var accessibilityTitle: String?
    /// The download in standard definition; from `podcastSdUrl`.
    public var podcastStandardDefinitionURL: URL?
    /// The download in high definition; from `podcastHdUrl`.
    public var podcastHighDefinitionURL: URL?
    /// Pages for further reading; from `relatedContentList`.
    public var relatedContents: [RelatedContent]?
    /// The counts of views, likes and shares; from `socialCountList`.
    public var socialCounts: [SocialCount]?
    /// The audio tracks; from `audioTrackList`.
    public var audioVariants: [Variant]?
    /// The subtitles; from `subtitleInformationList`.
    public var subtitleVariants: [Variant]?
    /// The channel it belongs to; from `channel`.
    @Boxed public var channel: Channel?
    /// The episode it belongs to; from `episode`.
    @Boxed public var episode: Episode?
    /// The show it belongs to; from `show`.
    @Boxed public var show: Show?

    /// Makes an empty value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case uid = "id"
        case urn, vendor, mediaType, title, lead
        case summary = "description"
        case imageURL = "imageUrl"
        case imageTitle, imageCopyright, imageFocalPoint
        case contentType = "type"
        case date, duration
        case startDate = "validFrom"
        case endDate = "validTo"
        case isPlayableAbroad = "playableAbroad"
        case presentation, youthProtectionColor
        case originalBlockingReason = "blockReason"
        case source = "assignedBy"
        case accessibilityTitle = "mediaDescription"
        case podcastStandardDefinitionURL = "podcastSdUrl"
        case podcastHighDefinitionURL = "podcastHdUrl"
        case relatedContents = "relatedContentList"
        case socialCounts = "socialCountList"
        case audioVariants = "audioTrackList"
        case subtitleVariants = "subtitleInformationList"
        case channel, episode, show
    }

    /// The image, for making addresses in different sizes.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// The key for comparing values.
    public var identity: String { urn }
}
