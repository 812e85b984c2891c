import Foundation
import LadeCore
import LadePolicies
import LadeRedis
import LadeTesting
import SharedDoubles
import Testing

/// Members in virtual time: the real limiters, the real state of a member, and the model of the store.
@Suite(.timeLimit(.minutes(30)))
struct SimulationTests {
    @Test("fleet RD-20 eight members use a limit of 100 a second, and never more than one call above it")
    func steady() async throws {
        let simulation = Simulation()
        try await simulation.run(simulation.makeMembers(8), until: 11)
        #expect(simulation.judge.excess(rate: 100) <= 1.01)
        #expect(simulation.judge.used(rate: 100, from: 2, to: 11) >= 0.97)
        let counts = (0..<8).map { simulation.judge.times(of: $0).filter { $0.nanoseconds > 2_000_000_000 }.count }
        #expect(try Double(#require(counts.max())) <= Double(try #require(counts.min())) * 1.05 + 2, "\(counts)")
    }

    @Test("fleet RD-24 blocks of slots save round trips")
    func roundTrips() async throws {
        let simulation = Simulation()
        try await simulation.run(simulation.makeMembers(8), until: 10)
        #expect(Double(simulation.store.asks) / Double(simulation.judge.count) <= 0.4)
        var fast = Simulation()
        fast.rate = RateLimits.Rate(perSecond: 1_000)
        fast.callers = 40
        try await fast.run(fast.makeMembers(8), until: 5)
        #expect(Double(fast.store.asks) / Double(fast.judge.count) <= 0.05)
        var slow = Simulation()
        slow.rate = RateLimits.Rate(perSecond: 1)
        try await slow.run(slow.makeMembers(2), until: 30)
        #expect(Double(slow.store.asks) / Double(max(1, slow.judge.count)) <= 1.5)
    }

    @Test("fleet RD-25 RD-38 what killed members held and their shares are lost, and the limit is kept")
    func killed() async throws {
        let simulation = Simulation()
        let members = simulation.makeMembers(8)
        try await simulation.run(members, until: 75) { time, _ in
            await time.reach(5)
            members[0].kill()
            members[1].kill()
        }
        #expect(simulation.judge.excess(rate: 100) <= 1.01)
        let share = simulation.judge.used(rate: 100, from: 10, to: 60)
        #expect(share > 0.7 && share < 0.78, "\(share)")
        #expect(simulation.judge.used(rate: 100, from: 68, to: 75) >= 0.96)
    }

    @Test("fleet RD-14 RD-38 a member that starts again under its name takes over the share of the killed one")
    func restarted() async throws {
        let simulation = Simulation()
        var members = simulation.makeMembers(4)
        members.append(SimulatedMember(9, simulation.store, simulation.time, name: "member0", from: 6.5))
        let first = members[0]
        try await simulation.run(members, until: 16) { time, _ in
            await time.reach(5)
            first.kill()
        }
        #expect(simulation.judge.excess(rate: 100) <= 1.01)
        #expect(simulation.judge.used(rate: 100, from: 9, to: 16) >= 0.97)
    }

    @Test("fleet RD-47 a store that is 80 ms away is no obstacle to the whole rate")
    func farStore() async throws {
        let simulation = Simulation()
        try await simulation.run(simulation.makeMembers(8, delay: .milliseconds(80)), until: 11)
        #expect(simulation.judge.used(rate: 100, from: 3, to: 11) >= 0.97)
        #expect(simulation.judge.excess(rate: 100) <= 1.01)
    }

    @Test(
        "fleet RD-48 the limit is kept by members of whom half have lost the store, until silent ones lose their share"
    )
    func partition() async throws {
        let simulation = Simulation()
        let members = simulation.makeMembers(8, forget: .seconds(12))
        try await simulation.run(members, until: 26) { time, _ in
            await time.reach(4)
            for member in members[4...] { member.cut(true) }
        }
        #expect(simulation.judge.used(rate: 100, from: 6, to: 15) <= 1.02)
        #expect(simulation.judge.used(rate: 100, from: 6, to: 15) >= 0.95)
        #expect(simulation.judge.used(rate: 100, from: 18, to: 26) <= 1.52)
        #expect(simulation.judge.used(rate: 100, from: 18, to: 26) >= 1.4)
        #expect(members[7].events.map { EventFacts($0).name }.contains("fleetSplit"))
        #expect(!members[0].events.map { EventFacts($0).name }.contains("fleetSplit"))
    }

    @Test("fleet RD-13 a member that leaves gives its share back immediately")
    func leaving() async throws {
        let simulation = Simulation()
        let members = simulation.makeMembers(4)
        try await simulation.run(members, until: 8) { time, _ in
            await time.reach(3)
            members[0].leave()
        }
        #expect(simulation.judge.excess(rate: 100) <= 1.01)
        #expect(simulation.judge.used(rate: 100, from: 4, to: 8) >= 0.96)
    }

    @Test("fleet RD-27 a member with one call at a time starts among saturated ones")
    func fairness() async throws {
        let simulation = Simulation()
        try await simulation.run(simulation.makeMembers(8), callers: [1, 8, 8, 8, 8, 8, 8, 8], until: 12)
        let times = simulation.judge.times(of: 0).sorted()
        let gaps = zip(times, times.dropFirst()).map { $0.duration(to: $1) }
        #expect(times.count > 20)
        // H + A·I, and the step of the simulation for the round trip.
        #expect(try #require(gaps.dropFirst(8).max()) <= .milliseconds(250 + 80 + 20))
    }

    @Test("fleet RD-34 RD-35 a delay that one member is asked for holds all of them")
    func gates() async throws {
        let simulation = Simulation()
        try await simulation.run(simulation.makeMembers(8), callers: Array(repeating: 100, count: 8), until: 40) {
            time,
            limiters in
            await time.reach(3)
            guard let request = try? Request("https://api.example.com/v1/x") else { return }
            limiters[0].observe(503, ["Retry-After": "30"], of: request, call: Call(time: time))
        }
        let late = simulation.judge.times.filter { (3_400_000_000..<33_000_000_000).contains($0.nanoseconds) }
        #expect(late.isEmpty, "\(late.count)")
        #expect(simulation.judge.excess(rate: 100) <= 1.01)
        #expect(simulation.judge.used(rate: 100, from: 35, to: 40) >= 0.95)
    }

    @Test("fleet RD-39 RD-42 without the store each member has its share, and the limit is kept after its return")
    func outage() async throws {
        let simulation = Simulation()
        let store = simulation.store
        let members = simulation.makeMembers(8)
        try await simulation.run(members, until: 20) { time, _ in
            await time.reach(4)
            store.isReachable = false
            await time.reach(10)
            store.isReachable = true
        }
        #expect(simulation.judge.excess(rate: 100) <= 8)
        let pause = simulation.judge.times.filter { (4_350_000_000..<5_100_000_000).contains($0.nanoseconds) }
        #expect(pause.isEmpty, "\(pause.count)")
        let alone = simulation.judge.used(rate: 100, from: 6, to: 10)
        #expect(alone > 0.9 && alone <= 1.02, "\(alone)")
        #expect(simulation.judge.used(rate: 100, from: 12, to: 20) >= 0.95)
        let story = members[0].events.map { EventFacts($0).name }
        #expect(story.contains("fleetAlone") && story.contains("fleetRejoined"), "\(story)")
    }

    @Test("fleet RD-39 an outage of a second only delays calls")
    func shortOutage() async throws {
        let simulation = Simulation()
        let store = simulation.store
        let members = simulation.makeMembers(4)
        try await simulation.run(members, until: 10) { time, _ in
            await time.reach(4)
            store.isReachable = false
            await time.reach(4.9)
            store.isReachable = true
        }
        #expect(simulation.judge.excess(rate: 100) <= 1.01)
        #expect(members.allSatisfy { !$0.events.map { EventFacts($0).name }.contains("fleetAlone") })
    }

    @Test("fleet RD-31 members with different rates keep the lowest, and an event says so")
    func rates() async throws {
        let simulation = Simulation()
        let members = simulation.makeMembers(2)
        try await simulation.run(members, until: 10) { time, limiters in
            await time.reach(1)
            try? limiters[0].setRate(50, for: ServiceKey("api.example.com:443/v1"))
        }
        #expect(simulation.judge.excess(rate: 50, from: 3) <= 1.5)
        #expect(simulation.judge.used(rate: 50, from: 4, to: 10) >= 0.95)
        #expect(members[1].events.contains { if case .fleetDisagrees = $0 { true } else { false } })
    }

    @Test("fleet RD-21 members whose clocks differ keep the limit")
    func skew() async throws {
        let simulation = Simulation()
        let members = simulation.makeMembers(4) { .seconds($0 * 5 - 10) }
        try await simulation.run(members, until: 6)
        #expect(simulation.judge.excess(rate: 100) <= 1.01)
    }

    @Test("fleet RD-40 a member without any contact has no share")
    func neverInContact() async throws {
        let simulation = Simulation()
        simulation.store.isReachable = false
        try await simulation.run(simulation.makeMembers(2, size: 2), until: 10)
        #expect(simulation.judge.count == 0)
    }

    @Test("fleet RD-43 a store that is emptied each second lets no call through above the limit")
    func emptied() async throws {
        let simulation = Simulation()
        let store = simulation.store
        try await simulation.run(simulation.makeMembers(8), until: 14) { time, _ in
            for second in 4..<9 {
                await time.reach(Double(second))
                store.flush()
            }
        }
        #expect(simulation.judge.excess(rate: 100) <= 1.5)
        #expect(simulation.judge.used(rate: 100, from: 11, to: 14) >= 0.95)
    }

    @Test("fleet RD-44 a replica that is two seconds behind leads to at most N calls above the limit")
    func failover() async throws {
        let simulation = Simulation()
        let store = simulation.store
        try await simulation.run(simulation.makeMembers(8), until: 12) { time, _ in
            await time.reach(4)
            let restore = store.snapshot()
            await time.reach(6)
            restore()
        }
        #expect(simulation.judge.excess(rate: 100) <= 8)
        #expect(simulation.judge.used(rate: 100, from: 8, to: 12) >= 0.95)
    }

    @Test("fleet RD-46 jumps of the store's clock cost at most N calls, and no stall")
    func clockJumps() async throws {
        let simulation = Simulation()
        let store = simulation.store
        try await simulation.run(simulation.makeMembers(8), until: 14) { time, _ in
            await time.reach(4)
            store.jump(by: 30)
            await time.reach(8)
            store.jump(by: -60)
        }
        #expect(simulation.judge.excess(rate: 100) <= 8)
        let times = simulation.judge.times.sorted().filter { $0.nanoseconds > 2_000_000_000 }
        #expect(try #require(zip(times, times.dropFirst()).map { $0.duration(to: $1) }.max()) <= .seconds(1))
    }

    @Test("fleet RD-125 random members, rates, ways, clocks and faults keep the limit")
    func random() async throws {
        let first = Soak.current.seed(for: "SimulationTests.random")
        for await round in Soak.turns(Soak.current.rounds(of: 10_000, few: 12)) {
            let seed = first &+ UInt64(round)
            let random = SeededRandom(seed: seed)
            var simulation = Simulation()
            let isWhole = Soak.current.share != nil && random.next() % 20 == 0
            let count = 1 + Int(random.next() % (isWhole ? 50 : 12))
            let rate = [0.1, 0.5, 2, 10, 50, 200, 1_000, isWhole ? 10_000 : 100][Int(random.next() % 8)]
            simulation.rate = RateLimits.Rate(perSecond: rate)
            simulation.callers = 1 + Int(random.next() % 12)
            let store = simulation.store
            // One call above the limit, the slots that may be used ten milliseconds late, and as many calls as members for each
            // fault: each may call by its share, and again by the first slot after it (RD-122).
            let allowed = Locked(1 + rate * 0.01)
            let way = Duration.milliseconds(1 + Int64(random.next() % 40))
            let members = (0..<count).map { number in
                SimulatedMember(
                    number,
                    store,
                    simulation.time,
                    delay: way,
                    jitter: way * random.unit(),
                    skew: .milliseconds(Int64(random.next() % 20_000)),
                    drift: Int64(random.next() % 201) - 100
                )
            }
            try await simulation.run(members, until: 12) { time, _ in
                var now = 2.0
                while now < 11 {
                    await time.reach(now)
                    let fault = random.next() % 6
                    if [1, 2, 4].contains(fault) || fault == 0 && store.isReachable {
                        allowed.withLock { $0 += Double(count) }
                    }
                    switch fault {
                    case 0: store.isReachable.toggle()
                    case 1: store.flush()
                    case 2: members[Int(random.next() % UInt64(count))].cut(true)
                    case 3: for member in members { member.cut(false) }
                    case 4:
                        let seconds = random.unit() * 20 - 10
                        store.jump(by: seconds)
                        // The slots that members hold are not known to be in the future any longer, once.
                        if seconds > 0 { allowed.withLock { $0 += 0.25 * rate + 1 } }
                    default: store.isReachable = true
                    }
                    now += 0.3 + random.unit() * 2
                }
            }
            let excess = simulation.judge.excess(rate: rate)
            #expect(excess <= allowed.withLock(\.self), "seed \(seed): \(count) members, \(rate)/s")
        }
    }
}
