extension Catalogue {
    /// A part of a media composition: a chapter or a segment.
    ///
    /// A chapter never equals a segment: they are values of different types.
    public protocol Subdivision: MediaMetadata {
        /// The properties that chapters and segments have in common.
        var subdivisionProperties: SubdivisionProperties { get set }
    }

    /// The properties that chapters and segments have in common.
    public struct SubdivisionProperties: ModelPart {
        var media = MediaProperties()
        var fullLengthURN: String?
        var displayable = Displayable.absent
        var event: String?
        var analyticsLabels: [String: String]?
        var comScoreAnalyticsLabels: [String: String]?
        var subtitles: [Subtitle]?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try media.read(members)
            try members.read("fullLengthUrn", &fullLengthURN)
            try members.read("displayable", &displayable)
            try members.read("eventData", &event)
            try members.read("analyticsMetadata", &analyticsLabels)
            try members.read("analyticsData", &comScoreAnalyticsLabels)
            try members.read("subtitleList", &subtitles)
        }
    }
}

extension Catalogue.Subdivision {
    /// The properties that medias, chapters and segments have in common.
    public var mediaProperties: Catalogue.MediaProperties {
        get { subdivisionProperties.media }
        set { subdivisionProperties.media = newValue }
    }

    /// The labels for audience measurement; from `analyticsMetadata`.
    public var analyticsLabels: [String: String]? {
        get { subdivisionProperties.analyticsLabels }
        set { subdivisionProperties.analyticsLabels = newValue }
    }

    /// The labels for audience measurement by comScore; from `analyticsData`.
    public var comScoreAnalyticsLabels: [String: String]? {
        get { subdivisionProperties.comScoreAnalyticsLabels }
        set { subdivisionProperties.comScoreAnalyticsLabels = newValue }
    }

    /// Whether it is hidden from lists; from `displayable`, inverted.
    public var isHidden: Bool { subdivisionProperties.displayable.isHidden }

    /// The URN of the media that contains it; from `fullLengthUrn`.
    public var fullLengthURN: String? {
        get { subdivisionProperties.fullLengthURN }
        set { subdivisionProperties.fullLengthURN = newValue }
    }

    /// The data to send back when the popularity is counted; from `eventData`.
    public var event: String? {
        get { subdivisionProperties.event }
        set { subdivisionProperties.event = newValue }
    }

    /// The subtitles in separate files; from `subtitleList`.
    public var subtitles: [Catalogue.Subtitle]? {
        get { subdivisionProperties.subtitles }
        set { subdivisionProperties.subtitles = newValue }
    }
}
