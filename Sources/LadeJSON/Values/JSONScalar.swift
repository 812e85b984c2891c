/// A value of a JSON document that is neither an array nor an object.
public enum JSONScalar: Sendable, Hashable {
    /// A text, unescaped; half of a surrogate pair becomes U+FFFD.
    case string(String)
    /// A number exactly as it is written.
    case number(String)
    /// True or false.
    case boolean(Bool)
    /// Null.
    case null

    /// Reads a scalar from its bytes, which the splitter has found valid.
    init(validated raw: [UInt8]) {
        switch raw.first {
        case UInt8(ascii: "\""): self = .string(JSONText.replacingLoneSurrogates(raw[1..<(raw.count - 1)]))
        case UInt8(ascii: "t"): self = .boolean(true)
        case UInt8(ascii: "f"): self = .boolean(false)
        case UInt8(ascii: "n"): self = .null
        default: self = .number(String(decoding: raw, as: UTF8.self))
        }
    }

    /// The text of a string or a number; nil for anything else and for an empty string.
    public var text: String? {
        switch self {
        case .string(let text), .number(let text): text.isEmpty ? nil : text
        case .boolean, .null: nil
        }
    }

    /// The value as a whole number that is not negative.
    public var count: Int? { text.flatMap { Int($0) }.flatMap { $0 < 0 ? nil : $0 } }
}
