#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCache
import LadeTesting
import SharedDoubles
import Testing

@Suite("Cache of a service, serving", .timeLimit(.minutes(5)))
struct CacheServingTests {
    @Test("cache CA-01 CA-13 a stored response is served without any interceptor below")
    func serves() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing").respond(.text("one", headers: .fresh())).andNoMore()

        let first = try await rig.loader.load(rig.request())
        rig.events.clear()
        let second = try await rig.loader.load(rig.request())

        #expect(first.source == .network)
        #expect(second.source == .cache)
        #expect(try await second.wholeText == "one")
        #expect(second.headers["Age"] == "0")
        #expect(rig.sent == 1)
        #expect(
            rig.events.story == [
                "call started GET https://svc.example.com/thing",
                "cacheServed(LadeCore.Response.CacheRule.fresh, age: 0.0 seconds, lifetime: 60.0 seconds)",
                "call finished 200", "body whole",
            ]
        )
    }

    @Test("cache CA-263 two responses at one instant are equal, and the store is as it was")
    func servesAlike() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing")
            .respond(.text("one", headers: .fresh(60, ["ETag": "\"a\"", "Vary": "X-A", "X-B": "1"]))).andNoMore()
        _ = try await rig.loader.load(rig.request())
        let cache = try #require(rig.service.cache)
        for delay in [0, 7, 52] {
            rig.time.advance(by: .seconds(delay))
            let before = try await cache.entries().map(\.head)
            var texts: [String] = []
            for _ in 0..<2 {
                let response = try await rig.loader.load(rig.request())
                texts.append("\(response.status) \(response.headers) \(try await response.wholeText)")
            }

            #expect(texts[0] == texts[1])
            #expect(texts[0].hasSuffix("one"))
            #expect(try await cache.entries().map(\.head) == before)
        }
        #expect(rig.sent == 1)
    }

    @Test("cache CA-01 a first standard call is sent as without a cache")
    func sendsTheSame() async throws {
        let plain = Rig()
        let cached = Rig.caching()
        for rig in [plain, cached] {
            rig.transport.onAnyRequest().respond(.text("one"))
            _ = try await rig.loader.load(rig.request())
        }

        #expect(cached.transport.requests[0].headers == plain.transport.requests[0].headers)
        #expect(plain.service.chain.description == cached.service.chain.description)
        #expect(plain.service.cache == nil)
    }

    @Test(
        "cache CA-14 a response that the request or the app keeps out is not stored",
        arguments: [true, false]
    )
    func keepsOut(byRequest: Bool) async throws {
        let rig = Rig.caching { settings in
            if !byRequest { settings.shouldStore = { request, _, _ in request.url.path != "/thing" } }
        }
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh()))
        var request = try rig.request()
        if byRequest { request.cacheOptions.storesResponse = false }

        _ = try await rig.loader.load(request)
        let second = try await rig.loader.load(request)

        #expect(second.source == .network)
        #expect(rig.sent == 2)
        #expect(rig.cacheStory.contains("cacheNotStored(LadeCore.Response.CacheRule.hook)"))
    }

    @Test("cache CA-05 a stored status is refused again, and a stored body above the limit is too large")
    func judgesServed() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/missing").respond(.status(404, headers: .fresh(), "no"))
        rig.transport.on(.get, "/long").respond(.text(String(repeating: "x", count: 100), headers: .fresh()))

        for _ in 1...2 {
            let error = await failure { () throws(LoadingError) in
                try await rig.loader.load(rig.endpoint("/missing").text())
            }
            #expect(error?.kind == .unacceptableStatus(404))
        }
        _ = try await rig.loader.load(rig.request("/long"))
        var short = try rig.request("/long")
        short.delivery = .buffered(limit: 99)
        let error = await failure { () throws(LoadingError) in try await rig.loader.load(short) }

        #expect(error?.kind == .bodyTooLarge(limit: 99, announced: 100))
        #expect(rig.sent == 2)
    }

    @Test("cache CA-06 a served response moved no bytes; both kinds carry age, lifetime and rule")
    func measures() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing")
            .respond(.text("one", headers: .fresh(10, ["ETag": "\"a\""])))
            .then(.status(304, headers: .fresh(20)))

        _ = try await rig.loader.load(rig.request())
        rig.time.advance(by: .seconds(3))
        let served = try await rig.loader.load(rig.request())
        rig.time.advance(by: .seconds(10))
        let confirmed = try await rig.loader.load(rig.request())

        #expect(served.metrics.bytesReceived == 0)
        #expect(served.metrics.isReusedConnection == nil)
        #expect(served.metrics.cacheUse == .init(.fresh, age: .seconds(3), lifetime: .seconds(10)))
        #expect(served.headers["Age"] == "3")
        #expect(confirmed.source == .revalidated)
        #expect(confirmed.metrics.cacheUse == .init(.stale, age: .zero, lifetime: .seconds(20)))
        #expect(try await confirmed.wholeText == "one")
    }

    @Test("cache CA-07 the jar takes cookies only from what the server just sent")
    func cookies() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing")
            .respond(.text("one", headers: .fresh(60, ["Set-Cookie": "s=old"])))
            .then(.status(304, headers: .fresh(60)))
        rig.transport.on(.get, "/login").respond(.text("in", headers: ["Set-Cookie": "s=new"]))

        // Other cookies of an account with an identifier keep what is stored.
        let loader = rig.service.account(identifier: "a").makeLoader()

        _ = try await loader.load(rig.request())
        _ = try await loader.load(rig.request("/login"))
        for _ in 1...3 { _ = try await loader.load(rig.request()) }
        let jar = try #require(loader.account.cookieJar)

        #expect(jar.cookies.map(\.value) == ["new"])
        #expect(rig.sent == 2)
    }

    @Test("cache CA-08 a delay before the exchange makes no response older, the exchange itself does")
    func timesOfExchanges() async throws {
        let rig = Rig.caching(service: { settings in
            settings.callInterceptors = []
            settings.retries.limit = 1
        })
        rig.transport.on(.get, "/thing")
            .respond(.status(503, headers: ["Retry-After": "30"]))
            .then(.text("one", headers: .fresh(10)).after(.seconds(4)))

        _ = try await rig.time.runAutomatically { () async throws(LoadingError) in
            try await rig.loader.load(rig.request())
        }
        #expect(rig.time.now >= Instant(nanoseconds: 34_000_000_000))
        rig.time.advance(by: .milliseconds(5_900))
        let fresh = try await rig.loader.load(rig.request())

        #expect(fresh.source == .cache)
        #expect(fresh.headers["Age"] == "9")
    }

    @Test(
        "cache CA-09 each hop of a redirect has its own decision, and only what is stored is used for each when offline"
    )
    func hops() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/from").respond(
            .status(
                301,
                headers: [
                    "Location": "/to", "ETag": "\"r\"", "Last-Modified": "Sun, 01 Jan 2017 00:00:00 GMT",
                    "Cache-Control": "max-age=60",
                ]
            )
        )
        rig.transport.on(.get, "/to").respond(.text("there", headers: .fresh(5)))

        _ = try await rig.loader.load(rig.request("/from"))
        rig.time.advance(by: .seconds(10))
        _ = try await rig.loader.load(rig.request("/from"))
        #expect(rig.transport.lines == ["GET /from", "GET /to", "GET /to"])

        rig.loader.account.isOffline = true
        let offline = try await rig.loader.load(rig.request("/from"))
        #expect(try await offline.wholeText == "there")
        _ = try await rig.service.cache?.remove(.address(rig.request("/to").url))
        let error = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request("/from")) }
        #expect(error?.kind == .notStored)
        #expect(rig.sent == 3)
    }

    @Test("cache CA-27 CA-29 a body that broke off or was dropped is not stored, and an older response stays")
    func brokenBodies() async throws {
        let rig = Rig.caching()
        let long = String(repeating: "x", count: 1_000)
        rig.transport.on(.get, "/thing")
            .respond(.chunks([long, long], headers: .fresh()).breaking(after: 1_500))
            .then(.chunks([long, long], headers: .fresh()))
            .then(.chunks([long, long], headers: .fresh()))

        let broken = try await rig.loader.load(rig.request().streamed)
        let error = await failure { () throws(LoadingError) in try await broken.body.collect() }
        #expect(error != nil)
        do {
            let dropped = try await rig.loader.load(rig.request().streamed)
            var iterator = dropped.body.makeAsyncIterator()
            _ = try await iterator.next()
        }
        let whole = try await rig.loader.load(rig.request().streamed)
        #expect(try await whole.wholeText == long + long)
        let served = try await rig.loader.load(rig.request().streamed)

        #expect(served.source == .cache)
        #expect(try await served.wholeText == long + long)
        #expect(rig.sent == 3)
        try await rig.transport.cancellations(atLeast: 1)
    }

    @Test("cache CA-36 retries come first, and the final response is stored by its status")
    func retriesFirst() async throws {
        let rig = Rig.caching(service: { $0.retries.limit = 2 })
        rig.transport.on(.get, "/thing").respond(.status(503, headers: .fresh(60)))

        for _ in 1...2 {
            _ = try await rig.time.runAutomatically { () async throws(LoadingError) in
                try await rig.loader.load(rig.request().acceptingEveryStatus)
            }
        }

        #expect(rig.sent == 3)
        #expect(rig.cacheStory.count { $0.hasPrefix("cacheServed") } == 1)
    }

    @Test(
        "cache CA-90 CA-99 CA-102 an account that is offline gets what is stored, of any age, and otherwise the reason"
    )
    func offline() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing").respond(.text("one", headers: .fresh(1, ["Cache-Control": "must-revalidate"])))

        _ = try await rig.loader.load(rig.request())
        rig.time.advance(by: .seconds(100))
        rig.loader.account.isOffline = true
        let stored = try await rig.loader.load(rig.request())
        let error = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request("/other")) }
        rig.loader.account.isOffline = false
        let online = try await rig.loader.load(rig.request())

        #expect(stored.source == .cache)
        #expect(stored.headers["Age"] == "100")
        #expect(error?.kind == .notStored)
        #expect(error?.underlyingError as? ResponseCache.NotStoredReason == .nothing)
        #expect(error?.context.detail == "nothing is stored for the address")
        #expect(online.source == .network)
        #expect(rig.sent == 2)
    }

    @Test(
        "cache CA-90 each mode sends its own directive, unless the request has one",
        arguments: [
            (Request.CacheMode.standard, nil), (.bypass, "no-cache, no-store"), (.revalidate, "max-age=0"),
            (.preferStored, "max-stale"),
        ] as [(Request.CacheMode, String?)]
    )
    func directives(mode: Request.CacheMode, field: String?) async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(.text("one"))
        var request = try rig.request()
        request.cacheMode = mode
        _ = try await rig.loader.load(request)
        // What the first call stored is not used.
        request.url = try rig.request("/other").url
        request.headers["Cache-Control"] = "x"
        _ = try await rig.loader.load(request)

        #expect(rig.transport.requests.map { $0.headers["Cache-Control"] } == [field, "x"])
    }

    @Test("cache CA-90 modes of request, endpoint and service")
    func modes() async throws {
        let rig = Rig.caching { $0.defaultMode = .preferStored }
        rig.transport.on(.get, "/thing").respond(.text("one", headers: .fresh(1))).then(
            .text("two", headers: .fresh(1))
        )

        _ = try await rig.loader.load(rig.endpoint().text())
        rig.time.advance(by: .seconds(100))
        let preferred = try await rig.loader.load(rig.endpoint().text())
        let asked = try await rig.loader.load(rig.endpoint().cacheMode(.revalidate).text())
        let only = try await rig.loader.load(rig.endpoint().cacheMode(.storedOnly).text())

        #expect([preferred, asked, only] == ["one", "two", "two"])
    }

    @Test("cache CA-92 a response that bypassed the cache with another validator makes the stored one invalid")
    func bypasses() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing")
            .respond(.text("one", headers: .fresh(60, ["ETag": "\"a\""])))
            .then(.text("two", headers: .fresh(60, ["ETag": "\"b\""])))
            .then(.text("three", headers: .fresh(60, ["ETag": "\"c\""])))
        _ = try await rig.loader.load(rig.request())
        var bypass = try rig.request()
        bypass.cacheMode = .bypass
        _ = try await rig.loader.load(bypass)

        let third = try await rig.loader.load(rig.request())

        #expect(try await third.wholeText == "three")
        #expect(rig.transport.requests[2].headers["If-None-Match"] == "\"a\"")
    }

    @Test("cache CA-110 CA-114 CA-116 a 304 gives the stored status and body, and its own lifetime")
    func confirms() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing")
            .respond(
                .status(
                    404,
                    headers: .fresh(
                        1,
                        ["ETag": "W/\"a\"", "Last-Modified": "Sun, 01 Jan 2017 00:00:00 GMT", "X": "1"]
                    ),
                    "no"
                )
            )
            .then(.status(304, headers: .fresh(5, ["X": "2"])))

        _ = try await rig.loader.load(rig.request().acceptingEveryStatus)
        rig.time.advance(by: .seconds(10))
        let confirmed = try await rig.loader.load(rig.request().acceptingEveryStatus)
        rig.time.advance(by: .seconds(4))
        let served = try await rig.loader.load(rig.request().acceptingEveryStatus)

        let sent = rig.transport.requests[1].headers
        #expect(sent["If-None-Match"] == "W/\"a\"")
        #expect(sent["If-Modified-Since"] == "Sun, 01 Jan 2017 00:00:00 GMT")
        #expect(confirmed.status == 404)
        #expect(confirmed.source == .revalidated)
        #expect(confirmed.headers["X"] == "2")
        #expect(confirmed.headers["Age"] == nil)
        #expect(try await confirmed.wholeText == "no")
        #expect(served.source == .cache)
        #expect(served.headers["Age"] == "4")
        #expect(rig.sent == 2)
        #expect(rig.cacheStory.contains("cacheValidated"))
    }

    @Test("cache CA-113 a request with a condition of its own and its 304 pass unchanged")
    func ownConditions() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing")
            .respond(.text("one", headers: .fresh(60, ["ETag": "\"a\""])))
            .then(.status(304, headers: .fresh(600, ["ETag": "\"a\""])))
        _ = try await rig.loader.load(rig.request())
        var own = try rig.request().acceptingEveryStatus
        own.headers["If-None-Match"] = "\"a\""

        let response = try await rig.loader.load(own)
        rig.time.advance(by: .seconds(300))
        let served = try await rig.loader.load(rig.request())

        #expect(response.status == 304)
        #expect(response.source == .network)
        #expect(served.source == .cache)
        #expect(rig.sent == 2)
    }

    @Test("cache CA-118 a 304 that names none of several tags leads to one request without a condition")
    func unknownTags() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing")
            .respond(.text("one", headers: .fresh(60, ["ETag": "\"a\"", "Vary": "Accept"])))
            .then(.text("two", headers: .fresh(60, ["ETag": "\"b\"", "Vary": "Accept"])))
            .then(.status(304, headers: ["ETag": "\"z\""]))
            .then(.text("three", headers: .fresh(60, ["ETag": "\"z\"", "Vary": "Accept"])))
        var texts: [String] = []
        for accept in ["text/a", "text/b", "text/c"] {
            var request = try rig.request()
            request.headers["Accept"] = accept
            rig.time.advance(by: .seconds(1))
            texts.append(try await rig.loader.load(request).wholeText)
        }

        #expect(texts == ["one", "two", "three"])
        #expect(rig.transport.requests.map { $0.headers["If-None-Match"] } == [nil, "\"a\"", "\"b\", \"a\"", nil])
    }

    @Test(
        "cache CA-125 CA-126 CA-128 within stale-if-error the stored response stands in for a failure, after all retries"
    )
    func staleIfError() async throws {
        let rig = Rig.caching(service: { $0.retries.limit = 1 })
        let stale: Headers = ["Cache-Control": "max-age=1, stale-if-error=100"]
        rig.transport.on(.get, "/thing").respond(.text("one", headers: stale))
            .then(.connectionLost(isSafeToRepeat: true)).then(.status(503))
            .then(.connectionLost(isSafeToRepeat: true)).then(.connectionLost(isSafeToRepeat: true))
            .then(.status(501))
            .then(.status(503))
        func load() async throws(LoadingError) -> Response {
            try await rig.time.runAutomatically { () async throws(LoadingError) in
                try await rig.loader.load(rig.request().acceptingEveryStatus)
            }
        }
        _ = try await load()
        rig.time.advance(by: .seconds(10))

        let refused = try await load()
        #expect(refused.source == .cache)
        #expect(refused.status == 200)
        #expect(rig.sent == 3)
        let lost = try await load()
        #expect(lost.source == .cache)
        #expect(rig.sent == 5)
        let refusedForGood = try await load()
        #expect(refusedForGood.status == 501)
        rig.time.advance(by: .seconds(200))
        let late = try await load()
        #expect(late.status == 503)
        #expect(rig.cacheStory.count { $0.contains("ifError") } == 2)
    }

    @Test("cache CA-130 CA-131 CA-132 HEAD is served from a stored GET, and its own response updates or outdates it")
    func heads() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing").respond(.text("one", headers: .fresh(1, ["ETag": "\"a\""])))
        rig.transport.on(.head, "/thing").respond(
            .status(200, headers: .fresh(50, ["ETag": "\"a\"", "Content-Length": "3"]))
        )
        let head = Request(.head, try rig.request().url)

        _ = try await rig.loader.load(rig.request())
        let served = try await rig.loader.load(head)
        rig.time.advance(by: .seconds(10))
        _ = try await rig.loader.load(head)
        rig.time.advance(by: .seconds(10))
        let updated = try await rig.loader.load(rig.request())

        #expect(served.source == .cache)
        #expect(served.headers["Content-Length"] == "3")
        #expect(try await served.wholeText.isEmpty)
        #expect(updated.source == .cache)
        #expect(rig.transport.lines == ["GET /thing", "HEAD /thing"])
    }

    @Test("cache CA-133 CA-196 a body that the store lost is requested again, and no call fails")
    func lostBodies() async throws {
        let store = FaultyStore()
        let rig = Rig.caching { $0 = ResponseCache.Settings(store: store) }
        rig.transport.on(.get, "/thing").respond(.text("one", headers: .fresh(1, ["ETag": "\"a\""])))
            .then(.text("two", headers: .fresh(60, ["ETag": "\"b\""]))).then(.status(304)).then(.text("three"))
        _ = try await rig.loader.load(rig.request())
        store.fault.withLock { $0 = .open }
        let second = try await rig.loader.load(rig.request())
        rig.time.advance(by: .seconds(100))
        let third = try await rig.loader.load(rig.request())
        store.fault.withLock { $0 = .everything }
        let fourth = try await rig.loader.load(rig.request())

        #expect(try await second.wholeText == "two")
        #expect(try await third.wholeText == "three")
        #expect(try await fourth.wholeText == "three")
        #expect(rig.cacheStory.contains { $0.hasPrefix("cacheFault") })
        #expect(await rig.service.cache?.counters.faults ?? 0 > 0)
    }

    @Test("cache CA-140 CA-142 CA-145 a successful POST makes its address and its Location invalid")
    func invalidates() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing").respond(.text("one", headers: .fresh(60, ["ETag": "\"a\""]))).then(
            .status(304)
        )
        rig.transport.on(.get, "/other").respond(.text("other", headers: .fresh()))
        rig.transport.on(.post, "/thing").respond(.status(500)).then(.status(201, headers: ["Location": "/other"]))
        func load(_ path: String) async throws -> Response { try await rig.loader.load(rig.request(path)) }
        let post = Request(.post, try rig.request().url, body: .text("x")).acceptingEveryStatus
        _ = try await load("/thing")
        _ = try await load("/other")
        _ = try await rig.loader.load(post)
        #expect(try await load("/thing").source == .cache)

        _ = try await rig.loader.load(post)

        #expect(try await load("/thing").source == .revalidated)
        #expect(try await load("/thing").source == .cache)
        #expect(try await load("/other").source == .network)
        #expect(rig.cacheStory.contains("cacheInvalidated(count: 2)"))
    }

    @Test("cache CA-150 CA-157 a range is served from a whole body, and a beginning is completed with If-Range")
    func ranges() async throws {
        let rig = Rig.caching()
        let whole = (0..<100_000).map { String($0 % 10) }.joined()
        let fields: Headers = .fresh(60, ["ETag": "\"a\"", "Accept-Ranges": "bytes", "Content-Length": "100000"])
        rig.transport.on(.get, "/thing")
            .respond(.bytes(Data(whole.utf8), headers: fields).inPieces(of: 10_000).breaking(after: 70_000))
            .then(
                .bytes(
                    Data(whole.utf8.dropFirst(70_000)),
                    status: 206,
                    headers: .fresh(60, ["ETag": "\"a\"", "Content-Range": "bytes 70000-99999/100000"])
                )
            )
        let broken = try await rig.loader.load(rig.request().streamed)
        _ = await failure { () throws(LoadingError) in try await broken.body.collect() }

        let completed = try await rig.loader.load(rig.request())
        var part = try rig.request()
        part.headers["Range"] = "bytes=5-9"
        let served = try await rig.loader.load(part)
        let again = try await rig.loader.load(rig.request())

        #expect(rig.transport.requests[1].headers["Range"] == "bytes=70000-")
        #expect(rig.transport.requests[1].headers["If-Range"] == "\"a\"")
        #expect(completed.status == 200)
        #expect(try await completed.wholeText == whole)
        #expect(served.status == 206)
        #expect(served.headers["Content-Range"] == "bytes 5-9/100000")
        #expect(try await served.wholeText == "56789")
        #expect(again.source == .cache)
        #expect(try await again.wholeText == whole)
        #expect(rig.sent == 2)
    }

    @Test("cache CA-134 a response that is being read ends as it was, while new calls get the one that took its place")
    func finishesOldBody() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh(60, ["ETag": "\"a\""])))
            .then(.text("two", headers: .fresh(60, ["ETag": "\"b\""]))).andNoMore()
        _ = try await rig.loader.load(rig.request())
        var request = try rig.request()
        request.delivery = .streamed
        let old = try await rig.loader.load(request)
        var validation = try rig.request()
        validation.cacheMode = .revalidate
        let new = try await rig.loader.load(validation)
        let later = try await rig.loader.load(request)

        #expect(old.source == .cache)
        #expect(try await old.wholeText == "one")
        #expect(old.headers["ETag"] == "\"a\"")
        #expect(try await new.wholeText == "two")
        #expect(later.source == .cache)
        #expect(try await later.wholeText == "two")
    }

    @Test(
        "cache CA-44 a list of addresses does not change what is stored, and a host of its own stores nothing for others"
    )
    func keepsHostsApart() async throws {
        let directory = HostDirectory()
        let rig = Rig.caching { _ in
        } service: {
            $0.hosts = directory
        }
        rig.transport.onAnyRequest().respond(
            .computed { request, _ in .text(request.url.host() ?? "", headers: .fresh()) }
        )
        let answer = try await rig.loader.load(rig.request()).wholeText
        directory.setAddresses(["backup.example.com"], for: "svc.example.com")
        #expect(try await rig.loader.load(rig.request()).source == .cache)
        _ = try await rig.loader.load(rig.request("/second"))
        #expect(try await rig.loader.load(rig.request("/second")).source == .cache)
        #expect(answer == "svc.example.com")

        directory.setAddresses([HostDirectory.Address("own.example.com", isHostOfItsOwn: true)], for: "svc.example.com")
        let other = try await rig.loader.load(rig.request("/third"))
        #expect(try await other.wholeText == "own.example.com")
        #expect(rig.cacheStory.last == "cacheNotStored(LadeCore.Response.CacheRule.otherHost)")
        directory.setAddresses([], for: "svc.example.com")
        #expect(try await rig.loader.load(rig.request("/third")).wholeText == "svc.example.com")
    }
}

extension Request {
    /// The request, whose response is delivered whatever its status is.
    var acceptingEveryStatus: Request {
        var copy = self
        copy.deliversEveryStatus = true
        return copy
    }
}
