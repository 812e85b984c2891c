public import Lade

extension Harvest {
    /// A sign that a list has items which were not written, although its last page was.
    public struct Doubt: Sendable, Hashable, CustomStringConvertible {
        /// Whether the list certainly lacks items; otherwise it is likely.
        public let isCertain: Bool
        /// One plain sentence that says what was found where.
        public let description: String
        /// The place that probably names the next page, which a rule can read; nil when there is none.
        public let place: PageRule.Place?
        /// Whether that place has an address; otherwise it has a cursor or a number.
        public let isAddress: Bool

        init(certain isCertain: Bool, _ description: String, at place: PageRule.Place? = nil, isAddress: Bool = false) {
            self.isCertain = isCertain
            self.description = description
            self.place = place
            self.isAddress = isAddress
        }
    }
}

extension Harvest.Doubt: Codable {
    private enum CodingKeys: String, CodingKey {
        case certain, text, body, header, pointer, address
    }

    /// Reads a doubt from a journal.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        isCertain = try container.decode(Bool.self, forKey: .certain)
        description = try container.decode(String.self, forKey: .text)
        isAddress = try container.decodeIfPresent(Bool.self, forKey: .address) ?? false
        if let name = try container.decodeIfPresent(String.self, forKey: .header) {
            place = .header(name, try JSONPointer(try container.decodeIfPresent(String.self, forKey: .pointer) ?? ""))
        } else {
            place = try container.decodeIfPresent(String.self, forKey: .body).map { .body(try JSONPointer($0)) }
        }
    }

    /// Writes a doubt into a journal.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isCertain, forKey: .certain)
        try container.encode(description, forKey: .text)
        if isAddress { try container.encode(true, forKey: .address) }
        switch place {
        case .body(let pointer): try container.encode(pointer.description, forKey: .body)
        case .header(let name, let pointer):
            try container.encode(name, forKey: .header)
            if !pointer.tokens.isEmpty { try container.encode(pointer.description, forKey: .pointer) }
        case nil: break
        }
    }
}
