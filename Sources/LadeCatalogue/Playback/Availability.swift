#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Whether something can be had at a date, by its dates alone.
public enum TimeAvailability: Sendable, Hashable, CaseIterable {
    /// It can be had.
    case available
    /// It begins later.
    case notYetAvailable
    /// It has ended.
    case notAvailableAnymore
}

/// What is available between two dates, both included.
public protocol TimeBound: Sendable {
    /// When it begins; nil for always.
    var startDate: Date? { get }
    /// When it ends; nil for never.
    var endDate: Date? { get }
}

extension TimeBound {
    /// Whether it can be had at a date, by its dates alone.
    public func timeAvailability(at date: Date) -> TimeAvailability {
        if let endDate, endDate < date { return .notAvailableAnymore }
        if let startDate, date < startDate { return .notYetAvailable }
        return .available
    }
}

/// What medias, chapters and segments have in common.
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
    /// Video or audio; from `mediaType`.
    var mediaType: MediaType { get }
    /// What kind of content it is; from `type`.
    var contentType: ContentType { get }
    /// Why the service blocks it, whatever the date; from `blockReason`.
    var originalBlockingReason: BlockingReason { get }
    /// The image; from `imageUrl`.
    var image: CatalogueImage? { get }
    /// When it was published or made; from `date`.
    var date: Date? { get }
    /// How long it plays; from `duration`.
    var duration: Duration { get }
    /// The warning for young people; from `youthProtectionColor`.
    var youthProtectionColor: YouthProtectionColor { get }
    /// What the image shows; from `imageTitle`.
    var imageTitle: String? { get }
    /// Where the rights to the image lie; from `imageCopyright`.
    var imageCopyright: String? { get }
    /// What put it on the list; from `assignedBy`.
    var source: MediaSource { get }
    /// Whether it plays outside Switzerland; from `playableAbroad`.
    var isPlayableAbroad: Bool { get }
    /// The download in standard definition; from `podcastSdUrl`.
    var podcastStandardDefinitionURL: URL? { get }
    /// The download in high definition; from `podcastHdUrl`.
    var podcastHighDefinitionURL: URL? { get }
    /// The title for screen readers; from `mediaDescription`.
    var accessibilityTitle: String? { get }
    /// Further reading; from `relatedContentList`.
    var relatedContents: [RelatedContent]? { get }
    /// How often it was viewed, liked and shared; from `socialCountList`.
    var socialCounts: [SocialCount]? { get }
}

extension MediaMetadata {
    /// Why it cannot be played at a date; `none` when it can.
    ///
    /// What the service says goes before the dates.
    public func blockingReason(at date: Date) -> BlockingReason {
        if originalBlockingReason != .none { return originalBlockingReason }
        if let endDate, endDate < date { return .endDate }
        if let startDate, date < startDate { return .startDate }
        return .none
    }

    /// Whether it can be played at a date.
    public func isPlayable(at date: Date) -> Bool { blockingReason(at: date) == .none }

    /// Whether it can be had at a date, by its dates and by what the service says about them.
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
    /// The URN of the media that it is a part of; from `fullLengthUrn`.
    var fullLengthURN: String? { get }
    /// Whether it stays out of lists; from `displayable`, inverted.
    var isHidden: Bool { get }
    /// What is posted back when the popularity is counted; from `eventData`.
    var event: String? { get }
    /// Subtitles in files of their own; from `subtitleList`.
    var subtitles: [Subtitle]? { get }
}

extension Subdivision {
    /// The format of subtitles to prefer: VTT, then TTML; `none` without subtitles.
    public var recommendedSubtitleFormat: SubtitleFormat {
        let formats = Set(subtitles?.map(\.format) ?? [])
        return [.vtt, .ttml].first { formats.contains($0) } ?? .none
    }

    /// The subtitles in a format.
    public func subtitles(format: SubtitleFormat) -> [Subtitle] {
        subtitles?.filter { $0.format == format } ?? []
    }
}
