import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("The end of a body as an event", .timeLimit(.minutes(5)))
struct BodyEventTests {
    private func records(_ rig: Rig) -> [Call.Event.Body] {
        rig.events.events.compactMap { if case .bodyFinished(let record) = $0 { record } else { nil } }
    }

    private func lines(_ rig: Rig) -> [String] {
        rig.events.story.filter { $0.hasPrefix("body ") || $0.hasPrefix("call f") }
    }

    private func streamed(_ answer: ScriptedResponse) async throws -> (Rig, Response) {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(answer)
        return (rig, try await rig.loader.load(rig.request().streamed))
    }

    @Test("finding UF-4 a buffered call ends with its body: bytes, duration and attempts")
    func buffered() async throws {
        let rig = Rig {
            $0.retries.limit = 1
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.status(503).after(.milliseconds(40)))
            .then(.text("hello").after(.milliseconds(80)))
        let (loader, request) = (rig.loader, try rig.request())

        _ = try await rig.time.runAutomatically { () async throws(LoadingError) in try await loader.load(request) }

        let record = try #require(records(rig).first)
        #expect(lines(rig) == ["call finished 200", "body whole"])
        #expect(record.bytes == 5 && record.duration == .milliseconds(120) && record.attempts == 2)
        #expect(rig.events.story.last == "body whole")
    }

    @Test("finding UF-4 a streamed body ends once, after it was read to its end")
    func whole() async throws {
        let (rig, response) = try await streamed(.text("hello"))
        #expect(lines(rig) == ["call finished 200"])

        #expect(try await response.body.collect() == Data("hello".utf8))

        response.body.cancel()
        #expect(lines(rig) == ["call finished 200", "body whole"])
        #expect(records(rig).map(\.bytes) == [5] && records(rig).map(\.attempts) == [1])
    }

    @Test("finding UF-4 a streamed body that fails says so once, with the bytes that were read")
    func fails() async throws {
        let (rig, response) = try await streamed(
            .text("hello").breaking(
                after: 2,
                with: LoadingError(.connectionLost(.body(received: 2), isSafeToRepeat: false))
            )
        )

        await #expect(throws: LoadingError.self) { try await response.body.collect() }

        #expect(lines(rig) == ["call finished 200", "body failed: connectionLost"])
        #expect(records(rig).map(\.bytes) == [2])
    }

    @Test("finding UF-4 a body that its reader cancels is cancelled, and one that is released is abandoned")
    func endings() async throws {
        let (rig, response) = try await streamed(.text("hello").stalling(after: 2))
        response.body.cancel()
        response.body.cancel()
        #expect(lines(rig) == ["call finished 200", "body cancelled"])

        let unread = try await { try await streamed(.text("hello")).0 }()
        #expect(lines(unread) == ["call finished 200", "body abandoned"])

        let begun = try await {
            let (rig, response) = try await streamed(.text("hello").stalling(after: 2))
            var iterator = response.body.makeAsyncIterator()
            _ = try await iterator.next()
            return rig
        }()
        #expect(lines(begun) == ["call finished 200", "body abandoned"])
        #expect(records(begun).map(\.bytes) == [2])
    }

    @Test("finding UF-4 a call that fails has no body", arguments: [false, true])
    func failed(isStreamed: Bool) async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(404))
        let request = try rig.request()

        await #expect(throws: LoadingError.self) { try await rig.loader.load(isStreamed ? request.streamed : request) }

        #expect(lines(rig) == ["call failed: unacceptableStatus(404)"])
    }

    @Test("finding UF-4 a body that is resumed ends once")
    func resumed() async throws {
        let rig = Rig {
            $0.retries.limit = 2
            $0.retries.backoff = .none
        }
        let tagged: Headers = ["ETag": "\"1\""]
        rig.transport.onAnyRequest().respond(.text("hello world", headers: tagged).breaking(after: 5))
            .then(
                .text(" world", status: 206, headers: ["ETag": "\"1\"", "Content-Range": "bytes 5-10/11"])
            )
        var load = ResumableLoad(try rig.request(), by: rig.loader)
        _ = try await load.head()
        while case .bytes? = try await load.next(mayBeginAnew: false) {}

        #expect(lines(rig) == ["call finished 200", "body whole"])
        #expect(records(rig).map(\.bytes) == [11] && records(rig).map(\.attempts) == [2])
    }

    @Test("finding UF-4 a line of the log is written at the end of a streamed body")
    func line() async throws {
        let log = Journal<String>()
        let rig = Rig { $0.observers.append(LoggingObserver { log.add($0) }) }
        rig.transport.onAnyRequest().respond(.text("hello"))
        let response = try await rig.loader.load(rig.request().streamed)
        #expect(log.all.isEmpty)
        rig.time.advance(by: .seconds(3))

        _ = try await response.body.collect()

        #expect(log.all.count == 1)
        #expect(log.all.first?.hasSuffix(" bytes, 3.0 s, 1 attempt") == true, "\(log.all)")
    }

    // MARK: - After the exchange

    /// A transport whose exchanges end when the test says so, as those of a loop end after their bodies were cancelled.
    private final class LateTransport: Transport {
        let observesScope = true
        let collectsBodies = true
        private let status: Response.Status
        private let running = Locked<[Call]>([])

        init(_ status: Response.Status) { self.status = status }

        func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
            call.record(.exchangeStarted(method: request.method, url: request.url.absoluteString))
            running.withLock { $0.append(call) }
            return Response(status: status, body: Response.Body(streaming: Source()), request: request)
        }

        /// Ends the oldest exchange.
        func end() {
            let call = running.withLock { $0.removeFirst() }
            call.record(.exchangeFailed(LoadingError(.cancelled), Response.Metrics()))
        }

        /// A body that never ends.
        private final class Source: Response.Body.Source {
            let trailers = Headers()
            let metrics = Response.Metrics()

            func next() async throws(LoadingError) -> Data? { Data(count: 1 << 20) }

            func cancel() {}
        }
    }

    @Test(
        "finding WF-11 the last event of a call follows the end of its exchange, however its reader ended",
        arguments: ["cancelled", "released", "refused"]
    )
    func afterTheExchange(ending: String) async throws {
        let (time, events) = (VirtualTime(), EventRecorder())
        var settings = Service.Settings.still(in: time)
        settings.observers = [events]
        settings.retries.limit = 0
        let transport = LateTransport(ending == "refused" ? 404 : 200)
        let loader = Service(settings, transport: transport).anonymous.makeLoader()
        let request = try Request("https://svc.example.com/thing").streamed

        switch ending {
        case "cancelled": try await loader.load(request).body.cancel()
        case "released": _ = try await loader.load(request)
        default: await #expect(throws: LoadingError.self) { try await loader.load(request) }
        }
        let before = events.story
        time.advance(by: .seconds(1))
        transport.end()

        let last =
            ["cancelled": "body cancelled", "released": "body abandoned"][ending]
            ?? "call failed: unacceptableStatus(404)"
        #expect(!before.contains(last))
        #expect(events.story == before + ["exchange failed: cancelled", last])
        // The duration ends with the body.
        for case .bodyFinished(let record) in events.events { #expect(record.duration == .zero) }
    }

    @Test("finding WF-11 a transport that reports no end of an exchange holds back no last event")
    func withoutAnEnd() async throws {
        let (time, events) = (VirtualTime(), EventRecorder())
        var settings = Service.Settings.still(in: time)
        settings.observers = [events]
        let request = try Request("https://svc.example.com/thing").streamed
        do {
            let loader = Service(settings, transport: LateTransport(200)).anonymous.makeLoader()
            try await loader.load(request).body.cancel()
        }

        #expect(events.story.last == "body cancelled")
    }

    #if os(Linux)
        @Test("finding WF-11 over sockets, every call has one last event and every exchange one end, in this order")
        func overSockets() async throws {
            let random = SeededRandom(seed: Soak.current.seed(for: "last events"))
            let server = try LoopbackServer { request in
                let large = Data(count: 300_000)
                return .bytes(large, status: request.target == "/missing" ? 404 : 200)
            }
            let events = EventRecorder()
            var settings = Service.Settings()
            settings.observers = [events]
            settings.retries.limit = 0
            let service = try Service(settings)
            let loader = service.anonymous.makeLoader()
            for _ in 0..<60 {
                let step = random.next() % 7
                var request = try Request(server.address(step == 0 ? "/missing" : "/thing"))
                if step != 1 { request = request.streamed }
                let asked = request
                let task = Task {
                    let response = try await loader.load(asked)
                    switch step {
                    case 2: response.body.cancel()
                    case 3:
                        var chunks = response.body.makeAsyncIterator()
                        _ = try await chunks.next()
                    case 4: break
                    default: _ = try await response.body.collect()
                    }
                }
                if step == 5 { task.cancel() }
                _ = await task.result
            }
            await service.shutDown()
            server.stop()

            let calls = Set(events.records.map(\.call))
            #expect(calls.count == 60)
            for call in calls {
                let story = events.events(of: call)
                let isLast = story.map { event in
                    switch event {
                    case .bodyFinished, .callFailed: true
                    default: false
                    }
                }
                #expect(isLast == Array(repeating: false, count: story.count - 1) + [true], "\(events.story(of: call))")
                let starts = story.count { if case .exchangeStarted = $0 { true } else { false } }
                let ends = story.count {
                    switch $0 {
                    case .exchangeFinished, .exchangeFailed: true
                    default: false
                    }
                }
                #expect(starts == ends, "\(events.story(of: call))")
            }
        }
    #endif
}
