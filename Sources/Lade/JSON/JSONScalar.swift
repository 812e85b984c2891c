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
        case UInt8(ascii: "\""): self = .string(Self.unescaped(raw[1..<(raw.count - 1)]))
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

    /// The text within the quotation marks of a valid string.
    static func unescaped(_ raw: ArraySlice<UInt8>) -> String {
        guard raw.contains(UInt8(ascii: "\\")) else { return String(decoding: raw, as: UTF8.self) }
        var units: [UInt16] = []
        var text = ""
        var plain: [UInt8] = []
        var index = raw.startIndex
        while index < raw.endIndex {
            guard raw[index] == UInt8(ascii: "\\") else {
                flush(&units, into: &text)
                plain.append(raw[index])
                index += 1
                continue
            }
            if !plain.isEmpty {
                text += String(decoding: plain, as: UTF8.self)
                plain.removeAll()
            }
            let kind = raw[index + 1]
            if kind == UInt8(ascii: "u") {
                let digits = raw[(index + 2)..<(index + 6)]
                units.append(digits.reduce(0) { ($0 << 4) | UInt16(hexadecimal($1)) })
                index += 6
            } else {
                units.append(UInt16(escaped(kind)))
                index += 2
            }
        }
        flush(&units, into: &text)
        return text + String(decoding: plain, as: UTF8.self)
    }

    private static func flush(_ units: inout [UInt16], into text: inout String) {
        guard !units.isEmpty else { return }
        text += String(decoding: units, as: UTF16.self)
        units.removeAll()
    }

    private static func escaped(_ kind: UInt8) -> UInt8 {
        switch kind {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: kind
        }
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit <= 0x39 ? digit &- 0x30 : (digit | 0x20) &- 0x57
    }
}
