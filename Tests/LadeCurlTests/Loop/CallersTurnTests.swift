import LadeCore
import LadeTesting
import Testing

@testable import LadeCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("A caller's turn at the loop", .timeLimit(.minutes(5)))
struct CallersTurnTests {
    /// Notes in which thread each exchange was started.
    private final class Starts: EventSink {
        private let threads = Locked<[pthread_t]>([])

        func record(_ event: Event, of call: Call) {
            if case .exchangeStarted = event { threads.withLock { $0.append(pthread_self()) } }
        }

        /// Whether the last one was started in the calling thread.
        var isOwn: Bool { threads.withLock { $0.last.map { pthread_equal($0, pthread_self()) != 0 } ?? false } }

        /// How many threads started one.
        var threadCount: Int { threads.withLock { Set($0).count } }
    }

    /// Somebody whose calls have an actor.
    private actor Screen {
        func load(_ request: Request, with transport: CurlTransport, _ starts: Starts) async throws -> Response {
            try await transport.send(request, call: Call(events: [starts]))
        }
    }

    private let starts = Starts()
    private let executor = HeldExecutor()
    private let transport: CurlTransport

    init() throws {
        var settings = TransportSettings()
        settings.proxy = .direct
        transport = try CurlTransport(settings: settings)
    }

    /// Sends requests one after the other until one was started right here, and returns that one.
    private func startedHere(
        _ request: Request,
        after each: (HeldTask<Response>) async -> Void
    ) async -> HeldTask<Response> {
        while true {
            let call = executor.start { [transport, starts] in
                try await transport.send(request, call: Call(events: [starts]))
            }
            if starts.isOwn { return call }
            // The loop was awake. It goes to sleep when nothing is under way.
            await each(call)
        }
    }

    private func end(of call: HeldTask<Response>) async {
        while call.result == nil {
            executor.run()
            await Task.yield()
        }
    }

    @Test("a request is sent in its caller's thread while the loop sleeps")
    func here() async throws {
        let server = try LoopbackServer { _ in .text("ok") }

        let call = await startedHere(try server.request(), after: end)
        await end(of: call)

        #expect(call.value?.status == 200)
        await transport.shutDown()
    }

    @Test("who calls from an actor leaves it to the loop's thread")
    func actors() async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        let screen = Screen()

        for _ in 0..<50 { _ = try await screen.load(server.request(), with: transport, starts) }

        #expect(starts.threadCount == 1)
        await transport.shutDown()
    }

    @Test("a time-out that ends before the loop would wake by itself is kept")
    func timeOut() async throws {
        let server = try LoopbackServer(script: [.readRequest, .stall])
        var request = try server.request()
        request.timeouts.idle = .milliseconds(5)

        let call = await startedHere(request, after: end)
        await end(of: call)

        guard case .timedOut(.idle, _) = call.error else {
            Issue.record("\(String(describing: call.result))")
            return
        }
        await transport.shutDown()
    }

    @Test("an exchange that was started in its caller's thread is given up as any other")
    func cancelling() async throws {
        let server = try LoopbackServer(script: [.readRequest, .stall])

        let call = await startedHere(try server.request()) { call in
            call.cancel()
            await end(of: call)
        }
        call.cancel()
        await end(of: call)

        #expect(call.error?.isCancellation == true)
        try await server.open(atMost: 0)
        await transport.shutDown()
    }

    @Test("callers that come in each other's way are all answered once")
    func crowd() async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        let request = try server.request()

        let answers = try await withThrowingTaskGroup(of: Int.self) { [transport] group in
            for size in 1...4 {
                group.addTask {
                    var answers = 0
                    for _ in 0..<(100 * size) {
                        answers += try await transport.send(request, call: Call()).status == 200 ? 1 : 0
                    }
                    return answers
                }
            }
            return try await group.reduce(0, +)
        }

        #expect(answers == 1_000)
        #expect(server.requestCount == 1_000)
        await transport.shutDown()
    }

    @Test("a caller whose transport ends at the same time gets exactly one ending")
    func shutDown() async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        let request = try server.request()
        for _ in 0..<20 {
            let transport = try CurlTransport()
            let ended = Locked(0)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        while (try? await transport.send(request, call: Call()))?.status == 200 {}
                        ended.withLock { $0 += 1 }
                    }
                }
                _ = try? await transport.send(request, call: Call())
                await transport.shutDown()
            }
            #expect(ended.withLock { $0 } == 3)
        }
    }
}
