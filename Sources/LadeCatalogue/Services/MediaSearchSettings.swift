extension Catalogue {
    /// The filters and the order of a search for medias.
    public struct MediaSearchSettings: Sendable, Hashable {
        /// Whether the response contains the number of results for further filters; true by default.
        public var aggregationsEnabled = true
        /// Whether the response contains alternative queries; false by default.
        public var suggestionsEnabled = false
        /// Whether any word may match; by default all words must match.
        public var matchesAnyWord = false
        /// Whether words must match exactly; by default similar words match.
        public var matchesExactly = false
        /// The shows that medias belong to; any by default.
        public var showURNs: Set<String> = []
        /// The topics that medias belong to; any by default.
        public var topicURNs: Set<String> = []
        /// The media type; `none` by default, for any.
        public var mediaType = MediaType.none
        /// Whether results must have subtitles.
        public var subtitlesAvailable = false
        /// Whether results must have a download.
        public var downloadAvailable = false
        /// Whether results must be playable abroad.
        public var playableAbroad = false
        /// The minimum quality; `none` by default, for any.
        public var quality = Resource.Quality.none
        /// The minimum duration in minutes.
        public var minimumDurationInMinutes: Double?
        /// The maximum duration in minutes.
        public var maximumDurationInMinutes: Double?
        /// The first day of publication.
        public var fromDay: Day?
        /// The last day of publication.
        public var toDay: Day?
        /// Whether results are sorted by date; by default they are sorted by the relevance of the match.
        public var sortsByDate = false
        /// Whether the worst or earliest results come first; by default the best or latest do.
        public var sortsAscending = false

        /// Makes the default settings.
        public init() {}

        /// The query items for the settings, in order.
        public var queryItems: [(name: String, value: String)] {
            let items: [(String, String?)] = [
                ("includeAggregations", String(aggregationsEnabled)),
                ("includeSuggestions", String(suggestionsEnabled)),
                ("operator", matchesAnyWord ? "or" : nil),
                ("enableFuzzySearch", matchesExactly ? "false" : nil),
                ("showUrns", showURNs.isEmpty ? nil : showURNs.sorted().joined(separator: ",")),
                ("topicUrns", topicURNs.isEmpty ? nil : topicURNs.sorted().joined(separator: ",")),
                ("mediaType", mediaType.item),
                ("subtitlesAvailable", subtitlesAvailable ? "true" : nil),
                ("downloadAvailable", downloadAvailable ? "true" : nil),
                ("playableAbroad", playableAbroad ? "true" : nil),
                // The service does not support a third quality.
                ("quality", quality == .none ? nil : quality == .sd ? "sd" : "hd"),
                ("durationFromInMinutes", minimumDurationInMinutes.map(Self.text)),
                ("durationToInMinutes", maximumDurationInMinutes.map(Self.text)),
                ("publishedDateFrom", fromDay?.string),
                ("publishedDateTo", toDay?.string),
                ("sortBy", sortsByDate ? "date" : "default"),
                ("sortDir", sortsAscending ? "asc" : "desc"),
            ]
            return items.compactMap { name, value in value.map { (name, $0) } }
        }

        /// A number without trailing zeros.
        private static func text(_ number: Double) -> String {
            Int(exactly: number).map(String.init) ?? String(number)
        }
    }
}

extension Catalogue {
    /// The URNs of the medias that match a query and settings.
    ///
    /// - Parameters:
    ///   - unit: The business unit; swissinfo does not support settings.
    ///   - query: The query; nil to use only the settings.
    ///   - settings: The filters; nil for none, which includes aggregations.
    /// - Returns: Pages of URNs only, because the service's results are incomplete. Load the medias with
    ///   ``medias(urns:)``.
    /// - Throws: ``CatalogueError/emptyQuery`` for a blank query; ``CatalogueError/malformedURN(_:)`` and
    ///   ``CatalogueError/dayOutOfRange(_:)`` for invalid settings.
    public func mediaSearch(
        _ unit: BusinessUnit? = nil,
        matching query: String?,
        settings: MediaSearchSettings? = nil
    ) throws(CatalogueError) -> PagedEndpoint<Listing<SearchHit>> {
        var values: [String: String] = [:]
        if let query { values["q"] = try checkedQuery(query) }
        guard let settings else {
            guard query != nil else { throw .emptyQuery }
            return try pages("mediaSearch", unit, values)
        }
        for urn in settings.showURNs.sorted() + settings.topicURNs.sorted() { _ = try checked(urn) }
        for day in [settings.fromDay, settings.toDay] { _ = try inRange(day) }
        for item in settings.queryItems { values[item.name] = item.value }
        return try pages("mediaSearchWithSettings", unit, values)
    }

    /// The URNs of the shows with a transmission that match a query.
    ///
    /// - Throws: ``CatalogueError/nothingChosen(name:)`` for a transmission that the search does not support; `none`
    ///   means any.
    public func showSearch(
        _ unit: BusinessUnit? = nil,
        matching query: String,
        transmission: Transmission
    ) throws(CatalogueError) -> PagedEndpoint<Listing<SearchHit>> {
        switch transmission {
        case .none: try showSearch(unit, matching: query)
        case .tv: try tvShowSearch(unit, matching: query)
        case .radio: try radioShowSearch(unit, matching: query)
        case .online, .unknown: throw .nothingChosen(name: "transmission \(transmission)")
        }
    }

    /// The most searched shows with a transmission, from services that no longer respond.
    public func mostSearchedShows(
        _ unit: BusinessUnit? = nil,
        transmission: Transmission
    ) throws(CatalogueError) -> Endpoint<[Show]> {
        switch transmission {
        case .none: try mostSearchedShows(unit)
        case .tv: try tvMostSearchedShows(unit)
        case .radio: try radioMostSearchedShows(unit)
        case .online, .unknown: throw .nothingChosen(name: "transmission \(transmission)")
        }
    }

    /// The latest videos with all of the given tags.
    ///
    /// - Parameters:
    ///   - unit: The business unit.
    ///   - tags: The tags that results must have.
    ///   - excludedTags: The tags that results must not have.
    ///   - excludesFullLength: Whether full episodes are excluded; false by default.
    /// - Returns: The pages.
    /// - Throws: ``CatalogueError/invalidIdentifier(name:_:)`` for a tag that is empty or contains a comma.
    public func videosWithTags(
        _ unit: BusinessUnit? = nil,
        _ tags: [String],
        excluding excludedTags: [String] = [],
        excludesFullLength: Bool = false
    ) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        let values = present([
            "includes": try joinedIdentifiers(tags),
            "excludes": excludedTags.isEmpty ? nil : try joinedIdentifiers(excludedTags),
        ])
        return try pages(
            excludesFullLength ? "videosWithTagsExcludingFullLength" : "videosWithTags",
            unit,
            values
        )
    }
}
