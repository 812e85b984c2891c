#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A media that is played as a whole, with the segments that mark its parts.
///
/// Chapters are equal when their URNs are.
public struct Chapter: Subdivision {
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
    /// What kind of content it is; from `type`.
    public var contentType: ContentType = .none
    /// When it was published or made; from `date`.
    public var date: Date?
    /// How long it plays; from `duration`.
    public var duration: Duration = .zero
    /// When it becomes available; from `validFrom`.
    public var startDate: Date?
    /// Until when it is available; from `validTo`.
    public var endDate: Date?
    /// Whether it plays outside Switzerland; from `playableAbroad`.
    public var isPlayableAbroad = false
    /// The warning for young people; from `youthProtectionColor`.
    public var youthProtectionColor: YouthProtectionColor = .none
    /// Why the service blocks it, whatever the date; from `blockReason`.
    public var originalBlockingReason: BlockingReason = .none
    /// What put it on the list; from `assignedBy`.
    public var source: MediaSource = .none
    /// The title for screen readers; from `mediaDescription`.
    public var accessibilityTitle: String?
    /// The download in standard definition; from `podcastSdUrl`.
    public var podcastStandardDefinitionURL: URL?
    /// The download in high definition; from `podcastHdUrl`.
    public var podcastHighDefinitionURL: URL?
    /// Further reading; from `relatedContentList`.
    public var relatedContents: [RelatedContent]?
    /// How often it was viewed, liked and shared; from `socialCountList`.
    public var socialCounts: [SocialCount]?
    /// The URN of the media that it is a part of; from `fullLengthUrn`.
    public var fullLengthURN: String?
    /// Whether it is listed; from `displayable`.
    var displayable: Displayable = .absent
    /// What is posted back when the popularity is counted; from `eventData`.
    public var event: String?
    /// Labels for measuring the audience; from `analyticsMetadata`.
    public var analyticsLabels: [String: String]?
    /// Labels for measuring by comScore; from `analyticsData`.
    public var comScoreAnalyticsLabels: [String: String]?
    /// Subtitles in files of their own; from `subtitleList`.
    public var subtitles: [Subtitle]?
    /// Width by height of the picture; from `aspectRatio`.
    public var aspectRatio: AspectRatio = .undefined
    /// Where it begins within the media at ``fullLengthURN``; from `fullLengthMarkIn`.
    public var fullLengthMarkIn: Duration = .zero
    /// Where it ends within the media at ``fullLengthURN``; from `fullLengthMarkOut`.
    public var fullLengthMarkOut: Duration = .zero
    /// The streams, those that cannot be played too; from `resourceList`.
    public var resources: [Resource]?
    /// The segments, flattened, without reference date; from `segmentList`.
    var track: SegmentTrack?
    /// When the trailer before a scheduled livestream begins; from `preTrailerStart`.
    public var preTrailerStartDate: Date?
    /// When the trailer after a scheduled livestream ends; from `postTrailerStop`.
    public var postTrailerEndDate: Date?
    /// The date of position 0; from `dvrReferenceDate`.
    public var resourceReferenceDate: Date?
    /// Thumbnails of the whole media in one image; from `spriteSheet`.
    public var spriteSheet: SpriteSheet?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn, vendor, mediaType, title, lead, imageTitle, imageCopyright, date, duration
        case youthProtectionColor, displayable, aspectRatio, fullLengthMarkIn, fullLengthMarkOut, spriteSheet
        case uid = "id"
        case summary = "description"
        case imageURL = "imageUrl"
        case contentType = "type"
        case startDate = "validFrom"
        case endDate = "validTo"
        case isPlayableAbroad = "playableAbroad"
        case originalBlockingReason = "blockReason"
        case source = "assignedBy"
        case accessibilityTitle = "mediaDescription"
        case podcastStandardDefinitionURL = "podcastSdUrl"
        case podcastHighDefinitionURL = "podcastHdUrl"
        case relatedContents = "relatedContentList"
        case socialCounts = "socialCountList"
        case fullLengthURN = "fullLengthUrn"
        case event = "eventData"
        case analyticsLabels = "analyticsMetadata"
        case comScoreAnalyticsLabels = "analyticsData"
        case subtitles = "subtitleList"
        case resources = "resourceList"
        case track = "segmentList"
        case preTrailerStartDate = "preTrailerStart"
        case postTrailerEndDate = "postTrailerStop"
        case resourceReferenceDate = "dvrReferenceDate"
    }

    /// The image.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// Whether it stays out of lists; from `displayable`, inverted.
    public var isHidden: Bool { displayable.isHidden }
    /// What tells it from others of its kind.
    public var identity: String { urn }
}
