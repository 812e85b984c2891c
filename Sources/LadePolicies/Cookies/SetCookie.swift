#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// One `Set-Cookie` value, read octet by octet and as tolerantly as browsers do (RFC 6265bis §5.6).
struct SetCookie: Equatable {
    /// Name and value as octets, which are sent back as received.
    var pair: CookiePair
    var domain = ""
    var path = ""
    /// The last of several; `Max-Age` takes precedence.
    var expires: Date?
    var maxAge: Int64?
    var isSecure = false
    var isHTTPOnly = false
    /// Whether the last `SameSite` is `None`, which only secure cookies may have.
    var isForAnySite = false

    var name: String { pair.name }
    var value: Secret { pair.value }

    /// Reads a value; nil for one that sets nothing.
    init?(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// Reads the octets of a value; nil for one that sets nothing.
    init?(_ octets: [UInt8]) {
        guard !octets.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }) else { return nil }
        var parts = octets.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
        let (name, value) = Self.pair(parts.popFirst() ?? [], nameIsOptional: true)
        guard !(name.isEmpty && value.isEmpty), name.count + value.count <= 4096 else { return nil }
        // Without a name, the value must not look like a cookie with a prefix.
        guard !(name.isEmpty && CookiePair.prefix(of: value) != nil) else { return nil }
        pair = CookiePair(name: Array(name), value: Array(value))
        for part in parts {
            let (attribute, value) = Self.pair(part, nameIsOptional: false)
            guard value.count <= 1024 else { continue }
            take(String(decoding: attribute.map(\.lowercasedASCII), as: UTF8.self), value)
        }
    }

    private mutating func take(_ attribute: String, _ octets: ArraySlice<UInt8>) {
        let value = CookiePair.text(octets)
        switch attribute {
        case "expires":
            if let date = CookieDate.date(value) { expires = date }
        case "max-age":
            if let seconds = Self.seconds(octets) { maxAge = seconds }
        case "domain":
            let isDotted = octets.first == UInt8(ascii: ".")
            domain = CookiePair.text(ArraySlice((isDotted ? octets.dropFirst() : octets).map(\.lowercasedASCII)))
        case "path":
            path = octets.first == UInt8(ascii: "/") ? value : ""
        case "secure":
            isSecure = true
        case "httponly":
            isHTTPOnly = true
        case "samesite":
            // It restricts the sites from which browsers send a cookie; this client has no sites.
            isForAnySite = value.equalsIgnoringASCIICase("none")
        default:
            break
        }
    }

    private static func pair(
        _ text: ArraySlice<UInt8>,
        nameIsOptional: Bool
    ) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else {
            return nameIsOptional ? ([], trimmed(text)) : (trimmed(text), [])
        }
        return (trimmed(text[..<equals]), trimmed(text[(equals + 1)...]))
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let start = text.drop { $0 == 0x20 || $0 == 0x09 }
        guard let last = start.lastIndex(where: { $0 != 0x20 && $0 != 0x09 }) else { return [] }
        return start[...last]
    }

    /// Digits with an optional minus; larger values saturate.
    private static func seconds(_ text: ArraySlice<UInt8>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard let first = digits.first, (0x30...0x39).contains(first),
            let seconds = Whole.count(String(decoding: digits, as: UTF8.self))
        else { return nil }
        return isNegative ? 0 : seconds
    }

    /// Until when the cookie is kept: at most 400 days (RFC 6265bis §5.5); nil for the session.
    func end(at now: Date) -> Date? {
        let latest = now.addingTimeInterval(400 * 86_400)
        if let maxAge {
            return maxAge <= 0 ? .distantPast : min(latest, now.addingTimeInterval(Double(min(maxAge, 400 * 86_400))))
        }
        return expires.map { min($0, latest) }
    }
}

/// The name and the value of a cookie as octets: two names are equal only when their octets are.
struct CookiePair: Hashable, Sendable {
    var nameOctets: [UInt8]
    var valueOctets: [UInt8]

    init(name: [UInt8], value: [UInt8]) {
        nameOctets = name
        valueOctets = value
    }

    var name: String { Self.text(nameOctets[...]) }
    var value: Secret { Secret(Self.text(valueOctets[...])) }

    /// The pair as it is sent in `Cookie` (RFC 6265bis §5.8.3).
    var sent: [UInt8] { nameOctets.isEmpty ? valueOctets : nameOctets + [UInt8(ascii: "=")] + valueOctets }

    /// Whether a field can carry the pair: no control character, and nothing that ends a name or a pair.
    var isSendable: Bool {
        let isControl: (UInt8) -> Bool = { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }
        return !nameOctets.contains { isControl($0) || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "=") }
            && !valueOctets.contains { isControl($0) || $0 == UInt8(ascii: ";") }
    }

    /// The prefix with a meaning (RFC 6265bis §4.1.3) that the octets begin with, in lower case.
    static func prefix(of octets: some Sequence<UInt8>) -> String? {
        let start = octets.prefix(9).map(\.lowercasedASCII)
        return ["__secure-", "__host-"].first { start.starts(with: $0.utf8) }
    }

    /// UTF-8 where valid and ISO-8859-1 otherwise.
    static func text(_ octets: ArraySlice<UInt8>) -> String {
        if let text = String(validating: octets, as: UTF8.self) { return text }
        return octets.reduce(into: "") { $0.unicodeScalars.append(Unicode.Scalar($1)) }
    }
}
