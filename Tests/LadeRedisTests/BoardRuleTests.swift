import Foundation
import Lade
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

/// The rules of a board, in virtual time.
@Suite(.timeLimit(.minutes(5)))
struct BoardRuleTests {
    /// A board with its workers.
    private struct Fixture {
        let time = VirtualTime()
        let board: LocalBoard
        let one: any WorkBoard
        let two: any WorkBoard
        var run = BoardRun(digest: "d", text: "the arguments")

        init(_ change: (inout BoardRun) -> Void = { _ in }) {
            board = LocalBoard(time: time)
            (one, two) = (board.worker("one"), board.worker("two"))
            run.size = 4
            change(&run)
        }

        func open(_ board: (any WorkBoard)? = nil, _ opening: BoardOpening = .join, epoch: UInt64 = 1) async
            -> BoardReply?
        {
            await (board ?? one).carryOut(.open(run, opening, epoch: epoch, lost: nil))
        }

        /// A segment, which there must be.
        func claim(_ board: (any WorkBoard)? = nil, epoch: UInt64 = 1) async throws -> BoardLease {
            let reply = await (board ?? one).carryOut(.claim(epoch: epoch))
            guard case .lease(let lease)? = reply else {
                Issue.record("\(String(describing: reply))")
                throw CancellationError()
            }
            return lease
        }

        func commit(_ lease: BoardLease, _ pages: Int, _ sequel: BoardSequel, announced: Int? = nil) async
            -> BoardReply?
        {
            await one.carryOut(.commit(lease, BoardRuleTests.part(pages, announced: announced), sequel))
        }

        func fail(_ lease: BoardLease, _ kind: BoardFailure.Kind = .temporary) async -> BoardReply? {
            await one.carryOut(.commit(lease, nil, .failed(BoardFailure(kind, detail: "status 500"), nil)))
        }

        func entries(epoch: UInt64 = 1) async -> [String] {
            let order = BoardOrder.manifest(epoch: epoch, from: BoardSegment(walk: 0, first: 0))
            guard case .manifest(let entries, nil)? = await one.carryOut(order) else { return [] }
            return entries.map { entry in
                let place = "\(entry.segment.walk).\(entry.segment.first)"
                switch entry.state {
                case .committed(let part, _, let fence): return "\(place) \(part.pages) pages, fence \(fence)"
                case .failed(let pages, let detail): return "\(place) \(pages) failed: \(detail)"
                case .open(let pages): return "\(place) \(pages) open"
                }
            }
        }

        var state: BoardState {
            get async throws {
                guard case .state(let state)? = await one.carryOut(.state) else { throw CancellationError() }
                return state
            }
        }
    }

    private static func part(_ pages: Int, announced: Int? = nil) -> BoardPart? {
        guard pages > 0 else { return nil }
        var part = BoardPart(pages: pages, items: pages * 10, lines: pages * 10, length: 100, checksum: 1)
        part.announced = announced
        return part
    }

    @Test("fleet RD-71 a part that ends the list discards the segments beyond it, and their pages are counted")
    func end() async throws {
        let fixture = Fixture()
        _ = await fixture.open()
        let (a, b) = (try await fixture.claim(), try await fixture.claim())
        let c = try await fixture.claim()
        #expect(await fixture.commit(c, 4, .more(nil)) == .done)
        #expect(await fixture.commit(b, 2, .end) == .done)
        #expect(try await fixture.state.extraPages == 4)
        #expect(await fixture.commit(a, 4, .more(nil)) == .done)
        #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .nothing(.complete))
        #expect(await fixture.entries() == ["0.0 4 pages, fence 1", "0.4 2 pages, fence 2"])
        let state = try await fixture.state
        #expect(state.pages == 6 && state.items == 60 && state.done == 2 && state.bytes == 200)
    }

    @Test("fleet RD-71 no segment is begun beyond an announced total, unless the list goes on there")
    func total() async throws {
        let fixture = Fixture()
        _ = await fixture.open()
        let (a, b) = (try await fixture.claim(), try await fixture.claim(fixture.two))
        #expect(await fixture.commit(a, 4, .more(nil), announced: 7) == .done)
        guard case .wait? = await fixture.one.carryOut(.claim(epoch: 1)) else {
            Issue.record("a segment beyond the total")
            return
        }
        #expect(await fixture.two.carryOut(.commit(b, Self.part(4), .more(nil))) == .done)
        let c = try await fixture.claim()
        #expect(c.segment.first == 8)
        #expect(await fixture.one.carryOut(.commit(c, nil, .end)) == .done)
        #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .nothing(.complete))
    }

    @Test("fleet RD-72 RD-74 a walk by links has one live segment, and its commit makes the next one ready")
    func links() async throws {
        let fixture = Fixture {
            $0.isNumbered = false
            $0.walks = 2
        }
        _ = await fixture.open()
        let (a, b) = (try await fixture.claim(), try await fixture.claim(fixture.two))
        #expect(a.segment.walk == 0 && b.segment.walk == 1 && a.cursor == nil && a.count == 4)
        #expect(await fixture.two.carryOut(.claim(epoch: 1)) == .wait(.seconds(1)))
        // Without a cursor the list would begin again.
        #expect(await fixture.commit(a, 3, .more(nil)) == .refused)
        #expect(await fixture.commit(a, 3, .more(Secret(String(repeating: "x", count: 16_385)))) == .refused)
        #expect(await fixture.commit(a, 3, .more("next")) == .done)
        let c = try await fixture.claim(fixture.two)
        #expect(c.segment == BoardSegment(walk: 0, first: 3) && c.cursor == "next")
        // A page that failed costs the walk nothing but the pages after it.
        #expect(await fixture.commit(c, 2, .failed(BoardFailure(.lasting, detail: "status 404"), "third")) == .done)
        let d = try await fixture.claim(fixture.two)
        #expect(d.segment.first == 5 && d.cursor == "third" && d.attempt == 2)
        #expect(await fixture.fail(d, .lasting) == .done)
        #expect(await fixture.one.carryOut(.commit(b, Self.part(4), .end)) == .done)
        #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .nothing(.incomplete))
        #expect(try await fixture.state.failed == 1)
        // Its cursor is kept.
        #expect(await fixture.one.carryOut(.retry) == .done)
        let e = try await fixture.claim()
        #expect(e.segment.first == 5 && e.cursor == "third" && e.attempt == 1 && e.count == 4)
        #expect(await fixture.commit(e, 1, .end) == .done)
        #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .nothing(.complete))
    }

    @Test("fleet RD-74 RD-75 an ended lease is claimed first, then what was given back, then a new segment")
    func order() async throws {
        let fixture = Fixture()
        _ = await fixture.open()
        let (a, b) = (try await fixture.claim(), try await fixture.claim(fixture.two))
        let c = try await fixture.claim(fixture.two)
        #expect(await fixture.two.carryOut(.drop(c)) == .done)
        fixture.board.silence("one")
        fixture.time.advance(by: .seconds(29))
        let d = try await fixture.claim(fixture.two)
        #expect(d.segment == c.segment && d.attempt == 1)
        fixture.time.advance(by: .seconds(1))
        let e = try await fixture.claim(fixture.two)
        #expect(e.segment == a.segment && e.attempt == 2 && e.fence > d.fence)
        #expect(try await fixture.claim(fixture.two).segment.first == 12)
        // The worker that lives keeps what it has.
        #expect(fixture.two.standing(of: b) == .held)
        fixture.board.wake("one")
        #expect(fixture.one.standing(of: a) == .lost)
        #expect(await fixture.commit(a, 4, .more(nil)) == .refused)
        #expect(try await fixture.state.extraPages == 4)
    }

    @Test("fleet RD-85 a page that fails is tried after 1, 5, 25 and 25 seconds, then it has failed alone")
    func attempts() async throws {
        let fixture = Fixture { $0.limit = 4 }
        _ = await fixture.open()
        var lease = try await fixture.claim()
        #expect(await fixture.commit(lease, 1, .failed(BoardFailure(.temporary, detail: "status 503"), nil)) == .done)
        for (index, delay) in [1, 5, 25, 25].enumerated() {
            #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .wait(.seconds(1)))
            fixture.time.advance(by: .seconds(delay) - .milliseconds(1))
            #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .wait(.milliseconds(10)))
            fixture.time.advance(by: .milliseconds(1))
            lease = try await fixture.claim()
            #expect(lease.segment.first == 1 && lease.count == 3 && lease.attempt == index + 2)
            #expect(await fixture.fail(lease) == .done)
        }
        #expect(await fixture.entries() == ["0.0 1 pages, fence 1", "0.1 1 failed: status 500", "0.2 2 open"])
        let rest = try await fixture.claim()
        #expect(rest.segment.first == 2 && rest.count == 2 && rest.attempt == 1)
        #expect(await fixture.commit(rest, 2, .more(nil)) == .done)
        #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .nothing(.incomplete))
    }

    @Test("fleet RD-85 a page that cannot be read is tried once more by another worker, or after 5 s by the same")
    func lasting() async throws {
        for isAlone in [true, false] {
            let fixture = Fixture { $0.limit = 4 }
            _ = await fixture.open()
            #expect(await fixture.fail(try await fixture.claim(), .lasting) == .done)
            guard case .wait? = await fixture.one.carryOut(.claim(epoch: 1)) else {
                Issue.record("claimed by the same worker")
                return
            }
            if isAlone { fixture.time.advance(by: .seconds(5)) }
            let lease = try await fixture.claim(isAlone ? fixture.one : fixture.two)
            #expect(lease.attempt == 2)
            #expect(await fixture.fail(lease, .lasting) == .done)
            #expect(await fixture.entries() == ["0.0 1 failed: status 500", "0.1 3 open"])
        }
    }

    @Test("fleet RD-85 pages that end their workers fail, and do not go round for ever")
    func poison() async throws {
        let fixture = Fixture { $0.limit = 4 }
        _ = await fixture.open()
        fixture.board.silence("one")
        for attempt in 1...5 {
            #expect(try await fixture.claim().attempt == attempt)
            fixture.time.advance(by: .seconds(30))
        }
        #expect(await fixture.two.carryOut(.claim(epoch: 1)) == .nothing(.incomplete))
        #expect(await fixture.entries() == ["0.0 4 failed: its workers ended"])
    }

    @Test("fleet RD-86 a server on which nothing works ends the run after some pages")
    func nothingWorks() async throws {
        let fixture = Fixture()
        _ = await fixture.open()
        var tries = 0
        while case .lease(let lease)? = await fixture.one.carryOut(.claim(epoch: 1)) {
            tries += 1
            #expect(await fixture.fail(lease, .expired) == .done)
        }
        #expect(tries == 8)
        #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .nothing(.incomplete))
        #expect(await fixture.entries().last == "0.7 1 failed: status 500")
        // A later try goes on behind it.
        #expect(await fixture.one.carryOut(.retry) == .done)
        #expect(try await fixture.state.ready == 8)
    }

    @Test("fleet RD-87 a segment that is given back counts no attempt, and may be given back in part")
    func givenBack() async throws {
        let fixture = Fixture { $0.limit = 4 }
        _ = await fixture.open()
        for _ in 0..<7 { #expect(await fixture.one.carryOut(.drop(try await fixture.claim())) == .done) }
        let lease = try await fixture.claim(fixture.two)
        #expect(lease.attempt == 1)
        #expect(await fixture.two.carryOut(.commit(lease, Self.part(3), .more(nil))) == .done)
        #expect(await fixture.entries() == ["0.0 3 pages, fence 8", "0.3 1 open"])
    }

    @Test("fleet RD-88 RD-90 the same arguments join, in any order and after all have left; others are refused")
    func opening() async throws {
        let fixture = Fixture { $0.limit = 4 }
        #expect(await fixture.open(epoch: 1) == .opened(epoch: 1, isNew: true))
        #expect(await fixture.open(fixture.two, epoch: 2) == .opened(epoch: 1, isNew: false))
        var other = fixture.run
        (other.digest, other.text) = ("e", "other arguments")
        let open = BoardOrder.open(other, .join, epoch: 3, lost: nil)
        #expect(await fixture.two.carryOut(open) == .differs("the arguments"))
        fixture.board.silence("one")
        _ = try await fixture.claim()
        fixture.time.advance(by: .seconds(3_600))
        let lease = try await fixture.claim(fixture.board.worker("three"))
        #expect(lease.segment.first == 0)
    }

    @Test("fleet RD-89 a complete run says since when; a restart is refused while leases are held, unless forced")
    func restart() async throws {
        let fixture = Fixture { $0.limit = 4 }
        _ = await fixture.open()
        let lease = try await fixture.claim()
        #expect(await fixture.open(fixture.two, .restart(force: false), epoch: 2) == .busy(1))
        #expect(await fixture.commit(lease, 4, .more(nil)) == .done)
        #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .nothing(.complete))
        fixture.time.advance(by: .seconds(60))
        #expect(await fixture.open() == .complete(epoch: 1, since: .seconds(60), isMerged: false))
        #expect(await fixture.open(fixture.two, .restart(force: false), epoch: 2) == .opened(epoch: 2, isNew: true))
        #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .unknown)
        let again = try await fixture.claim(epoch: 2)
        #expect(await fixture.open(fixture.two, .restart(force: true), epoch: 3) == .opened(epoch: 3, isNew: true))
        #expect(await fixture.commit(again, 4, .more(nil)) == .unknown)
        // The parts of a run that was begun anew on purpose do not return.
        for old in [lease, again] {
            let offer = BoardOffer(old, try #require(Self.part(4)), .more(nil))
            #expect(await fixture.one.carryOut(.offer(epoch: 3, offer)) == .refused)
        }
    }

    @Test("fleet RD-80 parts of a lost run fill a new board, whatever the order of the workers")
    func offers() async throws {
        let fixture = Fixture { $0.walks = 2 }
        var old: [BoardLease] = []
        for first in [0, 4, 8, 12] {
            old.append(BoardLease(epoch: 1, segment: BoardSegment(walk: 1, first: first), count: 4, fence: 1 + first))
        }
        let open = BoardOrder.open(fixture.run, .join, epoch: 2, lost: 1)
        #expect(await fixture.one.carryOut(open) == .opened(epoch: 2, isNew: true))
        #expect(await fixture.one.carryOut(.claim(epoch: 2)) == .wait(.seconds(1)))
        func offer(_ lease: BoardLease, _ pages: Int, _ sequel: BoardSequel) async throws -> BoardReply? {
            let offer = BoardOffer(lease, try #require(Self.part(pages)), sequel)
            return await fixture.one.carryOut(.offer(epoch: 2, offer))
        }
        #expect(try await offer(old[2], 3, .more(nil)) == .done)
        #expect(try await offer(old[3], 1, .end) == .done)
        #expect(try await offer(old[0], 4, .more(nil)) == .done)
        #expect(try await offer(old[0], 4, .more(nil)) == .done)
        var other = old[0]
        (other.segment.first, other.fence) = (2, 77)
        #expect(try await offer(other, 2, .more(nil)) == .refused)
        other.segment.first = 6
        #expect(try await offer(other, 1, .more(nil)) == .done)
        let found = await fixture.entries(epoch: 2)
        let parts = ["1.0 4 pages, fence 1", "1.4 2 open", "1.6 1 pages, fence 77", "1.7 1 open"]
        #expect(found == parts + ["1.8 3 pages, fence 9", "1.11 1 open", "1.12 1 pages, fence 13"])
    }

    @Test("fleet RD-80 parts of a walk by links are offered from its beginning on")
    func offersOfLinks() async throws {
        let fixture = Fixture { $0.isNumbered = false }
        _ = await fixture.one.carryOut(.open(fixture.run, .join, epoch: 2, lost: 1))
        func offer(_ first: Int, _ sequel: BoardSequel, generation: Int = 0) async throws -> BoardReply? {
            let fence = 1 + first + generation * 100
            var lease = BoardLease(epoch: 1, segment: BoardSegment(walk: 0, first: first), count: 4, fence: fence)
            lease.generation = generation
            return await fixture.one.carryOut(.offer(epoch: 2, BoardOffer(lease, try #require(Self.part(4)), sequel)))
        }
        #expect(try await offer(4, .more("c")) == .early)
        #expect(try await offer(0, .more("b")) == .done)
        #expect(try await offer(4, .more("c")) == .done)
        fixture.time.advance(by: .seconds(2))
        let lease = try await fixture.claim(epoch: 2)
        #expect(lease.segment.first == 8 && lease.cursor == "c")
        // A walk that has begun again since then is the newer one.
        #expect(try await offer(4, .more("z"), generation: 1) == .early)
        #expect(try await offer(0, .more("y"), generation: 1) == .done)
        #expect(try await offer(4, .more("c")) == .refused)
        #expect(fixture.one.standing(of: lease) == .lost)
        #expect(await fixture.entries(epoch: 2) == ["0.0 4 pages, fence 101", "0.4 4 open"])
    }

    @Test("fleet RD-91 a walk whose cursor has expired fails, or begins again without its parts")
    func expired() async throws {
        for restarts in [false, true] {
            let fixture = Fixture {
                $0.isNumbered = false
                $0.restartsWalks = restarts
            }
            _ = await fixture.open()
            #expect(await fixture.commit(try await fixture.claim(), 4, .more("next")) == .done)
            #expect(await fixture.fail(try await fixture.claim(), .expired) == .done)
            guard restarts else {
                #expect(await fixture.entries() == ["0.0 4 pages, fence 1", "0.4 1 failed: status 500"])
                continue
            }
            #expect(await fixture.entries() == ["0.0 4 open"])
            for generation in 1...5 {
                let lease = try await fixture.claim()
                #expect(lease.generation == generation && lease.segment.first == 0 && lease.cursor == nil)
                #expect(await fixture.fail(lease, .expired) == .done)
            }
            #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .nothing(.incomplete))
        }
    }

    @Test("fleet RD-92 one worker merges a complete run, and another one when it has ended")
    func merge() async throws {
        let fixture = Fixture { $0.limit = 4 }
        _ = await fixture.open()
        let lease = try await fixture.claim()
        #expect(await fixture.one.carryOut(.merge(epoch: 1)) == .refused)
        #expect(await fixture.commit(lease, 4, .more(nil)) == .done)
        _ = await fixture.one.carryOut(.claim(epoch: 1))
        guard case .merge(let fence)? = await fixture.one.carryOut(.merge(epoch: 1)) else {
            Issue.record("no right to merge")
            return
        }
        fixture.time.advance(by: .seconds(100))
        #expect(fixture.one.holdsMerge(fence: fence))
        #expect(await fixture.two.carryOut(.merge(epoch: 1)) == .wait(.seconds(1)))
        fixture.board.silence("one")
        fixture.time.advance(by: .seconds(30))
        guard case .merge(let next)? = await fixture.two.carryOut(.merge(epoch: 1)) else {
            Issue.record("no right to merge")
            return
        }
        fixture.board.wake("one")
        #expect(!fixture.one.holdsMerge(fence: fence))
        #expect(await fixture.one.carryOut(.merged(epoch: 1, fence: fence)) == .refused)
        #expect(await fixture.two.carryOut(.merged(epoch: 1, fence: next)) == .done)
        #expect(
            await fixture.one.carryOut(.merge(epoch: 1)) == .complete(epoch: 1, since: .seconds(130), isMerged: true)
        )
        // A part that is missing is loaded again, and the output is merged again.
        #expect(await fixture.one.carryOut(.reload(lease.segment)) == .done)
        #expect(try await fixture.claim().segment == lease.segment)
        #expect(try await fixture.state.phase == .running)
    }

    @Test("fleet RD-103 a cancelled run takes the pages that are loaded, and is continued only on request")
    func cancelled() async throws {
        let fixture = Fixture { $0.limit = 4 }
        _ = await fixture.open()
        let lease = try await fixture.claim()
        #expect(await fixture.two.carryOut(.cancel) == .done)
        #expect(fixture.one.standing(of: lease) == .cancelled)
        #expect(await fixture.commit(lease, 2, .more(nil)) == .done)
        #expect(await fixture.one.carryOut(.claim(epoch: 1)) == .cancelled)
        #expect(await fixture.open() == .cancelled)
        #expect(await fixture.open(fixture.one, .resume) == .opened(epoch: 1, isNew: false))
        let rest = try await fixture.claim()
        #expect(rest.segment.first == 2 && rest.count == 2)
        #expect(fixture.one.standing(of: rest) == .held)
    }

    @Test("fleet RD-95 an order that does not reach the board has no reply, and the same commit counts once")
    func unreachable() async throws {
        let fixture = Fixture { $0.limit = 8 }
        _ = await fixture.open()
        let lease = try await fixture.claim()
        fixture.board.isReachable = false
        #expect(await fixture.commit(lease, 4, .more(nil)) == nil)
        fixture.board.isReachable = true
        #expect(await fixture.commit(lease, 4, .more(nil)) == .done)
        #expect(await fixture.commit(lease, 4, .more(nil)) == .done)
        #expect(try await fixture.state.pages == 4)
    }
}
