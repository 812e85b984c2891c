import Foundation
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

@Suite("Waiters", .timeLimit(.minutes(5)))
struct WaiterTests {
    /// What happens to a waiter, in any order.
    enum Event: String, CaseIterable {
        case wait, resume, deadline, cancel
    }

    /// Every order of every choice of events that has an end.
    private static let orders: [[Event]] = {
        func orders(of events: [Event]) -> [[Event]] {
            [[]] + events.flatMap { first in orders(of: events.filter { $0 != first }).map { [first] + $0 } }
        }
        return orders(of: Event.allCases).filter { order in order.contains { $0 != .wait } }
    }()

    @Test("the first end counts, before the wait or during it, and its task is resumed once", arguments: orders)
    func order(_ order: [Event]) async {
        var waiter = Waiter<Event>()
        var wakes: [Int: Waiter<Event>.Wake] = [:]
        let ends = order.filter { $0 != .wait }

        /// Feeds all events; the resumption is nil where none of them is the wait.
        func feed(_ resumption: Resumption<Event>?) {
            for (index, event) in order.enumerated() {
                let wake =
                    if event == .wait, let resumption { waiter.wait(resumption) } else { waiter.end(event) }
                wakes[index] = wake
                #expect(waiter.hasEnded == order[...index].contains { $0 != .wait })
                #expect(waiter.isSuspended == (order[...index].contains(.wait) && !waiter.hasEnded))
            }
        }
        guard let wait = order.firstIndex(of: .wait) else {
            feed(nil)
            #expect(wakes.isEmpty)
            return
        }
        let outcome = await withResumption { resumption in
            feed(resumption)
            for wake in wakes.values { wake.resume() }
        }

        #expect(outcome == ends.first)
        // Resumed by the later of the wait and the first end.
        #expect(Array(wakes.keys) == [wait == 0 ? 1 : wait])
    }

    @Test("a call's wait ends by its resumption, its deadline, its task and its scope, whichever comes first")
    func call() async throws {
        enum End: CaseIterable { case resumed, resumedBefore, deadline, task, taskBefore, scope, scopeBefore }
        for end in End.allCases {
            let time = VirtualTime()
            var call = Call(time: time)
            let scope = Call.Scope()
            call.scope = scope
            let deadline = time.now.advanced(by: .seconds(3))
            let waiter = Locked(Waiter<String>())
            let entered = Signal()
            if end == .resumedBefore { waiter.end("resumed") }
            if end == .scopeBefore { scope.cancel() }
            let task = Task { [call] in
                if end == .taskBefore { withUnsafeCurrentTask { $0?.cancel() } }
                return await Waiter<String>.outcome(of: call, until: deadline) { resumption in
                    defer { entered.raise() }
                    return waiter.withLock { $0.wait(resumption) }
                } cancel: {
                    waiter.end("cancelled")
                } expire: {
                    waiter.end("late")
                }
            }
            try await entered.wait()
            switch end {
            case .resumed: waiter.end("resumed")
            case .deadline: _ = try await time.advanceToNextSleeper()
            case .task: task.cancel()
            case .scope: scope.cancel()
            case .resumedBefore, .taskBefore, .scopeBefore: break
            }

            let outcome = await task.value

            switch end {
            case .resumed, .resumedBefore: #expect(outcome == "resumed", "\(end)")
            case .deadline: #expect(outcome == "late", "\(end)")
            default: #expect(outcome == "cancelled", "\(end)")
            }
            #expect(time.sleepers.isEmpty, "\(end) leaves its timer")
        }
    }

    @Test("ends that race from many threads resume each task once, with one of them")
    func race() async {
        for _ in 0..<300 {
            let waiter = Locked(Waiter<Int>())
            let outcome = await withTaskGroup(of: Int?.self) { group in
                for end in 1...3 {
                    group.addTask {
                        waiter.end(end)
                        return nil
                    }
                }
                group.addTask { await waiter.outcome(whenCancelled: 0) }
                group.cancelAll()
                var outcome: Int?
                for await value in group { outcome = value ?? outcome }
                return outcome
            }
            #expect(outcome.map { (0...3).contains($0) } == true)
        }
    }

    #if DEBUG && !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
        @Test("a second lock that is taken while one is held ends a debug build")
        func secondLock() async {
            await #expect(processExitsWith: .failure) {
                let (outer, inner) = (Locked(1), Locked(2))
                outer.withLock { outer in outer += inner.withLock(\.self) }
            }
            await #expect(processExitsWith: .success) {
                let (first, second) = (Locked(1), Locked(2))
                let value = first.withLock(\.self)
                second.withLock { $0 += value }
            }
        }
    #endif
}
