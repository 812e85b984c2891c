/// How often something was viewed, liked or shared.
public struct SocialCount: CatalogueModel {
    /// What was counted; from `key`.
    public var type: SocialCountType = .none
    /// How often; from `value`.
    public var value: Int = 0

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case value
        case type = "key"
    }
}

/// The counts of a media.
///
/// Two are equal when their URNs are.
public struct SocialCountOverview: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The identifier among everything in the catalogue; from `urn`.
    public var urn = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// Video or audio; from `mediaType`.
    public var mediaType: MediaType = .none
    /// The counts; from `socialCountList`.
    public var socialCounts: [SocialCount]?

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn, vendor, mediaType
        case uid = "id"
        case socialCounts = "socialCountList"
    }

    /// What tells it from others of its kind.
    public var identity: String { urn }
}

/// The counts of a show.
///
/// Two are equal when their URNs are.
public struct ShowStatisticsOverview: KeyedModel {
    /// The identifier within its business unit and kind; from `id`.
    public var uid = ""
    /// The identifier among everything in the catalogue; from `urn`.
    public var urn = ""
    /// The broadcaster; from `vendor`.
    public var vendor: Vendor = .none
    /// How it is broadcast; from `transmission`.
    public var transmission: Transmission = .none
    /// How often it was opened from search results; from `searchResultClicked`.
    public var searchResultsViewCount: Int = 0

    /// Makes one without any value, for previews and tests.
    public init() {}

    enum CodingKeys: String, JSONKey {
        case urn, vendor, transmission
        case uid = "id"
        case searchResultsViewCount = "searchResultClicked"
    }

    /// What tells it from others of its kind.
    public var identity: String { urn }
}
