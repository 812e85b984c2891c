#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// Where a cache keeps responses: heads, which are found by key, and bodies.
///
/// Any error is a miss or a dropped write for the cache, and never fails a call. The body of an entry never changes: a
/// replacement is another entry. Only heads are updated, compared by their version.
public protocol CacheStore: Sendable {
    /// The key of the digests that stand for credentials; random, and as durable as the entries.
    var digestKey: [UInt8] { get }
    /// The largest body that is stored, in bytes.
    var bodyLimit: Int64 { get }

    /// How many entries and bytes were evicted so far by this process; nothing by default.
    var evictions: CacheRemoval { get }

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
    func invalidate(_ selection: CacheSelection) async throws(CacheError) -> Int

    /// Removes entries, and drops those that are being written.
    func remove(_ selection: CacheSelection) async throws(CacheError) -> CacheRemoval

    /// The entries of a selection at one moment.
    func entries(_ selection: CacheSelection) async throws(CacheError) -> [CacheEntry]

    /// The bytes that all entries take.
    func size() async throws(CacheError) -> Int64

    /// Waits until everything that was committed is as durable as it will be.
    func flush() async throws(CacheError)

    /// Keeps the rule by which the latest response for a key was not stored, until one is; nothing by default.
    ///
    /// Explanations show it, as long as the store knows it.
    func note(_ refusal: CacheRule, for key: CacheKey)

    /// Reserves the exchange for a key, so that processes that share the store do not send equal requests at the same time.
    ///
    /// The reservations of a process end when it ends in any way.
    ///
    /// - Returns: Whether the caller may send the request; it then calls ``endExchange(for:)`` afterwards. Always true by
    ///   default.
    func reserveExchange(for key: CacheKey) -> Bool

    /// Ends a reservation as soon as other processes find what was committed for the key; does nothing by default.
    func endExchange(for key: CacheKey)

    /// Ends writers, which are aborted; every later use throws ``CacheError/Reason/closed``.
    func close() async
}

extension CacheStore {
    /// Nothing.
    public var evictions: CacheRemoval { CacheRemoval() }

    /// Nothing.
    public func note(_ refusal: CacheRule, for key: CacheKey) {}

    /// True: no other process uses the store.
    public func reserveExchange(for key: CacheKey) -> Bool { true }

    /// Nothing.
    public func endExchange(for key: CacheKey) {}
}

/// The heads of all variants of a key.
public struct CacheLookup: Sendable {
    /// The heads.
    public var heads: [StoredHead]
    /// The number of the latest removal or invalidation, which an exchange that begins now must know when it is stored.
    public var ticket: UInt64
    /// Why the latest response was not stored, where the store knows it; see ``CacheStore/note(_:for:)``.
    public var refusal: CacheRule?
    /// The body of one of the entries, where finding it cost nothing more.
    package var opened: OpenedBody?

    /// Nothing.
    package static let none = CacheLookup(heads: [], ticket: 0)

    /// Makes a result.
    public init(heads: [StoredHead], ticket: UInt64, refusal: CacheRule? = nil) {
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
public struct CacheWrite: Sendable {
    /// The key by which the entry is looked up.
    public var key: CacheKey
    /// The head, as far as it is known.
    public var head: StoredHead
    /// The ticket of the lookup before the exchange.
    public var ticket: UInt64
    /// Where the written bytes begin in the body.
    public var offset: Int64 = 0
    /// The entries that this one takes the place of.
    public var replaced: [UInt64] = []
    /// The entry whose bytes this one continues or completes, and its version.
    public var joined: (id: UInt64, version: UInt64)?
    /// Whether nothing was stored under the key at the lookup.
    package var isFirst = false

    /// Makes a write.
    public init(_ key: CacheKey, _ head: StoredHead, ticket: UInt64) {
        self.key = key
        self.head = head
        self.ticket = ticket
    }
}

/// Writes the body of one entry.
public protocol CacheWriter: AnyObject, Sendable {
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
public protocol CacheReader: AnyObject, Sendable {
    /// All bytes, where they are in memory.
    var bytes: Data? { get }

    /// The next bytes, never empty; nil after the last.
    ///
    /// - Throws: ``CacheError/Reason/signedOut`` when the account of the entry has signed out.
    func next() async throws(CacheError) -> Data?
}

/// How much was removed.
public struct CacheRemoval: Sendable, Hashable {
    /// How many entries.
    public var entries = 0
    /// The bytes they took.
    public var bytes: Int64 = 0

    /// Makes an empty removal.
    public init() {}
}

/// One entry in a listing.
public struct CacheEntry: Sendable {
    /// The key by which it is looked up.
    public var key: CacheKey
    /// Its head.
    public var head: StoredHead
    /// The bytes it takes.
    public var bytes: Int64

    /// Makes an entry.
    public init(key: CacheKey, head: StoredHead, bytes: Int64) {
        self.key = key
        self.head = head
        self.bytes = bytes
    }
}
