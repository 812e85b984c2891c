import Lade
import LadeCache
import LadeTesting
import SharedDoubles
import Testing

@Suite("Cache of a service, calls together", .timeLimit(.minutes(5)))
struct CacheTogetherTests {
    /// Starts calls for one address, and returns once all but the first wait.
    private func start(
        _ count: Int,
        on rig: Rig,
        _ change: @escaping @Sendable (inout Request, Int) -> Void = { _, _ in }
    ) async throws -> [Task<Result<String, LoadingError>, any Error>] {
        var tasks: [Task<Result<String, LoadingError>, any Error>] = []
        for number in 0..<count {
            var request = try rig.request()
            change(&request, number)
            tasks.append(
                Task { [request] in
                    do throws(LoadingError) {
                        let response = try await rig.loader.load(request)
                        return .success(try await response.wholeText)
                    } catch {
                        return .failure(error)
                    }
                }
            )
            if number == 0 {
                _ = try await rig.transport.request(at: 0)
            } else {
                try await waiting(number, on: rig)
            }
        }
        return tasks
    }

    /// Returns once so many calls have begun to wait for another one.
    private func waiting(_ count: Int, on rig: Rig) async throws {
        while true {
            // Counted before the story is read, so that no event falls between the two.
            let seen = rig.events.records.count
            if rig.events.story.count(where: { $0.hasPrefix("wait started: the response") }) >= count { return }
            try await rig.events.next(after: seen)
        }
    }

    @Test("cache CA-175 CA-184 equal calls share one exchange, and each records for which it waited, and how long")
    func shares() async throws {
        let rig = Rig.caching()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh()).after(signal))
        let tasks = try await start(20, on: rig)

        signal.raise()
        for task in tasks { #expect(try await task.value == .success("one")) }

        #expect(rig.sent == 1)
        #expect(rig.cacheStory.count { $0 == "cacheJoined(#1)" } == 19)
        #expect(rig.events.story.contains("wait ended: the response to the equal call #1"))
        #expect(await rig.service.cache?.counters.joined == 19)
    }

    @Test(
        "cache CA-177 CA-178 a call that is cancelled changes nothing for the others, also the one that sent the request"
    )
    func leaves() async throws {
        let rig = Rig.caching()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.stalls).then(.text("one", headers: .fresh()).after(signal))
        let tasks = try await start(4, on: rig)

        tasks[2].cancel()
        guard case .failure(let error) = try await tasks[2].value else { throw CancellationError() }
        #expect(error.isCancellation)
        tasks[0].cancel()
        guard case .failure(let first) = try await tasks[0].value else { throw CancellationError() }
        #expect(first.isCancellation)
        _ = try await rig.transport.request(at: 1)
        signal.raise()

        #expect(try await tasks[1].value == .success("one"))
        #expect(try await tasks[3].value == .success("one"))
        #expect(rig.sent == 2)
    }

    @Test("cache CA-177 each waiting call has its own deadline, and its own patience")
    func deadlines() async throws {
        let rig = Rig.caching { $0.patience = .seconds(3) }
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh()).after(signal)).then(.text("own"))
        let tasks = try await start(3, on: rig) { request, number in
            if number == 1 { request.deadline = .seconds(2) }
        }

        // One timer for all that wait.
        _ = try await rig.time.sleepers(atLeast: 1)
        rig.time.advance(by: .seconds(2))
        guard case .failure(let error) = try await tasks[1].value else { throw CancellationError() }
        guard case .deadlineExceeded = error.kind else { throw error }
        rig.time.advance(by: .seconds(1))
        #expect(try await tasks[2].value == .success("own"))
        signal.raise()
        #expect(try await tasks[0].value == .success("one"))
        #expect(rig.sent == 2)
    }

    @Test(
        "cache CA-184 a call that would wait beyond its deadline for one that waits itself fails immediately, and says why",
        arguments: ["back-off", "gate"]
    )
    func waitsTooLong(_ kind: String) async throws {
        let rig = Rig.caching {
            $0.patience = .seconds(60)
        } service: {
            $0.retries.limit = kind == "gate" ? 0 : 1
            // These limits are valid.
            $0.rateLimiter = try? RateLimiter(RateLimits(), time: $0.time, random: $0.random)
        }
        let delay: Headers = ["Retry-After": "10"]
        // Of the same service: its first path segment is the same.
        rig.transport.on(.get, "/thing/other").respond(.status(429, headers: delay))
        let (refused, done) = (Signal(), Signal())
        rig.transport.on(.get, "/thing").respond(
            kind == "gate"
                ? .text("one", headers: .fresh()).after(done) : .status(503, headers: delay).after(refused)
        ).then(.text("one", headers: .fresh()).after(done))
        if kind == "gate" { _ = try? await rig.loader.load(rig.request("/thing/other")) }
        func start(_ deadline: Duration) throws -> Task<Result<String, LoadingError>, Never> {
            var request = try rig.request()
            request.deadline = deadline
            return Task { [request] in
                do throws(LoadingError) {
                    let response = try await rig.loader.load(request)
                    return .success(try await response.wholeText)
                } catch {
                    return .failure(error)
                }
            }
        }

        let leader = try start(.seconds(60))
        if kind == "gate" { try await waitingLonger(on: rig) } else { _ = try await rig.transport.request(at: 0) }
        let early = kind == "gate" ? nil : try start(.seconds(5))
        if early != nil { try await waiting(1, on: rig) }
        let patient = try start(.seconds(30))
        try await waiting(early == nil ? 1 : 2, on: rig)
        refused.raise()
        try await waitingLonger(on: rig)
        let late = try start(.seconds(5))

        // Time stands still: nothing ends because its deadline has passed.
        for hasty in [early, late].compactMap({ $0 }) {
            guard case .failure(let error) = await hasty.value, case .deadlineExceeded(let report) = error.kind else {
                Issue.record("not refused")
                continue
            }
            #expect(report.impossibleWait?.stage == .wait(.coalescing(Call.ID(kind == "gate" ? 2 : 1))))
            #expect(try #require(report.impossibleWait).duration >= .seconds(10))
            #expect(report.elapsed == .zero)
        }
        rig.time.advance(by: .seconds(15))
        done.raise()
        #expect(await leader.value == .success("one"))
        #expect(await patient.value == .success("one"))
        #expect(rig.sent == 2)
    }

    @Test("cache CA-184 a call that loses patience before its deadline is not refused, and sends its own request")
    func losesPatience() async throws {
        let rig = Rig.caching {
            $0.patience = .seconds(3)
        } service: {
            $0.retries.limit = 1
            var limits = RateLimits()
            limits.gateStatuses = []
            // These limits are valid.
            $0.rateLimiter = try? RateLimiter(limits, time: $0.time, random: $0.random)
        }
        let refused = Signal()
        rig.transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "10"]).after(refused))
            .then(.text("own", headers: .fresh()))
        let tasks = try await start(2, on: rig) { request, number in
            if number == 1 { request.deadline = .seconds(5) }
        }

        refused.raise()
        try await waitingLonger(on: rig)
        _ = try await rig.time.sleepers(atLeast: 2)
        rig.time.advance(by: .seconds(3))
        #expect(try await tasks[1].value == .success("own"))
        rig.time.advance(by: .seconds(12))
        #expect(try await tasks[0].value == .success("own"))
        #expect(rig.sent == 3)
    }

    /// Returns once a call waits for a delay that a server has requested, or for its next attempt.
    private func waitingLonger(on rig: Rig) async throws {
        while true {
            let seen = rig.events.records.count
            let isWaiting = rig.events.records.contains { record in
                switch record.event {
                case .waitStarted(.backoff), .waitStarted(.gate): true
                default: false
                }
            }
            if isWaiting { return }
            try await rig.events.next(after: seen)
        }
    }

    @Test("cache CA-179 an error goes to all that wait, and a later call starts anew")
    func fails() async throws {
        let rig = Rig.caching()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.connectionLost().after(signal)).then(.text("later"))
        let tasks = try await start(5, on: rig)

        signal.raise()
        for task in tasks {
            guard case .failure(let error) = try await task.value else { throw CancellationError() }
            #expect(error.kind == .connectionLost(.nothing, isSafeToRepeat: false))
        }

        #expect(rig.sent == 1)
        #expect(try await rig.loader.load(rig.endpoint().text()) == "later")
    }

    @Test(
        "cache CA-180 after a response that is not stored all waiting calls go alone, together, and later ones do not wait"
    )
    func goesAlone() async throws {
        let rig = Rig.caching()
        let (signal, second) = (Signal(), Signal())
        rig.transport.onAnyRequest().respond(.text("own", headers: ["Cache-Control": "no-store"]).after(signal))
            .then(.text("own", headers: ["Cache-Control": "no-store"]).after(second))
        let tasks = try await start(4, on: rig)

        signal.raise()
        // All three are on their way before any of them has a response.
        _ = try await rig.transport.request(at: 3)
        second.raise()
        for task in tasks { #expect(try await task.value == .success("own")) }
        let waits = rig.events.story.count { $0.hasPrefix("wait started") }
        let later = try await start(1, on: rig)
        for task in later { _ = try await task.value }

        #expect(rig.sent == 5)
        #expect(rig.events.story.count { $0.hasPrefix("wait started") } == waits)
    }

    @Test("cache CA-176 CA-230 calls of two accounts, and calls with credentials of their own, never share")
    func accounts() async throws {
        let rig = Rig.caching()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(
            .computed { request, call in
                .text(call.account + (request.headers["Authorization"] ?? ""), headers: .fresh())
            }.after(signal)
        )
        let request = try rig.request()
        var own = request
        own.headers["Authorization"] = "Basic x"
        let calls = [("a", request), ("b", request), ("a", own), ("b", own)]
        let tasks = calls.map { account, request in
            let loader = rig.service.account(identifier: account).makeLoader()
            return Task { try await loader.load(request).wholeText }
        }
        _ = try await rig.transport.request(at: 3)
        signal.raise()

        for (task, call) in zip(tasks, calls) {
            #expect(try await task.value == call.0 + (call.1.headers["Authorization"] ?? ""))
        }
        #expect(rig.sent == 4)
    }

    @Test(
        "cache CA-181 an urgent call moves the exchange that it waits for to the front of the queue",
        arguments: [false, true]
    )
    func urges(isHandedOver: Bool) async throws {
        var limits = RateLimits()
        limits.concurrency = 1
        limits.keyRule = ServiceKey.perHost
        let rig = Rig.caching { _ in
        } service: {
            // These limits are valid.
            $0.rateLimiter = try? RateLimiter(limits, time: $0.time, random: $0.random)
        }
        let (first, signal) = (Signal(), Signal())
        rig.transport.on(.get, "/first").respond(.text("first").after(first))
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh()).after(signal))
        func start(_ path: String, _ priority: Request.Priority) throws -> Task<String, any Error> {
            var request = try rig.request(path)
            request.priority = priority
            return Task { [request] in try await rig.loader.load(request).wholeText }
        }

        // Until the first call ends, all others wait for its slot.
        let blocking = try start("/first", .normal)
        _ = try await rig.transport.request(at: 0)
        let leader = try start("/thing", .low)
        try await inQueue(1, on: rig)
        let other = try start("/other", .normal)
        try await inQueue(2, on: rig)
        let next = try isHandedOver ? start("/thing", .low) : nil
        if isHandedOver { try await waiting(1, on: rig) }
        let urgent = try start("/thing", .high)
        try await waiting(isHandedOver ? 2 : 1, on: rig)
        if isHandedOver {
            leader.cancel()
            try await inQueue(3, on: rig)
        }
        first.raise()
        let second = try await rig.transport.request(at: 1)
        signal.raise()

        #expect(second.target == "/thing")
        #expect(try await urgent.value == "one")
        for task in [blocking, other] + (next.map { [$0] } ?? [leader]) { _ = try await task.value }
        #expect(rig.sent == 3)
    }

    /// Returns once so many calls have begun to wait for a slot.
    private func inQueue(_ count: Int, on rig: Rig) async throws {
        let seen = Locked(0)
        try await rig.events.event { event in
            guard case .waitStarted(.concurrency) = event else { return false }
            return seen.withLock {
                $0 += 1
                return $0
            } == count
        }
    }

    @Test("cache CA-182 streamed calls share nothing, so none is slower or ends with another one")
    func streams() async throws {
        let rig = Rig.caching()
        let (one, two) = (Signal(), Signal())
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh()).after(one))
            .then(.text("two", headers: .fresh()).after(two))
        var request = try rig.request()
        request.delivery = .streamed
        let tasks = (0..<2).map { [request] _ in Task { try await rig.loader.load(request).wholeText } }
        _ = try await rig.transport.request(at: 1)

        tasks[0].cancel()
        await #expect(throws: (any Error).self) { try await tasks[0].value }
        for signal in [one, two] { signal.raise() }
        #expect(["one", "two"].contains(try await tasks[1].value))
        #expect(!rig.events.story.contains { $0.hasPrefix("wait started") })
    }

    @Test("cache CA-183 calls that validate one stale response share one conditional request")
    func validates() async throws {
        let rig = Rig.caching()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh(1, ["ETag": "\"a\""])))
            .then(.status(304, headers: .fresh(60)).after(signal))
        _ = try await rig.loader.load(rig.request())
        rig.time.advance(by: .seconds(10))
        let request = try rig.request()
        let tasks = (0..<10).map { _ in Task { try await rig.loader.load(request).wholeText } }
        try await waiting(9, on: rig)

        signal.raise()
        for task in tasks { #expect(try await task.value == "one") }
        #expect(rig.sent == 2)
    }
}

extension EventRecorder {
    /// Returns once more events than this are recorded.
    fileprivate func next(after count: Int) async throws(LoadingError) {
        let seen = Locked(0)
        try await event { _ in
            seen.withLock {
                $0 += 1; return $0
            } > count
        }
    }
}

extension Result<String, LoadingError> {
    fileprivate static func == (lhs: Self, rhs: Self) -> Bool {
        if case (.success(let one), .success(let other)) = (lhs, rhs) { one == other } else { false }
    }
}
