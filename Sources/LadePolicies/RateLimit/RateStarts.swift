/// The starts of a service, as far as is needed to return a slot that was not used after others have started.
///
/// A start takes one interval of the rate. If it is returned, later starts keep what they took. Where the service was
/// idle since, or nearly, the interval is lost already. Then returning all of it would let two calls start too close
/// together. The rate has been ahead by some *slack* at each start; the least of those since can be returned.
///
/// Examples at one start per second: returned before any other start, 1 s; after a start that came 10 s later, nothing. Three
/// that started together with a burst of three return 1 s each.
struct RateStarts: Sendable {
    /// A start and its slack.
    ///
    /// Later starts in the list have more slack: an earlier start with more slack can never be the least.
    private var marks: [(number: UInt64, slack: Int64)] = []
    /// The number of starts.
    private(set) var count: UInt64 = 0
    /// More of them are merged, to the disadvantage of the oldest slots.
    private static let markLimit = 64

    /// Adds a start; a negative slack means that the rate was not used up.
    mutating func add(slack: Int64) {
        count += 1
        let slack = max(0, slack)
        while let last = marks.last, last.slack >= slack { marks.removeLast() }
        marks.append((count, slack))
        guard marks.count > Self.markLimit else { return }
        let least = marks.removeFirst().slack
        marks[0].slack = least
    }

    /// Lets nothing be returned of the starts so far.
    mutating func forget() { add(slack: 0) }

    /// Takes a start back.
    ///
    /// - Parameters:
    ///   - number: The number of the start.
    ///   - interval: The interval that it took.
    /// - Returns: The part of it that can be used again.
    mutating func refund(_ number: UInt64, atMost interval: Int64) -> Int64 {
        let later = marks.firstIndex { $0.number > number } ?? marks.endIndex
        let refund = later < marks.endIndex ? min(interval, marks[later].slack) : interval
        guard later < marks.endIndex else { return refund }
        for index in later..<marks.endIndex { marks[index].slack -= refund }
        let least = marks[later].slack
        let start = marks[..<later].firstIndex { $0.slack >= least } ?? later
        marks.removeSubrange(start..<later)
        return refund
    }
}
