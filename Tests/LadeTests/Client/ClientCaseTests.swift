#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Dispatch
import Lade
import LadeCallbacks
import LadePolicies
import LadeTesting
import SharedDoubles
import Testing

@Suite("Client", .timeLimit(.minutes(5)))
struct ClientCaseTests {
    private func isAccepted(
        _ status: Int,
        service: Response.StatusSet,
        endpoint: Response.StatusSet? = nil,
        request: Response.StatusSet? = nil
    )
        async throws -> Bool
    {
        let rig = Rig { $0.acceptableStatuses = service }
        rig.transport.onAnyRequest().respond(.status(Response.Status(status)))
        var asked = try rig.endpoint()
        asked.acceptableStatuses = endpoint
        asked.request.acceptableStatuses = request
        return await failure { () throws(LoadingError) in try await rig.loader.load(asked) } == nil
    }

    @Test("client CD-03 sends method, field, body and cache mode of a request unchanged")
    func fromRequest() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request()
        request.method = .post
        request.headers["A"] = "1"
        request.body = .text("body")
        request.timeouts.whole = .seconds(7)

        _ = try await rig.loader.load(Endpoint(request))

        let received = try #require(rig.transport.received.first)
        #expect(received.request.method == .post)
        #expect(received.request.headers["A"] == "1")
        #expect(received.text == "body")
        #expect(received.request.timeouts.whole == .seconds(7))
    }

    @Test("client CD-26 accepts 200 to 299 by default", arguments: [200, 204, 299])
    func acceptedByDefault(_ status: Int) async throws {
        #expect(try await isAccepted(status, service: Service.Settings().acceptableStatuses))
    }

    @Test("client CD-27 refuses all others by default", arguments: [199, 300, 304, 404, 500])
    func refusedByDefault(_ status: Int) async throws {
        #expect(try await !isAccepted(status, service: Service.Settings().acceptableStatuses))
    }

    @Test("client CD-28 accepts the statuses in the service's settings")
    func servicesRange() async throws {
        #expect(try await isAccepted(404, service: [.successful, 404]))
    }

    @Test(
        "client CD-29 prefers the request's statuses to the endpoint's, and those to the service's",
        arguments: [
            (404, .clientError, nil, true), (200, .clientError, nil, false), (404, .clientError, .successful, false),
            (500, nil, .serverError, true),
        ] as [(Int, Response.StatusSet?, Response.StatusSet?, Bool)]
    )
    func precedence(_ status: Int, _ endpoint: Response.StatusSet?, _ request: Response.StatusSet?, _ isGood: Bool)
        async throws
    {
        #expect(try await isAccepted(status, service: .successful, endpoint: endpoint, request: request) == isGood)
    }

    @Test("client CD-33 calls back on the main queue by default")
    func mainQueue() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let places = Journal<Bool>()
        rig.loader.load(try rig.endpoint().text()) { _ in places.add(isOnMainQueue()) }
        rig.loader.send(try rig.endpoint().text(), success: { _, _ in places.add(isOnMainQueue()) })
        #expect(try await places.next(2) == [true, true])
    }

    @Test("client CD-34 calls back on a queue or an actor of the caller's")
    func customQueue() async throws {
        actor Place {
            var count = 0
            func add() { count += 1 }
        }
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "lade.client")
        queue.setSpecific(key: key, value: true)
        let place = Place()
        let places = Journal<Bool>()
        rig.loader.load(try rig.endpoint(), on: .queue(queue)) { _ in
            places.add(DispatchQueue.getSpecific(key: key) == true)
        }
        rig.loader.load(try rig.endpoint(), on: .actor(place)) { _ in
            place.assumeIsolated { place in place.count += 1 }
            places.add(true)
        }
        #expect(try await places.next(2) == [true, true])
        #expect(await place.count == 1)
    }

    /// A call with a closure, which records how it ends.
    private func called(_ rig: Rig) throws -> (handle: Loader.Handle, endings: Journal<String>) {
        let endings = Journal<String>()
        let handle = rig.loader.load(try rig.endpoint(), on: .anywhere) { result in
            switch result {
            case .success: endings.add("success")
            case .failure(let error) where error.isCancellation: endings.add("cancelled")
            case .failure: endings.add("failure")
            }
        }
        return (handle, endings)
    }

    @Test("client CD-35 reports one failure, cancelled, when it is cancelled")
    func cancel() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let (handle, endings) = try called(rig)
        _ = try await rig.transport.request(at: 0)

        handle.cancel()

        #expect(try await endings.next() == ["cancelled"])
        try await rig.events.line("call failed: cancelled")
        #expect(endings.all == ["cancelled"])
    }

    @Test("client CD-36 reports nothing when it is cancelled after its end")
    func cancelAfterwards() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let (handle, endings) = try called(rig)
        _ = try await endings.next()

        handle.cancel()
        // Another call ends after it: by then every report of the cancellation has arrived.
        _ = try await rig.loader.load(rig.endpoint())

        #expect(endings.all == ["success"])
        #expect(!handle.isCancelled)
        #expect(!rig.events.story.contains("call failed: cancelled"))
    }

    @Test("client CD-38 client D-01 finishes its calls when the service is released, as long as its loader exists")
    func released() async throws {
        let transport = ScriptedTransport()
        let signal = Signal()
        transport.onAnyRequest().respond(.text("ok").after(signal))
        let loader = transport.makeLoader()
        async let text = loader.load(Endpoint("https://svc.example.com/").text())
        _ = try await transport.request(at: 0)
        signal.raise()
        #expect(try await text == "ok")
    }

    @Test("client CD-39 client D-20 notifies observers of the request, then of the answer, with one identity")
    func observers() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(404))
        _ = await failure { () throws(LoadingError) in try await rig.loader.load(rig.endpoint()) }
        // The decisions of the retry interceptor are reported in between.
        let story = rig.events.story.filter { !$0.hasPrefix("attempt") && !$0.hasPrefix("retry") }
        #expect(
            story == [
                "call started GET https://svc.example.com/thing",
                "exchange started GET https://svc.example.com/thing", "head 404 HTTP/1.1", "exchange finished",
                "call failed: unacceptableStatus(404)",
            ]
        )
        #expect(Set(rig.events.records.map(\.call)).count == 1)
    }

    @Test("client CD-40 client D-08 fails for a text that is not an address before anything is sent")
    func badURL() async throws {
        let rig = Rig()
        #expect(throws: LoadingError.self) { try Endpoint("http://a b") }
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("client CD-42 returns the request that was sent")
    func passedBack() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok")).then(.status(500))
        let requests = Journal<String>()
        let endpoint = try rig.endpoint("/a").header("X-Own", "1")
        for _ in 0..<2 {
            rig.loader.send(
                endpoint,
                on: .anywhere,
                success: { request, _ in requests.add("success \(request) \(request.headers)") },
                failure: { request, _ in requests.add("failure \(request) \(request.headers)") }
            )
            _ = try await requests.next()
        }
        let text = "GET https://svc.example.com/a X-Own: 1"
        #expect(requests.all == ["success \(text)", "failure \(text)"])
    }

    @Test("client CD-43 client D-05 calls the one closure there is, and observers in any case")
    func oneClosure() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(500)).then(.text("ok"))
        let reported = Journal<String>()
        rig.loader.send(try rig.endpoint(), on: .anywhere, success: { _, _ in reported.add("success") })
        try await rig.events.line("call failed: unacceptableStatus(500)")
        rig.loader.send(try rig.endpoint(), on: .anywhere, success: { _, _ in reported.add("success") })
        #expect(try await reported.next() == ["success"])
    }

    @Test("client CD-44 client D-15 does not check the status of an answer that did not come over HTTP")
    func notHTTP() async throws {
        let transport = ClosureTransport { request, _ throws(LoadingError) in Response(status: 0, request: request) }
        let loader = transport.makeLoader()
        _ = try await loader.load(Request("own:thing"))
        await #expect(throws: LoadingError.self) { try await loader.load(Request("https://svc.example.com/")) }
    }

    @Test("client D-03 uses the settings that the service was made with")
    func snapshot() async throws {
        var settings = Service.Settings.still
        let transport = ScriptedTransport(answering: .status(404))
        let loader = Service(settings, transport: transport).anonymous.makeLoader()
        settings.acceptableStatuses = .codes(200..<500)
        await #expect(throws: LoadingError.self) { try await loader.load(Request("https://svc.example.com/")) }
    }

    @Test("client D-04 has a request in its list before it is sent")
    func registeredFirst() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let handle = rig.loader.load(try rig.endpoint(), on: .anywhere) { _ in }
        #expect(rig.loader.currentRequests.count == 1)
        handle.cancel()
    }

    @Test("client D-07 shows no credential in descriptions, logs and events")
    func redaction() async throws {
        let lines = Journal<String>()
        let log = LoggingObserver(.events, secretFields: ["X-House-Key"]) { lines.add($0) }
        let rig = Rig { $0.observers = [log] }
        rig.transport.onAnyRequest()
            .respond(.status(500, headers: ["Set-Cookie": "canary", "X-House-Key": "canary", "X-Plain": "plain"]))
        var request = try rig.request("/a?access_token=canary")
        for name in ["Authorization", "Cookie", "Proxy-Authorization", "X-Authentication-Provider"] {
            request.headers[name] = "canary"
        }

        let error = await failure { () throws(LoadingError) in try await rig.loader.load(request) }

        let output = lines.all.joined(separator: "\n") + "\(request)\(request.headers)\(String(describing: error))"
        #expect(output.contains("plain"))
        #expect(!output.contains("canary"))
        #expect(lines.all.last?.contains("the caller has the error") == true)
    }

    @Test("client D-09 sets a field in place of every other of its name")
    func setsFields() throws {
        let endpoint = try Endpoint("https://a.example.com/").header("A", "1").header("a", "2")
        #expect(endpoint.request.headers == ["a": "2"])
    }

    @Test("client D-18 has retries, redirects and rates, as everything that goes through the service")
    func policies() async throws {
        let time = VirtualTime()
        let rig = Rig {
            $0.time = time
            $0.retries.limit = 1
            $0.retries.backoff = .none
            $0.rateLimiter = try? RateLimiter(RateLimits(default: .perSecond(10)), time: time)
        }
        rig.transport.on(.get, "/thing")
            .respond(.status(503))
            .then(.status(302, headers: ["Location": "/thing/moved"]))
        rig.transport.on(.get, "/thing/moved").respond(.text("ok"))

        let text = try await time.runAutomatically { try await rig.loader.load(rig.endpoint().text()) }

        #expect(text == "ok")
        #expect(rig.transport.lines == ["GET /thing", "GET /thing", "GET /thing/moved"])
        // Three exchanges with one service at ten a second.
        #expect(time.now == Instant(nanoseconds: 200_000_000))
    }
}
