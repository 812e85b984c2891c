#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// A cookie as a jar keeps it (RFC 6265bis §5.5).
public struct Cookie: Sendable, Hashable {
    /// The name; may be empty.
    ///
    /// Octets of a server that are no UTF-8 read as ISO-8859-1, and are sent back as they were received.
    public var name: String {
        get { pair.name }
        set { pair.nameOctets = Array(newValue.utf8) }
    }
    /// The value, which is a secret as a password is.
    public var value: Secret {
        get { pair.value }
        set { pair.valueOctets = Array(newValue.reveal().utf8) }
    }
    /// The host it belongs to, in its normal form: in lower case, without a dot at either end.
    public var domain: String
    /// Whether it is sent to that very host alone, and not to those below it.
    public var isHostOnly: Bool
    /// The path it is sent below.
    public var path: String
    /// When it ends; nil for the end of the session.
    public var expires: Date?
    /// Whether it is sent over https alone.
    public var isSecure: Bool
    /// Whether the server wants it to be seen by HTTP alone.
    public var isHTTPOnly: Bool
    /// When it was first set.
    public internal(set) var created: Date
    /// When it was last sent or set.
    var lastAccess: Date
    var pair: CookiePair
    /// The host that set it; empty for one of the app's own.
    var setter = ""
    /// Its number among the cookies of its jar, by when they were first set.
    var order: UInt64 = 0
    /// Its number among all uses of cookies of its jar.
    var lastUse: UInt64 = 0

    /// Makes a cookie of the app's own.
    ///
    /// - Parameters:
    ///   - name: Its name, without `=` and `;`.
    ///   - value: Its value.
    ///   - domain: The host it belongs to.
    ///   - isHostOnly: Whether hosts below that one do not get it; true by default.
    ///   - path: The path it is sent below; all by default.
    ///   - expires: When it ends; with the session by default.
    ///   - isSecure: Whether it is sent over https alone; true by default.
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

    /// Whether it has ended.
    func isExpired(at date: Date) -> Bool { expires.map { $0 <= date } ?? false }

    /// What one cookie replaces another by; compared by octets.
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
