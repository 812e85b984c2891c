import LadeCore

// The state of a feed: its pages. The feed's lock guards it.
extension PageFeed {
    enum Arrival {
        case piece(Piece)
        /// There is no such page: the list has ended before it.
        case end
        case failure(PageError.Cause)
    }

    /// A page that was started, at its position in the list.
    struct Slot {
        /// Distinguishes it from dropped pages at the same position.
        var id: UInt64
        var page: PageRequest
        var task: Task<Void, Never>?
        var arrival: Arrival?
    }

    struct State {
        /// The number of pages that the consumer has asked for.
        var demanded = 0
        /// The number of delivered pages.
        var delivered = 0
        /// The number of pages whose loading was started.
        var started = 0
        /// The next page to start; it is speculative when `started` is above `frontier`.
        var upcoming: PageRequest?
        /// The position of the first page whose successor is unknown; all pages up to it are certain.
        var frontier = 0
        /// Pages that were started and not delivered, by position.
        var slots: [Int: Slot] = [:]
        /// The successors of pages that were not delivered yet, by position.
        var following: [Int: PageRequest] = [:]
        /// No page is started at or after this position.
        var end = Int.max
        /// No page is started speculatively at or after this position: according to the server's total there is none.
        var guessEnd = Int.max
        /// Why the page at a position cannot be followed to, which ends the list.
        var broken: (position: Int, failure: PageError)?
        /// How many items the last known page has, which is the guess for those after it.
        var stride: Int?
        /// The keys of all requests that were sent, to detect a loop.
        ///
        /// Keys, because the requests of a long list take too much memory.
        var visited: Set<UInt64> = []
        var lastID: UInt64 = 0
        var isFollowing = false
        var isCancelled = false
        /// The wait of the consumer for its next page.
        var wait = Waiter<Void>()

        /// Makes the wait for a position; false where the consumer has nothing to wait for.
        mutating func mustWait(for position: Int) -> Bool {
            guard !isReady(position) else { return false }
            wait = Waiter()
            return true
        }

        mutating func makeID() -> UInt64 {
            lastID += 1
            return lastID
        }

        /// Removes everything from a position on; returns the tasks to cancel.
        mutating func drop(from position: Int) -> [Task<Void, Never>] {
            let dropped = slots.filter { $0.key >= position }
            for key in dropped.keys { slots[key] = nil }
            started = min(started, position)
            upcoming = nil
            return dropped.values.compactMap(\.task)
        }

        /// Whether the page at a position is not speculative.
        func isCertain(_ position: Int) -> Bool {
            switch slots[position]?.arrival {
            case .piece: position < frontier
            case .failure: position <= frontier
            case .end: false
            case nil: false
            }
        }

        /// Whether the consumer has nothing to wait for at a position.
        func isReady(_ position: Int) -> Bool {
            isCancelled || position >= end || isCertain(position)
        }
    }
}
