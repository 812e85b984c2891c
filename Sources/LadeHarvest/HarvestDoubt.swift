public import Lade

extension Harvest {
    /// A sign that a list has items which were not written, although its last page was.
    public struct Doubt: Sendable, Hashable, CustomStringConvertible {
        /// Whether the list certainly lacks items; otherwise it is likely.
        public let isCertain: Bool
        /// One plain sentence that names the sign and its place, without secrets.
        public let description: String
        /// The rule that probably reads the next page; nil when there is none.
        ///
        /// Where the name that takes a cursor cannot be known, it is `QUERY`.
        public internal(set) var rule: Pages.Rule?
        /// The place that says whether there is more, for ``Harvest/more``; nil when the rule needs none.
        public internal(set) var more: Pages.Rule.Place?

        init(certain isCertain: Bool, _ description: String, _ rule: Pages.Rule? = nil) {
            self.isCertain = isCertain
            self.description = description
            self.rule = rule
        }
    }
}

extension Harvest.Doubt: Codable {
    private enum CodingKeys: String, CodingKey {
        case certain, text, rule, more
    }

    /// Reads a doubt from a journal.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        isCertain = try container.decode(Bool.self, forKey: .certain)
        description = try container.decode(String.self, forKey: .text)
        rule = try container.decodeIfPresent(StoredRule.self, forKey: .rule)?.rule
        more = try container.decodeIfPresent(StoredPlace.self, forKey: .more)?.place
    }

    /// Writes a doubt into a journal.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isCertain, forKey: .certain)
        try container.encode(description, forKey: .text)
        try container.encodeIfPresent(rule.map(StoredRule.init), forKey: .rule)
        try container.encodeIfPresent(more.map(StoredPlace.init), forKey: .more)
    }
}

/// A place as it stands in a journal.
private struct StoredPlace: Codable {
    var body: String?
    var header: String?
    var pointer: String?

    init(_ place: Pages.Rule.Place) {
        switch place {
        case .body(let pointer): body = pointer.description
        case .header(let name, let pointer): (header, self.pointer) = (name, pointer.description)
        }
    }

    /// The place; nil for a damaged one, which only shortens an advice.
    var place: Pages.Rule.Place? {
        if let header, let pointer = try? JSONPointer(pointer ?? "") { return .header(header, pointer) }
        return body.flatMap { try? JSONPointer($0) }.map { .body($0) }
    }
}

/// A rule as it stands in a journal.
private struct StoredRule: Codable {
    var kind: String
    var name: String?
    var place: StoredPlace?
    var target: String?
    var first: Int?

    init(_ rule: Pages.Rule) {
        switch rule {
        case .link(let relation): (kind, name) = ("link", relation)
        case .body(let pointer): (kind, place) = ("address", StoredPlace(.body(pointer)))
        case .header(let name): (kind, place) = ("address", StoredPlace(.header(name)))
        case .queryItems(let place): (kind, self.place) = ("items", StoredPlace(place))
        case .pageNumber(let query, let first): (kind, name, self.first) = ("page", query, first)
        case .offset(let query, let first): (kind, name, self.first) = ("offset", query, first)
        case .cursor(let place, .query(let query)):
            (kind, self.place, name, target) = ("cursor", StoredPlace(place), query, "query")
        case .cursor(let place, .header(let field)):
            (kind, self.place, name, target) = ("cursor", StoredPlace(place), field, "header")
        case .cursor(let place, .body(let pointer)):
            (kind, self.place, name, target) = ("cursor", StoredPlace(place), pointer.description, "body")
        }
    }

    /// The rule; nil for a damaged one, which only shortens an advice.
    var rule: Pages.Rule? {
        switch (kind, name, place?.place, target) {
        case ("link", let name?, _, _): return .link(relation: name)
        case ("page", let name?, _, _): return .pageNumber(query: name, first: first)
        case ("offset", let name?, _, _): return .offset(query: name, first: first)
        case ("address", _, .body(let pointer)?, _): return .body(pointer)
        case ("address", _, .header(let name, _)?, _): return .header(name)
        case ("items", _, let place?, _): return .queryItems(place)
        case ("cursor", let name?, let place?, "query"?): return .cursor(place, to: .query(name))
        case ("cursor", let name?, let place?, "header"?): return .cursor(place, to: .header(name))
        case ("cursor", let name?, let place?, "body"?):
            return (try? JSONPointer(name)).map { .cursor(place, to: .body($0)) }
        default: return nil
        }
    }
}
