package import LadeCore

/// A request as the cache sees it.
package struct CacheQuery: Sendable {
    /// The method.
    package var method: HTTPMethod
    /// What stored responses are looked up by; nil for a scheme that is not HTTP's.
    package var key: CacheKey?
    /// The fields of the request at the cache.
    package let headers: Headers
    /// The mode.
    package var mode: Request.CacheMode
    /// The present.
    package var now: Moment
    /// Whether the body can be read twice, or there is none.
    package var isReplayable = true
    /// Whether the caller states a key, which makes POST a question.
    package var hasCustomKey = false
    /// Whether the response may be stored.
    package var storesResponse = true
    /// The tags of the request.
    package var tags: Set<String> = []
    /// Whether the response keeps the coding in which it is sent.
    package var isRaw = false
    /// The fields that the layers below the cache may set.
    package var below = FieldsBelow()
    /// The lines of `Cookie` that the request is sent with; nil for its own.
    package var cookies: (@Sendable () -> [[UInt8]])?
    /// The directives of the request.
    package let directives: CacheControl
    /// Whether the request asks for validation.
    package let isNoCache: Bool
    /// The range asked for.
    package let range: RangeRequest
    /// Whether the request has a condition of its own.
    package let hasOwnCondition: Bool

    /// Makes a query.
    package init(
        _ method: HTTPMethod = .get,
        key: CacheKey?,
        headers: Headers = Headers(),
        mode: Request.CacheMode = .standard,
        now: Moment
    ) {
        self.method = method
        self.key = key
        self.headers = headers
        self.mode = mode
        self.now = now
        let hasDirectives = headers.contains("Cache-Control")
        directives = hasDirectives ? CacheControl(headers.all("Cache-Control")) : CacheControl()
        isNoCache =
            directives.noCache != nil
            || !hasDirectives && headers.contains("Pragma") && CacheControl(headers.all("Pragma")).noCache != nil
        range = method == .get ? RangeRequest(headers) : .none
        hasOwnCondition = Self.conditions.contains(where: headers.contains)
    }

    private static let conditions = [
        "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range",
    ]

    /// Whether the method is a question whose responses are looked up.
    package var isLookedUp: Bool {
        method == .get || method == .head || method.rawValue == "QUERY" || method == .post && hasCustomKey
    }

    /// Whether the method changes nothing on the server.
    package var isSafe: Bool { method.isSafe || isLookedUp }

    /// Whether the server must not be asked.
    package var isStoredOnly: Bool { mode == .storedOnly || directives.onlyIfCached }
}
