/// A JSON value (RFC 8259) of any shape.
///
/// The last of several members with the same name counts. Names are compared by code units. Numbers are exact: whole
/// numbers within 64 bits are ``integer(_:)``, and all others keep their text in a ``JSONValue/Number``.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// A Boolean value.
    case bool(Bool)
    /// A number without fraction or exponent, within 64 bits.
    case integer(Int64)
    /// Any other number, including −0.
    case number(JSONValue.Number)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object, without an order of its members.
    case object(JSONValue.Object)

    /// The value of a member; nil when this is not an object or the member is missing.
    public subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// The element at an index; nil when this is not an array or the index is out of range.
    public subscript(position: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(position) else { return nil }
        return elements[position]
    }

    /// The value that a pointer refers to; nil when there is none.
    public subscript(pointer: JSONPointer) -> JSONValue? {
        pointer.tokens.reduce(self as JSONValue?) { value, token in
            switch value {
            case .object(let members): members[token]
            case .array: JSONPointer.index(token).flatMap { value?[$0] }
            default: nil
            }
        }
    }

    /// The string; nil for any other value.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The whole number within 64 bits, in any notation; nil for any other value.
    public var integer: Int64? {
        switch self {
        case .integer(let number): number
        case .number(let number): number.integer()
        default: nil
        }
    }

    /// The number, rounded to the nearest `Double`; nil for any other value and for a number that is too large.
    public var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number.double.isFinite ? number.double : nil
        default: nil
        }
    }

    /// The Boolean value; nil for any other value.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The elements of the array; nil for any other value.
    public var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members of the object; nil for any other value.
    public var object: JSONValue.Object? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The kind of value in words, for error messages.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a truth value"
        case .integer, .number: "a number"
        case .string: "a text"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
