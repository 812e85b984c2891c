import Testing

@testable import LadeCore

@Suite(.timeLimit(.minutes(5)))
struct SleepersTests {
    @Test("sleepers are woken in order of deadline, and not before it")
    func order() async {
        let sleepers = Sleepers()
        let start = SystemTime().now
        let order = await withTaskGroup(of: Int64.self, returning: [Int64].self) { group in
            for milliseconds in [30, 10, 20, 1] as [Int64] {
                group.addTask {
                    let deadline = start.advanced(by: .milliseconds(milliseconds))
                    #expect(await sleepers.sleep(until: deadline))
                    #expect(SystemTime().now >= deadline)
                    return milliseconds
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(order) == [1, 10, 20, 30])
        #expect(sleepers.state.withLock { $0.count } == 0)
    }

    @Test("a deadline in the past is reached immediately")
    func past() async {
        #expect(await Sleepers().sleep(until: Instant(nanoseconds: 0)))
    }

    @Test("a cancelled sleep ends immediately and keeps almost no memory")
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    func cancelling() async {
        let sleepers = Sleepers()
        let far = SystemTime().now.advanced(by: .seconds(3_600))
        for _ in 0..<1_000 {
            let task = Task.immediate { await sleepers.sleep(until: far) }
            task.cancel()
            #expect(await task.value == false)
        }
        #expect(sleepers.state.withLock { $0.count } <= 64)
    }

    @Test("a task that comes cancelled does not sleep")
    func cancelledBefore() async {
        let sleepers = Sleepers()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await sleepers.sleep(until: SystemTime().now.advanced(by: .seconds(3_600)))
        }
        #expect(await task.value == false)
    }

    @Test("many sleepers with many deadlines all wake, some cancelled between them")
    func many() async {
        let sleepers = Sleepers()
        let random = SeededRandom(seed: 7)
        let start = SystemTime().now
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<500 {
                let deadline = start.advanced(by: random.duration(below: .milliseconds(20)))
                group.addTask {
                    let task = Task { await sleepers.sleep(until: deadline) }
                    if number % 3 == 0 { task.cancel() }
                    return await task.value || number % 3 == 0
                }
            }
            #expect(await group.allSatisfy { $0 })
        }
        #expect(sleepers.state.withLock { $0.count } <= 64)
    }
}
