#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Dispatch
import Lade
import LadeTesting
import SharedDoubles
import Testing

@Suite("Random lifetimes", .timeLimit(.minutes(10)))
struct RandomLifetimeTests {
    /// Loaders, accounts and services come and go while calls of every form are in flight.
    ///
    /// There are 100,000 lifetimes in `make soak`, and 10,000 in `make test`.
    @Test("ends each of thousands of random lifetimes once, without a leak or a late call")
    func randomLifetimes() async throws {
        let random = SeededRandom(seed: Soak.current.seed(for: "lifetimes"))
        let tally = Tally()
        var services: [WeakService] = []
        for round in 0..<Soak.current.rounds(of: 100, few: 10) {
            let transport = ScriptedTransport()
            transport.on(nil, "/instant").respond(.text("ok"))
            transport.on(nil, "/slow").respond(.stalls)
            transport.on(nil, "/broken").respond(.connectionLost())
            transport.on(nil, "/stream").respond(.text("abcdef").inPieces(of: 2))
            let counter = CallCounter()
            var settings = Service.Settings()
            settings.observers = [counter]
            // Pauses would be real ones here.
            settings.retries.limit = 0
            // So are deadlines, which no machine is to be too busy for.
            settings.deadlines.buffered = .seconds(3_600)
            settings.deadlines.attempt = .seconds(3_600)
            // Every other one with a transport that does not support scopes.
            let service =
                round % 2 == 0
                ? Service(settings, transport: transport) : Service(settings, transport: Unscoped(base: transport))
            services.append(WeakService(service: service))
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Beside tests that compute, each suspension takes long: many tasks wait at the same time.
                for _ in 0..<20 {
                    let seed = random.next()
                    group.addTask { try await Lives(service: service, tally: tally, seed: seed).live(50) }
                }
                try await group.waitForAll()
            }
            await service.shutDown()
            try await counter.ends(1000)
            #expect(counter.begun == 1000, "seed \(random.seed)")
            #expect(transport.inFlight == 0, "seed \(random.seed)")
        }
        #expect(tally.late == 0, "seed \(random.seed)")
        #expect(tally.repeated == 0, "seed \(random.seed)")
        // The last tasks of a service may be on their way out; those of earlier ones have ended.
        #expect(services.dropLast(5).allSatisfy { $0.service == nil }, "seed \(random.seed)")
    }
}

/// A transport that does not support scopes: its calls run in tasks of their own.
private struct Unscoped: Transport {
    let base: ScriptedTransport

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        try await base.send(request, call: call)
    }
}

private struct WeakService {
    weak var service: Service?
}

/// Some lifetimes of loaders, one after the other, with one call each.
private struct Lives {
    let service: Service
    let tally: Tally
    let random: SeededRandom
    private let queue = DispatchQueue(label: "lade.lifetimes")

    init(service: Service, tally: Tally, seed: UInt64) {
        self.service = service
        self.tally = tally
        random = SeededRandom(seed: seed)
    }

    func live(_ count: Int) async throws {
        let paths = ["instant", "slow", "broken", "stream"]
        var account = service.account(identifier: "a")
        for _ in 0..<count {
            if random.next() % 16 == 0 {
                await account.signOut()
                account = service.account(identifier: "a")
            }
            let path = paths[Int(random.next() % 4)]
            let lifetime = tally.begin()
            let loader = Locked<Loader?>(account.makeLoader())
            try await use(loader, try Request("https://svc.example.com/\(path)"), lifetime)
            if random.next() % 4 == 0 { await Task.yield() }
            await end(lifetime, of: loader)
        }
    }

    private func use(_ loader: Locked<Loader?>, _ request: Request, _ lifetime: Int) async throws {
        let current = loader.withLock { $0 }
        switch random.next() % 4 {
        case 0:
            let handle = current?.load(request, on: .queue(queue)) { [tally] _ in tally.end(lifetime) }
            if random.next() % 2 == 0 { handle?.cancel() }
        case 1:
            current?.load(Endpoint(request).text(), on: .queue(queue)) { [tally] _ in tally.end(lifetime) }
        case 2 where !request.url.absoluteString.hasSuffix("/slow"):
            // That a broken one throws is what it is for.
            let response = try? await current?.load(request.streamed)
            if random.next() % 2 == 0 { _ = try? await response?.body.collect() }
        default:
            // That it throws is what it is for.
            let awaited = Task { [current] in try? await current?.load(request) }
            if random.next() % 2 == 0 { await Task.yield() }
            if random.next() % 2 == 0 { current?.cancelAllLoads() }
            awaited.cancel()
            _ = await awaited.value
        }
    }

    /// Lets the loader go where it calls back: from then on it must not.
    private func end(_ lifetime: Int, of loader: Locked<Loader?>) async {
        await withCheckedContinuation { continuation in
            queue.async { [tally] in
                let last = loader.withLock { loader -> Loader? in
                    defer { loader = nil }
                    return loader
                }
                withExtendedLifetime(last) {}
                _ = consume last
                tally.bury(lifetime)
                continuation.resume()
            }
        }
    }
}

/// What became of the lifetimes.
private final class Tally: Sendable {
    private struct State {
        var isBuried: [Bool] = []
        var endings: [UInt8] = []
        var late = 0
        var repeated = 0
    }

    private let state = Locked(State())

    var late: Int { state.withLock { $0.late } }
    var repeated: Int { state.withLock { $0.repeated } }

    func begin() -> Int {
        state.withLock { state in
            state.isBuried.append(false)
            state.endings.append(0)
            return state.endings.count - 1
        }
    }

    func end(_ lifetime: Int) {
        state.withLock { state in
            if state.isBuried[lifetime] { state.late += 1 }
            if state.endings[lifetime] > 0 { state.repeated += 1 }
            state.endings[lifetime] += 1
        }
    }

    func bury(_ lifetime: Int) {
        state.withLock { $0.isBuried[lifetime] = true }
    }
}

/// Counts the beginnings and ends of calls.
private final class CallCounter: Call.Observer {
    private let count = Locked(0)
    private let ended = Signal()

    var begun: Int { count.withLock { $0 } }

    /// Waits until so many calls have ended.
    func ends(_ count: Int) async throws {
        for _ in 0..<count { try await ended.wait() }
    }

    func record(_ event: Call.Event, of call: Call) {
        switch event {
        case .callStarted: count.withLock { $0 += 1 }
        case .callFinished, .callFailed: ended.step()
        default: break
        }
    }
}
