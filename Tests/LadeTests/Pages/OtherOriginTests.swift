import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("Next pages on another origin", .timeLimit(.minutes(5)))
struct OtherOriginTests {
    private static let foreign = "https://evil.example/list"

    /// A first page that leads to `next`, whose response ends the list.
    private static func source(next: String = foreign) -> PagedSource {
        PagedSource { asked in
            let isFirst = asked.request.url.host() == "api.example.com" && asked["p"] == nil
            return .json(PagedSource.body([1], next: isFirst ? next : nil))
        }
    }

    /// An account whose service, account and endpoint all add credentials.
    private static func loader(_ source: PagedSource, scope: Authorisation.Scope? = nil) -> Loader {
        var settings = Service.Settings.still(in: source.time)
        let oauth = Service.OAuthDecorator(authenticationProvider: "IdP", accessToken: "oauth-canary", scope: scope)
        let stamp = Service.decorator(addsCredentials: false) { request in
            var request = request
            request.headers.set("X-Stamp", "1")
            return request
        }
        settings.decorators = [oauth, stamp]
        var account = Account.Settings()
        account.decorators = [
            Service.decorator { request in
                var request = request
                request.headers.set("X-Custom", "closure-canary")
                return request
            }
        ]
        return Service(settings, transport: source.transport).account(account).makeLoader()
    }

    @Test("finding FP-2 a next page on another origin gets no decorator that may add a secret", arguments: [0, 2])
    func pages(prefetch: Int) async throws {
        let source = Self.source()
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.endpoint = endpoint.endpoint.header("X-Mine", "custom-canary").header("Accept", "application/json")
            .decorated(by: Service.SAMLDecorator(clientID: "me", token: "saml-canary"))

        #expect(try await Self.loader(source).pages(of: endpoint, prefetch: prefetch).collected() == [1, 1])

        let sent = source.transport.requests
        #expect(sent.count == 2)
        #expect(sent[0].headers["Authorization"] == "me x=saml-canary")
        #expect(sent[0].headers["X-Custom"] == "closure-canary" && sent[0].headers["X-Mine"] == "custom-canary")
        #expect(sent[1].headers["Accept"] == "application/json" && sent[1].headers["X-Stamp"] == "1")
        #expect(!sent[1].headers.contains { $0.value.contains("canary") })
    }

    @Test("finding FH-9 a body goes to another origin only by an explicit option")
    func bodies() async throws {
        let source = Self.source()
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.endpoint = endpoint.endpoint.request {
            $0.method = .post
            $0.body = .text("body-canary")
        }

        let failure = await #expect(throws: PageError.self) {
            try await source.loader.pages(of: endpoint).collected()
        }
        guard case .bodyToOtherOrigin = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(source.transport.requests.count == 1)

        endpoint.otherOrigins = .withBody
        #expect(try await source.loader.pages(of: endpoint).collected() == [1, 1])
        #expect(source.transport.requests.count == 3)
        #expect(source.transport.requests.last?.hasBody == true)
    }

    @Test(
        "finding FP-2 next pages leave https as little as redirects do, and have no user names",
        arguments: [
            ("http://api.example.com/x", true), ("http://other.example/x", true),
            ("https://u:pw@api.example.com/x", false),
        ]
    )
    func refuses(next: String, isInsecure: Bool) async throws {
        let source = Self.source(next: next)

        let failure = await #expect(throws: PageError.self) {
            try await source.loader.pages(of: try .numbers()).collected()
        }

        switch failure?.cause {
        case .insecure: #expect(isInsecure)
        case .invalidTarget: #expect(!isInsecure)
        default: Issue.record("\(String(describing: failure))")
        }
        #expect(failure?.description.contains("pw") == false)
        #expect(source.transport.requests.count == 1)
    }

    @Test("finding FP-2 a decorator with a scope adds its token there and nowhere else")
    func scopes() async throws {
        let source = Self.source()
        let loader = Self.loader(source, scope: try Authorisation.Scope("https://api.example.com/list"))

        for address in ["https://api.example.com/list", "https://api.example.com/other", "https://evil.example/list"] {
            _ = try await loader.load(Request(address))
        }
        _ = try await Self.loader(source, scope: try Authorisation.Scope("http://api.example.com"))
            .load(Request("http://api.example.com/"))

        let sent = source.transport.requests.map { $0.headers["Authorization"] }
        #expect(sent == ["Bearer oauth-canary", nil, nil, nil])
    }
}
