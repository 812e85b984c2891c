extension JSONSplitter {
    /// A value in a JSON document that is neither an array nor an object.
    public enum Scalar: Sendable, Hashable {
        /// A string, unescaped; half of a surrogate pair becomes U+FFFD.
        case string(String)
        /// A number with its exact text.
        case number(String)
        /// A Boolean value.
        case boolean(Bool)
        /// Null.
        case null

        /// Makes a scalar from bytes that the splitter has validated.
        init(validated raw: [UInt8]) {
            switch raw.first {
            case UInt8(ascii: "\""): self = .string(JSONText.replacingLoneSurrogates(raw[1..<(raw.count - 1)]))
            case UInt8(ascii: "t"): self = .boolean(true)
            case UInt8(ascii: "f"): self = .boolean(false)
            case UInt8(ascii: "n"): self = .null
            default: self = .number(String(decoding: raw, as: UTF8.self))
            }
        }

        /// The text of a string or number; nil for any other value and for an empty string.
        public var text: String? {
            switch self {
            case .string(let text), .number(let text): text.isEmpty ? nil : text
            case .boolean, .null: nil
            }
        }

        /// The value as a non-negative integer; nil for any other value.
        public var count: Int? { text.flatMap { Int($0) }.flatMap { $0 < 0 ? nil : $0 } }
    }
}
