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

/// The members of a JSON object, by name; in no order.
///
/// Names are compared by code units, as RFC 8259 §8.3 asks: `é` as one character and as a letter with a combining accent are
/// two names, which Swift's `String` takes for one.
public struct JSONObject: Sendable, Hashable {
    private var members: [ExactName: JSONValue] = [:]

    /// Makes an object without members.
    public init() {}

    /// Makes room for so many members.
    mutating func reserveCapacity(_ count: Int) { members.reserveCapacity(count) }

    /// The value of a member; setting nil removes it.
    public subscript(name: String) -> JSONValue? {
        get { members[ExactName(name)] }
        set { members[ExactName(name)] = newValue }
    }

    /// The names, in no order.
    public var names: [String] { members.keys.map(\.text) }

    /// The members as a dictionary of Swift, in which of names that differ in normalisation alone one stays.
    public var dictionary: [String: JSONValue] {
        Dictionary(members.map { ($0.key.text, $0.value) }) { _, last in last }
    }
}

extension JSONObject: Sequence {
    /// Gives each member once, in no order.
    public func makeIterator() -> AnyIterator<(name: String, value: JSONValue)> {
        var rest = members.makeIterator()
        return AnyIterator { rest.next().map { (name: $0.key.text, value: $0.value) } }
    }

    /// How many members there are.
    public var count: Int { members.count }

    /// Whether there is none.
    public var isEmpty: Bool { members.isEmpty }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Makes an object from a literal; of a name that occurs twice the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        for (name, value) in elements { self[name] = value }
    }
}
