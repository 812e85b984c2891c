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
    let next: Next

    init(_ cache: ResponseCache, _ request: Request, _ next: Next) {
        self.cache = cache
        self.request = request
        self.next = next
        query = Self.query(request, next.call, cache)
    }

    /// What a request asks of the cache.
    static func query(_ request: Request, _ call: Call, _ cache: ResponseCache) -> CacheQuery {
        let options = request.cacheOptions
        var bytes: [UInt8]?
        var isReadable = true
        let isQuestion = request.method.rawValue == "QUERY" || request.method == .post && options.key != nil
        if isQuestion, let body = request.body, !(options.key?.replacesBody ?? false) {
            // Reading a file or a stream twice is not worth a key.
            if case .bytes(let data) = body.content { bytes = Array(data) } else { isReadable = false }
        }
        var query = CacheQuery(
            request,
            partition: cache.partition,
            account: call.account,
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
        for field in sent where field.carriesCredentials && !field.name.equalsIgnoringASCIICase("Cookie") {
            if !request.headers.contains(field.name) { head.authorised.insert(field.name.asciiLowercased) }
        }
        if let shouldStore = cache.settings.shouldStore {
            head.isRefusedByHook = !shouldStore(request, response.status, response.headers)
        }
        return head
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
