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
    private var context: Context
    // The one object of the call; nil until something needs it. A child task keeps it, and cannot be cancelled by it.
    fileprivate(set) var object: Scope?
    private var isScoped = false
    /// Whether the call's times are recorded, from here on down.
    package private(set) var recordsTimes = false
    // The properties that few calls have.
    private var extras: Extras?
    /// The call's identity.
    public let id: ID
    /// The number of the current attempt, from 1.
    public var attempt = 1
    /// When the whole call must have ended; nil means no deadline.
    public var deadline: Instant?
    /// The scope that cancels the call apart from its task; nil when only the task's cancellation does.
    ///
    /// It also counts the attempts of the call and records its times, in a child task without a scope too.
    public var scope: Call.Scope? {
        get { isScoped ? object : nil }
        set { (object, isScoped) = (newValue ?? object, newValue != nil) }
    }
    /// The choices that were made for the request above a wait; the last wait checks them again, the outermost first.
    package var lateChoices: [any LateChoice] {
        get { extras?.facts.lateChoices ?? [] }
        set { change { $0.lateChoices = newValue } }
    }
    /// Whether anything was chosen for the request above a wait.
    package var hasLateChoices: Bool { extras?.facts.lateChoices.isEmpty == false }
    /// The number of the hedge that the exchange is, from 1.
    ///
    /// It is 0 for the first exchange of an attempt, and for one that is not hedged.
    public var hedge: Int { extras?.facts.hedge ?? 0 }
    /// The state that the exchanges of a hedged attempt share; nil for any other attempt.
    package var race: Call.Race? { extras?.facts.race }
    /// The statuses that count as success, as they were decided when the call began; nil for a call without a loader, whose
    /// request decides.
    public var acceptableStatuses: Response.StatusSet? { object?.acceptableStatuses }

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
        events: [any Call.Observer] = []
    ) {
        self.id = id
        context = Context(account: account, time: time, random: random, events: events)
    }

    /// Makes another call with the same time source, randomness, account and event sinks.
    public init(id: ID, like other: Call) {
        self.id = id
        context = other.context
    }

    /// Sets what counts the call's attempts, records its times and knows its success.
    ///
    /// - Parameters:
    ///   - object: The object of the call.
    ///   - isScoped: Whether the object also cancels the call, apart from its task.
    package mutating func begin(_ object: Call.Scope, isScoped: Bool) {
        (self.object, self.isScoped) = (object, isScoped)
    }

    /// Notes that the current attempt begins; errors of the call say how many there were.
    package func noteAttempt() { object?.noteAttempt(attempt) }

    /// How many attempts were made; 0 when none was, or when they are not counted.
    package var attemptsMade: Int { object?.attempts ?? 0 }

    // MARK: - Times

    /// Starts the record of the call's times, unless it has started above.
    ///
    /// - Parameters:
    ///   - start: When the call started.
    ///   - setting: The setting that the deadline of the call comes from; nil when the call had it before.
    package mutating func recordTimes(since start: Instant, setting: String? = nil) {
        guard !recordsTimes else { return }
        recordsTimes = true
        if object == nil { object = Scope() }
        object?.recordTimes(since: start, setting: setting)
    }

    /// The record of the call's times; nil when they are not recorded.
    package var times: Call.Times? { object?.times }

    /// Adds time to a stage, when the times are recorded.
    package func add(_ duration: @autoclosure () -> Duration, to stage: Call.StageTimes.Stage) {
        if recordsTimes { object?.add(duration(), to: stage) }
    }

    /// Adds the times of an exchange, when the times are recorded.
    ///
    /// - Parameters:
    ///   - stages: The times that the transport has measured; nil where it does not tell stages apart.
    ///   - duration: How long the exchange took.
    package func add(_ stages: Call.StageTimes.Exchange?, lasting duration: Duration) {
        if recordsTimes { object?.add(Call.StageTimes.Exchange(stages, lasting: duration)) }
    }

    /// Notifies an observer, in place of the one before, of the call's waits whose ends are known.
    package func observeWaits(_ body: (@Sendable (Instant?) -> Void)?) {
        if recordsTimes { object?.observeWaits(body) }
    }

    /// Notifies the observer that the call waits until an instant; nil when it does not wait any more.
    package func noteWait(until end: Instant?) {
        if recordsTimes { object?.noteWait(until: end) }
    }

    /// The account that the call is made for.
    public var account: String { context.account }
    /// The value of a tag of the request that the app made, for observers.
    ///
    /// Observers read it when the call starts. The last event of a call, and a call without a loader, have the default value.
    public subscript<Tag: Request.Tag>(_ tag: Tag.Type) -> Tag.Value { object?.request?[tag] ?? Tag.defaultValue }
    /// The source of the call's waits and dates.
    public var time: any TimeSource { context.time }
    /// The source of the call's randomness.
    public var random: any RandomSource { context.random }

    /// Sends an event, without secrets, to every sink.
    ///
    /// The event is not built when there is no sink.
    public func record(_ event: @autoclosure () -> Call.Event) {
        guard !context.events.isEmpty else { return }
        let made = event()
        guard !made.showsHead || context.events.contains(where: \.needsHeads) else { return }
        let event = made.redacted(extras?.facts.redaction ?? .standard)
        if case .exchangeStarted = event { object?.exchangeBegan() }
        for sink in context.events { sink.record(event, of: self) }
        switch event {
        case .exchangeFinished, .exchangeFailed: object?.exchangeEnded()
        default: break
        }
    }

    /// Sends the last event of the call, once no exchange of it is in progress.
    ///
    /// An exchange may end after the wait of its caller: the loop of a transport ends it later when its body was
    /// cancelled or released.
    package func recordLast(_ event: Call.Event) {
        guard isObserved else { return }
        guard let object else { return record(event) }
        // Without the object, which keeps the report.
        var call = self
        (call.object, call.isScoped) = (nil, false)
        object.report { [call] in call.record(event) }
    }

    /// Whether any sink receives what ``record(_:)`` reports.
    public var isObserved: Bool { !context.events.isEmpty }

    /// Makes no events when no sink needs those of a request.
    package mutating func stopObserving(unlessNeededFor request: Request) {
        guard isObserved, !context.events.contains(where: { $0.observes(request) }) else { return }
        context = Context(account: account, time: time, random: random, events: [])
    }

    /// The call as a request's exchange sees it: events do not show parts of the request that a server repeats.
    @usableFromInline
    func carrying(_ request: Request) -> Call {
        var call = self
        call.change { $0.redaction = Redaction(request) }
        return call
    }

    /// The call as one of the exchanges of a hedged attempt sees it.
    ///
    /// - Parameters:
    ///   - race: The state that the exchanges of the attempt share.
    ///   - hedge: The number of the hedge, from 1; 0 for the first exchange.
    ///   - sink: A further sink for the events of this exchange.
    /// - Returns: The call.
    package func racing(_ race: Call.Race, hedge: Int, reportingTo sink: some Call.Observer) -> Call {
        var call = self
        call.change { ($0.race, $0.hedge) = (race, hedge) }
        call.context = Context(account: account, time: time, random: random, events: context.events + [sink])
        return call
    }

    private mutating func change(_ body: (inout Facts) -> Void) {
        var facts = extras?.facts ?? Facts()
        body(&facts)
        extras = Extras(facts)
    }

    private struct Facts: Sendable {
        /// The values that the call's events must not show.
        var redaction: Redaction?
        /// The choices that were made for the request above a wait.
        var lateChoices: [any LateChoice] = []
        /// The state that the exchanges of a hedged attempt share.
        var race: Race?
        /// The number of the hedge.
        var hedge = 0
    }

    private final class Extras: Sendable {
        let facts: Facts

        init(_ facts: Facts) { self.facts = facts }
    }

    private final class Context: Sendable {
        let account: String
        let time: any TimeSource
        let random: any RandomSource
        let events: [any Call.Observer]

        init(account: String, time: any TimeSource, random: any RandomSource, events: [any Call.Observer]) {
            self.account = account
            self.time = time
            self.random = random
            self.events = events
        }
    }
}

extension Call {
    /// The state that the exchanges of a hedged attempt share: the addresses of the host that they have used.
    package final class Race: Sendable {
        // Guarded by its lock.
        private let used = Locked<[Request.Destination]>([])

        /// Makes a race without exchanges.
        package init() {}

        /// The addresses that the exchanges have used, in that order.
        package var destinations: [Request.Destination] { used.withLock(\.self) }

        /// Notes that an exchange uses an address.
        package func use(_ destination: Request.Destination) { used.withLock { $0.append(destination) } }
    }
}
