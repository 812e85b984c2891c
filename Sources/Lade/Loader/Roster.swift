/// Members that leave by the seat they were given, whatever their number, and are listed in the order they joined.
struct Roster<Member> {
    /// What a member got when it joined, and gives back when it leaves.
    struct Seat: Sendable, Hashable {
        fileprivate let index: Int
        /// No other joining has this number, so that a seat given back twice takes nobody else's.
        fileprivate let number: UInt64
    }

    private var joined: UInt64 = 0
    private var seats: [(number: UInt64, member: Member)?] = []
    private var free: [Int] = []

    /// The members in the order they joined, so that a run in virtual time repeats exactly.
    var inOrder: [Member] { seats.compactMap(\.self).sorted { $0.number < $1.number }.map(\.member) }

    /// How many seats there are, taken or free: as many as ever were taken at a time.
    var seatCount: Int { seats.count }

    /// Takes a member in.
    mutating func join(_ member: Member) -> Seat {
        joined += 1
        guard let index = free.popLast() else {
            seats.append((joined, member))
            return Seat(index: seats.count - 1, number: joined)
        }
        seats[index] = (joined, member)
        return Seat(index: index, number: joined)
    }

    /// Takes a member out, and gives it back; nil when it has left before.
    mutating func leave(_ seat: Seat) -> Member? {
        guard let (number, member) = seats[seat.index], number == seat.number else { return nil }
        seats[seat.index] = nil
        free.append(seat.index)
        return member
    }
}
