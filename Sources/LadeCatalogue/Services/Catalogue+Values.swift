#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

// Validates and formats the values that services accept.
extension Catalogue {
    /// The values that are not nil.
    func present(_ values: [String: String?]) -> [String: String] { values.compactMapValues { $0 } }

    /// A valid URN for a path or a list.
    func checked(_ urn: String) throws(CatalogueError) -> String {
        let parts = urn.parts(at: ":")
        let isForm = parts.count >= 4 && parts[0].lowercased() == "urn" && parts.allSatisfy { !$0.isEmpty }
        // These characters are not visible ASCII, or separate URNs in a list.
        let isClean = urn.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ",") }
        guard isForm, isClean else { throw .malformedURN(urn.escapedForDisplay(limit: 80)) }
        return urn
    }

    /// URNs as a list; the service omits unknown ones.
    func joined(_ urns: [String], limit: Int) throws(CatalogueError) -> String {
        guard urns.count <= limit else { throw .tooMany(name: "URNs", urns.count, limit: limit) }
        return try joined(urns[...])
    }

    func joined(_ urns: ArraySlice<String>) throws(CatalogueError) -> String {
        for urn in urns {
            let separates = urn.utf8.contains { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: ",") }
            guard !urn.isEmpty, !separates else { throw .malformedURN(urn.escapedForDisplay(limit: 80)) }
        }
        return urns.joined(separator: ",")
    }

    func joinedIdentifiers(_ uids: [String]) throws(CatalogueError) -> String {
        for uid in uids where uid.isEmpty || uid.contains(",") {
            throw .invalidIdentifier(name: "identifier", uid.escapedForDisplay(limit: 80))
        }
        return uids.joined(separator: ",")
    }

    /// A query that is not blank.
    func checkedQuery(_ query: String) throws(CatalogueError) -> String {
        guard query.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else { throw .emptyQuery }
        return query
    }

    /// A day, by default the current one.
    func text(_ day: Day?) throws(CatalogueError) -> String {
        try inRange(day) ?? Day.today(decoder.time).string
    }

    func inRange(_ day: Day?) throws(CatalogueError) -> String? {
        guard let day else { return nil }
        guard day.isInRange else { throw .dayOutOfRange(day.string) }
        return day.string
    }

    func month(_ day: Day?) throws(CatalogueError) -> String? {
        try inRange(day).map { String($0.prefix(7)) }
    }

    func chosen(_ type: Module.Kind) throws(CatalogueError) -> String {
        guard type != .none else { throw .nothingChosen(name: "module type") }
        return type.rawValue.lowercased()
    }

    func programs(_ uid: String, _ livestream: String?, _ start: Date?, _ end: Date?) -> [String: String] {
        present([
            "channelUid": uid, "livestreamId": livestream, "minEndTime": start.map(ZurichTime.text),
            "maxStartTime": end.map(ZurichTime.text),
        ])
    }

    func guide(_ day: Day?, _ channel: String?, _ isReduced: Bool) throws(CatalogueError) -> [String: String] {
        present(["day": try text(day), "channelId": channel, "reduced": isReduced ? "true" : nil])
    }

    func trending(_ limit: Int?, _ editorial: Int?, _ episodesOnly: Bool) throws(CatalogueError) -> [String: String] {
        if let limit, !(0...50).contains(limit) { throw .limit(name: "limit", limit, allowed: 0...50) }
        if let editorial, !(0...50).contains(editorial) {
            throw .limit(name: "editorial limit", editorial, allowed: 0...50)
        }
        return present([
            "pageSize": limit.map(String.init), "maxCountEditorPicks": editorial.map(String.init),
            "onlyEpisodes": episodesOnly ? "true" : nil,
        ])
    }

    func preview(_ values: [String: String], _ isPublished: Bool, _ date: Date?) -> [String: String] {
        var values = values
        if !isPublished { values["isPublished"] = "false" }
        if let date { values["previewDate"] = ZurichTime.text(of: date) }
        return values
    }

    /// The first element of a list; nil for an empty list.
    func first<Item: ListedModel>(
        _ name: String,
        _ unit: BusinessUnit?,
        _ values: [String: String]
    ) throws(CatalogueError) -> Endpoint<Item?> {
        try endpoint(name, unit, values).decoding(Listing<Item>.self).map(\.items.first)
    }
}

extension Catalogue.MediaType {
    /// The value of the query item; nil for `none`.
    var item: String? { self == .none ? nil : rawValue.lowercased() }
}
