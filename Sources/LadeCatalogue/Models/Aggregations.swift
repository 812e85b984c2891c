extension Catalogue {
    /// The number of results that a search would have with one additional filter.
    public struct MediaAggregations: CatalogueModel {
        /// The results by media type; from `mediaTypeList`.
        public var mediaTypeBuckets: [ValueBucket]?
        /// The results by availability of subtitles; from `subtitleAvailableList`.
        public var subtitlesAvailableBuckets: [ValueBucket]?
        /// The results by availability of a download; from `downloadAvailableList`.
        public var downloadAvailableBuckets: [ValueBucket]?
        /// The results by availability abroad; from `playableAbroadList`.
        public var playableAbroadBuckets: [ValueBucket]?
        /// The results by quality; from `qualityList`.
        public var qualityBuckets: [ValueBucket]?
        /// The results by show; from `showList`.
        public var showBuckets: [ItemBucket]?
        /// The results by topic; from `topicList`.
        public var topicBuckets: [ItemBucket]?
        /// The results by duration; from `durationListInMinutes`.
        public var durationInMinutesBuckets: [ValueBucket]?
        /// The results by day; from `dateList`.
        public var dateBuckets: [ValueBucket]?

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("mediaTypeList", &mediaTypeBuckets)
            try members.read("subtitleAvailableList", &subtitlesAvailableBuckets)
            try members.read("downloadAvailableList", &downloadAvailableBuckets)
            try members.read("playableAbroadList", &playableAbroadBuckets)
            try members.read("qualityList", &qualityBuckets)
            try members.read("showList", &showBuckets)
            try members.read("topicList", &topicBuckets)
            try members.read("durationListInMinutes", &durationInMinutesBuckets)
            try members.read("dateList", &dateBuckets)
        }
    }
}

extension Catalogue.MediaAggregations {
    /// The number of results for a value of a filter.
    ///
    /// A bucket has one of the other properties: the property that its list is about.
    public struct ValueBucket: CatalogueModel {
        /// The day; from `date`.
        public var day: Catalogue.Day?
        /// Whether there is a download; from `downloadAvailable`.
        public var isDownloadAvailable = false
        /// The duration in minutes; from `duration`.
        public var minutes: Double = 0
        /// The media type; from `mediaType`.
        public var mediaType: Catalogue.MediaType = .none
        /// Whether the results can be played abroad; from `playableAbroad`.
        public var isPlayableAbroad = false
        /// The quality; from `quality`.
        public var quality: Catalogue.Resource.Quality = .none
        /// Whether there are subtitles; from `subtitlesAvailable`.
        public var areSubtitlesAvailable = false
        /// The number of results; from `count`.
        public var count: UInt = 0

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("date", &day)
            try members.read("downloadAvailable", &isDownloadAvailable)
            try members.read("duration", &minutes)
            try members.read("mediaType", &mediaType)
            try members.read("playableAbroad", &isPlayableAbroad)
            try members.read("quality", &quality)
            try members.read("subtitlesAvailable", &areSubtitlesAvailable)
            try members.read("count", &count)
        }
    }

    /// The number of results for a show or topic.
    public struct ItemBucket: CatalogueModel {
        /// The URN of the show or topic; from `urn`.
        public var urn = ""
        /// The title of the show or topic; from `title`.
        public var title = ""
        /// The number of results; from `count`.
        public var count: UInt = 0

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("urn", &urn)
            try members.read("title", &title)
            try members.read("count", &count)
        }
    }
}

extension Catalogue {
    /// An alternative query.
    public struct SearchSuggestion: CatalogueModel {
        /// The text; from `text`.
        public var text = ""
        /// The number of exact matches; from `exactMatchTotal`.
        public var numberOfExactMatches: Int = 0

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("text", &text)
            try members.read("exactMatchTotal", &numberOfExactMatches)
        }
    }

    /// A result of a search for medias or shows: only the URN, because the rest of the response is incomplete.
    public struct SearchHit: CatalogueModel {
        /// The URN of the media or show; from `urn`.
        public var urn = ""

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("urn", &urn)
        }
    }
}
