import Foundation
import Lade
import LadePolicies
import LadeTesting
import Testing

@testable import LadeCore

private func redirect(_ status: Response.Status, to location: String, _ headers: Headers = Headers())
    -> ScriptedResponse
{
    var headers = headers
    headers.add("Location", location)
    return .status(status, headers: headers)
}

@Suite(.timeLimit(.minutes(5)))
struct RedirectTests {
    private let transport = ScriptedTransport()
    private let events = EventRecorder()

    private func send(
        _ request: Request,
        _ policy: RedirectPolicy = RedirectPolicy(),
        below: [any Interceptor] = []
    ) async throws(LoadingError) -> Response {
        let chain = Chain([HopInterceptor(redirects: policy)] + below, transport: transport)
        return try await chain.send(request, call: Call(events: [events]))
    }

    private func fault(_ error: LoadingError?) -> LoadingError.RedirectCause? {
        guard case .redirectRefused(let fault) = error?.kind else { return nil }
        return fault
    }

    @Test("service SV-15 follows three redirects")
    func followsThree() async throws {
        for number in 0..<3 { transport.on(.get, "/\(number)").respond(redirect(302, to: "/\(number + 1)")) }
        transport.on(.get, "/3").respond(.text("there"))

        let response = try await send(Request("https://a.test/0"))

        #expect(response.body.bytes == Data("there".utf8))
        #expect(response.request.url.absoluteString == "https://a.test/3")
        #expect(events.events.count { if case .redirectFollowed = $0 { true } else { false } } == 3)
    }

    @Test(
        "finding LX-10 equal lines of Location are one address, and of different ones none is followed",
        arguments: [
            (["/a", "/a"], true, nil), (["/a", "/b"], false, "/a and /b"),
            (["/a?token=s", "/b#f"], false, "/a and /b"),
            (["", "/a"], false, " and /a"), (["/a,/a"], true, nil), (["", ""], false, nil), ([], false, nil),
        ] as [([String], Bool, String?)]
    )
    func severalLocations(lines: [String], isFollowed: Bool, refused: String?) async throws {
        transport.on(.get, "/0").respond(.status(302, headers: Headers(lines.map { ("Location", $0) })))
        transport.on(.get, "/a").respond(.status(200))
        transport.on(.get, "/a,/a").respond(.status(200))

        do throws(LoadingError) {
            let response = try await send(Request("https://a.test/0"))
            #expect(refused == nil)
            #expect(response.status == (isFollowed ? 200 : 302))
        } catch {
            #expect(fault(error) == refused.map { .invalidTarget($0) })
        }
        #expect(transport.requests.count == (isFollowed ? 2 : 1))
    }

    @Test("service SV-14 fails when redirects never end; policies PL-50 after ten")
    func givesUp() async throws {
        for number in 0...51 { transport.on(.get, "/\(number)").respond(redirect(301, to: "/\(number + 1)")) }

        let error = await #expect(throws: LoadingError.self) { _ = try await send(Request("https://a.test/0")) }

        #expect(fault(error) == .tooMany(limit: 10))
        #expect(transport.received.count == 11)
        #expect(error?.context.status == 301)
    }

    @Test(
        "finding CL-9 the statuses that keep a POST, and whether every method counts as one, are settings",
        arguments: [
            (301, "POST", [], false, "GET"), (301, "POST", [301], false, "POST"), (302, "POST", [301], false, "GET"),
            (303, "PUT", [], false, "GET"), (303, "POST", [303], false, "POST"), (302, "IGLOO", [], false, "IGLOO"),
            (302, "IGLOO", [], true, "GET"), (308, "IGLOO", [], true, "IGLOO"),
        ] as [(Int, String, [Int], Bool, String)]
    )
    func methods(status: Int, method: String, kept: [Int], countsAsPost: Bool, expected: String) async throws {
        transport.onAnyRequest().respond(redirect(Response.Status(status), to: "/b")).then(.status(200))
        var policy = RedirectPolicy()
        policy.keepsPost = Response.StatusSet(kept)
        policy.countsAsPost = countsAsPost
        policy.setsReferer = true
        let request = Request(
            try Request.Method(method),
            try #require(URL(string: "https://a.test/a?q#f")),
            body: .text("x")
        )
        _ = try await send(request, policy)
        let sent = try #require(transport.requests.last)
        #expect(sent.method.rawValue == expected)
        #expect(sent.hasBody == (expected == method))
        #expect(sent.headers["Referer"] == "https://a.test/a?q")
    }

    @Test(
        "finding CL-10 an empty Location is no redirect, and a loop is followed up to the limit where that is allowed"
    )
    func emptyAndLoops() async throws {
        let empty = ScriptedTransport()
        empty.onAnyRequest().respond(redirect(302, to: ""))
        let response = try await Chain([HopInterceptor(redirects: RedirectPolicy())], transport: empty)
            .send(Request("https://a.test/"), call: Call())
        #expect(response.status == 302)
        transport.onAnyRequest().respond(redirect(302, to: "/")).then(redirect(302, to: "/")).then(.status(200))
        #expect(
            fault(await #expect(throws: LoadingError.self) { _ = try await send(Request("https://a.test/")) }) != nil
        )
        var policy = RedirectPolicy()
        policy.followsLoops = true
        #expect(try await send(Request("https://a.test/"), policy).status == 200)
    }

    @Test("service AT-20 allows the first redirect")
    func allowsFirst() async throws {
        transport.on(.get, "/a").respond(redirect(302, to: "/b"))
        transport.on(.get, "/b").respond(.status(204))

        #expect(try await send(Request("https://a.test/a")).status == 204)
    }

    @Test("service AT-21 with a limit of 0 the redirect is the answer; the request's limit beats the policy's")
    func refusesAll() async throws {
        transport.on(.get, "/a").respond(redirect(302, to: "/b"))
        var policy = RedirectPolicy()
        policy.limit = 0

        #expect(try await send(Request("https://a.test/a"), policy).status == 302)

        var request = try Request("https://a.test/a")
        request.redirectLimit = 0
        #expect(try await send(request).status == 302)
        #expect(transport.lines == ["GET /a", "GET /a"])
    }

    @Test("policies PL-50 notices a loop")
    func noticesLoop() async throws {
        transport.on(.get, "/a").respond(redirect(302, to: "/b"))
        transport.on(.get, "/b").respond(redirect(302, to: "/a#there"))

        let error = await #expect(throws: LoadingError.self) { _ = try await send(Request("https://a.test/a?t=1")) }

        // The first address has a query, so the loop closes at the second visit of the plain one.
        #expect(fault(error) == .loop(url: "https://a.test/b"))
        #expect(transport.received.count == 3)
    }

    @Test("policies PL-50 follows an address that sets a cookie and leads back to itself")
    func followsCookieBounce() async throws {
        transport.on("without", where: { !$0.headers.contains("Cookie") })
            .respond(redirect(302, to: "/a", ["Set-Cookie": "seen=1"]))
        transport.on("with", where: { $0.headers.contains("Cookie") }).respond(.text("in"))

        let response = try await send(Request("https://a.test/a"), below: [ExchangeInterceptor(jar: CookieJar())])

        #expect(response.status == 200)
    }

    @Test("policies PL-14 withdraws from the budget only before an address is requested a second time")
    func drawsOnBudget() async throws {
        transport.onAnyRequest().respond(redirect(302, to: "/a", ["Set-Cookie": "seen=1"]))
        var settings = RetryBudget.Settings()
        settings.capacity = 0
        let drawn = Locked<[String]>([])
        let link = HopInterceptor(redirects: RedirectPolicy(), budget: RetryBudget(settings)) { request in
            drawn.withLock { $0.append(request.url.absoluteString) }
            return ServiceKey(request)
        }

        let error = await #expect(throws: LoadingError.self) {
            _ = try await Chain([link], transport: transport).send(Request("https://a.test/start"), call: Call())
        }

        #expect(fault(error) == .loop(url: "https://a.test/a"))
        #expect(drawn.withLock { $0 } == ["https://a.test/a"])
    }

    @Test(
        "policies PL-50 service D-05 changes the method as the table says and keeps the body with it",
        arguments: [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"),
            (303, "HEAD", "HEAD"),
            (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (307, "POST", "POST"), (308, "POST", "POST"),
            (307, "PUT", "PUT"), (308, "GET", "GET"), (302, "HEAD", "HEAD"),
        ]
    )
    func rewritesMethod(status: Int, method: String, expected: String) async throws {
        let isHeadOrGet = method == "GET" || method == "HEAD"
        transport.on(nil, "/from").respond(redirect(Response.Status(status), to: "/to"))
        transport.on(nil, "/to").respond(.status(200))
        let request = try Request(
            Request.Method(method),
            "https://a.test/from",
            headers: ["Content-Type": "text/x", "Content-Language": "de", "X-Kept": "1"],
            body: isHeadOrGet ? nil : .text("payload")
        )

        _ = try await send(request)

        let last = try #require(transport.received.last)
        #expect(last.request.method.rawValue == expected)
        #expect(last.text == (expected == method && !isHeadOrGet ? "payload" : ""))
        #expect(last.request.headers.contains("Content-Type") == (expected == method))
        #expect(last.request.headers["X-Kept"] == "1")
    }

    @Test("service D-05 does not send a body again that can be sent only once")
    func refusesTouchedBody() async throws {
        transport.on(.post, "/from").respond(redirect(307, to: "/to"))
        let body = Request.Body.writer { write in try await write(Data("once".utf8)) }
        let request = try Request(.post, "https://a.test/from", body: body)

        let error = await #expect(throws: LoadingError.self) { _ = try await send(request) }

        #expect(fault(error) == .bodyNotReplayable)
        #expect(transport.received.count == 1)
    }

    @Test(
        "policies PL-50 resolves references (RFC 3986 §5.4, RFC 9110 §10.2.2)",
        arguments: [
            ("g", "https://a/b/c/g#f"), ("./g", "https://a/b/c/g#f"), ("g/", "https://a/b/c/g/#f"),
            ("/g", "https://a/g#f"), ("//h", "https://h#f"), ("?y", "https://a/b/c/d;p?y#f"),
            ("#s", "https://a/b/c/d;p?q#s"), ("g#s", "https://a/b/c/g#s"), (";x", "https://a/b/c/;x#f"),
            ("", "https://a/b/c/d;p?q#f"), ("../../../g", "https://a/g#f"), ("g;x=1/../y", "https://a/b/c/y#f"),
            ("g?y/../x", "https://a/b/c/g?y/../x#f"), ("https://H/x", "https://H/x#f"), ("/a b", "https://a/a%20b#f"),
        ]
    )
    func resolves(location: String, expected: String) async throws {
        let base = "https://a/b/c/d;p?q#f"
        var policy = RedirectPolicy()
        policy.limit = 1
        let state = Locked(0)
        transport.onAnyRequest().respond(
            .computed { (_, _) throws(LoadingError) in
                let count = state.withLock { count in
                    count += 1
                    return count
                }
                // With a cookie, so that a reference to the address itself is not a loop.
                return count == 1 ? redirect(302, to: location, ["Set-Cookie": "a=b"]) : .status(200)
            }
        )

        let response = try await send(Request(base), policy)

        #expect(response.request.url.absoluteString == expected)
    }

    @Test(
        "policies PL-50 refuses targets that cannot or may not be followed",
        arguments: [
            ("http://a.test/x", "insecure"), ("ftp://a.test/x", "invalid"), ("file:///etc/passwd", "invalid"),
            ("https:///nohost", "invalid"), ("data:text/plain,x", "invalid"), ("https://a.test:99999/", "invalid"),
            ("https://www.bank.test@evil.test/", "invalid"), ("https://[bad/", "invalid"),
        ]
    )
    func refusesTargets(location: String, expected: String) async throws {
        transport.onAnyRequest().respond(redirect(302, to: location))

        let error = await #expect(throws: LoadingError.self) { _ = try await send(Request("https://a.test/")) }

        switch fault(error) {
        case .insecure: #expect(expected == "insecure")
        case .invalidTarget: #expect(expected == "invalid")
        default: Issue.record("\(String(describing: error))")
        }
        #expect(transport.received.count == 1)
    }

    @Test(
        "finding FP-30 a user name in a target is refused, on the same origin too",
        arguments: [("//u@b.test/c", "https://b.test/c"), ("//u:p@a.test/c", "https://a.test/c")]
    )
    func refusesUser(location: String, shown: String) async throws {
        transport.onAnyRequest().respond(redirect(302, to: location))

        let error = await #expect(throws: LoadingError.self) { _ = try await send(Request("https://a.test/a")) }

        #expect(transport.requests.map(\.url.absoluteString) == ["https://a.test/a"])
        #expect(fault(error) == .invalidTarget(shown))
    }

    @Test(
        "finding FP-28 a target whose host has no normal form is refused; others are requested by the normal form",
        arguments: [
            ("http://[example.org]/", nil), ("http://1.2.3.4.5/", nil), ("http://a%00b/", nil),
            ("http://a." + String(repeating: "a.", count: 50_000), nil), ("http://0x7f.1/x", "http://127.0.0.1/x"),
            ("//ex%61mple.org/private/../x", "http://example.org/x"),
        ]
    )
    func normalisesHosts(location: String, expected: String?) async throws {
        var policy = RedirectPolicy()
        policy.limit = 1
        transport.on("first", where: { $0.url.host() == "a.test" }).respond(redirect(302, to: location))
        transport.onAnyRequest().respond(.status(200))

        guard let expected else {
            let error = await #expect(throws: LoadingError.self) { _ = try await send(Request("http://a.test/")) }
            if case .invalidTarget = fault(error) { return }
            Issue.record("\(String(describing: error))")
            return
        }
        let response = try await send(Request("http://a.test/"), policy)
        #expect(response.request.url.absoluteString == expected)
    }

    @Test("policies PL-50 goes from https to http where that is allowed")
    func goesInsecure() async throws {
        transport.on(.get, "https://a.test/").respond(redirect(302, to: "http://a.test/"))
        transport.on(.get, "http://a.test/").respond(.status(200))
        var policy = RedirectPolicy()
        policy.allowsInsecure = true

        let request = try Request("https://a.test/", headers: ["Authorization": "Basic x"])
        #expect(try await send(request, policy).status == 200)
        #expect(transport.requests[1].headers["Authorization"] == nil)
    }

    @Test(
        "service D-28 policies PL-46 drops credentials as soon as scheme, host or port change",
        arguments: [
            ("https://a.test/b", true), ("https://A.TEST:443/b", true), ("https://b.test/b", false),
            ("https://a.test:8443/b", false), ("https://sub.a.test/b", false), ("https://trusted.test/", true),
        ]
    )
    func dropsCredentials(target: String, keeps: Bool) async throws {
        transport.on(.get, "https://a.test/a").respond(redirect(302, to: target))
        transport.onAnyRequest().respond(.status(200))
        var request = try Request(
            "https://a.test/a",
            headers: [
                "Authorization": "Bearer t", "Cookie": "a=b", "Proxy-Authorization": "Basic p", "Accept": "text/html",
                "Host": "other.test",
            ]
        )
        request.headers.set("X-Private", secret: "mark")
        request.destination = .host("127.0.0.1", port: nil)
        var policy = RedirectPolicy()
        policy.credentialOrigins = [try Origin("https://trusted.test")]

        _ = try await send(request, policy)

        let sent = transport.requests[1]
        for name in ["Authorization", "Cookie", "Proxy-Authorization", "X-Private"] {
            #expect(sent.headers.contains(name) == keeps, "\(name)")
        }
        let staysPut = target.lowercased().hasPrefix("https://a.test/") || target.contains(":443")
        #expect(sent.headers.contains("Host") == staysPut)
        #expect((sent.destination != nil) == staysPut)
        #expect(sent.headers["Accept"] == "text/html")
    }

    @Test("service D-28 authorises again at each hop")
    func asksAuthorisersAgain() async throws {
        transport.on(.get, "https://a.test/").respond(redirect(302, to: "https://b.test/"))
        transport.on(.get, "https://b.test/").respond(.status(200))
        let links = AttemptInterceptor(authorisers: [
            Authorisation.Bearer(token: "for-a", scope: try Authorisation.Scope("https://a.test")),
            Authorisation.Bearer(token: "for-b", scope: try Authorisation.Scope("https://b.test"), identifier: "b"),
        ])

        _ = try await send(Request("https://a.test/"), below: [links])

        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer for-a", "Bearer for-b"])
    }

    @Test("ends a streamed redirect immediately whose announced body is long, and does not wait for it")
    func dropsLongBody() async throws {
        let headers = ["Location": "/1", "Content-Length": "1000000"] as Headers
        transport.on(.get, "/0").respond(.steps([.stall], status: 302, headers: headers))
        transport.on(.get, "/1").respond(.text("there"))
        var request = try Request("https://a.test/0")
        request.delivery = .streamed
        // Time does not advance: waiting for the body would not end.
        let time = VirtualTime()
        let chain = Chain([HopInterceptor(redirects: RedirectPolicy())], transport: transport)

        let response = try await chain.send(request, call: Call(time: time))

        #expect(response.request.url.path() == "/1")
        #expect(transport.cancellations == 1)
        #expect(time.now == Instant(nanoseconds: 0))
    }

    @Test("reads a short body of a redirect to its end, and goes on as soon as it is there, or after a second")
    func readsShortBody() async throws {
        let headers = ["Location": "/1", "Content-Length": "4"] as Headers
        transport.on(.get, "/short").respond(.steps([.bytes(Data("gone".utf8))], status: 302, headers: headers))
        transport.on(.get, "/slow").respond(.steps([.stall], status: 302, headers: headers))
        transport.on(.get, "/1").respond(.text("there"))
        let time = VirtualTime()
        let chain = Chain([HopInterceptor(redirects: RedirectPolicy())], transport: transport)
        var request = try Request("https://a.test/short")
        request.delivery = .streamed

        // Time does not advance: waiting for more than the body would not end.
        _ = try await chain.send(request, call: Call(time: time))
        #expect(time.now == Instant(nanoseconds: 0))

        request.url = try Request("https://a.test/slow").url
        let slow = Task { [request] () async throws in try await chain.send(request, call: Call(time: time)) }
        #expect(try await time.advanceToNextSleeper().deadline == Instant(nanoseconds: 1_000_000_000))
        #expect(try await slow.value.request.url.path() == "/1")
    }

    @Test("RFC 9110 §15.4: fields that describe a body go with it, and no others")
    func removesContentFields() async throws {
        transport.on(.post, "/0").respond(redirect(303, to: "/1"))
        transport.on(.get, "/1").respond(.text("there"))
        var request = try Request(.post, "https://a.test/0", body: .text("body"))
        let names = [
            "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Digest",
            "Content-Disposition", "Content-Range", "Repr-Digest", "Digest", "Last-Modified", "Expect", "Trailer",
        ]
        for name in names + ["Accept", "X-Own"] { request.headers.set(name, "a") }

        _ = try await send(request)

        #expect(transport.requests[0].headers.map(\.name) == names + ["Accept", "X-Own"])
        #expect(transport.requests[1].headers.map(\.name) == ["Accept", "X-Own"])
    }

    @Test("hides the credentials that an authoriser added when the server repeats them in its target")
    func hidesAddedCredentials() async throws {
        transport.on(.get, "/0").respond(redirect(302, to: "/1?t=authoriser-canary"))
        transport.onAnyRequest().respond(.text("there"))
        let authorising = Chain.interceptor { request, next in
            var request = request
            request.headers.set("Authorization", "Bearer authoriser-canary")
            return try await next(request)
        }

        let response = try await send(Request("https://a.test/0"), below: [authorising])

        #expect(response.request.url.query() == "t=authoriser-canary")
        let followed = events.events.filter { if case .redirectFollowed = $0 { true } else { false } }
        #expect(followed.count == 1)
        #expect(!"\(followed)".contains("canary"))
    }

    @Test("drops the streamed body of a redirect: a short one is read, a long one is cancelled")
    func dropsBodies() async throws {
        transport.on(.get, "/short").respond(redirect(302, to: "/long"))
        transport.on(.get, "/long")
            .respond(.bytes(Data(count: 100_000), status: 302, headers: ["Location": "/end"]))
        transport.on(.get, "/end").respond(.text("end"))
        var request = try Request("https://a.test/short")
        request.delivery = .streamed

        let response = try await send(request)

        #expect(try await response.body.collect() == Data("end".utf8))
        #expect(transport.cancellations == 1)
    }

    @Test(
        "ignores answers that are not redirects to follow",
        arguments: [(300, true), (304, true), (305, true), (302, false), (200, true)]
    )
    func leavesAlone(status: Int, hasLocation: Bool) async throws {
        transport.onAnyRequest().respond(
            .status(Response.Status(status), headers: hasLocation ? ["Location": "/x"] : Headers())
        )

        #expect(try await send(Request("https://a.test/")).status.code == status)
        #expect(transport.received.count == 1)
    }
}
