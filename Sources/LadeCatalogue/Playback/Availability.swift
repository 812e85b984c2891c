#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Availability at a date, based only on start and end dates.
public enum TimeAvailability: Sendable, Hashable, CaseIterable {
    /// Available at the date.
    case available
    /// Available later.
    case notYetAvailable
    /// No longer available.
    case notAvailableAnymore
}

/// A value that is available between two dates, inclusive.
public protocol TimeBound: Sendable {
    /// When the availability begins; nil for no limit.
    var startDate: Date? { get }
    /// When the availability ends; nil for no limit.
    var endDate: Date? { get }
}

extension TimeBound {
    /// The availability at a date, based only on start and end dates.
    public func timeAvailability(at date: Date) -> TimeAvailability {
        if let endDate, endDate < date { return .notAvailableAnymore }
        if let startDate, date < startDate { return .notYetAvailable }
        return .available
    }
}

/// The properties that medias, chapters and segments have in common.
public protocol MediaMetadata: KeyedModel, TimeBound {
    /// The title; from `title`.
    var title: String { get }
    /// A short introduction; from `lead`.
    var lead: String? { get }
    /// A longer text; from `description`.
    var summary: String? { get }
    /// The identifier within its business unit and kind; from `id`.
    var uid: String { get }
    /// The identifier among everything in the catalogue; from `urn`.
    var urn: String { get }
    /// The broadcaster; from `vendor`.
    var vendor: Vendor { get }
    /// The media type, video or audio; from `mediaType`.
    var mediaType: MediaType { get }
    /// The kind of content; from `type`.
    var contentType: ContentType { get }
    /// The service's blocking reason, independent of the date; from `blockReason`.
    var originalBlockingReason: BlockingReason { get }
    /// The image; from `imageUrl`.
    var image: CatalogueImage? { get }
    /// The date of publication or production; from `date`.
    var date: Date? { get }
    /// The duration; from `duration`.
    var duration: Duration { get }
    /// The warning for young people; from `youthProtectionColor`.
    var youthProtectionColor: YouthProtectionColor { get }
    /// The title of the image; from `imageTitle`.
    var imageTitle: String? { get }
    /// The copyright of the image; from `imageCopyright`.
    var imageCopyright: String? { get }
    /// The reason why it is on the list; from `assignedBy`.
    var source: MediaSource { get }
    /// Whether it can be played outside Switzerland; from `playableAbroad`.
    var isPlayableAbroad: Bool { get }
    /// The download in standard definition; from `podcastSdUrl`.
    var podcastStandardDefinitionURL: URL? { get }
    /// The download in high definition; from `podcastHdUrl`.
    var podcastHighDefinitionURL: URL? { get }
    /// The title for screen readers; from `mediaDescription`.
    var accessibilityTitle: String? { get }
    /// Pages for further reading; from `relatedContentList`.
    var relatedContents: [RelatedContent]? { get }
    /// The counts of views, likes and shares; from `socialCountList`.
    var socialCounts: [SocialCount]? { get }
}

extension MediaMetadata {
    /// The reason why the media cannot be played at a date; `none` when it can.
    ///
    /// The service's own reason takes precedence over the dates.
    public func blockingReason(at date: Date) -> BlockingReason {
        if originalBlockingReason != .none { return originalBlockingReason }
        if let endDate, endDate < date { return .endDate }
        if let startDate, date < startDate { return .startDate }
        return .none
    }

    /// Whether the media can be played at a date.
    public func isPlayable(at date: Date) -> Bool { blockingReason(at: date) == .none }

    /// The availability at a date, based on the dates and the service's blocking reason.
    public func timeAvailability(at date: Date) -> TimeAvailability {
        switch originalBlockingReason {
        case .startDate: return .notYetAvailable
        case .endDate: return .notAvailableAnymore
        default: break
        }
        if let endDate, endDate < date { return .notAvailableAnymore }
        if let startDate, date < startDate { return .notYetAvailable }
        return .available
    }
}

/// A part of a media composition: a chapter or a segment.
///
/// A chapter never equals a segment: they are values of different types.
public protocol Subdivision: MediaMetadata {
    /// The URN of the media that contains it; from `fullLengthUrn`.
    var fullLengthURN: String? { get }
    /// Whether it is hidden from lists; from `displayable`, inverted.
    var isHidden: Bool { get }
    /// The data to send back when the popularity is counted; from `eventData`.
    var event: String? { get }
    /// The subtitles in separate files; from `subtitleList`.
    var subtitles: [Subtitle]? { get }
}

extension Subdivision {
    /// The preferred format of subtitles: VTT, then TTML; `none` without subtitles.
    public var recommendedSubtitleFormat: SubtitleFormat {
        let formats = Set(subtitles?.map(\.format) ?? [])
        return [.vtt, .ttml].first { formats.contains($0) } ?? .none
    }

    /// The subtitles in a format.
    public func subtitles(format: SubtitleFormat) -> [Subtitle] {
        subtitles?.filter { $0.format == format } ?? []
    }
}
