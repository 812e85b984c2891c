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
    /// Where it begins within its chapter; from `markIn`.
    public var markIn: Duration = .zero
    /// Where it ends within its chapter; from `markOut`.
    public var markOut: Duration = .zero

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn, vendor, mediaType, title, lead, imageTitle, imageCopyright, date, duration
        case youthProtectionColor, displayable, markIn, markOut
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
    }

    /// The date of position 0 of the chapter, copied from it.
    var resourceReferenceDate: Date?
    /// The date of ``markIn``; nil when the chapter has no reference date.
    public var markInDate: Date? { resourceReferenceDate?.addingTimeInterval(markIn / .seconds(1)) }
    /// The date of ``markOut``; nil when the chapter has no reference date.
    public var markOutDate: Date? { resourceReferenceDate?.addingTimeInterval(markOut / .seconds(1)) }
    /// The image.
    public var image: CatalogueImage? { CatalogueImage(imageURL) }
    /// Whether it stays out of lists; from `displayable`, inverted.
    public var isHidden: Bool { displayable.isHidden }
    /// What tells it from others of its kind.
    public var identity: String { urn }
}
