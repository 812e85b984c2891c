#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore
import LadeExchange

/// A transport that uses libcurl.
///
/// It supports HTTP/1.1 and HTTP/2, TLS and proxies. It checks message framing strictly, and streams bodies with
/// back-pressure. A transport has one connection pool and one thread. The thread ends when the transport is released or
/// ``shutDown()`` is called. Share one transport between all callers that may share connections. The thread does all
/// the work of an exchange; no thread of the caller's executor waits for the network.
public final class CurlTransport: Transport {
    let loop: CurlLoop
    private let rules: Exchange.Rules
    private let exceptionNotice: ExceptionNotice

    /// Makes a transport and starts its thread.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for a setting that cannot be used, for example a certificate file that
    ///   contains no certificate.
    public convenience init(settings: TransportSettings = TransportSettings()) throws(LoadingError) {
        try self.init(settings: settings, clock: LoopClock())
    }

    /// Makes a transport that uses another clock.
    init(settings: TransportSettings, clock: LoopClock) throws(LoadingError) {
        rules = Exchange.Rules(settings)
        loop = try CurlLoop(HandleSettings(settings), clock: clock)
        exceptionNotice = ExceptionNotice(loop.handleSettings.environment)
        try loop.start()
    }

    deinit {
        loop.inbox.stop()
    }

    /// Runs tasks on the transport's thread, which saves two thread switches per call.
    ///
    /// Use it for work that never blocks and never computes for long: while a job runs, no bytes are transferred.
    ///
    /// ```swift
    /// let response = try await withTaskExecutorPreference(transport.executor) { try await loader.load(request) }
    /// ```
    public var executor: any TaskExecutor { loop.taskExecutor }

    /// Carries out one exchange, as described at `Transport.send`.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        if rules.allowsLocalAddresses, request.parts.scheme == .other, let scheme = request.url.scheme,
            scheme == "file" || scheme == "data"
        {
            return try await LocalTransport().send(request, call: call)
        }
        if request.hasBody { try await checkEmptyBody(of: request, call) }
        let exchange = try Exchange(
            request,
            call: call,
            rules: rules,
            lane: .current(isolation: #isolation, isOnLoop: loop.isCurrentThread)
        )
        exceptionNotice.give(to: call)
        let inbox = loop.inbox
        // Handled like the cancellation of the task, which can also come before the submission or after the end.
        let registration = call.scope?.add { inbox.post(.cancel(exchange)) }
        if registration == nil, call.scope != nil { inbox.post(.cancel(exchange)) }
        await withTaskCancellationHandler {
            await withResumption { continuation in
                exchange.continuation = continuation
                if !inbox.post(.submit(exchange)) {
                    exchange.refuse(LoadingError(.cancelled, LoadingError.Context(request)))
                    continuation.resume()
                }
            }
        } onCancel: {
            inbox.post(.cancel(exchange))
        }
        if let registration { call.scope?.remove(registration) }
        return try exchange.takeOutcome()
    }

    /// Runs the writer of a body that was declared empty: libcurl asks for none of its bytes.
    @inline(never)
    private func checkEmptyBody(of request: Request, _ call: Call) async throws(LoadingError) {
        guard let body = request.body, body.isEmptyStream else { return }
        try await call.inTask { (_) async throws(LoadingError) in try await body.writeNothing(for: request) }
    }

    /// True: an exchange ends when the scope of its call ends.
    public var observesScope: Bool { true }
    /// True: the body of a buffered response is complete when it is returned.
    public var collectsBodies: Bool { true }

    /// Cancels every exchange, closes all connections and returns when the thread has ended.
    public func shutDown() async {
        loop.inbox.stop()
        await loop.inbox.ended()
    }
}
