#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Catalogue {
    /// The properties that medias, chapters and segments have in common.
    public protocol MediaMetadata: CatalogueItem, KeyedModel, TimeBound {
        /// The properties that medias, chapters and segments have in common.
        var mediaProperties: MediaProperties { get set }
    }

    /// The properties that medias, chapters and segments have in common.
    public struct MediaProperties: ModelPart {
        var item = ItemProperties()
        var mediaType = MediaType.none
        var contentType = Media.ContentType.none
        var date: Date?
        var duration = Duration.zero
        var startDate: Date?
        var endDate: Date?
        var isPlayableAbroad = false
        var youthProtectionColor = YouthProtectionColor.none
        var originalBlockingReason = BlockingReason.none
        var source = Media.Source.none
        var accessibilityTitle: String?
        var podcastStandardDefinitionURL: URL?
        var podcastHighDefinitionURL: URL?
        var relatedContents: [RelatedContent]?
        var socialCounts: [SocialCount]?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try item.read(members)
            try members.read("mediaType", &mediaType)
            try members.read("type", &contentType)
            try members.read("date", &date)
            try members.read("duration", &duration)
            try members.read("validFrom", &startDate)
            try members.read("validTo", &endDate)
            try members.read("playableAbroad", &isPlayableAbroad)
            try members.read("youthProtectionColor", &youthProtectionColor)
            try members.read("blockReason", &originalBlockingReason)
            try members.read("assignedBy", &source)
            try members.read("mediaDescription", &accessibilityTitle)
            try members.read("podcastSdUrl", &podcastStandardDefinitionURL)
            try members.read("podcastHdUrl", &podcastHighDefinitionURL)
            try members.read("relatedContentList", &relatedContents)
            try members.read("socialCountList", &socialCounts)
        }
    }
}

extension Catalogue.MediaMetadata {
    /// The key for comparing values.
    public var identity: String { urn }

    /// The identifiers, texts and image.
    public var itemProperties: Catalogue.ItemProperties {
        get { mediaProperties.item }
        set { mediaProperties.item = newValue }
    }

    /// The media type, video or audio; from `mediaType`.
    public var mediaType: Catalogue.MediaType {
        get { mediaProperties.mediaType }
        set { mediaProperties.mediaType = newValue }
    }

    /// The kind of content; from `type`.
    public var contentType: Catalogue.Media.ContentType {
        get { mediaProperties.contentType }
        set { mediaProperties.contentType = newValue }
    }

    /// The date of publication or production; from `date`.
    public var date: Date? {
        get { mediaProperties.date }
        set { mediaProperties.date = newValue }
    }

    /// The duration; from `duration`.
    public var duration: Duration {
        get { mediaProperties.duration }
        set { mediaProperties.duration = newValue }
    }

    /// When the availability begins; from `validFrom`.
    public var startDate: Date? {
        get { mediaProperties.startDate }
        set { mediaProperties.startDate = newValue }
    }

    /// When the availability ends; from `validTo`.
    public var endDate: Date? {
        get { mediaProperties.endDate }
        set { mediaProperties.endDate = newValue }
    }

    /// Whether it can be played outside Switzerland; from `playableAbroad`.
    public var isPlayableAbroad: Bool {
        get { mediaProperties.isPlayableAbroad }
        set { mediaProperties.isPlayableAbroad = newValue }
    }

    /// The warning for young people; from `youthProtectionColor`.
    public var youthProtectionColor: Catalogue.YouthProtectionColor {
        get { mediaProperties.youthProtectionColor }
        set { mediaProperties.youthProtectionColor = newValue }
    }

    /// The service's blocking reason, independent of the date; from `blockReason`.
    public var originalBlockingReason: Catalogue.BlockingReason {
        get { mediaProperties.originalBlockingReason }
        set { mediaProperties.originalBlockingReason = newValue }
    }

    /// The reason why it is on the list; from `assignedBy`.
    public var source: Catalogue.Media.Source {
        get { mediaProperties.source }
        set { mediaProperties.source = newValue }
    }

    /// The title for screen readers; from `mediaDescription`.
    public var accessibilityTitle: String? {
        get { mediaProperties.accessibilityTitle }
        set { mediaProperties.accessibilityTitle = newValue }
    }

    /// The download in standard definition; from `podcastSdUrl`.
    public var podcastStandardDefinitionURL: URL? {
        get { mediaProperties.podcastStandardDefinitionURL }
        set { mediaProperties.podcastStandardDefinitionURL = newValue }
    }

    /// The download in high definition; from `podcastHdUrl`.
    public var podcastHighDefinitionURL: URL? {
        get { mediaProperties.podcastHighDefinitionURL }
        set { mediaProperties.podcastHighDefinitionURL = newValue }
    }

    /// Pages for further reading; from `relatedContentList`.
    public var relatedContents: [Catalogue.RelatedContent]? {
        get { mediaProperties.relatedContents }
        set { mediaProperties.relatedContents = newValue }
    }

    /// The counts of views, likes and shares; from `socialCountList`.
    public var socialCounts: [Catalogue.SocialCount]? {
        get { mediaProperties.socialCounts }
        set { mediaProperties.socialCounts = newValue }
    }
}
