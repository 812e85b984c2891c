import Synchronization
package import LadeCore

/// The next step of a call at the cache.
package enum CacheStep: Sendable {
    /// Deliver this response.
    case serve(Response)
    /// Send this request, and settle the question with the outcome, whatever it is.
    case send(Request, CacheQuestion)
}

/// The cache of a service for the calls of one account: stands between redirects and retries.
///
/// A call asks what to do. While the step is to send a request, it sends that request and settles the question with the outcome,
/// which is the next step.
///
/// `ResponseCache.Rules` decides, and this carries the decisions out. A served call passes no interceptor below. Retries
/// happen below, so that only the final response or error of a request is seen here. No function of the cache runs while a
/// call waits for the server. The question has everything that the cache needs afterwards.
package struct AccountCache: Sendable {
    private let cache: ResponseCache
    /// The fields that the layers below add to the requests of the account.
    package var identity: CallIdentity

    /// Makes the cache of an account.
    package init(_ cache: ResponseCache, _ identity: CallIdentity = CallIdentity()) {
        (self.cache, self.identity) = (cache, identity)
    }

    /// Looks up the stored responses, decides, and waits for an equal call where there is one.
    ///
    /// - Parameters:
    ///   - request: The request at the cache.
    ///   - next: The rest of the chain, which sends the request; a validation in the background sends its own request.
    /// - Returns: The response, or the request to send.
    /// - Throws: `LoadingError.Kind.notStored` for a request that must not reach the server and has no stored response. The
    ///   error of an equal call that was waited for. `cancelled`.
    package func ask(_ request: Request, _ next: Chain.Next) async throws(LoadingError) -> CacheStep {
        guard !next.call.isCancelled else { throw LoadingError(.cancelled, LoadingError.Context(request)) }
        let start = request.headRecord?.position ?? 0
        if cache.leaves(request) {
            return .send(request, CacheQuestion(.left(request, next, start), at: Moment(now: next.call.time)))
        }
        let work = CacheWork(cache, request, identity, next, start)
        // Most calls need not wait: no function that could is called for them.
        switch try work.begin() {
        case .step(let step): return step
        case let rest: return try await work.step(after: rest)
        }
    }

    /// Carries out the consequence of a result, and hands over to the calls that wait for it.
    ///
    /// - Parameters:
    ///   - outcome: The response, or why there is none; a cancellation too.
    ///   - question: The question of the request, which is settled exactly once.
    /// - Returns: The response, or what to send next.
    /// - Throws: The error of the request, where nothing stored stands in for a response.
    package func settle(
        _ outcome: Result<Response, LoadingError>,
        _ question: CacheQuestion
    ) async throws(LoadingError) -> CacheStep {
        question.close()
        switch question.matter {
        case .left(let request, let next, let start):
            let response = try outcome.get()
            let isChange = !request.method.isSafe && (200..<400).contains(response.status.code)
            let hasMeaning = isChange || response.headers.contains("Clear-Site-Data")
            guard hasMeaning || cache.settings.addsStatusField else { return .serve(response) }
            return await CacheWork(cache, request, identity, next, start).left(response, since: question.began)
        case .passed(let work, let rule, let lookup):
            return await work.passed(try outcome.get(), rule, lookup, since: question.began)
        case .asked(let inquiry):
            return try await inquiry.work.settle(outcome, inquiry, since: question.began)
        }
    }
}

extension ResponseCache {
    /// Whether a request is left to the server, and is sent unchanged: its method is no question, and its mode asks for nothing
    /// more.
    fileprivate func leaves(_ request: Request) -> Bool {
        guard request.method != .get, request.method != .head else { return false }
        let mode = request.cacheMode == .standard ? settings.defaultMode : request.cacheMode
        return mode == .standard && request.isHTTP && request.method.rawValue != "QUERY"
            && (request.method != .post || request.cacheOptions.key == nil)
            && FieldNames(request.headers).isDisjoint(with: [.cacheControl, .pragma])
    }
}

/// A request that was sent for the cache, with everything that is needed to settle its outcome.
package final class CacheQuestion: Sendable {
    /// The reason for which the request was sent.
    enum Matter: Sendable {
        /// Its method is no question: its key is only made if the response changes the stored ones. The number counts the heads
        /// of the call before it.
        case left(Request, Chain.Next, Int)
        /// The request passes by for a reason, and its response may change stored responses.
        case passed(CacheWork, Response.CacheRule, CacheLookup)
        /// It asks for a response that may be stored.
        case asked(Inquiry)
    }

    let matter: Matter
    /// When it was sent, for a transport whose response has no times.
    let began: Moment
    private let isSettled = Atomic(false)

    init(_ matter: Matter, at began: Moment) {
        (self.matter, self.began) = (matter, began)
    }

    deinit {
        // Equal calls that wait for this one would wait for nothing.
        guard !isSettled.load(ordering: .relaxed), case .asked(let inquiry) = matter else { return }
        inquiry.lead?.end(inquiry.work, with: LoadingError(.cancelled))
    }

    /// Notes that the question is settled, which happens once.
    fileprivate func close() {
        let isFirst = !isSettled.exchange(true, ordering: .relaxed)
        precondition(isFirst, "a question of the cache was settled twice")
    }
}

/// The question to the server, and the responses that were stored when it was made.
struct Inquiry: Sendable {
    /// How the request is sent.
    enum Form: Sendable {
        /// With a condition, which may be empty.
        case condition(CacheCondition)
        /// For the rest of a body.
        case rest(of: UInt64, from: Int64, EntityTag)
    }

    let work: CacheWork
    let form: Form
    let lookup: CacheLookup
    /// Why the server is asked.
    let rule: Response.CacheRule
    var freshness: ResponseCache.Freshness?
    /// The exchange that other calls wait for, too.
    var lead: CacheLead?

    /// The same without a condition, as if nothing were stored; its response is final.
    func anew(_ rule: Response.CacheRule? = nil) -> Inquiry {
        let lookup = CacheLookup(heads: [], ticket: lookup.ticket)
        return Inquiry(
            work: work,
            form: .condition(CacheCondition()),
            lookup: lookup,
            rule: rule ?? self.rule,
            lead: lead
        )
    }

    /// The condition; empty where the rest of a body is asked for.
    var condition: CacheCondition { if case .condition(let condition) = form { condition } else { CacheCondition() } }
}
