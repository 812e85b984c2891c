/// A count of views, likes or shares.
public struct SocialCount: CatalogueModel {
    /// The kind of count; from `key`.
    public var type: SocialCountType = .none
    /// The count; from `value`.
    public var value: Int = 0

    /// Makes an empty value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case type = "key"
        case value
    }
}

/// The counts of a media.
///
/// Values are equal when their URNs are.
public struct SocialCountOverview: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The identifier among everything in the catalogue; from `urn`.
    public var urn = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// The media type, video or audio; from `mediaType`.
    public var mediaType: MediaType = .none
    /// The counts; from `socialCountList`.
    public var socialCounts: [SocialCount]?

    /// Makes an empty value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case uid = "id"
        case urn, vendor, mediaType
        case socialCounts = "socialCountList"
    }

    /// The key for comparing values.
    public var identity: String { urn }
}

/// The counts of a show.
///
/// Values are equal when their URNs are.
public struct ShowStatisticsOverview: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The identifier among everything in the catalogue; from `urn`.
    public var urn = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// The way of broadcasting; from `transmission`.
    public var transmission: Transmission = .none
    /// The number of times the show was opened from search results; from `searchResultClicked`.
    public var searchResultsViewCount: Int = 0

    /// Makes an empty value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case uid = "id"
        case urn, vendor, transmission
        case searchResultsViewCount = "searchResultClicked"
    }

    /// The key for comparing values.
    public var identity: String { urn }
}
