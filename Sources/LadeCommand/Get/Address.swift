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
    /// Whether the user name and the password are UTF-8.
    private(set) var hasReadableUser = true

    /// Parses an address.
    init(_ text: String) {
        let whole = Self.withScheme(text)
        let (beforeFragment, fragment) = whole.cut(at: "#").map { ($0.before, $0.after) } ?? (whole[...], nil)
        let (base, query) = beforeFragment.cut(at: "?").map { ($0.before, $0.after) } ?? (beforeFragment, nil)
        self.base = String(base)
        self.query = query.map(String.init)
        self.fragment = fragment.map(String.init)
        takeUser()
    }

    /// The address as errors show it: without user, password, query and fragment.
    var shown: String {
        guard let (scheme, rest) = base.cut(at: "://"), let (_, address) = rest.cut(atLast: "@") else { return base }
        return scheme + "://" + address
    }

    /// The complete address.
    var text: String {
        base + (query.map { "?\($0)" } ?? "") + (fragment.map { "#\($0)" } ?? "")
    }

    /// Adds an item to the query, percent-encoding everything but unreserved characters (RFC 3986 §2.3).
    mutating func addQueryItem(_ name: String, _ value: String) {
        addQuery((Self.encoded(name) + "=" + Self.encoded(value)).utf8)
    }

    /// Adds a text to the query, encoding only the characters that no address may have.
    mutating func addQuery(_ octets: some Collection<UInt8>) {
        guard !octets.isEmpty else { return }
        let text = octets.map { byte in
            byte <= 0x20 || byte >= 0x7F || "\"#<>\\^`{|}".utf8.contains(byte)
                ? Self.encoded([byte]) : String(Unicode.Scalar(byte))
        }.joined()
        query = query.map { $0.isEmpty || $0.ends(with: "&") ? $0 + text : "\($0)&\(text)" } ?? text
    }

    /// Adds the file's name when the path is empty or ends with a slash.
    mutating func completePath(with fileName: String) {
        guard namesFolder else { return }
        base += (base.ends(with: "/") ? "" : "/") + Self.encoded(fileName)
    }

    /// Whether the path is empty or ends with a slash.
    var namesFolder: Bool {
        guard let (_, rest) = base.cut(at: "://") else { return base.ends(with: "/") }
        return rest.ends(with: "/") || !rest.has("/")
    }

    /// Removes the dot segments of the path (RFC 3986 §5.2.4), as curl does; `%2e` is no dot for it.
    mutating func removeDotSegments() {
        guard let start = base.firstRange(of: "://"), let slash = base[start.upperBound...].utf8.firstIndex(of: 0x2F)
        else { return }
        let all = base[slash...].utf8.dropFirst().split(separator: 0x2F, omittingEmptySubsequences: false)
        var segments: [Substring.UTF8View.SubSequence] = []
        for (index, segment) in all.enumerated() {
            guard segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8) else {
                segments.append(segment)
                continue
            }
            if segment.count == 2 { _ = segments.popLast() }
            // A dot segment at the end names a folder.
            if index == all.count - 1 { segments.append(segment.prefix(0)) }
        }
        base = base[..<slash] + "/" + segments.map { String(Substring($0)) }.joined(separator: "/")
    }

    /// Whether the path has a dot segment, encoded ones included, which curl might remove.
    var hasDotSegments: Bool {
        var plain = self
        plain.base = base.replacing("%2e", with: ".").replacing("%2E", with: ".")
        let written = plain.base
        plain.removeDotSegments()
        return plain.base != written
    }

    /// Whether a text that stands where an address is expected is an item of the request.
    static func isItem(_ text: String) -> Bool {
        if text.lowercased().begins(with: "data:") { return false }
        let authority = Array(text.utf8.prefix { !"/?#".utf8.contains($0) })
        if authority.contains(UInt8(ascii: "=")) || authority.contains(0x20) { return true }
        guard let colon = authority.firstIndex(of: UInt8(ascii: ":")), colon > 0, authority[0] != UInt8(ascii: "["),
            !authority.contains(UInt8(ascii: "@"))
        else { return false }
        let rest = authority[(colon + 1)...]
        return !rest.isEmpty && !rest.allSatisfy { (0x30...0x39).contains($0) }
    }

    private static func withScheme(_ text: String) -> String {
        // The query may contain another address with its scheme.
        let (authority, path) = text.halves { "/?#".has($0) }
        if authority.ends(with: ":"), path.begins(with: "//") { return text }
        if text.lowercased().begins(with: "data:") { return text }
        if let rest = text.behind(":") {
            // `:/path` uses the default port.
            let isPort = rest.unicodeScalars.first.map { ("0"..."9").contains($0) } ?? false
            return "http://localhost" + (isPort ? ":" : "") + rest
        }
        let host = authority.cut(atLast: "@")?.after ?? authority
        let name = host.begins(with: "[") ? host.halves { $0 == "]" }.text + "]" : host.halves { $0 == ":" }.text
        let isHere = NormalHost(String(name))?.isLoopback ?? false
        return (isHere ? "http://" : "https://") + text
    }

    private mutating func takeUser() {
        guard let (scheme, rest) = base.cut(at: "://") else { return }
        let (authority, path) = rest.halves { $0 == "/" }
        guard let (user, host) = authority.cut(atLast: "@") else { return }
        let parts = user.parts(at: ":", most: 2).map { String(validating: $0.percentDecodedBytes, as: UTF8.self) }
        hasReadableUser = !parts.contains(nil)
        self.user = parts.map { $0 ?? "" }.joined(separator: ":")
        base = scheme + "://" + host + path
    }

    private static func encoded(_ text: String) -> String { encoded(text.utf8) }

    /// Percent-encodes everything but unreserved characters (RFC 3986 §2.3).
    static func encoded(_ bytes: some Collection<UInt8>) -> String { bytes.percentEncoded() }
}
