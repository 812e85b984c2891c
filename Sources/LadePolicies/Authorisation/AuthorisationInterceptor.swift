package import LadeCore

/// Authorises each exchange, and replays a refused one once with other credentials; one interceptor per account.
///
/// Only HTTP 401 is a refusal. The replay is not a retry: it happens without delay and does not count as an attempt. A
/// request whose body cannot be sent again is not replayed, but the authorisers are notified of the refusal. A second
/// 401 is returned as the response.
package struct AuthorisationInterceptor: Interceptor {
    /// The authorisers, in the order in which they act.
    package let authorisers: [any Authoriser]
    private let budget: RetryBudget?
    private let keyRule: ServiceKey.Rule

    /// Makes the interceptor.
    ///
    /// - Parameters:
    ///   - authorisers: The authorisers, in the order in which they act.
    ///   - budget: The retry budget that each replay withdraws from. With an empty budget the refusal is returned as
    ///     the response. Nil for no such limit.
    ///   - keyRule: Which requests share a budget.
    package init(
        authorisers: [any Authoriser],
        budget: RetryBudget? = nil,
        keyRule: @escaping ServiceKey.Rule = { ServiceKey($0) }
    ) {
        self.authorisers = authorisers
        self.budget = budget
        self.keyRule = keyRule
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// The fields of all authorisers; nil where one may set any.
    package var changedFields: [String]? {
        var names: [String] = []
        for authoriser in authorisers {
            guard let own = authoriser.changedFields else { return nil }
            names += own
        }
        return names
    }

    /// Authorises the request and sends it; replays it once when an authoriser has other credentials after a refusal.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        guard let first = authorisers.firstIndex(where: { $0.claims(request) }) else { return try await next(request) }
        let context = AuthorisationContext(next)
        let (authorised, acting) = try await authorise(request, from: first, context)
        let response = try await next(authorised)
        guard response.status == 401 else { return response }
        // Every authoriser is notified, even when nothing can be replayed: the next call profits.
        let willing = acting.filter { $0.wasRefused(authorised, by: response, in: context) }
        guard let replaying = willing.first, request.canRepeatBody,
            budget?.withdraw(for: keyRule(request)) ?? true
        else { return refused(response, acting) }
        await response.discardBody(next.call)
        let replay: Request
        do throws(LoadingError) {
            (replay, _) = try await authorise(request, from: first, context)
        } catch {
            // The replay is not made: it has cost the service nothing.
            if let budget { budget.refund(for: keyRule(request), budget.settings.retryCost) }
            throw error
        }
        next.call.record(.requestReplayed(authoriser: replaying.identifier))
        let answer = try await next(replay)
        return answer.status == 401 ? refused(answer, acting) : answer
    }

    /// The refusal, with the name of the authoriser whose credentials it refuses.
    @inline(never)
    private func refused(_ response: Response, _ acting: [any Authoriser]) -> Response {
        var response = response
        response.request[RefusedAuthoriser.self] = acting.last?.identifier
        return response
    }

    private func authorise(
        _ request: Request,
        from first: Int,
        _ context: AuthorisationContext
    ) async throws(LoadingError) -> (Request, acting: [any Authoriser]) {
        var request = request
        var acting: [any Authoriser] = []
        // The first has been called already.
        for (index, authoriser) in authorisers.enumerated().dropFirst(first)
        where index == first || authoriser.claims(request) {
            request = try await authorised(request, by: authoriser, context)
            acting.append(authoriser)
        }
        // The app's own authoriser may ignore cancellation: a call that was cancelled meanwhile is not sent.
        guard !context.call.isCancelled else { throw LoadingError(.cancelled, ErrorContext(request)) }
        return (request, acting)
    }

    /// The request as one authoriser changes it.
    ///
    /// An authoriser that observes only its task runs in a child task, which is cancelled after the deadline.
    private func authorised(
        _ request: Request,
        by authoriser: any Authoriser,
        _ context: AuthorisationContext
    ) async throws(LoadingError) -> Request {
        guard !authoriser.observesScope else { return try await Self.authorised(request, by: authoriser, context) }
        return try await context.call.untilDeadline { (call) async throws(LoadingError) in
            try await Self.authorised(request, by: authoriser, AuthorisationContext(call: call, like: context))
        }
    }

    private static func authorised(
        _ request: Request,
        by authoriser: any Authoriser,
        _ context: AuthorisationContext
    ) async throws(LoadingError) -> Request {
        do {
            return try await authoriser.authorise(request, in: context)
        } catch {
            let fault = LoadingError.AuthorisationCause(authoriser: authoriser.identifier, cause: .failed(error))
            throw .wrapping(error, request, as: .authorisationFailed(fault))
        }
    }
}

/// The authoriser whose credentials were refused by the response to a request.
private enum RefusedAuthoriser: Request.Tag {
    static let defaultValue: String? = nil
}

extension Response {
    /// The authoriser whose credentials the server refused by this response; nil when no authoriser acted.
    package var refusedAuthoriser: String? { status == 401 ? request[RefusedAuthoriser.self] : nil }
}
