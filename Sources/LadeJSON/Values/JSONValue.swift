/// A value of JSON (RFC 8259) whose shape is not known before.
///
/// Of members with the same name the last counts. Names are compared by code units, and numbers are exact: whole numbers
/// within 64 bits are ``integer(_:)``, all others keep their text in a ``JSONNumber``.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without fraction and exponent, within 64 bits.
    case integer(Int64)
    /// Any other number, −0 among them.
    case number(JSONNumber)
    /// A text.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object; the order of its members is not kept.
    case object(JSONObject)

    /// The value of a member, when this is an object that has it.
    public subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// The element at a position, when this is an array that has it.
    public subscript(position: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(position) else { return nil }
        return elements[position]
    }

    /// The value at the end of a path, when there is one.
    public subscript(pointer: JSONPointer) -> JSONValue? {
        pointer.tokens.reduce(self as JSONValue?) { value, token in
            switch value {
            case .object(let members): members[token]
            case .array: JSONPointer.index(token).flatMap { value?[$0] }
            default: nil
            }
        }
    }

    /// The text, when this is one.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The whole number, when this is one within 64 bits, however it is written.
    public var integer: Int64? {
        switch self {
        case .integer(let number): number
        case .number(let number): number.integer()
        default: nil
        }
    }

    /// The number, whole or not, when this is one; rounded to the nearest `Double`, and nil when it is too large for one.
    public var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number.double.isFinite ? number.double : nil
        default: nil
        }
    }

    /// The truth value, when this is one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The elements, when this is an array.
    public var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members, when this is an object.
    public var object: JSONObject? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The kind of value in words, for errors.
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
