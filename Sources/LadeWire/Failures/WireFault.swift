import LadeCore
import LadeExchange

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The meaning of an error number of connecting.
enum ConnectFailure: Equatable {
    case refused
    case unreachable
    case other(Int32)

    init(_ code: Int32) {
        switch code {
        // A Unix socket that nothing listens on, or that does not exist.
        case ECONNREFUSED, ENOENT: self = .refused
        case ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL: self = .unreachable
        default: self = .other(code)
        }
    }
}

/// Why an exchange failed, as facts; ``kind`` is the one table that makes errors of them.
enum WireFault: Equatable {
    /// The name has no address.
    case nameNotResolved(host: String)
    /// The name of the proxy has no address.
    case proxyNotResolved(proxy: String)
    /// No connection could be opened to the host, or to the proxy; the error number comes from the most telling attempt.
    case cannotConnect(host: String, errno: Int32, proxy: String? = nil)
    /// The zone of the numeric address does not exist on this machine.
    case unknownZone(host: String)
    /// The proxy has opened no tunnel.
    case tunnel(Tunnel.Refusal, proxy: String, host: String)
    /// The TLS handshake with the proxy failed.
    case proxyTLS(TLSFault, proxy: String, host: String)
    /// The connection ended or was reset before the response was complete.
    case lost(LoadingError.ResponseProgress, wasSent: Bool)
    /// The connection ended within a body whose framing asks for more.
    case incomplete(received: Int64, expected: Int64?)
    /// Bytes arrived on a new connection before the request was sent.
    case bytesBeforeRequest
    /// The first bytes cannot begin a response.
    case notHTTP
    /// The TLS handshake failed.
    case tls(TLSFault, host: String)

    var kind: LoadingError.Kind {
        switch self {
        case .nameNotResolved(let host): .nameNotResolved(host: host)
        case .proxyNotResolved(let proxy): .proxy(.nameNotResolved(proxy: proxy))
        // Without a descriptor nothing was learned of the proxy.
        case .cannotConnect(_, let errno, let proxy?) where errno != EMFILE && errno != ENFILE:
            .proxy(.cannotConnect(proxy: proxy))
        case .cannotConnect(let host, let errno, _):
            switch ConnectFailure(errno) {
            case .refused: .cannotConnect(host: host, reason: .refused)
            case .unreachable: .cannotConnect(host: host, reason: .unreachable)
            case .other(let code): .cannotConnect(host: host, reason: .other(errno: code))
            }
        case .unknownZone(let host): .cannotConnect(host: host, reason: .unreachable)
        case .tunnel(let refusal, let proxy, let host): refusal.kind(proxy: proxy, host: host)
        case .proxyTLS(let fault, let proxy, let host):
            if case let kind = fault.kind(host: host), !kind.isHandshake {
                kind
            } else {
                .proxy(.cannotConnect(proxy: proxy))
            }
        case .lost(let progress, let wasSent): .connectionLost(progress, isSafeToRepeat: !wasSent)
        case .incomplete(let received, let expected): .incompleteBody(received: received, expected: expected)
        case .bytesBeforeRequest: .malformedResponse(LoadingError.MalformedResponse(.beforeRequest).at(0))
        case .notHTTP: .malformedResponse(LoadingError.MalformedResponse(.notHTTP))
        case .tls(let fault, let host): fault.kind(host: host)
        }
    }
}

extension LoadingError.Kind {
    fileprivate var isHandshake: Bool { if case .cannotConnect(_, .handshakeFailed) = self { true } else { false } }
}

extension Tunnel.Refusal {
    /// The error when the proxy opens no tunnel.
    func kind(proxy: String, host: String) -> LoadingError.Kind {
        switch self {
        case .credentials: .proxy(.authenticationRequired(proxy: proxy))
        case .status(let status): .proxy(.refused(proxy: proxy, status: status))
        // Network or host unreachable, connection refused: the proxy's report about the host (RFC 1928 §6).
        case .reply(3), .reply(4): .cannotConnect(host: host, reason: .unreachable)
        case .reply(5): .cannotConnect(host: host, reason: .refused)
        case .reply, .ended, .tooLarge, .malformed: .proxy(.refused(proxy: proxy, status: nil))
        }
    }

    /// The fact, for the detail of an error.
    var detail: String {
        switch self {
        case .credentials: "the proxy requires credentials, or other ones"
        case .status(let status): "the proxy's status is \(status.code)"
        case .reply(let code): "the proxy's reply is \(code)"
        case .ended: "the proxy ended the connection"
        case .tooLarge: "the proxy's response is larger than a head may be"
        case .malformed(let reason): "the proxy is no proxy of this kind: \(reason)"
        }
    }
}

extension Exchange {
    /// The error of a fault in this exchange.
    func error(_ fault: WireFault) -> LoadingError {
        var context = context
        switch fault {
        case .tls(let fault, _), .proxyTLS(let fault, _, _): context.detail = fault.detail
        case .tunnel(let refusal, _, _): context.detail = refusal.detail
        default: break
        }
        return LoadingError(fault.kind, context)
    }
}

extension LoadingError {
    /// The error with the position of the malformed part in the response, unless it is known already.
    func at(_ offset: Int64) -> LoadingError {
        guard case .malformedResponse(let fault) = kind, fault.offset == nil else { return self }
        var error = self
        error.kind = .malformedResponse(fault.at(offset))
        return error
    }
}
