import LadeCore
import LadeTesting
import Testing

@testable import LadeWire

@Suite("Due times and budgets", .timeLimit(.minutes(5)))
struct DueQueueTests {
    private final class Element: Due {
        var due = Int64.max
        var queuedDue = Int64.max
    }

    @Test("the next time is the least of all due times, however they move", arguments: 1...20)
    func least(seed: Int) {
        let random = SeededRandom(seed: UInt64(seed))
        let elements = (0..<20).map { _ in Element() }
        var queue = DueQueue<Element>()
        for _ in 0..<2_000 {
            let element = elements[Int(random.next() % 20)]
            element.due = random.next() % 5 == 0 ? .max : Int64(random.next() % 1_000)
            queue.moved(element)
            let least = elements.map(\.due).min()
            #expect(queue.next == least, "seed \(seed)")
            guard random.next() % 4 == 0, let now = least, now < .max else { continue }
            let popped = queue.popFirst(until: now)
            #expect(popped?.due == now, "seed \(seed)")
            popped?.due = .max
        }
        #expect(queue.count < 2_100)
    }

    @Test("a later time costs no entry")
    func lazy() {
        let element = Element()
        var queue = DueQueue<Element>()
        for moment in 1...1_000 {
            element.due = Int64(moment)
            queue.moved(element)
        }
        #expect(queue.count == 1)
        #expect(queue.next == 1_000)
        #expect(queue.popFirst(until: 999) == nil)
        #expect(queue.popFirst(until: 1_000) === element)
    }

    @Test(
        "a connection's share of a turn is 512 KiB of input by the ready connections, 64 KiB at least",
        arguments: [(1, 512), (2, 256), (8, 64), (100, 64), (0, 512)]
    )
    func shares(connections: Int, kibibytes: Int) {
        var budget = TurnBudget(readyConnections: connections)
        #expect(budget.receivable == kibibytes << 10)
        budget.received(1 << 10)
        #expect(budget.receivable == (kibibytes - 1) << 10)
        budget.received(1 << 30)
        #expect(budget.receivable == 0)
        #expect(budget.sendable == 192 << 10)
        budget.sent(1 << 30)
        #expect(budget.sendable == 0)
    }
}
