package import LadeCore

// Credentials, and the replay after a refusal.
//
// Only HTTP 401 is a refusal. The replay is not a retry: it happens without delay and does not count as an attempt. A request
// whose body cannot be sent again is not replayed, but the authorisers are notified of the refusal. A second 401 is returned as
// the response, unless it has a new challenge for an authoriser that handles challenges. At most three challenges are handled
// (RFC 7616 §3.3).
extension AttemptInterceptor {
    /// The first authoriser that handles a request; nil when the request is sent as it is.
    @inline(never)
    func firstClaiming(_ request: Request) -> Int? {
        authorisers.isEmpty ? nil : authorisers.firstIndex { $0.claims(request) }
    }

    /// The fields that authorisers set, with `*` where one may set any.
    package var authorisedFields: [String] { authorisers.flatMap(\.changedFields) }

    /// Authorises the request and sends it; replays it once when an authoriser has other credentials after a refusal.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - first: The first authoriser that claims the request.
    ///   - next: The exchange.
    /// - Returns: The response, which may be a second refusal.
    /// - Throws: The errors of the authorisers and of the exchange.
    func authorised(_ request: Request, from first: Int, _ next: Chain.Next) async throws(LoadingError) -> Response {
        let context = Authorisation.Context(next)
        let (authorised, acting) = try await authorise(request, from: first, context)
        let credentials = ChosenCredentials(of: acting, context)
        var next = next
        next.call.lateChoices.append(credentials)
        let response = try await next(authorised)
        guard response.status == 401 else { return response }
        return try await replayed(request, authorised, credentials, acting, from: first, after: response, context, next)
    }

    /// The most replays of one exchange.
    private static let mostReplays = 3

    /// Sends a refused request again with other credentials, as long as there are any.
    private func replayed(
        _ request: Request,
        _ refusedRequest: Request,
        _ credentials: ChosenCredentials,
        _ refusedBy: [any Authoriser],
        from first: Int,
        after refusal: Response,
        _ context: Authorisation.Context,
        _ next: Chain.Next
    ) async throws(LoadingError) -> Response {
        var (request, authorised, acting, response) = (request, refusedRequest, refusedBy, refusal)
        for replays in 0..<Self.mostReplays {
            let sent = credentials.renewed ?? authorised
            // Every authoriser is notified, even when nothing can be replayed: the next call profits. Authorisers that respond
            // to challenges may have one more replay.
            let notified = replays == 0 ? acting : acting.filter { $0 is any ChallengeAnswering }
            let willing = notified.filter { $0.wasRefused(sent, by: response, in: context) }
            guard let replaying = willing.first, request.canRepeatBody,
                budget?.withdraw(for: keyRule(request)) ?? true
            else { break }
            await response.discardBody(next.call)
            request.answeredNonces = sent.answeredNonces
            do throws(LoadingError) {
                (authorised, acting) = try await authorise(request, from: first, context)
            } catch {
                // The replay is not made: it has cost the service nothing.
                if let budget { budget.refund(for: keyRule(request), budget.settings.retryCost) }
                throw error
            }
            next.call.record(.requestReplayed(authoriser: replaying.identifier))
            do throws(LoadingError) {
                response = try await next(authorised)
            } catch {
                // A replay that never left this machine has cost the service nothing either.
                if let budget, FailureKind.isFree(error) {
                    budget.refund(for: keyRule(request), budget.settings.retryCost)
                }
                throw error
            }
            guard response.status == 401 else { return response }
        }
        return refused(response, acting)
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
        _ context: Authorisation.Context
    ) async throws(LoadingError) -> (Request, acting: [any Authoriser]) {
        var request = request
        var acting: [any Authoriser] = []
        // The first has been called already.
        for (index, authoriser) in authorisers.enumerated().dropFirst(first)
        where index == first || authoriser.claims(request) {
            request = try await Self.authorised(request, by: authoriser, context)
            acting.append(authoriser)
        }
        // The app's own authoriser may ignore cancellation: a call that was cancelled meanwhile is not sent.
        guard !context.call.isCancelled else { throw LoadingError(.cancelled, LoadingError.Context(request)) }
        return (request, acting)
    }

    /// The request as one authoriser changes it.
    ///
    /// An authoriser that observes only its task runs in a child task, which is cancelled after the deadline.
    fileprivate static func authorised(
        _ request: Request,
        by authoriser: any Authoriser,
        _ context: Authorisation.Context
    ) async throws(LoadingError) -> Request {
        guard !authoriser.observesScope else { return try await asked(authoriser, request, context) }
        return try await context.call.untilDeadline { (call) async throws(LoadingError) in
            try await asked(authoriser, request, Authorisation.Context(call: call, like: context))
        }
    }

    private static func asked(
        _ authoriser: any Authoriser,
        _ request: Request,
        _ context: Authorisation.Context
    ) async throws(LoadingError) -> Request {
        do {
            return try await authoriser.authorise(request, in: context)
        } catch {
            let fault = LoadingError.AuthorisationCause(authoriser: authoriser.identifier, cause: .failed(error))
            throw .wrapping(error, request, as: .authorisationFailed(fault))
        }
    }
}

/// The credentials of one exchange, which the interceptor that waits last checks again.
private final class ChosenCredentials: LateChoice {
    private let acting: [any Authoriser]
    private let context: Authorisation.Context
    private let state = Locked<Request?>(nil)

    init(of acting: [any Authoriser], _ context: Authorisation.Context) {
        (self.acting, self.context) = (acting, context)
    }

    /// The request as it was sent, when it was changed after it was authorised.
    var renewed: Request? { state.withLock(\.self) }

    func checked(_ request: Request, _ call: Call) -> Request? {
        var newest = request
        // An interceptor below may send a request of its own, which is not for the same authorisers.
        for authoriser in acting where authoriser.claims(newest) {
            guard let renewed = authoriser.renewed(newest, in: context) else { return nil }
            newest = renewed
        }
        state.withLock { $0 = newest }
        return newest
    }

    func chosenAgain(_ request: Request, _ call: Call) async throws(LoadingError) -> Request {
        var newest = request
        for authoriser in acting where authoriser.claims(newest) {
            if let renewed = authoriser.renewed(newest, in: context) {
                newest = renewed
            } else {
                newest = try await AttemptInterceptor.authorised(newest, by: authoriser, context)
            }
        }
        state.withLock { $0 = newest }
        return newest
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
