import Foundation
import LadeCore
import LadePolicies
import LadeRedis
import LadeTesting
import Testing

/// Calls that take several starts of a shared rate, in virtual time.
@Suite(.timeLimit(.minutes(10)))
struct CostTests {
    /// The starts with their costs.
    private final class Record: Sendable {
        private let starts = Locked<[(time: Instant, cost: Int, member: Int)]>([])
        func note(_ time: Instant, _ cost: Int, _ member: Int) { starts.withLock { $0.append((time, cost, member)) } }
        var all: [(time: Instant, cost: Int, member: Int)] { starts.withLock { $0.sorted { $0.time < $1.time } } }
    }

    private func request(_ cost: Int) throws -> Request {
        var request = try Request("https://api.example.com/v1/x")
        request[RateCost.self] = cost
        return request
    }

    /// Runs callers without a pause, each with its cost and the cost that the response tells.
    private func run(
        _ count: Int,
        costs: [(sent: Int, real: Int)],
        until end: Double,
        rate: RateLimits.Rate = .perSecond(100)
    ) async throws -> Record {
        let simulation = Simulation()
        let (time, record) = (simulation.time, Record())
        let members = simulation.makeMembers(count)
        let limiters = try members.map {
            try RateLimiter(RateLimits(default: rate), time: $0.clock, random: SeededRandom(seed: 7), supply: $0)
        }
        let requests = try costs.map { try request($0.sent) }
        try await time.runAutomatically {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for member in members { group.addTask { await member.run() } }
                for (index, limiter) in limiters.enumerated() {
                    for (cost, request) in zip(costs, requests) {
                        group.addTask {
                            while !Task.isCancelled {
                                guard let slot = try? await limiter.start(request, call: Call(time: time)) else {
                                    return
                                }
                                record.note(time.now, cost.real, index)
                                slot.finish()
                                if cost.real != cost.sent { try? limiter.adjustCost(of: request, to: cost.real) }
                            }
                        }
                    }
                }
                try await time.sleep(until: Instant(nanoseconds: Int64(end * 1e9)))
                group.cancelAll()
            }
        }
        return record
    }

    /// The most starts above rate × time in any window, and the part that is used.
    private func judge(_ record: Record, rate: Double, from begin: Double, to end: Double) -> (Double, Double) {
        var (least, excess, sum) = (Double.infinity, -Double.infinity, 0.0)
        for start in record.all {
            let second = Double(start.time.nanoseconds) / 1e9
            guard second >= begin, second < end else { continue }
            least = min(least, sum - rate * second)
            sum += Double(start.cost)
            excess = max(excess, sum - rate * second - least)
        }
        return (excess, sum / (rate * (end - begin)))
    }

    @Test("fleet RD-28 members with calls of several costs keep the limit, and use it")
    func limit() async throws {
        let record = try await run(4, costs: [(1, 1), (1, 1), (3, 3), (5, 5), (5, 5)], until: 12)
        let (excess, used) = judge(record, rate: 100, from: 2, to: 12)
        #expect(excess <= 5 + 4 * 5, "\(excess)")
        #expect(used >= 0.9 && used <= 1.02, "\(used)")
    }

    @Test("fleet RD-28 a cost above the share of a member is granted whole, among saturated members")
    func whole() async throws {
        let record = try await run(4, costs: [(1, 1), (1, 1), (40, 40)], until: 14)
        let (_, used) = judge(record, rate: 100, from: 2, to: 14)
        #expect(used >= 0.7 && used <= 1.05, "\(used)")
        for member in 0..<4 {
            let times = record.all.filter { $0.member == member && $0.cost == 40 }.map(\.time)
            #expect(times.count >= 3, "member \(member): \(times.count)")
        }
    }

    @Test("fleet RD-28 a fleet of one and a process alone decide alike")
    func alike() async throws {
        let rate = RateLimits.Rate.perSecond(20, burst: 2)
        let time = VirtualTime()
        let limiter = try RateLimiter(RateLimits(default: rate), time: time, random: SeededRandom(seed: 7))
        let record = Record()
        let sent = try request(5)
        try await time.runAutomatically {
            for _ in 0..<12 {
                try await limiter.start(sent, call: Call(time: time))?.finish()
                record.note(time.now, 5, 0)
            }
        }
        let shared = try await run(1, costs: [(5, 5)], until: 3.2, rate: rate)
        let alone = zip(record.all, record.all.dropFirst()).map { $0.time.duration(to: $1.time).inSeconds }
        let gaps = zip(shared.all, shared.all.dropFirst()).map { $0.time.duration(to: $1.time).inSeconds }
        #expect(gaps.count >= 9, "\(gaps)")
        for (gap, own) in zip(gaps.dropFirst(), alone.dropFirst()) { #expect(abs(gap - own) < 0.02, "\(gaps)") }
    }

    @Test("fleet RD-29 costs that responses tell count for all members")
    func adjusted() async throws {
        let record = try await run(4, costs: [(1, 3), (4, 2), (4, 2)], until: 12)
        let (_, used) = judge(record, rate: 100, from: 3, to: 12)
        #expect(used >= 0.8 && used <= 1.1, "\(used)")
    }

    @Test("fleet RD-29 RD-44 a corrected cost moves the limit, never before now, and no member takes it for a loss")
    func script() throws {
        let server = try StoreServer.start()
        let client = StoreClient(server.path)
        func ask(_ witness: String, count: Int = 1) throws -> [StoreReply] {
            let command = FleetMember.Command(
                script: .ask,
                keys: ["m", "k", "g", "l:aa"].map { "lade:1:{t}:" + $0 },
                arguments: [
                    "m i", "1", "1000000", "60000000", "1000000.000", "1", "\(count)", witness, "1", "250000", "0",
                    "aa",
                    "key", "64", "", "\(count)",
                ]
            )
            guard case .list(let items)? = client.run(command) else { return [] }
            return items
        }
        func adjust(_ shrinking: Int) -> StoreReply? {
            client.run(
                FleetMember.Command(script: .giveBack, keys: ["lade:1:{t}:l:aa"], arguments: ["", "\(shrinking)"])
            )
        }
        func tat() -> Double? { client.command(["HGET", "lade:1:{t}:l:aa", "tat"])?.number }
        let first = try ask("0", count: 10)
        let end = try #require(first[4].number)
        #expect(first[3] == .integer(10))
        #expect(adjust(-5_000_000) == .integer(1))
        #expect(tat() == end + 5_000_000)
        #expect(adjust(8_000_000) == .integer(1))
        #expect(tat() == end - 3_000_000)
        let witness = String(format: "%.0f", end)
        #expect(try ask(witness)[7] == .integer(0))
        #expect(adjust(900_000_000) == .integer(1))
        let now = try #require(ask(witness).first?.number)
        #expect(try #require(tat()) <= now + 1_000_001)
    }
}
