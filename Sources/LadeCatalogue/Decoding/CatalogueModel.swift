public import LadeJSON

/// A model of the catalogue's responses.
///
/// Models are values, and copies can be changed. Every key of a response may be missing; then the property has its
/// initial value. Unknown keys are ignored, an unknown word becomes the fallback of its enumeration, and a value of the
/// wrong type is an error (``CatalogueError/malformed(path:reason:isMissing:)``). ``ModelMembers`` lists the rules.
///
/// A model for a service of your own declares its properties with their initial values, and reads them by key:
///
/// ```swift
/// struct Podcast: CatalogueModel {
///     var title = ""
///     var feed: URL?
///     var latest: Catalogue.Media?
///
///     mutating func read(_ members: borrowing ModelMembers) throws {
///         try members.read("title", &title)
///         try members.read("feedUrl", &feed)
///         try members.read("latestMedia", &latest)
///     }
/// }
/// ```
///
/// Any decoder decodes models. `FastJSONDecoder` reads them without the containers of `Decodable`.
public protocol CatalogueModel: FastJSONDecoder.Readable, Sendable, Hashable, CustomStringConvertible {
    /// Makes an empty value, for previews and tests.
    init()

    /// Reads the properties.
    ///
    /// - Parameter members: The members of the model's object.
    /// - Throws: `DecodingError` for a value that does not match its property.
    mutating func read(_ members: borrowing ModelMembers) throws
}

extension CatalogueModel {
    /// Decodes the properties.
    public init(from decoder: any Decoder) throws {
        self.init()
        try read(try ModelMembers(decoder))
    }

    /// Reads the properties.
    public init(from reader: inout FastJSONDecoder.Reader) throws {
        self.init()
        try reader.lookUpMembers { try read(ModelMembers($0)) }
    }
}

/// A model that is compared by a key, such as its URN.
///
/// Two models without a key are equal when all their properties are.
public protocol KeyedModel: CatalogueModel {
    /// The key; empty when the model has none.
    var identity: String { get }
}

extension KeyedModel {
    /// Whether both have the same key, or neither has one and all properties are equal.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        let identity = lhs.identity
        guard identity == rhs.identity else { return false }
        return !identity.isEmpty || lhs.description == rhs.description
    }

    /// Hashes the key.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
    }
}

extension CatalogueModel {
    /// The properties that have a value, one on each line, in the order of their names.
    public var description: String { Description.text(of: self, indentation: "") }
}

/// Writes the descriptions of models.
private enum Description {
    static func text(of model: any CatalogueModel, indentation: String) -> String {
        let lines = lines(of: model, indentation + "    ").sorted().joined()
        return "\(type(of: model)) {\n\(lines)\(indentation)}"
    }

    /// A line for each property that has a value; the properties of parts count as properties of the model.
    private static func lines(of part: Any, _ indentation: String) -> [String] {
        Mirror(reflecting: part).children.flatMap { label, value -> [String] in
            if value is any ModelPart { return lines(of: value, indentation) }
            guard var name = label, let text = text(of: value, indentation) else { return [] }
            if name.hasPrefix("_") { name.removeFirst() }
            return ["\(indentation)\(name): \(text)\n"]
        }
    }

    private static func text(of value: Any, _ indentation: String) -> String? {
        switch value {
        case let value as any OptionalValue: value.wrapped.flatMap { text(of: $0, indentation) }
        case let model as any CatalogueModel: text(of: model, indentation: indentation)
        case let list as [any CatalogueModel]:
            "[" + list.map { text(of: $0, indentation: indentation) }.joined(separator: ", ") + "]"
        case let map as [String: String]:
            "[" + map.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "]"
        default: String(describing: value)
        }
    }
}

/// An optional value of any type.
protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    var wrapped: Any? { self }
}
