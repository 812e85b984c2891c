#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// The transport on libcurl: HTTP/1.1 and HTTP/2, TLS, proxies, strict framing, streaming with back-pressure.
///
/// One transport is one connection pool and one thread, which ends when the transport is released or ``shutDown()`` is
/// called. Share one among everything that may share connections. The thread does all the work of an exchange; no
/// thread of the caller's executor waits for the network.
public final class CurlTransport: Transport {
    let loop: CurlLoop
    private let rules: Transfer.Rules

    /// Makes a transport and starts its thread.
    ///
    /// - Throws: `LoadingError.invalidSetting` for a setting that cannot be used, as a certificate
    ///   file that is none.
    public convenience init(settings: TransportSettings = TransportSettings()) throws(LoadingError) {
        try self.init(settings: settings, clock: LoopClock())
    }

    /// Makes a transport that goes by another clock.
    init(settings: TransportSettings, clock: LoopClock) throws(LoadingError) {
        rules = Transfer.Rules(settings)
        loop = try CurlLoop(HandleSettings(settings), clock: clock)
        try loop.start()
    }

    deinit {
        loop.inbox.stop()
    }

    /// Runs tasks on the transport's own thread, which saves two thread switches per call.
    ///
    /// For work that never blocks and never computes for long: while a job runs, no byte moves for anybody.
    ///
    /// ```swift
    /// let response = try await withTaskExecutorPreference(transport.executor) { try await loader.load(request) }
    /// ```
    public var executor: any TaskExecutor { loop.taskExecutor }

    /// Carries out one exchange; see `Transport.send`.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        if rules.allowsLocalAddresses, request.parts.scheme == .other, let scheme = request.url.scheme,
            scheme == "file" || scheme == "data"
        {
            return try await LocalTransport().send(request, call: call)
        }
        let transfer = try Transfer(
            request,
            call: call,
            rules: rules,
            lane: .current(isolation: #isolation, isOnLoop: loop.isCurrentThread)
        )
        let inbox = loop.inbox
        // Handled like the task's cancellation, which comes too early and too late as well.
        let registration = call.scope?.add { inbox.post(.cancel(transfer)) }
        if registration == nil, call.scope != nil { inbox.post(.cancel(transfer)) }
        await withTaskCancellationHandler {
            await withResumption { continuation in
                transfer.continuation = continuation
                if !inbox.post(.submit(transfer)) {
                    transfer.refuse(.cancelled(ErrorContext(request)))
                    continuation.resume()
                }
            }
        } onCancel: {
            inbox.post(.cancel(transfer))
        }
        if let registration { call.scope?.remove(registration) }
        return try transfer.takeOutcome()
    }

    /// True: an exchange ends with its call's scope.
    public var observesScope: Bool { true }

    /// Ends every exchange as cancelled, closes all connections and returns when the thread is gone.
    public func shutDown() async {
        loop.inbox.stop()
        await loop.inbox.ended()
    }
}
