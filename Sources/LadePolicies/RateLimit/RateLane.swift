import LadeCore

/// The queue position of a waiting call: high priority first, then order of arrival.
struct WaitPlace: Sendable, Comparable {
    var priority: Request.Priority
    var id: UInt64
    /// How many starts of the rate the call takes.
    var cost = 1

    static func < (left: WaitPlace, right: WaitPlace) -> Bool {
        left.priority != right.priority ? left.priority > right.priority : left.id < right.id
    }
}

/// Determines which waiting call's task runs the timer: the task with the highest priority.
///
/// Among equal calls the last to arrive runs it, because it waits longest.
struct LeaderRank: Sendable, Comparable {
    var taskPriority: UInt8
    var id: UInt64

    static func < (left: LeaderRank, right: LeaderRank) -> Bool {
        left.taskPriority != right.taskPriority ? left.taskPriority > right.taskPriority : left.id > right.id
    }
}

/// How many starts the waiting calls take, by priority.
struct WaitCounts: Sendable {
    private var low = 0
    private var normal = 0
    private var high = 0

    subscript(priority: Request.Priority) -> Int {
        get {
            switch priority {
            case .low: low
            case .normal: normal
            case .high: high
            }
        }
        set {
            switch priority {
            case .low: low = newValue
            case .normal: normal = newValue
            case .high: high = newValue
            }
        }
    }

    /// How many starts precede a new call of this priority.
    func ahead(of priority: Request.Priority) -> Int {
        switch priority {
        case .low: low + normal + high
        case .normal: normal + high
        case .high: high
        }
    }

    mutating func add(_ other: WaitCounts, times sign: Int) {
        low += sign * other.low
        normal += sign * other.normal
        high += sign * other.high
    }
}

/// The calls of one account that wait for a service, and the server-requested delay of that account.
///
/// A held lane does not hold the others: calls of other accounts overtake its calls.
struct RateLane: Sendable {
    var pace: QuotaPace?
    var gate = RateGate()
    var queue = PriorityIndex<UInt64, WaitPlace>()
    var counts = WaitCounts()
    /// Whether the account allows its calls to start.
    var isReady = false
    /// The running exchanges of the account that began since the lane exists.
    var inFlight = 0

    /// No call of the account starts before this instant.
    func hold(at now: Instant) -> Instant? {
        guard let next = pace?.hold(at: now) else { return gate.hold }
        return gate.hold.map { max($0, next) } ?? next
    }

    /// When a call of the account may start that has this many of the account before it.
    func start(after ahead: Int, now: Instant, isPaced: Bool = true) -> Instant {
        let start = gate.start(after: ahead, now: now, isSpaced: false)
        let hold = isPaced ? pace?.start(after: ahead, now: now) : pace?.floor
        return hold.map { max(start, $0) } ?? start
    }

    /// Whether forgetting the lane changes nothing.
    func isIdle(now: Instant) -> Bool {
        queue.isEmpty && inFlight == 0 && !gate.isClosed(at: now) && (pace.map { $0.high <= now } ?? true)
    }
}
