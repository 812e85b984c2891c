/// How redirects are followed.
public struct RedirectPolicy: Sendable {
    /// How many redirects a call follows, 10 by default.
    ///
    /// `Request.redirectLimit` overrides it; 0 follows none, and the 3xx is the answer.
    public var limit = 10
    /// Whether a redirect may lead from https to http; false by default.
    public var allowsInsecure = false
    /// Origins that a request's own credentials may follow to from any other; none by default.
    ///
    /// Elsewhere `Authorization`, `Proxy-Authorization`, `Cookie` and every field that is known as a credential are
    /// dropped as soon as scheme, host or port change. What authorisers and the cookie jar add is not concerned: they
    /// look at each hop anew.
    public var credentialOrigins: Set<Origin> = []

    /// Makes the default policy.
    public init() {}
}
