/// The number of results that a search would have with one additional filter.
public struct MediaAggregations: CatalogueModel {
    /// The results by media type; from `mediaTypeList`.
    public var mediaTypeBuckets: [MediaTypeBucket]?
    /// The results by availability of subtitles; from `subtitleAvailableList`.
    public var subtitlesAvailableBuckets: [SubtitlesAvailableBucket]?
    /// The results by availability of a download; from `downloadAvailableList`.
    public var downloadAvailableBuckets: [DownloadAvailableBucket]?
    /// The results by availability abroad; from `playableAbroadList`.
    public var playableAbroadBuckets: [PlayableAbroadBucket]?
    /// The results by quality; from `qualityList`.
    public var qualityBuckets: [QualityBucket]?
    /// The results by show; from `showList`.
    public var showBuckets: [ItemBucket]?
    /// The results by topic; from `topicList`.
    public var topicBuckets: [ItemBucket]?
    /// The results by duration; from `durationListInMinutes`.
    public var durationInMinutesBuckets: [DurationBucket]?
    /// The results by day; from `dateList`.
    public var dateBuckets: [DateBucket]?

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

/// The number of results for a day.
public struct DateBucket: CatalogueModel {
    /// The day; from `date`.
    public var day: Day?
    /// The number of results; from `count`.
    public var count: UInt = 0

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("date", &day)
        try members.read("count", &count)
    }
}

/// The number of results with or without a download.
public struct DownloadAvailableBucket: CatalogueModel {
    /// Whether there is a download; from `downloadAvailable`.
    public var isDownloadAvailable = false
    /// The number of results; from `count`.
    public var count: UInt = 0

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("downloadAvailable", &isDownloadAvailable)
        try members.read("count", &count)
    }
}

/// The number of results with a similar duration.
public struct DurationBucket: CatalogueModel {
    /// The duration in minutes; from `duration`.
    public var minutes: Double = 0
    /// The number of results; from `count`.
    public var count: UInt = 0

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("duration", &minutes)
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

/// The number of results for a media type.
public struct MediaTypeBucket: CatalogueModel {
    /// The media type; from `mediaType`.
    public var mediaType: CatalogueMediaType = .none
    /// The number of results; from `count`.
    public var count: UInt = 0

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("mediaType", &mediaType)
        try members.read("count", &count)
    }
}

/// The number of results that can, or cannot, be played abroad.
public struct PlayableAbroadBucket: CatalogueModel {
    /// Whether the results can be played abroad; from `playableAbroad`.
    public var isPlayableAbroad = false
    /// The number of results; from `count`.
    public var count: UInt = 0

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("playableAbroad", &isPlayableAbroad)
        try members.read("count", &count)
    }
}

/// The number of results with a quality.
public struct QualityBucket: CatalogueModel {
    /// The quality; from `quality`.
    public var quality: Quality = .none
    /// The number of results; from `count`.
    public var count: UInt = 0

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("quality", &quality)
        try members.read("count", &count)
    }
}

/// The number of results with or without subtitles.
public struct SubtitlesAvailableBucket: CatalogueModel {
    /// Whether there are subtitles; from `subtitlesAvailable`.
    public var areSubtitlesAvailable = false
    /// The number of results; from `count`.
    public var count: UInt = 0

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("subtitlesAvailable", &areSubtitlesAvailable)
        try members.read("count", &count)
    }
}

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

/// A result of a search for medias: only the URN, because the rest of the response is incomplete.
public struct MediaSearchHit: CatalogueModel {
    /// The URN of the media; from `urn`.
    public var urn = ""

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("urn", &urn)
    }
}

/// A result of a search for shows: only the URN, because the rest of the response is incomplete.
public struct ShowSearchHit: CatalogueModel {
    /// The URN of the show; from `urn`.
    public var urn = ""

    /// Makes an empty value, for previews and tests.
    public init() {}

    /// Reads the properties.
    public mutating func read(_ members: borrowing ModelMembers) throws {
        try members.read("urn", &urn)
    }
}
