import CCurl
import LadeCore
import LadeExchange

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The facts about an exchange that libcurl ended with an error, and the only table that translates them.
struct CurlFailure {
    /// The result code.
    var code: CURLcode
    /// The message of libcurl.
    var message: String
    /// The certificate verification result of the TLS library (`X509_V_ERR_…`), 0 when there was none.
    var verifyResult = 0
    /// The system's error number, 0 when there was none.
    var systemError: Int32 = 0
    /// The proxy's error (`CURLPX_…`).
    var proxyCode = 0
    /// The status of the proxy's response to CONNECT.
    var connectStatus = 0
    /// The host of the address.
    var host: String
    /// The proxy in use, as `host:port`.
    var proxy: String?
    /// How much of the response was received.
    var progress: LoadingError.ResponseProgress
    /// The number of body bytes received, before decoding.
    var received: Int64 = 0
    /// The number of body bytes that the head announced.
    var expected: Int64?
    /// The number of lines of the head that were received and are well-formed.
    var headLines = 0
    /// Whether sending the request had begun.
    var wasSent = false
    /// Whether the request was sent over HTTP/2.
    var isHTTP2 = false
    /// Whether the process had no free descriptor, which libcurl reports as a failure of what needed one.
    var lacksDescriptors = false

    /// The error that the exchange ends with.
    func loadingError(_ context: LoadingError.Context) -> LoadingError {
        var context = context
        if lacksDescriptors { return LoadingError(.cannotConnect(host: host, reason: .other(errno: EMFILE)), context) }
        context.detail = message.isEmpty ? String(cString: curl_easy_strerror(code)) : message.escapedForDisplay()
        switch code {
        case CURLE_URL_MALFORMAT:
            return LoadingError(.invalidRequest(.url(context.url ?? "", reason: "libcurl cannot parse it")), context)
        case CURLE_UNSUPPORTED_PROTOCOL:
            // libcurl also reports an HTTP/0.9 response, which has no status line, with this code.
            return wasSent
                ? LoadingError(.malformedResponse(LoadingError.MalformedResponse(.notHTTP)), context)
                : LoadingError(.invalidRequest(.unsupportedScheme(context.url ?? "")), context)
        case CURLE_COULDNT_RESOLVE_HOST: return LoadingError(.nameNotResolved(host: host), context)
        case CURLE_COULDNT_RESOLVE_PROXY: return LoadingError(.proxy(.nameNotResolved(proxy: proxy ?? "")), context)
        case CURLE_COULDNT_CONNECT: return cannotConnect(context)
        case CURLE_PROXY: return proxyError(context)
        case CURLE_OPERATION_TIMEDOUT: return LoadingError(.timedOut(wasSent ? .whole : .connect), context)
        case CURLE_WEIRD_SERVER_REPLY: return weirdReply(context)
        case CURLE_PARTIAL_FILE: return incomplete(context)
        // libcurl ends an HTTP/2 stream with this code when the server has violated the protocol of the connection.
        case CURLE_GOT_NOTHING where isHTTP2:
            return LoadingError(.malformedResponse(LoadingError.MalformedResponse(.http2Framing)), context)
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND, CURLE_ABORTED_BY_CALLBACK:
            return lost(context)
        case CURLE_RECV_ERROR: return receiveError(context)
        case CURLE_HTTP2, CURLE_HTTP2_STREAM: return http2Error(context)
        case CURLE_BAD_CONTENT_ENCODING:
            return LoadingError(.malformedResponse(LoadingError.MalformedResponse(.contentCoding)), context)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
            return LoadingError(.untrustedServer(LoadingError.TrustCause(host: host, cause: trustCause)), context)
        case CURLE_SSL_CONNECT_ERROR: return handshakeError(context)
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return LoadingError(.pinMismatch(host: host), context)
        case CURLE_SSL_CERTPROBLEM:
            return LoadingError(.invalidSetting(name: "client certificate", reason: message), context)
        case CURLE_SSL_CACERT_BADFILE: return LoadingError(.invalidSetting(name: "authority", reason: message), context)
        case CURLE_SSL_CRL_BADFILE:
            return LoadingError(.invalidSetting(name: "revocation list", reason: message), context)
        // libcurl's message for a folded line without a preceding field.
        case CURLE_BAD_FUNCTION_ARGUMENT where wasSent:
            return LoadingError(.malformedResponse(LoadingError.MalformedResponse(.foldedField)), context)
        case CURLE_OUT_OF_MEMORY where wasSent && progress == .nothing || progress == .head:
            // A single header line above libcurl's own limit of 100 KiB ends this way.
            return LoadingError(.headTooLarge(.bytes(100 << 10)), context)
        // CURLE_TOO_LARGE of libcurl 8.6, which older headers do not have.
        case CURLcode(rawValue: 100): return LoadingError(.headTooLarge(.bytes(100 << 10)), context)
        default: return LoadingError(.transport(code: Int(code.rawValue), message: context.detail ?? ""), context)
        }
    }

    /// Whether a failure may be due to a lack of descriptors that libcurl does not report.
    var mayLackDescriptors: Bool {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CERTPROBLEM, CURLE_SSL_CRL_BADFILE:
            true
        case CURLE_COULDNT_CONNECT: systemError == 0
        default: false
        }
    }

    /// Whether the process can hardly open another file.
    ///
    /// The descriptors of the exchange that failed are free again, so a few free ones mean that there were none.
    static var isShortOfDescriptors: Bool {
        let free = fcntl(0, F_DUPFD_CLOEXEC, 0)
        guard free >= 0 else { return errno == EMFILE }
        close(free)
        return Int(free) + 3 >= lade_descriptor_limit()
    }

    // MARK: - Codes with more than one meaning

    private func cannotConnect(_ context: LoadingError.Context) -> LoadingError {
        if let proxy { return LoadingError(.proxy(.cannotConnect(proxy: proxy)), context) }
        return LoadingError(.cannotConnect(host: host, reason: connectFault), context)
    }

    private var connectFault: LoadingError.ConnectCause {
        switch systemError {
        case ECONNREFUSED: .refused
        case ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL: .unreachable
        default: .other(errno: systemError)
        }
    }

    private func proxyError(_ context: LoadingError.Context) -> LoadingError {
        let proxy = proxy ?? ""
        switch UInt32(proxyCode) {
        case CURLPX_USER_REJECTED.rawValue, CURLPX_NO_AUTH.rawValue:
            return LoadingError(.proxy(.authenticationRequired(proxy: proxy)), context)
        case CURLPX_RESOLVE_HOST.rawValue: return LoadingError(.nameNotResolved(host: host), context)
        case CURLPX_REPLY_CONNECTION_REFUSED.rawValue:
            return LoadingError(.cannotConnect(host: host, reason: .refused), context)
        case CURLPX_REPLY_HOST_UNREACHABLE.rawValue, CURLPX_REPLY_NETWORK_UNREACHABLE.rawValue:
            return LoadingError(.cannotConnect(host: host, reason: .unreachable), context)
        default: return LoadingError(.proxy(.refused(proxy: proxy, status: nil)), context)
        }
    }

    private func weirdReply(_ context: LoadingError.Context) -> LoadingError {
        // libcurl does not pass on this line, so its place is named.
        if message.contains("without colon") {
            let fault = LoadingError.MalformedResponse(
                .fieldName,
                redacted: "line \(headLines + 1) of the head has no colon"
            )
            return LoadingError(.malformedResponse(fault), context)
        }
        let rule: LoadingError.MalformedResponse.Rule =
            message.contains("Content-Length") ? .contentLength : message.contains("Nul byte") ? .fieldValue : .notHTTP
        return LoadingError(.malformedResponse(LoadingError.MalformedResponse(rule)), context)
    }

    private func incomplete(_ context: LoadingError.Context) -> LoadingError {
        // In the head, the same code means that the connection was closed; there is no body that could be incomplete.
        if case .body = progress {
            return LoadingError(.incompleteBody(received: received, expected: expected), context)
        }
        return lost(context)
    }

    private func receiveError(_ context: LoadingError.Context) -> LoadingError {
        if let refusal = tunnelRefusal(context) { return refusal }
        if message.contains("Too large response headers") {
            return LoadingError(.headTooLarge(.bytes(300 << 10)), context)
        }
        if message.contains("mem_recv()") { return brokenHTTP2(context) }
        if message.contains("chunked-encoding") {
            return LoadingError(.malformedResponse(LoadingError.MalformedResponse(.chunk)), context)
        }
        if isClientCertificateAlert { return LoadingError(.clientCertificateRequired, context) }
        return lost(context)
    }

    /// The error of a proxy that refused the tunnel; nil when it did not.
    func tunnelRefusal(_ context: LoadingError.Context) -> LoadingError? {
        guard connectStatus != 0, !(200...299).contains(connectStatus), !wasSent else { return nil }
        let proxy = proxy ?? ""
        if connectStatus == 407 { return LoadingError(.proxy(.authenticationRequired(proxy: proxy)), context) }
        return LoadingError(.proxy(.refused(proxy: proxy, status: Response.Status(connectStatus))), context)
    }

    private func http2Error(_ context: LoadingError.Context) -> LoadingError {
        // REFUSED_STREAM: the only reset that says that the request was not processed (RFC 9113 §8.7).
        let isRefused = message.contains("REFUSED_STREAM")
        // nghttp2 resets a stream with a malformed head or length with these codes. A server can send the same codes
        // about the request; it is not sent again in that case either.
        let faults = ["PROTOCOL_ERROR", "FRAME_SIZE", "FLOW_CONTROL_ERROR", "COMPRESSION_ERROR"]
        if faults.contains(where: message.contains) {
            return LoadingError(.malformedResponse(LoadingError.MalformedResponse(.http2Framing)), context)
        }
        return LoadingError(.connectionLost(progress, isSafeToRepeat: isRefused), context)
    }

    /// The error when nghttp2 has ended the connection.
    private func brokenHTTP2(_ context: LoadingError.Context) -> LoadingError {
        // libcurl fails this callback for a head above 128 KiB, and for nothing else that a server can cause.
        if progress == .nothing, message.contains("callback function failed") {
            return LoadingError(.headTooLarge(.bytes(128 << 10)), context)
        }
        return LoadingError(.malformedResponse(LoadingError.MalformedResponse(.http2Framing)), context)
    }

    private func lost(_ context: LoadingError.Context) -> LoadingError {
        LoadingError(.connectionLost(progress, isSafeToRepeat: !wasSent), context)
    }

    // MARK: - TLS

    /// Whether the server's alert concerns the client certificate, or its absence.
    ///
    /// TLS 1.3 has a separate alert for that; in earlier versions a server reports only that the handshake failed.
    private var isClientCertificateAlert: Bool {
        guard let alert = message.split(separator: " alert ", maxSplits: 1).dropFirst().first else { return false }
        return alert.contains("certificate") || alert.contains("unknown ca") || alert.contains("access denied")
            || alert.contains("handshake failure")
    }

    private func handshakeError(_ context: LoadingError.Context) -> LoadingError {
        let text = message.lowercased()
        // OpenSSL's message for a record that is not a TLS record, such as the start of a response in plain HTTP.
        if text.contains("wrong version number") {
            return LoadingError(.untrustedServer(LoadingError.TrustCause(host: host, cause: .notTLS)), context)
        }
        if text.contains("unsupported protocol") || text.contains("protocol version")
            || text.contains("wrong ssl version")
        {
            return LoadingError(.untrustedServer(LoadingError.TrustCause(host: host, cause: .protocolVersion)), context)
        }
        if text.contains("key too small") || text.contains("md too weak") {
            return LoadingError(.untrustedServer(LoadingError.TrustCause(host: host, cause: .weakKey)), context)
        }
        if isClientCertificateAlert { return LoadingError(.clientCertificateRequired, context) }
        // 1 is the initial value in libcurl, not a verification result.
        if verifyResult > 1 {
            return LoadingError(.untrustedServer(LoadingError.TrustCause(host: host, cause: trustCause)), context)
        }
        if let proxy, !wasSent, connectStatus == 0 {
            return LoadingError(.proxy(.cannotConnect(proxy: proxy)), context)
        }
        return LoadingError(.cannotConnect(host: host, reason: .handshakeFailed), context)
    }

    /// OpenSSL's numbers (`x509_vfy.h`), which are part of its public interface.
    private var trustCause: LoadingError.TrustCause.Cause {
        // libcurl checks the host name itself; OpenSSL then has no result or an unspecified one.
        let isAboutName = message.contains("subject name") || message.contains("host name")
        return switch verifyResult {
        case 0 where isAboutName, 1 where isAboutName: .wrongHost
        case 9, 11: .notYetValid
        case 10, 12: .expired
        case 18: .selfSigned
        case 19, 20, 21, 2, 24, 25, 27: .untrustedRoot
        case 23: .revoked
        case 62, 64: .wrongHost
        case 66, 67, 68: .weakKey
        case 0: .other(message.escapedForDisplay())
        default: .other("verification error \(verifyResult)")
        }
    }
}
