import Foundation
import Lade
import LadeCore
import LadeTesting
import Testing

@testable import LadePolicies

@Suite("What goes along to another origin", .timeLimit(.minutes(5)))
struct OtherOriginTests {
    private let transport = ScriptedTransport()

    private static let descriptive = [
        "Accept", "Accept-Language", "Accept-Encoding", "User-Agent", "Range", "If-None-Match", "If-Range",
        "Cache-Control", "Pragma", "Prefer", "Want-Repr-Digest", "Last-Event-ID", "Idempotency-Key", "TE",
    ]
    private static let body = ["Content-Type", "Content-Language", "Content-Digest", "Expect"]
    private static let own = [
        "X-Custom", "X-Tenant", "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Accept-Token",
        "Referer",
        "Acceptance", "Ranges", "If", "Host", "Origin", "DPoP",
    ]

    private static var fields: Headers {
        Headers((descriptive + body + own).map { ($0, "v") })
    }

    private func send(
        _ request: Request,
        _ policy: RedirectPolicy = RedirectPolicy(),
        below: [any Interceptor] = []
    ) async throws(LoadingError) -> Response {
        let chain = Chain([HopInterceptor(redirects: policy)] + below, transport: transport)
        return try await chain.send(request, call: Call())
    }

    private func redirect(_ status: Response.Status, to location: String) {
        transport.on("first", where: { $0.url.path() == "/from" })
            .respond(.status(status, headers: ["Location": location]))
        transport.onAnyRequest().respond(.status(200))
    }

    @Test(
        "finding LX-7 a body follows from http to https on the default ports of one host, and to no other origin",
        arguments: [
            ("http://a.test/from", "https://a.test/to", true), ("http://A.test:80/from", "https://a.test:443/to", true),
            ("http://a.test/from", "https://b.test/to", false), ("http://a.test/from", "https://a.test:8443/to", false),
            ("http://a.test:8080/from", "https://a.test/to", false),
            ("http://a.test/from", "https://www.a.test/to", false),
            ("http://a.test/from", "http://a.test:8080/to", false),
        ]
    )
    func bodyToTLS(address: String, target: String, follows: Bool) async throws {
        for (status, method) in [(307, Request.Method.post), (308, .post), (301, .put), (308, .patch)] {
            let test = OtherOriginTests()
            test.redirect(Response.Status(status), to: target)
            var request = Request(method, try Request(address).url, headers: Self.fields)
            request.headers.remove("Host")
            request.body = .text("b")

            let response = try? await test.send(request)

            #expect((response != nil) == follows)
            guard let last = test.transport.received.last, follows else { continue }
            #expect(last.request.method == method && last.text == "b")
            // Credentials keep their own scope.
            for name in Self.own { #expect(!last.request.headers.contains(name), "\(name)") }
        }
    }

    private static let places: [(String, Bool)] = [
        ("https://a.test/to", true), ("https://A.test:443/to", true), ("https://b.test/to", false),
        ("https://a.test:8443/to", false), ("https://sub.a.test/to", false),
    ]

    @Test("finding HF-7 a redirect takes the fields that describe the request along, and no others", arguments: places)
    func fieldsOfGet(target: String, isSame: Bool) async throws {
        for status in [301, 302, 303, 307, 308] as [Response.Status] {
            let test = OtherOriginTests()
            test.redirect(status, to: target)

            _ = try await test.send(try Request("https://a.test/from", headers: Self.fields))

            let sent = try #require(test.transport.requests.last).headers
            for name in Self.descriptive { #expect(sent.contains(name), "\(name)") }
            for name in Self.own { #expect(sent.contains(name) == isSame, "\(name)") }
        }
    }

    @Test("finding HF-7 fields and body go along to a trusted origin")
    func goesWhole() async throws {
        var policy = RedirectPolicy()
        policy.credentialOrigins = [try Origin("https://b.test")]
        redirect(307, to: "https://b.test/to")
        let request = try Request(.post, "https://a.test/from", headers: ["X-Custom": "v"], body: .text("payload"))

        _ = try await send(request, policy)

        let last = try #require(transport.received.last)
        #expect(last.text == "payload" && last.request.headers["X-Custom"] == "v")
    }

    /// Status, method, whether the body would go along.
    private static let bodies: [(Response.Status, Request.Method, Bool)] = [
        (301, .post, false), (302, .post, false), (303, .post, false), (303, .put, false), (307, .post, true),
        (308, .post, true), (301, .put, true), (302, .put, true), (307, .put, true), (308, .patch, true),
    ]

    @Test("finding HF-7 a body goes to another origin only where allowed, and is never left out", arguments: bodies)
    func sendsBodies(status: Response.Status, method: Request.Method, keepsBody: Bool) async throws {
        redirect(status, to: "https://b.test/to")
        let request = try Request(
            method,
            "https://a.test/from",
            headers: ["Content-Language": "de", "X-Custom": "v"],
            body: .text("payload")
        )

        guard keepsBody else {
            _ = try await send(request)
            let last = try #require(transport.received.last)
            #expect(last.request.method == .get && last.text == "" && !last.request.headers.contains("X-Custom"))
            return
        }
        let error = await #expect(throws: LoadingError.self) { _ = try await send(request) }
        guard case .redirectRefused(.bodyToOtherOrigin(url: "https://b.test/to")) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.description.contains("sendsBodyToOtherOrigins") == true)
        #expect(transport.received.count == 1)

        var policy = RedirectPolicy()
        policy.sendsBodyToOtherOrigins = true
        _ = try await send(request, policy)
        let last = try #require(transport.received.last)
        #expect(last.text == "payload" && last.request.headers["Content-Language"] == "de")
        #expect(!last.request.headers.contains("X-Custom"))
    }

    @Test("finding HF-7 an address that is a host of its own receives no fields of the other host")
    func ownHosts() async throws {
        let list = HostDirectory(["a.test": [HostDirectory.Address("b.test", isHostOfItsOwn: true)]])
        transport.onAnyRequest().respond(.status(200))

        _ = try await send(
            try Request(.post, "https://a.test/from", headers: Self.fields, body: .text("payload")),
            below: [AttemptInterceptor(hosts: list)]
        )

        let last = try #require(transport.received.last)
        #expect(last.request.url.host() == "b.test" && last.text == "payload")
        for name in Self.descriptive + Self.body { #expect(last.request.headers.contains(name), "\(name)") }
        for name in Self.own { #expect(!last.request.headers.contains(name), "\(name)") }
    }

    // MARK: - Sending again

    private static let methods: [(Request.Method, Bool)] = [
        (.get, true), (.head, true), (.put, true), (.delete, true), (.post, false), (.patch, false),
    ]

    @Test("finding LF-2 one function decides what may be sent again", arguments: methods)
    func sendsAgain(method: Request.Method, isIdempotent: Bool) throws {
        let policy = RetryPolicy()
        var all = policy
        all.methods = .all
        let plain = try Request(method, "https://a.test/")
        var keyed = plain
        keyed.idempotencyKey = .generated
        let field = try Request(method, "https://a.test/", headers: ["idempotency-key": "k"])
        var once = keyed
        once.body = .writer(length: 1) { write in try await write(Data([1])) }

        #expect(policy.obstacle(toRepeating: plain) == (isIdempotent ? nil : .notIdempotent(method)))
        #expect(policy.obstacle(toRepeating: plain, isUnprocessed: true) == nil)
        #expect(policy.obstacle(toRepeating: keyed) == nil && policy.obstacle(toRepeating: field) == nil)
        #expect(all.obstacle(toRepeating: plain) == nil)
        #expect(policy.obstacle(toRepeating: once) == .bodyNotReplayable)
        #expect(policy.obstacle(toRepeating: once, isBodySpent: false) == nil)
    }
}
