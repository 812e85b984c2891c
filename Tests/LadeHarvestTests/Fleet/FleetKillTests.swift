import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

/// Workers that are killed, and boards that lose their contents, at random moments.
@Suite("A harvest by workers that are killed", .timeLimit(.minutes(10)))
struct FleetKillTests {
    /// A life of a worker that ends after some steps, or with the run.
    private static func live(
        _ rig: FleetRig,
        _ name: String,
        steps: Int,
        isLastCarriedOut: Bool
    ) async throws -> HarvestWorker.Ending? {
        let life = Mortal(steps: steps, isLastCarriedOut: isLastCarriedOut) { [board = rig.board] in board.silence(name)
        }
        var worker = try rig.worker(name, MortalDisk(life))
        worker.patience = .seconds(5)
        let loader = rig.loader
        let board = MortalBoard(rig.board.worker(name), life)
        defer { rig.board.silence(name) }
        do throws(HarvestError) {
            let summary = try await worker.work(
                on: board,
                fetch: { (request) async throws(LoadingError) in
                    guard life.step().isCarriedOut else { throw LoadingError(.cancelled) }
                    return try await loader.load(request)
                }
            )
            return life.isDead ? nil : summary.ending
        } catch {
            guard life.isDead else { throw error }
            return nil
        }
    }

    /// There are 200 runs in `make soak`, and some in `make test`.
    @Test(
        "fleet RD-78 RD-79 RD-126 kills at random moments leave the bytes of one harvest",
        arguments: FleetRig.Form.allCases
    )
    func killed(form: FleetRig.Form) async throws {
        let seed = Soak.current.seed(for: "killed workers \(form)")
        for round in 0..<Soak.current.rounds(of: 200, few: 12) {
            let seed = seed + UInt64(round)
            let random = SeededRandom(seed: seed)
            let rig = try FleetRig(
                .init(form: form, count: 60 + random.next(below: 100), seed: seed, faults: 5, slowness: 400)
            )
            let expected = try await rig.expected()
            let losses = random.next(below: 3) == 0 ? random.next(below: 4) : 0
            let kills = Locked(0)
            var endings = try await rig.time.runAutomatically {
                try await withThrowingTaskGroup(of: HarvestWorker.Ending.self) { group in
                    for number in 0..<4 {
                        group.addTask {
                            while true {
                                let isMortal = kills.withLock { kills in
                                    kills += 1
                                    return kills <= 14
                                }
                                let ending = try await Self.live(
                                    rig,
                                    "w\(number)",
                                    steps: isMortal ? random.next(below: 120) : .max,
                                    isLastCarriedOut: random.next(below: 2) == 0
                                )
                                if let ending { return ending }
                                try await rig.time.sleep(for: .milliseconds(random.next(below: 40_000)))
                            }
                        }
                    }
                    for _ in 0..<losses {
                        try await rig.time.sleep(for: .milliseconds(random.next(below: 9_000)))
                        rig.board.lose()
                    }
                    var endings: [HarvestWorker.Ending] = []
                    for try await ending in group { endings.append(ending) }
                    return endings
                }
            }
            // A segment whose workers are killed five times fails (RD-85), and is tried again on request.
            if endings.allSatisfy(\.hasEndedWorkers) {
                _ = await rig.board.worker("any").carryOut(.retry)
                endings = try await rig.run([try rig.worker("w9")]).map(\.ending)
            }
            #expect(rig.folder.text("out") == expected, "\(form), seed \(seed), \(losses) losses")
            for ending in endings {
                switch ending {
                case .complete, .completeBefore: break
                default: Issue.record("\(form), seed \(seed): \(ending)")
                }
            }
        }
    }

    @Test("fleet RD-80 RD-81 a store that is lost again and again is filled from the journals", arguments: [1, 3, 5])
    func lost(losses: Int) async throws {
        for form in FleetRig.Form.allCases {
            let rig = try FleetRig(.init(form: form, count: 150, slowness: 300))
            let expected = try await rig.expected()
            let (board, time, loader) = (rig.board, rig.time, rig.loader)
            let workers = try (0..<4).map { try rig.worker("w\($0)") }
            let endings = try await time.runAutomatically {
                try await withThrowingTaskGroup(of: HarvestWorker.Ending.self) { group in
                    for worker in workers {
                        group.addTask {
                            defer { board.silence(worker.name) }
                            return try await worker.work(on: board.worker(worker.name), with: loader).ending
                        }
                    }
                    for _ in 0..<losses {
                        try await time.sleep(for: .milliseconds(700))
                        board.lose()
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            #expect(rig.folder.text("out") == expected, "\(form)")
            #expect(endings.allSatisfy { if case .complete = $0 { true } else { false } }, "\(form) \(endings)")
            let pages = rig.requestCount
            let needed = try await rig.needed()
            #expect(Double(pages) <= 2.2 * Double(needed) + 8, "\(form): \(pages) requests for \(needed) pages")
        }
    }

    @Test("fleet RD-79 a kill costs at most one segment", arguments: [FleetRig.Form.pages, .links])
    func cost(form: FleetRig.Form) async throws {
        let rig = try FleetRig(.init(form: form, count: 240, slowness: 1))
        let needed = try await rig.needed()
        for number in 0..<20 {
            let ending = try await rig.time.runAutomatically {
                try await Self.live(rig, "w", steps: 17 + number, isLastCarriedOut: number.isMultiple(of: 2))
            }
            if ending != nil { break }
        }
        #expect(try await rig.run([try rig.worker("w")]).first?.ending != .stopped)
        #expect(rig.requestCount <= needed + 20 * 4)
    }
}

extension HarvestWorker.Ending {
    /// Whether all that is missing is missing because workers ended.
    fileprivate var hasEndedWorkers: Bool {
        guard case .incomplete(let lines) = self else { return false }
        return lines.allSatisfy { $0.hasSuffix(": its workers ended") }
    }
}

extension FleetRig {
    /// The number of requests of one harvest; it counts from now on.
    func needed() async throws -> Int {
        let other = try FleetRig(settings)
        _ = try await other.run([try other.worker()])
        return other.requestCount
    }
}
