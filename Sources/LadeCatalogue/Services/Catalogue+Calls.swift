#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import Lade

/// A response of the catalogue as JSON, for tools that call services by name.
package struct CatalogueResponse: Sendable, Hashable {
    /// The bytes of the response.
    package let data: Data
    /// The response as a JSON value.
    package let document: JSONValue

    init(_ data: Data) throws(JSONError) {
        self.data = data
        document = try JSONValue(parsing: data)
    }

    /// The key of the list in the response, such as `mediaList`; nil for a single object.
    package var listKey: String? {
        // A composition and a page have a list of parts. Other objects with a title may contain further lists.
        if let key = ["chapterList", "sectionList"].first(where: { document[$0]?.array != nil }) { return key }
        guard document["title"] == nil else { return nil }
        return Self.listKeys.first { document[$0]?.array != nil }
    }

    /// The items of the list; nil for a single object.
    package var items: [JSONValue]? { listKey.flatMap { document[$0]?.array } }

    /// The number of items on all pages; nil when the response does not contain it.
    package var total: Int? { document["total"]?.integer.flatMap { Int(exactly: $0) } }

    /// The keys of the lists of services.
    package static let listKeys = [
        "mediaList", "showList", "channelList", "topicList", "songList", "moduleConfigList", "programGuide",
        "programList", "episodeList", "searchResultMediaList", "searchResultShowList", "searchResultListMedia",
        "searchResultListShow",
    ]
}

extension Catalogue {
    /// Makes the request of a service by name, after it has validated the values.
    ///
    /// - Parameters:
    ///   - service: The service.
    ///   - unit: The business unit; by default the catalogue's. Services without a business unit in their path need none.
    ///   - values: The values of ``CatalogueService/arguments``, by name.
    /// - Returns: The pages; a single one for a service without pages.
    /// - Throws: ``CatalogueError`` for a missing, unknown or invalid value, and when the business unit does not offer
    ///   the service.
    package func call(
        _ service: CatalogueService,
        _ unit: BusinessUnit? = nil,
        _ values: [String: String] = [:]
    ) throws(CatalogueError) -> PagedEndpoint<CatalogueResponse> {
        try checkAvailability(of: service, unit)
        let valid = try validated(values, for: service)
        if service.paging == .urns {
            let urns = (valid["urns"] ?? "").parts(at: ",", omitsEmpty: true).map(String.init)
            return try urnPages(service.name, urns) { $0.response }
        }
        var endpoint = try endpoint(service, unit, valid)
        if service.acceptsEvent { endpoint = try endpoint.posting(valid["event"]) }
        return PagedEndpoint(
            endpoint.response,
            paginator: .target { service.paging == .none ? nil : $0.document["next"]?.string },
            itemCount: { $0.items?.count ?? 1 }
        ).sized(for: service)
    }

    private func validated(
        _ values: [String: String],
        for service: CatalogueService
    ) throws(CatalogueError) -> [String: String] {
        let arguments = service.arguments
        let names = arguments.map(\.name)
        for name in values.keys.sorted() where !names.contains(name) {
            throw .unknownArgument(service: service.name, name: name.escapedForDisplay(limit: 40), known: names)
        }
        var valid: [String: String] = [:]
        for argument in arguments {
            if let value = values[argument.name] {
                valid[argument.name] = try checked(value, for: argument)
            } else if argument.isRequired {
                throw .missingArgument(
                    service: service.name,
                    name: argument.name,
                    form: argument.form.description
                )
            } else if argument.name == "day" {
                valid[argument.name] = try text(nil)
            }
        }
        return valid
    }

    private func checked(
        _ value: String,
        for argument: CatalogueService.Argument
    ) throws(CatalogueError) -> String {
        let isValid: Bool
        switch argument.form {
        case .urn: return try checked(value)
        case .urns(let limit):
            let urns = value.parts(at: ",").map(String.init)
            for urn in urns { _ = try checked(urn) }
            return try limit.map { limit throws(CatalogueError) in try joined(urns, limit: limit) } ?? value
        case .query: return try checkedQuery(value)
        case .day: return try Day(validating: value).string
        case .month: isValid = Day(value + "-01") != nil
        case .time: isValid = Self.isTime(value)
        case .flag: isValid = ["true", "false"].contains(value)
        case .number(let range):
            guard let number = Int(value) else { throw invalid(value, argument) }
            guard range.contains(number) else { throw .limit(name: argument.name, number, allowed: range) }
            return String(number)
        case .quantity: isValid = Double(value).map { $0.isFinite && $0 >= 0 } ?? false
        case .word(let words): isValid = words.contains(value)
        case .identifiers:
            return try joinedIdentifiers(
                value.parts(at: ",").map(String.init)
            )
        case .identifier: isValid = !value.isEmpty && value != "." && value != ".."
        }
        guard isValid else { throw invalid(value, argument) }
        return value
    }

    private func invalid(_ value: String, _ argument: CatalogueService.Argument) -> CatalogueError {
        .invalidArgument(
            name: argument.name,
            value.escapedForDisplay(limit: 80),
            form: argument.form.description
        )
    }

    /// Whether a text has the form `2023-12-30T20:00:00`.
    private static func isTime(_ text: String) -> Bool {
        let parts = text.parts(at: "T")
        guard parts.count == 2, Day(String(parts[0])) != nil else { return false }
        let time = parts[1].parts(at: ":")
        guard time.count == 3, time.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy { (48...57).contains($0) } })
        else { return false }
        return zip(time, [24, 60, 60]).allSatisfy { part, limit in Int(part).map { $0 < limit } ?? false }
    }
}

extension Endpoint<Data> {
    /// The endpoint whose value is the response as JSON.
    fileprivate var response: Endpoint<CatalogueResponse> { map { try CatalogueResponse($0) } }
}

extension CatalogueService {
    /// The business units that offer the service, in the order of their names.
    public var sortedUnits: [Catalogue.BusinessUnit] { units.sorted { $0.rawValue < $1.rawValue } }

    /// The service with a name; nil when there is none.
    public static func named(_ name: String) -> CatalogueService? { byName[name] }

    private static let byName = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }

    /// All services: those of ``today``, then those of ``firstGeneration``.
    public static let all = today + firstGeneration
}
