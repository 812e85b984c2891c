#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// Carries out one exchange: waits for a slot of the rate limit, adds the fields that must be new, and reads the response's
/// announcements.
///
/// It stands below everything that sends a request again, directly above the transport. There is no loop in it. A policy that
/// is not set does not act. The order follows the properties:
///
/// 1. The slot is the last wait before the transport, so the time in the queue does not count as time with the server. Choices
///    that were made for the request above the wait are checked behind it (`Call.lateChoices`). Credentials that were renewed
///    meanwhile are used; an address that was marked meanwhile is not.
/// 2. Cookies are added behind the wait, so that each exchange sends the cookies that the previous exchange set.
/// 3. The exchange is limited by its own limit and by the time that the call has left. The limit travels as `timeouts.whole`.
///    The transport enforces it, so no task watches a clock.
/// 4. The trace context is new for each exchange.
/// 5. The bodies of buffered responses are collected, where the transport does not do so itself.
/// 6. The times of the exchange are noted directly at the transport: waits above make no response older (RFC 9111 §4.2.3).
package struct ExchangeInterceptor: Interceptor {
    /// The limiter that grants the slots.
    ///
    /// The key comes from the address of the request, not from the dialled address. The slot of a streamed response is returned
    /// when its body ends.
    package var limiter: RateLimiter?
    /// The cookies of the account.
    ///
    /// A `Cookie` field of the caller stays; where both have a cookie of the same name, the caller's is sent.
    package var jar: CookieJar?
    /// How long an exchange may take.
    package var deadlines: DeadlineSettings?
    /// The tracing that identifies exchanges in the traces of servers.
    package var tracing: Tracing?
    /// Whether the bodies of buffered responses are collected here; the library's own transports collect them themselves.
    package var collectsBodies: Bool
    /// Whether the times of the exchange are added to the response, for its age in a cache.
    package var notesTimes: Bool

    /// Makes the interceptor.
    package init(
        limiter: RateLimiter? = nil,
        jar: CookieJar? = nil,
        deadlines: DeadlineSettings? = nil,
        tracing: Tracing? = nil,
        collectsBodies: Bool = false,
        notesTimes: Bool = false
    ) {
        self.limiter = limiter
        self.jar = jar
        self.deadlines = deadlines
        self.tracing = tracing
        self.collectsBodies = collectsBodies
        self.notesTimes = notesTimes
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// The names of the fields that the exchange adds, beside `Cookie`.
    package var addedFields: [String] {
        (tracing == nil ? [] : ["traceparent", "tracestate"]) + (deadlines?.remainingField.map { [$0] } ?? [])
    }

    /// Waits for a slot, completes the request and passes it on; reads the response.
    ///
    /// - Throws: The errors of ``RateLimiter/start(_:call:)``; `LoadingError.Kind.deadlineExceeded` when no time is left, or when
    ///   the exchange used up the rest; the errors of the transport.
    package func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        var slot: RateLimiter.Slot?
        if let limiter {
            // Most calls need not wait: no function that could is called for them.
            switch try limiter.startNow(request, call: next.call) {
            case .slot(let free): slot = free
            case .waiting(let id, let key, let reason):
                slot = try await limiter.wait(id, key, reason, request[RateCost.self], next.call)
            case .waitingForAll(let wait): slot = try await limiter.wait(wait, next.call)
            }
            if next.call.hasLateChoices {
                if let newest = Self.checked(request, next.call) {
                    return try await exchange(newest, slot, next)
                }
                let (newest, other) = try await Self.chosenAgain(request, slot, limiter, next.call)
                return try await exchange(newest, other, next)
            }
        }
        return try await exchange(request, slot, next)
    }

    // Inlined: a waiting call keeps the frame of every function that waits.
    /// Makes the exchange of a request that has its slot.
    @inline(__always)
    private func exchange(
        _ request: Request,
        _ slot: RateLimiter.Slot?,
        _ next: Chain.Next
    ) async throws(LoadingError) -> Response {
        let (sent, bound) = try completed(request, slot, next.call)
        do throws(LoadingError) {
            var response = try await next(sent)
            if let date = bound.date { Self.note(Moment(date: date, instant: bound.start), in: &response, next.call) }
            if collectsBodies, let limit = Self.limit(of: response, request) {
                response = try await Self.collected(response, limit, next.call)
            }
            finish(&response, request, slot, bound, next.call)
            return response
        } catch {
            throw failed(error, request, slot, bound, next.call)
        }
    }

    // Separate functions: an interceptor waits for everything below it, and every waiting call keeps its frame.

    // MARK: - Before the exchange

    /// The request with the present state of all choices that were made above the wait; nil when one cannot be used any more.
    @inline(never)
    private static func checked(_ request: Request, _ call: Call) -> Request? {
        var newest = request
        for choice in call.lateChoices {
            guard let checked = choice.checked(newest, call) else { return nil }
            newest = checked
        }
        return newest
    }

    /// Gives the slot back, waits for other choices, and then for another slot.
    ///
    /// It happens once, so that a call whose credentials end sooner than its turn comes is sent all the same.
    @inline(never)
    private static func chosenAgain(
        _ request: Request,
        _ slot: RateLimiter.Slot?,
        _ limiter: RateLimiter,
        _ call: Call
    ) async throws(LoadingError) -> (Request, RateLimiter.Slot?) {
        slot?.finish(isUnused: true)
        var newest = request
        for choice in call.lateChoices { newest = try await choice.chosenAgain(newest, call) }
        let slot = try await limiter.start(newest, call: call)
        return (checked(newest, call) ?? newest, slot)
    }

    /// The request with everything that must be new when it is sent, and its limit.
    @inline(never)
    private func completed(
        _ request: Request,
        _ slot: RateLimiter.Slot?,
        _ call: Call
    ) throws(LoadingError) -> (Request, ExchangeBound) {
        var sent = request
        if let jar, request.takesCookies { jar.add(to: &sent, at: call.time.date) }
        var bound = ExchangeBound(start: call.time.now)
        if let deadlines {
            do throws(LoadingError) {
                bound = try deadlines.bound(&sent, at: bound.start, call)
            } catch {
                // Nothing is sent.
                slot?.finish(isUnused: true)
                throw error
            }
        }
        tracing?.add(to: &sent, call)
        if notesTimes { bound.date = call.time.date }
        return (sent, bound)
    }

    // MARK: - After the exchange

    @inline(never)
    private static func note(_ sent: Moment, in response: inout Response, _ call: Call) {
        var requested = sent
        // The wait for a connection within the transport does not count either.
        if let queued = response.metrics.queued { requested = requested.advanced(by: queued) }
        response.times = ExchangeTimes(requested: requested, received: Moment(now: call.time))
    }

    /// The most bytes of a body that must be collected; nil when none must.
    private static func limit(of response: Response, _ request: Request) -> Int? {
        guard case .buffered(let limit) = request.delivery, response.body.bytes == nil else { return nil }
        return limit
    }

    private static func collected(
        _ response: Response,
        _ limit: Int,
        _ call: Call
    ) async throws(LoadingError) -> Response {
        var response = response
        let body = response.body
        let bytes = try await call.inTask { (_) async throws(LoadingError) in try await body.collect(limit: limit) }
        response.body = Response.Body(bytes, trailers: body.trailers, metrics: body.metrics)
        return response
    }

    // The response is changed in place: it has one owner here.
    @inline(never)
    private func finish(
        _ response: inout Response,
        _ request: Request,
        _ slot: RateLimiter.Slot?,
        _ bound: ExchangeBound,
        _ call: Call
    ) {
        // The limit was for this exchange; if the request is sent again, it gets a new one.
        if deadlines != nil { response.requestTimeouts = request.timeouts }
        // A response from a cache set its cookies when it came from the network.
        if response.source != .cache { storeCookies(of: response.headers, request, call) }
        if let reply = response.reply(call) {
            response.reading = reply
            limiter?.observe(response.status, reply, of: request, call: call, isRunning: slot != nil)
        }
        let isTimed = deadlines != nil && call.recordsTimes
        guard response.body.bytes == nil else {
            if isTimed { call.add(response.metrics.stages, lasting: bound.start.duration(to: call.time.now)) }
            slot?.finish()
            return
        }
        guard isTimed || bound.limit != nil || slot != nil else { return }
        // The transport has ended when all bytes are here, and watches the clock no longer.
        var expiry: (@Sendable () -> LoadingError?)?
        if bound.limit != nil { expiry = { bound.expiry(request, call) } }
        response.body = response.body.wrapped { [expiry] source in
            ObservedBody(source, translate: { isTimed ? bound.translated($0, call) : $0 }, expiry: expiry) { end in
                if isTimed {
                    // A body that was cancelled is not measured to its end.
                    let stages: Call.StageTimes.Exchange? =
                        switch end {
                        case .whole: source.metrics.stages
                        case .failed(let error): error.context.exchangeStages
                        case .cancelled, .abandoned: nil
                        }
                    call.add(stages, lasting: bound.start.duration(to: call.time.now))
                }
                slot?.finish()
            }
        }
    }

    @inline(never)
    private func failed(
        _ error: LoadingError,
        _ request: Request,
        _ slot: RateLimiter.Slot?,
        _ bound: ExchangeBound,
        _ call: Call
    ) -> LoadingError {
        var error = error
        if deadlines != nil {
            let duration = bound.start.duration(to: call.time.now)
            if let wait = Self.queueWait(error, request) {
                call.add(duration, to: wait)
            } else {
                call.add(error.context.exchangeStages, lasting: duration)
            }
            error = bound.translated(error, call)
        }
        // The head may have arrived before the body failed.
        storeCookies(of: error.context.headers, request, call)
        if let status = error.context.status {
            let reply = Reply(error.context.headers, now: call.time.date)
            limiter?.observe(status, reply, of: request, call: call, isRunning: slot != nil)
        }
        // An exchange that sent nothing has taken nothing from the service.
        slot?.finish(isUnused: FailureKind(error).isUnsent)
        return error
    }

    /// The wait for a connection, when the deadline passed within it; nil when there was an exchange.
    private static func queueWait(_ error: LoadingError, _ request: Request) -> Call.StageTimes.Stage? {
        guard case .deadlineExceeded(let report) = error.kind, !report.endedExchange, report.impossibleWait == nil
        else { return nil }
        return .wait(.connection(host: request.url.host(percentEncoded: true)?.lowercased() ?? ""))
    }

    /// Stores the cookies that a head sets; the file is written within a second, and the call does not wait for it.
    private func storeCookies(of headers: Headers, _ request: Request, _ call: Call) {
        guard let jar, headers.contains("Set-Cookie"), request.takesCookies else { return }
        if jar.take(headers, of: request, at: call.time.date) { jar.saveSoon(in: call.time) }
    }
}

private enum CookielessTag: Request.Tag {
    static let defaultValue = false
}

extension Request {
    /// Whether the request carries no cookies of the account, and none are stored from its response.
    ///
    /// Set for requests of authorisers: a token endpoint receives the client's credentials and nothing of the user's
    /// session.
    var leavesCookiesAlone: Bool {
        get { self[CookielessTag.self] }
        set { self[CookielessTag.self] = newValue }
    }

    fileprivate var takesCookies: Bool { !hasTags || !leavesCookiesAlone }
}
