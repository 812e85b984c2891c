#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting
import Testing

import Lade
@testable import LadeCore
@testable import LadePolicies

/// A failure that never left this machine, and everything that remembers failures.
@Suite("Requests that were never sent", .timeLimit(.minutes(5)))
struct UnsentTests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()
    private let events = EventRecorder()

    private static let unsent: [LoadingError.Kind] = [
        .nameNotResolved(host: "id.test"), .cannotConnect(host: "id.test", reason: .unreachable),
        .cannotConnect(host: "id.test", reason: .refused), .timedOut(.connect), .timedOut(.nameLookup),
        .proxy(.cannotConnect(proxy: "p")),
    ]

    private func call(_ number: UInt64 = 1) -> Call {
        Call(id: .init(number), time: time, random: SeededRandom(seed: number), events: [events])
    }

    @Test(
        "finding LX-4 a refresh that never left this machine is not remembered, however often it failed",
        arguments: unsent
    )
    func refreshes(kind: LoadingError.Kind) async throws {
        let isDown = Locked(true)
        let count = Locked(0)
        transport.onAnyRequest().respond(.status(200))
        let bearer = Authorisation.Bearer(scope: try Authorisation.Scope("https://api.test")) { _, _ in
            count.withLock { $0 += 1 }
            guard !isDown.withLock(\.self) else { throw LoadingError(kind) }
            return .init("t")
        }
        let chain = Chain([AttemptInterceptor(authorisers: [bearer])], transport: transport)
        for _ in 0..<20 {
            await #expect(throws: LoadingError.self) {
                _ = try await chain.send(Request("https://api.test/"), call: call())
            }
        }

        isDown.withLock { $0 = false }

        #expect(try await chain.send(Request("https://api.test/"), call: call()).status == 200)
        #expect(count.withLock(\.self) == 21)
    }

    @Test("finding LX-4 a failed refresh that no call needs yet is not tried with every call")
    func earlyRefreshes() async throws {
        var settings = Authorisation.RefreshSettings()
        settings.ahead = .seconds(50)
        let count = Locked(0)
        transport.onAnyRequest().respond(.status(200))
        let bearer = Authorisation.Bearer(scope: try Authorisation.Scope("https://api.test"), settings: settings) {
            last,
            _ in
            count.withLock { $0 += 1 }
            guard last == nil else { throw LoadingError(.timedOut(.connect)) }
            return .init("t", end: .after(.seconds(100)))
        }
        let chain = Chain([AttemptInterceptor(authorisers: [bearer])], transport: transport)
        _ = try await chain.send(Request("https://api.test/"), call: call())
        time.advance(by: .seconds(60))

        for _ in 0..<20 {
            _ = try await chain.send(Request("https://api.test/"), call: call())
            await Task.yield()
        }

        #expect(count.withLock(\.self) <= 2)
    }

    @Test("finding LX-4 the refresh of an account that another account needs is remembered as its own failure is")
    func nestedRefreshes() async throws {
        let isDown = Locked(true)
        transport.onAnyRequest().respond(.status(200))
        let bearer = Authorisation.Bearer(scope: try Authorisation.Scope("https://api.test")) { _, _ in
            guard isDown.withLock(\.self) else { return .init("t") }
            let cause = LoadingError.AuthorisationCause.Cause.refreshFailed(LoadingError(.timedOut(.connect)))
            throw LoadingError(.authorisationFailed(.init(authoriser: "inner", cause: cause)))
        }
        let chain = Chain([AttemptInterceptor(authorisers: [bearer])], transport: transport)
        await #expect(throws: LoadingError.self) {
            _ = try await chain.send(Request("https://api.test/"), call: call())
        }

        isDown.withLock { $0 = false }

        #expect(try await chain.send(Request("https://api.test/"), call: call()).status == 200)
    }

    @Test("finding LX-4 attempts that were never sent cost the retry budget nothing", arguments: unsent)
    func budgets(kind: LoadingError.Kind) async throws {
        let budget = RetryBudget()
        let key = ServiceKey(try Request("https://api.test/x"))
        transport.onAnyRequest().respond(.fails(LoadingError(kind)))
        var policy = RetryPolicy()
        policy.immediateTries = 3
        policy.limit = 2
        let chain = Chain([AttemptInterceptor(retries: policy, budget: budget)], transport: transport)

        for _ in 0..<100 {
            await #expect(throws: LoadingError.self) {
                _ = try await chain.send(Request("https://api.test/x"), call: call())
            }
        }

        #expect(transport.requests.count == 300)
        #expect(budget.left(for: key) == 500)
    }

    @Test("finding LX-4 neither does the replay after a refusal, nor a redirect to the same address")
    func replays() async throws {
        let budget = RetryBudget()
        let key = ServiceKey(try Request("https://api.test/x"))
        transport.onAnyRequest().respond(.status(401)).then(.timesOut(.connect))
        let count = Locked(0)
        let bearer = Authorisation.Bearer(scope: try Authorisation.Scope("https://api.test")) { _, _ in
            .init(Secret("t\(count.withLock { $0 += 1; return $0 })"))
        }
        let chain = Chain([AttemptInterceptor(budget: budget, authorisers: [bearer])], transport: transport)
        await #expect(throws: LoadingError.self) {
            _ = try await chain.send(Request("https://api.test/x"), call: call())
        }
        #expect(budget.left(for: key) == 500)

        let other = ScriptedTransport()
        other.onAnyRequest().respond(.status(302, headers: ["Location": "/x", "Set-Cookie": "a=b"])).then(
            .timesOut(.connect)
        )
        let following = Chain([HopInterceptor(redirects: RedirectPolicy(), budget: budget)], transport: other)
        await #expect(throws: LoadingError.self) {
            _ = try await following.send(Request("https://api.test/x"), call: call())
        }
        #expect(other.requests.count == 2 && budget.left(for: key) == 500)
    }

    @Test(
        "finding LX-4 no address is marked when none could be reached, and a dead one is when another works",
        arguments: unsent
    )
    func hosts(kind: LoadingError.Kind) async throws {
        guard !(LoadingError(kind).description.contains("proxy")) else { return }
        let directory = HostDirectory(["api.test": ["api.test", "backup.test"]])
        let isDown = Locked(true)
        transport.on("backup") { $0.destination != nil }
            .respond(.computed { _, _ in isDown.withLock(\.self) ? .fails(LoadingError(kind)) : .status(200) })
        transport.onAnyRequest().respond(.fails(LoadingError(kind)))
        let chain = Chain([AttemptInterceptor(hosts: directory)], transport: transport)

        // An outage of this machine's network, for long enough that marks would last for minutes.
        for _ in 0..<10 {
            await #expect(throws: LoadingError.self) {
                _ = try await chain.send(Request("https://api.test/"), call: call())
            }
            time.advance(by: .seconds(60))
        }
        #expect(!directory.isMarked("api.test", at: time.now) && !directory.isMarked("backup.test", at: time.now))
        #expect(directory.address(for: "api.test", at: time.now) == "api.test")

        isDown.withLock { $0 = false }
        _ = try await chain.send(Request("https://api.test/"), call: call())
        #expect(directory.isMarked("api.test", at: time.now) && !directory.isMarked("backup.test", at: time.now))
        // The mark is the first one: what was taken back does not make it longer.
        time.advance(by: .seconds(31))
        #expect(!directory.isMarked("api.test", at: time.now))
    }

    @Test("finding LX-4 an exchange that was never sent gives its slot back", arguments: unsent)
    func slots(kind: LoadingError.Kind) async throws {
        let limiter = try RateLimiter(RateLimits(default: .perSecond(0.01)), time: time, random: SeededRandom(seed: 5))
        transport.onAnyRequest().respond(.fails(LoadingError(kind))).then(.status(200))
        let chain = Chain([ExchangeInterceptor(limiter: limiter)], transport: transport)

        await #expect(throws: LoadingError.self) {
            _ = try await chain.send(Request("https://api.test/"), call: call())
        }

        #expect(limiter.estimatedWait(for: ServiceKey(try Request("https://api.test/"))) == .zero)
        _ = try await chain.send(Request("https://api.test/"), call: call())
        #expect(limiter.estimatedWait(for: ServiceKey(try Request("https://api.test/"))) == .seconds(100))
    }
}
