import Foundation
import Lade
import LadeTesting
import Testing

@testable import LadeCore
@testable import LadePolicies

/// policies PL-47: canaries in every position of this module that may contain a secret.
@Suite(.timeLimit(.minutes(5)))
struct SecretsTests {
    private static let canary = "cAnArY"

    /// The combined output of printing, interpolating, dumping and reflecting a value.
    private func shown(_ value: Any) -> String {
        var text = "\(value) \(String(reflecting: value))"
        dump(value, to: &text)
        return text
    }

    private func check(_ value: Any, _ name: String) {
        let text = shown(value)
        for form in [Self.canary, Data(":\(Self.canary)".utf8).base64EncodedString().prefix(8).description] {
            #expect(!text.contains(form), "\(name) shows a secret: \(text)")
        }
    }

    @Test("policies PL-47 no value of this module shows a secret")
    func values() async throws {
        let secret = Secret(Self.canary)
        let scope = try Authorisation.Scope("https://api.test")
        let endpoint = try #require(URL(string: "https://u:\(Self.canary)@id.test/token?token=\(Self.canary)"))
        var settings = Authorisation.OAuth2.Settings(
            tokenEndpoint: endpoint,
            grant: .password(user: "u", password: secret),
            clientID: "app",
            clientProof: .basic(secret)
        )
        settings.parameters = [("assertion", secret)]
        settings.tokens = Authorisation.OAuth2.Tokens(accessToken: secret, refreshToken: secret)
        let jar = CookieJar()
        jar.insert(Cookie(name: "sid", value: secret, domain: "api.test"), at: .distantPast)
        let digest = Authorisation.Digest(user: "u", password: secret, scope: scope)
        let oauth = Authorisation.OAuth2(settings, scope: scope)
        let bearer = Authorisation.Bearer(token: secret, scope: scope)
        let values: [(String, Any)] = [
            ("Basic", try Authorisation.Basic(user: "u", password: secret, scope: scope)), ("Bearer", bearer),
            ("API key", Authorisation.APIKey(.query("k"), key: secret, scope: scope)), ("Digest", digest),
            ("OAuth", oauth),
            ("settings", settings), ("tokens", settings.tokens as Any), ("grant", settings.grant),
            ("proof", settings.clientProof), ("jar", jar), ("cookies", jar.cookies),
            ("set-cookie", SetCookie("sid=\(Self.canary)") as Any), ("cookie link", ExchangeInterceptor(jar: jar)),
            ("link", AttemptInterceptor(authorisers: [oauth, digest, bearer])),
            ("chain", Chain([AttemptInterceptor(authorisers: [oauth])], transport: ScriptedTransport())),
            ("fresh", Authorisation.RefreshingCredentials<Secret>.Fresh(secret)), ("credentials", bearer.credentials),
            (
                "versioned",
                try await bearer.credentials.current(in: .init(call: Call(), transport: ScriptedTransport()))
            ),
            ("hosts", AttemptInterceptor(hosts: HostDirectory())),
        ]

        for (name, value) in values { check(value, name) }
    }

    @Test("policies PL-47 no event, error or request shows a secret on the way through all interceptors")
    func calls() async throws {
        let secret = Secret(Self.canary)
        let transport = ScriptedTransport()
        transport.on(.post, "/token").respond(
            .json(#"{"access_token": "\#(Self.canary)", "refresh_token": "\#(Self.canary)", "expires_in": 9}"#)
        )
        transport.on(.get, "/start").respond(
            .status(
                302,
                headers: [
                    "Location": "https://api.test/next?access_token=\(Self.canary)", "Set-Cookie": "sid=\(Self.canary)",
                ]
            )
        )
        transport.on(.get, "/next").respond(.status(401, headers: ["Set-Cookie": "sid=\(Self.canary)"]))
        transport.on(.get, "/bad").respond(
            .status(302, headers: ["Location": "http://api.test/?token=\(Self.canary)#\(Self.canary)"])
        )
        let events = EventRecorder()
        // Time does not advance, so no time-out passes on a busy machine.
        let call = Call(time: VirtualTime(), events: [events])
        let scope = try Authorisation.Scope("https://api.test")
        let endpoint = try #require(URL(string: "https://id.test/token"))
        let chain = Chain(
            [
                HopInterceptor(redirects: RedirectPolicy()), ExchangeInterceptor(jar: CookieJar()),
                AttemptInterceptor(authorisers: [
                    Authorisation.OAuth2(
                        Authorisation.OAuth2.Settings(tokenEndpoint: endpoint, grant: .refreshToken(secret)),
                        scope: scope
                    ),
                    Authorisation.APIKey(.query("own"), key: secret, scope: scope),
                    Authorisation.APIKey(.header("X-Own"), key: secret, scope: scope, identifier: "header"),
                ]),
            ],
            transport: transport
        )

        let response = try await chain.send(Request("https://api.test/start"), call: call)
        let error = await #expect(throws: LoadingError.self) {
            _ = try await chain.send(Request("https://api.test/bad"), call: call)
        }

        #expect(response.status == 401)
        #expect(transport.requests.contains { $0.headers["Cookie"] == "sid=\(Self.canary)" })
        check(response.request, "request")
        check(response.headers, "headers")
        check(error as Any, "error")
        #expect(!events.events.isEmpty)
        for event in events.events { check(event, "event") }
        for line in events.story { check(line, "story") }
    }
}
