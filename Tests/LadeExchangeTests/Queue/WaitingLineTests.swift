import LadeCore
import Testing

@testable import LadeExchange

@Suite("Lines and queues of the loop", .timeLimit(.minutes(5)))
struct WaitingLineTests {
    @Test(
        "a line gives what a plain array gives, whatever is appended, prepended, removed and taken",
        arguments: 1...10
    )
    func behavesLikeAnArray(seed: Int) {
        let random = SeededRandom(seed: UInt64(seed))
        var line = WaitingLine<Int>()
        var plain: [(number: Int, element: Int)] = []
        for element in 0..<3_000 {
            switch random.next() % 5 {
            case 0: plain.insert((line.prepend(element), element), at: 0)
            case 1, 2: plain.append((line.append(element), element))
            case 3:
                if let entry = plain.randomElement(using: random) {
                    line.remove(entry.number)
                    // Twice is harmless.
                    line.remove(entry.number)
                    plain.removeAll { $0.number == entry.number }
                }
            default:
                #expect(line.popFirst() == (plain.isEmpty ? nil : plain.removeFirst().element), "seed \(seed)")
            }
            #expect(line.count == plain.count, "seed \(seed)")
            #expect(line.first == plain.first?.element, "seed \(seed)")
        }
    }

    @Test("finding FT-15 a line that is never empty keeps no more than twice what waits")
    func shrinks() {
        var line = WaitingLine<Int>()
        line.append(0)
        for number in 1...100_000 {
            line.append(number)
            #expect(line.popFirst() == number - 1)
        }
        #expect(line.places < 200)
    }

    @Test("a queue of moments gives the earliest first, those that have come only", arguments: 1...10)
    func expires(seed: Int) {
        let random = SeededRandom(seed: UInt64(seed))
        var queue = ExpiryQueue()
        let moments = (0..<500).map { _ in Int64(random.next() % 1_000) }
        for (number, moment) in moments.enumerated() { queue.insert(.numbered(number), at: moment) }
        let gone = Set((0..<400).filter { $0 % 2 == 0 })
        for _ in gone { queue.noteDeparture { !gone.contains($0.number) } }

        var taken: [Int] = []
        while let exchange = queue.popFirst(until: 499) { taken.append(exchange.number) }

        #expect(taken.map { moments[$0] } == taken.map { moments[$0] }.sorted())
        #expect(Set(taken).subtracting(gone) == Set(moments.indices.filter { moments[$0] < 500 }).subtracting(gone))
        #expect(queue.first.map { $0 >= 500 } == true)
    }

    @Test("a queue of moments forgets what departs long before its moment")
    func forgets() {
        var queue = ExpiryQueue()
        let exchange = Exchange.numbered(0)
        for _ in 0..<100_000 {
            queue.insert(exchange, at: .max)
            queue.noteDeparture { _ in false }
        }
        #expect(queue.count < 200)
    }
}

extension Array {
    fileprivate func randomElement(using random: SeededRandom) -> Element? {
        isEmpty ? nil : self[Int(random.next() % UInt64(count))]
    }
}
