import LadeCore
import LadeExchange

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the error number of connecting says.
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
    /// No connection could be opened; the error number is that of the most telling attempt.
    case cannotConnect(host: String, errno: Int32)
    /// The zone of the numeric address does not exist on this machine.
    case unknownZone(host: String)
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
        case .cannotConnect(let host, let errno):
            switch ConnectFailure(errno) {
            case .refused: .cannotConnect(host: host, reason: .refused)
            case .unreachable: .cannotConnect(host: host, reason: .unreachable)
            case .other(let code): .cannotConnect(host: host, reason: .other(errno: code))
            }
        case .unknownZone(let host): .cannotConnect(host: host, reason: .unreachable)
        case .lost(let progress, let wasSent): .connectionLost(progress, isSafeToRepeat: !wasSent)
        case .incomplete(let received, let expected): .incompleteBody(received: received, expected: expected)
        case .bytesBeforeRequest: .malformedResponse(LoadingError.MalformedResponse(.beforeRequest))
        case .notHTTP: .malformedResponse(LoadingError.MalformedResponse(.notHTTP))
        case .tls(let fault, let host): fault.kind(host: host)
        }
    }
}

extension Exchange {
    /// The error of a fault in this exchange.
    func error(_ fault: WireFault) -> LoadingError {
        var context = context
        if case .tls(let fault, _) = fault { context.detail = fault.detail }
        return LoadingError(fault.kind, context)
    }
}
