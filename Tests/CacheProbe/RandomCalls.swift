import LadeCache
import LadeCacheSQLite
import LadeCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Calls to a store whose bodies follow from a number in their heads, so that every one of them can be checked.
struct RandomCalls: Sendable {
    static let digester = CacheDigester(key: Array("probe".utf8))

    let store: SQLiteStore
    private let seed: UInt64
    private let drops = Locked(0)

    /// How many calls found the store busy for longer than they wait.
    var dropped: Int { drops.withLock { $0 } }

    init(_ store: SQLiteStore, seed: UInt64) {
        (self.store, self.seed) = (store, seed)
    }

    static func key(_ path: String, account: String = "me") -> CacheKey {
        guard let address = URL(string: "https://example.org/\(path)").flatMap(CacheAddress.init) else {
            preconditionFailure("\(path) is no path")
        }
        return CacheKey(CachePlace(partition: "probe", scope: .account(account), address: address), digester: digester)
    }

    /// The body that belongs to a number.
    static func body(_ seed: UInt64, _ length: Int) -> Data {
        var state = seed
        var bytes = Data(capacity: length + 8)
        while bytes.count < length {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
            withUnsafeBytes(of: word ^ word >> 31) { bytes.append(contentsOf: $0) }
        }
        return bytes.prefix(length)
    }

    static func head(_ path: String, seed: UInt64, length: Int, tags: Set<String> = []) -> StoredHead {
        let now = Moment(date: Date(), instant: nil)
        var head = StoredHead(
            status: 200,
            headers: ["Cache-Control": "max-age=60", "X-Seed": String(seed), "X-Path": path, "ETag": "\"\(seed)\""],
            times: ExchangeTimes(requested: now, received: now),
            extent: .whole(Int64(length))
        )
        head.tags = tags
        return head
    }

    /// Stores a body in one piece or in several.
    @discardableResult
    func put(
        _ path: String,
        length: Int,
        seed: UInt64,
        account: String = "me",
        tags: Set<String> = []
    ) async throws -> UInt64? {
        let key = Self.key(path, account: account)
        let head = Self.head(path, seed: seed, length: length, tags: tags)
        let ticket = try await store.lookUp(key).ticket
        guard let writer = try await store.begin(CacheWrite(key, head, ticket: ticket)) else { return nil }
        var rest = Self.body(seed, length)[...]
        while !rest.isEmpty {
            try await writer.append(rest.prefix(50_000))
            rest = rest.dropFirst(50_000)
        }
        return try await writer.commit(head)
    }

    /// Reads what a path has and checks it; false when it has nothing.
    @discardableResult
    func read(_ path: String, account: String = "me") async throws -> Bool {
        guard let head = try await store.lookUp(Self.key(path, account: account)).heads.first,
            let reader = try await store.open(head.id, span: nil)
        else { return false }
        var body = Data()
        do throws(CacheError) {
            while let chunk = try await reader.next() { body.append(chunk) }
        } catch {
            guard error.reason == .signedOut else { throw error }
            return false
        }
        guard Self.isRight(head, path, body) else {
            report("wrong body of \(path): \(head.headers), \(body.count) bytes")
            exit(3)
        }
        return true
    }

    static func isRight(_ head: StoredHead, _ path: String, _ body: Data) -> Bool {
        guard let seed = head.headers["X-Seed"].flatMap({ UInt64($0) }), head.headers["X-Path"] == path,
            Int64(body.count) == head.length
        else { return false }
        return Self.body(seed, body.count) == body
    }

    /// One random call.
    ///
    /// - Parameters:
    ///   - random: What decides.
    ///   - keeps: Whether it may store something that is never removed, and print its path once it is certainly stored.
    /// - Throws: What the store throws.
    func call(_ random: SeededRandom, keeps: Bool) async throws {
        func below(_ bound: UInt64) -> UInt64 { random.next() % bound }
        let path = "p\(below(40))"
        let account = below(4) == 0 ? "you" : "me"
        let kind = below(100)
        do { try await act(kind, random, path, account, keeps: keeps) } catch {
            report("call of kind \(kind): \(error)")
            throw error
        }
    }

    private func act(
        _ kind: UInt64,
        _ random: SeededRandom,
        _ path: String,
        _ account: String,
        keeps: Bool
    ) async throws {
        func below(_ bound: UInt64) -> UInt64 { random.next() % bound }
        switch kind {
        case 0..<25:
            let length = below(8) == 0 ? 66_000 + below(150_000) : 1 + below(20_000)
            let tags: Set<String> = below(3) == 0 ? ["t\(below(3))"] : []
            try await unlessBusy {
                try await put(path, length: Int(length), seed: random.next(), account: account, tags: tags)
            }
        case 25..<35:
            // A lookup waits for what this process has not written yet.
            try await unlessBusy {
                guard var head = try await store.lookUp(Self.key(path, account: account)).heads.first else { return }
                var headers = head.headers
                headers.remove("X-Revision")
                headers.add("X-Revision", String(random.next()))
                head.renew(headers, head.times)
                _ = try await store.update(head)
            }
        case 35..<38: _ = try await store.remove(.prefix("https://example.org/p\(below(4))"))
        case 38..<40: _ = try await store.remove(.tag("t\(below(3))"))
        case 40: _ = try await store.remove(.account("you"))
        case 41..<43: _ = try await store.invalidate(.tag("t\(below(3))"))
        case 43..<53 where keeps:
            let path = "keep-\(seed)-\(random.next())"
            guard try await put(path, length: Int(1 + below(100_000)), seed: random.next()) != nil else { return }
            try await store.flush()
            report(path)
        default: try await unlessBusy { try await read(path, account: account) }
        }
    }

    /// Does what a cache does: a store that is busy for 100 ms is a miss or a dropped write.
    ///
    /// Removals are never dropped.
    private func unlessBusy(_ body: () async throws -> Void) async throws {
        do { try await body() } catch let error as CacheError where error.reason == .busy { drops.withLock { $0 += 1 } }
    }
}

/// Writes a line to the standard output, in one piece and without a buffer that an end by a signal would lose.
func report(_ line: Any) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(1, bytes, bytes.count)
}
