#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif
import Lade
import LadeCore
import LadePolicies
import Synchronization

/// What the policies cost when they have nothing to do, and what a waiting call occupies.
///
/// `swift run -c release --package-path Benchmarks PoliciesCost`. Times are the best of nine rounds.
@main
struct PoliciesCost {
    static func main() async throws {
        let request = try Request("https://api.example.com/v1/shows?size=10")
        let call = Call(id: .init(1))

        let limiter = try RateLimiter(RateLimits(default: RateLimits.Rate(perSecond: 1e6, burst: 1_000_000_000)))
        _ = try await limiter.start(request, call: call)
        try await print(
            "slot, uncontended, with its rate",
            measure {
                try await limiter.start(request, call: call)?.finish()
            }
        )
        let free = try RateLimiter()
        try await print(
            "slot, nothing limited",
            measure {
                try await free.start(request, call: call)?.finish()
            }
        )
        await print("service key", measure { keep(ServiceKey(request)) })

        let bare = Chain(transport: Instantly())
        let bareTime = try await measure { keep(try await bare.send(request, call: call)) }
        print("chain without links", bareTime)
        let slots: [Chain.Layout.Slot] = [.deadline, .retry, .rateLimit, .exchangeDeadline]
        for count in 0...slots.count {
            let kept = Set(slots.prefix(count))
            var settings = Service.Settings()
            settings.adjustChain = { layout in
                for slot in layout.slots where !kept.contains(slot) { layout.remove(slot) }
            }
            let loader = Service(settings, transport: Instantly()).anonymous.makeLoader()
            let time = try await measure { keep(try await loader.load(request)) }
            print(count == 0 ? "loader without links" : "+ \(slots[count - 1])", time)
        }
        try await measureWaiting(request)
        for count in [10, 100, 1_000, 10_000] {
            try await measureCrowd(of: count, request)
            try await measureKeys(count)
        }
    }

    /// What one call costs beside so many that wait for the same service.
    private static func measureCrowd(of count: Int, _ request: Request) async throws {
        let limiter = try RateLimiter(RateLimits(default: .held))
        let tasks = (1...count).map { number in
            Task { _ = try? await limiter.start(request, call: Call(id: .init(UInt64(number)))) }
        }
        while limiter.waitingCount < count { await Task.yield() }
        var turn = 0
        let change = time(of: 10_000) {
            turn += 1
            limiter.setPriority(turn.isMultiple(of: 2) ? .high : .low, of: .init(UInt64(turn * 7919 % count + 1)))
        }
        let start = SystemTime().now
        try limiter.setRate(1e9, burst: count, for: ServiceKey(request))
        let release = start.duration(to: SystemTime().now) / .nanoseconds(count)
        for task in tasks { await task.value }
        Swift.print("beside \(count) waiting calls: priority \(Int(change)) ns, start \(Int(release)) ns")
    }

    /// What one call costs when a call waits for each of so many services.
    private static func measureKeys(_ count: Int) async throws {
        var limits = RateLimits()
        limits.totalConcurrency = 1
        let limiter = try RateLimiter(limits)
        let first = try await limiter.start(try Request("https://first.example.com/"), call: Call())
        let requests = try (0..<count).map { try Request("https://host\($0).example.com/") }
        let tasks = requests.enumerated().map { number, request in
            Task {
                guard let slot = try? await limiter.start(request, call: Call(id: .init(UInt64(number + 1)))) else {
                    return
                }
                slot.finish()
            }
        }
        while limiter.waitingCount < count { await Task.yield() }
        let start = SystemTime().now
        first?.finish()
        for task in tasks { await task.value }
        let each = start.duration(to: SystemTime().now) / .nanoseconds(count)
        Swift.print("beside \(count) waiting services: start and end \(Int(each)) ns, its task's turn included")
    }

    private static func time(of count: Int, _ body: () -> Void) -> Double {
        let start = SystemTime().now
        for _ in 0..<count { body() }
        return start.duration(to: SystemTime().now) / .nanoseconds(count)
    }

    private static func print(_ name: String, _ time: Double) {
        Swift.print("\(name): \(Int(time)) ns")
    }

    /// The bytes that 10,000 waiting calls occupy, each in a task of its own, beside what their tasks do.
    private static func measureWaiting(_ request: Request) async throws {
        #if canImport(Glibc)
            let count = 10_000
            await measureTasks(count)
            let limiter = try RateLimiter(RateLimits(default: .held))
            let key = ServiceKey(request)
            var settings = Service.Settings()
            settings.rateLimiter = limiter
            settings.deadlines.buffered = nil
            let loader = Service(settings, transport: Instantly()).anonymous.makeLoader()
            let before = residentBytes()
            let tasks = (0..<count).map { _ in
                Task { _ = try? await loader.load(request) }
            }
            while limiter.waitingCount < count { await Task.yield() }
            let waiting = residentBytes()
            Swift.print("waiting call, its task included: \((waiting - before) / count) bytes")
            try limiter.setRate(1e9, burst: count, for: key)
            for task in tasks { await task.value }
        #endif
    }

    #if canImport(Glibc)
        /// The bytes that a task occupies which waits and does nothing else.
        private static func measureTasks(_ count: Int) async {
            let waiting = Waiting()
            let before = residentBytes()
            let tasks = (0..<count).map { _ in
                Task { await withUnsafeContinuation { waiting.append($0) } }
            }
            while waiting.all.count < count { await Task.yield() }
            Swift.print("waiting task: \((residentBytes() - before) / count) bytes")
            for continuation in waiting.all { continuation.resume() }
            for task in tasks { await task.value }
        }

        /// The memory of the process, in pages counted by the kernel.
        private static func residentBytes() -> Int {
            guard let file = fopen("/proc/self/statm", "r") else { return 0 }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 256)
            guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
            let fields = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                .split(separator: " ")
            return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
        }
    #endif

    private static func measure(_ body: () async throws -> Void) async rethrows -> Double {
        let rounds = 9
        let count = 100_000
        var best = Double.infinity
        for _ in 0..<rounds {
            let start = SystemTime().now
            for _ in 0..<count { try await body() }
            best = min(best, start.duration(to: SystemTime().now) / .nanoseconds(count))
        }
        return best
    }

    @inline(never)
    private static func keep<Value>(_ value: Value) {}
}

/// Tasks that wait.
private final class Waiting: Sendable {
    private let continuations = Mutex<[UnsafeContinuation<Void, Never>]>([])

    var all: [UnsafeContinuation<Void, Never>] { continuations.withLock { $0 } }

    func append(_ continuation: UnsafeContinuation<Void, Never>) {
        continuations.withLock { $0.append(continuation) }
    }
}

/// Answers immediately.
private struct Instantly: Transport {
    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        Response(status: 200, request: request)
    }
}
