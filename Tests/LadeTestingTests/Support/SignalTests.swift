#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import Testing

@testable import LadeTesting

@Suite("The signal of a script", .timeLimit(.minutes(5)))
struct SignalTests {
    private let signal = Signal()

    /// Waits in a number of tasks; returns when all of them wait for the signal, in order.
    private func wait(_ count: Int, _ passed: Watched<[Int]>) async throws -> [Task<Void, any Error>] {
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<count {
            let arrivals = signal.arrivals
            tasks.append(
                Task { [signal] in
                    try await signal.wait()
                    passed.change { $0.append(number) }
                }
            )
            try await signal.arrivals(atLeast: arrivals + 1)
        }
        return tasks
    }

    @Test("ends every wait once it is raised, including later ones")
    func raises() async throws {
        let passed = Watched<[Int]>([])
        let tasks = try await wait(3, passed)
        #expect(!signal.isRaised)
        #expect(passed.read(\.self) == [])

        signal.raise()
        for task in tasks { try await task.value }
        try await signal.wait()
        signal.waitOnThread()

        #expect(signal.isRaised)
        #expect(passed.read(\.self.count) == 3)
        #expect(signal.arrivals == 5)
    }

    @Test("lets as many pass as there were steps, one each, in order of arrival")
    func steps() async throws {
        let passed = Watched<[Int]>([])
        let tasks = try await wait(3, passed)

        signal.step(2)
        // A wait that has ended cannot be cancelled any more.
        for task in tasks { task.cancel() }

        try await tasks[0].value
        try await tasks[1].value
        await #expect(throws: LoadingError.self) { try await tasks[2].value }
        #expect(passed.read(\.self).sorted() == [0, 1])
    }

    @Test("keeps steps for later waits, and is not raised by them")
    func keepsSteps() async throws {
        signal.step(2)
        try await signal.wait()
        signal.waitOnThread()

        let task = try await wait(1, Watched([]))[0]
        task.cancel()
        await #expect(throws: LoadingError.self) { try await task.value }
        #expect(!signal.isRaised)
    }

    @Test("throws when the task is cancelled, before and while it waits, and keeps the step for another")
    func cancels() async throws {
        let waiting = try await wait(1, Watched([]))[0]
        waiting.cancel()
        await #expect(throws: LoadingError.self) { try await waiting.value }
        signal.step()
        let early = Task { [signal] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await signal.wait()
        }
        await #expect(throws: LoadingError.self) { try await early.value }

        try await signal.wait()
        let late = Task { [signal] in try await signal.arrivals(atLeast: 100) }
        late.cancel()
        await #expect(throws: LoadingError.self) { try await late.value }
    }

    @Test("blocks threads too, and lets them go when they are to stop")
    func blocksThreads() async throws {
        let outcomes = Watched<[Bool]>([])
        let isStopped = Locked(false)
        func start() async throws {
            let arrivals = signal.arrivals
            Threads.start("signal") { [signal] in
                let hasPassed = signal.block { isStopped.withLock { $0 } }
                outcomes.change { $0.append(hasPassed) }
            }
            try await signal.arrivals(atLeast: arrivals + 1)
        }
        try await start()
        try await start()
        signal.poke()
        #expect(outcomes.read(\.self) == [])

        signal.step()
        try await outcomes.value { $0.count == 1 ? () : nil }
        isStopped.withLock { $0 = true }
        signal.poke()
        try await outcomes.value { $0.count == 2 ? () : nil }

        #expect(outcomes.read(\.self) == [true, false])
    }
}
