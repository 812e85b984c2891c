/// What the services of the catalogue deliver.
///
/// A value: what was loaded can be changed on a copy. Every key of the answer may be missing; then a property has the value
/// that a new one has. Unknown keys are ignored, unknown words are the fallback of their enumeration, and a value of
/// another type than its property is an error (``MappingFault``).
public protocol CatalogueModel: Decodable, Sendable, Hashable, CustomStringConvertible {}

/// A model that equals another when a key does, such as its URN.
///
/// Two without a key are equal when everything in them is.
public protocol KeyedModel: CatalogueModel {
    /// What tells it from others of its kind; empty when it has nothing.
    var identity: String { get }
}

extension KeyedModel {
    /// Whether both have the same key, or neither has one and everything in them is equal.
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
    /// The properties that have a value, one on each line, by name.
    public var description: String { Description.text(of: self, indentation: "") }
}

/// Writes models out.
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

/// A value that may be absent, whatever its type.
protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    var wrapped: Any? { self }
}
