public import LadeCore

/// The way in which a request is handled.
package enum CacheDecision: Sendable, Hashable {
    /// Respond from the store.
    case serve(Serving)
    /// Respond from the store, and ask the server in the background.
    case serveAndRevalidate(Serving, CacheCondition)
    /// Ask the server whether one of these responses is current.
    case validate(CacheCondition)
    /// Ask the server for the rest of a body.
    case complete(id: UInt64, from: Int64, ifRange: EntityTag)
    /// Ask the server as if nothing were stored.
    case fetch
    /// Fail: the request must not reach the server.
    case unsatisfiable(ResponseCache.NotStoredReason)
    /// Leave the request to the server.
    case passBy
}

/// The stored response that is served.
package struct Serving: Sendable, Hashable {
    /// The stored response.
    package let id: UInt64
    /// Its version.
    package let version: UInt64
    /// The bytes of its body; nil for all.
    package let span: Range<Int64>?
}

extension ResponseCache {
    /// Why there is no response for a request that must not reach the server.
    public enum NotStoredReason: Sendable, Hashable {
        /// Nothing is stored for the address.
        case nothing
        /// Only responses to other values of the varying fields are stored.
        case otherVariant
        /// The stored response has been stale for too long.
        case stale(by: Duration)
        /// The stored response must be validated.
        case mustBeValidated(Response.CacheRule)
        /// Only a part of the body is stored.
        case incomplete
        /// The request is one that the cache does not serve.
        case notServed(Response.CacheRule)
    }
}
