extension CatalogueService {
    /// A value that a service accepts: a variable of its path, or a query item.
    package struct Argument: Sendable, Hashable {
        /// The form of a value.
        package enum Form: Sendable, Hashable {
            /// A URN, such as `urn:rts:video:1`.
            case urn
            /// URNs, separated by commas; with a limit of their number where the service has one.
            case urns(limit: Int?)
            /// A day, such as `2023-12-30`.
            case day
            /// A month, such as `2023-12`.
            case month
            /// A time in Zurich, such as `2023-12-30T20:00:00`.
            case time
            /// A text that is not blank.
            case query
            /// `true` or `false`.
            case flag
            /// A whole number within a range.
            case number(ClosedRange<Int>)
            /// A number that is not negative.
            case quantity
            /// One of some words.
            case word([String])
            /// An identifier.
            case identifier
            /// Identifiers, separated by commas.
            case identifiers
        }

        /// The name in ``CatalogueService/path`` or ``CatalogueService/query``.
        package let name: String
        /// The form of the value.
        package let form: Form
        /// Whether a call needs the argument.
        ///
        /// A day in a path is optional; its default is the current day.
        package let isRequired: Bool
    }

    /// The values that the service accepts: the required ones first, then by their order in the path and the query.
    ///
    /// Services that count also accept `event`, the ``Catalogue/Subdivision/event`` of a chapter or segment, which is sent as the
    /// body.
    package var arguments: [Argument] {
        let inPath = variables.map { argument($0, isRequired: $0 != "day") }
        let own = query.filter { !$0.contains("=") }.map { argument($0, isRequired: isRequired($0)) }
        let event = acceptsEvent ? [Argument(name: "event", form: .identifier, isRequired: !isFirstGeneration)] : []
        let all = inPath + own + event
        return all.filter(\.isRequired) + all.filter { !$0.isRequired }
    }

    /// Whether the service has a body with the event that is counted.
    var acceptsEvent: Bool { method == .post && path.contains("{endpoint}") }

    private func isRequired(_ item: String) -> Bool {
        switch item {
        case "q": name != "mediaSearchWithSettings"
        case "urns", "ids", "topicId", "includes": true
        default: false
        }
    }

    private func argument(_ name: String, isRequired: Bool) -> Argument {
        Argument(name: name, form: form(of: name), isRequired: isRequired)
    }

    private func form(of name: String) -> Argument.Form {
        switch name {
        case "urn", "topicUrn", "showUrn": .urn
        case "urns": .urns(limit: self.name == "showsLatestMedias" ? 10 : nil)
        case "showUrns", "topicUrns": .urns(limit: nil)
        case "ids", "includes", "excludes": .identifiers
        case "day", "publishedDateFrom", "publishedDateTo": .day
        case "maxPublishedDate": isFirstGeneration ? .month : .day
        case "minEndTime", "maxStartTime", "previewDate": .time
        case "q": .query
        case "pageSize", "maxCountEditorPicks": .number(0...50)
        case "durationFromInMinutes", "durationToInMinutes": .quantity
        case "reduced", "signLanguageOnly", "onlyEpisodes", "includeThirdPartyStreams", "onlyEventsWithResult",
            "isPublished", "onlyChapters", "includeAggregations", "includeSuggestions", "enableFuzzySearch",
            "subtitlesAvailable", "downloadAvailable", "playableAbroad":
            .flag
        default: Self.words(of: name, self).map { .word($0) } ?? .identifier
        }
    }

    private static func words(of name: String, _ service: CatalogueService) -> [String]? {
        let mediaTypes = ["video", "audio"]
        switch name {
        case "type":
            return service.name == "increaseSocialCountByUid"
                ? mediaTypes : [Catalogue.Module.Kind.event.rawValue.lowercased()]
        case "mediaType": return mediaTypes
        case "endpoint":
            return Catalogue.SocialCount.Kind.allCases.compactMap { type in
                // Only `none` has no endpoint.
                try? type.endpoint()
            }
        case "eventType": return Catalogue.ScheduledLivestreamEventType.allCases.compactMap(\.item)
        case "types":
            let isOfShows = service.name == "showsLatestMedias"
            return isOfShows
                ? Catalogue.MediaFilter.allCases.compactMap(\.item)
                : Catalogue.ContentTypeFilter.allCases.compactMap(\.item)
        case "onlyThirdPartyContentProvider": return [Catalogue.BusinessUnit.ssatr.rawValue]
        case "operator": return ["and", "or"]
        case "quality": return ["sd", "hd"]
        case "sortBy": return ["default", "date"]
        case "sortDir": return ["desc", "asc"]
        default: return nil
        }
    }
}

extension CatalogueService.Argument.Form: CustomStringConvertible {
    /// The form in a few words.
    package var description: String {
        switch self {
        case .urn: "a URN"
        case .urns(let limit): "URNs, separated by commas" + (limit.map { ", \($0) at most" } ?? "")
        case .day: "a day, such as 2023-12-30"
        case .month: "a month, such as 2023-12"
        case .time: "a time in Zurich, such as 2023-12-30T20:00:00"
        case .query: "the words to search for"
        case .flag: "true or false"
        case .number(let range): "a number from \(range.lowerBound) to \(range.upperBound)"
        case .quantity: "a number"
        case .word(let words): words.joined(separator: " or ")
        case .identifier: "an identifier"
        case .identifiers: "identifiers, separated by commas"
        }
    }
}
