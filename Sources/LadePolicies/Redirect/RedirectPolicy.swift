/// How redirects are followed.
public struct RedirectPolicy: Sendable {
    /// How many redirects a call follows, 10 by default.
    ///
    /// `Request.redirectLimit` overrides it; 0 follows none and returns the 3xx answer.
    public var limit = 10
    /// Whether a redirect may lead from https to http; false by default.
    public var allowsInsecure = false
    /// Origins that a request's own credentials may follow to from any other; none by default.
    ///
    /// For all other origins, `Authorization`, `Proxy-Authorization`, `Cookie` and every field known as a credential
    /// are removed when scheme, host or port change. Credentials that authorisers and the cookie jar add are not
    /// affected: those check each hop.
    public var credentialOrigins: Set<Origin> = []

    /// Makes the default policy.
    public init() {}
}
