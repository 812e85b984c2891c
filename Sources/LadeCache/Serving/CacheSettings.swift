#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

extension ResponseCache {
    /// The responses that a service caches, and where (RFC 9111, as a private cache).
    ///
    /// ```swift
    /// var settings = Service.Settings()
    /// settings.cache = ResponseCache.Settings()
    /// let service = try Service(settings)
    /// ```
    ///
    /// Responses of one account are never served to another one, unless a request says so; see
    /// `Request.CacheOptions.isShared`.
    public struct Settings: Sendable {
        /// Where responses are stored.
        ///
        /// Copies of these settings share the store. Services that share one, and have the same ``name``, share the responses
        /// of accounts with the same identifier.
        package var store: any CacheStore
        /// Keeps the responses of one app apart from those of others in the same store; empty by default.
        public var name = ""
        /// The rules that decide which responses are stored, and how long they are fresh.
        public var rules = ResponseCache.Rules()
        /// The mode of requests whose own mode is `standard`; `standard` by default.
        public var defaultMode = Request.CacheMode.standard
        /// Whether equal requests at the same time share one exchange; true by default.
        public var coalescesRequests = true
        /// How long a call waits for the exchange of an equal one before it sends its own request; 10 s by default.
        ///
        /// The exchange may wait for its next attempt, or for a delay that the server has requested. A call whose deadline is
        /// before the end of that wait fails immediately.
        public var patience = Duration.seconds(10)
        /// Whether responses say in `Cache-Status` what the cache did (RFC 9211); false by default.
        public var addsStatusField = false
        /// Changes addresses before they are compared, for example to ignore a query item; nil leaves them unchanged.
        ///
        /// The request is sent to its own address. The closure is called in the task of each call, and must be fast.
        public var mapAddress: (@Sendable (URL) -> URL)?
        /// Decides which responses may be stored, beside all rules; nil for all.
        ///
        /// It receives the request at the cache, and status and fields of the response.
        public var shouldStore: (@Sendable (Request, Response.Status, Headers) -> Bool)?

        /// Makes the default settings for a store in memory.
        ///
        /// The library `LadeCacheSQLite` adds an initialiser for its store in a folder.
        public init(store: ResponseCache.MemoryStore) {
            self.init(store: store as any CacheStore)
        }

        /// Makes the default settings for a store.
        package init(store: any CacheStore) {
            self.store = store
        }

        /// Makes the default settings, with a new ``ResponseCache/MemoryStore`` of 32 MiB.
        public init() {
            do throws(CacheError) {
                self.init(store: try ResponseCache.MemoryStore())
            } catch {
                preconditionFailure("the default limit was refused: \(error)")
            }
        }
    }
}
