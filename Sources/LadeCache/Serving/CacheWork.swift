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
    let next: Chain.Next
    /// The number of the heads of the call before this request.
    private let start: Int

    init(_ cache: ResponseCache, _ request: Request, _ identity: CallIdentity, _ next: Chain.Next, _ start: Int) {
        self.cache = cache
        self.request = request
        self.identity = identity
        self.next = next
        self.start = start
        query = Self.query(request, next.call, identity, cache)
    }

    /// The query of a request to the cache.
    static func query(
        _ request: Request,
        _ call: Call,
        _ identity: CallIdentity,
        _ cache: ResponseCache
    ) -> CacheQuery {
        var bytes: [UInt8]?
        var isReadable = true
        // A request of any method may have a body, and then asks for the response to that body.
        if request.hasBody, let body = request.body, !(request.cacheOptions.key?.replacesBody ?? false) {
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
    var rules: ResponseCache.Rules { cache.rules }
    var store: any CacheStore { cache.settings.store }

    /// The query at the present.
    var currentQuery: CacheQuery {
        var query = query
        query.now = Moment(now: call.time)
        return query
    }

    /// The responses that are stored under the key; nothing where the store fails.
    func lookUp() async -> CacheLookup {
        guard let key = query.key else { return .none }
        do throws(CacheError) {
            return try await usingStore { store throws(CacheError) in try await store.lookUp(key) }
        } catch {
            cache.note(error, call)
            return .none
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

    /// The same measurement for the store in memory.
    func measured<Value>(_ body: () throws(CacheError) -> Value) throws(CacheError) -> Value {
        guard call.isObserved else { return try body() }
        let start = call.time.now
        defer {
            let duration = start.duration(to: call.time.now)
            if duration >= Self.leastStoreTime { call.record(.cacheStoreUsed(for: duration)) }
        }
        return try body()
    }

    /// A use of the store that takes less time is not worth an event.
    private static let leastStoreTime = Duration.microseconds(10)

    /// The request as it is sent: with a condition, and the directive of its mode unless it has its own.
    func asked(_ condition: CacheCondition, hasStored: Bool) -> Request {
        var sent = request
        if !condition.isEmpty { sent.headers = condition.adding(to: sent.headers) }
        if request.isHTTP, !request.headers.contains("Cache-Control"),
            let directive = ResponseCache.Rules.directives(for: query.mode, hasStored: hasStored)
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
        if !url.absoluteString.isSpelled(like: request.url.absoluteString), let other = CacheAddress(url),
            let own = CacheAddress(request.url)
        {
            head.isFromOtherHost = other.origin != own.origin
        }
        let credentials = RequestCredentials(response.request, cookies: nil)
        head.hasOtherCredentials = !identity.covers(credentials, of: request, cookies: query.cookies)
        head.isPersonal = cache.connection.identity != nil || !credentials.isEmpty
        for field in identity.hasAuthorisers ? sent : [:] where field.carriesCredentials {
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
    func refused(_ rule: Response.CacheRule, isReported: Bool = true) {
        cache.count { $0.refused[rule, default: 0] += 1 }
        if isReported { call.record(.cacheNotStored(rule)) }
        if let key = query.key, query.isLookedUp { store.note(rule, for: key) }
    }

    /// The end of the call at the cache: its response, whose head becomes the last head of the call.
    func finished(_ outcome: CacheDelivery) -> CacheStep {
        var response = outcome.response
        if cache.settings.addsStatusField { response.headers = outcome.status.adding(to: response.headers) }
        if let record = request.headRecord { note(response, outcome.status, in: record) }
        return .serve(response)
    }

    /// Makes the response's head the last head of the call: a stored head replaces the 304 or the failure before it.
    private func note(_ response: Response, _ status: CacheStatus, in record: HeadRecord) {
        guard response.source == .network, !status.isCollapsed else {
            record.discard(after: start)
            return record.append(
                response.status,
                response.headers,
                response.version ?? .http1_1,
                reason: response.status.reasonPhrase ?? ""
            )
        }
        guard cache.settings.addsStatusField, record.position > start else { return }
        record.amendLast("Cache-Status", status.text)
    }

    /// Removes the head of a response that the caller does not get from the heads of the call.
    func discardHead() {
        guard let record = request.headRecord else { return }
        record.discard(after: record.position - 1)
    }

    /// The error of a request that must not reach the server.
    func notStored(_ reason: ResponseCache.NotStoredReason) -> LoadingError {
        var context = LoadingError.Context(request)
        context.detail = "\(reason)"
        return LoadingError(.notStored, context, underlyingError: reason)
    }
}

// MARK: - Changing the store

extension CacheWork {
    /// Removes the responses that the server asks to forget.
    func clear(_ headers: Headers) async {
        guard headers.contains("Clear-Site-Data"), let place = query.key?.place,
            ResponseCache.Rules.clearsCache(headers, from: place.address)
        else { return }
        await remove(.origin(place.address.origin, scopes: [place.scope, .shared]))
    }

    func invalidate(_ kind: ResponseCache.Selection.Kind) async {
        do throws(CacheError) {
            let count = try await usingStore { store throws(CacheError) in
                try await store.invalidate(ResponseCache.Selection(kind))
            }
            if count > 0 { call.record(.cacheInvalidated(count: count)) }
        } catch {
            cache.note(error, call)
        }
    }

    func remove(_ kind: ResponseCache.Selection.Kind) async {
        do throws(CacheError) {
            _ = try await usingStore { store throws(CacheError) in try await store.remove(ResponseCache.Selection(kind))
            }
        } catch {
            cache.note(error, call)
        }
    }

    func update(_ head: StoredHead) async {
        do throws(CacheError) {
            _ = try await usingStore { store throws(CacheError) in try await store.update(head) }
        } catch {
            cache.note(error, call)
        }
    }
}

/// A response on its way up, and its consequence for calls that wait for the same response.
struct CacheDelivery: Sendable {
    var response: Response
    /// The member of `Cache-Status`.
    var status: CacheStatus
    /// The stored head that calls with equal requests share; nil where the response is this call's alone.
    var shared: StoredHead?
}
