/// What a search for medias is narrowed to, and how its results are sorted.
public struct MediaSearchSettings: Sendable, Hashable {
    /// How words are matched.
    public struct MatchingOptions: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: Int

        /// Makes options of bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Any of the words is enough; all must match by default.
        public static let any = MatchingOptions(rawValue: 1)
        /// Words must match exactly; similar ones match by default.
        public static let exact = MatchingOptions(rawValue: 2)
    }

    /// What results are sorted by.
    public enum SortCriterion: String, Sendable, Hashable, CaseIterable {
        /// How well they match.
        case `default`
        /// Their date.
        case date
    }

    /// In which direction results are sorted.
    public enum SortDirection: String, Sendable, Hashable, CaseIterable {
        /// The best or latest first.
        case descending = "desc"
        /// The worst or earliest first.
        case ascending = "asc"
    }

    /// Whether the answer says how many results further restrictions would leave; it does by default.
    public var aggregationsEnabled = true
    /// Whether the answer says what else to search for; not by default.
    public var suggestionsEnabled = false
    /// How words are matched; all of them, or similar ones, by default.
    public var matchingOptions: MatchingOptions = []
    /// The shows that medias belong to; any by default.
    public var showURNs: Set<String> = []
    /// The topics that medias belong to; any by default.
    public var topicURNs: Set<String> = []
    /// The media type; `none`, the default, for any.
    public var mediaType = MediaType.none
    /// Whether there must be subtitles.
    public var subtitlesAvailable = false
    /// Whether there must be a download.
    public var downloadAvailable = false
    /// Whether medias must play abroad.
    public var playableAbroad = false
    /// The least quality; `none`, the default, for any.
    public var quality = Quality.none
    /// The least duration in minutes.
    public var minimumDurationInMinutes: Double?
    /// The longest duration in minutes.
    public var maximumDurationInMinutes: Double?
    /// The first day of publication.
    public var fromDay: Day?
    /// The last day of publication.
    public var toDay: Day?
    /// What results are sorted by.
    public var sortCriterion = SortCriterion.default
    /// In which direction results are sorted.
    public var sortDirection = SortDirection.descending

    /// Makes the default settings.
    public init() {}

    /// The query items that the settings are sent as, in order.
    public var queryItems: [(name: String, value: String)] {
        let items: [(String, String?)] = [
            ("includeAggregations", String(aggregationsEnabled)),
            ("includeSuggestions", String(suggestionsEnabled)),
            ("operator", matchingOptions.contains(.any) ? "or" : nil),
            ("enableFuzzySearch", matchingOptions.contains(.exact) ? "false" : nil),
            ("showUrns", showURNs.isEmpty ? nil : showURNs.sorted().joined(separator: ",")),
            ("topicUrns", topicURNs.isEmpty ? nil : topicURNs.sorted().joined(separator: ",")),
            ("mediaType", mediaType.item),
            ("subtitlesAvailable", subtitlesAvailable ? "true" : nil),
            ("downloadAvailable", downloadAvailable ? "true" : nil),
            ("playableAbroad", playableAbroad ? "true" : nil),
            // The service has no third quality.
            ("quality", quality == .none ? nil : quality == .sd ? "sd" : "hd"),
            ("durationFromInMinutes", minimumDurationInMinutes.map(Self.text)),
            ("durationToInMinutes", maximumDurationInMinutes.map(Self.text)),
            ("publishedDateFrom", fromDay?.string),
            ("publishedDateTo", toDay?.string),
            ("sortBy", sortCriterion.rawValue),
            ("sortDir", sortDirection.rawValue),
        ]
        return items.compactMap { name, value in value.map { (name, $0) } }
    }

    /// A number without superfluous decimals.
    private static func text(_ number: Double) -> String {
        Int(exactly: number).map(String.init) ?? String(number)
    }
}

extension Catalogue {
    /// The URNs of the medias that match a query, and settings.
    ///
    /// - Parameters:
    ///   - unit: The business unit; swissinfo knows no settings.
    ///   - query: What to search for; nil to browse by settings alone.
    ///   - settings: What results are narrowed to; nil for nothing, which includes aggregations.
    /// - Returns: The pages, of URNs alone: the service's results are incomplete. Load the medias by ``medias(urns:)``.
    /// - Throws: ``CatalogueError/emptyQuery`` for a query of blanks; ``CatalogueError/malformedURN(_:)`` and
    ///   ``CatalogueError/dayOutOfRange(_:)`` for such settings.
    public func mediaSearch(
        _ unit: BusinessUnit,
        matching query: String?,
        settings: MediaSearchSettings? = nil
    ) throws(CatalogueError) -> PagedEndpoint<Listing<MediaSearchHit>> {
        var values: [String: String] = [:]
        if let query { values["q"] = try checkedQuery(query) }
        guard let settings else {
            guard query != nil else { throw .emptyQuery }
            return try pages(.mediaSearch, unit, values)
        }
        for urn in settings.showURNs.sorted() + settings.topicURNs.sorted() { _ = try checked(urn) }
        for day in [settings.fromDay, settings.toDay] { _ = try inRange(day) }
        for item in settings.queryItems { values[item.name] = item.value }
        return try pages(.mediaSearchWithSettings, unit, values)
    }

    /// The URNs of the shows of a transmission that match a query.
    ///
    /// - Throws: ``CatalogueError/nothingChosen(name:)`` for a transmission that shows cannot be searched by; ``none``
    ///   stands for any.
    public func showSearch(
        _ unit: BusinessUnit,
        matching query: String,
        transmission: Transmission
    ) throws(CatalogueError) -> PagedEndpoint<Listing<ShowSearchHit>> {
        switch transmission {
        case .none: try showSearch(unit, matching: query)
        case .tv: try tvShowSearch(unit, matching: query)
        case .radio: try radioShowSearch(unit, matching: query)
        case .online, .unknown: throw .nothingChosen(name: "transmission \(transmission)")
        }
    }

    /// The most searched shows of a transmission, from services that do not answer any more.
    public func mostSearchedShows(
        _ unit: BusinessUnit,
        transmission: Transmission
    ) throws(CatalogueError) -> Endpoint<[Show]> {
        switch transmission {
        case .none: try mostSearchedShows(unit)
        case .tv: try tvMostSearchedShows(unit)
        case .radio: try radioMostSearchedShows(unit)
        case .online, .unknown: throw .nothingChosen(name: "transmission \(transmission)")
        }
    }

    /// The latest videos with all of some tags.
    ///
    /// - Parameters:
    ///   - unit: The business unit.
    ///   - tags: The tags that videos must have.
    ///   - excludedTags: The tags that videos must not have.
    ///   - excludesFullLength: Whether full episodes are left out; not by default.
    /// - Returns: The pages.
    /// - Throws: ``CatalogueError/invalidIdentifier(name:_:)`` for a tag that is empty or has a comma.
    public func videosWithTags(
        _ unit: BusinessUnit,
        _ tags: [String],
        excluding excludedTags: [String] = [],
        excludesFullLength: Bool = false
    ) throws(CatalogueError) -> PagedEndpoint<Listing<Media>> {
        let values = present([
            "includes": try joinedIdentifiers(tags),
            "excludes": excludedTags.isEmpty ? nil : try joinedIdentifiers(excludedTags),
        ])
        return try pages(excludesFullLength ? .videosWithTagsExcludingFullLength : .videosWithTags, unit, values)
    }
}
