/// The identity, time source, randomness and event sinks of one logical call, which may take several exchanges.
public struct Call: Sendable {
    /// The identity of a call, unique within its service.
    public struct ID: Sendable, Hashable, CustomStringConvertible {
        /// The running number.
        public let number: UInt64

        /// Makes an identity from a running number.
        public init(_ number: UInt64) { self.number = number }

        /// The number after a hash sign.
        public var description: String { "#\(number)" }
    }

    // Shared by all calls of a loader, so that a call costs no allocation.
    private let context: Context
    // Behind one reference, because every interceptor copies its call.
    private var course = Course.none
    /// The call's identity.
    public let id: ID
    /// The number of the current attempt, from 1.
    public var attempt = 1
    /// When the whole call must have ended; nil means no deadline.
    public var deadline: Instant? {
        get { course.facts.deadline }
        set { change { $0.deadline = newValue } }
    }
    /// Where the call's time went; nil when it is not recorded.
    public var ledger: Call.Ledger? {
        get { course.facts.ledger }
        set { change { $0.ledger = newValue } }
    }
    /// What cancels the call apart from its task; nil when only the task's cancellation does.
    public var scope: Call.Scope? {
        get { course.facts.scope }
        set { change { ($0.scope, $0.counter) = (newValue, newValue ?? $0.counter) } }
    }
    /// What was chosen for the request above a wait; the last wait checks it again, the outermost first.
    package var lateChoices: [any LateChoice] {
        get { course.facts.lateChoices }
        set { change { $0.lateChoices = newValue } }
    }
    /// The statuses that count as success, as they were decided when the call began; nil for a call without a loader, whose
    /// request decides.
    public var acceptableStatuses: StatusSet? { course.facts.acceptableStatuses }

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - id: Its identity.
    ///   - account: The account that the call is made for; it keeps caches and cookies of users apart. Empty for a
    ///     signed-out call.
    ///   - time: The source of the call's waits and dates.
    ///   - random: The source of the call's randomness.
    ///   - events: The sinks that receive the call's events.
    public init(
        id: ID = ID(0),
        account: String = "",
        time: any TimeSource = SystemTime(),
        random: any RandomSource = SystemRandom(),
        events: [any EventSink] = []
    ) {
        self.id = id
        context = Context(account: account, time: time, random: random, events: events)
    }

    /// Makes another call with the same time source, randomness, account and event sinks.
    public init(id: ID, like other: Call) {
        self.id = id
        context = other.context
    }

    /// Sets the deadline and the ledger together.
    package mutating func set(deadline: Instant?, ledger: Call.Ledger?) {
        change { ($0.deadline, $0.ledger) = (deadline, ledger) }
    }

    /// Sets what ends the call from outside, what counts its attempts, and which statuses are its success.
    package mutating func begin(_ scope: Call.Scope?, counting counter: Call.Scope, accepting statuses: StatusSet) {
        change { ($0.scope, $0.counter, $0.acceptableStatuses) = (scope, counter, statuses) }
    }

    /// Notes that the current attempt begins; errors of the call say how many there were.
    package func noteAttempt() { course.facts.counter?.noteAttempt(attempt) }

    /// How many attempts were made; 0 when none was, or when they are not counted.
    package var attemptsMade: Int { course.facts.counter?.attempts ?? 0 }

    /// The account that the call is made for.
    public var account: String { context.account }
    /// The source of the call's waits and dates.
    public var time: any TimeSource { context.time }
    /// The source of the call's randomness.
    public var random: any RandomSource { context.random }

    /// Sends an event, without secrets, to every sink.
    ///
    /// The event is not built when there is no sink.
    public func record(_ event: @autoclosure () -> CallEvent) {
        guard !context.events.isEmpty else { return }
        let event = event().redacted(course.facts.redaction ?? .standard)
        for sink in context.events { sink.record(event, of: self) }
    }

    /// Whether any sink receives what ``record(_:)`` reports.
    public var isObserved: Bool { !context.events.isEmpty }

    /// The call as a request's exchange sees it: events do not show parts of the request that a server repeats.
    @usableFromInline
    func carrying(_ request: Request) -> Call {
        var call = self
        call.change { $0.redaction = Redaction(request) }
        return call
    }

    private mutating func change(_ body: (inout Facts) -> Void) {
        var facts = course.facts
        body(&facts)
        course = Course(facts)
    }

    /// What interceptors set on the way down, and the values that the call's events must not show.
    private struct Facts: Sendable {
        var deadline: Instant?
        var ledger: Call.Ledger?
        var scope: Call.Scope?
        var redaction: Redaction?
        /// Counts the attempts: the scope, which stays here when a child task has none.
        var counter: Call.Scope?
        var acceptableStatuses: StatusSet?
        var lateChoices: [any LateChoice] = []
    }

    private final class Course: Sendable {
        static let none = Course(Facts())

        let facts: Facts

        init(_ facts: Facts) { self.facts = facts }
    }

    private final class Context: Sendable {
        let account: String
        let time: any TimeSource
        let random: any RandomSource
        let events: [any EventSink]

        init(account: String, time: any TimeSource, random: any RandomSource, events: [any EventSink]) {
            self.account = account
            self.time = time
            self.random = random
            self.events = events
        }
    }
}
