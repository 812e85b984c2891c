/// Members that are removed in constant time by their slot, and listed in the order in which they joined.
struct Roster<Member> {
    /// Identifies a member from joining to leaving.
    struct Slot: Sendable, Hashable {
        fileprivate let index: Int
        /// Unique to each member, so that leaving twice does not remove another member that reuses the index.
        fileprivate let number: UInt64
    }

    private struct Entry {
        let number: UInt64
        let member: Member
    }

    private var joined: UInt64 = 0
    private var slots: [Entry?] = []
    private var free: [Int] = []

    /// The members in the order in which they joined, so that a run in virtual time is reproducible.
    var inOrder: [Member] { slots.compactMap { $0 }.sorted { $0.number < $1.number }.map { $0.member } }

    /// The number of slots, used and free: the largest number of members at one time.
    var slotCount: Int { slots.count }

    /// Adds a member.
    mutating func join(_ member: Member) -> Slot {
        joined += 1
        guard let index = free.popLast() else {
            slots.append(Entry(number: joined, member: member))
            return Slot(index: slots.count - 1, number: joined)
        }
        slots[index] = Entry(number: joined, member: member)
        return Slot(index: index, number: joined)
    }

    /// Removes and returns a member; nil when it has left before.
    mutating func leave(_ slot: Slot) -> Member? {
        guard let entry = slots[slot.index], entry.number == slot.number else { return nil }
        slots[slot.index] = nil
        free.append(slot.index)
        return entry.member
    }
}
