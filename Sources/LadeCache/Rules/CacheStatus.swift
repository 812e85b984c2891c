package import LadeCore

/// How a cache handled a request, as the member of `Cache-Status` that it adds (RFC 9211).
package struct CacheStatus: Sendable, Hashable {
    /// The rule that decided.
    package var rule: Response.CacheRule
    /// Whether the response is from the store, and the server was not asked.
    package var isHit: Bool
    /// The status of the server's response, where it differs from the status of the served response.
    package var forwardStatus: Response.Status?
    /// Whether the server's response was stored.
    package var isStored = false
    /// Why the server's response was not stored, where that is known.
    package var refusal: Response.CacheRule?
    /// Whether the request shared the exchange of another one.
    package var isCollapsed = false
    /// The rest of the lifetime; negative for a stale response.
    package var freshness: ResponseCache.Freshness?

    /// Makes a member.
    package init(_ rule: Response.CacheRule, isHit: Bool, _ freshness: ResponseCache.Freshness? = nil) {
        self.rule = rule
        self.isHit = isHit
        self.freshness = freshness
    }

    /// The member.
    package var text: String {
        var parts = ["Lade", isHit ? "hit" : "fwd=\(Self.forwarding(rule))"]
        if !isHit, let forwardStatus { parts.append("fwd-status=\(forwardStatus.code)") }
        if let freshness { parts.append("ttl=\(Self.seconds(.zero - freshness.staleness))") }
        if isStored { parts.append("stored") }
        if isCollapsed { parts.append("collapsed") }
        parts.append("detail=\((refusal ?? rule).rawValue)")
        return parts.joined(separator: "; ")
    }

    /// The fields of a response with the member after those of the server.
    package func adding(to headers: Headers) -> Headers {
        var headers = headers
        headers.add("Cache-Status", text)
        return headers
    }

    /// Whole seconds, rounded down.
    private static func seconds(_ duration: Duration) -> Int64 {
        let (seconds, rest) = duration.components
        return rest < 0 ? seconds - 1 : seconds
    }

    /// The reasons of RFC 9211 §2.2.
    private static func forwarding(_ rule: Response.CacheRule) -> String {
        switch rule {
        case .uriMiss: "uri-miss"
        case .variantMiss: "vary-miss"
        case .method: "method"
        case .bypass, .scheme: "bypass"
        case .incomplete: "partial"
        case .requestNoCache, .requestMaxAge, .minFresh, .requestNoStore, .ownCondition, .range, .oneShotBody: "request"
        default: "stale"
        }
    }
}
