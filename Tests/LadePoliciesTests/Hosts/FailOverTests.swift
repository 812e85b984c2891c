#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCallbacks
import Lade
import LadeCore
import LadeTesting
import Testing

@testable import LadePolicies

/// Moving to the next address of a list, which is not a retry.
@Suite("Fail-over", .timeLimit(.minutes(5)))
struct FailOverTests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()
    private let events = EventRecorder()
    private let budget = RetryBudget()

    private static let backups: [HostDirectory.Address] = (1...5).map { HostDirectory.Address("10.0.0.\($0)") }

    private var call: Call { Call(time: time, random: SeededRandom(seed: 1), events: [events]) }

    private func error(_ kind: LoadingError.Kind) -> ScriptedResponse { .fails(LoadingError(kind)) }

    private var refused: ScriptedResponse {
        error(.cannotConnect(host: "svc.test", reason: .refused))
    }

    /// Lets the host itself and the first backups response like this, and the others with 200.
    private func answer(_ answer: ScriptedResponse, atFirst count: Int) {
        for index in 0..<count {
            let host: String? = index == 0 ? nil : Self.backups[index - 1].host
            transport.on("address \(index)") { request in
                guard case .host(let name, _) = request.destination else { return host == nil }
                return name == host
            }.respond(answer)
        }
        transport.onAnyRequest().respond(.text("ok"))
    }

    private func chain(
        _ policy: RetryPolicy,
        _ limits: RateLimits = RateLimits(),
        _ marking: HostDirectory.Marking = HostDirectory.Marking()
    ) throws -> Chain {
        let list: [HostDirectory.Address] = ["svc.test"] + Self.backups
        return Chain(
            [
                HopInterceptor(deadlines: DeadlineSettings()), AttemptInterceptor(retries: policy, budget: budget),
                AttemptInterceptor(hosts: HostDirectory(["svc.test": list], marking: marking)),
                ExchangeInterceptor(limiter: try RateLimiter(limits, time: time, random: SeededRandom(seed: 2))),
                ExchangeInterceptor(deadlines: DeadlineSettings()),
            ],
            transport: transport
        )
    }

    private var withoutRetries: RetryPolicy {
        var policy = RetryPolicy()
        policy.limit = 0
        return policy
    }

    private func send(_ request: Request, _ chain: Chain) async throws(LoadingError) -> Response {
        let call = call
        return try await time.runAutomatically { () async throws(LoadingError) in
            try await chain.send(request, call: call)
        }
    }

    private var moves: Int { events.events.count { if case .hostMoved = $0 { true } else { false } } }
    private var attempts: Int { events.events.count { if case .attemptStarted = $0 { true } else { false } } }

    // MARK: - Moving

    enum Setting: CaseIterable {
        case noRetries, defaults, dataLoader
    }

    @Test(
        "finding UF-11 finding SF-4 policies PL-34 one call reaches the sixth address when five are dead, as one attempt without delay",
        arguments: Setting.allCases
    )
    func reachesTheLast(setting: Setting) async throws {
        answer(refused, atFirst: 5)
        let chain =
            switch setting {
            case .noRetries: try chain(withoutRetries, RateLimits(default: .perSecond(1)))
            case .defaults: try chain(RetryPolicy())
            case .dataLoader: try chain(.dataLoader, .dataLoader, .dataLoader)
            }

        let response = try await send(try Request(.post, "https://svc.test/a"), chain)

        #expect(response.status == 200)
        #expect(response.attempts == 1)
        #expect(time.now == Instant(nanoseconds: 0))
        #expect(transport.requests.count == 6)
        #expect((attempts, moves) == (1, 5))
        #expect(budget.keyCount == 0)
    }

    @Test("finding SF-4 every address is used once, then the retry policy decides")
    func endsWithTheList() async throws {
        answer(refused, atFirst: 6)
        var policy = RetryPolicy()
        policy.limit = 1
        policy.backoff = .none

        let chain = try chain(policy)
        let failure = await #expect(throws: LoadingError.self) {
            try await send(try Request("https://svc.test/a"), chain)
        }

        guard case .cannotConnect? = failure?.kind else { throw failure ?? LoadingError(.cancelled) }
        #expect(failure?.context.attempts == 2)
        #expect(transport.requests.count == 12)
        let addresses = transport.requests.map(\.destination)
        #expect(Set(addresses.prefix(6)).count == 6)
        #expect(Set(addresses.suffix(6)).count == 6)
    }

    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var movesOn: Bool
        var kind: LoadingError.Kind

        init(_ name: String, movesOn: Bool, _ kind: LoadingError.Kind) {
            (testDescription, self.movesOn, self.kind) = (name, movesOn, kind)
        }
    }

    static let cases: [Case] = [
        Case("name not resolved", movesOn: true, .nameNotResolved(host: "svc.test")),
        Case("refused", movesOn: true, .cannotConnect(host: "svc.test", reason: .refused)),
        Case("handshake", movesOn: true, .cannotConnect(host: "svc.test", reason: .handshakeFailed)),
        Case("time-out of the look-up", movesOn: true, .timedOut(.nameLookup)),
        Case("time-out of the connection", movesOn: true, .timedOut(.connect)),
        Case(
            "certificate",
            movesOn: true,
            .untrustedServer(LoadingError.TrustCause(host: "svc.test", cause: .expired))
        ),
        Case("key", movesOn: true, .pinMismatch(host: "svc.test")),
        Case("not processed", movesOn: true, .connectionLost(.nothing, isSafeToRepeat: true)),
        Case("perhaps processed", movesOn: false, .connectionLost(.nothing, isSafeToRepeat: false)),
        Case("half a head", movesOn: false, .connectionLost(.head, isSafeToRepeat: false)),
        Case("idle", movesOn: false, .timedOut(.idle)),
        Case("whole", movesOn: false, .timedOut(.whole)),
        Case("the proxy is dead", movesOn: false, .proxy(.cannotConnect(proxy: "p"))),
        Case("malformed", movesOn: false, .malformedResponse(LoadingError.MalformedResponse(.notHTTP))),
        Case("cancelled", movesOn: false, .cancelled),
    ]

    @Test("finding SF-4 a request moves on only when it certainly was not processed", arguments: cases)
    func movesWhenUnprocessed(row: Case) async throws {
        answer(error(row.kind), atFirst: 1)
        let chain = try chain(withoutRetries)

        let response = try? await send(try Request(.post, "https://svc.test/a"), chain)

        #expect((response?.status == 200) == row.movesOn)
        #expect(transport.requests.count == (row.movesOn ? 2 : 1))
    }

    @Test("finding SF-4 an answer, whatever its status, is no reason to move")
    func answersStay() async throws {
        answer(.status(503), atFirst: 1)

        let response = try await send(try Request("https://svc.test/a"), try chain(withoutRetries))

        #expect(response.status == 503)
        #expect(transport.requests.count == 1)
    }

    @Test("finding SF-4 a body that can be sent only once is not sent to another address after it was read")
    func bodiesOnce() async throws {
        let lost = error(.connectionLost(.nothing, isSafeToRepeat: true))
        answer(lost, atFirst: 1)
        var request = try Request(.put, "https://svc.test/a")
        request.body = .writer(length: 2) { try await $0(Data("ab".utf8)) }

        let sent = request
        let chain = try chain(withoutRetries)
        await #expect(throws: LoadingError.self) { try await send(sent, chain) }

        #expect(transport.requests.count == 1)
    }

    @Test("finding SF-4 the deadline of the call ends the moves")
    func deadline() async throws {
        answer(error(.timedOut(.connect)).after(.seconds(4)), atFirst: 6)
        var request = try Request("https://svc.test/a")
        request.deadline = .seconds(10)

        let sent = request
        let chain = try chain(RetryPolicy())
        let failure = await #expect(throws: LoadingError.self) { try await send(sent, chain) }

        guard case .deadlineExceeded? = failure?.kind else { throw failure ?? LoadingError(.cancelled) }
        #expect(time.now == Instant(nanoseconds: 10_000_000_000))
        #expect(failure?.context.attempts == 1)
    }

    @Test("finding SF-4 a slot of the rate limit that was not used is returned, and nothing that was used")
    func slots() async throws {
        answer(refused, atFirst: 3)
        let chain = try chain(withoutRetries, RateLimits(default: .perSecond(1)))

        for _ in 0..<3 { _ = try await send(try Request("https://svc.test/a"), chain) }

        // Three requests at one a second: at 0, 1 and 2 s.
        #expect(time.now == Instant(nanoseconds: 2_000_000_000))
    }
}
