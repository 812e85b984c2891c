#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CNghttp2
import COpenSSL
import CWire
public import LadeCore
import LadeExchange

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A transport of our own for HTTP/1.1 and HTTP/2, on epoll, OpenSSL and nghttp2.
///
/// It has one connection pool and one thread, which ends when the transport is released or ``shutDown()`` is called. It
/// checks message framing strictly and streams bodies with back-pressure. It goes through HTTP and SOCKS 5
/// proxies; a variable of the environment may also name an HTTPS proxy. The variables are read when the transport is made.
///
/// Limits:
/// - Each host has its own connections to a proxy, also for requests in the absolute form.
/// - Proxies are authenticated to by Basic, or by a user name and a password of SOCKS 5; the settings name no HTTPS proxy.
/// - A `socks5` proxy of the environment is asked for the first address of a name only.
/// - The body of a response by which a proxy refuses a tunnel is not read.
/// - Certificates are looked up in the revocation lists of the settings only, not by OCSP.
/// - A name is looked up for both address families by one call of the system.
/// - Before a server of HTTP/2 has sent its settings, a connection carries no more requests than a host may have connections.
public final class WireTransport: Transport {
    let loop: WireLoop
    private let rules: Exchange.Rules
    /// The process that has the thread; a child that was forked since has none.
    private let process = lade_wire_forks()
    private let exceptionNotice: ExceptionNotice

    /// Makes a transport and starts its thread.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for a setting that cannot be used.
    public convenience init(settings: TransportSettings = TransportSettings()) throws(LoadingError) {
        try self.init(settings: settings, clock: LoopClock())
    }

    /// Makes a transport that uses another clock.
    init(settings: TransportSettings, clock: LoopClock) throws(LoadingError) {
        try SettingsCheck.limits(settings)
        rules = Exchange.Rules(settings)
        let system: LinuxSystem
        do {
            system = try LinuxSystem(clock: clock)
        } catch {
            let reason = String(cString: strerror(error.errno))
            throw LoadingError(.transport(code: Int(error.errno), message: "no poller could be made: \(reason)"))
        }
        do throws(LoadingError) {
            loop = try WireLoop(settings, system: system, now: { clock.now() })
        } catch {
            system.shutDown()
            throw error
        }
        exceptionNotice = ExceptionNotice(loop.proxies.environment)
        try loop.start()
    }

    /// Makes a transport over a loop whose turns the caller runs.
    init(over loop: WireLoop) {
        self.loop = loop
        rules = loop.rules
        exceptionNotice = ExceptionNotice(loop.proxies.environment)
    }

    deinit {
        loop.inbox.stop()
    }

    /// Runs tasks on the transport's thread, which saves two thread switches per call.
    ///
    /// Use it for work that never blocks and never computes for long: while a job runs, no bytes are transferred.
    public var executor: any TaskExecutor { loop.executor }

    /// Checks that this process made the transport.
    ///
    /// - Throws: `LoadingError.Kind.transport` in a child process that was forked after the transport was made. The child has
    ///   the transport's memory, but neither its thread nor the right to use its connections.
    func checkProcess() throws(LoadingError) {
        guard lade_wire_forks() != process else { return }
        throw LoadingError(.transport(code: 0, message: "the transport was made before fork"))
    }

    /// Carries out one exchange, as described at `Transport.send`.
    ///
    /// - Throws: `LoadingError.Kind.transport` in a process that was forked after the transport was made, beside the
    ///   errors of every transport.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        try checkProcess()
        if rules.allowsLocalAddresses, request.parts.scheme == .other, let scheme = request.url.scheme,
            scheme == "file" || scheme == "data"
        {
            return try await LocalTransport().send(request, call: call)
        }
        let exchange = try Exchange(
            request,
            call: call,
            rules: rules,
            lane: .current(isolation: #isolation, isOnLoop: loop.isCurrentThread)
        )
        exceptionNotice.give(to: call)
        // Here and not on the loop, which never waits for a disk.
        if exchange.isSecure { loop.tls.load() }
        if let body = request.body, request.hasBody, body.isEmptyStream {
            try await call.inTask { (_) async throws(LoadingError) in try await body.writeNothing(for: request) }
        }
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

// MARK: - What it is made of

/// The libraries of the transport, and the features that they give it.
package struct TransportDescription: Sendable, Hashable {
    /// The TLS library and its version, for example `OpenSSL/3.5.1`.
    package let tls: String
    /// The library for the framing of HTTP/2 and its version, for example `nghttp2/1.64.0`.
    package let http2: String
    /// The content codings that are requested and decoded, the preferred one first.
    package let codings: [String]
    /// The versions of HTTP that are spoken, oldest first.
    package let httpVersions: [String]
}

extension WireTransport {
    /// The libraries in use, which may be newer than those this program was built with.
    package static var description: TransportDescription {
        let tls = OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? ""
        // Null only for a version of the structure that the library does not have; 0 asks for the first.
        let http2 = nghttp2_version(0)?.pointee.version_str.map { String(cString: $0) } ?? ""
        return TransportDescription(
            tls: "OpenSSL/" + tls,
            http2: "nghttp2/" + http2,
            codings: ContentCoding.allCases.map(\.rawValue),
            httpVersions: ["HTTP/1.0", "HTTP/1.1", "HTTP/2"]
        )
    }
}
