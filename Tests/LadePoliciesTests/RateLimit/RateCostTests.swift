import LadeCore
import LadePolicies
import LadeTesting
import Testing

/// Requests that take several starts of a rate.
@Suite(.timeLimit(.minutes(5)))
struct RateCostTests {
    private let time = VirtualTime()

    private func makeLimiter(_ rate: RateLimits.Rate?) throws -> RateLimiter {
        try RateLimiter(RateLimits(default: rate), time: time, random: SeededRandom(seed: 1))
    }

    private func request(_ cost: Int) throws -> Request {
        var request = try Request("https://api.example.com/v1/x")
        request[RateCost.self] = cost
        return request
    }

    /// The milliseconds at which calls with these costs start, one after the other.
    private func starts(_ costs: [Int], _ limiter: RateLimiter) async throws -> [Int64] {
        let (time, requests) = (time, try costs.map { try request($0) })
        return try await time.runAutomatically {
            var starts: [Int64] = []
            for request in requests {
                try await limiter.start(request, call: Call(time: time))?.finish()
                starts.append(time.now.nanoseconds / 1_000_000)
            }
            return starts
        }
    }

    @Test(
        "fleet RD-28 a call takes as many starts as it costs, and starts at the last",
        arguments: [
            (1, [1, 1, 5, 1, 2, 1], [0, 100, 600, 700, 900, 1_000]), (1, [5, 1], [400, 500]),
            (5, [5, 1, 1], [0, 100, 200]), (3, [5, 1], [200, 300]),
        ]
    )
    func starts(burst: Int, costs: [Int], expected: [Int64]) async throws {
        let limiter = try makeLimiter(.perSecond(10, burst: burst))
        #expect(try await starts(costs, limiter) == expected)
    }

    @Test("fleet RD-28 a waiting call that costs more keeps its place")
    func order() async throws {
        let limiter = try makeLimiter(.perSecond(10))
        let (time, requests) = (time, try [1, 5, 1].map { try request($0) })
        let order = Locked<[Int64]>([])
        try await time.runAutomatically {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, request) in requests.enumerated() {
                    while limiter.waitingCount < number - 1 { await Task.yield() }
                    group.addTask {
                        try await limiter.start(request, call: Call(time: time))?.finish()
                        order.withLock { $0.append(time.now.nanoseconds / 1_000_000) }
                    }
                    while number == 0, order.withLock(\.isEmpty) { await Task.yield() }
                    while limiter.waitingCount < number { await Task.yield() }
                }
                try await group.waitForAll()
            }
        }
        #expect(order.withLock(\.self) == [0, 500, 600])
    }

    @Test("fleet RD-28 RD-29 impossible costs are errors before anything is sent", arguments: [0, -1, 10_001])
    func impossible(cost: Int) async throws {
        let (limiter, request) = (try makeLimiter(.perSecond(10)), try request(cost))
        let error = await #expect(throws: LoadingError.self) {
            _ = try await limiter.start(request, call: Call(time: time))
        }
        guard case .invalidSetting(name: "cost", _)? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        // Where nothing limits a request, its cost means nothing.
        let unlimited = try makeLimiter(nil)
        let isFree = try await unlimited.start(request, call: Call(time: time)) == nil
        #expect(isFree)
        for limiter in [limiter, unlimited] {
            #expect(throws: LoadingError.self) { try limiter.adjustCost(of: self.request(1), to: cost) }
        }
    }

    @Test("fleet RD-28 a slot that was not used gives all its starts back")
    func unused() async throws {
        let limiter = try makeLimiter(.perSecond(10, burst: 5))
        let slot = try await limiter.start(request(5), call: Call(time: time))
        slot?.finish(isUnused: true)
        #expect(try await starts([5, 1], limiter) == [0, 100])
    }

    @Test("fleet RD-29 a cost that the response tells delays later calls by the difference")
    func adjusted() async throws {
        let limiter = try makeLimiter(.perSecond(10))
        #expect(try await starts([1], limiter) == [0])
        try limiter.adjustCost(of: request(1), to: 4)
        #expect(try await starts([1], limiter) == [400])
        // It took less than it was sent with, and the next call never starts before now.
        #expect(try await starts([5], limiter) == [900])
        try limiter.adjustCost(of: request(5), to: 1)
        #expect(try await starts([1, 1], limiter) == [900, 1_000])
    }
}
