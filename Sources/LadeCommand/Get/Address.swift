import Lade

/// An address as people type it, made whole.
///
/// `:8080/x` is on this machine; without a scheme it is `http` on this machine and `https` elsewhere. A user name and
/// a password in it are taken out, for they go into a header and into no message.
struct Address: Equatable {
    /// Everything before query and fragment, without user name and password.
    var base: String
    /// What stands between `?` and `#`, if there is a `?`.
    var query: String?
    /// What stands behind `#`, if there is one.
    var fragment: String?
    /// The user name and, after a colon, the password, percent-decoded.
    var user: String?

    /// Reads an address.
    init(_ text: String) {
        let whole = Self.withScheme(text)
        let beforeFragment = whole.prefix { $0 != "#" }
        let beforeQuery = beforeFragment.prefix { $0 != "?" }
        base = String(beforeQuery)
        query = Self.rest(of: beforeFragment, behind: beforeQuery)
        fragment = Self.rest(of: whole[...], behind: beforeFragment)
        takeUser()
    }

    /// The address as an error may show it: without user, password, query and fragment.
    var shown: String {
        guard let start = base.firstRange(of: "://"), let at = base[start.upperBound...].lastIndex(of: "@") else {
            return base
        }
        return String(base[..<start.upperBound]) + base[base.index(after: at)...]
    }

    /// The address as one text.
    var text: String {
        base + (query.map { "?\($0)" } ?? "") + (fragment.map { "#\($0)" } ?? "")
    }

    /// Adds an item to the query, percent-encoding everything but unreserved characters (RFC 3986 §2.3).
    mutating func addQueryItem(_ name: String, _ value: String) {
        addQuery(Self.encoded(name) + "=" + Self.encoded(value))
    }

    /// Adds a text to the query as it is, but for characters that no address may have.
    mutating func addQuery(_ text: String) {
        guard !text.isEmpty else { return }
        let text = text.utf8.map { byte in
            byte <= 0x20 || byte >= 0x7F || "\"#<>\\^`{|}".utf8.contains(byte)
                ? Self.encoded([byte]) : String(Unicode.Scalar(byte))
        }.joined()
        query = query.map { $0.isEmpty || $0.hasSuffix("&") ? $0 + text : "\($0)&\(text)" } ?? text
    }

    /// Adds a file's name where the path names only a folder, or nothing.
    mutating func completePath(with fileName: String) {
        if let start = base.firstRange(of: "://"), !base[start.upperBound...].contains("/") { base += "/" }
        if base.hasSuffix("/") { base += Self.encoded(fileName) }
    }

    private static func withScheme(_ text: String) -> String {
        // An address in the query of another has a scheme, too.
        let scheme = text.prefix { !"/?#".contains($0) }
        if scheme.last == ":", text[scheme.endIndex...].hasPrefix("//") { return text }
        if text.lowercased().hasPrefix("data:") { return text }
        if text.hasPrefix(":") {
            // `:/path` is the default port.
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
    /// The argument as an error may show it: what stands before an at sign, and the query of an address, may be secrets.
    var asArgument: String {
        if contains("://") { return Address(self).shown }
        return lastIndex(of: "@").map { "…" + self[$0...] } ?? self
    }
}
