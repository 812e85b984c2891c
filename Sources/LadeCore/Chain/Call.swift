/// What belongs to one logical call, however many exchanges it takes: its identity, time, randomness and events.
public struct Call: Sendable {
    /// The identity of a call among those of its service.
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
    // Behind one reference, because every link copies its call.
    private var course = Course.none
    /// The call's identity.
    public let id: ID
    /// Which attempt at the exchange this is, from 1 on.
    public var attempt = 1
    /// When the whole call must have ended; nil for never.
    public var deadline: Instant? {
        get { course.deadline }
        set { course = Course(newValue, course.ledger, course.scope, course.redaction) }
    }
    /// Where its time went; nil when nobody keeps the book.
    public var ledger: StageLedger? {
        get { course.ledger }
        set { course = Course(course.deadline, newValue, course.scope, course.redaction) }
    }
    /// What ends the call from outside of its task; nil when only the task's cancellation does.
    public var scope: CallScope? {
        get { course.scope }
        set { course = Course(course.deadline, course.ledger, newValue, course.redaction) }
    }

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - id: Its identity.
    ///   - account: The account it is made for; keeps caches and cookies of users apart. Empty for nobody.
    ///   - time: Where its waits and dates come from.
    ///   - random: Where its randomness comes from.
    ///   - events: Who is told what happens to it.
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

    /// Makes another call with the same time, randomness, account and sinks.
    public init(id: ID, like other: Call) {
        self.id = id
        context = other.context
    }

    /// Sets the deadline and the account book at once.
    package mutating func set(deadline: Instant?, ledger: StageLedger?) {
        course = Course(deadline, ledger, course.scope, course.redaction)
    }

    /// The account it is made for.
    public var account: String { context.account }
    /// Where its waits and dates come from.
    public var time: any TimeSource { context.time }
    /// Where its randomness comes from.
    public var random: any RandomSource { context.random }

    /// Reports to every sink what happened, without secrets; costs nothing when there is none.
    public func record(_ event: @autoclosure () -> Event) {
        guard !context.events.isEmpty else { return }
        let event = event().redacted(course.redaction ?? .standard)
        for sink in context.events { sink.record(event, of: self) }
    }

    /// Whether anybody listens to ``record(_:)``.
    public var isObserved: Bool { !context.events.isEmpty }

    /// The call as a request's exchange has it: what a server repeats of the request is not shown by events.
    @usableFromInline
    func carrying(_ request: Request) -> Call {
        guard isObserved else { return self }
        var call = self
        call.course = Course(course.deadline, course.ledger, course.scope, Redaction(request))
        return call
    }

    /// What bounds the call, what it is booked in, and what must not be shown of it.
    private final class Course: Sendable {
        static let none = Course(nil, nil, nil, nil)

        let deadline: Instant?
        let ledger: StageLedger?
        let scope: CallScope?
        let redaction: Redaction?

        init(_ deadline: Instant?, _ ledger: StageLedger?, _ scope: CallScope?, _ redaction: Redaction?) {
            self.deadline = deadline
            self.ledger = ledger
            self.scope = scope
            self.redaction = redaction
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
