#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCache
import LadeTesting
import SharedDoubles

/// Some calls through the whole chain of a service in virtual time, whose settings, servers, delays and cancellation depend on
/// one number.
///
/// Everything runs on one thread, so that a number reproduces its run exactly, in every process and configuration.
struct ScriptedRun {
    /// What a run did, in lines.
    struct Story: Sendable {
        /// The requests that reached the transport.
        var sent: [String] = []
        /// The events with their times.
        var events: [String] = []
        /// The waits alone.
        var waits: [String] = []
        /// How each call ended, and when.
        var endings: [String] = []

        /// Four digests of six digits, in the order of the properties.
        var digest: String {
            [sent, events, waits, endings].map { Self.digest($0) }.joined(separator: " ")
        }

        /// FNV-1a, because hashes of the standard library differ from process to process.
        private static func digest(_ lines: [String]) -> String {
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325
            for byte in lines.joined(separator: "\n").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            let text = String(hash & 0xFF_FFFF, radix: 16)
            return String(repeating: "0", count: 6 - text.count) + text
        }
    }

    /// What ends a call from outside, before the step that follows an event.
    private struct Cancelling {
        enum Target: CaseIterable { case call, loader }
        var target: Target
        var call: Int
        var event: Int
    }

    private static let names = ["svc.example.com", "other.example.com"]
    private let number: Int
    private let random: SeededRandom

    init(number: Int) {
        self.number = number
        random = SeededRandom(seed: UInt64(number) &* 0x1234_5678_9ABC_DEF1 ^ 0x1ADE)
    }

    /// Runs the calls to their ends.
    func run() async throws -> Story {
        let rig = try makeRig()
        Self.serve(rig, SeededRandom(seed: random.next()))
        let (time, random) = (rig.time, random)
        let loader = try makeLoader(rig)
        let count = 1 + random.next(below: 4)
        let plans = try (0..<count).map { _ in
            (delay: random.duration(below: .milliseconds(400)), request: try makeRequest())
        }
        let cancelling =
            random.unit() < 0.5
            ? Cancelling(
                target: random.unit() < 0.7 ? .call : .loader,
                call: random.next(below: count),
                event: 1 + random.next(below: 24)
            ) : nil
        let tasks = Locked<[Task<Void, Never>]>([])
        let endings = Locked<[String]>([])
        let isCancelled = Locked(false)

        try await time.runAutomatically(beforeEachStep: { _ in
            guard let cancelling, rig.events.records.count >= cancelling.event else { return }
            let isDue = isCancelled.withLock { isCancelled in
                defer { isCancelled = true }
                return !isCancelled
            }
            guard isDue else { return }
            switch cancelling.target {
            case .loader: loader.cancelAllLoads()
            case .call:
                let task = tasks.withLock { $0.count > cancelling.call ? $0[cancelling.call] : nil }
                task?.cancel()
            }
        }) {
            for (index, plan) in plans.enumerated() {
                let task = Task(executorPreference: TaskExecutors.current) {
                    // Cancelled when the whole run is; the call then ends as cancelled.
                    try? await time.sleep(for: plan.delay)
                    let ending = await Self.ending(of: plan.request, by: loader)
                    endings.withLock { $0.append("\(Self.stamp(time.now)) call \(index): \(ending)") }
                }
                tasks.withLock { $0.append(task) }
            }
            for task in tasks.withLock(\.self) { await task.value }
            // What continues in the background.
            try await time.sleep(for: .seconds(600))
        }
        return story(of: rig, endings.withLock(\.self))
    }

    private static func ending(of request: Request, by loader: Loader) async -> String {
        do throws(LoadingError) {
            let response = try await loader.load(request)
            let text = String(decoding: try await response.body.collect(), as: UTF8.self)
            return "\(response.status) \(text) \(response.attempts)"
        } catch {
            return "\(EventRecorder.line(for: .callFailed(error))) \(error.context.attempts)"
        }
    }

    private func story(of rig: Rig, _ endings: [String]) -> Story {
        var story = Story(endings: endings)
        for received in rig.transport.received {
            let fields = received.request.headers.map { "\($0.name): \($0.value)" }.joined(separator: " | ")
            story.sent.append("\(received.request.method) \(received.request.url) | \(fields) | \(received.text)")
        }
        let first = rig.events.records.map(\.call).reduce(into: [Call.ID: Int]()) { numbers, id in
            if numbers[id] == nil { numbers[id] = numbers.count }
        }
        for record in rig.events.records {
            // A task of the default executor ends the storing of a body that was cancelled, so its time is not that of the run.
            if case .cacheNotStored(let rule) = record.event, rule == .brokenOff { continue }
            let place = "\(first[record.call] ?? -1).\(record.attempt)"
            let line = "\(Self.stamp(record.instant)) \(place) \(EventRecorder.line(for: record.event))"
            story.events.append(line)
            switch record.event {
            case .waitStarted, .waitEnded: story.waits.append(line)
            default: break
            }
        }
        return story
    }

    private static func stamp(_ instant: Instant) -> String { "\(instant.nanoseconds / 1000) µs" }

    // MARK: - The service

    private func makeRig() throws -> Rig {
        let random = random
        var limits = RateLimits()
        if random.unit() < 0.5 { limits.default = .perSecond(2 + 20 * random.unit()) }
        if random.unit() < 0.3 { limits.concurrency = 1 + random.next(below: 2) }
        let seeds = (0..<3).map { _ in random.next() }
        let cache = random.unit() < 0.5 ? ResponseCache.Settings(store: try ResponseCache.MemoryStore()) : nil
        let (retries, immediate) = (random.next(below: 4), random.next(below: 2))
        let hasHosts = random.unit() < 0.5
        let deadline = random.unit() < 0.3 ? Duration.milliseconds(50 + random.next(below: 4000)) : .seconds(60)
        let attempt = random.unit() < 0.2 ? Duration.milliseconds(50 + random.next(below: 1000)) : nil
        let (decorates, hasLayers, traces) = (random.unit() < 0.2, random.unit() < 0.2, random.unit() < 0.3)
        return Rig { settings in
            let time = settings.time
            settings.random = SeededRandom(seed: seeds[0])
            settings.userAgent = nil
            settings.languages = .fixed(["en"])
            settings.cache = cache
            settings.retries.limit = retries
            settings.retries.immediateTries = immediate
            settings.deadlines.buffered = deadline
            settings.deadlines.streamed = deadline
            settings.deadlines.attempt = attempt
            // Valid limits are never refused.
            settings.rateLimiter = try? RateLimiter(limits, time: time, random: SeededRandom(seed: seeds[1]))
            if hasHosts {
                settings.hosts = HostDirectory(["svc.example.com": ["svc.example.com", "backup.example.com"]])
            }
            if traces { settings.tracing = Tracing() }
            if decorates {
                settings.decorators = [
                    Service.decorator { request in
                        try await time.sleep(for: .milliseconds(10))
                        return request
                    }
                ]
            }
            if hasLayers {
                let layer = Chain.interceptor { request, next in try await next(request) }
                settings.callInterceptors = [layer]
                settings.attemptInterceptors = [layer]
            }
        }
    }

    /// A loader of an account that is signed out, or signed in by tokens that are refreshed.
    private func makeLoader(_ rig: Rig) throws -> Loader {
        guard random.unit() < 0.5 else { return rig.loader }
        let (time, random) = (rig.time, SeededRandom(seed: random.next()))
        let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://svc.example.com")) {
            (_, _) throws(LoadingError) in
            try await time.sleep(for: .milliseconds(1 + random.next(below: 200)))
            guard random.unit() < 0.85 else { throw LoadingError(.timedOut(.idle)) }
            return .init(Secret("token-\(random.next(below: 1000))"), end: .after(.seconds(1 + random.next(below: 60))))
        }
        return rig.service.account(identifier: "a", authorisers: [authoriser]).makeLoader()
    }

    private func makeRequest() throws -> Request {
        let url = "https://\(random.unit() < 0.8 ? Self.names[0] : Self.names[1])/\(random.next(below: 3))"
        var request = try Request(url)
        if random.unit() < 0.2 {
            request = try Request(.post, url, body: .bytes(Data("order".utf8), contentType: nil))
            if random.unit() < 0.5 { request.idempotencyKey = .generated }
        }
        if random.unit() < 0.25 { request.delivery = .streamed }
        if random.unit() < 0.2 { request.priority = .high }
        return request
    }

    // MARK: - The servers

    /// Servers that succeed, redirect, refuse, fail and are slow, as their own sequence of random numbers says.
    private static func serve(_ rig: Rig, _ random: SeededRandom) {
        rig.transport.onAnyRequest().respond(
            .computed { request, _ in
                let answer = Self.answer(to: request, random)
                return random.unit() < 0.7 ? answer.after(random.duration(below: .milliseconds(300))) : answer
            }
        )
    }

    private static func answer(to request: Request, _ random: SeededRandom) -> ScriptedResponse {
        let number = random.next(below: 100)
        switch random.unit() {
        case ..<0.44:
            if request.headers.contains("If-None-Match"), random.unit() < 0.6 {
                return .status(304, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=1"])
            }
            var answer = ScriptedResponse.text("0123456789-\(number)")
            if random.unit() < 0.6 { answer = answer.adding("Cache-Control", "max-age=\(random.next(below: 3))") }
            if random.unit() < 0.6 { answer = answer.adding("ETag", "\"\(random.next(below: 2))\"") }
            if random.unit() < 0.3 { answer = answer.adding("Set-Cookie", "a=\(number); Domain=example.com") }
            return random.unit() < 0.5 ? answer.inPieces(of: 4, every: .milliseconds(20)) : answer
        case ..<0.54:
            let host = names[random.next(below: 2)]
            return .status(
                random.unit() < 0.5 ? 302 : 307,
                headers: ["Location": "https://\(host)/\(random.next(below: 3))", "Set-Cookie": "hop=\(number)"]
            )
        case ..<0.62: return .status(401, headers: ["WWW-Authenticate": "Bearer"])
        case ..<0.72:
            let answer = ScriptedResponse.status(random.unit() < 0.6 ? 503 : 429)
            return random.unit() < 0.6 ? answer.adding("Retry-After", "\(random.next(below: 4))") : answer
        case ..<0.80:
            let host = request.url.host() ?? ""
            return .fails(LoadingError(.cannotConnect(host: host, reason: .refused), LoadingError.Context(request)))
        case ..<0.86: return .connectionLost(isSafeToRepeat: random.unit() < 0.5)
        case ..<0.91: return ScriptedResponse.text("0123456789").breaking(after: 3)
        case ..<0.95: return .status(random.unit() < 0.5 ? 404 : 500, headers: ["Cache-Control": "max-age=2"], "no")
        case ..<0.98: return .timesOut()
        default: return .stalls
        }
    }
}
