#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// Limits each exchange by its own limit and by the time that the call has left.
///
/// It stands below the rate limit, so that waiting for a slot does not count as time with the server. The transport
/// enforces the limit: it travels as `timeouts.whole`, and no task is needed to watch a clock. The time of the
/// exchange, including a streamed body up to its end, is recorded in the ledger of the call.
package struct ExchangeDeadlineInterceptor: Interceptor {
    /// How long calls may take.
    package let settings: DeadlineSettings

    /// Makes the interceptor.
    package init(_ settings: DeadlineSettings = DeadlineSettings()) {
        self.settings = settings
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// Empty: it only limits the time.
    package var changedFields: [String]? { [] }

    /// Passes the request on with its limit.
    ///
    /// - Throws: `LoadingError.Kind.deadlineExceeded` when no time is left, or when the exchange used up what was left.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        let start = next.call.time.now
        let (bounded, bound) = try bounded(request, next.call, start)
        do throws(LoadingError) {
            return finished(try await next(bounded), request, next.call, start, bound)
        } catch {
            throw failed(error, next.call, start, bound)
        }
    }

    // Separate functions: an interceptor waits for everything below it, and every waiting call keeps its frame.

    @inline(never)
    private func bounded(
        _ request: Request,
        _ call: Call,
        _ start: Instant
    ) throws(LoadingError) -> (Request, ExchangeBound) {
        let remaining = call.deadline.map { start.duration(to: $0) }
        if let remaining, remaining <= .zero {
            throw LoadingError(.deadlineExceeded(call.deadlineReport(at: start)), ErrorContext(request))
        }
        let bound = settings.bound(for: request, remaining: remaining)
        var bounded = request
        if bound.limit != request.timeouts.whole { bounded.timeouts.whole = bound.limit }
        if let name = settings.remainingField, let remaining { bounded.headers[name] = Self.seconds(remaining) }
        return (bounded, bound)
    }

    @inline(never)
    private func finished(
        _ response: Response,
        _ request: Request,
        _ call: Call,
        _ start: Instant,
        _ bound: ExchangeBound
    ) -> Response {
        var response = response
        // The limit was for this exchange; if the request is sent again, it gets a new one.
        if response.request.timeouts != request.timeouts { response.request.timeouts = request.timeouts }
        if response.body.bytes == nil, call.ledger != nil {
            response.body = response.body.wrapped { source in
                ObservedBody(source, translate: { bound.translated($0, call) }) { _ in
                    call.ledger?.add(start.duration(to: call.time.now), to: .exchange)
                }
            }
        } else {
            call.ledger?.add(start.duration(to: call.time.now), to: .exchange)
        }
        return response
    }

    @inline(never)
    private func failed(
        _ error: LoadingError,
        _ call: Call,
        _ start: Instant,
        _ bound: ExchangeBound
    ) -> LoadingError {
        call.ledger?.add(start.duration(to: call.time.now), to: .exchange)
        return bound.translated(error, call)
    }

    /// The seconds with three digits after the point.
    private static func seconds(_ duration: Duration) -> String {
        let milliseconds = max(0, duration.wholeNanoseconds / 1_000_000)
        let fraction = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }
}

extension ExchangeBound {
    /// Converts the transport's time-out to the error of the limit that ended the exchange: the call's deadline, or the limit of
    /// the exchange.
    func translated(_ error: LoadingError, _ call: Call) -> LoadingError {
        guard case .timedOut(.whole) = error.kind else { return error }
        var error = error
        guard isDeadline else {
            error.context.wholeLimitSetting = setting
            return error
        }
        var report = call.deadlineReport(at: call.time.now)
        report.endedExchange = true
        error.kind = .deadlineExceeded(report)
        return error
    }
}
