/// The directives by which a message controls caching: `Cache-Control` (RFC 9111 §5.2, RFC 5861, RFC 8246).
///
/// One type serves requests and responses: the names do not clash, and each side ignores the directives of the other.
/// Durations are whole seconds from 0 to 2³¹; a larger number counts as 2³¹ (RFC 9111 §1.2.2).
package struct CacheControl: Sendable, Hashable {
    /// The fields that a `no-cache` or `private` directive applies to.
    package enum Scope: Sendable, Hashable {
        /// The whole response.
        case everything
        /// Only these fields of the response, names in lower case.
        case fields([String])
    }

    /// How stale a response may be for a request to accept it.
    package enum Staleness: Sendable, Hashable {
        /// However stale.
        case any
        /// Stale for at most this long.
        case upTo(Duration)
    }

    /// A directive that this type does not know; caches ignore it (RFC 9111 §5.2.3).
    package struct ExtensionDirective: Sendable, Hashable {
        /// The name in lower case.
        package let name: String
        /// The argument without quotes; `nil` if there is none.
        package let argument: String?

        /// Makes a directive that can be written.
        ///
        /// - Throws: `Headers.FieldError` if the name is not a token, or is one that `CacheControl` has a property for. The
        ///   same holds for an argument with a control character other than the tab.
        package init(name: String, argument: String? = nil) throws(Headers.FieldError) {
            guard name.isToken, !CacheControl.isKnown(name.asciiLowercased) else {
                throw Headers.FieldError(
                    field: "Cache-Control",
                    reason: .notWritable("the name of the directive"),
                    offset: 0
                )
            }
            guard argument?.isQuotable ?? true else {
                throw Headers.FieldError(field: "Cache-Control", reason: .notWritable("a control character"), offset: 0)
            }
            self.init(checkedName: name.asciiLowercased, argument: argument)
        }

        init(checkedName name: String, argument: String?) {
            self.name = name
            self.argument = argument
        }
    }

    /// `max-age`: how long a response is fresh (§5.2.2.1), or the greatest age that a request accepts (§5.2.1.1).
    package var maxAge: Duration?
    /// `s-maxage`: like `maxAge`, for shared caches (§5.2.2.10).
    package var sharedMaxAge: Duration?
    /// `max-stale` of a request (§5.2.1.2).
    package var maxStale: Staleness?
    /// `min-fresh` of a request: how long the response must stay fresh (§5.2.1.3).
    package var minFresh: Duration?
    /// `no-cache`: must not be used without validating it with the origin (§5.2.1.4, §5.2.2.4).
    package var noCache: Scope?
    /// `private`: not for shared caches (§5.2.2.7).
    package var privateScope: Scope?
    /// `no-store`: must not be stored (§5.2.1.5, §5.2.2.5).
    package var noStore = false
    /// `no-transform`: the content must not be changed (§5.2.1.6, §5.2.2.6).
    package var noTransform = false
    /// `only-if-cached` of a request (§5.2.1.7).
    package var onlyIfCached = false
    /// `must-revalidate`: must not be used when stale (§5.2.2.2).
    package var mustRevalidate = false
    /// `proxy-revalidate`: must not be used by shared caches when stale (§5.2.2.8).
    package var proxyRevalidate = false
    /// `must-understand`: may be stored only by caches that know the status code (§5.2.2.3).
    package var mustUnderstand = false
    /// `public`: may be stored where it otherwise might not (§5.2.2.9).
    package var isPublic = false
    /// `immutable`: will not change while fresh (RFC 8246).
    package var isImmutable = false
    /// `stale-while-revalidate`: may be used for this long after it went stale, while it is renewed (RFC 5861 §3).
    package var staleWhileRevalidate: Duration?
    /// `stale-if-error`: may be used for this long after it went stale, if the origin fails (RFC 5861 §4).
    package var staleIfError: Duration?
    /// Unknown directives in the order they were written.
    package var extensions: [ExtensionDirective] = []

    /// Makes a field without any directive.
    package init() {}

    /// Whether there is no directive, in which case the field is not sent.
    package var isEmpty: Bool { self == CacheControl() }
}
