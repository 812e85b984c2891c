#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// The cookies of one account, in memory or in a file (RFC 6265bis).
///
/// One jar belongs to one account, and to no other. It may be used from any thread. Expiry is measured in the time of
/// the calls.
public final class CookieJar: Sendable {
    /// How many cookies a jar keeps.
    ///
    /// When it is full, expired cookies are removed first, then those used longest ago.
    ///
    /// In a domain that several hosts set cookies for, the host with the most cookies loses cookies first.
    public struct Limits: Sendable, Hashable {
        /// The most cookies of one domain; 50 by default.
        public var perDomain = 50
        /// The most cookies in total; 3,000 by default.
        public var total = 3000
        /// The most bytes of a `Cookie` field; 16 KiB by default.
        ///
        /// Cookies that do not fit are not sent.
        public var fieldBytes = 16 << 10

        /// Makes the default limits.
        ///
        /// Name and value of a cookie have at most 4,096 bytes together in any case.
        public init() {}
    }

    private let locked: Locked<CookieStorage>
    private let file: CookieFile?
    /// The origin whose cookies the jar keeps apart from the cookies of the host's other ports.
    ///
    /// It is nil to follow RFC 6265bis, for which ports do not count.
    private let home: Origin?
    // The task that writes the file after a delay. When cancelled, it writes immediately.
    private let saving = Locked<Task<Void, Never>?>(nil)
    /// How long changes are collected before they are written.
    static let saveDelay = Duration.seconds(1)

    /// Makes an empty jar in memory.
    ///
    /// - Parameters:
    ///   - limits: How many cookies it keeps.
    ///   - isPublicSuffix: Whether a domain is shared by unrelated hosts, so that no cookie may be set for it.
    public convenience init(
        limits: Limits = Limits(),
        isPublicSuffix: @escaping @Sendable (String) -> Bool = CookieJar.PublicSuffixes.contains
    ) {
        self.init(storage: CookieStorage(limits: limits, isPublicSuffix: isPublicSuffix), file: nil)
    }

    /// Makes an empty jar in memory for the session of an origin: other ports of its host neither get nor set cookies.
    ///
    /// The same host over TLS is no other, when both have the default port.
    package convenience init(of home: Origin) {
        self.init(
            storage: CookieStorage(limits: Limits(), isPublicSuffix: CookieJar.PublicSuffixes.contains),
            file: nil,
            home: home
        )
    }

    /// Makes a jar that stores its cookies in a file, and reads the existing ones.
    ///
    /// The file is always replaced as a whole by a new one, and only its owner can read it. Session cookies are not
    /// stored.
    ///
    /// - Parameters:
    ///   - path: The file. It need not exist; its folder must.
    ///   - limits: How many cookies it keeps.
    ///   - isPublicSuffix: Whether a domain is shared by unrelated hosts, so that no cookie may be set for it.
    /// - Throws: `LoadingError.Kind.file` when the file exists and is not a cookie jar, or cannot be read.
    public convenience init(
        file path: String,
        limits: Limits = Limits(),
        isPublicSuffix: @escaping @Sendable (String) -> Bool = CookieJar.PublicSuffixes.contains
    ) throws(LoadingError) {
        var storage = CookieStorage(limits: limits, isPublicSuffix: isPublicSuffix)
        storage.load(try CookieFile.read(path))
        self.init(storage: storage, file: CookieFile(path: path))
    }

    private init(storage: CookieStorage, file: CookieFile?, home: Origin? = nil) {
        locked = Locked(storage)
        self.file = file
        self.home = home
    }

    /// Whether an address is another port of the host that the jar is for.
    private func isForeign(_ url: URL) -> Bool {
        guard let home, let origin = Origin(url), origin.host == home.host else { return false }
        return origin != home && !origin.isSecured(home)
    }

    // MARK: - Looking and changing

    /// Every cookie, ordered by domain, path and name.
    public var cookies: [Cookie] {
        locked.withLock { $0.all }
            .sorted { ($0.domain, $0.path, $0.name, $0.order) < ($1.domain, $1.path, $1.name, $1.order) }
    }

    /// Adds a cookie of the app to the jar.
    ///
    /// - Parameters:
    ///   - cookie: The cookie.
    ///   - date: The current date, which its expiry is compared with.
    public func insert(_ cookie: Cookie, at date: Date) {
        var cookie = cookie
        cookie.created = date
        cookie.lastAccess = date
        locked.withLock { $0.insert(cookie, at: date) }
    }

    /// Removes the cookies that satisfy a predicate; all of them by default, as when a user signs out.
    ///
    /// Call ``save()`` to update the file immediately.
    public func removeAll(where predicate: (Cookie) -> Bool = { _ in true }) {
        // Evaluated outside the lock, because the predicate is the caller's code.
        let chosen = Set(cookies.filter(predicate).map(\.identity))
        locked.withLock { storage in storage.remove { chosen.contains($0.identity) } }
    }

    /// Ends the session: removes the cookies without an expiry date.
    public func removeSessionCookies() {
        removeAll { $0.expires == nil }
    }

    /// Writes the file, if there is one and it is out of date.
    ///
    /// The interceptor does so by itself: within a second after a response that changed the stored cookies, once for all
    /// changes of that second. A process that ends before then loses these changes, but not the file. Call this method
    /// before the program ends.
    ///
    /// - Throws: `LoadingError.Kind.file` when it cannot be written; the jar continues to work in memory.
    public func save() async throws(LoadingError) {
        guard let file else { return }
        try await file.write { [locked] in locked.withLock { ($0.version, $0.all) } }
    }

    deinit {
        saving.withLock { $0 }?.cancel()
    }

    // MARK: - The interceptor's part

    /// The task that writes the file after a delay, if one is pending.
    var pendingSave: Task<Void, Never>? { saving.withLock { $0 } }

    /// Schedules writing the file after a delay, unless it is scheduled already.
    func saveSoon(in time: any TimeSource) {
        guard let file else { return }
        let (locked, saving) = (locked, saving)
        saving.withLock { task in
            guard task == nil else { return }
            task = Task {
                // Cancelled when the jar is deallocated; the file is then written immediately.
                try? await time.sleep(for: Self.saveDelay)
                // From here on a change starts a new delay.
                saving.withLock { $0 = nil }
                // The app learns of a failure from `save()`.
                try? await file.write { locked.withLock { ($0.version, $0.all) } }
            }
        }
    }

    /// Whether there is no cookie.
    private var isEmpty: Bool { locked.withLock { $0.count == 0 } }

    /// The lines of `Cookie` that a request is sent with now.
    package func sentCookies(with request: Request, at date: @autoclosure () -> Date) -> [[UInt8]] {
        var sent = request
        add(to: &sent, at: date())
        return sent.headers.octets("Cookie")
    }

    /// Adds the cookies for its address to a request.
    ///
    /// Cookies that the request contains already come first and take precedence.
    func add(to request: inout Request, at date: @autoclosure () -> Date) {
        request.headers.joinCookies()
        guard !isEmpty, !isForeign(request.url) else { return }
        let written = Array(request.headers.octets("Cookie").joined(separator: "; ".utf8))
        let names = written.split(separator: UInt8(ascii: ";")).map { pair in
            Array(pair.drop { $0 == 0x20 }.prefix { $0 != UInt8(ascii: "=") })
        }
        let date = date()
        let (url, isElsewhere) = (request.url, request.leavesThisMachine)
        let found = locked.withLock { $0.matching(url, isElsewhere: isElsewhere, at: date) }
            .filter { !names.contains($0.pair.nameOctets) }
        guard !found.isEmpty else { return }
        let pairs = (written.isEmpty ? [] : [written]) + found.map(\.pair.sent)
        request.headers.set("Cookie", secretOctets: Array(pairs.joined(separator: "; ".utf8)))
    }

    /// Stores the cookies that the response to a request sets; returns whether a file is now out of date.
    func take(_ headers: Headers, of request: Request, at date: Date) -> Bool {
        let values = headers.octets("Set-Cookie").compactMap { SetCookie($0) }
        guard !values.isEmpty, !isForeign(request.url) else { return false }
        let (url, isElsewhere) = (request.url, request.leavesThisMachine)
        return locked.withLock { storage in
            let version = storage.version
            for value in values { storage.take(value, from: url, isElsewhere: isElsewhere, at: date) }
            return storage.version != version
        } && file != nil
    }
}

extension CookieJar: CustomStringConvertible, CustomReflectable {
    /// How many cookies there are.
    public var description: String { "a jar of \(locked.withLock { $0.count }) cookies" }

    /// A mirror that shows no cookie.
    public var customMirror: Mirror { Mirror(self, children: ["jar": description]) }
}
