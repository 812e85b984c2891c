import Foundation
import Lade
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

/// All interleavings of workers of one run, with the board as its model.
@Suite(.timeLimit(.minutes(30)))
struct BoardModelTests {
    /// The number of faults of each kind.
    struct Faults: Hashable, CustomTestStringConvertible {
        var kills = 0
        var stops = 0
        /// Losses of everything that the board holds.
        var losses = 0
        /// Connections that are lost while an order is on its way, which may be carried out later.
        var cuts = 0
        /// Workers that end cleanly, and give back what they have.
        var leaves = 0
        /// Pages that cannot be loaded.
        var failures = 0

        var testDescription: String {
            "\(kills) kills, \(stops) stops, \(losses) losses, \(cuts) cuts, \(leaves) leaves, \(failures) failures"
        }
    }

    /// A rule that is broken on purpose.
    enum Fault: Hashable {
        case board(BoardModel.Break)
        /// The name of a part does not have the epoch.
        case namesWithoutEpoch
    }

    private enum Step: Hashable {
        case start
        /// An order is on its way to the board.
        case order(BoardOrder)
        /// A reply has arrived; one that says to wait, with what the board was then.
        case reply(BoardOrder, BoardReply?, seen: BoardModel?, at: Int)
        case waiting(seen: BoardModel, at: Int)
        case loading(BoardLease)
        /// The part is in the folder under its name, and in the journal.
        case written(BoardLease)
        case done
    }

    private enum Life: Hashable {
        case running
        case stopped
        case dead
    }

    private struct Worker: Hashable {
        var number: Int
        var life = Life.running
        var step = Step.start
        var epoch: UInt64?
        var journal: [BoardOffer] = []
        /// The parts that the board has not heard of since it was lost.
        var offers: [BoardOffer] = []
        var leaves = false

        var name: String { "w\(number)" }
    }

    /// The name of a part.
    private struct FileName: Hashable {
        var segment: BoardSegment
        var epoch: UInt64
        var fence: Int
    }

    /// Late orders, of workers that do not wait for them any longer.
    private struct Late: Hashable {
        var worker: Int
        var order: BoardOrder
    }

    private struct World: Hashable {
        var board: BoardModel
        var now = 1_000_000
        var workers: [Worker]
        var late: [Late] = []
        /// The contents of the folder.
        var files: [FileName: UInt64] = [:]
        var lastEpoch: UInt64 = 0
        var faults: Faults
        var isNumbered: Bool
        var omitsEpoch = false
        /// The part that each segment has had since the last loss.
        var named: [BoardSegment: FileName] = [:]

        var run: BoardRun {
            var run = BoardRun(digest: "d", text: "t")
            (run.size, run.limit, run.isNumbered) = (1, 2, isNumbered)
            return run
        }

        func fileName(_ segment: BoardSegment, _ epoch: UInt64, _ fence: Int) -> FileName {
            FileName(segment: segment, epoch: omitsEpoch ? 0 : epoch, fence: fence)
        }
    }

    /// The worlds that can follow; a violation ends the search.
    private struct Search {
        var states = 0
        var steps = 0
        var violations: Set<String> = []
        var isComplete = false

        mutating func run(_ start: World, stopsAtFirst: Bool, most: Int) {
            var seen: Set<Int> = [start.hashValue]
            var open = [start]
            while let world = open.popLast() {
                states += 1
                var hasNext = false
                for next in successors(of: world) {
                    hasNext = true
                    steps += 1
                    if seen.insert(next.hashValue).inserted { open.append(next) }
                }
                if !hasNext, world.workers.contains(where: { $0.life == .running && $0.step != .done }) {
                    violations.insert("a dead end")
                }
                if stopsAtFirst && !violations.isEmpty || states >= most { return }
            }
            isComplete = true
        }

        private mutating func successors(of world: World) -> [World] {
            var found: [World] = []
            for index in world.workers.indices { moves(of: index, in: world, &found) }
            for index in world.late.indices {
                var next = world
                let late = next.late.remove(at: index)
                _ = execute(late.order, late.worker, &next)
                found.append(next)
            }
            if world.faults.losses > 0, world.lastEpoch > 0 {
                var next = world
                next.faults.losses -= 1
                _ = next.board.carryOut(.forget, of: "", at: next.now)
                next.named = [:]
                found.append(next)
            }
            if let next = tick(world) { found.append(next) }
            return found
        }

        /// The steps and faults of one worker.
        private mutating func moves(of index: Int, in world: World, _ found: inout [World]) {
            let worker = world.workers[index]
            func add(_ change: (inout World) -> Void) {
                var next = world
                change(&next)
                found.append(next)
            }
            if case .order(let order) = worker.step {
                // An order that was sent arrives, whatever happens to its sender.
                var next = world
                let reply = execute(order, index, &next)
                let isWait = if case .wait = reply { true } else { false }
                next.workers[index].step = .reply(order, reply, seen: isWait ? next.board : nil, at: next.now)
                found.append(next)
                if world.faults.cuts > 0, worker.life == .running {
                    add {
                        $0.faults.cuts -= 1
                        $0.late.append(Late(worker: index, order: order))
                        $0.workers[index].step = .reply(order, nil, seen: nil, at: $0.now)
                    }
                }
            }
            switch worker.life {
            case .dead: return
            case .stopped: add { $0.workers[index].life = .running }
            case .running:
                guard worker.step != .done else { return }
                if world.faults.kills > 0 {
                    add {
                        $0.workers[index].life = .dead
                        $0.faults.kills -= 1
                    }
                }
                if world.faults.stops > 0 {
                    add {
                        $0.workers[index].life = .stopped
                        $0.faults.stops -= 1
                    }
                }
                if case .loading(let lease) = worker.step {
                    if world.faults.leaves > 0 {
                        add {
                            $0.faults.leaves -= 1
                            $0.workers[index].leaves = true
                            $0.workers[index].step = .order(.drop(lease))
                        }
                    }
                    if world.faults.failures > 0 {
                        add {
                            $0.faults.failures -= 1
                            let failure = BoardFailure(.lasting, detail: "")
                            $0.workers[index].step = .order(.commit(lease, nil, .failed(failure, nil)))
                        }
                    }
                }
                var next = world
                if proceed(index, &next) { found.append(next) }
            }
        }

        /// Carries out an order, and checks what the board has then.
        private mutating func execute(_ order: BoardOrder, _ index: Int, _ world: inout World) -> BoardReply {
            let reply = world.board.carryOut(order, of: world.workers[index].name, at: world.now)
            check(&world)
            if case .nothing(.complete) = reply {
                let isWhole = (0..<2).allSatisfy { world.named[BoardSegment(walk: 0, first: $0)] != nil }
                if !isWhole { violations.insert("complete without a part") }
            }
            return reply
        }

        /// A record names one whole part, and is never replaced.
        private mutating func check(_ world: inout World) {
            guard world.lastEpoch > 0 else { return }
            let from = BoardSegment(walk: 0, first: 0)
            for epoch in 1...world.lastEpoch {
                let order = BoardOrder.manifest(epoch: epoch, from: from)
                var board = world.board
                guard case .manifest(let entries, _) = board.carryOut(order, of: "", at: world.now) else { continue }
                for entry in entries {
                    guard case .committed(let part, let epoch, let fence) = entry.state else { continue }
                    let name = world.fileName(entry.segment, epoch, fence)
                    if world.files[name] != part.checksum { violations.insert("a record names no whole part") }
                    if let before = world.named[entry.segment], before != name {
                        violations.insert("a record is replaced")
                    }
                    world.named[entry.segment] = name
                }
            }
        }

        private mutating func proceed(_ index: Int, _ world: inout World) -> Bool {
            let worker = world.workers[index]
            switch worker.step {
            case .done, .order: return false
            case .start: open(index, &world)
            case .waiting(let seen, let time):
                guard seen != world.board || time < world.now, let epoch = worker.epoch else { return false }
                world.workers[index].step = .order(.claim(epoch: epoch))
            case .loading(let lease):
                // The contents are other ones for each worker and lease, so that a part in the place of another is seen.
                let content = UInt64(index + 1) * 1_000_000 + lease.epoch * 1_000 + UInt64(lease.fence)
                world.files[world.fileName(lease.segment, lease.epoch, lease.fence)] = content
                let part = BoardPart(pages: 1, items: 1, lines: 1, length: 1, checksum: content)
                let next = Secret("\(lease.segment.first + 1)")
                world.workers[index].journal.append(BoardOffer(lease, part, .more(next)))
                world.workers[index].step = .written(lease)
                check(&world)
            case .written(let lease):
                guard let offer = worker.journal.last else { return false }
                world.workers[index].step = .order(.commit(lease, offer.part, offer.sequel))
            case .reply(.claim, .wait, let seen?, let time): world.workers[index].step = .waiting(seen: seen, at: time)
            case .reply(let order, let reply, _, _): take(reply, to: order, index, &world)
            }
            return true
        }

        private func open(_ index: Int, _ world: inout World) {
            world.lastEpoch += 1
            let order = BoardOrder.open(world.run, .join, epoch: world.lastEpoch, lost: world.workers[index].epoch)
            world.workers[index].step = .order(order)
        }

        private mutating func take(_ reply: BoardReply?, to order: BoardOrder, _ index: Int, _ world: inout World) {
            let worker = world.workers[index]
            switch (order, reply) {
            case (_, .unknown): open(index, &world)
            case (.open, .opened(let epoch, _)):
                if let before = worker.epoch, before != epoch { world.workers[index].offers = worker.journal }
                world.workers[index].epoch = epoch
                goOn(index, &world)
            case (.open, .complete): world.workers[index].step = .done
            case (.claim, .lease(let lease)): world.workers[index].step = .loading(lease)
            case (.claim, .nothing): world.workers[index].step = .done
            case (.claim, nil): goOn(index, &world)
            case (.commit(let lease, let part, _), nil):
                // A beat says that the lease is lost: the worker deletes its part, though its order may be on its way.
                let fences = [lease.segment: lease.fence]
                let beat = BoardOrder.beat(epoch: lease.epoch, fences: fences, merge: nil)
                if part != nil, world.late.last?.order == order,
                    case .beat(let lost, _, _) = world.board.carryOut(beat, of: worker.name, at: world.now),
                    !lost.isEmpty
                {
                    delete(lease, index, &world)
                    goOn(index, &world)
                } else {
                    world.workers[index].step = .order(order)
                }
            case (.commit(let lease, let part, _), let reply?):
                if part != nil, reply == .refused { delete(lease, index, &world) }
                goOn(index, &world)
                if worker.leaves { world.workers[index].step = .done }
            case (.open, nil), (.offer, nil): world.workers[index].step = .order(order)
            case (.offer, _):
                world.workers[index].offers.removeFirst()
                goOn(index, &world)
            default:
                violations.insert("\(reply.map(String.init(describing:)) ?? "no reply")")
                world.workers[index].step = .done
            }
        }

        private mutating func delete(_ lease: BoardLease, _ index: Int, _ world: inout World) {
            world.files[world.fileName(lease.segment, lease.epoch, lease.fence)] = nil
            world.workers[index].journal.removeLast()
            check(&world)
        }

        private func goOn(_ index: Int, _ world: inout World) {
            let worker = world.workers[index]
            guard let epoch = worker.epoch else { return open(index, &world) }
            let next = worker.offers.first.map { BoardOrder.offer(epoch: epoch, $0) } ?? .claim(epoch: epoch)
            world.workers[index].step = .order(next)
        }

        /// Time passes only while every running worker waits or loads; the leases of those that run are extended.
        private func tick(_ world: World) -> World? {
            var (next, held) = (world, Set<BoardSegment>())
            for worker in world.workers where worker.life == .running {
                switch worker.step {
                case .done: continue
                case .waiting(let seen, let time): if seen != world.board || time < world.now { return nil }
                case .loading(let lease):
                    let beat = BoardOrder.beat(epoch: lease.epoch, fences: [lease.segment: lease.fence], merge: nil)
                    _ = next.board.carryOut(beat, of: worker.name, at: world.now)
                    held.insert(lease.segment)
                default: return nil
                }
            }
            guard let due = next.board.due(after: world.now, except: held) else { return nil }
            next.now = due
            return next
        }
    }

    private static func search(
        _ faults: Faults,
        isNumbered: Bool,
        _ fault: Fault? = nil,
        most: Int = .max
    ) -> Search {
        var board = BoardModel()
        if case .board(let rule) = fault { board.broken = rule }
        let workers = (0..<2).map { Worker(number: $0) }
        var world = World(board: board, workers: workers, faults: faults, isNumbered: isNumbered)
        world.omitsEpoch = fault == .namesWithoutEpoch
        var search = Search()
        search.run(world, stopsAtFirst: fault != nil, most: most)
        return search
    }

    @Test(
        "fleet RD-123 RD-78 RD-81 in all interleavings a segment has one whole part, which stays, and no worker waits in vain",
        arguments: [
            Faults(kills: 1), Faults(stops: 1), Faults(losses: 1), Faults(cuts: 1), Faults(leaves: 1, failures: 1),
            Faults(kills: 1, stops: 1), Faults(stops: 1, losses: 1), Faults(kills: 2, stops: 2),
            Faults(stops: 2, losses: 2),
            Faults(kills: 1, stops: 1, losses: 1, cuts: 1),
        ],
        [true, false]
    )
    func enumerated(faults: Faults, isNumbered: Bool) {
        let search = Self.search(faults, isNumbered: isNumbered, most: Soak.current.rounds(of: 400_000, few: 6_000))
        print(
            "\(faults.testDescription), \(isNumbered ? "numbers" : "links"): \(search.states) states, \(search.steps) steps"
                + (search.isComplete ? "" : ", not all")
        )
        #expect(search.violations.isEmpty)
        #expect(search.states > 100)
    }

    @Test(
        "fleet RD-123 rules of the board that are broken on purpose are found",
        arguments: [
            (.board(.commitWithoutFence), Faults(stops: 1, cuts: 1)), (.board(.claimWithoutFence), Faults(stops: 1)),
            (.board(.commitTwice), Faults(stops: 1)), (.board(.dropForgets), Faults(leaves: 1)),
            (.board(.offerReplaces), Faults(stops: 1, losses: 1)), (.namesWithoutEpoch, Faults(stops: 1, losses: 1)),
        ] as [(Fault, Faults)]
    )
    func broken(fault: Fault, faults: Faults) {
        let search = Self.search(faults, isNumbered: true, fault)
        print("\(fault): \(search.violations) after \(search.states) states")
        #expect(!search.violations.isEmpty)
    }
}
