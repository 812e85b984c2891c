#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting
import Testing

@testable import LadeCore
@testable import LadePolicies

/// Credentials that were taken before a wait, and what is sent after it.
@Suite("Credentials after a wait", .timeLimit(.minutes(5)))
struct LateCredentialsTests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()

    private func chain(_ authorisers: [any Authoriser], _ above: [any Interceptor] = [], rate: Double = 1) throws
        -> Chain
    {
        let limiter = try RateLimiter(RateLimits(default: .perSecond(rate)), time: time, random: SeededRandom(seed: 2))
        let links: [any Interceptor] = [
            AttemptInterceptor(authorisers: authorisers), ExchangeInterceptor(limiter: limiter),
        ]
        return Chain(above + links, transport: transport)
    }

    /// Sends requests together, and returns what was sent for each at which second.
    private func sent(
        _ count: Int,
        _ chain: Chain,
        after duration: Duration = .zero,
        _ change: @escaping @Sendable () -> Void = {}
    ) async throws -> [String] {
        let time = time
        let lines = Locked<[String]>([])
        let request = try Request("https://api.test/")
        let noting = Noting { request in
            guard request.url.host() == "api.test" else { return }
            let field = request.headers["Authorization"] ?? request.headers["X-Signature"] ?? "-"
            lines.withLock { $0.append("\(time.now.nanoseconds / 1_000_000_000) \(field)") }
        }
        let noted = Chain(chain.interceptors + [noting], transport: transport)
        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    try? await time.sleep(for: duration)
                    change()
                }
                for number in 1...count {
                    group.addTask {
                        _ = try? await noted.send(request, call: Call(id: .init(UInt64(number)), time: time))
                    }
                }
            }
        }
        return lines.withLock(\.self)
    }

    private func scope() throws -> Authorisation.Scope {
        try Authorisation.Scope("https://api.test", "https://other.test")
    }

    private func tokens(
        _ settings: Authorisation.RefreshSettings = Authorisation.RefreshSettings(),
        _ end: Authorisation.Expiry
    ) throws
        -> Authorisation.Bearer
    {
        let (count, time) = (Locked(0), time)
        return Authorisation.Bearer(scope: try scope(), settings: settings) { _, _ in
            // A refresh takes a moment.
            try? await time.sleep(for: .milliseconds(10))
            return count.withLock { count in
                count += 1
                return .init(Secret("t\(count)"), end: end)
            }
        }
    }

    @Test("finding LX-5 a call that waits for the rate limit is sent with the token that was renewed meanwhile")
    func newToken() async throws {
        transport.onAnyRequest().respond(.status(200))
        var settings = Authorisation.RefreshSettings()
        settings.ahead = .seconds(3)
        let bearer = try tokens(settings, .after(.seconds(10)))

        let sent = try await sent(12, try chain([bearer]))

        // All twelve took t1 together. The seventh second is the first of the last three, and begins the renewal.
        let old = (0...7).map { "\($0) Bearer t1" }
        #expect(sent == old + (8...11).map { "\($0) Bearer t2" }, "\(sent)")
    }

    @Test(
        "finding LX-5 a token that ended in the queue is not sent: the slot is returned, and the call waits for another"
    )
    func endedToken() async throws {
        transport.onAnyRequest().respond(.status(200))
        var settings = Authorisation.RefreshSettings()
        settings.ahead = .zero
        let bearer = try tokens(settings, .after(.seconds(5)))

        let sent = try await sent(8, try chain([bearer]))

        #expect(sent.map { $0.suffix(2) } == ["t1", "t1", "t1", "t1", "t1", "t2", "t2", "t2"], "\(sent)")
        // The slots that were returned are used: one request a second, late by the refresh alone.
        #expect(sent.count == 8 && sent.last?.hasPrefix("7 ") == true, "\(sent)")
    }

    @Test("finding LX-5 a token of the app that replaces another while calls wait is used by all of them")
    func replacedToken() async throws {
        transport.onAnyRequest().respond(.status(200))
        let bearer = Authorisation.Bearer(token: "old", scope: try scope())

        let sent = try await sent(4, try chain([bearer]), after: .milliseconds(1_500)) {
            bearer.credentials.replace(with: .init("new"))
        }

        #expect(sent == ["0 Bearer old", "1 Bearer old", "2 Bearer new", "3 Bearer new"])
    }

    @Test("finding LX-5 the refusal of a renewed token is that of the renewed one: the replay has the next")
    func refusedToken() async throws {
        let count = Locked(0)
        let own = Authorisation.Bearer(scope: try scope()) { _, _ in
            count.withLock { count in
                count += 1
                return .init(Secret("t\(count)"))
            }
        }
        transport.on("refused") { $0.headers["Authorization"] == "Bearer t2" }.respond(.status(401))
        transport.onAnyRequest().respond(.status(200))

        let sent = try await sent(2, try chain([own], rate: 0.1), after: .seconds(1)) { own.refresh() }

        // The second took t1, waited, and got t2, which is refused once and not taken for t1.
        #expect(sent.map { $0.suffix(2) } == ["t1", "t2", "t3"], "\(sent)")
    }

    /// A signature with the second in which it was made.
    private struct Signature: Authoriser {
        let identifier = "signature"
        let observesScope = true

        func claims(_ request: Request) -> Bool { request.url.host() == "api.test" }

        func authorise(_ request: Request, in context: Authorisation.Context) async throws -> Request {
            signed(request, context)
        }

        func renewed(_ request: Request, in context: Authorisation.Context) -> Request? { signed(request, context) }

        private func signed(_ request: Request, _ context: Authorisation.Context) -> Request {
            var request = request
            let second = context.call.time.now.nanoseconds / 1_000_000_000
            request.headers.set("X-Signature", secret: Secret("s\(second) \(request.headers["Authorization"] ?? "")"))
            return request
        }
    }

    @Test("finding LX-5 a signature with a date is made when the request is sent, over the credentials that are sent")
    func signatures() async throws {
        transport.onAnyRequest().respond(.status(200))
        let bearer = Authorisation.Bearer(token: "old", scope: try scope())

        _ = try await sent(3, try chain([bearer, Signature()]), after: .milliseconds(500)) {
            bearer.credentials.replace(with: .init("new"))
        }

        #expect(
            transport.requests.map { $0.headers["X-Signature"] } == ["s0 Bearer old", "s1 Bearer new", "s2 Bearer new"]
        )
    }

    @Test(
        "finding LX-5 the counts of a nonce ascend in the order of sending, and a challenge that came meanwhile is answered"
    )
    func digests() async throws {
        let challenge = #"Digest realm="r", nonce="n1", qop="auth", algorithm=SHA-256"#
        transport.on("unproved") { !$0.headers.contains("Authorization") }
            .respond(.status(401, headers: ["WWW-Authenticate": challenge]))
        transport.onAnyRequest().respond(.status(200))
        let digest = Authorisation.Digest(user: "u", password: "p", scope: try scope())
        let limiter = try RateLimiter(RateLimits(default: .perSecond(1)), time: time, random: SeededRandom(seed: 2))
        let chain = Chain(
            [AttemptInterceptor(authorisers: [digest]), ExchangeInterceptor(limiter: limiter)],
            transport: transport
        )
        let (time, transport) = (time, transport)

        try await time.runAutomatically {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...5 {
                    var request = try Request("https://api.test/\(number)")
                    // The last overtake the first.
                    request.priority = number > 3 ? .high : .normal
                    group.addTask { [request] in
                        try? await time.sleep(for: .milliseconds(Int64(number)))
                        _ = try await chain.send(request, call: Call(id: .init(UInt64(number)), time: time))
                    }
                }
                try await group.waitForAll()
            }
        }

        // Only the first was sent without a proof: the others waited, and knew the challenge when their turn came.
        let fields = transport.requests.map { $0.headers["Authorization"] ?? "-" }
        #expect(fields.filter { $0 == "-" }.count == 1 && fields.count == 6, "\(fields)")
        let counts = fields.compactMap(\.nonceCount)
        #expect(counts == counts.sorted() && Set(counts).count == counts.count, "\(counts)")
    }

    @Test("finding LX-5 a request that an interceptor sends on its own gets no credentials of another origin")
    func ownRequests() async throws {
        transport.onAnyRequest().respond(.status(200))
        let bearer = Authorisation.Bearer(token: "secret", scope: try Authorisation.Scope("https://api.test"))
        let limiter = try RateLimiter(RateLimits(), time: time, random: SeededRandom(seed: 2))
        let asking = Chain.interceptor { request, next in
            _ = try await next(Request("https://elsewhere.test/"))
            return try await next(request)
        }
        let chain = Chain(
            [AttemptInterceptor(authorisers: [bearer]), asking, ExchangeInterceptor(limiter: limiter)],
            transport: transport
        )

        let response = try await chain.send(Request("https://api.test/"), call: Call(time: time))
        _ = try await chain.send(response.request.moved(to: Request("https://else.test/").url), call: Call(time: time))

        let fields = transport.requests.map { $0.headers["Authorization"] }
        #expect(fields == [nil, "Bearer secret", nil, nil])
    }

    @Test("finding LX-5 an address that was marked while the call waited for its slot is not used")
    func markedAddresses() async throws {
        let directory = HostDirectory(["api.test": ["api.test", "backup.test"]])
        transport.onAnyRequest().respond(.status(200))
        let chain = try chain([], [AttemptInterceptor(hosts: directory)])
        let time = time

        _ = try await sent(4, chain, after: .milliseconds(1_500)) {
            directory.mark("api.test", for: .seconds(60), at: time.now)
        }

        let backup = Request.Destination.host("backup.test", port: nil)
        #expect(transport.requests.map(\.destination) == [nil, nil, backup, backup])
    }
}

extension String {
    /// The count of the nonce in a proof.
    fileprivate var nonceCount: String? { firstRange(of: "nc=").map { String(self[$0.upperBound...].prefix(8)) } }
}

/// Notes each request that passes.
private struct Noting: Interceptor {
    let note: @Sendable (Request) -> Void
    let observesScope = true

    init(_ note: @escaping @Sendable (Request) -> Void) { self.note = note }

    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        note(request)
        return try await next(request)
    }
}
