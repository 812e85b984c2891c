#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// One call at the cache: its request and everything that decisions about it need.
///
/// A reference, so that the frames of waiting calls stay small.
final class CacheWork: Sendable {
    let cache: ResponseCache
    let request: Request
    let query: CacheQuery
    let identity: CallIdentity
    let next: Next

    init(_ cache: ResponseCache, _ request: Request, _ identity: CallIdentity, _ next: Next) {
        self.cache = cache
        self.request = request
        self.identity = identity
        self.next = next
        query = Self.query(request, next.call, identity, cache)
    }

    /// What a request asks of the cache.
    static func query(
        _ request: Request,
        _ call: Call,
        _ identity: CallIdentity,
        _ cache: ResponseCache
    ) -> CacheQuery {
        let options = request.cacheOptions
        var bytes: [UInt8]?
        var isReadable = true
        // A request of any method may have a body, and then asks for the response to that body.
        if let body = request.body, !(options.key?.replacesBody ?? false) {
            // Reading a file or a stream twice is not worth a key.
            if case .bytes(let data) = body.content { bytes = Array(data) } else { isReadable = false }
        }
        var query = CacheQuery(
            request,
            partition: cache.partition,
            account: call.account,
            identity: identity,
            connection: cache.connection,
            body: bytes,
            address: cache.settings.mapAddress.flatMap { CacheAddress($0(request.url)) },
            now: Moment(now: call.time),
            digester: cache.rules.digester
        )
        if !isReadable { query.isReplayable = false }
        if query.mode == .standard { query.mode = cache.settings.defaultMode }
        return query
    }

    var call: Call { next.call }
    var rules: CacheRules { cache.rules }
    var store: any CacheStore { cache.settings.store }

    /// The query at the present.
    var currentQuery: CacheQuery {
        var query = query
        query.now = Moment(now: call.time)
        return query
    }

    /// What is stored under the key; nothing where the store fails.
    func lookUp() async -> CacheLookup {
        guard let key = query.key else { return CacheLookup(heads: [], ticket: 0) }
        do throws(CacheError) {
            return try await usingStore { store throws(CacheError) in try await store.lookUp(key) }
        } catch {
            cache.note(error, call)
            return CacheLookup(heads: [], ticket: 0)
        }
    }

    /// Uses the store, and reports how long that took to an observer of the call.
    func usingStore<Value>(
        _ body: (any CacheStore) async throws(CacheError) -> Value
    ) async throws(CacheError) -> Value {
        guard call.isObserved else { return try await body(store) }
        let start = call.time.now
        defer {
            let duration = start.duration(to: call.time.now)
            if duration >= Self.leastStoreTime { call.record(.cacheStoreUsed(for: duration)) }
        }
        return try await body(store)
    }

    /// What takes less is not worth an event.
    private static let leastStoreTime = Duration.microseconds(10)

    /// The request as it is sent: with a condition, and the directive of its mode unless it has its own.
    func asked(_ condition: CacheCondition, hasStored: Bool) -> Request {
        var sent = request
        if !condition.isEmpty { sent.headers = condition.adding(to: sent.headers) }
        if request.isHTTP, !request.headers.contains("Cache-Control"),
            let directive = CacheRules.directives(for: query.mode, hasStored: hasStored)
        {
            sent.headers.add("Cache-Control", directive)
        }
        return sent
    }

    /// The head of a response from below.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - began: When the request left the cache, for a transport whose response has no times.
    /// - Returns: The head, with the fields that were sent.
    func received(_ response: Response, since began: Moment) -> ReceivedHead {
        let sent = response.request.headers
        let times = response.times ?? ExchangeTimes(requested: began, received: Moment(now: call.time))
        var head = ReceivedHead(response.status, response.headers, sent: sent, times: times)
        head.isDecoded = response.metrics.contentEncoding != nil
        let url = response.request.url
        if url != request.url, let other = CacheAddress(url), let own = CacheAddress(request.url) {
            head.isFromOtherHost = other.origin != own.origin
        }
        head.hasOtherCredentials = !identity.covers(response.request, of: request, cookies: query.cookies?())
        let isAnonymous = RequestCredentials(response.request, cookies: nil).isEmpty
        head.isPersonal = cache.connection.identity != nil || !isAnonymous
        for field in sent where identity.hasAuthorisers && field.carriesCredentials {
            let name = field.name.asciiLowercased
            guard !request.headers.contains(name), identity.below.authorises(name) else { continue }
            // Cookies of the jar are compared.
            if name != "cookie" || identity.cookies == nil { head.authorised.insert(name) }
        }
        if let shouldStore = cache.settings.shouldStore {
            head.isRefusedByHook = !shouldStore(request, response.status, response.headers)
        }
        return head
    }

    /// Notes why a response is not stored: for the counters, the observers of the call, and later explanations.
    func refused(_ rule: CacheRule, isReported: Bool = true) {
        cache.count { $0.refused[rule, default: 0] += 1 }
        if isReported { call.record(.cacheNotStored(rule)) }
        if let key = query.key, query.isLookedUp { store.note(rule, for: key) }
    }

    /// Removes the head of a response that the caller does not get from the heads of the call.
    func discardHead() {
        guard let record = request.headRecord else { return }
        record.discard(after: record.position - 1)
    }

    /// The error of a request that must not reach the server.
    func notStored(_ reason: NotStoredReason) -> LoadingError {
        var context = ErrorContext(request)
        context.detail = "\(reason)"
        return LoadingError(.notStored, context, underlyingError: reason)
    }
}

/// A response on its way up, and what it means for calls that wait for the same.
struct CacheOutcome: Sendable {
    var response: Response
    /// The member of `Cache-Status`.
    var status: CacheStatus
    /// The stored head that calls with equal requests share; nil where the response is this call's alone.
    var shared: StoredHead?
}
