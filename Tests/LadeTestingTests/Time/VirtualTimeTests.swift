#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting
import Testing

@Suite("Virtual time", .timeLimit(.minutes(5)))
struct VirtualTimeTests {
    @Test("stands still until it is moved, and the date moves with it")
    func standsStill() {
        let time = VirtualTime()

        time.advance(by: .seconds(90))

        #expect(time.now == Instant(nanoseconds: 90_000_000_000))
        #expect(time.date == VirtualTime.defaultDate.addingTimeInterval(90))
    }

    @Test("shows the next sleeper and wakes it at its deadline, not before")
    func wakesAtDeadline() async throws {
        let time = VirtualTime()
        async let slept: Void = time.sleep(for: .seconds(3))

        let sleeper = try await time.nextSleeper()
        time.advance(by: .seconds(2))
        let stillThere = time.sleepers
        time.advance(by: .seconds(1))
        try await slept

        #expect(sleeper.remaining == .seconds(3))
        #expect(stillThere == [sleeper])
        #expect(time.sleepers.isEmpty)
    }

    @Test("orders sleepers by deadline, then by arrival")
    func ordersSleepers() async throws {
        let time = VirtualTime()
        let order = Locked<[Int]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (count, seconds) in [5, 1, 3, 1].enumerated() {
                group.addTask { try await time.sleep(for: .seconds(seconds)) }
                _ = try await time.sleepers(atLeast: count + 1)
            }
            for sleeper in time.sleepers { order.withLock { $0.append(sleeper.number) } }
            time.advance(by: .seconds(5))
            try await group.waitForAll()
        }
        #expect(order.withLock { $0 } == [2, 4, 3, 1])
    }

    @Test("resumes a cancelled sleeper immediately")
    func cancels() async throws {
        let time = VirtualTime()
        let task = Task { try await time.sleep(for: .seconds(3)) }
        _ = try await time.nextSleeper()

        task.cancel()

        await #expect(throws: LoadingError.self) { try await task.value }
        #expect(time.sleepers.isEmpty)
    }

    @Test("lets a task that is cancelled already not sleep at all")
    func refusesCancelled() async {
        let time = VirtualTime()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await time.sleep(for: .zero)
        }
        await #expect(throws: LoadingError.self) { try await task.value }
    }

    @Test("reports once, after 10 s of real time without a change, which tasks sleep", arguments: [true, false])
    func standstill(hasSleeper: Bool) async throws {
        let clock = VirtualTime()
        let lines = Locked<[String]>([])
        let time = VirtualTime(watchedBy: clock) { line in lines.withLock { $0.append(line) } }
        time.advance(by: .seconds(1))
        let waiting = Task {
            if hasSleeper { try await time.sleep(for: .seconds(3)) } else { _ = try await time.nextSleeper() }
        }

        let look = try await clock.advanceToNextSleeper()
        for _ in 0..<3 { try await clock.advanceToNextSleeper() }
        _ = try await clock.nextSleeper()

        #expect(look.remaining == .seconds(10))
        let line = try #require(lines.withLock(\.self).first)
        #expect(lines.withLock(\.count) == 1)
        #expect(line.contains("Asleep at 1.0 s: sleep 1 ends in 3.0 s.") == hasSleeper)
        #expect(line.contains("The test waits for a task that sleeps, and none does.") == !hasSleeper)
        waiting.cancel()
        _ = await waiting.result
    }

    @Test("runs hours of waits by itself, each at its own deadline")
    func runsAutomatically() async throws {
        let time = VirtualTime()
        let log = Locked<[String]>([])
        try await time.runAutomatically {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (name, minutes) in [("a", 7), ("b", 11)] {
                    group.addTask {
                        for _ in 0..<60 {
                            try await time.sleep(for: .seconds(minutes * 60))
                            log.withLock { $0.append("\(name)\(time.now.nanoseconds / 60_000_000_000)") }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(time.now == Instant(nanoseconds: 660 * 60_000_000_000))
        #expect(log.withLock { $0.prefix(6) } == ["a7", "b11", "a14", "a21", "b22", "a28"])
    }

    @Test("runs ten thousand sleepers in order")
    func manySleepers() async throws {
        let time = VirtualTime()
        let random = SeededRandom(seed: 1)
        let woken = Locked<[Instant]>([])
        try await time.runAutomatically {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<10_000 {
                    let duration = random.duration(below: .seconds(86_400))
                    group.addTask {
                        try await time.sleep(for: duration)
                        woken.withLock { $0.append(time.now) }
                    }
                }
                try await group.waitForAll()
            }
        }
        let instants = woken.withLock { $0 }
        #expect(instants.count == 10_000)
        #expect(instants == instants.sorted())
    }

    @Test("finding FQ-26 an automatic run takes its steps one after the other, the first included")
    func oneStepAtATime() async throws {
        for _ in 0..<200 {
            let time = VirtualTime()
            let (steps, inside) = (Locked(0), Locked(0))
            await time.runAutomatically(beforeEachStep: { _ in
                steps.withLock { $0 += 1 }
                // Between two steps nothing of the body runs.
                #expect(inside.withLock { $0 } == 0)
            }) {
                inside.withLock { $0 += 1 }
                let before = steps.withLock { $0 }
                let children = (0..<4).map { _ in
                    Task(executorPreference: TaskExecutors.current) {
                        inside.withLock { $0 += 1 }
                        inside.withLock { $0 -= 1 }
                        // The test itself runs it so that it cannot be cancelled.
                        try? await time.sleep(for: .seconds(1))
                    }
                }
                #expect(steps.withLock { $0 } == before)
                inside.withLock { $0 -= 1 }
                for child in children { await child.value }
                #expect(steps.withLock { $0 } > before)
            }
            #expect(time.now == Instant(nanoseconds: 1_000_000_000))
        }
    }

    @Test("rethrows what the body throws")
    func throwsOn() async {
        struct Failure: Error {}
        await #expect(throws: Failure.self) {
            try await VirtualTime().runAutomatically { () throws(Failure) in throw Failure() }
        }
    }
}
