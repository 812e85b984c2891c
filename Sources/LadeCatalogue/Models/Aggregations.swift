/// How many results a search would have with one more restriction.
public struct MediaAggregations: CatalogueModel {
    /// By media type; from `mediaTypeList`.
    public var mediaTypeBuckets: [MediaTypeBucket]?
    /// By whether there are subtitles; from `subtitleAvailableList`.
    public var subtitlesAvailableBuckets: [SubtitlesAvailableBucket]?
    /// By whether there is a download; from `downloadAvailableList`.
    public var downloadAvailableBuckets: [DownloadAvailableBucket]?
    /// By whether they play abroad; from `playableAbroadList`.
    public var playableAbroadBuckets: [PlayableAbroadBucket]?
    /// By quality; from `qualityList`.
    public var qualityBuckets: [QualityBucket]?
    /// By show; from `showList`.
    public var showBuckets: [ItemBucket]?
    /// By topic; from `topicList`.
    public var topicBuckets: [ItemBucket]?
    /// By duration; from `durationListInMinutes`.
    public var durationInMinutesBuckets: [DurationBucket]?
    /// By day; from `dateList`.
    public var dateBuckets: [DateBucket]?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case mediaTypeBuckets = "mediaTypeList"
        case subtitlesAvailableBuckets = "subtitleAvailableList"
        case downloadAvailableBuckets = "downloadAvailableList"
        case playableAbroadBuckets = "playableAbroadList"
        case qualityBuckets = "qualityList"
        case showBuckets = "showList"
        case topicBuckets = "topicList"
        case durationInMinutesBuckets = "durationListInMinutes"
        case dateBuckets = "dateList"
    }
}

/// Results of one day.
public struct DateBucket: CatalogueModel {
    /// The day; from `date`.
    public var day: Day?
    /// How many results there are; from `count`.
    public var count: UInt = 0

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case count
        case day = "date"
    }
}

/// Results with or without a download.
public struct DownloadAvailableBucket: CatalogueModel {
    /// Whether there is a download; from `downloadAvailable`.
    public var isDownloadAvailable = false
    /// How many results there are; from `count`.
    public var count: UInt = 0

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case count
        case isDownloadAvailable = "downloadAvailable"
    }
}

/// Results of about one duration.
public struct DurationBucket: CatalogueModel {
    /// The duration in minutes; from `duration`.
    public var minutes: Double = 0
    /// How many results there are; from `count`.
    public var count: UInt = 0

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case count
        case minutes = "duration"
    }
}

/// Results of one show or topic.
public struct ItemBucket: CatalogueModel {
    /// The URN of the show or topic; from `urn`.
    public var urn = ""
    /// The title of the show or topic; from `title`.
    public var title = ""
    /// How many results there are; from `count`.
    public var count: UInt = 0

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn, title, count
    }
}

/// Results of one media type.
public struct MediaTypeBucket: CatalogueModel {
    /// The media type; from `mediaType`.
    public var mediaType: MediaType = .none
    /// How many results there are; from `count`.
    public var count: UInt = 0

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case mediaType, count
    }
}

/// Results that play abroad, or do not.
public struct PlayableAbroadBucket: CatalogueModel {
    /// Whether they play abroad; from `playableAbroad`.
    public var isPlayableAbroad = false
    /// How many results there are; from `count`.
    public var count: UInt = 0

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case count
        case isPlayableAbroad = "playableAbroad"
    }
}

/// Results of one quality.
public struct QualityBucket: CatalogueModel {
    /// The quality; from `quality`.
    public var quality: Quality = .none
    /// How many results there are; from `count`.
    public var count: UInt = 0

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case quality, count
    }
}

/// Results with or without subtitles.
public struct SubtitlesAvailableBucket: CatalogueModel {
    /// Whether there are subtitles; from `subtitlesAvailable`.
    public var areSubtitlesAvailable = false
    /// How many results there are; from `count`.
    public var count: UInt = 0

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case count
        case areSubtitlesAvailable = "subtitlesAvailable"
    }
}

/// A text to search for instead.
public struct SearchSuggestion: CatalogueModel {
    /// The text; from `text`.
    public var text = ""
    /// How many results it has; from `exactMatchTotal`.
    public var numberOfExactMatches: Int = 0

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case text
        case numberOfExactMatches = "exactMatchTotal"
    }
}

/// What a search for medias delivers: the URN alone, for the rest of the answer is incomplete.
public struct MediaSearchHit: CatalogueModel {
    /// The URN of the media; from `urn`.
    public var urn = ""

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn
    }
}

/// What a search for shows delivers: the URN alone, for the rest of the answer is incomplete.
public struct ShowSearchHit: CatalogueModel {
    /// The URN of the show; from `urn`.
    public var urn = ""

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn
    }
}
