#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A value of JSON (RFC 8259) of which nothing was known before.
///
/// Of a member that occurs twice the last value counts. Whole numbers that fit are ``integer(_:)``, all others
/// ``number(_:)``.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without fraction and exponent, within 64 bits.
    case integer(Int64)
    /// Any other number.
    case number(Double)
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

    /// The text, when this is one.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The whole number, when this is one.
    public var integer: Int64? {
        if case .integer(let number) = self { number } else { nil }
    }

    /// The number, whole or not, when this is one.
    public var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
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
    var kind: String {
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

/// Where and why a text is no JSON.
public struct JSONFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// The byte at which it was noticed, from 0.
    public let offset: Int
    /// What is wrong there.
    public let reason: String

    /// One plain clause.
    public var description: String { "\(reason) at byte \(offset) of the JSON" }
}

extension JSONValue {
    /// The deepest nesting that is parsed: 512 levels.
    public static let depthLimit = 512

    /// Parses a text in UTF-8, a byte order mark before it allowed.
    ///
    /// - Throws: ``JSONFault`` saying where the text is no JSON.
    public init(parsing text: Data) throws(JSONFault) {
        var parser = JSONParser([UInt8](text))
        self = try parser.document()
    }
}
