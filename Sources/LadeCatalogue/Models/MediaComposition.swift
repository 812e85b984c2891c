extension Catalogue {
    /// The chapters and streams that a player needs to play a media.
    ///
    /// Compositions are equal when both URNs are.
    public struct MediaComposition: CatalogueModel {
        /// The URN of the chapter to play; from `chapterUrn`.
        public var chapterURN = ""
        /// The URN of the segment to play; from `segmentUrn`.
        public var segmentURN: String?
        /// The channel it belongs to; from `channel`.
        @Boxed public var channel: Channel?
        /// The episode it belongs to; from `episode`.
        @Boxed public var episode: Episode?
        /// The show it belongs to; from `show`.
        @Boxed public var show: Show?
        /// The chapters; from `chapterList`.
        public var chapters: [Chapter] = []
        /// The labels for audience measurement; from `analyticsMetadata`.
        public var analyticsLabels: [String: String]?
        /// The labels for audience measurement by comScore; from `analyticsData`.
        public var comScoreAnalyticsLabels: [String: String]?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("chapterUrn", &chapterURN)
            try members.read("segmentUrn", &segmentURN)
            try members.read("channel", &_channel)
            try members.read("episode", &_episode)
            try members.read("show", &_show)
            try members.read("chapterList", &chapters)
            try members.read("analyticsMetadata", &analyticsLabels)
            try members.read("analyticsData", &comScoreAnalyticsLabels)
        }
    }
}
