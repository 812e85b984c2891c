#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// One `Set-Cookie` value, read as tolerantly as browsers do (RFC 6265bis §5.6).
struct SetCookie: Equatable {
    var name: String
    var value: Secret
    var domain = ""
    var path = ""
    /// The last of several; `Max-Age` beats it.
    var expires: Date?
    var maxAge: Int64?
    var isSecure = false
    var isHTTPOnly = false

    /// Reads a value; nil for one that sets nothing.
    init?(_ text: String) {
        var parts = text.split(separator: ";", omittingEmptySubsequences: false)[...]
        let (name, value) = Self.pair(parts.popFirst() ?? "", nameIsOptional: true)
        guard !(name.isEmpty && value.isEmpty), name.utf8.count + value.utf8.count <= 4096 else { return nil }
        // Without a name, the value alone must not be able to pass for a cookie with a prefix.
        guard !(name.isEmpty && Self.prefixes.contains(where: value.lowercased().hasPrefix)) else { return nil }
        self.name = name
        self.value = Secret(value)
        for part in parts {
            let (attribute, value) = Self.pair(part, nameIsOptional: false)
            guard value.utf8.count <= 1024 else { continue }
            take(attribute.lowercased(), value)
        }
    }

    private mutating func take(_ attribute: String, _ value: String) {
        switch attribute {
        case "expires":
            if let date = CookieDate.date(value) { expires = date }
        case "max-age":
            if let seconds = Self.seconds(value) { maxAge = seconds }
        case "domain":
            domain = (value.hasPrefix(".") ? String(value.dropFirst()) : value).lowercased()
        case "path":
            path = value.hasPrefix("/") ? value : ""
        case "secure":
            isSecure = true
        case "httponly":
            isHTTPOnly = true
        default:
            // SameSite says from which sites a browser sends a cookie along; there are no sites here.
            break
        }
    }

    private static let prefixes = ["__secure-", "__host-"]

    private static func pair(_ text: Substring, nameIsOptional: Bool) -> (name: String, value: String) {
        guard let equals = text.firstIndex(of: "=") else {
            return nameIsOptional ? ("", trimmed(text)) : (trimmed(text), "")
        }
        return (trimmed(text[..<equals]), trimmed(text[text.index(after: equals)...]))
    }

    private static func trimmed(_ text: Substring) -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let start = text.drop(while: isSpace)
        guard let last = start.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(start[...last])
    }

    /// Digits with an optional minus; more than fit count as the largest.
    private static func seconds(_ text: String) -> Int64? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        if text.hasPrefix("-") { return 0 }
        return Int64(digits) ?? .max
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
