#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// Time that stands still until it is moved.
///
/// Put it into a call or a service in place of `SystemTime`. A task that sleeps on it stays suspended until
/// the test moves the time to its deadline; nothing here waits in real time.
///
/// ```swift
/// let time = VirtualTime()
/// async let answer = service.load(request)
/// let sleeper = try await time.nextSleeper()  // the retry waits …
/// #expect(sleeper.remaining == .seconds(3))   // … as long as Retry-After said
/// time.advance(by: .seconds(3))
/// _ = try await answer
/// ```
///
/// Simulations that need not look at every wait run inside ``runAutomatically(_:)``.
public final class VirtualTime: TimeSource {
    /// The date at which virtual time starts by default: 2026-01-01 00:00:00 UTC.
    public static let defaultDate = Date(timeIntervalSince1970: 1_767_225_600)

    /// A task that sleeps.
    public struct Sleeper: Sendable, Hashable {
        /// When it is to be woken.
        public let deadline: Instant
        /// How long that was from the moment it went to sleep.
        public let remaining: Duration
        /// Which sleep this is, counted from 1 since the time was made.
        public let number: Int
    }

    struct State {
        var now = Instant(nanoseconds: 0)
        var lastNumber = 0
        /// In order of deadline, then of arrival.
        var entries: [Entry] = []
        var drivers: [ObjectIdentifier: AutomaticExecutor] = [:]

        struct Entry {
            let sleeper: Sleeper
            let continuation: CheckedContinuation<Bool, Never>
        }

        mutating func takeDue(at instant: Instant) -> [Entry] {
            let count = entries.firstIndex { $0.sleeper.deadline > instant } ?? entries.count
            defer { entries.removeFirst(count) }
            return Array(entries.prefix(count))
        }

        mutating func insert(_ entry: Entry) {
            var low = 0
            var high = entries.count
            while low < high {
                let middle = (low + high) / 2
                if entries[middle].sleeper.deadline <= entry.sleeper.deadline {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            entries.insert(entry, at: low)
        }
    }

    let state = Watched(State())
    private let start: Date

    /// Starts a time line.
    ///
    /// - Parameter date: The date at its origin, ``defaultDate`` unless given.
    public init(date: Date = VirtualTime.defaultDate) {
        start = date
    }

    /// The current instant: zero at first, then wherever the time was moved to.
    public var now: Instant { state.read { $0.now } }

    /// The date at the origin plus the time that has passed since.
    public var date: Date { start.addingTimeInterval(Double(now.nanoseconds) / 1e9) }

    /// The tasks that sleep now, in order of deadline, then of arrival.
    public var sleepers: [Sleeper] { state.read { $0.entries.map(\.sleeper) } }

    /// Suspends the task until the time is moved to `deadline`; returns at once when it is there already.
    ///
    /// - Throws: `LoadingError.cancelled` as soon as the current task is cancelled.
    public func sleep(until deadline: Instant) async throws(LoadingError) {
        let number = state.change { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let wasReached = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                settle(number, deadline, continuation)
            }
        } onCancel: {
            let entry = state.change { state in
                state.entries.firstIndex { $0.sleeper.number == number }.map { state.entries.remove(at: $0) }
            }
            entry?.continuation.resume(returning: false)
        }
        guard wasReached else { throw .cancelled(ErrorContext()) }
    }

    private func settle(_ number: Int, _ deadline: Instant, _ continuation: CheckedContinuation<Bool, Never>) {
        // A task is marked cancelled before its handlers run, so a handler that found no entry is made up for here.
        let (outcome, drivers) = state.change { state -> (Bool?, [AutomaticExecutor]) in
            if Task.isCancelled { return (false, []) }
            if deadline <= state.now { return (true, []) }
            let remaining = state.now.duration(to: deadline)
            let sleeper = Sleeper(deadline: deadline, remaining: remaining, number: number)
            state.insert(State.Entry(sleeper: sleeper, continuation: continuation))
            return (nil, Array(state.drivers.values))
        }
        if let outcome { continuation.resume(returning: outcome) }
        for driver in drivers { driver.noticeSleeper() }
    }

    // MARK: - Moving

    /// Moves the time and wakes every task whose deadline is reached, in order of deadline, then of arrival.
    ///
    /// Woken tasks all see the time that was moved to; to see each at its own deadline, advance in steps.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "Time never goes back: \(duration)")
        let due = state.change { state in
            state.now = state.now.advanced(by: duration)
            return state.takeDue(at: state.now)
        }
        for entry in due { entry.continuation.resume(returning: true) }
    }

    /// Moves the time to an instant and wakes every task whose deadline is reached; does nothing for a past instant.
    public func advance(to instant: Instant) {
        let due = state.change { state in
            state.now = max(state.now, instant)
            return state.takeDue(at: state.now)
        }
        for entry in due { entry.continuation.resume(returning: true) }
    }

    /// Waits until some task sleeps, then tells which is the first to be woken.
    ///
    /// - Returns: The sleeper with the earliest deadline; it goes on sleeping.
    /// - Throws: `LoadingError.cancelled` when the waiting task is cancelled.
    public func nextSleeper() async throws(LoadingError) -> Sleeper {
        try await state.value { $0.entries.first?.sleeper }
    }

    /// Waits until so many tasks sleep.
    ///
    /// - Returns: All who sleep then, in order of deadline, then of arrival.
    /// - Throws: `LoadingError.cancelled` when the waiting task is cancelled.
    public func sleepers(atLeast count: Int) async throws(LoadingError) -> [Sleeper] {
        try await state.value { $0.entries.count >= count ? $0.entries.map(\.sleeper) : nil }
    }

    /// Waits until some task sleeps and moves the time to the earliest deadline.
    ///
    /// - Returns: The sleeper that set the deadline; it has been woken, with all of the same deadline.
    /// - Throws: `LoadingError.cancelled` when the waiting task is cancelled.
    @discardableResult
    public func advanceToNextSleeper() async throws(LoadingError) -> Sleeper {
        let sleeper = try await nextSleeper()
        advance(to: sleeper.deadline)
        return sleeper
    }

    /// Moves the time to the earliest deadline, if anybody sleeps.
    func advanceIfAnybodySleeps() -> Bool {
        let due = state.change { state -> [State.Entry] in
            guard let first = state.entries.first else { return [] }
            state.now = first.sleeper.deadline
            return state.takeDue(at: state.now)
        }
        for entry in due { entry.continuation.resume(returning: true) }
        return !due.isEmpty
    }
}
