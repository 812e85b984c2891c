#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// Time that moves only when it is advanced.
///
/// Use it for a call or a service in place of `SystemTime`. A task that sleeps stays suspended until the test advances
/// the time to its deadline; nothing waits in real time.
///
/// ```swift
/// let time = VirtualTime()
/// async let response = loader.load(request)
/// let sleeper = try await time.nextSleeper()  // the retry waits …
/// #expect(sleeper.remaining == .seconds(3))   // … as long as Retry-After said
/// time.advance(by: .seconds(3))
/// _ = try await response
/// ```
///
/// Simulations that need not check every wait run inside ``runAutomatically(_:)``.
public final class VirtualTime: TimeSource {
    /// The date at which virtual time starts by default: 2026-01-01 00:00:00 UTC.
    public static let defaultDate = Date(timeIntervalSince1970: 1_767_225_600)

    /// A sleeping task.
    public struct Sleeper: Sendable, Hashable {
        /// When it will be resumed.
        public let deadline: Instant
        /// The time to the deadline, from the start of the sleep.
        public let remaining: Duration
        /// The number of the sleep, from 1.
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
    /// - Parameter date: The date at its origin; ``defaultDate`` by default.
    public init(date: Date = VirtualTime.defaultDate) {
        start = date
    }

    /// The current instant: zero at first, then the instant that the time was advanced to.
    public var now: Instant { state.read { $0.now } }

    /// The date at the origin plus the time that has passed since.
    public var date: Date { start.addingTimeInterval(Double(now.nanoseconds) / 1e9) }

    /// The sleeping tasks, in order of deadline, then of arrival.
    public var sleepers: [Sleeper] { state.read { $0.entries.map(\.sleeper) } }

    /// Suspends the task until the time is advanced to `deadline`; returns immediately when it has passed.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` as soon as the current task is cancelled.
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
        guard wasReached else { throw LoadingError(.cancelled) }
    }

    private func settle(_ number: Int, _ deadline: Instant, _ continuation: CheckedContinuation<Bool, Never>) {
        // A task is marked as cancelled before its handlers run, so a handler that found no entry is detected here.
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

    // MARK: - Advancing

    /// Advances the time and resumes every task whose deadline is reached, in order of deadline, then of arrival.
    ///
    /// All resumed tasks see the new time; to let each see its own deadline, advance in steps.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "Time never goes back: \(duration)")
        let due = state.change { state in
            state.now = state.now.advanced(by: duration)
            return state.takeDue(at: state.now)
        }
        for entry in due { entry.continuation.resume(returning: true) }
    }

    /// Advances the time to an instant and resumes every task whose deadline is reached; a past instant has no effect.
    public func advance(to instant: Instant) {
        let due = state.change { state in
            state.now = max(state.now, instant)
            return state.takeDue(at: state.now)
        }
        for entry in due { entry.continuation.resume(returning: true) }
    }

    /// Waits until a task sleeps, and returns the sleeper that will be resumed first.
    ///
    /// - Returns: The sleeper with the earliest deadline; it continues to sleep.
    /// - Throws: `LoadingError.Kind.cancelled` when the waiting task is cancelled.
    public func nextSleeper() async throws(LoadingError) -> Sleeper {
        try await state.value { $0.entries.first?.sleeper }
    }

    /// Waits until a number of tasks sleep.
    ///
    /// - Returns: All sleepers, in order of deadline, then of arrival.
    /// - Throws: `LoadingError.Kind.cancelled` when the waiting task is cancelled.
    public func sleepers(atLeast count: Int) async throws(LoadingError) -> [Sleeper] {
        try await state.value { $0.entries.count >= count ? $0.entries.map(\.sleeper) : nil }
    }

    /// Waits until a task sleeps, and advances the time to the earliest deadline.
    ///
    /// - Returns: The sleeper with that deadline; it has been resumed, with all others of the same deadline.
    /// - Throws: `LoadingError.Kind.cancelled` when the waiting task is cancelled.
    @discardableResult
    public func advanceToNextSleeper() async throws(LoadingError) -> Sleeper {
        let sleeper = try await nextSleeper()
        advance(to: sleeper.deadline)
        return sleeper
    }

    /// Advances the time to the earliest deadline, if any task sleeps.
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
