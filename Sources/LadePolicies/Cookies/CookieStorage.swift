#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// The cookies of one jar and the rules by which they come and go (RFC 6265bis §5.7, §5.8).
///
/// A value without clock and lock.
struct CookieStorage: Sendable {
    typealias PublicSuffixRule = @Sendable (String) -> Bool

    /// By domain, so that a request looks at those of its host and the domains above it alone.
    private var domains: [String: [Cookie.Identity: Cookie]] = [:]
    /// How many cookies there are.
    private(set) var count = 0
    /// Counts the changes of what a file would hold.
    private(set) var version = 0
    let limits: CookieJar.Limits
    private let isPublicSuffix: PublicSuffixRule

    init(limits: CookieJar.Limits, isPublicSuffix: @escaping PublicSuffixRule) {
        self.limits = limits
        self.isPublicSuffix = isPublicSuffix
    }

    /// Every cookie, in no order.
    var all: [Cookie] { domains.values.flatMap(\.values) }

    private subscript(identity: Cookie.Identity) -> Cookie? {
        get { domains[identity.domain]?[identity] }
        set {
            let wasThere = domains[identity.domain]?[identity] != nil
            count += (newValue == nil ? 0 : 1) - (wasThere ? 1 : 0)
            domains[identity.domain, default: [:]][identity] = newValue
            if domains[identity.domain]?.isEmpty == true { domains[identity.domain] = nil }
        }
    }

    // MARK: - Setting

    /// Takes what a host set; returns whether it was accepted.
    @discardableResult
    mutating func take(_ set: SetCookie, from url: URL, at now: Date) -> Bool {
        guard let origin = Origin(url), var cookie = cookie(set, from: origin, url, now) else { return false }
        guard meetsPrefix(set, cookie), origin.isSecure || !shadowsSecure(cookie) else { return false }
        if let old = self[cookie.identity] { cookie.created = old.created }
        insert(cookie, at: now)
        return true
    }

    /// Takes a cookie of the app's own.
    mutating func insert(_ cookie: Cookie, at now: Date) {
        let old = self[cookie.identity]
        if cookie.isExpired(at: now) {
            self[cookie.identity] = nil
            if old?.expires != nil { version += 1 }
            return
        }
        self[cookie.identity] = cookie
        if cookie.expires != nil || old?.expires != nil { version += 1 }
        makeRoom(in: cookie.domain, at: now)
    }

    private func cookie(_ set: SetCookie, from origin: Origin, _ url: URL, _ now: Date) -> Cookie? {
        guard origin.isSecure || !set.isSecure else { return nil }
        var domain = set.domain
        if !domain.isEmpty, isPublicSuffix(domain) {
            // Such a host may have cookies of its own, but none for those below it.
            guard domain == origin.host else { return nil }
            domain = ""
        }
        guard domain.isEmpty || Self.matches(origin.host, domain: domain) else { return nil }
        var cookie = Cookie(
            name: set.name,
            value: set.value,
            domain: domain.isEmpty ? origin.host : domain,
            isHostOnly: domain.isEmpty,
            path: set.path.isEmpty ? Self.defaultPath(of: url) : set.path,
            expires: set.end(at: now),
            isSecure: set.isSecure
        )
        cookie.isHTTPOnly = set.isHTTPOnly
        cookie.created = now
        cookie.lastAccess = now
        return cookie
    }

    private func meetsPrefix(_ set: SetCookie, _ cookie: Cookie) -> Bool {
        let name = cookie.name.lowercased()
        if name.hasPrefix("__secure-") { return cookie.isSecure }
        if name.hasPrefix("__host-") { return cookie.isSecure && cookie.isHostOnly && set.path == "/" }
        return true
    }

    /// Whether a cookie set without TLS would stand before a secure one of the same name.
    private func shadowsSecure(_ cookie: Cookie) -> Bool {
        all.contains { old in
            old.isSecure && old.name == cookie.name
                && (Self.matches(old.domain, domain: cookie.domain) || Self.matches(cookie.domain, domain: old.domain))
                && Self.matches(path: cookie.path, old.path)
        }
    }

    // MARK: - Room

    private mutating func makeRoom(in domain: String, at now: Date) {
        if count > limits.total || count(in: domain) > limits.perDomain {
            for cookie in all where cookie.isExpired(at: now) { self[cookie.identity] = nil }
        }
        while count(in: domain) > limits.perDomain {
            // Those that are not secure go first.
            let some = Array((domains[domain] ?? [:]).values)
            removeOldest(some.contains { !$0.isSecure } ? some.filter { !$0.isSecure } : some)
        }
        while count > limits.total { removeOldest(all) }
    }

    private func count(in domain: String) -> Int { domains[domain]?.count ?? 0 }

    private mutating func removeOldest(_ some: [Cookie]) {
        let oldest = some.min { ($0.lastAccess, $0.created, $0.name) < ($1.lastAccess, $1.created, $1.name) }
        if let oldest { self[oldest.identity] = nil }
    }

    mutating func remove(where predicate: (Cookie) -> Bool) {
        let before = count
        for cookie in all where predicate(cookie) { self[cookie.identity] = nil }
        if count != before { version += 1 }
    }

    // MARK: - Sending

    /// The cookies for an address, longer paths first, then older ones (RFC 6265bis §5.8.3).
    mutating func matching(_ url: URL, at now: Date) -> [Cookie] {
        guard count > 0, let origin = Origin(url) else { return [] }
        let path = Self.path(of: url)
        var found: [Cookie] = []
        for domain in Self.domains(of: origin.host) {
            guard let some = domains[domain] else { continue }
            found += some.values.filter { cookie in
                (!cookie.isHostOnly || domain == origin.host) && Self.matches(path: path, cookie.path)
                    && (origin.isSecure || !cookie.isSecure) && !cookie.isExpired(at: now)
            }
        }
        for cookie in found { domains[cookie.domain]?[cookie.identity]?.lastAccess = now }
        return found.sorted { left, right in
            let (leftLength, rightLength) = (left.path.utf8.count, right.path.utf8.count)
            return (rightLength, left.created, left.name) < (leftLength, right.created, right.name)
        }
    }

    /// A host and every domain above it; an IP address has none.
    private static func domains(of host: String) -> [String] {
        guard !isAddress(host) else { return [host] }
        var domains = [host]
        var rest = host[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            domains.append(String(rest))
        }
        return domains
    }

    // MARK: - Matching

    /// Whether a host is a domain or below it; an IP address has nothing below it (RFC 6265bis §5.1.3).
    static func matches(_ host: String, domain: String) -> Bool {
        if host == domain { return true }
        return host.hasSuffix("." + domain) && !isAddress(host)
    }

    private static func isAddress(_ host: String) -> Bool {
        if host.contains(":") { return true }
        let last = host.split(separator: ".").last ?? ""
        return !last.isEmpty && last.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Whether a path is that of a cookie or below it (RFC 6265bis §5.1.4).
    static func matches(path: String, _ cookiePath: String) -> Bool {
        guard path.hasPrefix(cookiePath) else { return false }
        return path.utf8.count == cookiePath.utf8.count || cookiePath.hasSuffix("/")
            || path.utf8.dropFirst(cookiePath.utf8.count).first == UInt8(ascii: "/")
    }

    /// The path that cookies are compared with; what a server may read as another path is that path.
    static func path(of url: URL) -> String { url.normalPath }

    /// The folder of the address (RFC 6265bis §5.1.4).
    static func defaultPath(of url: URL) -> String {
        let path = path(of: url)
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
