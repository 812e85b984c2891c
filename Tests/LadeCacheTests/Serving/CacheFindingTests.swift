import Foundation
import Lade
import LadeCache
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

@Suite("Cache of a service, findings", .timeLimit(.minutes(5)))
struct CacheFindingTests {
    // MARK: - CK-10

    @Test(
        "finding CK-10 with Vary: Cookie a page from before the sign-in is not served after it, nor the reverse",
        arguments: ["", "a"]
    )
    func signsIn(identifier: String) async throws {
        let rig = Rig.caching()
        rig.transport.on(.post, "/login").respond(.status(204, headers: ["Set-Cookie": "sid=alice"]))
        rig.transport.on(.post, "/logout").respond(.status(204, headers: ["Set-Cookie": "sid=; Max-Age=0"]))
        rig.transport.onAnyRequest().respond(
            .computed { request, _ in
                .text(
                    request.headers["Cookie"] ?? "anonymous",
                    headers: .fresh(60, ["Vary": "Cookie", "ETag": "\"1\""])
                )
            }
        )
        let account = identifier.isEmpty ? rig.service.anonymous : rig.service.account(identifier: identifier)
        let loader = account.makeLoader()
        func page() async throws -> [String] {
            let response = try await loader.load(rig.request())
            return [try await response.wholeText, "\(response.source)"]
        }

        #expect(try await page() == ["anonymous", "network"])
        #expect(try await page() == ["anonymous", "cache"])
        _ = try await loader.load(Request(.post, rig.request("/login").url))
        #expect(try await page() == ["sid=alice", "network"])
        #expect(try await page() == ["sid=alice", "cache"])
        _ = try await loader.load(Request(.post, rig.request("/logout").url))
        #expect(try await page() == ["anonymous", "cache"])
    }

    @Test(
        "finding CK-10 what a layer below the cache may set is asked for again, unless the layer says that it sets no such field",
        arguments: [
            (["*"], [0, 1, 1], [false, false, false]), (["X-Tenant"], [0, 1, 1], [false, false, false]),
            (["X-Other"], [0, 0, 0], [false, true, true]), ([], [0, 0, 0], [false, true, true]),
        ] as [([String], [Int], [Bool])]
    )
    func interceptors(changedFields: [String], tenants: [Int], hits: [Bool]) async throws {
        let tenant = Locked(0)
        let interceptor = Chain.interceptor(observesScope: true, changedFields: changedFields) { request, next in
            var sent = request
            if tenant.withLock({ $0 }) > 0 { sent.headers["X-Tenant"] = "\(tenant.withLock { $0 })" }
            return try await next(sent)
        }
        let rig = Rig.caching(service: { $0.attemptInterceptors = [interceptor] })
        rig.transport.onAnyRequest().respond(
            .computed { request, _ in
                .text(request.headers["X-Tenant"] ?? "none", headers: .fresh(60, ["Vary": "Accept, X-Tenant"]))
            }
        )
        for (number, hit) in zip(tenants, hits) {
            tenant.withLock { $0 = number }
            let response = try await rig.loader.load(rig.request())
            #expect(try await response.wholeText == (number == 0 ? "none" : "\(number)"))
            #expect((response.source == .cache) == hit)
        }
    }

    @Test("finding CK-10 the names that a type of the app lists count as those of a closure")
    func typesOfApps() async throws {
        let rig = Rig.caching(service: { $0.attemptInterceptors = [Naming()] })
        rig.transport.onAnyRequest().respond(.text("a", headers: .fresh(60, ["Vary": "Accept, X-Tenant"])))
        for isHit in [false, true] {
            #expect((try await rig.loader.load(rig.request()).source == .cache) == isHit)
        }
    }

    private struct Naming: Interceptor {
        let observesScope = true
        // As an app writes it, of the type that every list of names has.
        let changedFields = ["X-Other"]
        func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
            try await next(request)
        }
    }

    @Test("finding CK-10 a page from before an authoriser has credentials is not served afterwards")
    func authorisers() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(
            .computed { request, _ in
                .text(request.headers["Authorization"] ?? "anonymous", headers: .fresh(60, ["Vary": "Authorization"]))
            }
        )
        let late = LateAuthoriser()
        let loader = rig.service.account(identifier: "a", authorisers: [late]).makeLoader()
        func page() async throws -> String { try await loader.load(rig.request()).wholeText }

        #expect(try await page() == "anonymous")
        late.token.withLock { $0 = "Bearer 1" }
        #expect(try await page() == "Bearer 1")
        // Another token of the same user keeps what is stored.
        late.token.withLock { $0 = "Bearer 2" }
        #expect(try await page() == "Bearer 1")
        #expect(rig.sent == 2)
    }

    private final class LateAuthoriser: Authoriser {
        let identifier = "late"
        let token = Locked<String?>(nil)
        var changedFields: [String] { ["Authorization"] }
        func claims(_ request: Request) -> Bool { true }
        func authorise(_ request: Request, in context: Authorisation.Context) async throws -> Request {
            var request = request
            if let token = token.withLock({ $0 }) { request.headers["Authorization"] = token }
            return request
        }
    }

    // MARK: - PT

    @Test("finding PT-8 an invalidation between two equal requests in flight: the second does not join the first")
    func joinsNothingOlder() async throws {
        let rig = Rig.caching()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.text("old", headers: .fresh()).after(signal))
            .then(.text("new", headers: .fresh()))
        let (loader, request) = (rig.loader, try rig.request())
        let first = Task { try await loader.load(request).wholeText }
        _ = try await rig.transport.request(at: 0)
        _ = try await rig.service.cache?.invalidate(.address(request.url))

        let second = try await loader.load(request).wholeText
        signal.raise()

        #expect(second == "new")
        #expect(try await first.value == "old")
        #expect(rig.sent == 2)
        #expect(try await loader.load(request).wholeText == "new")
    }

    // MARK: - CK-3, CK-4

    @Test(
        "finding CK-3 no call gets a body in a coding that it would not have had",
        arguments: [nil, "gzip", "br"],
        [true, false]
    )
    func formsOfBodies(accepted: String?, varies: Bool) async throws {
        for decodes in [true, false] {
            let cache = ResponseCache.Settings(store: MemoryStoreOfTests.make(limit: 1 << 20))
            let transport = ScriptedTransport()
            transport.onAnyRequest().respond(
                .computed { request, _ in
                    let coding = request.headers["Accept-Encoding"]
                    var fields: Headers = varies ? ["Vary": "Accept-Encoding"] : [:]
                    fields["Content-Encoding"] = coding
                    return .text(coding ?? "plain", headers: .fresh(60, fields))
                }
            )
            func body(_ decodes: Bool, _ accepted: String?) async throws -> String {
                var settings = Service.Settings.still(in: VirtualTime())
                settings.cache = cache
                settings.transport.decodesContent = decodes
                var request = try Request("https://svc.example.com/thing")
                request.headers["Accept-Encoding"] = accepted
                let service = Service(settings, transport: transport)
                return try await service.anonymous.makeLoader().load(request).wholeText
            }
            for coding in ["gzip", "br"] {
                for decodes in [true, false] { #expect(try await body(decodes, coding) == coding) }
            }

            for _ in 0..<2 { #expect(try await body(decodes, accepted) == accepted ?? "plain") }
            // A body without a coding is in no wrong form.
            let other = try await body(!decodes, "gzip")
            #expect(other == "gzip" || !varies && other == "plain")
        }
    }

    @Test(
        "finding CK-4 a request with a body is served only what the same body got, whatever its method",
        arguments: ["GET", "HEAD", "QUERY"]
    )
    func bodiesCount(method: String) async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(
            .computed { request, _ in
                guard case .bytes(let bytes)? = request.body?.content else { return .text("none", headers: .fresh()) }
                return .text(String(decoding: bytes, as: UTF8.self), headers: .fresh())
            }
        )
        func load(_ method: String, _ body: Request.Body?) async throws -> [String] {
            var request = try rig.request()
            (request.method, request.body) = (try Request.Method(method), body)
            let response = try await rig.loader.load(request)
            return [method == "HEAD" ? "" : try await response.wholeText, "\(response.source)"]
        }
        let get = method == "HEAD" ? "GET" : method

        #expect(try await load("GET", nil) == ["none", "network"])
        #expect(try await load(get, .bytes(Data("a".utf8))) == ["a", "network"])
        #expect(try await load(method, .bytes(Data("b".utf8)))[1] == "network")
        #expect(try await load(get, .bytes(Data("a".utf8))) == ["a", "cache"])
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = try folder.file("body", "a")
        #expect(try await load(method, try .file(file))[1] == "network")
        #expect(try await load("GET", nil) == ["none", "cache"])
    }

    // MARK: - CK-6, CK-7, CK-9

    @Test("finding CK-6 stored is said when the body is stored, in the head only where that is known")
    func saysStoredWhenItIs() async throws {
        let rig = Rig.caching({ $0.addsStatusField = true })
        rig.transport.on(.get, "/cut").respond(.chunks(["one", "two"], headers: .fresh()).breaking(after: 3))
        rig.transport.onAnyRequest().respond(.chunks(["one", "two"], headers: .fresh()))
        let cut = try await rig.loader.load(rig.request("/cut").streamed)
        _ = await failure { () throws(LoadingError) in try await cut.body.collect() }
        let streamed = try await rig.loader.load(rig.request("/streamed").streamed)
        _ = try await streamed.wholeText
        let whole = try await rig.loader.load(rig.request("/whole"))

        #expect(cut.headers["Cache-Status"] == "Lade; fwd=uri-miss; detail=uri-miss")
        #expect(streamed.headers["Cache-Status"] == "Lade; fwd=uri-miss; detail=uri-miss")
        #expect(whole.headers["Cache-Status"] == "Lade; fwd=uri-miss; stored; detail=uri-miss")
        #expect(rig.cacheStory.count { $0.hasPrefix("cacheStored") } == 2)
        #expect(rig.cacheStory.contains("cacheNotStored(LadeCore.Response.CacheRule.brokenOff)"))
    }

    @Test(
        "finding CK-7 the rule by which the last response was not stored is the detail of its status, and is explained"
    )
    func saysWhyNot() async throws {
        let rig = Rig.caching({ $0.addsStatusField = true })
        rig.transport.onAnyRequest().respond(.text("one", headers: ["Cache-Control": "no-store"]))
            .then(.text("two", headers: ["Vary": "*", "Cache-Control": "max-age=60"]))
            .then(.text("three", headers: .fresh()))
        var details: [String?] = []
        for _ in 0..<3 {
            details.append(try await rig.loader.load(rig.request()).headers["Cache-Status"])
            let explanation = try #require(try await rig.service.anonymous.explainCaching(of: rig.request()))
            details.append(explanation.lastRefusal?.rawValue)
        }

        #expect(
            details == [
                "Lade; fwd=uri-miss; detail=no-store", "no-store", "Lade; fwd=uri-miss; detail=vary-star", "vary-star",
                "Lade; fwd=uri-miss; stored; detail=uri-miss", nil,
            ]
        )
    }

    @Test(
        "finding CK-9 a server that names the tag without the suffix of a coding saves its body, with one request a validation"
    )
    func tagsWithoutSuffix() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(
            .computed { request, _ in
                request.headers["If-None-Match"] == "\"x-zstd\""
                    ? .status(304, headers: ["ETag": "\"x\"", "Cache-Control": "max-age=60"])
                    : .text("body", headers: .fresh(1, ["ETag": "\"x-zstd\""]))
            }
        )
        _ = try await rig.loader.load(rig.request())
        for _ in 0..<3 {
            rig.time.advance(by: .seconds(10))
            let response = try await rig.loader.load(rig.request())
            #expect(try await response.wholeText == "body")
            #expect(response.source == .revalidated)
            // What names another tag updates nothing.
            #expect(response.headers["ETag"] == "\"x-zstd\"")
            #expect(response.headers["Cache-Control"] == "max-age=1")
        }
        #expect(rig.transport.requests.count { $0.headers["If-None-Match"] == nil } == 1)
        #expect(rig.sent == 4)
    }
}
