#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// Waits for a slot of the ``RateLimiter`` before each exchange, and reports the limits that servers announce to it.
///
/// This is the last wait before the transport. The interceptor stands below retry, hosts and authorisation, so that
/// every exchange has its own slot. The key comes from the address of the request, not from the one that is dialled.
/// The slot of a streamed response is returned when its body ends.
package struct RateLimitInterceptor: Interceptor {
    /// The limiter that grants the slots.
    package let limiter: RateLimiter

    /// Makes the interceptor.
    package init(_ limiter: RateLimiter) {
        self.limiter = limiter
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// Waits for a slot, passes the request on, and reads the limits of the response.
    ///
    /// - Throws: The errors of ``RateLimiter/start(_:call:)`` and of the interceptors below.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        let slot: RateLimiter.Slot?
        // Most calls need not wait: no function that could is called for them.
        switch try limiter.startNow(request, call: next.call) {
        case .slot(let free): slot = free
        case .waiting(let id, let key, let reason):
            slot = try await limiter.wait(id, key, reason, next.call)
        case .waitingForAll(let wait): slot = try await limiter.wait(wait, next.call)
        }
        do throws(LoadingError) {
            return finished(try await next(request), slot, request, next.call)
        } catch {
            throw failed(error, slot, request, next.call)
        }
    }

    // Separate functions: an interceptor waits for everything below it, and every waiting call keeps its frame.

    @inline(never)
    private func finished(_ response: Response, _ slot: RateLimiter.Slot?, _ request: Request, _ call: Call)
        -> Response
    {
        limiter.observe(response.status, response.headers, of: request, call: call, isRunning: slot != nil)
        guard let slot else { return response }
        guard response.body.bytes == nil else {
            slot.finish()
            return response
        }
        var response = response
        response.body = response.body.wrapped { source in
            ObservedBody(source) { _ in slot.finish() }
        }
        return response
    }

    @inline(never)
    private func failed(
        _ error: LoadingError,
        _ slot: RateLimiter.Slot?,
        _ request: Request,
        _ call: Call
    ) -> LoadingError {
        // The head may have arrived before the body failed.
        if let status = error.context.status {
            limiter.observe(status, error.context.headers, of: request, call: call, isRunning: slot != nil)
        }
        // An exchange that sent nothing, and whose request goes to another address, has taken nothing from the service.
        slot?.finish(isUnused: request.hasOtherAddresses && FailureKind(error).isUnsent)
        return error
    }
}
