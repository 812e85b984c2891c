import Foundation
import LadePolicies
import LadeTesting
import Testing

@testable import LadeCore

/// An authoriser that records its calls.
private final class Noting: Authoriser {
    let identifier: String
    let suffix: String
    private let claim: @Sendable (Request) -> Bool
    private let isWilling: Bool
    let asked = Locked<[String]>([])

    init(
        _ identifier: String,
        suffix: String? = nil,
        isWilling: Bool = false,
        claims: @escaping @Sendable (Request) -> Bool = { _ in true }
    ) {
        self.identifier = identifier
        self.suffix = suffix ?? identifier
        self.isWilling = isWilling
        claim = claims
    }

    func claims(_ request: Request) -> Bool { claim(request) }

    func authorise(_ request: Request, in context: Authorisation.Context) async throws(LoadingError) -> Request {
        asked.withLock { $0.append("authorise") }
        var request = request
        request.headers["Trail"] = (request.headers["Trail"].map { $0 + " " } ?? "") + suffix
        return request
    }

    func wasRefused(_ request: Request, by response: Response, in context: Authorisation.Context) -> Bool {
        asked.withLock { $0.append("refused") }
        return isWilling
    }

    var log: [String] { asked.withLock { $0 } }
}

@Suite(.timeLimit(.minutes(5)))
struct AuthorisationInterceptorTests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()
    private let events = EventRecorder()

    private func send(_ request: Request, _ authorisers: any Authoriser...) async throws(LoadingError) -> Response {
        try await Chain([AttemptInterceptor(authorisers: authorisers)], transport: transport)
            .send(request, call: Call(time: time, random: SeededRandom(seed: 1), events: [events]))
    }

    @Test("policies PL-40 service D-42 every authoriser that claims acts, in order, on what the one before made")
    func actInOrder() async throws {
        transport.onAnyRequest().respond(.status(200))
        let (first, none, last) = (
            Noting("first"), Noting("none", claims: { _ in false }),
            Noting("last", claims: { $0.headers["Trail"] == "first" })
        )

        _ = try await send(Request("https://a.test/"), first, none, last)

        #expect(transport.requests[0].headers["Trail"] == "first last")
        #expect(none.log.isEmpty)
    }

    @Test("policies PL-40 a request that no authoriser claims is sent unchanged")
    func sendsUnclaimed() async throws {
        transport.onAnyRequest().respond(.status(401))

        let response = try await send(
            Request("https://a.test/"),
            Noting("none", isWilling: true, claims: { _ in false })
        )

        #expect(response.status == 401)
        #expect(transport.received.count == 1)
    }

    @Test("policies PL-40 after a 401 all are notified, and one that is willing makes one replay from the bare request")
    func replaysOnce() async throws {
        transport.onAnyRequest().respond(.status(401))
        let (unwilling, willing) = (Noting("unwilling"), Noting("willing", isWilling: true))

        let response = try await send(Request("https://a.test/"), unwilling, willing)

        #expect(response.status == 401)
        #expect(unwilling.log == ["authorise", "refused", "authorise"])
        #expect(transport.requests.map { $0.headers["Trail"] } == ["unwilling willing", "unwilling willing"])
        #expect(events.events.count { if case .requestReplayed("willing") = $0 { true } else { false } } == 1)
    }

    @Test(
        "service D-26 an error is not a refusal, whatever its code; nor is any other status",
        arguments: [400, 403, 407]
    )
    func onlyHTTP401(status: Int) async throws {
        transport.on(.get, "/error").respond(.fails(LoadingError(.transport(code: 401, message: "no HTTP"))))
        transport.on(.get, "/status").respond(.status(Response.Status(status)))
        let willing = Noting("willing", isWilling: true)

        await #expect(throws: LoadingError.self) { _ = try await send(Request("https://a.test/error"), willing) }
        #expect(try await send(Request("https://a.test/status"), willing).status.code == status)

        #expect(transport.received.count == 2)
        #expect(willing.log == ["authorise", "authorise"])
    }

    @Test("a body that can be sent only once is not replayed, but authorisers are notified of the refusal")
    func doesNotReplayTouchedBody() async throws {
        transport.onAnyRequest().respond(.status(401))
        let willing = Noting("willing", isWilling: true)
        let body = Request.Body.writer { write in try await write(Data("once".utf8)) }

        let response = try await send(Request(.post, "https://a.test/", body: body), willing)

        #expect(response.status == 401)
        #expect(transport.received.count == 1)
        #expect(willing.log == ["authorise", "refused"])
    }

    @Test("policies PL-14 without budget the refusal is the answer")
    func heedsBudget() async throws {
        transport.onAnyRequest().respond(.status(401))
        var settings = RetryBudget.Settings()
        settings.capacity = 0
        let budget = RetryBudget(settings)
        let link = AttemptInterceptor(budget: budget, authorisers: [Noting("willing", isWilling: true)])

        let response = try await Chain([link], transport: transport).send(Request("https://a.test/"), call: Call())

        #expect(response.status == 401)
        #expect(transport.received.count == 1)
    }

    @Test("service D-10 a call that is cancelled while an authoriser holds it is not sent")
    func doesNotSendGivenUp() async throws {
        let gate = Signal()
        let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://a.test")) {
            (_, _) throws(LoadingError) in
            try await gate.wait()
            return .init("t")
        }
        let task = Task { try await send(Request("https://a.test/"), authoriser) }
        try await gate.arrivals(atLeast: 1)

        task.cancel()

        let result = await task.result
        #expect(throws: LoadingError.self) { try result.get() }
        if case .failure(let error as LoadingError) = result { #expect(error.isCancellation) }
        #expect(transport.received.isEmpty)
        // The refresh continues without its call; here it ends, so that it does not count as leaked.
        gate.raise()
    }

    /// An authoriser during whose work the call is cancelled, and which returns all the same.
    private struct Heedless: Authoriser {
        var identifier: String { "heedless" }

        func claims(_ request: Request) -> Bool { true }

        func authorise(_ request: Request, in context: Authorisation.Context) async throws(LoadingError) -> Request {
            withUnsafeCurrentTask { $0?.cancel() }
            return request
        }

        func wasRefused(_ request: Request, by response: Response, in context: Authorisation.Context) -> Bool { false }
    }

    @Test("service D-10 a call that is cancelled while an authoriser ignores it is not sent")
    func doesNotSendIgnored() async throws {
        let passed = Locked(0)
        let below = Chain.interceptor { request, next in
            passed.withLock { $0 += 1 }
            return try await next(request)
        }
        transport.onAnyRequest().respond(.status(200))
        let chain = Chain([AttemptInterceptor(authorisers: [Heedless()]), below], transport: transport)
        let request = try Request("https://a.test/")

        let result = await Task { try await chain.send(request, call: Call()) }.result

        #expect(passed.withLock { $0 } == 0)
        guard case .failure(let error as LoadingError) = result else {
            Issue.record("the call was not cancelled")
            return
        }
        #expect(error.isCancellation)
    }

    @Test("service D-22 an authoriser can be shared by several chains")
    func isShared() async throws {
        transport.onAnyRequest().respond(.status(200))
        let authoriser = Authorisation.Bearer(token: "t", scope: try Authorisation.Scope("https://a.test"))

        for _ in 0..<2 { _ = try await send(Request("https://a.test/"), authoriser) }

        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer t", "Bearer t"])
    }

    @Test(
        "policies PL-46 credentials go to their origins and paths, and nowhere else",
        arguments: [
            ("https://a.test/", false), ("https://a.test/in", true), ("https://a.test/in/side", true),
            ("https://a.test/inside", false), ("https://a.test:8443/in", false), ("http://a.test/in", false),
            ("https://b.test/in", false), ("https://x.a.test/in", false), ("https://a.test/in/../out", false),
            ("https://a.test/in/%2E%2e/out", false), ("https://A.test:443/in?q", true), ("https://b.test:1/x", true),
        ]
    )
    func scopes(address: String, isClaimed: Bool) throws {
        let scope = try Authorisation.Scope("https://a.test/in", "https://b.test:1")

        #expect(try scope.contains(Request(address)) == isClaimed)
    }

    @Test(
        "credentials may go to this machine in plain HTTP",
        arguments: [
            ("http://localhost:8080/", true), ("http://127.0.0.1/", true), ("http://[::1]:1/", true),
            ("http://api.localhost/", true), ("http://127.evil.example/", false), ("http://10.0.0.1/", false),
        ]
    )
    func loopback(address: String, isSent: Bool) async throws {
        transport.onAnyRequest().respond(.status(200))
        let authoriser = Authorisation.Bearer(token: "t", scope: try Authorisation.Scope(address))
        var request = try Request(address)
        let status = try? await send(request, authoriser).status
        #expect(status == (isSent ? 200 : nil))
        #expect(transport.requests.map { $0.headers["Authorization"] } == (isSent ? ["Bearer t"] : []))

        // The name says this machine, and another one is dialled.
        request.destination = .host("10.0.0.1", port: nil)
        await #expect(throws: LoadingError.self) { _ = try await send(request, authoriser) }
        #expect(transport.requests.count == (isSent ? 1 : 0))
    }

    private struct Fault: Error, Equatable {}

    private struct Throwing: Authoriser {
        let identifier = "signature"
        let error: any Error
        func claims(_ request: Request) -> Bool { true }
        func authorise(_ request: Request, in context: Authorisation.Context) async throws -> Request { throw error }
    }

    @Test("what an authoriser throws is the cause of the call's error, and nothing is sent")
    func keepsCauses() async throws {
        let request = try Request("https://a.test/")
        let error = await #expect(throws: LoadingError.self) { _ = try await send(request, Throwing(error: Fault())) }
        guard case .authorisationFailed(let fault) = error?.kind, case .failed(let cause) = fault.cause else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.authoriser == "signature")
        #expect(cause is Fault)
        #expect(error?.underlyingError is Fault)
        #expect(error?.context.url == "https://a.test/")
        let cancelled = await #expect(throws: LoadingError.self) {
            _ = try await send(request, Throwing(error: CancellationError()))
        }
        #expect(cancelled?.isCancellation == true)
        #expect(transport.received.isEmpty)
    }

    @Test("what a source of tokens throws is the cause of the call's error")
    func keepsCausesOfSources() async throws {
        let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://a.test")) { _, _ in throw Fault()
        }
        let request = try Request("https://a.test/")
        let error = await #expect(throws: LoadingError.self) { _ = try await send(request, authoriser) }
        guard case .authorisationFailed(let fault) = error?.kind, case .refreshFailed(let cause) = fault.cause
        else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause is Fault)
        #expect(error?.underlyingError is Fault)
        #expect(events.story.contains { $0.contains("refresh failed") || $0.contains("refreshFailed") })
    }

    @Test(
        "credentials travel in plain HTTP to this machine alone; what is no host is not this machine",
        arguments: [
            ("http://localhost/", true), ("http://127.3.2.1/", true), ("http://[::1]/", true),
            ("https://[example.org]/", true),
            ("http://[example.org]/", false), ("http://[]/", false), ("http://a.test/", false),
        ]
    )
    func plainHosts(text: String, isAllowed: Bool) throws {
        var request = try Request("http://localhost/")
        let scope = try Authorisation.Scope("https://a.test")
        request.url = try #require(URL(string: text))

        #expect(scope.mayCarryCredentials(request) == isAllowed)
        request.destination = .host("127.0.0.1", port: 1)
        #expect(scope.mayCarryCredentials(request) == (request.url.scheme == "https"))
    }

    @Test("policies PL-46 credentials for plain HTTP fail loudly unless that is allowed")
    func insecure() async throws {
        transport.onAnyRequest().respond(.status(200))
        var scope = try Authorisation.Scope("http://a.test")
        let strict = Authorisation.Bearer(token: "t", scope: scope)

        let error = await #expect(throws: LoadingError.self) { _ = try await send(Request("http://a.test/"), strict) }
        guard case .authorisationFailed(let fault) = error?.kind, case .insecure = fault.cause else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(transport.received.isEmpty)

        scope.allowsInsecure = true
        _ = try await send(Request("http://a.test/"), Authorisation.Bearer(token: "t", scope: scope))
        #expect(transport.requests[0].headers["Authorization"] == "Bearer t")
    }
}

@Suite(.timeLimit(.minutes(5)))
struct ReadyAuthorisersTests {
    private let transport = ScriptedTransport()

    private func sent(_ address: String, _ authoriser: any Authoriser) async throws -> Request {
        transport.onAnyRequest().respond(.status(200))
        _ = try await Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)
            .send(Request(address), call: Call())
        return try #require(transport.requests.last)
    }

    @Test("policies PL-45 Basic sends user and password in UTF-8 (RFC 7617)")
    func basic() async throws {
        let scope = try Authorisation.Scope("https://a.test")

        let request = try await sent(
            "https://a.test/",
            Authorisation.Basic(user: "test", password: "123\u{A3}", scope: scope)
        )

        #expect(request.headers["Authorization"] == "Basic dGVzdDoxMjPCow==")
        #expect(throws: LoadingError.self) { _ = try Authorisation.Basic(user: "a:b", password: "c", scope: scope) }
    }

    @Test("policies PL-45 an API key goes into a header field, which is then a secret")
    func keyInHeader() async throws {
        let authoriser = Authorisation.APIKey(
            .header("X-Own-Key"),
            key: "k3y",
            scope: try Authorisation.Scope("https://a.test")
        )

        let request = try await sent("https://a.test/", authoriser)

        #expect(request.headers["X-Own-Key"] == "k3y")
        #expect(!"\(request.headers)".contains("k3y"))
    }

    @Test(
        "policies PL-45 and finding FP-21 an API key goes into the query, in place of another, and is not shown",
        arguments: [
            ("https://a.test", "https://a.test?own=k%263%20y"),
            ("https://a.test/x?a=1&own=old&b=%20#f", "https://a.test/x?a=1&b=%20&own=k%263%20y#f"),
            // finding FP-21: empty items stay, the query may be signed as it is written.
            ("https://a.test/?a&&b=&", "https://a.test/?a&&b=&&own=k%263%20y"),
        ]
    )
    func keyInQuery(address: String, expected: String) async throws {
        let authoriser = Authorisation.APIKey(
            .query("own"),
            key: "k&3 y",
            scope: try Authorisation.Scope("https://a.test")
        )

        let request = try await sent(address, authoriser)

        #expect(request.url.absoluteString == expected)
        #expect(!"\(request)".contains("k%263"))
        #expect(!"\(LoadingError.Context(request))".contains("k%263"))
    }

    @Test(
        "finding FP-20 a path that a server may read as another one is outside a scope that has a path",
        arguments: [
            ("/private/x", true), ("/private/a..b/x", true), ("/private/..x", true), ("/private/x;v=1/y", true),
            ("/private/%2e", true), ("/private/50%25", true), ("/private/caf%C3%A9", true), ("/private/", true),
            ("/private/..%2fpublic", false), ("/private/..%2Fpublic", false), ("/private/x/..;/..;/public", false),
            ("/private/..;a=b/public", false), ("/private/%2e%2e/public", false), ("/private/%2E./public", false),
            ("/private/..%5cpublic", false), ("/private/%5c..%5c..%5cpublic", false),
            ("/private/%252e%252e/public", false), ("/private/..%252fpublic", false),
            ("/private/%25252e%25252e/public", false), ("/private/%c0%ae%c0%ae/public", false),
            ("/private/..%00/public", false), ("/private/..%20/public", false), ("/private/x/../../public", false),
            ("/private/..%3b/public", false), ("/private/..%09;/public", false),
            // Encoded four times, and five times, which hides something.
            ("/private/%25252541", true), ("/private/%2525252541", false),
            ("/public", false), ("/privateer", false),
        ]
    )
    func climbingPaths(path: String, isInside: Bool) throws {
        let scope = try Authorisation.Scope("https://api.test/private/")
        let whole = try Authorisation.Scope("https://api.test")
        let request = try Request("https://api.test" + path)

        #expect(scope.contains(request) == isInside)
        #expect(whole.contains(request))
    }

    @Test("finding FP-12 refunds the withdrawal for a replay whose credentials did not arrive")
    func refundsReplays() async throws {
        let budget = RetryBudget()
        transport.onAnyRequest().respond(.status(401))
        let count = Locked(0)
        let scope = try Authorisation.Scope("https://api.test")
        let authoriser = Authorisation.Bearer(scope: scope) { (_, _) throws(LoadingError) in
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number == 1 else { throw LoadingError(.cancelled) }
            return .init("first")
        }
        let link = AttemptInterceptor(budget: budget, authorisers: [authoriser])

        _ = try? await Chain([link], transport: transport).send(Request("https://api.test/"), call: Call())

        #expect(transport.received.count == 1)
        #expect(budget.left(for: ServiceKey(try Request("https://api.test/"))) == 500)
    }
}
