extension Catalogue {
    /// A count of views, likes or shares.
    public struct SocialCount: CatalogueModel {
        /// The kind of count; from `key`.
        public var type: Kind = .none
        /// The count; from `value`.
        public var value: Int = 0

        /// Makes an empty value, for previews and tests.
        public init() {}

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("key", &type)
            try members.read("value", &value)
        }
    }

    /// The counts of a media.
    ///
    /// Values are equal when their URNs are.
    public struct SocialCountOverview: KeyedModel, Identified {
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

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("id", &uid)
            try members.read("urn", &urn)
            try members.read("vendor", &vendor)
            try members.read("mediaType", &mediaType)
            try members.read("socialCountList", &socialCounts)
        }

        /// The key for comparing values.
        public var identity: String { urn }
    }

    /// The counts of a show.
    ///
    /// Values are equal when their URNs are.
    public struct ShowStatisticsOverview: KeyedModel, Identified {
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

        /// Reads the properties.
        public mutating func read(_ members: borrowing ModelMembers) throws {
            try members.read("id", &uid)
            try members.read("urn", &urn)
            try members.read("vendor", &vendor)
            try members.read("transmission", &transmission)
            try members.read("searchResultClicked", &searchResultsViewCount)
        }

        /// The key for comparing values.
        public var identity: String { urn }
    }
}

extension Catalogue.SocialCount {
    /// The kind of a count.
    public enum Kind: String, CatalogueWord {
        /// No value.
        case none = ""
        /// `srgView`.
        case view = "srgView"
        /// `srgLike`.
        case like = "srgLike"
        /// `fbShare`.
        case facebook = "fbShare"
        /// `twitterShare`.
        case twitter = "twitterShare"
        /// `googleShare`.
        case googlePlus = "googleShare"
        /// `whatsAppShare`.
        case whatsApp = "whatsAppShare"
    }
}
