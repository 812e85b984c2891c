import LadeCore
import LadeTesting
import Testing

@testable import Lade

@Suite("Rosters", .timeLimit(.minutes(5)))
struct RosterTests {
    @Test("lists its members in the order they joined, and returns the member that leaves")
    func order() {
        var roster = Roster<String>()
        let slots = ["c", "a", "b", "d"].map { roster.join($0) }

        let first = roster.leave(slots[1])
        let again = roster.leave(slots[1])
        _ = roster.join("e")

        #expect(first == "a")
        #expect(again == nil)
        #expect(roster.inOrder == ["c", "b", "d", "e"])
        #expect(roster.slotCount == 4)
    }

    @Test("a slot that was released removes no later member of the same index")
    func ignoresOldSeats() {
        var roster = Roster<String>()
        let old = roster.join("a")
        _ = roster.leave(old)
        _ = roster.join("b")

        let taken = roster.leave(old)

        #expect(taken == nil)
        #expect(roster.inOrder == ["b"])
    }

    @Test("service D-39 finds a call amongst 16,000 in flight by its place, and keeps no more places than calls")
    func findsCalls() {
        let random = SeededRandom(seed: 39)
        var roster = Roster<Int>()
        var slots = (0..<16_000).map { roster.join($0) }

        for round in 1...40_000 {
            let index = Int(random.next() % 16_000)
            let left = roster.leave(slots[index])
            #expect(left.map { $0 % 16_000 } == index)
            slots[index] = roster.join(index + round * 16_000)
        }

        #expect(roster.slotCount == 16_000)
        #expect(roster.inOrder.count == 16_000)
        #expect(roster.inOrder.map { $0 / 16_000 } == roster.inOrder.map { $0 / 16_000 }.sorted())
    }
}
