#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// A cookie as a jar keeps it (RFC 6265bis §5.5).
public struct Cookie: Sendable, Hashable {
    /// The name; may be empty.
    public var name: String
    /// The value, which is a secret as a password is.
    public var value: Secret
    /// The host it belongs to, in lower case, without a leading dot.
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
        self.name = name
        self.value = value
        self.domain = domain.lowercased()
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

    /// What one cookie replaces another by.
    var identity: Identity { Identity(name: name, domain: domain, isHostOnly: isHostOnly, path: path) }

    struct Identity: Hashable {
        let name: String
        let domain: String
        let isHostOnly: Bool
        let path: String
    }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    /// Name, domain and path; never the value.
    public var description: String { "\(name)=<redacted>; Domain=\(domain); Path=\(path)" }

    /// A mirror that does not show the value.
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }
}
