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
        get { course.deadline }
        set { course = Course(newValue, course.ledger, course.scope, course.redaction, course.counter) }
    }
    /// Where the call's time went; nil when it is not recorded.
    public var ledger: StageLedger? {
        get { course.ledger }
        set { course = Course(course.deadline, newValue, course.scope, course.redaction, course.counter) }
    }
    /// What cancels the call apart from its task; nil when only the task's cancellation does.
    public var scope: CallScope? {
        get { course.scope }
        set { course = Course(course.deadline, course.ledger, newValue, course.redaction, newValue ?? course.counter) }
    }

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
    package mutating func set(deadline: Instant?, ledger: StageLedger?) {
        course = Course(deadline, ledger, course.scope, course.redaction, course.counter)
    }

    /// Counts the attempts of a call that has no scope.
    package mutating func countAttempts(in counter: CallScope) {
        course = Course(course.deadline, course.ledger, course.scope, course.redaction, counter)
    }

    /// Notes that the current attempt begins; errors of the call say how many there were.
    package func noteAttempt() { course.counter?.noteAttempt(attempt) }

    /// How many attempts were made; 0 when none was, or when they are not counted.
    package var attemptsMade: Int { course.counter?.attempts ?? 0 }

    /// The account that the call is made for.
    public var account: String { context.account }
    /// The source of the call's waits and dates.
    public var time: any TimeSource { context.time }
    /// The source of the call's randomness.
    public var random: any RandomSource { context.random }

    /// Sends an event, without secrets, to every sink.
    ///
    /// The event is not built when there is no sink.
    public func record(_ event: @autoclosure () -> Event) {
        guard !context.events.isEmpty else { return }
        let event = event().redacted(course.redaction ?? .standard)
        for sink in context.events { sink.record(event, of: self) }
    }

    /// Whether any sink receives what ``record(_:)`` reports.
    public var isObserved: Bool { !context.events.isEmpty }

    /// The call as a request's exchange sees it: events do not show parts of the request that a server repeats.
    @usableFromInline
    func carrying(_ request: Request) -> Call {
        guard isObserved else { return self }
        var call = self
        call.course = Course(course.deadline, course.ledger, course.scope, Redaction(request), course.counter)
        return call
    }

    /// The deadline, ledger and scope of a call, and the values that its events must not show.
    private final class Course: Sendable {
        static let none = Course(nil, nil, nil, nil, nil)

        let deadline: Instant?
        let ledger: StageLedger?
        let scope: CallScope?
        let redaction: Redaction?
        /// Counts the attempts: the scope, which stays here when a child task has none.
        let counter: CallScope?

        init(
            _ deadline: Instant?,
            _ ledger: StageLedger?,
            _ scope: CallScope?,
            _ redaction: Redaction?,
            _ counter: CallScope?
        ) {
            self.deadline = deadline
            self.ledger = ledger
            self.scope = scope
            self.redaction = redaction
            self.counter = counter
        }
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
