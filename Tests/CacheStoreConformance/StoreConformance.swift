#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import LadeCache
package import LadeCore
import Testing

/// The suite that every store passes, one case for a fact.
///
/// It knows nothing about a store but the protocol. A store's own tests run all cases with a closure that makes an empty
/// store with a limit.
package struct StoreCase: Sendable, CustomTestStringConvertible {
    /// Makes an empty store with a limit in bytes.
    package typealias Maker = @Sendable (_ limit: Int) async throws -> any CacheStore

    package let sentence: String
    package let run: @Sendable (StoreFixture) async throws -> Void

    package init(_ sentence: String, _ run: @escaping @Sendable (StoreFixture) async throws -> Void) {
        self.sentence = sentence
        self.run = run
    }

    package var testDescription: String { sentence }
}

/// A store under test, and shorthands for using it.
package struct StoreFixture: Sendable {
    package let make: StoreCase.Maker
    package let samples = RuleSamples()

    package init(_ make: @escaping StoreCase.Maker) { self.make = make }

    package func store(limit: Int = 1 << 20) async throws -> any CacheStore { try await make(limit) }

    package func bytes(_ length: Int, _ byte: UInt8 = 7) -> Data { Data(repeating: byte, count: length) }

    /// Stores a response in one piece.
    @discardableResult
    package func put(
        _ store: any CacheStore,
        _ path: String,
        _ body: Data,
        _ headers: Headers = [:],
        request: Headers = [:],
        account: String = "me",
        tags: Set<String> = [],
        at seconds: Double = 0,
        replacing: [UInt64] = [],
        ticket: UInt64? = nil
    ) async throws -> UInt64? {
        let key = try RuleSamples.key("https://example.org/\(path)", account: account)
        var all = headers
        if !all.contains("Cache-Control") { all.add("Cache-Control", "max-age=60") }
        var head = try samples.keep(all, request: request, at: seconds, length: Int64(body.count))
        head.tags = tags
        let current = try await store.lookUp(key).ticket
        var write = CacheWrite(key, head, ticket: ticket ?? current)
        write.replaced = replacing
        guard let writer = try await store.begin(write) else { return nil }
        try await writer.append(body)
        return try await writer.commit(head)
    }

    /// Stores a response for the path `a`.
    @discardableResult
    package func put(
        _ store: any CacheStore,
        _ body: Data,
        _ headers: Headers = [:],
        request: Headers = [:],
        account: String = "me",
        at seconds: Double = 0,
        replacing: [UInt64] = [],
        ticket: UInt64? = nil
    ) async throws -> UInt64? {
        try await put(
            store,
            "a",
            body,
            headers,
            request: request,
            account: account,
            at: seconds,
            replacing: replacing,
            ticket: ticket
        )
    }

    package func heads(_ store: any CacheStore, _ path: String = "a", account: String = "me") async throws
        -> [StoredHead]
    {
        try await store.lookUp(RuleSamples.key("https://example.org/\(path)", account: account)).heads
    }

    /// The whole body of the only variant; nil where there is none.
    package func body(_ store: any CacheStore, _ path: String = "a", account: String = "me") async throws -> Data? {
        guard let head = try await heads(store, path, account: account).first else { return nil }
        return try await read(store, head.id)
    }

    package func read(_ store: any CacheStore, _ id: UInt64, _ span: Range<Int64>? = nil) async throws -> Data? {
        guard let reader = try await store.open(id, span: span) else { return nil }
        return try await drain(reader)
    }

    package func drain(_ reader: any CacheReader) async throws -> Data {
        var all = Data()
        while let chunk = try await reader.next() {
            #expect(!chunk.isEmpty)
            all.append(chunk)
        }
        return all
    }
}

/// The cases, by the rows of the contract; the other files add them in groups.
package enum StoreConformance {}
