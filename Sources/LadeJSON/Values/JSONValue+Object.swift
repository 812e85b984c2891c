/// A name that is compared by code units.
struct ExactName: Sendable, Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (lhs: ExactName, rhs: ExactName) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension JSONValue {
    /// The members of a JSON object by name, without an order.
    ///
    /// Names are compared by code units, as RFC 8259 §8.3 recommends. An `é` as one character and as a letter with a
    /// combining accent are two names here, although equal as Swift strings.
    public struct Object: Sendable, Hashable {
        private var members: [ExactName: JSONValue] = [:]

        /// Makes an object without members.
        public init() {}

        /// Reserves memory for a number of members.
        mutating func reserveCapacity(_ count: Int) { members.reserveCapacity(count) }

        /// The value of a member; setting nil removes it.
        public subscript(name: String) -> JSONValue? {
            get { members[ExactName(name)] }
            set { members[ExactName(name)] = newValue }
        }

        /// The names, in no order.
        public var names: [String] { members.keys.map(\.text) }

        /// The members as a Swift dictionary; of names that differ only in normalisation, one is kept.
        public var dictionary: [String: JSONValue] {
            Dictionary(members.map { ($0.key.text, $0.value) }) { _, last in last }
        }
    }
}

extension JSONValue.Object: Sequence {
    /// Iterates over the members, each once, in no order.
    public func makeIterator() -> AnyIterator<(name: String, value: JSONValue)> {
        var rest = members.makeIterator()
        return AnyIterator { rest.next().map { (name: $0.key.text, value: $0.value) } }
    }

    /// The number of members.
    public var count: Int { members.count }

    /// Whether there are no members.
    public var isEmpty: Bool { members.isEmpty }
}

extension JSONValue.Object: ExpressibleByDictionaryLiteral {
    /// Makes an object from a literal; of equal names the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        for (name, value) in elements { self[name] = value }
    }
}
