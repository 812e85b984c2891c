/// A model of the catalogue's responses.
///
/// Models are values, and copies can be changed. Every key of a response may be missing; then the property has its
/// initial value. Unknown keys are ignored, an unknown word becomes the fallback of its enumeration, and a value of the
/// wrong type is an error (``MappingFault``).
public protocol CatalogueModel: Decodable, Sendable, Hashable, CustomStringConvertible {}

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
        let inner = indentation + "    "
        let lines = Mirror(reflecting: model).children.compactMap { label, value -> String? in
            guard var name = label, let text = text(of: value, inner) else { return nil }
            if name.hasPrefix("_") { name.removeFirst() }
            return "\(inner)\(name): \(text)\n"
        }
        return "\(type(of: model)) {\n\(lines.sorted().joined())\(indentation)}"
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
