package import LadeCore

/// Notes when each exchange began and its response arrived, for the age of responses; stands directly above the transport.
///
/// So time spent in queues, delays and refreshes above makes no response older (RFC 9111 §4.2.3). The wait for a
/// connection within the transport does not count either.
package struct ExchangeTimesInterceptor: Interceptor {
    /// Makes the interceptor.
    package init() {}

    /// True: it waits for nothing but the transport.
    package var observesScope: Bool { true }

    /// Empty: it only notes times.
    package var changedFields: [String]? { [] }

    /// Passes the request on, and adds the times to the response.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        let sent = Moment(now: next.call.time)
        return Self.noting(sent, next.call.time, in: try await next(request))
    }

    @inline(never)
    private static func noting(_ sent: Moment, _ time: any TimeSource, in response: Response) -> Response {
        var response = response
        var requested = sent
        if let queued = response.metrics.queued { requested = requested.advanced(by: queued) }
        response.times = ExchangeTimes(requested: requested, received: Moment(now: time))
        return response
    }
}
