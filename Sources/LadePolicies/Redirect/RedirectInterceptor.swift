#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// Follows redirects: each hop passes through the interceptors below, with its own cookies, cache key and credentials
/// (RFC 9110 §15.4, §10.2.2).
package struct RedirectInterceptor: Interceptor {
    /// How redirects are followed.
    package let policy: RedirectPolicy
    private let budget: RetryBudget?
    private let keyRule: ServiceKey.Rule

    /// Makes the interceptor.
    ///
    /// - Parameters:
    ///   - policy: How redirects are followed.
    ///   - budget: The retry budget that a repeated address in one call withdraws from; an empty budget refuses the
    ///     redirect as a loop. A redirect to a new address costs nothing. Nil for no such limit.
    ///   - keyRule: Which requests share a budget.
    package init(
        policy: RedirectPolicy = RedirectPolicy(),
        budget: RetryBudget? = nil,
        keyRule: @escaping ServiceKey.Rule = { ServiceKey($0) }
    ) {
        self.policy = policy
        self.budget = budget
        self.keyRule = keyRule
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// Sends the request and follows the redirects of its responses.
    ///
    /// - Throws: `LoadingError.Kind.redirectRefused` with status and headers of the redirect that is not followed.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        let response = try await next(request)
        // Most responses are not redirects: they need no trail.
        guard 300..<400 ~= response.status.code else { return response }
        return try await followed(request, response, next)
    }

    private func followed(
        _ request: Request,
        _ response: Response,
        _ next: Next
    ) async throws(LoadingError) -> Response {
        var response = response
        var trail = RedirectTrail(policy)
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
                next.call.record(Self.followed(response.status, from: request, to: target))
                await response.discardBody(next.call)
                request = target
                do throws(LoadingError) {
                    response = try await next(request)
                } catch {
                    if cost > 0, FailureKind.isFree(error) { budget?.refund(for: keyRule(target), cost) }
                    throw error
                }
            }
        }
    }

    private static func followed(_ status: HTTPStatus, from request: Request, to target: Request) -> CallEvent {
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
        var context = ErrorContext(request)
        context.attempts = response.attempts
        context.status = response.status
        context.headers = response.headers
        return LoadingError(.redirectRefused(fault), context)
    }
}
