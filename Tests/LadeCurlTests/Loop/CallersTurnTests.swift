import Dispatch
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
    /// Notes in which thread each exchange was started, and in which the latest came to its end.
    private final class Threads: EventSink {
        private let starts = Locked<[pthread_t]>([])
        private let end = Locked<pthread_t?>(nil)

        func record(_ event: Event, of call: Call) {
            switch event {
            case .exchangeStarted: starts.withLock { $0.append(pthread_self()) }
            case .exchangeFinished, .exchangeFailed: end.withLock { $0 = pthread_self() }
            default: break
            }
        }

        /// Whether the latest exchange was started in the calling thread.
        var startedHere: Bool { Self.isHere(starts.withLock { $0.last }) }

        /// Whether the latest exchange came to its end in the calling thread.
        var endedHere: Bool { Self.isHere(end.withLock { $0 }) }

        /// Whether the latest exchange came to its end in the thread that started it.
        var endedWhereStarted: Bool {
            guard let start = starts.withLock({ $0.last }), let end = end.withLock({ $0 }) else { return false }
            return pthread_equal(start, end) != 0
        }

        /// How many exchanges were started by the thread that started the first one, that one included.
        var startsLikeFirst: Int {
            starts.withLock { starts in starts.filter { pthread_equal($0, starts[0]) != 0 }.count }
        }

        /// How many threads started one.
        var starterCount: Int { starts.withLock { Set($0).count } }

        private static func isHere(_ thread: pthread_t?) -> Bool {
            thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        }
    }

    /// Somebody whose calls have an actor.
    private actor Screen {
        func load(_ request: Request, with transport: CurlTransport, _ threads: Threads) async throws -> Response {
            try await transport.send(request, call: Call(events: [threads]))
        }
    }

    /// Runs what becomes ready at once in another thread, and holds up until then whoever made it ready.
    private final class HastyExecutor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let ran = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                job.runSynchronously(on: self.asUnownedTaskExecutor())
                ran.signal()
            }
            ran.wait()
        }
    }

    private let threads = Threads()
    private let executor = HeldExecutor()
    private let transport: CurlTransport
    /// Waits in its caller's thread for as long as a test may take, once four answers have come.
    private let patient: CurlTransport

    init() throws {
        var settings = TransportSettings()
        settings.proxy = .direct
        // Nothing wakes the loop by its time.
        settings.connections.idleLife = .seconds(3_600)
        settings.callerPatience = .zero
        transport = try CurlTransport(settings: settings)
        settings.callerPatience = .seconds(Int64.max)
        patient = try CurlTransport(settings: settings)
    }

    /// Sends requests one after the other until one was started right here, and returns that one.
    private func startedHere(
        _ request: Request,
        after each: (HeldTask<Response>) async -> Void
    ) async -> HeldTask<Response> {
        while true {
            let call = executor.start { [transport, threads] in
                try await transport.send(request, call: Call(events: [threads]))
            }
            if threads.startedHere { return call }
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

    @Test("who is answered by the loop finds it asleep, and sends his next request himself")
    func parting() async throws {
        let server = try server()
        // Starts in the loop's thread.
        _ = try await Screen().load(unlimited(server, "/"), with: transport, threads)

        try await Task(executorPreference: HastyExecutor()) { [transport, threads] in
            for _ in 0..<100 { _ = try await transport.send(unlimited(server, "/"), call: Call(events: [threads])) }
        }.value

        // One of libcurl's own times may have come up.
        #expect(threads.startsLikeFirst < 10)
        await transport.shutDown()
    }

    @Test("who calls from an actor leaves it to the loop's thread")
    func actors() async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        let screen = Screen()

        for _ in 0..<50 { _ = try await screen.load(server.request(), with: transport, threads) }

        #expect(threads.starterCount == 1)
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

    @Test("callers that come in each other's way are all answered once", arguments: [false, true])
    func crowd(waitsHere: Bool) async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        let request = try server.request()

        let answers = try await withThrowingTaskGroup(of: Int.self) {
            [transport = waitsHere ? patient : transport] group in
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

    @Test("a caller whose transport ends at the same time gets exactly one ending", arguments: [0, 600])
    func shutDown(patience: Int) async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        let request = try server.request()
        var settings = TransportSettings()
        settings.callerPatience = .seconds(patience)
        for _ in 0..<20 {
            let transport = try CurlTransport(settings: settings)
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

    // MARK: - Waiting in the caller's thread

    /// Answers at once, but for `/silent`, to which it never answers, `/signal`, where it waits to be told, and `/reset` and
    /// `/half`, where it breaks off.
    private func server(_ signal: Signal = Signal()) throws -> LoopbackServer {
        try LoopbackServer(serving: { connection in
            while true {
                let request = try connection.readRequest()
                if request.target == "/silent" { try connection.stall() }
                if request.target == "/reset" { try connection.reset() }
                if request.target == "/half" {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
                    try connection.close()
                }
                if request.target == "/signal" { try connection.wait(for: signal) }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        })
    }

    /// Sends requests one after the other until the next one's caller waits in its own thread.
    private func becomePrompt(_ request: Request) async {
        for count in 1... {
            let call = executor.start { [patient, threads] in
                try await patient.send(request, call: Call(events: [threads]))
            }
            // What ended here did so with the loop asleep, which it still is.
            if count > 4, call.result != nil, threads.endedHere { return }
            await end(of: call)
        }
    }

    /// A request that has all the time in the world.
    private func unlimited(_ server: LoopbackServer, _ path: String = "/silent") throws -> Request {
        var request = try server.request(.get, path)
        (request.timeouts.connect, request.timeouts.idle) = (nil, nil)
        return request
    }

    /// Sends a request from a thread of its own, and comes back once the server has it.
    private func waitsElsewhere(_ request: Request, for server: LoopbackServer) async throws -> HeldTask<Response> {
        let requests = server.requestCount
        let call = executor.prepare { [patient, threads] in
            try await patient.send(request, call: Call(events: [threads]))
        }
        DispatchQueue.global().async { [executor] in executor.run() }
        try await server.requests(atLeast: requests + 1)
        return call
    }

    /// A call that waits in a thread of its own for an answer that never comes.
    private func waitsForNothing() async throws -> (LoopbackServer, HeldTask<Response>) {
        let server = try server()
        await becomePrompt(try unlimited(server, "/"))
        return (server, try await waitsElsewhere(try unlimited(server), for: server))
    }

    @Test("who was answered promptly four times waits for the next answer in his own thread")
    func waiting() async throws {
        let signal = Signal()
        let server = try server(signal)
        await becomePrompt(try unlimited(server, "/"))

        let call = try await waitsElsewhere(try unlimited(server, "/signal"), for: server)
        signal.raise()
        await end(of: call)

        #expect(call.value?.status == 200)
        #expect(threads.endedWhereStarted)
        await patient.shutDown()
    }

    @Test("streamed answers, which nobody waits for here, do not make a host less prompt")
    func streams() async throws {
        let signal = Signal()
        let server = try server(signal)
        await becomePrompt(try unlimited(server, "/"))
        var streamed = try unlimited(server, "/")
        streamed.delivery = .streamed
        for _ in 0..<8 {
            let response = try await patient.send(streamed, call: Call())
            _ = try await response.body.collect(limit: 2)
        }
        await end(of: executor.start { [patient] in try await patient.send(unlimited(server, "/"), call: Call()) })

        let call = try await waitsElsewhere(try unlimited(server, "/signal"), for: server)
        signal.raise()
        await end(of: call)

        #expect(threads.endedWhereStarted)
        await patient.shutDown()
    }

    @Test("nobody waits in his own thread where patience is zero")
    func impatience() async throws {
        let server = try server()
        for _ in 0..<10 {
            await end(of: startedHere(try unlimited(server, "/"), after: end))
        }

        // Would not come back from here.
        let call = await startedHere(try unlimited(server)) { call in
            call.cancel()
            await end(of: call)
        }
        call.cancel()
        await end(of: call)

        #expect(call.error?.isCancellation == true)
        await transport.shutDown()
    }

    @Test(
        "a server that breaks off ends the wait in a caller's thread once and with an error",
        arguments: [("/reset", 2), ("/half", 1)]
    )
    func breakingOff(path: String, sendings: Int) async throws {
        let server = try server()
        await becomePrompt(try unlimited(server, "/"))
        let before = server.requestCount

        let call = executor.start { [patient] in try await patient.send(unlimited(server, path), call: Call()) }
        await end(of: call)
        let next = executor.start { [patient] in try await patient.send(unlimited(server, "/"), call: Call()) }
        await end(of: next)

        #expect(call.error?.isCancellation == false)
        // What got no byte of an answer is sent once more, over another connection.
        #expect(server.requestCount == before + sendings + 1)
        #expect(next.value?.status == 200)
        await patient.shutDown()
    }

    @Test("another call ends the wait in a caller's thread and is answered first")
    func interrupted() async throws {
        let (server, call) = try await waitsForNothing()

        let other = try await patient.send(server.request(), call: Call())

        #expect(other.status == 200)
        #expect(call.result == nil)
        call.cancel()
        await end(of: call)
        #expect(call.error?.isCancellation == true)
        await patient.shutDown()
    }

    @Test("who waits in his own thread can give up")
    func givingUp() async throws {
        let (server, call) = try await waitsForNothing()

        call.cancel()
        await end(of: call)

        #expect(call.error?.isCancellation == true)
        try await server.open(atMost: 0)
        await patient.shutDown()
    }

    @Test("the end of the transport ends the wait in a caller's thread")
    func endOfTransport() async throws {
        let (server, call) = try await waitsForNothing()

        await patient.shutDown()
        await end(of: call)

        #expect(call.error?.isCancellation == true)
        try await server.open(atMost: 0)
    }

    @Test("a time-out ends the wait in a caller's thread")
    func timeOutMeanwhile() async throws {
        let server = try server()
        await becomePrompt(try unlimited(server, "/"))
        var request = try server.request(.get, "/silent")
        request.timeouts.idle = .milliseconds(5)

        let call = try await waitsElsewhere(request, for: server)
        await end(of: call)

        guard case .timedOut(.idle, _) = call.error else {
            Issue.record("\(String(describing: call.result))")
            return
        }
        await patient.shutDown()
    }
}
