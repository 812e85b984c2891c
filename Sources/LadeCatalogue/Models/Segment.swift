#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A part of a chapter.
///
/// Segments are equal when their URNs are.
public struct Segment: Subdivision {
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
    /// The URN of the media that contains it; from `fullLengthUrn`.
    public var fullLengthURN: String?
    /// Whether it appears in lists; from `displayable`.
    var displayable: Displayable = .absent
    /// The data to send back when the popularity is counted; from `eventData`.
    public var event: String?
    /// The labels for audience measurement; from `analyticsMetadata`.
    public var analyticsLabels: [String: String]?
    /// The labels for audience measurement by comScore; from `analyticsData`.
    public var comScoreAnalyticsLabels: [String: String]?
    /// The subtitles in separate files; from `subtitleList`.
    public var subtitles: [Subtitle]?
    /// The position in the chapter where the segment begins; from `markIn`.
    public var markIn: Duration = .zero
    /// The position in the chapter where the segment ends; from `markOut`.
    public var markOut: Duration = .zero

    /// Makes an empty value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case uid = "id"
        case urn, vendor, mediaType, title, lead
        case summary = "description"
        case imageURL = "imageUrl"
        case imageTitle, imageCopyright
        case contentType = "type"
        case date, duration
        case startDate = "validFrom"
        case endDate = "validTo"
        case isPlayableAbroad = "playableAbroad"
        case youthProtectionColor
        case originalBlockingReason = "blockReason"
        case source = "assignedBy"
        case accessibilityTitle = "mediaDescription"
        case podcastStandardDefinitionURL = "podcastSdUrl"
        case podcastHighDefinitionURL = "podcastHdUrl"
        case relatedContents = "relatedContentList"
        case socialCounts = "socialCountList"
        case fullLengthURN = "fullLengthUrn"
        case displayable
        case event = "eventData"
        case analyticsLabels = "analyticsMetadata"
        case comScoreAnalyticsLabels = "analyticsData"
        case subtitles = "subtitleList"
        case markIn, markOut
    }

    /// The date at position 0 of the chapter, copied from the chapter.
    var resourceReferenceDate: Date?
    /// The date of ``markIn``; nil when the chapter has no reference date.
    public var markInDate: Date? { resourceReferenceDate?.addingTimeInterval(markIn / .seconds(1)) }
    /// The date of ``markOut``; nil when the chapter has no reference date.
    public var markOutDate: Date? { resourceReferenceDate?.addingTimeInterval(markOut / .seconds(1)) }
    /// The image, for making addresses in different sizes.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// Whether it is hidden from lists; from `displayable`, inverted.
    public var isHidden: Bool { displayable.isHidden }
    /// The key for comparing values.
    public var identity: String { urn }
}
