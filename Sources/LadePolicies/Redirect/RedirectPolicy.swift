#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// How redirects are followed.
public struct RedirectPolicy: Sendable {
    /// How many redirects a call follows, 10 by default.
    ///
    /// `Request.redirectLimit` overrides it; 0 follows none and returns the 3xx response.
    public var limit = 10
    /// Whether a redirect may lead from https to http; false by default.
    public var allowsInsecure = false
    /// Origins that a request goes to whole from any other, with its own credentials, fields and body; none by default.
    ///
    /// To all other origins go only the fields that describe the request (`Request.moved(to:trusting:)`), and
    /// no body unless ``sendsBodyToOtherOrigins`` says so. Credentials that authorisers and the cookie jar add are not
    /// affected: those check each hop.
    public var credentialOrigins: Set<Origin> = []
    /// Whether a redirect that keeps the body may lead to another origin; false by default.
    ///
    /// 307 and 308 keep the body; other statuses keep it unless the method is POST.
    ///
    /// From http to https on the default ports of one host the body follows all the same. It was sent in clear already,
    /// to the same host. Servers of this kind are common (`return 308 https://$host$request_uri`).
    ///
    /// Any other such call fails with `LoadingError.RedirectCause.bodyToOtherOrigin(url:)`: it is never sent without its body.
    public var sendsBodyToOtherOrigins = false
    /// Whether every origin counts as one of ``credentialOrigins``, as with curl's `--location-trusted`.
    package var trustsAllOrigins = false
    /// The statuses whose redirects of a POST keep method and body, as with curl's `--post301`; none by default.
    package var keepsPost: Response.StatusSet = []
    /// Whether every method counts as POST where a redirect turns POST into GET, as with curl's `--follow` and a body.
    package var countsAsPost = false
    /// Whether an address may be requested again with nothing changed, up to the limit; false by default, for it is a loop.
    package var followsLoops = false
    /// Whether a redirected request names the address that it comes from in `Referer`; false by default.
    package var setsReferer = false

    /// Makes the default policy.
    public init() {}

    /// Whether the body of a request may go from one address to another.
    func mayReceiveBody(_ target: URL, from url: URL) -> Bool {
        guard !sendsBodyToOtherOrigins, !trustsAllOrigins, let origin = Origin(target) else { return true }
        guard let asked = Origin(url) else { return false }
        return origin == asked || origin.isSecured(asked) || credentialOrigins.contains(origin)
    }
}
