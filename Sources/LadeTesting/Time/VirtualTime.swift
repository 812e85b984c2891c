#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
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
///
/// A test whose time is not advanced would wait forever in silence. When nothing has happened for 10 s of real time, one line on
/// the standard error says which tasks sleep, and until when.
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
        /// How many tasks of the test wait for sleepers.
        var waits = 0
        /// How often something has happened: a sleep or a wait began, or the time advanced.
        var changes = 0
        /// The changes at the last look of the watch, and at its last report.
        var (seen, reported) = (0, 0)
        /// Whether the watch is in progress.
        var isWatched = false

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
    let watch: Watch
    private let start: Date

    /// Starts a time line.
    ///
    /// - Parameter date: The date at its origin; ``defaultDate`` by default.
    public convenience init(date: Date = VirtualTime.defaultDate) {
        self.init(date: date, watchedBy: SystemTime(), report: Watch.show)
    }

    /// Starts a time line.
    ///
    /// - Parameters:
    ///   - date: The date at its origin.
    ///   - clock: The real time, by which a standstill is noticed.
    ///   - report: Receives the line about a standstill.
    package init(
        date: Date = VirtualTime.defaultDate,
        watchedBy clock: some TimeSource,
        report: @escaping @Sendable (String) -> Void
    ) {
        start = date
        watch = Watch(clock, report)
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
        let (outcome, drivers, isNew) = state.change { state -> (Bool?, [AutomaticExecutor], Bool) in
            if Task.isCancelled { return (false, [], false) }
            if deadline <= state.now { return (true, [], false) }
            let remaining = state.now.duration(to: deadline)
            let sleeper = Sleeper(deadline: deadline, remaining: remaining, number: number)
            state.insert(State.Entry(sleeper: sleeper, continuation: continuation))
            return (nil, Array(state.drivers.values), state.noteChange())
        }
        if isNew { beginWatch() }
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
            state.changes += 1
            return state.takeDue(at: state.now)
        }
        for entry in due { entry.continuation.resume(returning: true) }
    }

    /// Advances the time to an instant and resumes every task whose deadline is reached; a past instant has no effect.
    public func advance(to instant: Instant) {
        let due = state.change { state in
            state.now = max(state.now, instant)
            state.changes += 1
            return state.takeDue(at: state.now)
        }
        for entry in due { entry.continuation.resume(returning: true) }
    }

    /// Waits until a task sleeps, and returns the sleeper that will be resumed first.
    ///
    /// - Returns: The sleeper with the earliest deadline; it continues to sleep.
    /// - Throws: `LoadingError.Kind.cancelled` when the waiting task is cancelled.
    public func nextSleeper() async throws(LoadingError) -> Sleeper {
        try await waiting { $0.entries.first?.sleeper }
    }

    /// Waits until a number of tasks sleep.
    ///
    /// - Returns: All sleepers, in order of deadline, then of arrival.
    /// - Throws: `LoadingError.Kind.cancelled` when the waiting task is cancelled.
    public func sleepers(atLeast count: Int) async throws(LoadingError) -> [Sleeper] {
        try await waiting { $0.entries.count >= count ? $0.entries.map(\.sleeper) : nil }
    }

    /// Waits for a condition of the sleepers, watched for a standstill.
    private func waiting<Value: Sendable>(
        _ probe: @escaping @Sendable (inout State) -> Value?
    ) async throws(LoadingError) -> Value {
        let isNew = state.change { state in
            state.waits += 1
            return state.noteChange()
        }
        if isNew { beginWatch() }
        defer { state.change { $0.waits -= 1 } }
        return try await state.value(probe)
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
            state.changes += 1
            return state.takeDue(at: state.now)
        }
        for entry in due { entry.continuation.resume(returning: true) }
        return !due.isEmpty
    }
}

// MARK: - Standstill

extension VirtualTime {
    /// The watch for a standstill: a test that waits forever says why.
    final class Watch: Sendable {
        /// How long nothing may happen before it is reported, in real time.
        static let patience = Duration.seconds(10)

        private let clock: any TimeSource
        let report: @Sendable (String) -> Void

        init(_ clock: any TimeSource, _ report: @escaping @Sendable (String) -> Void) {
            (self.clock, self.report) = (clock, report)
        }

        /// Looks at the time again and again until it says that nothing waits any more.
        func begin(_ look: @escaping @Sendable () -> Bool) {
            let clock = clock
            // It has no owner that cancels it: it ends by itself, with the first look after nothing waits or the time is released.
            Task {
                repeat {
                    do throws(LoadingError) {
                        try await clock.sleep(until: clock.now.advanced(by: Self.patience))
                    } catch {
                        return
                    }
                } while look()
            }
        }

        /// Writes a line to the standard error of the test.
        static func show(_ line: String) {
            var line = line + "\n"
            // A line that cannot be written is lost: it has no reader.
            _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }

    /// Begins to watch for a standstill, where the state says that nothing does.
    func beginWatch() {
        watch.begin { [weak self] in self?.look() ?? false }
    }

    /// Reports a standstill once; false when nothing waits, so that the watch ends.
    private func look() -> Bool {
        let (goesOn, text) = state.change { $0.look() }
        if let text { watch.report(text) }
        return goesOn
    }
}

extension VirtualTime.State {
    /// Notes that something happened; true when nothing watches for a standstill yet.
    mutating func noteChange() -> Bool {
        changes += 1
        defer { isWatched = true }
        return !isWatched
    }

    /// Whether anything waits, and the text to report: when nothing has happened since the last look.
    mutating func look() -> (goesOn: Bool, text: String?) {
        guard !entries.isEmpty || waits > 0 else {
            isWatched = false
            return (false, nil)
        }
        defer { seen = changes }
        guard seen == changes, reported != changes else { return (true, nil) }
        reported = changes
        return (true, standstill)
    }

    /// The waits of a standstill, in words.
    private var standstill: String {
        let patience = "VirtualTime: nothing has happened for \(VirtualTime.Watch.patience.shortText) of real time."
        guard !entries.isEmpty else {
            return "\(patience) The test waits for a task that sleeps, and none does. "
                + "Its code may use another time than this one, or have ended."
        }
        let sleepers = entries.prefix(5).map { entry in
            let number = entry.sleeper.number
            return "sleep \(number) ends in \(now.duration(to: entry.sleeper.deadline).shortText)"
        }
        let more = entries.count > 5 ? ", and \(entries.count - 5) more" : ""
        let waits = waits > 0 ? "The test waits for more tasks that sleep. " : ""
        return "\(patience) \(waits)Asleep at \(Duration.nanoseconds(now.nanoseconds).shortText): "
            + "\(sleepers.joined(separator: ", "))\(more). Advance the time, or run the code in runAutomatically(_:)."
    }
}
