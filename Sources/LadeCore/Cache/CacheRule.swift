extension Response {
    /// The rule that decided what a cache does, for events, `Cache-Status` and explanations.
    public enum CacheRule: String, Sendable, Hashable, CaseIterable {
        // Served.
        /// Served while fresh.
        case fresh
        /// Served fresh although the request asks for validation, because the response does not change.
        case immutable
        /// Served stale because the request accepts it.
        case maxStale = "max-stale"
        /// Served stale while it is validated in the background.
        case whileRevalidate = "while-revalidate"
        /// Served stale because the server failed.
        case ifError = "if-error"
        /// Served stale because the mode prefers stored responses.
        case preferStored = "prefer-stored"
        /// Served stale because the mode uses only stored responses.
        case storedOnly = "stored-only"

        // Asked.
        /// Nothing is stored for the address.
        case uriMiss = "uri-miss"
        /// Only responses to other values of the varying fields are stored.
        case variantMiss = "variant-miss"
        /// The stored response is stale.
        case stale
        /// The response must be validated before each use.
        case noCache = "no-cache"
        /// The response is stale and must not be used so.
        case mustRevalidate = "must-revalidate"
        /// The request asks for validation.
        case requestNoCache = "request-no-cache"
        /// The response is older than the request accepts.
        case requestMaxAge = "request-max-age"
        /// The response does not stay fresh as long as the request asks.
        case minFresh = "min-fresh"
        /// The response was invalidated.
        case invalidated
        /// The age is unknown, because the clock was set back.
        case clock
        /// Only a part of the body is stored.
        case incomplete
        /// The response varies on a field that was added below the cache.
        case unseenField = "unseen-field"

        // Passed by.
        /// The scheme is not one of HTTP's.
        case scheme
        /// The method is not cached.
        case method
        /// The request must not be stored.
        case requestNoStore = "request-no-store"
        /// The mode bypasses the cache.
        case bypass
        /// The request has a condition of its own.
        case ownCondition = "own-condition"
        /// The request's range cannot be served from here.
        case range
        /// The request's body can be read only once.
        case oneShotBody = "one-shot-body"

        // Stored, or not.
        /// Nothing forbids storing.
        case storable
        /// A part of the body is stored.
        case part
        /// The response must not be stored.
        case noStore = "no-store"
        /// The status is stored only with a lifetime, `public` or `private`, or never.
        case status
        /// Nothing could use the stored response.
        case useless
        /// No later request can be known to match.
        case varyStar = "vary-star"
        /// The response may be stored only where its status is understood.
        case notUnderstood = "not-understood"
        /// The body is too large.
        case tooLarge = "too-large"
        /// The head is too large.
        case headTooLarge = "head-too-large"
        /// The body was not received whole.
        case brokenOff = "broken-off"
        /// The body does not match its digest.
        case digest
        /// The request, or the app's hook, forbids storing.
        case hook
        /// The address was invalidated during the exchange.
        case raced
        /// The exchange must not be shared between accounts.
        case sharedScope = "shared-scope"
        /// The response is from a host of its own that stands in for the requested host.
        case otherHost = "other-host"
        /// The request was sent with credentials that the cache did not know of.
        case otherCredentials = "other-credentials"

        // After the server was asked.
        /// The server confirmed the stored response.
        case notModified = "not-modified"
        /// The server confirmed a response that is not stored.
        case unknownValidator = "unknown-validator"
        /// The server sent another response.
        case replaced
        /// The response says nothing about the stored response.
        case kept
        /// The request may have changed the resource on the server.
        case unsafeMethod = "unsafe-method"
    }
}
