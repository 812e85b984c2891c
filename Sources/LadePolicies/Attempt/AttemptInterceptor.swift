package import LadeCore

/// Makes the attempts of a request: retries, the addresses of its host, and one replay after a refusal of its credentials.
///
/// It stands below the cache and above the exchange, so that each attempt has its own address, credentials and slot. A policy
/// that is not set does not act. Bodies of `buffered` requests are collected below it, so a body that fails is retried like a
/// head that failed. A `streamed` response belongs to the caller once its head was delivered.
///
/// Three loops are nested, and each sends again for a reason of its own; between the first two, an attempt may be hedged:
///
/// - A further attempt, when ``RetryPolicy`` says that it may succeed: with a delay, counted, and paid from the budget.
/// - A hedge, when no head arrives within a delay: beside the exchange in progress, and paid from the budget.
/// - Another address of the host, when the request certainly was not processed at this address: immediately, and not counted.
/// - A replay, when an authoriser has other credentials after a 401: immediately, once, and paid from the budget.
package struct AttemptInterceptor: Interceptor {
    /// The policy that decides what is retried; nil for no retries.
    package var retries: RetryPolicy?
    /// The retry budget of each service, shared by everything that sends again; nil for no such limit.
    package var budget: RetryBudget?
    /// When a request is sent a second time while the first is in progress; nil for never.
    package var hedging: Hedging?
    /// The addresses of hosts; nil for the addresses of their names.
    package var hosts: HostDirectory?
    /// The authorisers of the account, in the order in which they act.
    package var authorisers: [any Authoriser]
    let keyRule: ServiceKey.Rule
    private let gateLimit: Duration
    private let keys: IdempotencyKeys

    /// Makes the interceptor.
    ///
    /// - Parameters:
    ///   - retries: The policy that decides what is retried.
    ///   - budget: The budget of each service.
    ///   - hedging: When a request is sent a second time.
    ///   - hosts: The addresses of hosts.
    ///   - authorisers: The authorisers, in the order in which they act.
    ///   - keyRule: The rule by which requests share a budget.
    ///   - gateLimit: The longest time for which a server's delay holds calls, which an error states of a longer one.
    ///   - random: The source of the first idempotency key.
    package init(
        retries: RetryPolicy? = nil,
        budget: RetryBudget? = nil,
        hedging: Hedging? = nil,
        hosts: HostDirectory? = nil,
        authorisers: [any Authoriser] = [],
        keyRule: @escaping ServiceKey.Rule = { ServiceKey($0) },
        gateLimit: Duration = RateLimits().gateLimit,
        random: any RandomSource = SystemRandom()
    ) {
        self.retries = retries
        self.budget = budget
        self.hedging = hedging
        self.hosts = hosts
        self.authorisers = authorisers
        self.keyRule = keyRule
        self.gateLimit = gateLimit
        keys = IdempotencyKeys(random)
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// Sends the request until it succeeds, fails for good, or may not be retried.
    ///
    /// - Throws: The last attempt's error, with the number of attempts. `LoadingError.Kind.rateLimited` when the server
    ///   requests a longer delay than allowed. `LoadingError.Kind.deadlineExceeded` when the delay would end after the
    ///   deadline. `LoadingError.Kind.cancelled` as soon as the task is cancelled.
    package func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        // Most requests are sent as they are: no key, no body that is watched. Nothing is copied for them.
        guard !request.hasTags, !request.hasBody, authorisers.isEmpty, hedging == nil, hosts?.isEmpty ?? true else {
            return try await attempts(of: request, next)
        }
        let isRetrying = retries != nil
        if isRetrying {
            next.call.noteAttempt()
            next.call.record(.attemptStarted(next.call.attempt))
        }
        let first: Result<Response, LoadingError>
        do throws(LoadingError) {
            let response = try await next(request)
            guard isRetrying, !RetryPolicy.settles(response.status, nil) else {
                // A success at the first attempt refills the budget.
                if isRetrying { budget?.refund(for: keyRule(request), 0) }
                return RetryRound.counted(response, next.call.attempt)
            }
            first = .success(response)
        } catch {
            guard isRetrying else { throw error }
            first = .failure(error)
        }
        return try await repeated(request, after: first, next)
    }

    /// Makes the attempts of a request that has an address, credentials, a key or a body.
    private func attempts(of request: Request, _ next: Chain.Next) async throws(LoadingError) -> Response {
        guard let retries else { return try await attempt(request, next) }
        var round = RetryRound(retries, budget, keyRule, gateLimit, keys, request, next.call)
        next.call.noteAttempt()
        next.call.record(.attemptStarted(next.call.attempt))
        let first: Result<Response, LoadingError>
        do throws(LoadingError) {
            let response = try await attempt(round.request, next)
            if let settled = round.settled(response, next.call) { return settled }
            first = .success(response)
        } catch {
            first = .failure(error)
        }
        // A separate function, so that calls that succeed at the first attempt do not carry the state of retries.
        return try await repeated(&round, after: first, next)
    }

    /// Decides about the first attempt of a request that was sent as it is, and makes the others.
    @inline(never)
    private func repeated(
        _ request: Request,
        after first: Result<Response, LoadingError>,
        _ next: Chain.Next
    ) async throws(LoadingError) -> Response {
        guard let retries else { return try first.get() }
        var round = RetryRound(retries, budget, keyRule, gateLimit, keys, request, next.call)
        return try await repeated(&round, after: first, next)
    }

    /// Decides about an attempt, and makes the others.
    private func repeated(
        _ round: inout RetryRound,
        after first: Result<Response, LoadingError>,
        _ next: Chain.Next
    ) async throws(LoadingError) -> Response {
        var next = next
        var outcome = first
        while true {
            let delay: Duration
            switch round.step(after: outcome, next.call) {
            case .deliver(let response): return response
            case .fail(let error): throw error
            case .again(let after): delay = after
            }
            if case .success(let response) = outcome { await response.discardBody(next.call) }
            let call = next.call
            next.call.attempt += 1
            do throws(LoadingError) {
                try await next.call.wait(
                    until: call.time.now.advanced(by: delay),
                    for: .backoff(attempt: next.call.attempt)
                )
            } catch {
                throw round.withdrawn(error, outcome, call)
            }
            next.call.noteAttempt()
            next.call.record(.attemptStarted(next.call.attempt))
            do throws(LoadingError) {
                outcome = .success(try await attempt(round.request, next))
            } catch {
                outcome = .failure(error)
            }
        }
    }

    // Inlined: a waiting call keeps the frame of every function that waits.
    /// Makes one attempt.
    @inline(__always)
    private func attempt(_ request: Request, _ next: Chain.Next) async throws(LoadingError) -> Response {
        if let hedging, mayHedge(request) { return try await hedged(request, hedging, next) }
        return try await sent(request, next)
    }

    /// Sends the request to an address of its host, with its credentials.
    @inline(__always)
    func sent(_ request: Request, _ next: Chain.Next) async throws(LoadingError) -> Response {
        if let hosts, !hosts.isEmpty, request.destination == nil { return try await addressed(request, hosts, next) }
        if let first = firstClaiming(request) { return try await authorised(request, from: first, next) }
        return try await next(request)
    }
}
