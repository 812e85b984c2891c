import Testing

@testable import LadeWire

@Suite("Sessions of TLS", .timeLimit(.minutes(5)))
struct SessionCacheTests {
    @Test("wire WR-29 offers a ticket of TLS 1.3 once, another session until it is refused, each for its key only")
    func offers() {
        var cache = SessionCache<Int>()
        cache.store(1, for: "a", isSingleUse: true)
        cache.store(2, for: "a", isSingleUse: true)
        cache.store(3, for: "b", isSingleUse: false)
        #expect(cache.take(for: "c") == nil)
        #expect(cache.take(for: "a") == 2)
        #expect(cache.take(for: "a") == 1)
        #expect(cache.take(for: "a") == nil)
        #expect(cache.take(for: "b") == 3)
        #expect(cache.take(for: "b") == 3)
        cache.removeAll(for: "b")
        #expect(cache.take(for: "b") == nil)
        #expect(cache.count == 0)
    }

    @Test("wire WR-29 keeps 4 sessions of a key, the newest ones, and 512 in all")
    func limits() {
        var cache = SessionCache<Int>()
        for number in 0..<10 { cache.store(number, for: "a", isSingleUse: true) }
        #expect(cache.count == 4)
        #expect((0..<5).map { _ in cache.take(for: "a") } == [9, 8, 7, 6, nil])
        for number in 0..<2 { cache.store(number, for: "b", isSingleUse: false) }
        #expect(cache.count == 1)
        for key in 0..<1_000 {
            for number in 0..<4 { cache.store(number, for: "\(key)", isSingleUse: true) }
            #expect(cache.count <= 512)
        }
        #expect(cache.take(for: "b") == nil)
        #expect(cache.take(for: "999") == 3)
    }
}
