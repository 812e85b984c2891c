#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
public import LadeCore

/// Where a cache keeps responses: heads, which are found by key, and bodies.
///
/// Any error is a miss or a dropped write for the cache, and never fails a call. The body of an entry never changes: a
/// replacement is another entry. Only heads are updated, compared by their version.
package protocol CacheStore: Sendable {
    /// The key of the digests that stand for credentials; random, and as durable as the entries.
    var digestKey: [UInt8] { get }
    /// The largest body that is stored, in bytes.
    var bodyLimit: Int64 { get }

    /// How many entries and bytes were evicted so far by this process; nothing by default.
    var evictions: ResponseCache.Removal { get }

    /// Finds the heads of all variants of a key.
    func lookUp(_ key: CacheKey) async throws(CacheError) -> CacheLookup

    /// Opens the body of an entry.
    ///
    /// - Parameters:
    ///   - id: The entry.
    ///   - span: The bytes to read; nil for the whole body.
    /// - Returns: A reader, which reads the body to its end even if the entry is replaced or removed meanwhile. Nil when the
    ///   entry does not exist, or lacks some of these bytes.
    /// - Throws: Why the store cannot be read.
    func open(_ id: UInt64, span: Range<Int64>?) async throws(CacheError) -> (any CacheReader)?

    /// Begins an entry, which is visible once it is committed, whole or not at all.
    ///
    /// - Returns: A writer; nil when the store refuses the entry.
    func begin(_ write: CacheWrite) async throws(CacheError) -> (any CacheWriter)?

    /// Replaces the head of an entry, if its version is still the one of the new head; the store counts the version up.
    ///
    /// - Returns: Whether the head was replaced.
    func update(_ head: StoredHead) async throws(CacheError) -> Bool

    /// Adds a variant with the body of another entry of the same key.
    ///
    /// - Returns: Whether the entry still had the version, so that the variant was added.
    func add(_ head: StoredHead, sharingBodyOf id: UInt64, version: UInt64) async throws(CacheError) -> Bool

    /// Marks entries, so that they are validated before the next use; also those that are being written.
    ///
    /// - Returns: How many entries were marked.
    func invalidate(_ selection: ResponseCache.Selection) async throws(CacheError) -> Int

    /// Removes entries, and drops those that are being written.
    func remove(_ selection: ResponseCache.Selection) async throws(CacheError) -> ResponseCache.Removal

    /// The entries of a selection at one moment.
    func entries(_ selection: ResponseCache.Selection) async throws(CacheError) -> [ResponseCache.Entry]

    /// The bytes that all entries take.
    func size() async throws(CacheError) -> Int64

    /// Waits until everything that was committed is as durable as it will be.
    func flush() async throws(CacheError)

    /// Keeps the rule by which the latest response for a key was not stored, until one is; nothing by default.
    ///
    /// Explanations show it, as long as the store knows it.
    func note(_ refusal: Response.CacheRule, for key: CacheKey)

    /// Reserves the exchange for a key, so that processes that share the store do not send equal requests at the same time.
    ///
    /// The reservations of a process end when it ends in any way.
    ///
    /// - Returns: Whether the caller may send the request; it then calls ``endExchange(for:)`` afterwards. Always true by
    ///   default.
    func reserveExchange(for key: CacheKey) -> Bool

    /// Ends a reservation as soon as other processes find the entry that was committed for the key; does nothing by default.
    func endExchange(for key: CacheKey)

    /// Ends writers, which are aborted; every later use throws ``CacheError/Reason/closed``.
    func close() async
}

extension CacheStore {
    /// Nothing.
    package var evictions: ResponseCache.Removal { ResponseCache.Removal() }

    /// Nothing.
    package func note(_ refusal: Response.CacheRule, for key: CacheKey) {}

    /// True: no other process uses the store.
    package func reserveExchange(for key: CacheKey) -> Bool { true }

    /// Nothing.
    package func endExchange(for key: CacheKey) {}
}

/// The heads of all variants of a key.
package struct CacheLookup: Sendable {
    /// The heads.
    package var heads: [StoredHead]
    /// The number of the latest removal or invalidation, which an exchange that begins now must know when it is stored.
    package var ticket: UInt64
    /// Why the latest response was not stored, where the store knows it; see ``CacheStore/note(_:for:)``.
    package var refusal: Response.CacheRule?
    /// The body of one of the entries, where finding it cost nothing more.
    package var opened: OpenedBody?

    /// Nothing.
    package static let none = CacheLookup(heads: [], ticket: 0)

    /// Makes a result.
    package init(heads: [StoredHead], ticket: UInt64, refusal: Response.CacheRule? = nil) {
        self.heads = heads
        self.ticket = ticket
        self.refusal = refusal
    }
}

/// A whole body that a lookup opened with its head.
package struct OpenedBody: Sendable {
    /// The entry.
    package let id: UInt64
    /// Reads the body, and notes the use; nil where it is damaged.
    package let use: @Sendable () -> (any CacheReader)?

    /// Makes the body of an entry.
    package init(_ id: UInt64, use: @escaping @Sendable () -> (any CacheReader)?) {
        (self.id, self.use) = (id, use)
    }
}

/// The data that is going to be stored.
package struct CacheWrite: Sendable {
    /// The key by which the entry is looked up.
    package var key: CacheKey
    /// The head, as far as it is known.
    package var head: StoredHead
    /// The ticket of the lookup before the exchange.
    package var ticket: UInt64
    /// Where the written bytes begin in the body.
    package var offset: Int64 = 0
    /// The entries that this one takes the place of.
    package var replaced: [UInt64] = []
    /// The entry whose bytes this one continues or completes, and its version.
    package var joined: (id: UInt64, version: UInt64)?
    /// Whether nothing was stored under the key at the lookup.
    package var isFirst = false

    /// Makes a write.
    package init(_ key: CacheKey, _ head: StoredHead, ticket: UInt64) {
        self.key = key
        self.head = head
        self.ticket = ticket
    }
}

/// Writes the body of one entry.
package protocol CacheWriter: AnyObject, Sendable {
    /// Appends bytes.
    ///
    /// - Throws: ``CacheError/Reason/tooLarge`` above the store's limit, after which nothing is stored.
    func append(_ bytes: Data) async throws(CacheError)

    /// Makes the entry visible.
    ///
    /// - Parameter head: The head with its final extent and trailers.
    /// - Returns: The number of the entry; nil when it was dropped, because it was removed meanwhile or a later
    ///   exchange is stored.
    /// - Throws: Why the store cannot be written.
    func commit(_ head: StoredHead) async throws(CacheError) -> UInt64?

    /// Drops what was written.
    func abort() async
}

/// Reads the body of one entry.
package protocol CacheReader: AnyObject, Sendable {
    /// All bytes, where they are in memory.
    var bytes: Data? { get }

    /// The next bytes, never empty; nil after the last.
    ///
    /// - Throws: ``CacheError/Reason/signedOut`` when the account of the entry has signed out.
    func next() async throws(CacheError) -> Data?
}

extension ResponseCache {
    /// How much was removed.
    public struct Removal: Sendable, Hashable {
        /// How many entries.
        public var entries = 0
        /// The bytes they took.
        public var bytes: Int64 = 0

        /// Makes an empty removal.
        public init() {}
    }
}

extension ResponseCache {
    /// One entry in a listing.
    public struct Entry: Sendable {
        /// The key by which it is looked up.
        package var key: CacheKey
        /// Its head.
        package var head: StoredHead
        /// The bytes it takes.
        public var bytes: Int64

        /// Makes an entry.
        package init(key: CacheKey, head: StoredHead, bytes: Int64) {
            self.key = key
            self.head = head
            self.bytes = bytes
        }

        /// The address, without secrets.
        public var address: String { key.description }

        /// The status of the response.
        public var status: Response.Status { head.status }

        /// The fields of the response, without those that belong to the connection.
        public var headers: Headers { head.headers }
    }
}
