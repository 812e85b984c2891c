extension Response.CacheRule {
    /// Where the rule is defined.
    public var section: String { row.section }

    /// One sentence that says what decided.
    public var sentence: String { row.sentence }

    // A flat table, one row for each rule.
    private var row: (section: String, sentence: String) {
        switch self {
        case .fresh: ("RFC 9111 §4.2", "The stored response is fresh.")
        case .immutable: ("RFC 8246 §2", "The stored response is fresh, and the server says that it does not change.")
        case .maxStale: ("RFC 9111 §5.2.1.2", "The request accepts a response that has been stale for this long.")
        case .whileRevalidate:
            ("RFC 5861 §3", "The stored response may be used for a time while it is validated in the background.")
        case .ifError: ("RFC 5861 §4", "The server failed, and the stored response may be used in its place.")
        case .preferStored: ("RFC 9111 §4.2.4", "The cache mode prefers a stored response of any age.")
        case .storedOnly: ("RFC 9111 §4.2.4", "The cache mode uses only a stored response of any age.")
        case .uriMiss: ("RFC 9111 §4", "No response is stored for the address.")
        case .variantMiss:
            ("RFC 9111 §4.1", "The stored responses belong to other values of the fields that Vary names.")
        case .stale: ("RFC 9111 §4.2", "The stored response is stale.")
        case .noCache: ("RFC 9111 §5.2.2.4", "The stored response must be validated before each use.")
        case .mustRevalidate:
            ("RFC 9111 §5.2.2.2", "The stored response is stale and must not be used before validation.")
        case .requestNoCache: ("RFC 9111 §5.2.1.4", "The request asks for validation.")
        case .requestMaxAge: ("RFC 9111 §5.2.1.1", "The stored response is older than the request accepts.")
        case .minFresh:
            ("RFC 9111 §5.2.1.3", "The stored response does not stay fresh for as long as the request asks.")
        case .invalidated: ("RFC 9111 §4.4", "The stored response was invalidated and must be validated before use.")
        case .clock: ("RFC 9111 §4.2.3", "The clock was set back, so the age of the stored response is unknown.")
        case .incomplete: ("RFC 9111 §3.3", "Only a part of the body is stored.")
        case .unseenField:
            ("RFC 9111 §4.1", "The stored response varies on a field that is added to requests after the cache.")
        case .scheme: ("RFC 9110 §4.2", "Only http and https are cached.")
        case .method: ("RFC 9110 §9.2.3", "Responses to this method are not cached.")
        case .requestNoStore: ("RFC 9111 §5.2.1.5", "The request says no-store.")
        case .bypass: ("RFC 9111 §5.2.1", "The cache mode bypasses the cache.")
        case .ownCondition: ("RFC 9110 §13.1", "The request has a condition of its own.")
        case .range: ("RFC 9110 §14.2", "The range cannot be served from what is stored.")
        case .oneShotBody: ("RFC 9111 §4", "The body of the request is not in memory, or can be read only once.")
        case .storable: ("RFC 9111 §3", "The response may be stored.")
        case .part: ("RFC 9111 §3.3", "A part of the body may be stored.")
        case .noStore: ("RFC 9111 §5.2.2.5", "The response says no-store.")
        case .status:
            ("RFC 9111 §3", "A response with this status is stored only with a lifetime, public or private, or never.")
        case .useless: ("RFC 9111 §3", "The response is not fresh and has no validator, so nothing could use it.")
        case .varyStar: ("RFC 9111 §4.1", "Vary is *, or cannot be read, so no request can be known to match.")
        case .notUnderstood: ("RFC 9111 §5.2.2.3", "The response is stored only by caches that know its status.")
        case .tooLarge: ("RFC 9111 §3", "The body is larger than the largest that is stored.")
        case .headTooLarge: ("RFC 9111 §3", "The head is larger than the largest that is stored.")
        case .brokenOff: ("RFC 9111 §3.3", "The body was not received whole.")
        case .digest: ("RFC 9530 §2", "The body does not match the digest in the head.")
        case .hook: ("RFC 9111 §3", "The request or the app forbids storing the response.")
        case .raced: ("RFC 9111 §4.4", "The address was invalidated while the response was on its way.")
        case .sharedScope:
            ("RFC 9111 §3.5", "The exchange has credentials or cookies, and other accounts would see it.")
        case .otherHost: ("RFC 9111 §2", "The response is from another host than the one that was asked.")
        case .otherCredentials:
            ("RFC 9111 §3.5", "Credentials were added after the cache, and the account has no identifier of its own.")
        case .notModified: ("RFC 9111 §4.3.4", "The server confirmed the stored response.")
        case .unknownValidator: ("RFC 9111 §4.3.4", "The server confirmed a response that is not the one stored.")
        case .replaced: ("RFC 9111 §4.3.3", "The server sent another response.")
        case .kept: ("RFC 9111 §4.3.3", "The response says nothing about what is stored.")
        case .unsafeMethod: ("RFC 9111 §4.4", "The request may have changed what the server has.")
        }
    }
}
