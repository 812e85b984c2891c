import LadeCore
import Testing

@testable import LadeExchange
@testable import LadeWire

@Suite("The pool of connections", .timeLimit(.minutes(5)))
struct ConnectionPoolTests {
    fileprivate typealias Pool = ConnectionPool<Link>
    fileprivate typealias Demand = Pool.Demand

    private func place(_ pool: inout Pool, _ key: Int, _ demand: Demand = Demand(), at now: Int64 = 100) -> String {
        switch pool.place(key, demand, at: now) {
        case .stream(let link): "stream \(link)"
        case .wait(let link): "wait \(link)"
        case .reuse(let link): "reuse \(link)"
        case .join(let link): "join \(link)"
        case .open(let closing): closing.map { "open, closing \($0)" } ?? "open"
        }
    }

    /// A pool with links in the stages that their names say; the limit of a key is 2, and the total 3.
    ///
    /// In order: the key, `opening`, `orphan`, `idle`, `free`, `doubtful` or `full`, and since when it carries nothing.
    private func pool(_ text: String) -> Pool {
        var pool = Pool(perKey: 2, total: 3)
        for word in text.split(separator: ",") {
            let parts = word.split(separator: " ").map(String.init)
            let link = Link(parts[1], key: Int(parts[0]) ?? 0)
            if parts.count > 2 { link.since = Int64(parts[2]) ?? 0 }
            pool.opens(link, key: link.key)
            switch parts[1] {
            case "opening": link.stage = .opening([Link.Call(link.key, mayShare: true)], isShareable: true)
            case "alone": link.stage = .opening([Link.Call(link.key, mayShare: false)], isShareable: false)
            case "orphan": pool.orphans(key: link.key)
            case "idle":
                link.stage = .idle
                pool.rests(link, key: link.key)
            case "busy":
                link.stage = .busy(Link.Call(link.key, mayShare: false))
                pool.carries(link, key: link.key)
            default:
                let calls = link.since == nil ? [Link.Call(link.key, mayShare: true)] : []
                let room: StreamRoom = parts[1] == "free" ? .free : parts[1] == "doubtful" ? .doubtful : .none
                link.stage = .streaming(calls, room)
                pool.multiplexes(link, key: link.key)
            }
        }
        return pool
    }

    /// The connections there are, the demand on key 1, and the choice.
    fileprivate static let shared = Demand(mayShare: true)
    fileprivate static let rows: [(String, Demand, ApplicationProtocol?, String)] = [
        ("", Demand(), nil, "open"),
        ("1 busy", Demand(), nil, "open"),
        ("1 idle 5", Demand(), nil, "reuse idle"),
        ("2 idle 5", Demand(), nil, "open"),
        ("1 orphan,1 idle 5", Demand(), nil, "reuse idle"),
        ("1 orphan", Demand(), nil, "join orphan"),
        ("1 idle 5", Demand(needsFresh: true), nil, "open"),
        ("1 idle 5,1 busy", Demand(needsFresh: true), nil, "open, closing idle"),
        ("1 orphan", Demand(needsFresh: true), nil, "join orphan"),
        ("2 idle 5,2 busy,3 busy", Demand(), nil, "open, closing idle"),
        ("2 free 5,2 busy,3 idle 6", Demand(), nil, "open, closing free"),
        ("2 free,2 busy,3 idle 6", Demand(), nil, "open, closing idle"),
        ("2 orphan,2 busy,3 busy", Demand(), nil, "open, closing orphan"),
        ("2 busy,2 busy,3 busy", Demand(), nil, "open"),
        ("1 free", Demand(), nil, "open"),
        ("1 free", shared, nil, "stream free"),
        ("1 doubtful,1 free", shared, nil, "stream free"),
        ("1 full,1 doubtful", shared, nil, "stream doubtful"),
        ("1 full", shared, nil, "open"),
        ("1 free", Demand(mayShare: true, needsFresh: true), nil, "open"),
        ("1 full,1 idle 5", shared, nil, "reuse idle"),
        ("1 opening", shared, nil, "wait opening"),
        ("1 opening", shared, .http2, "wait opening"),
        ("1 opening", shared, .http1_1, "open"),
        ("1 opening", Demand(mayShare: true, awaitsSharing: false), nil, "open"),
        ("1 opening", Demand(mayShare: true, awaitsSharing: false), .http2, "wait opening"),
        ("1 opening", Demand(mayShare: true, needsFresh: true), nil, "open"),
        ("1 opening", Demand(), nil, "open"),
        ("1 alone", shared, nil, "open"),
        ("1 orphan", shared, .http2, "join orphan"),
        ("2 opening", shared, nil, "open"),
    ]

    @Test("chooses by what there is, what is demanded, and what the host has negotiated", arguments: rows.indices)
    func choice(index: Int) {
        let (state, demand, negotiated, expected) = Self.rows[index]
        var pool = pool(state)
        if let negotiated { pool.negotiated.note(negotiated, 1, at: 0) }
        #expect(place(&pool, 1, demand) == expected, "\(state): \(demand)")
    }

    @Test("gives the connection that was used last, and evicts the one idle longest, of any protocol: wire WR-53")
    func order() {
        var pool = pool("1 idle 5,1 idle 6,2 free 4")
        #expect(pool.takeLongestIdle()?.since == 4)
        guard case .reuse(let link) = pool.place(1, Demand(), at: 9) else { return #expect(Bool(false), "one is idle") }
        #expect(link.since == 6)
        #expect(pool.makeRoom().map(\.since) == [5])
        #expect(pool.makeRoom().isEmpty)
    }

    @Test("a connection that drains carries nothing new, and one that is closed is nowhere")
    func endings() {
        var pool = pool("1 free,1 idle 5")
        guard let link = pool.keys[1]?.streaming.first, let idle = pool.keys[1]?.idle.first else {
            return #expect(Bool(false), "both are there")
        }
        pool.drains(link, key: 1)
        #expect(place(&pool, 1, Self.shared) == "reuse idle")
        pool.closes(idle, key: 1)
        #expect(place(&pool, 1, Self.shared) == "open")
        pool.closes(link, key: 1)
        #expect(pool.open == 0)
        #expect(pool.keys.isEmpty)
    }

    @Test("a connection for no exchange is closed once, unless one has joined it or it is open")
    func orphans() {
        var pool = pool("1 orphan,1 orphan,2 orphan")
        #expect(pool.hasOrphans)
        guard case .join(let joined) = pool.place(1, Demand(), at: 9) else {
            return #expect(Bool(false), "one is opened for none")
        }
        joined.stage = .opening([Link.Call(1, mayShare: false)], isShareable: false)
        if let open = pool.keys[2]?.opening.first {
            open.stage = .idle
            pool.rests(open, key: 2)
        }
        #expect(pool.takeOrphans().map(\.key) == [1])
        #expect(!pool.hasOrphans)
        #expect(pool.takeOrphans().isEmpty)
    }

    @Test("an idle connection is evicted after its life, and none that carries something")
    func eviction() {
        var pool = pool("1 idle 5,2 free")
        #expect(!pool.evicts(pool.keys[1]!.idle[0], at: 5 + Link.life - 1))
        #expect(pool.evicts(pool.keys[1]!.idle[0], at: 5 + Link.life))
        #expect(!pool.evicts(pool.keys[2]!.streaming[0], at: .max - 1))
        pool.keys[2]!.streaming[0].stage = .streaming([], .free)
        pool.keys[2]!.streaming[0].since = 7
        #expect(pool.evicts(pool.keys[2]!.streaming[0], at: 7 + Link.life))
        _ = pool.takeLongestIdle()
    }

    @Test("whatever happens, limits hold, no call is forgotten, and idle ones are used first", arguments: 1...30)
    func anything(seed: UInt64) {
        var world = PoolWorld(seed)
        for _ in 0..<400 { world.step() }
        world.finish()
        #expect(world.findings.isEmpty, "\(world.findings.prefix(5))")
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

/// A connection of a test, with the calls that it carries, or that wait for it while it is opened.
private final class Link: Pooled, CustomStringConvertible {
    final class Call {
        let key: Int
        let mayShare: Bool
        var needsFresh = false

        init(_ key: Int, mayShare: Bool) { (self.key, self.mayShare) = (key, mayShare) }
    }

    enum Stage {
        case opening([Call], isShareable: Bool)
        case idle
        case busy(Call)
        case streaming([Call], StreamRoom)
        case closed
    }

    static let life: Int64 = 1_000
    let description: String
    let key: Int
    var stage = Stage.opening([], isShareable: true)
    var since: Int64?

    init(_ name: String, key: Int) { (description, self.key) = (name, key) }

    var calls: [Call] {
        switch stage {
        case .opening(let calls, _), .streaming(let calls, _): calls
        case .busy(let call): [call]
        case .idle, .closed: []
        }
    }
    var isAwaited: Bool { if case .opening(let calls, _) = stage { !calls.isEmpty } else { false } }
    var isShareable: Bool { if case .opening(_, let isShareable) = stage { isShareable } else { false } }
    var room: StreamRoom { if case .streaming(_, let room) = stage { room } else { .none } }
    var idleLife: Int64 { Self.life }
    var idleSince: Int64? {
        switch stage {
        case .idle: since
        case .streaming(let calls, _): calls.isEmpty ? since : nil
        case .opening, .busy, .closed: nil
        }
    }
}

/// A loop of a test: it carries out what the pool says, for random calls, and checks it.
private struct PoolWorld {
    private static let perKey = 3
    private static let total = 5

    private var pool = ConnectionPool<Link>(perKey: PoolWorld.perKey, total: PoolWorld.total)
    private var random: Weather
    private var links: [Link] = []
    private var calls: [Link.Call] = []
    private var draining: [Link] = []
    private var now: Int64 = 0
    private(set) var findings: [String] = []

    init(_ seed: UInt64) { random = Weather(state: seed) }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    private mutating func expect(_ holds: Bool, _ finding: String) {
        if !holds { findings.append("\(finding) at \(now)") }
    }

    mutating func step() {
        now += Int64.random(in: 1...40, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3: begin()
        case 4...5: if let call = calls.randomElement(using: &random) { end(call, keeps: chance(80)) }
        case 6...7: if let link = opening.randomElement(using: &random) { open(link) }
        case 8: if let link = opening.randomElement(using: &random) { fail(link) } else { drain() }
        default: evict()
        }
        if chance(30) { settle() }
        check()
    }

    /// Ends everything, in the way of a loop that stops.
    mutating func finish() {
        settle()
        while let link = opening.first { open(link) }
        while let call = calls.first { end(call, keeps: true) }
        settle()
        check()
        while let link = pool.takeLongestIdle() { close(link) }
        expect(pool.open == 0 && pool.keys.isEmpty && links.isEmpty, "a connection is left")
    }

    private var opening: [Link] { links.filter { if case .opening = $0.stage { true } else { false } } }

    private mutating func begin() {
        let key = Int.random(in: 1...3, using: &random)
        guard calls.count < Self.total, calls.count(where: { $0.key == key }) < Self.perKey else { return }
        let call = Link.Call(key, mayShare: key > 1)
        call.needsFresh = chance(10)
        calls.append(call)
        place(call)
    }

    private mutating func place(_ call: Link.Call) {
        while true {
            let isUsed = links.filter { $0.key == call.key && $0.idleSince != nil && !call.needsFresh }
            let demand = ConnectionPool<Link>.Demand(
                mayShare: call.mayShare,
                needsFresh: call.needsFresh,
                awaitsSharing: chance(80)
            )
            switch pool.place(call.key, demand, at: now) {
            case .stream(let link):
                guard case .streaming(let calls, let room) = link.stage, room != .none else {
                    return expect(false, "no stream is possible")
                }
                if calls.isEmpty, chance(20) {
                    close(link)
                    continue
                }
                link.stage = .streaming(calls + [call], calls.count < 1 ? room : .none)
            case .wait(let link):
                expect(link.isAwaited && link.isShareable && call.mayShare, "a wait for a connection that none shares")
                link.stage = .opening(link.calls + [call], isShareable: true)
            case .reuse(let link):
                expect(isUsed.contains { $0 === link }, "a connection is used that is not idle")
                if chance(20) {
                    close(link)
                    continue
                }
                link.stage = .busy(call)
            case .join(let link):
                expect(opening.contains { $0 === link } && !link.isAwaited, "a connection is joined that is awaited")
                link.stage = .opening([call], isShareable: call.mayShare)
            case .open(let closing):
                let isIdle = isUsed.contains {
                    if case .idle = $0.stage { true } else { call.mayShare && $0.room != .none }
                }
                expect(!isIdle, "a connection is opened although one is idle")
                if let closing {
                    expect(closing.calls.isEmpty, "a connection is closed that carries something")
                    close(closing)
                }
                let link = Link("\(links.count)", key: call.key)
                link.stage = .opening([call], isShareable: call.mayShare)
                links.append(link)
                pool.opens(link, key: link.key)
            }
            return
        }
    }

    private mutating func open(_ link: Link) {
        let waiting = link.calls
        guard link.isShareable, chance(60) else {
            if link.isShareable { pool.negotiated.note(.http1_1, link.key, at: now) }
            if let first = waiting.first {
                pool.carries(link, key: link.key)
                link.stage = .busy(first)
            } else {
                rest(link)
            }
            for call in waiting.dropFirst() { place(call) }
            return
        }
        pool.negotiated.note(.http2, link.key, at: now)
        pool.multiplexes(link, key: link.key)
        link.stage = .streaming(Array(waiting.prefix(2)), waiting.count < 2 ? .free : .none)
        link.since = now
        for call in waiting.dropFirst(2) { place(call) }
    }

    private mutating func rest(_ link: Link) {
        link.stage = .idle
        link.since = now
        pool.rests(link, key: link.key)
    }

    private mutating func fail(_ link: Link) {
        let waiting = link.calls
        close(link)
        if let first = waiting.first { calls.removeAll { $0 === first } }
        for call in waiting.dropFirst() { place(call) }
    }

    private mutating func close(_ link: Link) {
        link.stage = .closed
        links.removeAll { $0 === link }
        draining.removeAll { $0 === link }
        pool.closes(link, key: link.key)
    }

    private mutating func end(_ call: Link.Call, keeps: Bool) {
        calls.removeAll { $0 === call }
        guard let link = links.first(where: { $0.calls.contains { $0 === call } }) else {
            return expect(false, "a call is forgotten")
        }
        let others = link.calls.filter { $0 !== call }
        switch link.stage {
        case .opening(_, let isShareable):
            link.stage = .opening(others, isShareable: isShareable)
            if others.isEmpty { pool.orphans(key: link.key) }
        case .busy: if keeps { rest(link) } else { close(link) }
        case .streaming:
            link.stage = .streaming(others, draining.contains { $0 === link } ? .none : keeps ? .free : .doubtful)
            link.since = now
            if others.isEmpty, draining.contains(where: { $0 === link }) { close(link) }
        case .idle, .closed: expect(false, "a call is where none is")
        }
    }

    private mutating func drain() {
        let streaming = links.filter { if case .streaming = $0.stage { true } else { false } }
        guard let link = streaming.randomElement(using: &random) else { return }
        pool.drains(link, key: link.key)
        draining.append(link)
        link.stage = .streaming(link.calls, .none)
        if link.calls.isEmpty { close(link) }
    }

    private mutating func evict() {
        now += Int64.random(in: 0...Link.life, using: &random)
        for link in links where pool.evicts(link, at: now) {
            expect(link.calls.isEmpty && link.idleSince != nil, "a connection is evicted that is used")
            close(link)
        }
        guard chance(20) else { return }
        let least = links.compactMap(\.idleSince).min()
        for link in pool.makeRoom() {
            expect(link.idleSince == least && link.calls.isEmpty, "not the one that has been idle longest")
            close(link)
        }
    }

    private mutating func settle() {
        for link in pool.takeOrphans() {
            expect(link.calls.isEmpty, "a connection is closed that calls wait for")
            close(link)
        }
        expect(opening.allSatisfy(\.isAwaited), "a connection is opened for none")
    }

    private mutating func check() {
        expect(pool.open == links.count && pool.open <= Self.total, "\(pool.open) connections")
        for (key, entry) in pool.keys {
            let own = links.filter { $0.key == key }
            expect(entry.open == own.count && entry.open <= Self.perKey, "\(entry.open) connections of a key")
            for link in own {
                let lists = [entry.opening, entry.idle, entry.streaming].map { $0.count { $0 === link } }
                let isDraining = draining.contains { $0 === link }
                let expected =
                    switch link.stage {
                    case .opening: [1, 0, 0]
                    case .idle: [0, 1, 0]
                    case .streaming: [0, 0, isDraining ? 0 : 1]
                    case .busy, .closed: [0, 0, 0]
                    }
                expect(lists == expected, "a connection is in the lists \(lists)")
            }
        }
        for call in calls {
            expect(links.count { $0.calls.contains { $0 === call } } == 1, "a call has no connection, or several")
        }
    }
}
