import Lade

/// A charset that the terminal output decodes; any other charset is treated as UTF-8.
enum TextCharset: Equatable, Sendable {
    case utf8
    /// Windows-1252, also used for ISO-8859-1 and US-ASCII (WHATWG Encoding §4.2).
    case windows1252
    case iso8859_15
    /// UTF-16, with the byte order to use when there is no byte order mark.
    case utf16(isBigEndian: Bool)

    /// The charset that a content type names.
    init(contentType: String?) {
        // A content type that cannot be parsed names no charset.
        let type = contentType.flatMap { try? MediaType($0) }
        switch type?.parameter("charset")?.lowercased() {
        case "iso-8859-1", "latin1", "l1", "us-ascii", "ascii", "windows-1252", "cp1252": self = .windows1252
        case "iso-8859-15", "latin-9", "l9": self = .iso8859_15
        case "utf-16", "utf-16le": self = .utf16(isBigEndian: false)
        case "utf-16be": self = .utf16(isBigEndian: true)
        default: self = .utf8
        }
    }

    /// Whether text in the charset may contain zero bytes.
    var hasZeroBytes: Bool { if case .utf16 = self { true } else { false } }
}

/// Converts text in a charset to UTF-8, in pieces that may end anywhere.
struct CharsetDecoder: Sendable {
    private var charset: TextCharset
    private var isFirst = true
    private var half: UInt8?
    private var high: UInt16?

    init(_ charset: TextCharset) {
        self.charset = charset
    }

    /// The next piece in UTF-8.
    mutating func decode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        switch charset {
        case .utf8: return Array(bytes)
        case .windows1252, .iso8859_15:
            var text = ""
            for byte in bytes { text.unicodeScalars.append(scalar(byte)) }
            return Array(text.utf8)
        case .utf16:
            var text = ""
            for byte in bytes {
                guard let first = half else {
                    half = byte
                    continue
                }
                half = nil
                append(first, byte, to: &text)
            }
            return Array(text.utf8)
        }
    }

    /// The replacement for an incomplete character at the end.
    mutating func end() -> [UInt8] {
        defer { (half, high) = (nil, nil) }
        return half != nil || high != nil ? Array("\u{FFFD}".utf8) : []
    }

    private func scalar(_ byte: UInt8) -> Unicode.Scalar {
        if charset == .windows1252, (0x80...0x9F).contains(byte) { return Self.windows[Int(byte) - 0x80] }
        if charset == .iso8859_15, let other = Self.latin9[byte] { return other }
        return Unicode.Scalar(byte)
    }

    private mutating func append(_ first: UInt8, _ second: UInt8, to text: inout String) {
        guard case .utf16(let isBigEndian) = charset else { return }
        let unit = isBigEndian ? UInt16(first) << 8 | UInt16(second) : UInt16(second) << 8 | UInt16(first)
        if isFirst {
            isFirst = false
            if unit == 0xFEFF { return }
            if unit == 0xFFFE {
                charset = .utf16(isBigEndian: !isBigEndian)
                return
            }
        }
        if let high {
            self.high = nil
            if UTF16.isTrailSurrogate(unit) {
                text += String(decoding: [high, unit], as: UTF16.self)
                return
            }
            text += "\u{FFFD}"
        }
        if UTF16.isLeadSurrogate(unit) {
            high = unit
        } else {
            text += String(decoding: [unit], as: UTF16.self)
        }
    }

    // The bytes 80 to 9F; unassigned ones become the control character with the same number.
    private static let windows: [Unicode.Scalar] = [
        "\u{20AC}", "\u{81}", "\u{201A}", "\u{192}", "\u{201E}", "\u{2026}", "\u{2020}", "\u{2021}", "\u{2C6}",
        "\u{2030}", "\u{160}", "\u{2039}", "\u{152}", "\u{8D}", "\u{17D}", "\u{8F}", "\u{90}", "\u{2018}",
        "\u{2019}", "\u{201C}", "\u{201D}", "\u{2022}", "\u{2013}", "\u{2014}", "\u{2DC}", "\u{2122}", "\u{161}",
        "\u{203A}", "\u{153}", "\u{9D}", "\u{17E}", "\u{178}",
    ]
    private static let latin9: [UInt8: Unicode.Scalar] = [
        0xA4: "\u{20AC}", 0xA6: "\u{160}", 0xA8: "\u{161}", 0xB4: "\u{17D}", 0xB8: "\u{17E}", 0xBC: "\u{152}",
        0xBD: "\u{153}", 0xBE: "\u{178}",
    ]
}
