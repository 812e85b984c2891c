import Foundation
import Lade
import LadeCore
import LadeRedis
import LadeTesting
import SharedDoubles
import Testing

/// The script of a board on a real server.
@Suite(.timeLimit(.minutes(10)))
struct BoardScriptTests {
    private static let lease = Duration.seconds(30)

    private static func command(_ order: BoardOrder, of worker: String) -> FleetMember.Command {
        let record = BoardRecord(name: "run", worker: worker, lease: lease)
        let keys = BoardRecord.keys.map { "lade:1:{t}:\($0)x" }
        return FleetMember.Command(script: .board, keys: keys, arguments: record.arguments(of: order))
    }

    /// Makes the orders of random workers, of which many make no sense.
    private struct Trace {
        let random: SeededRandom
        var epoch: UInt64 = 1
        var lastEpoch: UInt64 = 1
        var run = BoardRun(digest: "d", text: "the arguments")
        var leases: [BoardLease] = []
        var offers: [BoardOffer] = []
        var merge = 0

        /// How the workers fare for a while.
        enum Mode: CaseIterable {
            case normal
            /// Nothing can be loaded.
            case failing
            /// Workers end with what they have.
            case ending
        }

        var mode = Mode.normal

        /// How far the clock moves before the next order, in seconds.
        mutating func move() -> Int64 {
            if chance(2) { mode = Mode.allCases[pick(3)] }
            if mode == .ending { return chance(30) ? 31 : 0 }
            return chance(10) ? Int64(chance(10) ? -pick(20) : pick(12)) : 0
        }

        func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
        func chance(_ percent: Int) -> Bool { pick(100) < percent }

        mutating func next() -> BoardOrder {
            let epoch = chance(2) ? lastEpoch : self.epoch
            if mode == .ending, chance(90) { return .claim(epoch: epoch) }
            switch pick(1_000) {
            case ..<40: return open()
            case ..<340: return .claim(epoch: epoch)
            case ..<700: return commit() ?? .claim(epoch: epoch)
            case ..<790:
                guard var offer = offers.isEmpty ? nil : offers[pick(offers.count)] else { return .claim(epoch: epoch) }
                if chance(30) { offer.segment = segment() }
                if chance(10) { offer.generation = pick(3) }
                if chance(10) { offer.epoch = UInt64(pick(5)) }
                return .offer(epoch: epoch, offer)
            case ..<850:
                var fences: [BoardSegment: Int] = [:]
                for lease in leases.suffix(pick(4)) { fences[lease.segment] = lease.fence }
                return .beat(epoch: epoch, fences: fences, merge: chance(30) ? merge : nil)
            case ..<890: return .manifest(epoch: epoch, from: chance(70) ? BoardSegment(walk: 0, first: 0) : segment())
            case ..<910: return .merge(epoch: epoch)
            case ..<925: return .merged(epoch: epoch, fence: merge)
            case ..<950: return .state
            case ..<960: return .cancel
            case ..<975: return .retry
            case ..<996: return .reload(leases.isEmpty || chance(30) ? segment() : leases[pick(leases.count)].segment)
            default: return .forget
            }
        }

        private mutating func open() -> BoardOrder {
            var opening = BoardOpening.resume
            if chance(20) { opening = .join }
            if chance(30) {
                opening = .restart(force: chance(70))
                run.walks = 1 + pick(3)
                run.isNumbered = chance(50)
                run.size = 1 + pick(4)
                run.limit = chance(50) ? 3 + pick(9) : nil
                run.restartsWalks = chance(50)
                run.digest = "d\(pick(1_000))"
            }
            var run = run
            if chance(10) { run.digest = "other" }
            lastEpoch = epoch
            return .open(run, opening, epoch: UInt64(random.next() % 1_000) + 1, lost: chance(30) ? epoch : nil)
        }

        private func segment() -> BoardSegment { BoardSegment(walk: pick(3), first: pick(9)) }

        private mutating func commit() -> BoardOrder? {
            guard !leases.isEmpty else { return nil }
            var lease = leases[chance(60) ? leases.count - 1 : pick(leases.count)]
            if chance(3) { lease.fence += pick(3) - 1 }
            let pages = mode == .failing ? 0 : chance(50) ? lease.count : pick(lease.count + 2)
            var part: BoardPart?
            if pages > 0 {
                part = BoardPart(
                    pages: pages,
                    items: pick(9),
                    lines: pick(9),
                    length: Int64(pick(99)),
                    checksum: random.next()
                )
                if chance(50) {
                    part?.firstPage = random.next()
                    part?.lastPage = random.next()
                }
                if chance(20) { part?.announced = pick(20) }
            }
            let cursor = chance(run.isNumbered ? 10 : 90) ? Secret("cursor \(pick(99))") : nil
            let sequel: BoardSequel
            switch mode == .failing && chance(90) ? 1 : pick(10) {
            case 0: sequel = .end
            case 1, 2, 3:
                let kind = BoardFailure.Kind.allCases[pick(3)]
                sequel = .failed(BoardFailure(kind, detail: "reason \(pick(9))"), cursor)
            default: sequel = .more(cursor)
            }
            if let part {
                offers.append(BoardOffer(lease, part, sequel))
                if offers.count > 8 { offers.removeFirst() }
            }
            return .commit(lease, part, sequel)
        }

        mutating func note(_ reply: BoardReply) {
            switch reply {
            case .opened(let epoch, _): self.epoch = epoch
            case .complete(let epoch, _, _): self.epoch = epoch
            case .lease(let lease):
                leases.append(lease)
                if leases.count > 8 { leases.removeFirst() }
            case .merge(let fence): merge = fence
            default: break
            }
        }
    }

    @Test(
        "fleet RD-124 random orders give the same replies of the board on the server and in the model",
        arguments: StoreServer.Kind.allCases
    )
    func model(kind: StoreServer.Kind) async throws {
        let clock = try await MovedClock()
        let server = try StoreServer.start(StoreServer.Settings(kind: kind, environment: clock.environment))
        let seed = Soak.current.seed(for: "BoardScriptTests.model")
        let client = StoreClient(server.path)
        var trace = Trace(random: SeededRandom(seed: seed))
        var model = BoardModel(lease: Self.lease)
        var (moved, words) = (Int64(0), [String: Int]())
        for await step in Soak.turns(Soak.current.rounds(of: 100_000, few: 3_000)) {
            let way = trace.move()
            moved += way
            if way != 0 { try clock.move(by: moved) }
            let (order, worker) = (trace.next(), "w\(trace.pick(3))")
            let reply = try #require(client.run(Self.command(order, of: worker)))
            guard case .list(let items) = reply, let now = items.first?.number else {
                Issue.record("seed \(seed), step \(step): \(order): \(reply)")
                return
            }
            words[items[1].string ?? "", default: 0] += 1
            let expected = model.carryOut(order, of: worker, at: Int(now))
            let read = BoardReply(reply, to: order)
            #expect(read == expected, "seed \(seed), step \(step): \(order)")
            guard read == expected else { return }
            trace.note(expected)
        }
        // Nearly every kind of reply has occurred.
        #expect(words.count >= 13, "\(words)")
    }

    /// Claims and commits whole segments until nothing is left.
    private static func harvest(_ client: StoreClient, pages: Int) throws -> Int {
        var run = BoardRun(digest: String(repeating: "d", count: 64), text: String(repeating: "t", count: 2_000))
        run.limit = pages
        var orders = 0
        func carryOut(_ order: BoardOrder) throws -> BoardReply? {
            orders += 1
            return BoardReply(try #require(client.run(command(order, of: "worker-\(orders % 8)"))), to: order)
        }
        #expect(try carryOut(.open(run, .join, epoch: .max, lost: nil)) == .opened(epoch: .max, isNew: true))
        while case .lease(let lease)? = try carryOut(.claim(epoch: .max)) {
            var part = BoardPart(pages: lease.count, items: 3_200, lines: 3_200, length: 1 << 20, checksum: .max)
            (part.firstPage, part.lastPage) = (.max, .max)
            #expect(try carryOut(.commit(lease, part, .more(nil))) == .done)
        }
        return orders
    }

    @Test("fleet RD-70 RD-11 a run of 100,000 pages takes at most 1 MiB in the store, and every key of it expires")
    func memory() throws {
        let server = try StoreServer.start()
        let client = StoreClient(server.path)
        let orders = try Self.harvest(client, pages: 100_000)
        // A claim and a commit for each segment of 32 pages: 0.06 round trips a page.
        #expect(orders == 3_125 * 2 + 2)
        guard case .list(let keys)? = client.command(["KEYS", "*"]) else {
            Issue.record("no keys")
            return
        }
        var bytes = 0.0
        for key in keys.compactMap(\.string) {
            bytes += client.command(["MEMORY", "USAGE", key, "SAMPLES", "0"])?.number ?? .infinity
            let left = try #require(client.command(["PTTL", key])?.number)
            #expect(left > 600_000_000 && left <= 604_800_000, "\(key)")
        }
        print("a run of 100,000 pages takes \(Int(bytes)) bytes")
        #expect(bytes <= 1_048_576)
        // The parts of all segments are read in pieces, none of which is too large for a reply.
        var (place, count) = (BoardSegment?.some(BoardSegment(walk: 0, first: 0)), 0)
        while let from = place {
            let order = BoardOrder.manifest(epoch: .max, from: from)
            let reply = try #require(client.run(Self.command(order, of: "w")))
            guard case .manifest(let entries, let next)? = BoardReply(reply, to: order) else {
                Issue.record("\(reply)")
                return
            }
            count += entries.count
            place = next
        }
        #expect(count == 3_125)
    }

    @Test("fleet RD-12 RD-80 a run that has lost one of its keys, or has another type there, is lost as a whole")
    func losses() throws {
        let server = try StoreServer.start()
        let client = StoreClient(server.path)
        for key in BoardRecord.keys.map({ "lade:1:{t}:\($0)x" }) {
            for breaks in [[["DEL", key]], [["DEL", key], ["SET", key, "x"]]] {
                var run = BoardRun(digest: "d", text: "t")
                (run.walks, run.isNumbered) = (3, false)
                let open = BoardOrder.open(run, .restart(force: true), epoch: 7, lost: nil)
                func carryOut(_ order: BoardOrder) throws -> BoardReply? {
                    BoardReply(try #require(client.run(Self.command(order, of: "w"))), to: order)
                }
                #expect(try carryOut(open) == .opened(epoch: 7, isNew: true))
                guard case .lease(let lease)? = try carryOut(.claim(epoch: 7)) else {
                    Issue.record("no lease")
                    return
                }
                let part = BoardPart(pages: 32, items: 0, lines: 0, length: 0, checksum: 0)
                #expect(try carryOut(.commit(lease, part, .more("next"))) == .done)
                _ = try carryOut(.claim(epoch: 7))
                // One walk waits, another has a lease, and the first one has a cursor.
                guard case .lease(let other)? = try carryOut(.claim(epoch: 7)) else { return }
                #expect(try carryOut(.drop(other)) == .done)
                for words in breaks { #expect(client.command(words) != nil) }
                #expect(try carryOut(.claim(epoch: 7)) == .unknown, "\(key)")
                #expect(try carryOut(.state) == .unknown)
                guard case .list(let rest)? = client.command(["KEYS", "*"]) else { return }
                #expect(rest.isEmpty, "\(key)")
            }
        }
    }

    @Test("fleet RD-111 replies of a store at random are read as what the script returns, or not at all")
    func fuzz() throws {
        let seed = Soak.current.seed(for: "BoardScriptTests.fuzz")
        let random = SeededRandom(seed: seed)
        let words = [
            "opened", "differs", "complete", "cancelled", "busy", "lease", "merge", "wait", "nothing", "done",
            "refused",
            "early", "unknown", "manifest", "state", "beat",
        ]
        let texts = [
            "", "0", "1", "-1", "31", "9e99", "nan", "00000000000000ff", "00000000000000fg", "running", "complete",
            "x y",
            "0 0 d 32 00000000000000ff 1 w 1 1 1 00000000000000ff - -", "0 32 o 32 0 0 0 ", "1 0 f 1 a b \u{1B}[31m",
            "99999999999999999999 0 f 1 a", "0 0 d 0 00000000000000ff 1 w 1 1 1 00000000000000ff - -",
        ]
        let segment = BoardSegment(walk: 0, first: 0)
        let orders: [BoardOrder] = [
            .open(BoardRun(digest: "d", text: "t"), .join, epoch: 1, lost: nil), .claim(epoch: 1), .state,
            .manifest(epoch: 1, from: segment), .merge(epoch: 1), .beat(epoch: 1, fences: [segment: 1], merge: nil),
        ]
        func any(_ depth: Int) -> StoreReply {
            switch random.next() % 12 {
            case 0: return .integer(Int64(bitPattern: random.next()))
            case 1: return .integer(Int64(random.next() % 3))
            case 2: return .nothing
            case 3 where depth > 0: return .list((0..<random.next() % 4).map { _ in any(depth - 1) })
            case 4: return .text([0xFF, 0xFE])
            default: return .text(Array(texts[Int(random.next() % UInt64(texts.count))].utf8))
            }
        }
        var understood = 0
        for _ in 0..<Soak.current.rounds(of: 1_000_000, few: 50_000) {
            let word = words[Int(random.next() % UInt64(words.count))]
            let count = random.next() % 3 == 0 ? [9, 11, 3][Int(random.next() % 3)] : Int(random.next() % 4)
            let items = [StoreReply.text(Array("1".utf8)), .text(Array(word.utf8))] + (0..<count).map { _ in any(1) }
            let order = orders[Int(random.next() % UInt64(orders.count))]
            guard let reply = BoardReply(.list(items), to: order) else { continue }
            understood += 1
            switch reply {
            case .lease(let lease):
                #expect((1...1_000).contains(lease.count) && lease.segment.walk >= 0 && lease.segment.first >= 0)
            case .manifest(let entries, let next):
                #expect(entries.map(\.segment) == entries.map(\.segment).sorted())
                #expect(next.map { $0 > segment } ?? true)
                for case .failed(_, let detail) in entries.map(\.state) { #expect(!detail.contains("\u{1B}")) }
            case .wait(let time): #expect(time <= .seconds(2))
            default: break
            }
        }
        #expect(understood > 1_000, "seed \(seed)")
    }
}
