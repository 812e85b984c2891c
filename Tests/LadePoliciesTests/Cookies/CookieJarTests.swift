import Foundation
import Lade
import LadeCore
import LadeTesting
import Testing

#if canImport(CPSL)
    import CPSL
#endif

@testable import LadePolicies

@Suite(.timeLimit(.minutes(5)))
struct CookieJarTests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()

    /// Sends a request through a jar; the response contains the `Cookie` field that was sent.
    private func visit(
        _ address: String,
        _ jar: CookieJar,
        setting cookies: String...,
        headers: Headers = Headers()
    ) async throws -> String? {
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.status(200, headers: Headers(cookies.map { ("Set-Cookie", $0) })))
        let chain = Chain([ExchangeInterceptor(jar: jar)], transport: transport)
        _ = try await chain.send(Request(address, headers: headers), call: Call(time: time))
        return transport.requests[0].headers["Cookie"]
    }

    @Test(
        "policies PL-51 sends a cookie where it belongs",
        arguments: [
            // Set by https://www.example.com/a/b with these attributes; sent to this address?
            ("", "https://www.example.com/a/c", true), ("", "https://www.example.com/a", true),
            ("", "https://www.example.com/ab", false), ("", "https://www.example.com/", false),
            ("", "https://example.com/a", false), ("", "https://x.www.example.com/a", false),
            ("", "https://www.example.com:8443/a", true), ("", "http://www.example.com/a", true),
            ("; Domain=example.com", "https://example.com/a", true),
            ("; Domain=.example.com", "https://api.example.com/a", true),
            ("; Domain=example.com", "https://badexample.com/a", false),
            ("; Domain=www.example.com", "https://x.www.example.com/a", true),
            ("; Domain=other.com", "https://www.example.com/a", false),
            ("; Domain=x.www.example.com", "https://x.www.example.com/a", false),
            ("; Domain=com", "https://www.example.com/a", false), ("; Domain=com", "https://other.com/a", false),
            ("; Path=/", "https://www.example.com/z", true), ("; Path=/z", "https://www.example.com/z/y", true),
            ("; Path=/z", "https://www.example.com/zy", false), ("; Path=/z/", "https://www.example.com/z", false),
            ("; Path=z", "https://www.example.com/a", true), ("; Secure", "https://www.example.com/a", true),
            ("; Secure", "http://www.example.com/a", false), ("; SameSite=Strict", "https://www.example.com/a", true),
        ]
    )
    func sends(attributes: String, address: String, isSent: Bool) async throws {
        let jar = CookieJar()

        _ = try await visit("https://www.example.com/a/b", jar, setting: "n=v" + attributes)

        #expect(try await visit(address, jar) == (isSent ? "n=v" : nil))
    }

    @Test(
        "finding LX-8 this machine gets and sets Secure cookies without TLS, as in browsers and curl",
        arguments: [
            ("http://localhost/", true), ("http://localhost:8080/", true), ("http://app.localhost/", true),
            ("http://127.0.0.1:3000/", true), ("http://127.9.9.9/", true), ("http://[::1]/", true),
            ("http://a.test/", false), ("http://192.168.1.1/", false), ("http://localhost.test/", false),
            ("http://10.0.0.1/", false),
        ]
    )
    func secureOnThisMachine(address: String, isTaken: Bool) async throws {
        for cookie in [
            "n=v; Secure", "__Secure-n=v; Secure", "__Host-n=v; Secure; Path=/", "n=v; Secure; SameSite=None",
        ] {
            let jar = CookieJar()
            _ = try await visit(address, jar, setting: cookie)
            #expect(try await (visit(address, jar) != nil) == isTaken, "\(cookie)")
        }
        // One that was set with TLS is neither hidden nor replaced without.
        let jar = CookieJar()
        let secured = address.replacing("http://", with: "https://")
        _ = try await visit(secured, jar, setting: "n=tls; Secure")
        _ = try await visit(address, jar, setting: "n=plain")
        #expect(try await visit(secured, jar) == (isTaken ? "n=plain" : "n=tls"))
    }

    @Test("finding LX-8 a Secure cookie does not leave this machine when another one is dialled in its place")
    func secureElsewhere() async throws {
        let jar = CookieJar()
        _ = try await visit("http://localhost/", jar, setting: "n=v; Secure")
        for (destination, isSent) in [
            (Request.Destination.host("10.0.0.1", port: nil), false), (.host("127.0.0.1", port: 81), true),
            (.unixSocket(path: "/s"), true),
        ] {
            var request = try Request("http://localhost/")
            request.destination = destination
            jar.add(to: &request, at: time.date)
            #expect(request.headers.contains("Cookie") == isSent)
        }
    }

    @Test(
        "finding LX-11 a host sets no cookie for a domain that it shares with unrelated hosts",
        arguments: [
            // Host, domain, and whether a cookie is accepted.
            ("evil.s3.eu-central-1.amazonaws.com", "amazonaws.com", false),
            ("evil.s3.eu-central-1.amazonaws.com", "s3.eu-central-1.amazonaws.com", false),
            ("evil.s3.eu-central-1.amazonaws.com", "evil.s3.eu-central-1.amazonaws.com", true),
            ("a.evil.s3.eu-central-1.amazonaws.com", "evil.s3.eu-central-1.amazonaws.com", true),
            ("www.amazonaws.com", "amazonaws.com", true), ("ann.github.io", "github.io", false),
            ("ann.github.io", "io", false), ("x.ann.github.io", "ann.github.io", true),
            ("a.b.co.uk", "b.co.uk", true), ("a.b.co.uk", "co.uk", false), ("a.b.co.uk", "uk", false),
            ("www.example.com", "example.com", true), ("www.example.com", "com", false),
            ("a.b.example.com", "example.com", true), ("example.com", "www.example.com", false),
        ]
    )
    func sharedDomains(host: String, domain: String, isAccepted: Bool) async throws {
        let jar = CookieJar()
        _ = try await visit("https://\(host)/", jar, setting: "n=v; Domain=\(domain)")
        #expect(jar.cookies.count == (isAccepted ? 1 : 0))
        #if canImport(CPSL)
            let list = try #require(psl_builtin())
            #expect((psl_is_cookie_domain_acceptable(list, host, domain) != 0) == isAccepted)
        #endif
    }

    @Test(
        "finding LX-12 the jar of a session neither gives its cookies to other ports of the host nor takes any from them"
    )
    func ports() async throws {
        let jar = CookieJar(of: try Origin("http://h.test"))
        _ = try await visit("http://h.test/", jar, setting: "n=v")
        _ = try await visit("http://h.test:8080/", jar, setting: "n=other", "m=w")

        #expect(try await visit("http://h.test/", jar) == "n=v")
        #expect(try await visit("http://h.test:8080/", jar) == nil)
        #expect(try await visit("https://h.test:8443/", jar) == nil)
        #expect(try await visit("https://h.test/", jar) == "n=v")
        // Other hosts have cookies of their own, as without a session.
        _ = try await visit("http://g.test:81/", jar, setting: "g=1")
        #expect(try await visit("http://g.test:82/", jar) == "g=1")
    }

    @Test(
        "policies PL-51 accepts a cookie only as its rules allow",
        arguments: [
            ("http://a.test/", "n=v; Secure", false), ("https://a.test/", "__Secure-n=v", false),
            ("https://a.test/", "__Secure-n=v; Secure", true), ("https://a.test/", "__host-n=v; Secure", false),
            ("https://a.test/", "__Host-n=v; Secure; Path=/", true),
            ("https://a.test/", "__Host-n=v; Secure; Path=/; Domain=a.test", false),
            ("https://a.test/", "__Host-n=v; Secure; Path=/x", false), ("http://a.test/", "__Host-n=v; Path=/", false),
            ("http://127.0.0.1/", "n=v", true), ("http://127.0.0.1/", "n=v; Domain=127.0.0.1", true),
            ("http://127.0.0.1/", "n=v; Domain=0.1", false), ("http://localhost/", "n=v; Domain=localhost", true),
            ("https://shop.co.uk/", "n=v; Domain=co.uk", false),
            ("https://me.github.io/", "n=v; Domain=github.io", false),
            ("https://github.io/", "n=v; Domain=github.io", true), ("http://[::1]/", "n=v", true),
        ]
    )
    func accepts(address: String, cookie: String, isAccepted: Bool) async throws {
        let jar = CookieJar()

        _ = try await visit(address, jar, setting: cookie)

        #expect(jar.cookies.count == (isAccepted ? 1 : 0))
    }

    @Test("policies PL-51 a public suffix keeps its own cookie to itself")
    func hostOnlyForSuffix() async throws {
        let jar = CookieJar()

        _ = try await visit("http://localhost/", jar, setting: "n=v; Domain=localhost")

        #expect(jar.cookies.first?.isHostOnly == true)
        #expect(try await visit("http://other.localhost/", jar) == nil)
    }

    @Test("policies PL-51 sends longer paths first, then older cookies")
    func orders() async throws {
        let jar = CookieJar()
        _ = try await visit("https://a.test/x/y", jar, setting: "first=1; Path=/")
        time.advance(by: .seconds(1))
        _ = try await visit("https://a.test/x/y", jar, setting: "second=2; Path=/", "deep=3; Path=/x")
        time.advance(by: .seconds(1))
        // Setting it again keeps its age.
        _ = try await visit("https://a.test/x/y", jar, setting: "first=4; Path=/")

        #expect(try await visit("https://a.test/x/y", jar) == "deep=3; first=4; second=2")
    }

    @Test("policies PL-51 forgets a cookie at its end, in the time of the call")
    func expires() async throws {
        let jar = CookieJar()
        _ = try await visit("https://a.test/", jar, setting: "a=1; Max-Age=10", "b=2")

        time.advance(by: .seconds(9))
        #expect(try await visit("https://a.test/", jar) == "a=1; b=2")
        time.advance(by: .seconds(1))
        #expect(try await visit("https://a.test/", jar) == "b=2")
    }

    @Test("policies PL-51 a server removes a cookie by an end in the past")
    func removedByServer() async throws {
        let jar = CookieJar()
        _ = try await visit("https://a.test/", jar, setting: "a=1")

        _ = try await visit("https://a.test/", jar, setting: "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT")

        #expect(jar.cookies.isEmpty)
    }

    @Test("policies PL-51 plain HTTP cannot stand a cookie of its own before a secure one")
    func leavesSecureAlone() async throws {
        let jar = CookieJar()
        _ = try await visit("https://a.test/", jar, setting: "sid=good; Secure; Path=/")

        _ = try await visit("http://a.test/", jar, setting: "sid=evil; Path=/in")
        _ = try await visit("http://sub.a.test/", jar, setting: "sid=evil; Domain=a.test; Path=/in")

        #expect(jar.cookies.map { $0.value.reveal() } == ["good"])
    }

    @Test("policies PL-51 keeps within its limits: insecure cookies go first, then those used longest ago")
    func keepsLimits() async throws {
        var limits = CookieJar.Limits()
        limits.perDomain = 3
        limits.total = 4
        let jar = CookieJar(limits: limits)
        for name in ["a", "b", "c", "d"] {
            _ = try await visit(
                "https://x.test/\(name)",
                jar,
                setting: "\(name)=1; Path=/\(name)" + (name == "b" ? "" : "; Secure")
            )
            time.advance(by: .seconds(1))
        }
        #expect(jar.cookies.map(\.name) == ["a", "c", "d"])

        _ = try await visit("https://y.test/", jar, setting: "e=1")
        time.advance(by: .seconds(1))
        _ = try await visit("https://x.test/a", jar)
        time.advance(by: .seconds(1))
        _ = try await visit("https://z.test/", jar, setting: "f=1")

        #expect(jar.cookies.map(\.name) == ["a", "d", "e", "f"])

        // The use of a cookie delays its end, but does not prevent it.
        for name in ["g", "h", "i"] { _ = try await visit("https://\(name).test/", jar, setting: "\(name)=1") }
        #expect(jar.cookies.map(\.name).sorted() == ["f", "g", "h", "i"])
    }

    @Test("a cookie that is set again and again, or used, needs no more memory", arguments: [true, false])
    func boundsEntries(isSet: Bool) throws {
        var storage = CookieStorage(limits: CookieJar.Limits(), isPublicSuffix: { _ in false })
        let url = try Request("https://a.test/").url
        let cookie = try #require(SetCookie("a=1; Max-Age=100"))
        var most = 0
        for round in 0..<1_000 {
            if isSet || round == 0 { _ = storage.take(cookie, from: url, at: time.date) }
            if !isSet { _ = storage.matching(url, at: time.date) }
            most = max(most, storage.entryCount)
        }

        #expect(storage.count == 1)
        #expect(most <= 2 * 67)
    }

    @Test("finding QF-4 a cookie that was set again outlives its first expiry when room is made")
    func renewedCookies() async throws {
        var limits = CookieJar.Limits()
        limits.perDomain = 2
        let jar = CookieJar(limits: limits)
        _ = try await visit("https://a.test/", jar, setting: "a=1; Max-Age=10")
        _ = try await visit("https://a.test/", jar, setting: "a=2; Max-Age=1000")
        _ = try await visit("https://a.test/", jar, setting: "b=1; Path=/other; Max-Age=1000")
        time.advance(by: .seconds(1))
        _ = try await visit("https://a.test/", jar)
        time.advance(by: .seconds(10))
        _ = try await visit("https://a.test/", jar, setting: "c=1")

        #expect(jar.cookies.map(\.name) == ["a", "c"])
    }

    @Test("finding QF-3 a stored cookie that becomes one of the session is no longer in the file")
    func storedToSession() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "lade-\(UInt64.random(in: 0...(.max)))")
            .path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let jar = try CookieJar(file: path)
        _ = try await visit("https://a.test/", jar, setting: "sid=old; Max-Age=1000")
        try await jar.save()
        #expect(try CookieJar(file: path).cookies.count == 1)

        _ = try await visit("https://a.test/", jar, setting: "sid=new")
        try await jar.save()

        #expect(try CookieJar(file: path).cookies.isEmpty)
    }

    @Test("finding CF-16 a request has one Cookie field, whether the jar has cookies for it or not")
    func oneField() async throws {
        let jar = CookieJar()
        _ = try await visit("https://a.test/", jar, setting: "d=4")
        for (host, field) in [("a.test", "a=1; b=2; c=3; d=4"), ("b.test", "a=1; b=2; c=3")] {
            let transport = ScriptedTransport(answering: .status(200))
            var headers: Headers = ["Cookie": "a=1"]
            headers.add("Cookie", "b=2; c=3")
            let request = try Request("https://\(host)/", headers: headers)
            _ = try await Chain([ExchangeInterceptor(jar: jar)], transport: transport).send(
                request,
                call: Call(time: time)
            )
            #expect(transport.requests[0].headers.all("Cookie") == [field])
        }
    }

    @Test(
        "finding CF-25 a cookie that no field can carry is not kept, and fails no call",
        arguments: [("n", "a\u{1}b"), ("n\u{7F}", "a"), ("n", "a\nb"), ("n", "a;b"), ("n=m", "a"), ("n", "a\0")]
    )
    func unsendable(name: String, value: String) async throws {
        let jar = CookieJar()
        jar.insert(Cookie(name: name, value: Secret(value), domain: "a.test"), at: time.date)
        jar.insert(Cookie(name: "good", value: "1", domain: "a.test"), at: time.date)

        #expect(try await visit("https://a.test/", jar) == "good=1")
    }

    @Test("finding CF-25 a stored cookie for a public suffix is sent to that host alone")
    func publicSuffix() async throws {
        let jar = CookieJar()
        jar.insert(Cookie(name: "n", value: "1", domain: "co.uk", isHostOnly: false), at: time.date)
        jar.insert(Cookie(name: "m", value: "1", domain: "shop.co.uk", isHostOnly: false), at: time.date)

        #expect(try await visit("https://bank.co.uk/", jar) == nil)
        #expect(try await visit("https://www.shop.co.uk/", jar) == "m=1")
        #expect(try await visit("https://co.uk/", jar) == "n=1")
    }

    @Test("policies PL-51 the caller's own Cookie field comes first and wins")
    func mergesWithCaller() async throws {
        let jar = CookieJar()
        _ = try await visit("https://a.test/", jar, setting: "a=jar", "b=jar")

        #expect(
            try await visit("https://a.test/", jar, headers: ["Cookie": "a=mine; c=mine"]) == "a=mine; c=mine; b=jar"
        )
    }

    @Test("policies PL-51 each hop of a redirect sets and sends its own")
    func perHop() async throws {
        transport.on(.get, "https://a.test/").respond(
            .status(302, headers: ["Location": "https://b.test/", "Set-Cookie": "a=1"])
        )
        transport.on(.get, "https://b.test/").respond(
            .status(302, headers: ["Location": "https://a.test/end", "Set-Cookie": "b=1"])
        )
        transport.on(.get, "https://a.test/end").respond(.status(200))
        let chain = Chain(
            [HopInterceptor(redirects: RedirectPolicy()), ExchangeInterceptor(jar: CookieJar())],
            transport: transport
        )

        _ = try await chain.send(Request("https://a.test/"), call: Call(time: time))

        #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, nil, "a=1"])
    }

    @Test("policies PL-51 two accounts with a jar each share nothing")
    func perAccount() async throws {
        let (one, two) = (CookieJar(), CookieJar())

        _ = try await visit("https://a.test/", one, setting: "sid=one")

        #expect(try await visit("https://a.test/", two) == nil)
        #expect(try await visit("https://a.test/", one) == "sid=one")
    }

    @Test("policies PL-51 a file keeps cookies over runs, for its owner alone, without those of the session")
    func keepsFile() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "lade-jar-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "cookies.json").path()
        let jar = try CookieJar(file: path)

        _ = try await visit("https://a.test/", jar, setting: "kept=1; Max-Age=100; Secure", "session=2")
        try await jar.save()

        let rights = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(rights?.intValue == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()) == ["cookies.json"])
        #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("session"))
        let again = try CookieJar(file: path)
        #expect(again.cookies.map(\.name) == ["kept"])
        #expect(try await visit("https://a.test/", again) == "kept=1")
        time.advance(by: .seconds(100))
        #expect(try await visit("https://a.test/", again) == nil)

        again.removeAll()
        try await again.save()
        #expect(try CookieJar(file: path).cookies.isEmpty)
    }

    @Test("policies PL-51 a jar that has not changed since it was saved is not written again")
    func savesChanges() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "lade-jar-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let jar = try CookieJar(file: path)
        _ = try await visit("https://a.test/", jar, setting: "a=1; Max-Age=100")
        try await jar.save()
        try FileManager.default.removeItem(atPath: path)

        try await jar.save()
        #expect(!FileManager.default.fileExists(atPath: path))
        _ = try await visit("https://a.test/", jar, setting: "a=2; Max-Age=100")
        try await jar.save()

        #expect(try CookieJar(file: path).cookies.map { $0.value.reveal() } == ["2"])
    }

    @Test("policies PL-51 an answer from a cache sets no cookies, a refusal does", arguments: [true, false])
    func setsFromNetwork(isCached: Bool) async throws {
        let jar = CookieJar()
        let fields = ["Set-Cookie": "a=1"] as Headers
        let below = Chain.interceptor { request, _ in
            guard isCached else {
                var context = LoadingError.Context(request)
                context.headers = fields
                throw LoadingError(.unacceptableStatus(403), context)
            }
            var response = Response(status: 200, headers: fields, request: request)
            response.source = .cache
            return response
        }
        let chain = Chain([ExchangeInterceptor(jar: jar), below], transport: ScriptedTransport())

        _ = try? await chain.send(Request("https://a.test/"), call: Call(time: time))

        #expect(jar.cookies.map(\.name) == (isCached ? [] : ["a"]))
    }

    @Test("policies PL-51 removes cookies that have ended before any other")
    func removesEnded() async throws {
        var limits = CookieJar.Limits()
        limits.perDomain = 2
        let jar = CookieJar(limits: limits)
        for cookie in ["old=1", "ended=1; Max-Age=5"] {
            _ = try await visit("https://a.test/\(cookie.first ?? "x")/", jar, setting: cookie)
            time.advance(by: .seconds(1))
        }
        time.advance(by: .seconds(5))

        _ = try await visit("https://a.test/", jar, setting: "new=1")

        #expect(Set(jar.cookies.map(\.name)) == ["old", "new"])
    }

    @Test("policies PL-51 sends cookies as far as the field has room, to the last byte", arguments: [7, 8, 9])
    func fieldLimit(bytes: Int) async throws {
        var limits = CookieJar.Limits()
        limits.fieldBytes = bytes
        let jar = CookieJar(limits: limits)
        _ = try await visit("https://a.test/", jar, setting: "a=1", "b=2")

        #expect(try await visit("https://a.test/", jar) == (bytes >= 8 ? "a=1; b=2" : "a=1"))
    }

    @Test(
        "policies PL-51 without a path a cookie is for the folder of its address (RFC 6265bis §5.1.4)",
        arguments: [("", "/"), ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/c?d=/e/", "/a/b")]
    )
    func defaultPaths(path: String, expected: String) async throws {
        let jar = CookieJar()

        _ = try await visit("https://a.test" + path, jar, setting: "n=v")

        #expect(jar.cookies.map(\.path) == [expected])
    }

    @Test("policies PL-51 a file that is not a jar is an error; one that cannot be written does not fail the call")
    func checksFile() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "lade-jar-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "cookies.json").path()
        try Data("not json".utf8).write(to: URL(filePath: path))
        #expect(throws: LoadingError.self) { _ = try CookieJar(file: path) }

        let jar = try CookieJar(file: folder.appending(path: "missing/cookies.json").path())
        _ = try await visit("https://a.test/", jar, setting: "a=1; Max-Age=5")
        #expect(jar.cookies.count == 1)
        await #expect(throws: LoadingError.self) { try await jar.save() }
    }

    @Test("the app adds cookies and removes them")
    func byHand() async throws {
        let jar = CookieJar()
        jar.insert(Cookie(name: "own", value: "1", domain: "A.test"), at: time.date)
        jar.insert(
            Cookie(name: "kept", value: "1", domain: "a.test", expires: time.date.addingTimeInterval(9)),
            at: time.date
        )

        #expect(try await visit("https://a.test/", jar) == "own=1; kept=1")
        jar.removeSessionCookies()
        #expect(try await visit("https://a.test/", jar) == "kept=1")
    }
}
