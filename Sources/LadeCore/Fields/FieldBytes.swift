/// The properties of a byte that field parsers use, beside `isTokenCharacter` and `isFieldContent`.
extension UInt8 {
    /// `SP / HTAB`, which optional white space consists of (§5.6.3).
    package var isFieldWhitespace: Bool { self == 0x20 || self == 0x09 }

    /// `DIGIT`.
    package var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    /// `ALPHA`, either case.
    package var isLetter: Bool { (self | 0x20) >= 0x61 && (self | 0x20) <= 0x7A }

    /// `a`…`z`.
    package var isLowercaseLetter: Bool { self >= 0x61 && self <= 0x7A }

    /// The value of a hexadecimal digit in either case.
    package var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}

extension StringProtocol {
    /// Whether this is a `token`: at least one byte, and only `tchar` (RFC 9110 §5.6.2).
    package var isToken: Bool { !isEmpty && utf8.allSatisfy(\.isTokenCharacter) }

    /// Whether a quoted string may contain this.
    package var isQuotable: Bool { utf8.allSatisfy(\.isFieldContent) }

    /// The text with `A`…`Z` in lower case and everything else unchanged, independently of the locale.
    package var asciiLowercased: String { String(decoding: utf8.map(\.lowercasedASCII), as: UTF8.self) }

    /// The value as a token if it is one, otherwise as a quoted string (RFC 9110 §5.6.4).
    package var tokenOrQuoted: String { isToken ? String(self) : quoted }

    /// The value as a quoted string (RFC 9110 §5.6.4).
    package var quoted: String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}
