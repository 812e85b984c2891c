#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// A cookie as a jar stores it (RFC 6265bis §5.5).
public struct Cookie: Sendable, Hashable {
    /// The name; may be empty.
    ///
    /// Octets from a server that are not UTF-8 are read as ISO-8859-1, and sent back as received.
    public var name: String {
        get { pair.name }
        set { pair.nameOctets = Array(newValue.utf8) }
    }
    /// The value, which is a secret.
    public var value: Secret {
        get { pair.value }
        set { pair.valueOctets = Array(newValue.reveal().utf8) }
    }
    /// The host that it belongs to, in normal form: lower case, no dot at either end.
    public var domain: String
    /// Whether it is sent only to this host, and not to hosts below it.
    public var isHostOnly: Bool
    /// The path below which it is sent.
    public var path: String
    /// When it expires; nil for the end of the session.
    public var expires: Date?
    /// Whether it is sent only over https.
    public var isSecure: Bool
    /// Whether the server hides it from scripts (`HttpOnly`).
    public var isHTTPOnly: Bool
    /// When it was first set.
    public internal(set) var created: Date
    /// When it was last sent or set.
    var lastAccess: Date
    var pair: CookiePair
    /// The host that set it; empty for a cookie of the app.
    var setter = ""
    /// Its position among the cookies of its jar, in the order in which they were first set.
    var order: UInt64 = 0
    /// Its position among all uses of cookies of its jar.
    var lastUse: UInt64 = 0

    /// Makes a cookie in the app's name.
    ///
    /// - Parameters:
    ///   - name: Its name, without `=` and `;`.
    ///   - value: Its value.
    ///   - domain: The host that it belongs to.
    ///   - isHostOnly: Whether it is not sent to hosts below the domain; true by default.
    ///   - path: The path below which it is sent; all paths by default.
    ///   - expires: When it expires; with the session by default.
    ///   - isSecure: Whether it is sent only over https; true by default.
    public init(
        name: String,
        value: Secret,
        domain: String,
        isHostOnly: Bool = true,
        path: String = "/",
        expires: Date? = nil,
        isSecure: Bool = true
    ) {
        pair = CookiePair(name: Array(name.utf8), value: Array(value.reveal().utf8))
        self.domain = NormalHost(domain)?.text ?? domain.lowercased()
        self.isHostOnly = isHostOnly
        self.path = path
        self.expires = expires
        self.isSecure = isSecure
        isHTTPOnly = true
        created = .distantPast
        lastAccess = .distantPast
    }

    /// The octets of name and value, as they are received and sent.
    package var octets: (name: [UInt8], value: [UInt8]) {
        get { (pair.nameOctets, pair.valueOctets) }
        set { pair = CookiePair(name: newValue.name, value: newValue.value) }
    }

    /// Whether it has expired.
    func isExpired(at date: Date) -> Bool { expires.map { $0 <= date } ?? false }

    /// The key by which a cookie replaces another; compared by octets.
    var identity: Identity {
        Identity(name: pair.nameOctets, domain: domain, isHostOnly: isHostOnly, path: Array(path.utf8))
    }

    struct Identity: Hashable {
        let name: [UInt8]
        let domain: String
        let isHostOnly: Bool
        let path: [UInt8]
    }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    /// Name, domain and path; never the value.
    public var description: String { "\(name)=<redacted>; Domain=\(domain); Path=\(path)" }

    /// A mirror that does not show the value.
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }
}
