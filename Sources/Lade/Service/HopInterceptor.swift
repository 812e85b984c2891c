#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCache
package import LadeCore
package import LadePolicies

/// Begins a call, and follows its redirects: each hop passes through the cache, with a key of its own.
///
/// It stands below the app's call interceptors and above the attempts. A policy that is not set does not act:
///
/// 1. The preparation turns the app's request into the request that the service sends.
/// 2. The deadline begins, and the call's time is recorded. Everything below waits with `Call.wait`, which observes the
///    deadline and fails immediately when a wait would end after it.
/// 3. Redirects are followed in a loop, each with its own cookies, cache key and credentials (RFC 9110 §15.4, §10.2.2).
/// 4. The cache serves a hop, or has it sent, and settles each question with the outcome.
package struct HopInterceptor: Interceptor {
    /// Makes the request that is sent; nil sends the caller's request.
    var preparation: Preparation?
    /// How long calls may take; nil for as long as they want.
    package var deadlines: DeadlineSettings?
    /// How redirects are followed; nil delivers them.
    package var redirects: RedirectPolicy?
    /// The cache.
    package var cache: AccountCache?
    private let budget: RetryBudget?
    private let keyRule: ServiceKey.Rule

    /// Makes the interceptor.
    ///
    /// - Parameters:
    ///   - deadlines: How long calls may take.
    ///   - redirects: How redirects are followed.
    ///   - budget: The retry budget that a repeated address in one call withdraws from; an empty budget refuses the
    ///     redirect as a loop. A redirect to a new address costs nothing. Nil for no such limit.
    ///   - keyRule: The rule by which requests share a budget.
    package init(
        deadlines: DeadlineSettings? = nil,
        redirects: RedirectPolicy? = nil,
        budget: RetryBudget? = nil,
        keyRule: @escaping ServiceKey.Rule = { ServiceKey($0) }
    ) {
        self.deadlines = deadlines
        self.redirects = redirects
        self.budget = budget
        self.keyRule = keyRule
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// Prepares the request, begins the deadline, sends the request and follows the redirects of its responses.
    ///
    /// - Throws: The error of a decorator; one that is not a `LoadingError` becomes `LoadingError.Kind.decorationFailed`.
    ///   `LoadingError.Kind.redirectRefused` with status and headers of a redirect that is not followed. The errors of the
    ///   interceptors below.
    package func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        guard let preparation else { return try await begun(request, next) }
        var prepared = preparation.prepared(request, next.call)
        if preparation.decorates(request) { prepared = try await preparation.decorated(prepared, next.call) }
        try preparation.complete(&prepared)
        return try await begun(prepared, next)
    }

    /// Begins the deadline, and sends a prepared request.
    @inline(__always)
    private func begun(_ request: Request, _ next: Chain.Next) async throws(LoadingError) -> Response {
        guard let deadlines else { return try await followed(request, next) }
        var next = next
        let start = deadlines.begin(&next.call, for: request)
        do throws(LoadingError) {
            guard next.call.deadline == nil || next.observesScope else {
                return try await sendUntilDeadline(request, next)
            }
            return try await followed(request, next)
        } catch {
            throw deadlines.timed(error, since: start, next.call)
        }
    }

    // An interceptor or a transport of the app may wait otherwise, so its call is cancelled 100 ms after the deadline. A separate
    // function: a waiting call keeps the frames of its callers.
    @inline(never)
    private func sendUntilDeadline(_ request: Request, _ next: Chain.Next) async throws(LoadingError) -> Response {
        try await next.call.untilDeadline { (call) async throws(LoadingError) in
            var next = next
            next.call = call
            return try await followed(request, next)
        }
    }

    // Inlined: a waiting call keeps the frame of every function that waits.
    @inline(__always)
    private func followed(_ request: Request, _ next: Chain.Next) async throws(LoadingError) -> Response {
        let response = try await hop(request, next)
        // Most responses are not redirects: they need no trail.
        guard let redirects, 300..<400 ~= response.status.code else { return response }
        return try await followed(request, redirects, response, next)
    }

    /// Sends the requests that the cache asks for, until it has a response.
    @inline(__always)
    private func hop(_ request: Request, _ next: Chain.Next) async throws(LoadingError) -> Response {
        guard let cache else { return try await next(request) }
        var step = try await cache.ask(request, next)
        while true {
            switch step {
            case .serve(let response): return response
            case .send(let sent, let question): step = try await cache.settle(await next.outcome(sent), question)
            }
        }
    }

    private func followed(
        _ request: Request,
        _ redirects: RedirectPolicy,
        _ response: Response,
        _ next: Chain.Next
    ) async throws(LoadingError) -> Response {
        var response = response
        var trail = RedirectTrail(redirects)
        var request = request
        while true {
            // Credentials that authorisers have added since are secrets too, and a server may repeat them in its
            // target.
            request.keepSecrets(of: response.request)
            switch trail.decide(response.status, response.headers, to: request) {
            case .deliver:
                return response
            case .refuse(let fault):
                throw refused(fault, response, request)
            case .follow(let target, let isRepeat):
                let cost = isRepeat ? budget?.settings.retryCost ?? 0 : 0
                if cost > 0, let budget, !budget.withdraw(for: keyRule(target)) {
                    throw refused(.loop(url: Redaction(target).address(target.url.absoluteString)), response, request)
                }
                next.call.record(Self.event(response.status, from: request, to: target))
                await response.discardBody(next.call)
                request = target
                do throws(LoadingError) {
                    response = try await hop(request, next)
                } catch {
                    if cost > 0, error.isFree { budget?.refund(for: keyRule(target), cost) }
                    throw error
                }
            }
        }
    }

    private static func event(_ status: Response.Status, from request: Request, to target: Request) -> Call.Event {
        let rule = Redaction(target)
        return .redirectFollowed(
            status: status,
            from: rule.address(request.url.absoluteString),
            to: rule.address(target.url.absoluteString),
            method: target.method
        )
    }

    private func refused(_ fault: LoadingError.RedirectCause, _ response: Response, _ request: Request) -> LoadingError
    {
        response.body.cancel()
        var context = LoadingError.Context(request)
        context.attempts = response.attempts
        context.status = response.status
        context.headers = response.headers
        return LoadingError(.redirectRefused(fault), context)
    }
}
