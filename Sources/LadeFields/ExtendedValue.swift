import LadeCore

/// The coding of RFC 8187 for parameter values outside ASCII: `UTF-8'en'na%C3%AFve`.
enum ExtendedValue {
    /// The text of an extended value in UTF-8 or ISO-8859-1; `nil` for anything else or anything malformed.
    static func decode(_ value: String) -> String? {
        let parts = value.utf8.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let octets = percentDecode(parts[2]) else { return nil }
        switch String(decoding: parts[0].map(\.lowercasedASCII), as: UTF8.self) {
        case "utf-8":
            return String(validating: octets, as: UTF8.self)
        case "iso-8859-1" where parts[2].allSatisfy { $0 < 0x80 }:
            var text = String.UnicodeScalarView()
            for octet in octets { text.append(Unicode.Scalar(octet)) }
            return String(text)
        default:
            return nil
        }
    }

    /// The text as an extended value in UTF-8 without a language.
    static func encode(_ text: String) -> String {
        "UTF-8''" + String(decoding: Array(text.utf8).percentEncoded(where: isAttributeByte), as: UTF8.self)
    }

    /// `attr-char`: a token byte other than `*`, `'` and `%` (RFC 8187 §3.2.1).
    private static func isAttributeByte(_ byte: UInt8) -> Bool {
        byte.isTokenCharacter && byte != UInt8(ascii: "*") && byte != UInt8(ascii: "'") && byte != UInt8(ascii: "%")
    }

    /// Bytes that should have been escaped are taken as they are; an escape without two digits is an error.
    private static func percentDecode(_ bytes: Substring.UTF8View) -> [UInt8]? {
        var octets: [UInt8] = []
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%") else {
                octets.append(byte)
                continue
            }
            guard let high = iterator.next()?.hexadecimalValue, let low = iterator.next()?.hexadecimalValue else {
                return nil
            }
            octets.append(high << 4 | low)
        }
        return octets
    }
}
