package import LadeCore

/// The lines of `Cookie` that a request is sent with.
package enum SentCookies: Sendable {
    /// These.
    case known([[UInt8]])
    /// Those of the jar, at the moment when they are asked for.
    case current(@Sendable () -> [[UInt8]])

    /// The lines.
    package func callAsFunction() -> [[UInt8]] {
        switch self {
        case .known(let lines): lines
        case .current(let lines): lines()
        }
    }
}

/// The statements of a request's fields about caching, parsed once.
///
/// It is a class, and most requests share one instance because they state nothing.
private final class RequestReading: Sendable {
    let names: FieldNames
    let directives: CacheControl
    let isNoCache: Bool
    let range: RangeRequest

    private static let none = RequestReading([:], .get, [])

    private init(_ headers: Headers, _ method: Request.Method, _ names: FieldNames) {
        self.names = names
        let hasDirectives = names.contains(.cacheControl)
        directives = hasDirectives ? CacheControl(headers.all("Cache-Control")) : CacheControl()
        isNoCache =
            directives.noCache != nil
            || !hasDirectives && names.contains(.pragma) && CacheControl(headers.all("Pragma")).noCache != nil
        range = method == .get && names.contains(.range) ? RangeRequest(headers) : .none
    }

    static func of(_ headers: Headers, _ method: Request.Method) -> RequestReading {
        let names = FieldNames(headers)
        return names.isEmpty ? none : RequestReading(headers, method, names)
    }
}

/// A request as the cache sees it.
package struct CacheQuery: Sendable {
    /// The method.
    package var method: Request.Method
    /// The key by which stored responses are looked up; nil for a scheme that is not HTTP's.
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
    package var cookies: SentCookies?
    /// The statements of the request's fields about caching.
    private let reading: RequestReading

    /// Makes a query.
    package init(
        _ method: Request.Method = .get,
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
        reading = RequestReading.of(headers, method)
    }

    /// The directives of the request.
    package var directives: CacheControl { reading.directives }
    /// Whether the request asks for validation.
    package var isNoCache: Bool { reading.isNoCache }
    /// The range asked for.
    package var range: RangeRequest { reading.range }
    /// Whether the request has a condition of its own.
    package var hasOwnCondition: Bool { reading.names.contains(.condition) }
    /// The fields of meaning that the request has.
    package var names: FieldNames { reading.names }

    /// Whether the method is a question whose responses are looked up.
    package var isLookedUp: Bool {
        method == .get || method == .head || method.rawValue == "QUERY" || method == .post && hasCustomKey
    }

    /// Whether the method changes nothing on the server.
    package var isSafe: Bool { method.isSafe || isLookedUp }

    /// Whether the server must not be asked.
    package var isStoredOnly: Bool { mode == .storedOnly || directives.onlyIfCached }
}
