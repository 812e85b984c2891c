#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Dispatch
import Lade
import LadeTesting
import Testing

@Suite("User agents")
struct UserAgentCaseTests {
    private let platform = UserAgent.Platform(model: "x86_64", system: "iPhone OS", systemVersion: "9.1")

    @Test("client CD-04 names application, machine and this library")
    func standard() {
        let agent = UserAgent(application: .init("MyApplication", version: "1.0.0"), platform: platform)
        #expect(agent.text == "MyApplication/1.0.0 (x86_64; iPhone OS 9.1) Lade/\(LibraryVersion.number)")
    }

    @Test("client CD-05 names a library between")
    func library() {
        let agent = UserAgent(
            application: .init("MyApplication", version: "1.0.0"),
            platform: platform,
            libraries: [.init("MyLibrary", version: "1.0.0")]
        )
        let client = "Lade/\(LibraryVersion.number)"
        #expect(agent.text == "MyApplication/1.0.0 (x86_64; iPhone OS 9.1) MyLibrary/1.0.0 \(client)")
    }

    @Test("client CD-06 is a text exactly as it is given")
    func string() {
        #expect(UserAgent.string("X").text == "X")
        #expect(UserAgent.string("X") == UserAgent("X"))
    }

    @Test(
        "client CD-08 keeps only what a token may have",
        arguments: [
            ("My Player (beta)", "MyPlayerbeta"), ("Ärzte", "rzte"), ("a/b:c", "abc"), ("a\r\nB: 1", "aB1"),
            ("ok-1.0_~!", "ok-1.0_~!"),
        ]
    )
    func sanitising(_ name: String, _ token: String) {
        #expect(UserAgent.sanitised(name) == token)
    }

    @Test("client CD-09 client D-10 has valid tokens in a program without a bundle, and none without a name")
    func noBundle() {
        let text = UserAgent.application.text
        #expect(!text.contains("null"))
        #expect(text.hasSuffix(" Lade/\(LibraryVersion.number)"))
        #expect(text.contains(" ("))
        #expect(UserAgent(application: .init("Name"), platform: platform).text.hasPrefix("Name (x86_64;"))
        #expect(UserAgent(application: .init("()"), platform: platform).text.hasPrefix("(x86_64;"))
    }

    @Test("client D-11 has the version of the release, three numbers")
    func version() {
        let parts = LibraryVersion.number.split(separator: ".").compactMap { Int($0) }
        #expect(parts.count == 3)
    }

    @Test("client CD-07 client CD-41 prefers the request's agent, and sends exactly one")
    func precedence() async throws {
        let rig = Rig { $0.userAgent = .string("service") }
        rig.transport.onAnyRequest().respond(.text("ok"))

        _ = try await rig.loader.load(rig.endpoint().header("user-agent", "own"))
        _ = try await rig.loader.load(rig.endpoint())

        #expect(rig.transport.requests.map { $0.headers.all("User-Agent") } == [["own"], ["service"]])
    }

    @Test("client CD-37 gives each of two services on one transport its own agent")
    func twoServices() async throws {
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.text("ok"))
        for name in ["A", "B"] {
            var settings = Service.Settings()
            settings.userAgent = .string(name)
            _ = try await Service(settings, transport: transport).anonymous.makeLoader()
                .load(Endpoint("https://svc.example.com/"))
        }
        #expect(transport.requests.map { $0.headers["User-Agent"] } == ["A", "B"])
    }
}

@Suite("Decorators")
struct DecoratorCaseTests {
    private func appending(_ text: String) -> ClosureDecorator {
        ClosureDecorator { request in
            var request = request
            request.headers["X-Order"] = (request.headers["X-Order"] ?? "") + text
            return request
        }
    }

    @Test("client CD-10 client CD-11 runs those of the service in order, then those of account and endpoint")
    func order() async throws {
        let rig = Rig { $0.decorators = [appending("a"), appending("b")] }
        rig.transport.onAnyRequest().respond(.text("ok"))
        var account = Account.Settings()
        account.decorators = [appending("c")]

        let endpoint = try rig.endpoint().decorated(by: appending("d")).decorated(by: appending("e"))
        _ = try await rig.service.account(account).makeLoader().load(endpoint)

        #expect(rig.transport.requests.first?.headers["X-Order"] == "abcde")
    }

    @Test("client CD-12 gives the first decorator the request with its user agent")
    func seesAgent() async throws {
        let seen = Journal<String?>()
        let rig = Rig {
            $0.userAgent = .string("agent")
            $0.decorators = [
                ClosureDecorator { request in
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
        let decorator = OAuthDecorator(authenticationProvider: "IdP", accessToken: "T")
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
        let decorator = OAuthDecorator(authenticationProvider: provider, accessToken: token.map { Secret($0) })
        #expect(await decorator.decorate(try Request("https://a.example.com/")).headers.isEmpty)
    }

    @Test("client CD-15 client D-16 takes a token that was changed between two requests")
    func newToken() async throws {
        let decorator = OAuthDecorator(authenticationProvider: "IdP", accessToken: "1")
        let rig = Rig { $0.decorators = [decorator] }
        rig.transport.onAnyRequest().respond(.text("ok"))
        _ = try await rig.loader.load(rig.endpoint())
        decorator.accessToken = "2"
        _ = try await rig.loader.load(rig.endpoint())
        #expect(rig.transport.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2"])
    }

    @Test("client CD-16 client CD-17 adds the SAML token once there is one")
    func saml() async throws {
        let decorator = SAMLDecorator(clientID: "iplayer")
        let request = try Request("https://a.example.com/")
        #expect(await decorator.decorate(request).headers.isEmpty)
        decorator.samlToken = "T"
        #expect(await decorator.decorate(request).headers["Authorization"] == "iplayer x=T")
    }

    @Test("client D-02 leaves an Authorization of the caller's alone unless asked, and lets the later decorator win")
    func callersOwn() async throws {
        let oauth = OAuthDecorator(authenticationProvider: "IdP", accessToken: "T")
        let saml = SAMLDecorator(clientID: "iplayer")
        saml.samlToken = "S"
        let plain = try Request("https://a.example.com/")
        var own = plain
        own.headers["Authorization"] = "Own"

        #expect(await oauth.decorate(own).headers == ["Authorization": "Own"])
        #expect(await saml.decorate(oauth.decorate(plain)).headers["Authorization"] == "iplayer x=S")
        let insisting = OAuthDecorator(authenticationProvider: "IdP", accessToken: "T", replacesAuthorization: true)
        #expect(await insisting.decorate(own).headers["Authorization"] == "Bearer T")
    }

    @Test("client D-12 waits for a decorator that has to get a token first, and can be cancelled meanwhile")
    func asynchronous() async throws {
        let signal = Signal()
        let decorator = ClosureDecorator { request in
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

@Suite("Processors")
struct ProcessorCaseTests {
    struct Broken: Error {}

    private func load<Value>(
        _ answer: ScriptedAnswer,
        service change: (inout Service.Settings) -> Void = { _ in },
        _ make: (Endpoint<Data>) -> Endpoint<Value>
    ) async throws -> Result<LoadedValue<Value>, LoadingError> {
        let rig = Rig(change)
        rig.transport.onAnyRequest().respond(answer)
        let endpoint = make(try rig.endpoint())
        do throws(LoadingError) {
            return .success(try await rig.loader.loadValue(of: endpoint))
        } catch {
            return .failure(error)
        }
    }

    @Test("client CD-20 fails with the error of the first processor, and runs no other")
    func firstThrows() async throws {
        let ran = Locked(0)
        let result = try await load(.text("abc")) { endpoint in
            endpoint.map { _ -> Int in throw Broken() }.map { number in
                ran.withLock { $0 += 1 }
                return number
            }
        }
        guard case .failure(.decoding(is Broken, let context)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(ran.withLock { $0 } == 0)
        #expect(context.body == Data("abc".utf8))
        #expect(context.status == 200)
    }

    @Test("client CD-21 fails with the error of the second processor, after the first ran")
    func secondThrows() async throws {
        let ran = Locked(0)
        let result = try await load(.text("abc")) { endpoint in
            endpoint.map { data in
                ran.withLock { $0 += 1 }
                return data
            }.map { (_: Data) -> Int in throw Broken() }
        }
        guard case .failure(.decoding(is Broken, _)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(ran.withLock { $0 } == 1)
    }

    @Test("client CD-22 makes dictionaries and arrays of JSON")
    func json() async throws {
        let object = try await load(.json(#"{"a": 1}"#)) { $0.jsonObject() }.get().value
        let array = try await load(.json(#"[true, "b"]"#)) { $0.jsonArray() }.get().value
        #expect(object == ["a": .integer(1)])
        #expect(array == [.bool(true), .string("b")])
        #expect(throws: LoadingError.self) {
            try Endpoint("https://a.example.com/").jsonArray().value(from: Self.answer("{}"))
        }
    }

    private static func answer(_ text: String) throws -> Response {
        Response(status: 200, body: ResponseBody(Data(text.utf8)), request: try Request("https://a.example.com/"))
    }

    @Test("client CD-23 fails over JSON that cannot be parsed, and says where")
    func invalidJSON() async throws {
        guard case .failure(.decoding(let fault as JSONFault, _)) = try await load(.json("{null}"), { $0.json() })
        else {
            Issue.record("no fault")
            return
        }
        #expect(fault.offset == 1)
    }

    @Test("client CD-24 fails naming the types when a processor does not get what it takes")
    func wrongInput() async throws {
        let chain = ProcessorChain([ClosureProcessor { (_: Data, _) in 7 }, JSONProcessor()])
        guard
            case .failure(.decoding(let fault as ProcessingFault, _)) = try await load(
                .text("1"),
                { $0.processing(with: chain) }
            )
        else {
            Issue.record("no fault")
            return
        }
        #expect(fault == .wrongInput(expected: "Data", found: "Int"))
    }

    @Test("runs a list of processors that is put together at run time")
    func chain() async throws {
        let chain = ProcessorChain([TextProcessor(), ClosureProcessor { (text: String, _) in text.count }])
        #expect(try await load(.text("abc")) { $0.processing(with: chain) }.get().value as? Int == 3)
    }

    @Test("client CD-25 takes bytes that are no image for no value, or for an error where one is required")
    func image() async throws {
        let decode: @Sendable (Data) throws -> Int? = { $0.count == 3 ? 3 : nil }
        #expect(try await load(.text("abc")) { $0.image(decode) }.get().value == 3)
        #expect(try await load(.text("ab")) { $0.image(decode) }.get().value == nil)
        #expect(try await load(.text("ab")) { $0.image { _ -> Int? in throw Broken() } }.get().value == nil)
        guard
            case .failure(.decoding(ProcessingFault.notAnImage, _)) = try await load(
                .text("ab"),
                { $0.requiredImage(decode) }
            )
        else {
            Issue.record("no failure")
            return
        }
    }

    @Test("client D-14 tells no value from an empty body, and an error where one is needed")
    func empty() async throws {
        #expect(try await load(.status(204)) { $0.json() }.get().value == nil)
        #expect(try await load(.status(204)) { $0.decodingIfPresent(Int.self) }.get().value == nil)
        guard
            case .failure(.decoding(ProcessingFault.emptyBody, _)) = try await load(
                .status(204),
                { $0.decoding(Int.self) }
            )
        else {
            Issue.record("no failure")
            return
        }
    }

    @Test("client D-17 runs the service's processors before the endpoint's")
    func serviceProcessors() async throws {
        let unwrap = ClosureProcessor { (data: Data, _) in data.dropFirst(4) }
        let result = try await load(.text(")]}'7"), service: { $0.processors = [unwrap] }) { $0.decoding(Int.self) }
        #expect(try result.get().value == 7)
    }

    @Test(
        "reads text in the character set of the answer",
        arguments: [
            ("text/plain; charset=iso-8859-1", [0xE4], "ä"), ("text/plain", [0xC3, 0xA4], "ä"),
            ("text/plain", [0xE4], "ä"),
            ("text/plain; charset=\"UTF-8\"", [0xC3, 0xA4], "ä"), ("text/plain; charset=us-ascii", [0xE4], nil),
            ("text/plain; charset=klingon", [0x41], nil),
        ] as [(String, [UInt8], String?)]
    )
    func text(_ type: String, _ bytes: [UInt8], _ text: String?) async throws {
        let result = try await load(.bytes(Data(bytes), type: type)) { $0.text() }
        #expect((try? result.get().value) == text)
    }

    @Test("client CD-30 client D-13 keeps the raw bytes of an error's page behind a JSON processor")
    func statusWithPage() async throws {
        guard
            case .failure(.unacceptableStatus(404, let context)) = try await load(.status(404, "<html>"), { $0.json() })
        else {
            Issue.record("no failure")
            return
        }
        #expect(context.body == Data("<html>".utf8))
        #expect(context.processedBody == nil)
        #expect(context.processingError is LoadingError == false)
        #expect(context.processingError is JSONFault)
    }

    @Test("client CD-31 gives the parsed body of a refused answer with its error")
    func statusWithJSON() async throws {
        let answer = ScriptedAnswer.json(#"{"why": "gone"}"#, status: 404)
        guard case .failure(.unacceptableStatus(404, let context)) = try await load(answer, { $0.jsonObject() }) else {
            Issue.record("no failure")
            return
        }
        #expect(context.processedBody as? [String: JSONValue] == ["why": .string("gone")])
    }

    @Test("client CD-32 runs no processor when there is no answer")
    func transportError() async throws {
        let ran = Locked(0)
        let result = try await load(.fails(.cannotConnect(host: "a", reason: .refused, .init()))) { endpoint in
            endpoint.map { data in
                ran.withLock { $0 += 1 }
                return data
            }
        }
        guard case .failure(.cannotConnect) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(ran.withLock { $0 } == 0)
    }
}

@Suite("Client")
struct ClientCaseTests {
    private func isAccepted(_ status: Int, service: Range<Int>, endpoint: Range<Int>? = nil, request: Range<Int>? = nil)
        async throws -> Bool
    {
        let rig = Rig { $0.acceptableStatuses = service }
        rig.transport.onAnyRequest().respond(.status(Status(status)))
        var asked = try rig.endpoint()
        asked.acceptableStatuses = endpoint
        asked.request.acceptableStatuses = request
        return await failure { () throws(LoadingError) in try await rig.loader.load(asked) } == nil
    }

    @Test("client CD-03 takes method, field, body and cache mode of a request as they are")
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

    @Test(
        "client CD-26 client CD-27 accepts 200 to 299 by default",
        arguments: [199, 200, 204, 299, 300, 304, 404, 500]
    )
    func standardRange(_ status: Int) async throws {
        #expect(
            try await isAccepted(status, service: Service.Settings().acceptableStatuses) == (200..<300).contains(status)
        )
    }

    @Test(
        "client CD-28 client CD-29 prefers the request's statuses to the endpoint's, and those to the service's",
        arguments: [
            (404, 200..<405, nil, nil, true), (404, 200..<300, 400..<500, nil, true),
            (200, 200..<300, 400..<500, nil, false),
            (404, 200..<300, 400..<500, 200..<300, false), (500, 200..<300, nil, 500..<600, true),
        ] as [(Int, Range<Int>, Range<Int>?, Range<Int>?, Bool)]
    )
    func precedence(
        _ status: Int,
        _ service: Range<Int>,
        _ endpoint: Range<Int>?,
        _ request: Range<Int>?,
        _ isGood: Bool
    ) async throws {
        #expect(try await isAccepted(status, service: service, endpoint: endpoint, request: request) == isGood)
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

    @Test("client CD-35 client CD-36 tells one cancellation, and nothing after the end")
    func cancel() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls).andNoMore()
        let endings = Journal<Bool>()
        let handle = rig.loader.load(try rig.endpoint(), on: .anywhere) { result in
            if case .failure(.cancelled) = result { endings.add(true) } else { endings.add(false) }
        }
        _ = try await rig.transport.request(at: 0)

        handle.cancel()
        #expect(try await endings.next() == [true])
        handle.cancel()

        #expect(endings.all == [true])
        #expect(rig.events.story.filter { $0.hasPrefix("call f") }.count == 1)
    }

    @Test("client CD-38 client D-01 finishes what was asked when the service is let go, as long as its loader is there")
    func released() async throws {
        let transport = ScriptedTransport()
        let signal = Signal()
        transport.onAnyRequest().respond(.text("ok").after(signal))
        let loader = Service(transport: transport).anonymous.makeLoader()
        async let text = loader.load(Endpoint("https://svc.example.com/").text())
        _ = try await transport.request(at: 0)
        signal.raise()
        #expect(try await text == "ok")
    }

    @Test("client CD-39 client D-20 tells observers of the request, then of the answer, with one identity")
    func observers() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(404))
        _ = await failure { () throws(LoadingError) in try await rig.loader.load(rig.endpoint()) }
        // What the retry link decides is told in between.
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

    @Test("client CD-40 client D-08 fails over a text that is no address before anything is sent")
    func badURL() async throws {
        let rig = Rig()
        #expect(throws: LoadingError.self) { try Endpoint("http://a b") }
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("client CD-42 passes back the request that was asked")
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
        let told = Journal<String>()
        rig.loader.send(try rig.endpoint(), on: .anywhere, success: { _, _ in told.add("success") })
        try await rig.events.line("call failed: unacceptableStatus(500)")
        rig.loader.send(try rig.endpoint(), on: .anywhere, success: { _, _ in told.add("success") })
        #expect(try await told.next() == ["success"])
    }

    @Test("client CD-44 client D-15 does not judge the status of what did not come over HTTP")
    func notHTTP() async throws {
        let transport = ClosureTransport { request, _ throws(LoadingError) in Response(status: 0, request: request) }
        let loader = Service(transport: transport).anonymous.makeLoader()
        _ = try await loader.load(Request("own:thing"))
        await #expect(throws: LoadingError.self) { try await loader.load(Request("https://svc.example.com/")) }
    }

    @Test("client D-03 uses the settings that the service was made with")
    func snapshot() async throws {
        var settings = Service.Settings()
        let transport = ScriptedTransport(answering: .status(404))
        let loader = Service(settings, transport: transport).anonymous.makeLoader()
        settings.acceptableStatuses = 200..<500
        await #expect(throws: LoadingError.self) { try await loader.load(Request("https://svc.example.com/")) }
    }

    @Test("client D-04 knows a request before it is sent")
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
        let log = LoggingObserver(secretFields: ["X-House-Key"]) { lines.add($0) }
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
        #expect(lines.all.last?.contains("failed") == true)
    }

    @Test("client D-09 sets a field in place of every other of its name")
    func setsFields() throws {
        let endpoint = try Endpoint("https://a.example.com/").header("A", "1").header("a", "2")
        #expect(endpoint.request.headers == ["a": "2"])
    }
}
