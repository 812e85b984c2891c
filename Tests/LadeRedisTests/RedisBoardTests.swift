import Foundation
import Lade
import LadeCore
import LadeRedis
import LadeTesting
import SharedDoubles
import Testing

/// Boards of several members on a real store.
@Suite(.timeLimit(.minutes(5)))
struct RedisBoardTests {
    private static func fleet(_ server: StoreServer, _ name: String) throws -> Fleet {
        var settings = Fleet.Settings()
        settings.name = name
        return try Fleet(server.url, settings: settings)
    }

    private static func run(pages: Int? = nil) -> BoardRun {
        var run = BoardRun(digest: "d", text: "the arguments")
        (run.size, run.limit) = (4, pages)
        return run
    }

    private static func part(_ pages: Int) -> BoardPart {
        BoardPart(pages: pages, items: pages, lines: pages, length: Int64(pages), checksum: 1)
    }

    /// The segment that a worker claims as soon as there is one.
    private static func claim(_ board: any WorkBoard, epoch: UInt64) async throws -> BoardLease {
        while true {
            switch await board.carryOut(.claim(epoch: epoch)) {
            case .lease(let lease): return lease
            case .wait(let time): try await SystemTime().sleep(for: time)
            case let reply:
                try #require(reply == nil, "\(String(describing: reply))")
                try await SystemTime().sleep(for: .milliseconds(10))
            }
        }
    }

    @Test(
        "fleet RD-74 RD-78 RD-90 workers share a run until each segment has one part",
        arguments: StoreServer.Kind.allCases
    )
    func shared(kind: StoreServer.Kind) async throws {
        let server = try StoreServer.start(kind)
        let fleets = try (0..<4).map { try Self.fleet(server, "w\($0)") }
        let parts = Locked<[BoardSegment: String]>([:])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, fleet) in fleets.enumerated() {
                group.addTask {
                    let board = try fleet.board("run")
                    // Each of them would begin it.
                    let open = BoardOrder.open(Self.run(pages: 199), .join, epoch: UInt64(index), lost: nil)
                    guard case .opened(let epoch, _) = await board.carryOut(open) else {
                        Issue.record("not opened")
                        return
                    }
                    while true {
                        switch await board.carryOut(.claim(epoch: epoch)) {
                        case .lease(let lease):
                            let isNew = parts.withLock { $0.updateValue("w\(index)", forKey: lease.segment) == nil }
                            #expect(isNew && board.standing(of: lease) == .held)
                            #expect(await board.carryOut(.commit(lease, Self.part(lease.count), .more(nil))) == .done)
                        case .wait(let time): try await SystemTime().sleep(for: time)
                        case .nothing(let phase):
                            #expect(phase == .complete)
                            return
                        case let reply:
                            Issue.record("\(String(describing: reply))")
                            return
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let board = try fleets[0].board("run")
        guard case .state(let state) = await board.carryOut(.state) else {
            Issue.record("no state")
            return
        }
        #expect(state.phase == .complete && state.done == 50 && state.pages == 199 && state.extraPages == 0)
        #expect(state.leased == 0 && state.ready == 0 && state.failed == 0)
        for fleet in fleets { await fleet.leave() }
    }

    @Test("fleet RD-75 the leases of a worker are extended while it does nothing, and end with its process")
    func beats() async throws {
        let server = try StoreServer.start()
        let (one, two) = (try Self.fleet(server, "one"), try Self.fleet(server, "two"))
        let lease = Duration.milliseconds(600)
        let (first, second) = (try one.board("run", lease: lease), try two.board("run", lease: lease))
        let open = BoardOrder.open(Self.run(pages: 8), .join, epoch: 5, lost: nil)
        #expect(await first.carryOut(open) == .opened(epoch: 5, isNew: true))
        #expect(await second.carryOut(open) == .opened(epoch: 5, isNew: false))
        let held = try await Self.claim(first, epoch: 5)
        // The other segment again and again, for longer than the lease lasts.
        let end = SystemTime().now.advanced(by: lease * 3)
        while SystemTime().now < end {
            let other = try await Self.claim(second, epoch: 5)
            #expect(other.segment != held.segment)
            #expect(await second.carryOut(.drop(other)) == .done)
            try await SystemTime().sleep(for: .milliseconds(50))
        }
        #expect(first.standing(of: held) == .held)

        await one.leave()
        var taken = try await Self.claim(second, epoch: 5)
        if taken.segment != held.segment { taken = try await Self.claim(second, epoch: 5) }
        #expect(taken.segment == held.segment && taken.attempt == 2 && taken.fence > held.fence)
        await two.leave()
    }

    @Test("fleet RD-76 RD-78 a worker whose lease was taken over learns of it, and commits nothing")
    func lost() async throws {
        let server = try StoreServer.start()
        let (one, two) = (try Self.fleet(server, "one"), try Self.fleet(server, "two"))
        let lease = Duration.milliseconds(500)
        let (first, second) = (try one.board("run", lease: lease), try two.board("run", lease: lease))
        let open = BoardOrder.open(Self.run(pages: 4), .join, epoch: 5, lost: nil)
        for board in [first, second] { #expect(await board.carryOut(open) != nil) }
        let held = try await Self.claim(first, epoch: 5)
        // The store forgets the lease, as if the worker had been silent for its time.
        let key = try Self.key("rl", server)
        let client = StoreClient(server.path)
        while first.standing(of: held) == .held {
            _ = client.command(["ZADD", key, "XX", "0", "0.0"])
            if case .lease(let taken) = await second.carryOut(.claim(epoch: 5)) { #expect(taken.fence > held.fence) }
            try await SystemTime().sleep(for: .milliseconds(20))
        }
        #expect(first.standing(of: held) == .lost)
        #expect(await first.carryOut(.commit(held, Self.part(4), .more(nil))) == .refused)
        guard case .state(let state) = await first.carryOut(.state) else {
            Issue.record("no state")
            return
        }
        #expect(state.done == 0 && state.extraPages == 4)
        for fleet in [one, two] { await fleet.leave() }
    }

    /// The key of the only run in the store.
    private static func key(_ part: String, _ server: StoreServer) throws -> String {
        guard case .list(let keys)? = StoreClient(server.path).command(["KEYS", "lade:1:{test}:\(part):*"]) else {
            throw CancellationError()
        }
        return try #require(keys.first?.string)
    }

    @Test(
        "fleet RD-95 a worker commits what it has when the store responds again",
        arguments: StoreServer.Kind.allCases
    )
    func unreachable(kind: StoreServer.Kind) async throws {
        let server = try StoreServer.start(kind)
        let fleet = try Self.fleet(server, "one")
        let board = try fleet.board("run")
        let open = BoardOrder.open(Self.run(pages: 8), .join, epoch: 5, lost: nil)
        #expect(await board.carryOut(open) == .opened(epoch: 5, isNew: true))
        let lease = try await Self.claim(board, epoch: 5)
        server.signal(SIGSTOP)
        let commit = BoardOrder.commit(lease, Self.part(4), .more(nil))
        #expect(await board.carryOut(commit) == nil)
        #expect(await board.carryOut(.claim(epoch: 5)) == nil)
        server.signal(SIGCONT)
        var reply = await board.carryOut(commit)
        while reply == nil { reply = await board.carryOut(commit) }
        #expect(reply == .done)
        guard case .state(let state) = await board.carryOut(.state) else {
            Issue.record("no state")
            return
        }
        #expect(state.done == 1 && state.extraPages == 0)
        await fleet.leave()
        #expect(await board.carryOut(.state) == nil)
    }

    @Test("fleet RD-80 RD-81 after a loss workers offer their parts, and nothing is claimed meanwhile")
    func emptied() async throws {
        let server = try StoreServer.start()
        let (one, two) = (try Self.fleet(server, "one"), try Self.fleet(server, "two"))
        let (first, second) = (try one.board("run"), try two.board("run"))
        let open = BoardOrder.open(Self.run(pages: 8), .join, epoch: 5, lost: nil)
        for board in [first, second] { #expect(await board.carryOut(open) != nil) }
        let a = try await Self.claim(first, epoch: 5)
        let b = try await Self.claim(second, epoch: 5)
        let offer = BoardOffer(a, Self.part(4), .more(nil))
        #expect(await first.carryOut(.commit(a, Self.part(4), .more(nil))) == .done)

        try server.command("FLUSHALL")

        #expect(await second.carryOut(.commit(b, Self.part(4), .more(nil))) == .unknown)
        let again = BoardOrder.open(Self.run(pages: 8), .join, epoch: 6, lost: 5)
        #expect(await second.carryOut(again) == .opened(epoch: 6, isNew: true))
        guard case .wait = await second.carryOut(.claim(epoch: 6)) else {
            Issue.record("claimed while parts are offered")
            return
        }
        #expect(await second.carryOut(.offer(epoch: 6, BoardOffer(b, Self.part(4), .more(nil)))) == .done)
        #expect(await first.carryOut(.claim(epoch: 5)) == .unknown)
        #expect(
            await first.carryOut(.open(Self.run(pages: 8), .join, epoch: 7, lost: 5)) == .opened(epoch: 6, isNew: false)
        )
        #expect(await first.carryOut(.offer(epoch: 6, offer)) == .done)
        // Another part of the same pages comes too late.
        var other = offer
        other.fence += 100
        #expect(await first.carryOut(.offer(epoch: 6, other)) == .refused)
        let manifest = BoardOrder.manifest(epoch: 6, from: BoardSegment(walk: 0, first: 0))
        let entries = [
            BoardEntry(segment: a.segment, state: .committed(Self.part(4), epoch: 5, fence: a.fence), worker: "one"),
            BoardEntry(segment: b.segment, state: .committed(Self.part(4), epoch: 5, fence: b.fence), worker: "two"),
        ]
        #expect(await first.carryOut(manifest) == .manifest(entries, next: nil))
        for fleet in [one, two] { await fleet.leave() }
    }

    @Test("fleet RD-128 RD-72 the cursor of a walk is in one value of the store, and in no event or description")
    func canaries() async throws {
        let server = try StoreServer.start()
        var settings = Fleet.Settings()
        let events = Locked<[String]>([])
        settings.onEvent = { event in events.withLock { $0.append("\(event)") } }
        let fleet = try Fleet(server.url, settings: settings)
        let board = try fleet.board("run")
        var run = Self.run()
        run.isNumbered = false
        _ = await board.carryOut(.open(run, .join, epoch: 5, lost: nil))
        let lease = try await Self.claim(board, epoch: 5)
        let commit = BoardOrder.commit(lease, Self.part(4), .more("canary-cursor"))
        #expect(await board.carryOut(commit) == .done)
        let next = try await Self.claim(board, epoch: 5)
        #expect(next.cursor == "canary-cursor" && next.segment == BoardSegment(walk: 0, first: 4))
        #expect(!"\(next) \(commit)".contains("canary") && !events.withLock { "\($0)" }.contains("canary"))
        let client = StoreClient(server.path)
        let key = try Self.key("rc", server)
        let values = client.command(["HVALS", key])
        #expect(values == .list([.text(Array("canary-cursor".utf8))]))
        for part in ["r", "rw", "rs"] {
            let all = client.command(["HGETALL", try Self.key(part, server)])
            guard case .list(let items)? = all else { continue }
            #expect(!items.contains { $0.string?.contains("canary") == true })
        }
        await fleet.leave()
    }

    @Test("fleet RD-70 the name of a run and the time of a lease are checked before anything is sent")
    func settings() async throws {
        let server = try StoreServer.start()
        let fleet = try Self.fleet(server, "one")
        for (name, lease) in [("", Duration.seconds(1)), ("a\n", .seconds(1)), ("a", .zero), ("a", .seconds(4_000))] {
            #expect(throws: LoadingError.self) { try fleet.board(name, lease: lease) }
        }
        var run = Self.run()
        run.size = 0
        let board = try fleet.board("run")
        #expect(await board.carryOut(.open(run, .join, epoch: 1, lost: nil)) == .refused)
        await fleet.leave()
    }
}
