#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// The cookies of one jar, and the rules for storing and removing them (RFC 6265bis §5.7, §5.8).
///
/// A value without clock and lock. Each operation visits only the cookies of one host and the domains above it, and
/// each domain has at most `Limits.perDomain`.
struct CookieStorage: Sendable {
    typealias PublicSuffixRule = @Sendable (String) -> Bool

    /// By domain, so that a request visits only its host and the domains above it.
    private var domains: [Substring: [Cookie.Identity: Cookie]] = [:]
    private var secure = SecureCookieIndex()
    // Cookies by expiry and by last use; entries that are out of date are skipped.
    private var ends = LazyHeap<Date, Cookie.Identity>()
    private var uses = LazyHeap<UInt64, Cookie.Identity>()
    private var lastOrder: UInt64 = 0
    private var lastUse: UInt64 = 0
    /// How many cookies there are.
    private(set) var count = 0
    /// The number of entries by expiry and by last use, out-of-date ones included; tests limit it.
    var entryCount: Int { ends.count + uses.count }
    /// Counts the changes of the cookies that a file would hold.
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
        get { domains[identity.domain[...]]?[identity] }
        set {
            let domain = identity.domain[...]
            if let old = domains[domain]?[identity] {
                count -= 1
                if old.isSecure { secure.remove(old) }
            }
            if let newValue {
                count += 1
                if newValue.isSecure { secure.insert(newValue) }
            }
            domains[domain, default: [:]][identity] = newValue
            if domains[domain]?.isEmpty == true { domains[domain] = nil }
        }
    }

    // MARK: - Setting

    /// Stores a cookie that a host set; returns whether it was accepted.
    ///
    /// `isElsewhere` says whether another machine was dialled in place of the host that the address names.
    @discardableResult
    mutating func take(_ set: SetCookie, from url: URL, isElsewhere: Bool = false, at now: Date) -> Bool {
        guard let origin = Origin(url) else { return false }
        let isSecure = Self.isSecure(origin, isElsewhere)
        guard let cookie = cookie(set, from: origin, isSecure, url, now), Self.meetsPrefix(cookie, path: set.path),
            isSecure || !secure.isShadowed(by: cookie)
        else { return false }
        insert(cookie, at: now)
        return true
    }

    /// Adds the cookies of a file, in the order in which they were first set.
    mutating func load(_ cookies: [Cookie]) {
        let ordered = cookies.enumerated().map { index, cookie in
            var cookie = cookie
            cookie.order = UInt64(index) + 1
            return cookie
        }
        lastOrder = UInt64(cookies.count)
        for cookie in ordered.sorted(by: { $0.lastAccess < $1.lastAccess }) { insert(cookie, at: cookie.lastAccess) }
    }

    /// Adds a cookie.
    mutating func insert(_ cookie: Cookie, at now: Date) {
        var cookie = cookie
        // A file may name more hosts than the cookie was set for: the cookies of a public suffix are for that host alone.
        if !cookie.isHostOnly, isPublicSuffix(cookie.domain) { cookie.isHostOnly = true }
        // A field cannot carry it, so that it would fail the calls that send it.
        guard cookie.pair.isSendable, Self.meetsPrefix(cookie, path: cookie.path) else { return }
        let identity = cookie.identity
        let old = self[identity]
        if cookie.isExpired(at: now) {
            self[identity] = nil
            if old?.expires != nil { version += 1 }
            return
        }
        if let old {
            (cookie.created, cookie.order) = (old.created, old.order)
        } else if cookie.order == 0 {
            lastOrder += 1
            cookie.order = lastOrder
        }
        lastUse += 1
        cookie.lastUse = lastUse
        self[identity] = cookie
        uses.insert(lastUse, identity)
        if let end = cookie.expires { ends.insert(end, identity) }
        compactHeaps()
        if cookie.expires != nil || old?.expires != nil { version += 1 }
        makeRoom(in: identity.domain[...], at: now)
    }

    /// Whether cookies for secure connections alone go to an origin: over TLS, or to this machine.
    private static func isSecure(_ origin: Origin, _ isElsewhere: Bool) -> Bool {
        origin.isSecure || (origin.isTrustworthy && !isElsewhere)
    }

    private func cookie(_ set: SetCookie, from origin: Origin, _ isSecure: Bool, _ url: URL, _ now: Date) -> Cookie? {
        guard isSecure || !set.isSecure, set.isSecure || !set.isForAnySite else { return nil }
        var domain = ""
        if !set.domain.isEmpty {
            guard let normal = NormalHost(set.domain)?.text else { return nil }
            domain = normal
        }
        guard domain.isEmpty || Self.matches(origin.host, domain: domain) else { return nil }
        if !domain.isEmpty, isShared(domain, by: origin.host) {
            // The host may have cookies for itself, but none for hosts below it.
            guard domain == origin.host else { return nil }
            domain = ""
        }
        var cookie = Cookie(
            name: "",
            value: "",
            domain: domain.isEmpty ? origin.host : domain,
            isHostOnly: domain.isEmpty,
            path: set.path.isEmpty ? Self.defaultPath(of: url) : set.path,
            expires: set.end(at: now),
            isSecure: set.isSecure
        )
        cookie.pair = set.pair
        cookie.setter = origin.host
        cookie.isHTTPOnly = set.isHTTPOnly
        cookie.created = now
        cookie.lastAccess = now
        return cookie
    }

    /// Whether unrelated hosts have names below a domain, or below one between it and a host.
    ///
    /// libpsl decides for a pair of host and domain.
    ///
    /// `amazonaws.com` is no public suffix, but `s3.eu-central-1.amazonaws.com` is: a host below the second must not set
    /// cookies for the first.
    private func isShared(_ domain: String, by host: String) -> Bool {
        Self.domains(of: host).contains { between in
            between.utf8.count >= domain.utf8.count && isPublicSuffix(String(between))
        }
    }

    /// Whether a cookie, also a cookie of a file, has the properties that the prefix of its name promises (RFC 6265bis §5.7).
    private static func meetsPrefix(_ cookie: Cookie, path: String) -> Bool {
        switch CookiePair.prefix(of: cookie.pair.nameOctets) {
        case "__secure-": cookie.isSecure
        case "__host-": cookie.isSecure && cookie.isHostOnly && path == "/"
        default: true
        }
    }

    // MARK: - Room

    private mutating func makeRoom(in domain: Substring, at now: Date) {
        guard count > limits.total || count(in: domain) > limits.perDomain else { return }
        while let (end, identity) = ends.first, end <= now {
            ends.removeFirst()
            if self[identity]?.expires == end { self[identity] = nil }
        }
        while count(in: domain) > limits.perDomain {
            guard let victim = victim(in: domain) else { return }
            self[victim] = nil
        }
        while count > limits.total, let (use, identity) = uses.first {
            uses.removeFirst()
            if self[identity]?.lastUse == use { self[identity] = nil }
        }
    }

    private func count(in domain: Substring) -> Int { domains[domain]?.count ?? 0 }

    /// The cookie of a full domain to remove.
    ///
    /// Cookies that are not secure are removed before others. The cookies of the host that has set the most are removed first,
    /// so that no host displaces the cookies of another host.
    private func victim(in domain: Substring) -> Cookie.Identity? {
        guard let some = domains[domain]?.values else { return nil }
        var counts: [String: Int] = [:]
        for cookie in some { counts[cookie.setter, default: 0] += 1 }
        let most = counts.values.max() ?? 0
        let candidates = some.filter { counts[$0.setter] == most }
        let hasInsecure = candidates.contains { !$0.isSecure }
        return candidates.filter { !$0.isSecure || !hasInsecure }.min { $0.lastUse < $1.lastUse }?.identity
    }

    mutating func remove(where predicate: (Cookie) -> Bool) {
        let before = count
        for cookie in all where predicate(cookie) { self[cookie.identity] = nil }
        if count != before { version += 1 }
    }

    // MARK: - Sending

    /// The cookies for an address, longer paths first, then those that were set earlier (RFC 6265bis §5.8.3).
    ///
    /// At most as many as fit into ``CookieJar/Limits/fieldBytes``.
    mutating func matching(_ url: URL, isElsewhere: Bool = false, at now: Date) -> [Cookie] {
        guard count > 0, let origin = Origin(url) else { return [] }
        let isSecure = Self.isSecure(origin, isElsewhere)
        let path = Self.path(of: url)
        var found: [Cookie] = []
        for domain in Self.domains(of: origin.host) {
            guard let some = domains[domain] else { continue }
            let isHost = domain.utf8.count == origin.host.utf8.count
            found += some.values.filter { cookie in
                (!cookie.isHostOnly || isHost) && Self.matches(path: path, cookie.path)
                    && (isSecure || !cookie.isSecure) && !cookie.isExpired(at: now)
            }
        }
        found.sort { left, right in
            let (leftLength, rightLength) = (left.path.utf8.count, right.path.utf8.count)
            return (rightLength, left.order) < (leftLength, right.order)
        }
        var room = limits.fieldBytes + 2
        found.removeAll { cookie in
            room -= cookie.pair.sent.count + 2
            return room < 0
        }
        for cookie in found { use(cookie, at: now) }
        return found
    }

    private mutating func use(_ cookie: Cookie, at now: Date) {
        lastUse += 1
        let identity = cookie.identity
        domains[identity.domain[...]]?[identity]?.lastAccess = now
        domains[identity.domain[...]]?[identity]?.lastUse = lastUse
        uses.insert(lastUse, identity)
        compactHeaps()
    }

    /// Removes out-of-date entries once they are the majority, which is a constant cost per insertion.
    private mutating func compactHeaps() {
        let most = 2 * count + 64
        if uses.count > most {
            uses.compact { [domains] use, identity in domains[identity.domain[...]]?[identity]?.lastUse == use }
        }
        if ends.count > most {
            // A cookie that is set again with the same expiry has several entries that are not out of date.
            var seen: Set<Cookie.Identity> = []
            ends.compact { [domains] end, identity in
                domains[identity.domain[...]]?[identity]?.expires == end && seen.insert(identity).inserted
            }
        }
    }

    // MARK: - Matching

    /// A host and every domain above it, as slices without copying.
    ///
    /// An IP address has none.
    static func domains(of host: String) -> [Substring] {
        guard !isAddress(host) else { return [host[...]] }
        var domains = [host[...]]
        while let dot = domains[domains.count - 1].utf8.firstIndex(of: UInt8(ascii: ".")) {
            domains.append(host[host.utf8.index(after: dot)...])
        }
        return domains
    }

    /// Whether a host is a domain or below it; an IP address has nothing below it (RFC 6265bis §5.1.3).
    ///
    /// Both are in their normal form.
    static func matches(_ host: String, domain: String) -> Bool {
        if host == domain { return true }
        return host.hasSuffix("." + domain) && !isAddress(host)
    }

    private static func isAddress(_ host: String) -> Bool { NormalHost(host)?.isAddress ?? true }

    /// Whether a path is a cookie's path or below it (RFC 6265bis §5.1.4).
    static func matches(path: String, _ cookiePath: String) -> Bool {
        guard path.begins(with: cookiePath) else { return false }
        return path.utf8.count == cookiePath.utf8.count || cookiePath.utf8.last == UInt8(ascii: "/")
            || path.utf8.dropFirst(cookiePath.utf8.count).first == UInt8(ascii: "/")
    }

    /// The path that cookies are compared with.
    ///
    /// Notations that a server may read as another path are resolved.
    static func path(of url: URL) -> String { url.normalPath }

    /// The folder of the address (RFC 6265bis §5.1.4).
    static func defaultPath(of url: URL) -> String {
        let path = path(of: url)
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
