import Foundation
import LadeCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The failure of a `URLSession` task: a code and, on Linux, the message of libcurl.
struct PlatformFailure: Sendable, Hashable {
    /// The raw value of a `URLError.Code`, or the code of another domain.
    var code: Int
    var message: String

    init(_ code: URLError.Code, _ message: String = "") {
        self.code = code.rawValue
        self.message = message
    }

    init(_ error: any Error) {
        let error = error as NSError
        code = error.domain == NSURLErrorDomain ? error.code : URLError.Code.unknown.rawValue
        message = error.localizedDescription
    }

    /// The meaning of a failure, before the facts of the exchange are added.
    enum Meaning: Sendable, Hashable {
        case cancelled
        case timedOut(LoadingError.TimeoutPhase)
        case nameNotResolved
        case cannotConnect(LoadingError.ConnectCause)
        case proxyNameNotResolved
        case proxyWantsCredentials
        case proxyRefused
        case connectionLost
        case incompleteBody
        case malformed(LoadingError.MalformedResponse.Rule)
        case headTooLarge(bytes: Int)
        case untrusted(LoadingError.TrustCause.Cause)
        case clientCertificateRequired
        case unusableURL
        case unsupportedScheme
        case bodyNotReplayable
        case unreadableBodyFile
        case unknown
    }

    /// Whether messages come from libcurl; on Apple platforms they are localised sentences for people.
    static let hasMessagesOfCurl: Bool = {
        #if canImport(FoundationNetworking)
            true
        #else
            false
        #endif
    }()

    /// The meaning of the failure: by the message if it is one of libcurl that is known, otherwise by the code.
    var meaning: Meaning { meaning(byMessage: Self.hasMessagesOfCurl) }

    /// The meaning of the failure, by the code alone or by the message first.
    func meaning(byMessage: Bool) -> Meaning {
        (byMessage ? Self.sentences.first { message.contains($0.part) }?.meaning : nil)
            ?? Self.codes.first { $0.code.rawValue == code }?.meaning
            ?? .unknown
    }

    // On Linux nearly every failure has the code `unknown`; only the message of libcurl or OpenSSL identifies it. A
    // more specific message comes before a more general one.
    static let sentences: [(part: String, meaning: Meaning)] = [
        ("Received HTTP/0.9 when not allowed", .malformed(.notHTTP)),
        ("Unsupported response code in HTTP response", .malformed(.statusLine)),
        ("Unsupported HTTP version", .malformed(.statusLine)),
        ("Weird server reply", .malformed(.notHTTP)),
        ("Header without colon", .malformed(.fieldName)),
        ("Nul byte in header", .malformed(.fieldValue)),
        ("Invalid Content-Length: value", .malformed(.contentLength)),
        ("Overflow Content-Length: value", .malformed(.contentLength)),
        ("chunk hex-length", .malformed(.chunk)),
        ("chunked-encoding", .malformed(.chunk)),
        ("content encoding type", .malformed(.contentCoding)),
        ("content unencoding", .malformed(.contentCoding)),
        ("HTTP/2 framing layer", .malformed(.http2Framing)),
        // FoundationNetworking could not parse the head: no reason phrase, bare line feeds, bytes that are not UTF-8 …
        ("Failed writing header", .malformed(.unspecified)),
        ("Too large response headers", .headTooLarge(bytes: 300 << 10)),
        // The message of libcurl for a single line above its limit.
        ("Out of memory", .headTooLarge(bytes: 100 << 10)),
        ("bytes remaining to read", .incompleteBody),
        ("outstanding read data remaining", .incompleteBody),
        ("Empty reply from server", .connectionLost),
        ("Recv failure", .connectionLost),
        ("Send failure", .connectionLost),
        ("was not closed cleanly", .connectionLost),
        // libcurl had sent the request over one dead connection after the other.
        ("Connection died, tried", .connectionLost),
        ("Could not resolve proxy", .proxyNameNotResolved),
        ("Received HTTP code 407 from proxy", .proxyWantsCredentials),
        ("from proxy after CONNECT", .proxyRefused),
        ("Could not resolve host", .nameNotResolved),
        ("Resolving timed out", .timedOut(.nameLookup)),
        ("Connection timed out", .timedOut(.connect)),
        ("Network is unreachable", .cannotConnect(.unreachable)),
        ("No route to host", .cannotConnect(.unreachable)),
        ("Failed to connect to", .cannotConnect(.refused)),
        ("self-signed certificate in certificate chain", .untrusted(.untrustedRoot)),
        ("self-signed certificate", .untrusted(.selfSigned)),
        ("self signed certificate in certificate chain", .untrusted(.untrustedRoot)),
        ("self signed certificate", .untrusted(.selfSigned)),
        ("unable to get local issuer certificate", .untrusted(.untrustedRoot)),
        ("unable to get issuer certificate", .untrusted(.untrustedRoot)),
        ("certificate has expired", .untrusted(.expired)),
        ("certificate is not yet valid", .untrusted(.notYetValid)),
        ("certificate revoked", .untrusted(.revoked)),
        ("certificate key too weak", .untrusted(.weakKey)),
        ("certificate md too weak", .untrusted(.weakKey)),
        ("ee key too small", .untrusted(.weakKey)),
        ("matches target host name", .untrusted(.wrongHost)),
        ("wrong version number", .untrusted(.notTLS)),
        ("unsupported protocol", .untrusted(.protocolVersion)),
        ("alert protocol version", .untrusted(.protocolVersion)),
        ("certificate required", .clientCertificateRequired),
        ("SSL certificate problem", .untrusted(.other("the certificate could not be verified"))),
        ("SSL_ERROR_SYSCALL", .connectionLost),
        ("TLS connect error", .cannotConnect(.handshakeFailed)),
        ("SSL routines", .cannotConnect(.handshakeFailed)),
    ]

    static let codes: [(code: URLError.Code, meaning: Meaning)] = [
        (.cancelled, .cancelled),
        (.userCancelledAuthentication, .cancelled),
        (.timedOut, .timedOut(.idle)),
        (.cannotFindHost, .nameNotResolved),
        (.dnsLookupFailed, .nameNotResolved),
        (.cannotConnectToHost, .cannotConnect(.refused)),
        (.notConnectedToInternet, .cannotConnect(.unreachable)),
        (.dataNotAllowed, .cannotConnect(.unreachable)),
        (.internationalRoamingOff, .cannotConnect(.unreachable)),
        (.callIsActive, .cannotConnect(.unreachable)),
        (.appTransportSecurityRequiresSecureConnection, .unusableURL),
        (.networkConnectionLost, .connectionLost),
        (.badServerResponse, .malformed(.unspecified)),
        (.zeroByteResource, .malformed(.unspecified)),
        (.cannotParseResponse, .malformed(.unspecified)),
        (.cannotDecodeRawData, .malformed(.contentCoding)),
        (.cannotDecodeContentData, .malformed(.contentCoding)),
        (.secureConnectionFailed, .cannotConnect(.handshakeFailed)),
        (.serverCertificateHasBadDate, .untrusted(.expired)),
        (.serverCertificateNotYetValid, .untrusted(.notYetValid)),
        (.serverCertificateUntrusted, .untrusted(.untrustedRoot)),
        (.serverCertificateHasUnknownRoot, .untrusted(.untrustedRoot)),
        (.clientCertificateRequired, .clientCertificateRequired),
        (.clientCertificateRejected, .clientCertificateRequired),
        (.badURL, .unusableURL),
        (.unsupportedURL, .unsupportedScheme),
        (.fileDoesNotExist, .unreadableBodyFile),
        (.noPermissionsToReadFile, .unreadableBodyFile),
        (.requestBodyStreamExhausted, .bodyNotReplayable),
    ]

    /// The error for the caller: the meaning of the failure, with the facts of the exchange.
    func error(in state: TransferState, context: LoadingError.Context) -> LoadingError {
        var context = context
        context.detail = message.isEmpty ? "URLError \(code)" : message
        let host = state.request.url.host(percentEncoded: true) ?? ""
        switch meaning {
        case .cancelled: return LoadingError(.cancelled, context)
        case .timedOut(let phase): return LoadingError(.timedOut(phase), context)
        case .nameNotResolved: return LoadingError(.nameNotResolved(host: host), context)
        case .cannotConnect(let fault): return LoadingError(.cannotConnect(host: host, reason: fault), context)
        case .proxyNameNotResolved: return LoadingError(.proxy(.nameNotResolved(proxy: Self.proxyName)), context)
        case .proxyWantsCredentials:
            return LoadingError(.proxy(.authenticationRequired(proxy: Self.proxyName)), context)
        case .proxyRefused: return LoadingError(.proxy(.refused(proxy: Self.proxyName, status: nil)), context)
        case .connectionLost: return LoadingError(.connectionLost(state.progress, isSafeToRepeat: false), context)
        case .incompleteBody:
            return LoadingError(.incompleteBody(received: state.received, expected: state.announcedLength), context)
        case .malformed(let rule):
            return LoadingError(.malformedResponse(LoadingError.MalformedResponse(rule, excerpt: message)), context)
        case .headTooLarge(let bytes):
            // A head above the platform's limit is also above a lower limit of the caller.
            return LoadingError(.headTooLarge(.bytes(min(bytes, state.limits.headBytes))), context)
        case .untrusted(let cause):
            return LoadingError(.untrustedServer(LoadingError.TrustCause(host: host, cause: cause)), context)
        case .clientCertificateRequired: return LoadingError(.clientCertificateRequired, context)
        case .unusableURL:
            let reason = message.isEmpty ? "the platform refuses it" : message
            return LoadingError(.invalidRequest(.url(state.request.url.redacted(), reason: reason)), context)
        case .unsupportedScheme:
            return LoadingError(.invalidRequest(.unsupportedScheme(state.request.url.scheme ?? "")), context)
        case .bodyNotReplayable: return LoadingError(.invalidRequest(.bodyNotReplayable), context)
        case .unreadableBodyFile:
            var path = ""
            if case .file(let file, _) = state.request.body?.content { path = file }
            return LoadingError(.file(LoadingError.FileCause(path: path, operation: .read, reason: message)), context)
        case .unknown: return LoadingError(.transport(code: code, message: message), context)
        }
    }

    // The platform does not report which proxy it used.
    private static let proxyName = "the configured proxy"
}
