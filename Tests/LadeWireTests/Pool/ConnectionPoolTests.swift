import LadeCore
import Testing

@testable import LadeExchange
@testable import LadeWire

@Suite("The pool of connections", .timeLimit(.minutes(5)))
struct ConnectionPoolTests {
    private final class Link: CustomStringConvertible {
        let description: String
        init(_ name: String) { description = name }
    }

    private func place(_ pool: inout ConnectionPool<Link>, _ key: Int, needsFresh: Bool = false) -> String {
        switch pool.place(key, needsFresh: needsFresh) {
        case .reuse(let link): "reuse \(link)"
        case .join(let link): "join \(link)"
        case .open(let closing): closing.map { "open, closing \($0)" } ?? "open"
        }
    }

    @Test("gives the connection that was used last, and opens one when none is idle")
    func lastUsed() {
        var pool = ConnectionPool<Link>(perKey: 6, total: 100)
        for (moment, name) in ["a", "b"].enumerated() {
            #expect(place(&pool, 1) == "open")
            pool.opened(1)
            pool.idled(Link(name), key: 1, at: Int64(moment))
            if moment == 0 { #expect(place(&pool, 2) == "open") }
            if moment == 0 { #expect(place(&pool, 1) == "reuse a") }
        }
        #expect(place(&pool, 1) == "reuse b")
        #expect(place(&pool, 1) == "open")
    }

    @Test("keeps the connections that multiplex, the oldest first, until they drain or close")
    func multiplexing() {
        var pool = ConnectionPool<Link>(perKey: 6, total: 100)
        let links = [Link("a"), Link("b"), Link("c")]
        for link in links {
            pool.opened(1)
            pool.multiplexes(link, key: 1, at: 0)
            pool.setIdle(link, key: 1, since: nil)
        }
        #expect(pool.streaming(1).map(\.description) == ["a", "b", "c"])
        #expect(pool.streaming(2).isEmpty)

        pool.drains(links[0], key: 1)
        pool.closed(links[1], key: 1)
        #expect(pool.streaming(1).map(\.description) == ["c"])
        #expect(pool.open == 2)
        #expect(place(&pool, 1) == "open", "none of them is idle")
    }

    @Test("wire WR-53 a connection that multiplexes and carries nothing makes room like any idle one, the oldest first")
    func idleMultiplexing() {
        var pool = ConnectionPool<Link>(perKey: 2, total: 3)
        let (first, second, third) = (Link("a"), Link("b"), Link("c"))
        for key in 1...3 { pool.opened(key) }
        pool.multiplexes(first, key: 1, at: 1)
        pool.idled(second, key: 2, at: 2)
        pool.multiplexes(third, key: 3, at: 0)
        pool.setIdle(third, key: 3, since: nil)
        #expect(place(&pool, 4) == "open, closing a")
        #expect(pool.streaming(1).isEmpty)
        #expect(place(&pool, 4) == "open, closing b")
        #expect(place(&pool, 4) == "open", "the last one carries a stream")
        pool.setIdle(third, key: 3, since: 5)
        #expect(pool.takeLongestIdle() === third)
        #expect(pool.takeLongestIdle() == nil)
    }

    @Test("a fresh connection at the limit of the key closes the one that has been idle longest")
    func fresh() {
        var pool = ConnectionPool<Link>(perKey: 2, total: 100)
        let links = [Link("a"), Link("b")]
        for (moment, link) in links.enumerated() {
            pool.opened(1)
            pool.idled(link, key: 1, at: Int64(moment))
        }
        #expect(place(&pool, 1, needsFresh: true) == "open, closing a")
        pool.closed(links[0], key: 1)
        #expect(pool.open == 1)
        #expect(place(&pool, 1) == "reuse b")
    }

    @Test("a new connection at the total limit closes the one of any key that has been idle longest")
    func total() {
        var pool = ConnectionPool<Link>(perKey: 2, total: 2)
        for key in [2, 1] {
            pool.opened(key)
            pool.idled(Link("\(key)"), key: key, at: Int64(3 - key))
        }
        #expect(place(&pool, 3) == "open, closing 2")
    }

    @Test("a connection that is being opened and lost its exchange carries the next one of its key")
    func orphans() {
        var pool = ConnectionPool<Link>(perKey: 2, total: 2)
        pool.opened(1)
        pool.orphaned(Link("a"), key: 1)
        #expect(place(&pool, 1, needsFresh: true) == "join a")
        pool.orphaned(Link("b"), key: 1)
        #expect(pool.takeOrphans(of: 1).map(\.description) == ["b"])
        #expect(pool.takeOrphans(of: 1).isEmpty)
    }

    @Test("a connection that has opened for no exchange is idle, and is not closed as one that is being opened")
    func openedOrphan() {
        var pool = ConnectionPool<Link>(perKey: 2, total: 2)
        let link = Link("a")
        pool.opened(1)
        pool.orphaned(link, key: 1)
        pool.idled(link, key: 1, at: 0)
        #expect(place(&pool, 1) == "reuse a")
        #expect(pool.takeOrphans(of: 1).isEmpty)
    }

    @Test(
        "wire WR-37 a connection is used again when everything was complete and nothing says close",
        arguments: [
            ([], [], .http1_1, true, true, nil), ([], [], .http1_1, false, false, nil),
            ([], [], .http1_0, true, false, nil), (["close"], [], .http1_1, true, false, nil),
            (["keep-alive, Close"], [], .http1_1, true, false, nil), (["x", "CLOSE"], [], .http1_1, true, false, nil),
            (["closed"], [], .http1_1, true, true, nil), ([], ["close"], .http1_1, true, false, nil),
            ([], [], .http1_1, true, true, ("timeout=5, max=100", 4)),
            ([], [], .http1_1, true, true, ("max=1, Timeout=1", 0)),
        ] as [([String], [String], Response.Version, Bool, Bool, (String, Int64)?)]
    )
    func reuse(
        response: [String],
        request: [String],
        version: Response.Version,
        isWhole: Bool,
        isPossible: Bool,
        keepAlive: (String, Int64)?
    ) {
        var headers = Headers()
        for value in response { headers.add("Connection", value) }
        if let keepAlive { headers.add("Keep-Alive", keepAlive.0) }
        var requestHeaders = Headers()
        for value in request { requestHeaders.add("Connection", value) }
        let head = HeadVetting.Head(
            status: 200,
            version: version,
            headers: headers,
            contentLength: 0,
            contentEncoding: nil,
            isChunked: false
        )
        let reuse = Reuse(head, request: requestHeaders, isWhole: isWhole)
        #expect(reuse.isPossible == isPossible)
        #expect(reuse.life == keepAlive.map { $0.1 * 1_000_000_000 })
    }
}
