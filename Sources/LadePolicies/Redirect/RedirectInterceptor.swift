#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// Follows redirects: each hop runs through the links below, with its own cookies, cache key and credentials.
///
/// Source: policies PL-50, PL-46; RFC 9110 §15.4, §10.2.2.
public struct RedirectInterceptor: Interceptor {
    /// How redirects are followed.
    public let policy: RedirectPolicy
    private let budget: RetryBudget?
    private let keyRule: ServiceKey.Rule

    /// Makes the link.
    ///
    /// - Parameters:
    ///   - policy: How redirects are followed.
    ///   - budget: What an address that is asked a second time in one call withdraws from (PL-14); an empty budget refuses
    ///     the redirect as a loop. A redirect to somewhere new costs nothing. Nil for no such limit.
    ///   - keyRule: Which requests share a budget.
    public init(
        policy: RedirectPolicy = RedirectPolicy(),
        budget: RetryBudget? = nil,
        keyRule: @escaping ServiceKey.Rule = { ServiceKey($0) }
    ) {
        self.policy = policy
        self.budget = budget
        self.keyRule = keyRule
    }

    /// True: a call that is given up ends here as a cancelled task does.
    public var observesScope: Bool { true }

    /// Sends the request and whatever its answers lead to.
    ///
    /// - Throws: `LoadingError.redirectRefused` with status and headers of the redirect that is not followed.
    public func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        let response = try await next(request)
        // Most answers are none: no trail is kept for them, and no room for one.
        guard response.status.statusClass == .redirection else { return response }
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
            // What authorisers have added since is a secret, too, and a server may put it into its target.
            request.keepSecrets(of: response.request)
            switch trail.decide(response.status, response.headers, to: request) {
            case .deliver:
                return response
            case .refuse(let fault):
                throw refused(fault, response, request)
            case .follow(let target, let isRepeat):
                if isRepeat, let budget, !budget.withdraw(for: keyRule(target)) {
                    throw refused(.loop(url: Redaction(target).address(target.url.absoluteString)), response, request)
                }
                next.call.record(Self.followed(response.status, from: request, to: target))
                await response.discardBody(next.call)
                request = target
                response = try await next(request)
            }
        }
    }

    private static func followed(_ status: Status, from request: Request, to target: Request) -> Event {
        let rule = Redaction(target)
        return .redirectFollowed(
            status: status,
            from: rule.address(request.url.absoluteString),
            to: rule.address(target.url.absoluteString),
            method: target.method
        )
    }

    private func refused(_ fault: RedirectFault, _ response: Response, _ request: Request) -> LoadingError {
        response.body.cancel()
        var context = ErrorContext(request)
        context.status = response.status
        context.headers = response.headers
        return .redirectRefused(fault, context)
    }
}
