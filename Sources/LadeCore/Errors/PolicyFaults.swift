extension LoadingError {
    /// Why a redirect was not followed.
    @nonexhaustive
    public enum RedirectCause: Sendable, Hashable {
        /// There were more than the limit.
        case tooMany(limit: Int)
        /// The redirects lead back to an address that was visited already.
        case loop(url: String)
        /// It leads from https to http.
        case insecure(url: String)
        /// The target is not an address that can be followed.
        case invalidTarget(String)
        /// The body would have to be sent again, but can be sent only once.
        case bodyNotReplayable
        /// It leads to another origin, and the body may not be sent there.
        case bodyToOtherOrigin(url: String)
    }
}

extension LoadingError.RedirectCause: CustomStringConvertible {
    /// One plain clause naming the redirect at fault.
    public var description: String {
        switch self {
        case .tooMany(let limit): "There were more than \(limit) redirects"
        case .loop(let url): "The redirects lead back to \(url)"
        case .insecure(let url): "The redirect to \(url) leaves https"
        case .invalidTarget(let target):
            "The redirect leads to “\(target.escapedForDisplay(limit: 120))”, which cannot be followed"
        case .bodyNotReplayable: "The redirect requires the body again, which can be sent only once"
        case .bodyToOtherOrigin(let url):
            "The redirect to \(url) leaves the origin, and the body may not follow it there "
                + "(sendsBodyToOtherOrigins, credentialOrigins)"
        }
    }
}

extension LoadingError {
    /// Why a request could not be authorised.
    public struct AuthorisationCause: Sendable {
        /// The cause.
        @nonexhaustive
        public enum Cause: Sendable {
            /// The server refused credentials that were just obtained.
            case refused
            /// Getting new credentials failed.
            case refreshFailed(any Error)
            /// The authoriser threw an error of its own.
            case failed(any Error)
            /// There were too many refreshes in a short time.
            case excessiveRefresh
            /// There is nothing to obtain credentials with: the user has to sign in.
            case signInRequired
            /// The request would carry credentials over plain HTTP.
            case insecure
        }

        /// The authoriser that failed.
        public let authoriser: String
        /// The cause.
        public let cause: Cause
        /// The server's own words, such as the error code of a token endpoint (`invalid_grant`); nil when it said
        /// nothing.
        public let detail: String?

        /// Makes a fault.
        public init(authoriser: String, cause: Cause, detail: String? = nil) {
            self.authoriser = authoriser
            self.cause = cause
            self.detail = detail
        }
    }
}

extension LoadingError.AuthorisationCause: Hashable {
    /// Whether both have the same authoriser and the same kind of cause; underlying errors are not compared.
    public static func == (left: LoadingError.AuthorisationCause, right: LoadingError.AuthorisationCause) -> Bool {
        left.authoriser == right.authoriser && left.cause.name == right.cause.name
    }

    /// Hashes the authoriser and the kind of the cause.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(authoriser)
        hasher.combine(cause.name)
    }
}

extension LoadingError.AuthorisationCause.Cause {
    fileprivate var name: String {
        switch self {
        case .refused: "refused"
        case .refreshFailed: "refreshFailed"
        case .failed: "failed"
        case .excessiveRefresh: "excessiveRefresh"
        case .signInRequired: "signInRequired"
        case .insecure: "insecure"
        }
    }
}

extension LoadingError.AuthorisationCause {
    /// The error that the authoriser, or the source of its credentials, threw; nil when there was none.
    public var underlyingError: (any Error)? {
        switch cause {
        case .refreshFailed(let error), .failed(let error): error
        default: nil
        }
    }
}

extension LoadingError.AuthorisationCause: CustomStringConvertible {
    /// One plain clause naming the authoriser.
    public var description: String {
        switch cause {
        case .refused: "The server refuses the credentials of \(authoriser)"
        case .refreshFailed(let error): "\(authoriser) could not get new credentials: \(error)"
        case .failed(let error): "\(authoriser) could not authorise the request: \(error)"
        case .excessiveRefresh: "\(authoriser) had to get new credentials too often"
        case .signInRequired:
            detail.map { "\(authoriser) gets no more credentials (\($0)): the user has to sign in again" }
                ?? "\(authoriser) has nothing to make credentials from: the user has to sign in"
        case .insecure: "\(authoriser) does not send its credentials without TLS"
        }
    }
}
