#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import SharedDoubles
import Testing

@Suite("Decorators", .timeLimit(.minutes(5)))
struct DecoratorCaseTests {
    private func appending(_ text: String) -> some Service.Decorator {
        Service.decorator { request in
            var request = request
            request.headers["X-Order"] = (request.headers["X-Order"] ?? "") + text
            return request
        }
    }

    /// The order in which decorators of the three levels acted.
    private func order(service: [String], account: [String] = [], endpoint: [String] = []) async throws -> String? {
        let rig = Rig { $0.decorators = service.map(appending) }
        rig.transport.onAnyRequest().respond(.text("ok"))
        var settings = Account.Settings()
        settings.decorators = account.map(appending)
        let asked = try endpoint.reduce(rig.endpoint()) { $0.decorated(by: appending($1)) }
        _ = try await rig.service.account(settings).makeLoader().load(asked)
        return rig.transport.requests.first?.headers["X-Order"]
    }

    @Test("client CD-10 runs decorators in the order of their list")
    func orderOfList() async throws {
        #expect(try await order(service: ["a", "b"]) == "ab")
        #expect(try await order(service: [], endpoint: ["a", "b"]) == "ab")
    }

    @Test("client CD-11 runs the decorators of the service, then those of the account, then the endpoint's")
    func orderOfLevels() async throws {
        #expect(try await order(service: ["a"], account: ["b"], endpoint: ["c"]) == "abc")
    }

    @Test("client CD-12 gives the first decorator the request with its user agent")
    func seesAgent() async throws {
        let seen = Journal<String?>()
        let rig = Rig {
            $0.userAgent = .string("agent")
            $0.decorators = [
                Service.decorator { request in
                    seen.add(request.headers["User-Agent"])
                    return request
                }
            ]
        }
        rig.transport.onAnyRequest().respond(.text("ok"))
        _ = try await rig.loader.load(rig.endpoint())
        #expect(seen.all == ["agent"])
    }

    @Test("client CD-13 adds the provider and the bearer token when both are set")
    func oauth() async throws {
        let decorator = Service.OAuthDecorator(authenticationProvider: "IdP", accessToken: "T")
        let decorated = await decorator.decorate(try Request("https://a.example.com/"))
        #expect(decorated.headers == ["Authorization": "Bearer T", "X-Authentication-Provider": "IdP"])
    }

    @Test(
        "client CD-14 client D-02 changes nothing while one of the two is missing",
        arguments: [
            (nil, "T"), ("IdP", nil), ("IdP", ""),
        ] as [(String?, String?)]
    )
    func oauthIncomplete(_ provider: String?, _ token: String?) async throws {
        let decorator = Service.OAuthDecorator(authenticationProvider: provider, accessToken: token.map { Secret($0) })
        #expect(await decorator.decorate(try Request("https://a.example.com/")).headers.isEmpty)
    }

    @Test("client CD-15 client D-16 uses a token that was changed between two requests")
    func newToken() async throws {
        let decorator = Service.OAuthDecorator(authenticationProvider: "IdP", accessToken: "1")
        let rig = Rig { $0.decorators = [decorator] }
        rig.transport.onAnyRequest().respond(.text("ok"))
        _ = try await rig.loader.load(rig.endpoint())
        decorator.accessToken = "2"
        _ = try await rig.loader.load(rig.endpoint())
        #expect(rig.transport.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2"])
    }

    @Test("client CD-16 adds client and SAML token")
    func saml() async throws {
        let decorator = Service.SAMLDecorator(clientID: "iplayer")
        decorator.samlToken = "T"
        #expect(
            await decorator.decorate(try Request("https://a.example.com/")).headers == ["Authorization": "iplayer x=T"]
        )
    }

    @Test("client CD-17 changes nothing without a SAML token, not even for an empty one")
    func samlWithoutToken() async throws {
        let decorator = Service.SAMLDecorator(clientID: "iplayer")
        let request = try Request("https://a.example.com/")
        #expect(await decorator.decorate(request).headers.isEmpty)
        decorator.samlToken = ""
        #expect(await decorator.decorate(request).headers.isEmpty)
    }

    @Test("client D-02 keeps the caller's own Authorization beside a SAML token, too, unless configured otherwise")
    func callersOwnBesideSAML() async throws {
        var own = try Request("https://a.example.com/")
        own.headers["Authorization"] = "Own"
        let decorator = Service.SAMLDecorator(clientID: "iplayer", token: "T")
        let insisting = Service.SAMLDecorator(clientID: "iplayer", token: "T", replacesAuthorization: true)

        #expect(await decorator.decorate(own).headers == ["Authorization": "Own"])
        #expect(await insisting.decorate(own).headers == ["Authorization": "iplayer x=T"])
    }

    @Test("adds tokens within their scope only, and none once they were forgotten")
    func scopeOfTokens() async throws {
        let scope = try Authorisation.Scope("https://a.example.com")
        let oauth = Service.OAuthDecorator(authenticationProvider: "IdP", accessToken: "T", scope: scope)
        let saml = Service.SAMLDecorator(clientID: "iplayer", token: "T", scope: scope)
        let (inside, outside) = (try Request("https://a.example.com/"), try Request("https://b.example.com/"))

        for decorator in [oauth, saml] as [any Service.Decorator & Account.CredentialHolder] {
            #expect(try await decorator.decorate(inside).headers.contains("Authorization"))
            #expect(try await decorator.decorate(outside).headers.isEmpty)
            await decorator.forgetCredentials()
            #expect(try await decorator.decorate(inside).headers.isEmpty)
        }
    }

    @Test("refuses what a decorator makes of a request when it is invalid, and sends nothing")
    func invalidDecoration() async throws {
        let count = Locked(0)
        let rig = Rig {
            $0.decorators = [
                Service.decorator { request in
                    var request = request
                    request.headers.add("X-Bad", "a\r\nb")
                    return request
                }
            ]
            $0.attemptInterceptors = [CountingInterceptor(count: count)]
        }

        let error = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }

        guard case .invalidRequest = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(count.withLock(\.self) == 0)
    }

    private struct CountingInterceptor: Interceptor {
        let count: Locked<Int>

        func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
            count.withLock { $0 += 1 }
            return try await next(request)
        }
    }

    @Test(
        "client D-02 keeps the caller's own Authorization unless configured otherwise, and lets the later decorator win"
    )
    func callersOwn() async throws {
        let oauth = Service.OAuthDecorator(authenticationProvider: "IdP", accessToken: "T")
        let saml = Service.SAMLDecorator(clientID: "iplayer")
        saml.samlToken = "S"
        let plain = try Request("https://a.example.com/")
        var own = plain
        own.headers["Authorization"] = "Own"

        #expect(await oauth.decorate(own).headers == ["Authorization": "Own"])
        #expect(await saml.decorate(oauth.decorate(plain)).headers["Authorization"] == "iplayer x=S")
        let insisting = Service.OAuthDecorator(
            authenticationProvider: "IdP",
            accessToken: "T",
            replacesAuthorization: true
        )
        #expect(await insisting.decorate(own).headers["Authorization"] == "Bearer T")
    }

    @Test("client D-12 waits for a decorator that has to get a token first, and can be cancelled meanwhile")
    func asynchronous() async throws {
        let signal = Signal()
        let decorator = Service.decorator { request in
            try await signal.wait()
            return request
        }
        let rig = Rig { $0.decorators = [decorator] }
        rig.transport.onAnyRequest().respond(.text("ok"))
        async let first = rig.loader.load(rig.endpoint().text())
        try await signal.arrivals(atLeast: 1)
        #expect(rig.transport.requests.isEmpty)
        signal.step()
        #expect(try await first == "ok")

        let second = Task { try await rig.loader.load(rig.endpoint()) }
        try await signal.arrivals(atLeast: 2)
        second.cancel()
        #expect(await second.result.isCancelled)
        #expect(rig.transport.requests.count == 1)
    }
}

extension Result where Failure == any Error {
    /// Whether it is the failure of a call that was cancelled.
    var isCancelled: Bool {
        if case .failure(let error as LoadingError) = self { error.isCancellation } else { false }
    }
}
