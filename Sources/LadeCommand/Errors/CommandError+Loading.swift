import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension CommandError {
    /// Runs a call into the library and translates its error into one of the command.
    static func translating<Value>(_ body: () throws(LoadingError) -> Value) throws(CommandError) -> Value {
        do throws(LoadingError) {
            return try body()
        } catch {
            throw CommandError(error)
        }
    }

    /// Makes the command's error for an error of the library, with advice and the exit code.
    init(_ error: LoadingError) {
        // A body that the command makes itself fails with the command's own error, which is more precise than the error
        // around it.
        if error.kind == .requestBodyFailed, let cause = error.underlyingError as? CommandError {
            self = cause
            return
        }
        let (code, advice) = Self.consequence(of: error)
        self.init(what: error.description, advice: advice, code: code, isQuiet: error.isCancellation)
    }

    /// The only table that maps each library error to an exit code and advice.
    private static func consequence(of error: LoadingError) -> (ExitCode, advice: String) {
        switch error.kind {
        case .cancelled: (.interrupted, "")
        case .invalidRequest: (.usage, "Correct the command line; nothing was sent.")
        case .invalidSetting: (.usage, "Correct the option; nothing was sent.")
        case .timedOut(.whole): (.timedOut, "Allow more with --max-time.")
        case .timedOut(.idle): (.timedOut, "The server has stopped sending; allow longer waits with --idle-timeout.")
        case .timedOut: (.timedOut, "Check the host and the network, or allow more with --connect-timeout.")
        case .nameNotResolved: (.network, "Check the spelling of the host and the connection to the network.")
        case .cannotConnect(_, .handshakeFailed): (.trust, "Check that the port speaks TLS, or write http://.")
        case .cannotConnect(_, .refused): (.network, "Check the port, and whether the server is running.")
        case .cannotConnect(_, .other(EMFILE)), .cannotConnect(_, .other(ENFILE)):
            (.network, "Close other files, or allow more of them with ulimit -n.")
        case .cannotConnect: (.network, "Check the connection to the network, and the address.")
        case .proxy(.authenticationRequired):
            (.authorisation, "Give the user and the password of the proxy: -U USER:PASSWORD.")
        case .proxy: (.network, "Check --proxy and the variables http_proxy, https_proxy and all_proxy.")
        case .connectionLost(_, true): (.network, "Nothing was done by the server; try again.")
        case .connectionLost: (.network, advice(onLost: error.context.method))
        case .malformedResponse(let fault):
            (
                fault.rule == .contentCoding ? .decoding : .network,
                fault.rule == .contentCoding ? "Fetch it undecoded with --raw." : "Check that the port speaks HTTP."
            )
        case .headTooLarge: (.decoding, "Report it to the server's operator: a mistake or an attack.")
        case .incompleteBody: (.network, "Try again; a file appears only when it is complete.")
        case .bodyTooLarge: (.decoding, "Allow more with --max-size, if it is meant to be that large.")
        case .decompressionRatioExceeded: (.decoding, "Fetch it undecoded with --raw, if you trust the server.")
        case .untrustedServer(let fault): (.trust, advice(on: fault.cause))
        case .pinMismatch:
            (.trust, "Check what is between here and the server; change --pin only if its key was changed on purpose.")
        case .clientCertificateRequired: (.trust, "Give one that the server accepts with --cert and --key.")
        case .decorationFailed: (.authorisation, "Check what prepares the request.")
        case .interceptionFailed: (.network, "Say --verbose to see the whole story.")
        case .requestBodyFailed: (.localFile, "Check what the body is read from.")
        case .file: (.localFile, "Check the path, its permissions and the space left.")
        case .deadlineExceeded: (.timedOut, "Allow more with --deadline; --verbose shows where the time went.")
        case .rateLimited: (.rateLimited, "Wait, or allow a longer wait with --max-wait.")
        case .redirectRefused(.bodyToOtherOrigin):
            (.redirects, "Send it there with --cross-origin-body, if that server may have it.")
        case .redirectRefused: (.redirects, "“lade get -i” without -L shows where it leads.")
        case .authorisationFailed: (.authorisation, "Check the credentials, or sign in anew.")
        case .notStored: (.usage, "Allow a request to the server.")
        case .unacceptableStatus(401) where error.context.detail != nil || error.context.hadAuthorization:
            (Response.Status(401).exitCode, "The credentials that were sent are refused: check them, or get new ones.")
        case .unacceptableStatus(let status):
            // A status of success is refused where it does not fit the request, such as a part that was not requested.
            (status.exitCode == .success ? .network : status.exitCode, advice(on: status))
        case .decoding where error.isWrongDigest:
            (
                .digest,
                "Nothing of the file is kept. Compare the digest with that of the publisher before you try again."
            )
        case .decoding: (.decoding, "Print the response with “lade get”.")
        case .transport: (.network, "Say --verbose to see the whole story.")
        }
    }

    /// Adds to the error of a proxy that requires credentials which credentials were sent, and where they belong.
    mutating func describe(_ proxy: String, _ fact: ProxyFact) {
        let told = LoadingError.ProxyCause.authenticationRequired(proxy: proxy).description
        let known =
            fact.hasCredentials
            ? "The proxy \(proxy) refuses the credentials that were sent"
            : "The proxy \(proxy) requires credentials, and none were given"
        what = what.replacing(told, with: known)
        switch (fact.hasCredentials, fact.variable) {
        case (true, nil): advice = "Check the user and the password of --proxy-user (-U) or --proxy."
        case (true, let variable?): advice = "Check the user and the password in the variable \(variable)."
        case (false, nil): advice = "Give the user and the password of the proxy: -U USER:PASSWORD."
        case (false, let variable?):
            let scheme = fact.isSOCKS ? "socks5h" : "http"
            advice = "Write them into the variable \(variable): \(scheme)://USER:PASSWORD@HOST:PORT."
        }
    }

    /// A request that may have been carried out is not sent again by itself, unless its method allows that.
    private static func advice(onLost method: Request.Method?) -> String {
        guard let method, !method.isIdempotent else { return "Try again, if doing it twice does no harm." }
        return
            "A \(method) may have been carried out, so it is not sent again: --idempotency-key or --retry-unsafe allow it."
    }

    private static func advice(on cause: LoadingError.TrustCause.Cause) -> String {
        switch cause {
        case .selfSigned, .untrustedRoot:
            "Give its authority with --cacert; -k accepts every certificate, so use it for tests only."
        case .protocolVersion: "Check that the port speaks TLS; for a server without it write http://."
        case .notTLS: "For a server without TLS write http://; check the port."
        case .wrongHost: "Check the host in the address; --connect-to dials another one under the right name."
        case .expired, .notYetValid: "Check this machine's clock, or report it to the server's operator."
        case .revoked, .weakKey, .other: "Do not trust it; report it to the server's operator."
        }
    }

    private static func advice(on status: Response.Status) -> String {
        switch status.code {
        case 206: "It is a part that was not requested; report it to the server's operator."
        case 304: "It has not changed; leave out If-None-Match and If-Modified-Since to get it."
        case 300..<400: "The response points elsewhere: see its Location with -i."
        case 401: "Sign in: -u USER, or an Authorization header."
        case 403: "The credentials do not permit this request; send others with --auth."
        case 404, 410: "Check the path of the address."
        case 405: "Try another method with -X; the response's Allow header names them (-i)."
        case 407: "Give the user and the password of the proxy: -U USER:PASSWORD."
        case 413: "Send less."
        case 429: "Wait before the next request; the response may say how long in Retry-After (-i)."
        case 400..<500: "Check the request; the response may say what is wrong with it."
        case 503: "Try again later; the response may say when in Retry-After (-i)."
        default: "Try again later, or report it to the server's operator."
        }
    }
}

extension LoadingError {
    /// Whether a downloaded file has another digest than the user or the server says.
    fileprivate var isWrongDigest: Bool {
        if case .digest? = underlyingError as? ProcessingError { true } else { false }
    }
}

extension Response.Status {
    /// The exit code for a call with this final status.
    ///
    /// Codes of 600 and more are treated like 5xx (RFC 9110 §15).
    var exitCode: ExitCode {
        switch statusClass {
        case .informational, .successful: .success
        case .redirection: .redirection
        case .clientError: .clientError
        case .serverError, nil: .serverError
        }
    }
}
