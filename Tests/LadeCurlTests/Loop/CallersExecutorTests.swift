import Dispatch
import LadeCore
import LadeTesting
import Testing

@testable import LadeCurl

@Suite("The executor of the caller", .timeLimit(.minutes(5)))
struct CallersExecutorTests {
    /// Runs one job at a time, and reports whether the calling thread runs one.
    private final class NarrowExecutor: TaskExecutor {
        private let queue = DispatchQueue(label: "narrow")
        private let key = DispatchSpecificKey<Bool>()

        init() {
            queue.setSpecific(key: key, value: true)
        }

        var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    /// Counts the events of exchanges, and those that were recorded by the caller's executor.
    private final class ExecutorCounts: Call.Observer {
        private let executor: NarrowExecutor
        private let counts = Locked((all: 0, here: 0))

        init(_ executor: NarrowExecutor) {
            self.executor = executor
        }

        var all: Int { counts.withLock { $0.all } }
        var here: Int { counts.withLock { $0.here } }

        func record(_ event: Call.Event, of call: Call) {
            switch event {
            case .exchangeStarted, .exchangeFinished, .exchangeFailed:
                counts.withLock { counts in
                    counts.all += 1
                    counts.here += executor.isCurrent ? 1 : 0
                }
            default: break
            }
        }
    }

    private let executor = NarrowExecutor()

    private func transport(perHost: Int = 6) throws -> CurlTransport {
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.connections.perHost = perHost
        return try CurlTransport(settings: settings)
    }

    @Test("the executor of a transport is the transport's own thread")
    func ownThread() async throws {
        let transport = try transport()
        let other = try self.transport()
        func isThread(of observed: CurlTransport, on executor: any TaskExecutor) async -> Bool {
            await Task(executorPreference: executor) { observed.loop.isCurrentThread }.value
        }

        #expect(await isThread(of: transport, on: transport.executor))
        #expect(await !isThread(of: transport, on: other.executor))
        #expect(await !isThread(of: transport, on: executor))
    }

    @Test("finding FT-2 no part of an exchange runs in a thread of the caller's executor")
    func elsewhere() async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        let transport = try transport()
        let places = ExecutorCounts(executor)

        try await Task(executorPreference: executor) {
            for _ in 0..<50 { _ = try await transport.send(server.request(), call: Call(events: [places])) }
        }.value

        #expect(places.all == 100)
        #expect(places.here == 0)
        await transport.shutDown()
    }

    @Test("finding FT-2 all calls of an executor with one thread are in flight before the first answer comes")
    func inFlight() async throws {
        let signal = Signal()
        let server = try LoopbackServer { connection in
            while true {
                let request = try connection.readRequest()
                if request.path == "/together" { try connection.wait(for: signal) }
                try connection.respond(.text("ok"))
            }
        }
        let transport = try transport(perHost: 64)
        // The host has answered promptly before.
        for _ in 0..<20 { _ = try await transport.send(server.request(), call: Call()) }
        let answers = Task(executorPreference: executor) {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<64 {
                    group.addTask {
                        try await transport.send(server.request(.get, "/together"), call: Call()).status.code
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }

        try await server.requests(atLeast: 84)
        signal.raise()

        #expect(try await answers.value == Array(repeating: 200, count: 64))
        await transport.shutDown()
    }

    @Test("calls that are made at the same time are all answered once")
    func crowd() async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        let request = try server.request()
        let transport = try transport()

        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
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

    @Test("a call whose transport ends at the same time has exactly one ending")
    func shutDown() async throws {
        let server = try LoopbackServer { _ in .text("ok") }
        let request = try server.request()
        for _ in 0..<20 {
            let transport = try transport()
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
