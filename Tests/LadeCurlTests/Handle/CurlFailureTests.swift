import CCurl
import Glibc
import LadeCore
import Testing

@testable import LadeCurl

/// One row for each way libcurl can end an exchange, and the error that the caller gets.
@Suite("libcurl's failures", .timeLimit(.minutes(5)))
struct CurlFailureTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var failure: CurlFailure
        var matches: @Sendable (LoadingError) -> Bool

        init(
            _ name: String,
            _ code: CURLcode,
            message: String = "",
            sent: Bool = true,
            progress: LoadingError.ResponseProgress = .nothing,
            change: (inout CurlFailure) -> Void = { _ in },
            matches: @escaping @Sendable (LoadingError) -> Bool
        ) {
            self.name = name
            failure = CurlFailure(code: code, message: message, host: "h", progress: progress)
            failure.wasSent = sent
            change(&failure)
            self.matches = matches
        }

        var testDescription: String { name }
    }

    static let connecting: [Row] = [
        Row("bad address", CURLE_URL_MALFORMAT, sent: false) {
            if case .invalidRequest(.url) = $0.kind { true } else { false }
        },
        Row("unknown scheme", CURLE_UNSUPPORTED_PROTOCOL, sent: false) {
            if case .invalidRequest(.unsupportedScheme) = $0.kind { true } else { false }
        },
        Row("HTTP/0.9", CURLE_UNSUPPORTED_PROTOCOL) { isMalformed($0, .notHTTP) },
        Row("unknown host", CURLE_COULDNT_RESOLVE_HOST, sent: false) {
            if case .nameNotResolved("h") = $0.kind { true } else { false }
        },
        Row("unknown proxy", CURLE_COULDNT_RESOLVE_PROXY, sent: false, change: { $0.proxy = "p:1" }) {
            if case .proxy(.nameNotResolved("p:1")) = $0.kind { true } else { false }
        },
        Row("refused", CURLE_COULDNT_CONNECT, sent: false, change: { $0.systemError = ECONNREFUSED }) {
            if case .cannotConnect("h", .refused) = $0.kind { true } else { false }
        },
        Row("unreachable", CURLE_COULDNT_CONNECT, sent: false, change: { $0.systemError = ENETUNREACH }) {
            if case .cannotConnect("h", .unreachable) = $0.kind { true } else { false }
        },
        Row("other errno", CURLE_COULDNT_CONNECT, sent: false, change: { $0.systemError = EACCES }) {
            if case .cannotConnect("h", .other(EACCES)) = $0.kind { true } else { false }
        },
        Row("proxy down", CURLE_COULDNT_CONNECT, sent: false, change: { $0.proxy = "p:1" }) {
            if case .proxy(.cannotConnect("p:1")) = $0.kind { true } else { false }
        },
        Row("connect time-out", CURLE_OPERATION_TIMEDOUT, sent: false) {
            if case .timedOut(.connect) = $0.kind { true } else { false }
        },
        Row("later time-out", CURLE_OPERATION_TIMEDOUT) {
            if case .timedOut(.whole) = $0.kind { true } else { false }
        },
    ]

    static let proxies: [Row] = [
        Row("SOCKS credentials", CURLE_PROXY, sent: false, change: { $0.use(CURLPX_USER_REJECTED) }) {
            if case .proxy(.authenticationRequired("p:1")) = $0.kind { true } else { false }
        },
        Row("SOCKS no method", CURLE_PROXY, sent: false, change: { $0.use(CURLPX_NO_AUTH) }) {
            if case .proxy(.authenticationRequired("p:1")) = $0.kind { true } else { false }
        },
        Row("SOCKS target refused", CURLE_PROXY, sent: false, change: { $0.use(CURLPX_REPLY_CONNECTION_REFUSED) }) {
            if case .cannotConnect("h", .refused) = $0.kind { true } else { false }
        },
        Row("SOCKS no route", CURLE_PROXY, sent: false, change: { $0.use(CURLPX_REPLY_HOST_UNREACHABLE) }) {
            if case .cannotConnect("h", .unreachable) = $0.kind { true } else { false }
        },
        Row("SOCKS name", CURLE_PROXY, sent: false, change: { $0.use(CURLPX_RESOLVE_HOST) }) {
            if case .nameNotResolved("h") = $0.kind { true } else { false }
        },
        Row("SOCKS not allowed", CURLE_PROXY, sent: false, change: { $0.use(CURLPX_REPLY_NOT_ALLOWED) }) {
            if case .proxy(.refused("p:1", nil)) = $0.kind { true } else { false }
        },
        Row("CONNECT 407", CURLE_RECV_ERROR, sent: false, change: { $0.use(connect: 407) }) {
            if case .proxy(.authenticationRequired("p:1")) = $0.kind { true } else { false }
        },
        Row("CONNECT 403", CURLE_RECV_ERROR, sent: false, change: { $0.use(connect: 403) }) {
            if case .proxy(.refused("p:1", 403)) = $0.kind { true } else { false }
        },
    ]

    static let answers: [Row] = [
        Row("nothing came", CURLE_GOT_NOTHING) { isLost($0, .nothing, safe: false) },
        Row("send failed", CURLE_SEND_ERROR) { isLost($0, .nothing, safe: false) },
        Row("rewind failed", CURLE_SEND_FAIL_REWIND) { isLost($0, .nothing, safe: false) },
        Row("never sent", CURLE_SEND_ERROR, sent: false) { isLost($0, .nothing, safe: true) },
        Row("reset in the head", CURLE_RECV_ERROR, progress: .head) { isLost($0, .head, safe: false) },
        Row("reset in the body", CURLE_RECV_ERROR, progress: .body(received: 3)) {
            isLost($0, .body(received: 3), safe: false)
        },
        Row("short body", CURLE_PARTIAL_FILE, progress: .body(received: 4), change: { $0.set(4, of: 9) }) {
            if case .incompleteBody(4, 9) = $0.kind { true } else { false }
        },
        Row("close in the head", CURLE_PARTIAL_FILE, progress: .head) { isLost($0, .head, safe: false) },
        Row("bad chunk", CURLE_RECV_ERROR, message: "Illegal or missing hexadecimal sequence in chunked-encoding") {
            isMalformed($0, .chunk)
        },
        Row("odd reply", CURLE_WEIRD_SERVER_REPLY) { isMalformed($0, .notHTTP) },
        Row("no colon", CURLE_WEIRD_SERVER_REPLY, message: "Header without colon") { isMalformed($0, .fieldName) },
        Row("odd length", CURLE_WEIRD_SERVER_REPLY, message: "Invalid Content-Length: value") {
            isMalformed($0, .contentLength)
        },
        Row("NUL", CURLE_WEIRD_SERVER_REPLY, message: "Nul byte in header") { isMalformed($0, .fieldValue) },
        Row("bad coding", CURLE_BAD_CONTENT_ENCODING) { isMalformed($0, .contentCoding) },
        Row("endless line", CURLE_OUT_OF_MEMORY) { if case .headTooLarge = $0.kind { true } else { false } },
        Row("endless line, later libcurl", CURLcode(rawValue: 100)) {
            if case .headTooLarge = $0.kind { true } else { false }
        },
        Row("HTTP/2 reset", CURLE_HTTP2_STREAM, message: "not closed cleanly: INTERNAL_ERROR (err 2)") {
            isLost($0, .nothing, safe: false)
        },
        Row("HTTP/2 refused", CURLE_HTTP2_STREAM, message: "not closed cleanly: REFUSED_STREAM (err 7)") {
            isLost($0, .nothing, safe: true)
        },
        Row("HTTP/2 framing", CURLE_HTTP2, message: "PROTOCOL_ERROR") { isMalformed($0, .http2Framing) },
        Row("anything else", CURLE_FAILED_INIT) { if case .transport(2, _) = $0.kind { true } else { false } },
    ]

    static let trust: [Row] =
        [
            (9, LoadingError.TrustCause.Cause.notYetValid), (10, .expired), (18, .selfSigned), (19, .untrustedRoot),
            (20, .untrustedRoot), (23, .revoked), (62, .wrongHost), (66, .weakKey), (1, .other("verification error 1")),
        ].map { number, cause in
            Row("verdict \(number)", CURLE_PEER_FAILED_VERIFICATION, sent: false, change: { $0.verifyResult = number })
            {
                isUntrusted($0, cause)
            }
        } + [
            Row(
                "wrong name",
                CURLE_PEER_FAILED_VERIFICATION,
                message: "SSL: no alternative certificate subject name matches target host name 'h'",
                sent: false
            ) { isUntrusted($0, .wrongHost) },
            Row("old TLS", CURLE_SSL_CONNECT_ERROR, message: "SSL routines::unsupported protocol", sent: false) {
                isUntrusted($0, .protocolVersion)
            },
            Row("plain HTTP", CURLE_SSL_CONNECT_ERROR, message: "SSL routines::wrong version number", sent: false) {
                isUntrusted($0, .notTLS)
            },
            Row("small key", CURLE_SSL_CONNECT_ERROR, message: "SSL routines::ee key too small", sent: false) {
                isUntrusted($0, .weakKey)
            },
            Row("handshake", CURLE_SSL_CONNECT_ERROR, message: "SSL_ERROR_SYSCALL", sent: false) {
                if case .cannotConnect("h", .handshakeFailed) = $0.kind { true } else { false }
            },
            Row("pin", CURLE_SSL_PINNEDPUBKEYNOTMATCH, sent: false) {
                if case .pinMismatch("h") = $0.kind { true } else { false }
            },
            Row("certificate wanted", CURLE_RECV_ERROR, message: "tlsv13 alert certificate required") {
                if case .clientCertificateRequired = $0.kind { true } else { false }
            },
            Row("own certificate", CURLE_SSL_CERTPROBLEM, sent: false) {
                if case .invalidSetting("client certificate", _) = $0.kind { true } else { false }
            },
            Row("authority file", CURLE_SSL_CACERT_BADFILE, sent: false) {
                if case .invalidSetting("authority", _) = $0.kind { true } else { false }
            },
            Row("revocation file", CURLE_SSL_CRL_BADFILE, sent: false) {
                if case .invalidSetting("revocation list", _) = $0.kind { true } else { false }
            },
        ]

    @Test("each failure becomes the error that says what to do", arguments: connecting + proxies + answers + trust)
    func translates(row: Row) {
        let error = row.failure.loadingError(LoadingError.Context())

        #expect(row.matches(error), "it became \(error)")
    }

    private static func isMalformed(_ error: LoadingError, _ rule: LoadingError.MalformedResponse.Rule) -> Bool {
        if case .malformedResponse(let fault) = error.kind { fault.rule == rule } else { false }
    }

    private static func isLost(_ error: LoadingError, _ progress: LoadingError.ResponseProgress, safe: Bool) -> Bool {
        if case .connectionLost(progress, safe) = error.kind { true } else { false }
    }

    private static func isUntrusted(_ error: LoadingError, _ cause: LoadingError.TrustCause.Cause) -> Bool {
        if case .untrustedServer(let fault) = error.kind { fault.cause == cause && fault.host == "h" } else { false }
    }
}

extension CurlFailure {
    fileprivate mutating func use(_ code: CURLproxycode) {
        proxyCode = Int(code.rawValue)
        proxy = "p:1"
    }

    fileprivate mutating func use(connect status: Int) {
        connectStatus = status
        proxy = "p:1"
    }

    fileprivate mutating func set(_ received: Int64, of expected: Int64) {
        self.received = received
        self.expected = expected
    }
}
