import LadeCore
import Testing
import TransportDoubles

@testable import LadeExchange

@Suite("Delivery of the loop's answers", .timeLimit(.minutes(5)))
struct DeliveryTests {
    @Test(
        "gives each class of priority a lane of its own",
        arguments: [
            (TaskPriority.high, Delivery.Lane.high), (.medium, .medium), (.low, .low), (.background, .background),
        ]
    )
    func lanes(priority: TaskPriority, lane: Delivery.Lane) async {
        // Not awaited: that would raise its priority to the test's.
        let found = await withCheckedContinuation { continuation in
            Task.detached(priority: priority) {
                continuation.resume(returning: Delivery.Lane.current(isolation: nil, isOnLoop: false))
            }
        }
        #expect(found == lane)
        #expect(Delivery.Lane.priorities[lane.rawValue] == priority)
    }

    @MainActor
    @Test("leaves tasks on an actor, or on the loop itself, to the loop")
    func directLane() {
        #expect(Delivery.Lane.current(isolation: MainActor.shared, isOnLoop: false) == .direct)
        #expect(Delivery.Lane.current(isolation: nil, isOnLoop: true) == .direct)
    }

    @Test("resumes a single task immediately, without another in between")
    func resumesOne() {
        let delivery = Delivery(priority: .medium)
        let executor = HeldExecutor()
        let waiters = Locked<[LoopWaiter]>([])
        let task = executor.start { await withResumption { waiter in waiters.withLock { $0.append(waiter) } } }
        var list = waiters.withLock { $0 }
        #expect(list.count == 1)
        #expect(task.result == nil)

        delivery.take(&list)
        executor.run()

        #expect(task.value != nil)
        #expect(list.isEmpty)
    }

    @Test("resumes every task of batch after batch, also when it ends immediately", .timeLimit(.minutes(5)))
    func resumesMany() async {
        let delivery = Delivery(priority: .medium)
        for _ in 0..<4 { await handOver(50, to: delivery) }
        await handOver(50, to: delivery) { delivery.end() }
    }

    @Test("resumes tasks that are handed over after its end", .timeLimit(.minutes(5)))
    func resumesTheLate() async {
        let delivery = Delivery(priority: .medium)
        delivery.end()
        await handOver(3, to: delivery)
    }

    /// Lets so many tasks wait and hands them over together; returns when all have continued.
    private func handOver(
        _ count: Int,
        to delivery: Delivery,
        then finish: @escaping @Sendable () -> Void = {}
    ) async {
        let waiters = Locked<[LoopWaiter]>([])
        await withTaskGroup { group in
            for _ in 0..<count {
                group.addTask {
                    await withResumption { waiter in
                        // The last to come hands all of them over, itself included.
                        var batch = waiters.withLock { waiters -> [LoopWaiter] in
                            waiters.append(waiter)
                            return waiters.count == count ? waiters : []
                        }
                        guard !batch.isEmpty else { return }
                        delivery.take(&batch)
                        #expect(batch.isEmpty)
                        finish()
                    }
                }
            }
        }
    }
}
