import Lade

/// An address as typed by the user, completed.
///
/// `:8080/x` is on this machine. Without a scheme, the scheme is `http` on this machine and `https` elsewhere. The user
/// name and password are removed: they are sent in a header field and never appear in a message.
struct Address: Equatable {
    /// The part before the query and fragment, without user name and password.
    var base: String
    /// The text between `?` and `#`; nil without a `?`.
    var query: String?
    /// The text after `#`; nil without one.
    var fragment: String?
    /// The user name and, after a colon, the password, percent-decoded.
    var user: String?

    /// Parses an address.
    init(_ text: String) {
        let whole = Self.withScheme(text)
        let beforeFragment = whole.prefix { $0 != "#" }
        let beforeQuery = beforeFragment.prefix { $0 != "?" }
        base = String(beforeQuery)
        query = Self.rest(of: beforeFragment, behind: beforeQuery)
        fragment = Self.rest(of: whole[...], behind: beforeFragment)
        takeUser()
    }

    /// The address as errors show it: without user, password, query and fragment.
    var shown: String {
        guard let start = base.firstRange(of: "://"), let at = base[start.upperBound...].lastIndex(of: "@") else {
            return base
        }
        return String(base[..<start.upperBound]) + base[base.index(after: at)...]
    }

    /// The complete address.
    var text: String {
        base + (query.map { "?\($0)" } ?? "") + (fragment.map { "#\($0)" } ?? "")
    }

    /// Adds an item to the query, percent-encoding everything but unreserved characters (RFC 3986 §2.3).
    mutating func addQueryItem(_ name: String, _ value: String) {
        addQuery(Self.encoded(name) + "=" + Self.encoded(value))
    }

    /// Adds a text to the query, encoding only the characters that no address may have.
    mutating func addQuery(_ text: String) {
        guard !text.isEmpty else { return }
        let text = text.utf8.map { byte in
            byte <= 0x20 || byte >= 0x7F || "\"#<>\\^`{|}".utf8.contains(byte)
                ? Self.encoded([byte]) : String(Unicode.Scalar(byte))
        }.joined()
        query = query.map { $0.isEmpty || $0.hasSuffix("&") ? $0 + text : "\($0)&\(text)" } ?? text
    }

    /// Adds the file's name when the path is empty or ends with a slash.
    mutating func completePath(with fileName: String) {
        if let start = base.firstRange(of: "://"), !base[start.upperBound...].contains("/") { base += "/" }
        if base.hasSuffix("/") { base += Self.encoded(fileName) }
    }

    private static func withScheme(_ text: String) -> String {
        // The query may contain another address with its scheme.
        let scheme = text.prefix { !"/?#".contains($0) }
        if scheme.last == ":", text[scheme.endIndex...].hasPrefix("//") { return text }
        if text.lowercased().hasPrefix("data:") { return text }
        if text.hasPrefix(":") {
            // `:/path` uses the default port.
            let rest = text.dropFirst()
            return "http://localhost" + (rest.first?.isNumber == true ? ":" : "") + rest
        }
        let authority = text.prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@").last ?? authority
        let name = host.first == "[" ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        let isHere = NormalHost(String(name))?.isLoopback ?? false
        return (isHere ? "http://" : "https://") + text
    }

    private static func rest(of text: Substring, behind part: Substring) -> String? {
        part.endIndex < text.endIndex ? String(text[text.index(after: part.endIndex)...]) : nil
    }

    private mutating func takeUser() {
        guard let start = base.firstRange(of: "://") else { return }
        let authority = base[start.upperBound...].prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return }
        let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        user = parts.map { String(decoding: $0.percentDecodedBytes, as: UTF8.self) }.joined(separator: ":")
        base.removeSubrange(start.upperBound...at)
    }

    private static func encoded(_ text: String) -> String { encoded(text.utf8) }

    /// Percent-encodes everything but unreserved characters (RFC 3986 §2.3).
    static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        var result = ""
        for byte in bytes {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return result
    }
}

extension String {
    /// The argument as errors show it, without the parts that may be secret: the text before an at sign, and the query.
    var asArgument: String {
        if contains("://") { return Address(self).shown }
        return lastIndex(of: "@").map { "…" + self[$0...] } ?? self
    }
}
