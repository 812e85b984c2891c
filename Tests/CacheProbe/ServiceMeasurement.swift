import Lade
import LadeCache
import LadeCacheSQLite
import LadeCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(CProcess)
    import CProcess
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Responds with the same bytes, immediately: what calls cost without a server.
struct CannedTransport: Transport {
    let status: Response.Status
    let headers: Headers
    let body: Data

    var observesScope: Bool { true }
    var collectsBodies: Bool { true }

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        let isAsked = request.headers.contains("If-None-Match")
        return Response(
            status: isAsked ? 304 : status,
            headers: headers,
            body: Response.Body(isAsked ? Data() : body),
            request: request
        )
    }
}

/// Measures calls of services with and without a cache: CA-240 to CA-246, each as a ratio to the same without a cache.
struct ServiceMeasurement {
    /// What one row measured.
    struct Result {
        let perSecond: Double
        let processor: Double
    }

    private let folder: String
    private let count: Int

    init(_ folder: String, count: Int) {
        (self.folder, self.count) = (folder, count)
    }

    private static let fresh: Headers = [
        "Cache-Control": "max-age=600", "Content-Type": "application/octet-stream", "ETag": "\"a\"",
    ]

    private func service(
        _ headers: Headers,
        _ body: Data,
        _ store: (any CacheStore)?,
        isEmpty: Bool = false
    ) -> Service {
        var settings = Service.Settings()
        settings.cache = store.map { ResponseCache.Settings(store: $0) }
        if isEmpty { settings.adjustChain = { layout in for slot in layout.slots { layout.remove(slot) } } }
        return Service(settings, transport: CannedTransport(status: 200, headers: headers, body: body))
    }

    private func measure(
        _ name: String,
        _ calls: Int,
        callers: Int = 1,
        against base: Result? = nil,
        _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> Result {
        // A twentieth of the calls come before, to fill what is filled once.
        try await run(max(calls / 20, callers), callers, body)
        var best = Result(perSecond: 0, processor: .infinity)
        for _ in 0..<3 {
            let (start, before) = (ContinuousClock.now, StoreMeasurement.processorTime())
            try await run(calls, callers, body)
            let processor = (StoreMeasurement.processorTime() - before) / Double(calls) * 1e6
            let time = ContinuousClock.now - start
            let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
            if processor < best.processor { best = Result(perSecond: Double(calls) / seconds, processor: processor) }
        }
        var line = "\(name) | \(Int(best.perSecond)) | \(Self.short(best.processor))"
        line += base.map { " | \(Self.short(best.processor / $0.processor))" } ?? " | "
        report("| \(line) |")
        return best
    }

    private static func short(_ number: Double) -> String { "\((number * 100).rounded() / 100)" }

    private func run(
        _ calls: Int,
        _ callers: Int,
        _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        guard callers > 1 else {
            for number in 0..<calls { try await body(number) }
            return
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<callers {
                group.addTask {
                    for number in stride(from: caller, to: calls, by: callers) { try await body(number) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Prints all rows; off the main thread, so that no call switches threads.
    @concurrent func run() async throws {
        report("| calls | per second | µs of processor each | ÷ without a cache |\n|---|--:|--:|--:|")
        let kilobyte = Data(repeating: 7, count: 1_000)
        let base = try await rows(of: kilobyte, "1 KB")
        try await rules()
        try await rows(onDisk: kilobyte, base)
        try await validations()
        try await waiters()
    }

    /// Makes calls of one kind and nothing else, so that their allocations can be counted from outside.
    @concurrent func repeatCalls(_ kind: String) async throws {
        let store: (any CacheStore)? =
            kind == "plain" || kind == "empty" ? nil : try ResponseCache.MemoryStore(limit: 256 << 20)
        let body = Data(repeating: 7, count: 1_000)
        let loader = service(Self.fresh, body, store, isEmpty: kind == "empty").anonymous.makeLoader()
        for number in 0..<count {
            _ = try await load(loader, "https://example.org/" + (kind == "missed" ? "\(number)" : "a"))
        }
    }

    private func load(_ loader: Loader, _ address: String, _ method: Request.Method = .get) async throws -> Int {
        let response = try await loader.load(Request(method, address))
        return response.body.bytes?.count ?? 0
    }

    private func rows(of body: Data, _ name: String) async throws -> Result {
        let plain = service(Self.fresh, body, nil).anonymous.makeLoader()
        let memory = service(Self.fresh, body, try ResponseCache.MemoryStore(limit: 256 << 20)).anonymous.makeLoader()
        let address = "https://example.org/a"
        let base = try await measure("no cache, scripted response, \(name)", count) { _ in
            _ = try await load(plain, address)
        }
        // A call with nothing between the loader and the transport: what every call costs.
        let empty = service(Self.fresh, Data(), nil, isEmpty: true).anonymous.makeLoader()
        let least = try await measure("no policies, scripted response, empty body", count) { _ in
            _ = try await load(empty, address)
        }
        let served = try await measure("cache CA-240 served from memory, \(name)", count, against: base) { _ in
            _ = try await load(memory, address)
        }
        report(
            "| cache CA-240 above a call without policies: \(Self.short(served.processor - least.processor)) µs | | | |"
        )
        let many = try await measure("no cache, 16 callers", count, callers: 16) { _ in
            _ = try await load(plain, address)
        }
        _ = try await measure("cache CA-240 served from memory, 16 callers", count, callers: 16, against: many) { _ in
            _ = try await load(memory, address)
        }
        // Its method says nothing about what is stored, so that the store is not used.
        let others = try await measure("no cache, OPTIONS", count) { _ in
            _ = try await load(plain, address, .options)
        }
        let passed = try await measure("cache CA-243 OPTIONS passes by the cache", count, against: others) { _ in
            _ = try await load(memory, address, .options)
        }
        report(
            "| cache CA-243 the cache for such a call: \(Int((passed.processor - others.processor) * 1_000)) ns | | | |"
        )
        let missed = try await measure("cache CA-242 misses stored in memory, \(name)", count / 4, against: base) {
            number in
            _ = try await load(memory, "https://example.org/miss/\(number)-\(UInt32.random(in: 0...UInt32.max))")
        }
        report(
            "| cache CA-242 above a call without a cache: \(Self.short(missed.processor - base.processor)) µs | | | |"
        )
        return base
    }

    private func rows(onDisk body: Data, _ base: Result) async throws {
        var settings = SQLiteStore.Settings()
        settings.largestBody = 200 << 20
        settings.limit = 1 << 30
        let store = try SQLiteStore(directory: folder, settings: settings)
        let loader = service(Self.fresh, body, store).anonymous.makeLoader()
        let entries = min(count, 10_000)
        let missed = try await measure("cache CA-242 misses stored on disk, 1 KB", entries, against: base) { number in
            _ = try await load(loader, "https://example.org/\(UInt64.random(in: 0...UInt64.max))-\(number)")
        }
        report(
            "| cache CA-242 above a call without a cache: \(Self.short(missed.processor - base.processor)) µs | | | |"
        )
        for number in 0..<entries { _ = try await load(loader, "https://example.org/\(number)") }
        try await store.flush()
        let random = SeededRandom(seed: 1)
        let one = try await measure("cache CA-241 served from disk, 1 KB of \(entries)", count / 2, against: base) {
            _ in
            _ = try await load(loader, "https://example.org/\(random.next() % UInt64(entries))")
        }
        let many = try await measure("cache CA-241 served from disk, 16 callers", count / 2, callers: 16, against: base)
        {
            _ in
            _ = try await load(loader, "https://example.org/\(random.next() % UInt64(entries))")
        }
        report("| cache CA-241 16 callers ÷ one: \(Self.short(many.perSecond / one.perSecond)) | | | |")
        await store.close()
    }

    private func validations() async throws {
        let fields: Headers = ["Cache-Control": "no-cache", "ETag": "\"a\""]
        let plain = service(fields, Data(), nil).anonymous.makeLoader()
        let cached = service(fields, Data(repeating: 7, count: 1_000), try ResponseCache.MemoryStore()).anonymous
            .makeLoader()
        let base = try await measure("no cache, empty body", count) { _ in
            _ = try await load(plain, "https://example.org/a")
        }
        _ = try await measure("cache CA-245 confirmed by a 304", count, against: base) { _ in
            _ = try await load(cached, "https://example.org/a")
        }
    }

    /// Asks a server for one address again and again: without a cache, with one in memory, and with one on disk.
    @concurrent func fetch(_ address: String) async throws {
        report("| calls | per second | µs of processor each | ÷ without a cache |\n|---|--:|--:|--:|")
        func loader(_ store: (any CacheStore)?) throws -> Loader {
            var settings = Service.Settings()
            settings.cache = store.map { ResponseCache.Settings(store: $0) }
            return try Service(settings).anonymous.makeLoader()
        }
        let plain = try loader(nil)
        let base = try await measure("no cache", count) { _ in _ = try await load(plain, address) }
        let disk = try SQLiteStore(directory: folder)
        for (name, store) in [("memory", try ResponseCache.MemoryStore()), ("disk", disk)] as [(String, any CacheStore)]
        {
            let cached = try loader(store)
            _ = try await measure("served from \(name)", count, against: base) { _ in
                _ = try await load(cached, address)
            }
            if name == "memory" {
                var validation = try Request(.get, address)
                validation.cacheMode = .revalidate
                _ = try await measure("cache CA-245 confirmed by a 304", count, against: base) { [validation] _ in
                    _ = try await cached.load(validation)
                }
            }
            // Each query is asked for once.
            let run = UInt32.random(in: 0...UInt32.max)
            _ = try await measure("cache CA-242 stored in \(name)", count, against: base) { number in
                _ = try await load(cached, "\(address)?\(run)-\(number)-\(UInt16.random(in: 0...UInt16.max))")
            }
        }
        await disk.close()
    }

    /// CA-244: decisions alone.
    private func rules() async throws {
        let rules = ResponseCache.Rules()
        let key = RandomCalls.key("a")
        let now = Moment(date: Date(), instant: nil)
        func head(_ number: Int) -> StoredHead {
            var headers: Headers = ["Cache-Control": "max-age=600", "ETag": "\"\(number)\"", "Vary": "Accept-Language"]
            for field in 0..<17 { headers.add("X-Field-\(field)", "value \(field)") }
            var head = StoredHead(status: 200, headers: headers, times: ExchangeTimes(requested: now, received: now))
            head.id = UInt64(number)
            head.selecting = [
                SelectingValue(name: "accept-language", form: .value(Array("l\(number)".utf8)))
            ]
            return head
        }
        let heads = (0..<16).map(head)
        let query = CacheQuery(.get, key: key, headers: ["Accept-Language": "l3"], now: now)
        let one = CacheQuery(.get, key: key, headers: ["Accept-Language": "l0"], now: now)
        _ = try await measure("cache CA-244 decision, one variant", count) { _ in
            guard case .serve = rules.decide(one, [heads[0]]).decision else { exit(6) }
        }
        _ = try await measure("cache CA-244 decision, 16 variants", count) { _ in
            guard case .serve = rules.decide(query, heads).decision else { exit(6) }
        }
        let octets = heads[0].encoded
        _ = try await measure("cache CA-244 head of 20 fields decoded", count) { _ in
            guard StoredHead(encoded: octets) != nil else { exit(6) }
        }
    }

    /// CA-246: one exchange for 1,000 calls, beside 1,000 exchanges that wait as long.
    private func waiters() async throws {
        for (name, store) in [
            ("1,000 exchanges", nil), ("1,000 calls on one exchange", try ResponseCache.MemoryStore()),
        ] {
            let transport = HeldTransport()
            var settings = Service.Settings()
            settings.cache = store.map { ResponseCache.Settings(store: $0) }
            let service = Service(settings, transport: transport)
            let loader = service.anonymous.makeLoader()
            let before = Self.heapBytes()
            try await withThrowingTaskGroup(of: ContinuousClock.Instant.self) { group in
                for _ in 0..<1_000 {
                    group.addTask {
                        _ = try await load(loader, "https://example.org/a")
                        return .now
                    }
                }
                while transport.count + (service.cache?.waiting ?? 0) < 1_000 { await Task.yield() }
                let held = Self.heapBytes() - before
                let (start, processor) = (ContinuousClock.now, StoreMeasurement.processorTime())
                transport.release()
                var last = start
                for try await end in group { last = max(last, end) }
                let spent = Int((StoreMeasurement.processorTime() - processor) * 1e6)
                report(
                    "| cache CA-246 \(name): \(held / 1_000) bytes each, all ended after "
                        + "\(Int((last - start) / Duration.microseconds(1))) µs, \(spent) µs of processor | | | |"
                )
            }
        }
    }

    /// The memory that the process has asked for and not given back; zero where the C library does not say.
    private static func heapBytes() -> Int {
        #if canImport(CProcess)
            Int(lade_heap_bytes())
        #else
            0
        #endif
    }
}

/// Holds requests until it is released.
private final class HeldTransport: Transport {
    private struct State {
        var isReleased = false
        var count = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// How many requests it has received.
    var count: Int { state.withLock(\.count) }

    var observesScope: Bool { true }
    var collectsBodies: Bool { true }

    func release() {
        let waiters = state.withLock { state in
            state.isReleased = true
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        await withCheckedContinuation { continuation in
            let isReleased = state.withLock { state in
                state.count += 1
                if !state.isReleased { state.waiters.append(continuation) }
                return state.isReleased
            }
            if isReleased { continuation.resume() }
        }
        return Response(
            status: 200,
            headers: ["Cache-Control": "max-age=600"],
            body: Response.Body(Data(repeating: 7, count: 1_000)),
            request: request
        )
    }
}
