import Lade
import LadeCore
import LadePolicies
import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The state that the thread of a fleet and its callers share.
final class FleetCore: RateSupply {
    /// The facts known of the fleet.
    struct Facts: Sendable, Equatable {
        var members = 1
        var active = 1
        var mostMembers = 1
        var isAlone = false
        var isJoined = false
        var roundTrips = 0
    }

    /// The mail for the thread since it last looked.
    struct Mail {
        var orders: [(limiter: Int, order: RateOrder)] = []
        var credentials: [(record: SharedRecord, number: Int, order: CredentialOrder)] = []
        var boards: [(record: BoardRecord, number: Int, order: BoardOrder)] = []
        var addresses: [WireStream.Address]?
        var hasDemand = false
        var isLeaving = false
    }

    /// Receives the reply to an order for credentials.
    typealias CredentialReceiver = @Sendable (CredentialReply?, _ sent: Instant, _ now: Instant) -> Void

    /// Credentials of this process that the fleet shares.
    private struct Sharer {
        var record: SharedRecord
        var offer: @Sendable (Instant) -> CredentialOrder?
        var receive: @Sendable (CredentialReply) -> Void
    }

    /// The result of the first contact.
    enum Start: Sendable {
        case joined
        case refused(StoreRefusal)
        case unreachable(reason: String, host: String)
    }

    private struct State {
        var mail = Mail()
        var limiters: [Int: @Sendable ([RateNews]) -> Void] = [:]
        var lastLimiter = 0
        var sharers: [Int: Sharer] = [:]
        /// The receivers of replies to orders for credentials.
        var receivers: [Int: CredentialReceiver] = [:]
        /// The receivers of replies to orders for boards, and the boards whose leases are extended.
        var boardReceivers: [Int: @Sendable (BoardReply?) -> Void] = [:]
        var beaters: [Int: @Sendable () -> Void] = [:]
        var lastNumber = 0
        var facts = Facts()
        /// The latest contact, for limiters that are added.
        var contact: [RateNews] = []
        var start: Start?
        var lastFailure: (reason: String, host: String)?
        var joiners: [Resumption<Start>] = []
        var joinDue = Instant(nanoseconds: .max)
        var leavers: [Resumption<Void>] = []
        var hasEnded = false
        var asleep = WireStream.timeAsleep
    }

    // Guarded by its lock.
    private let state = Locked(State())
    /// The descriptor that ends a wait of the thread.
    let wakeUp: Int32
    private let onEvent: (@Sendable (Call.Event) -> Void)?
    private let time = SystemTime()
    /// Two readings of clocks differ by less, in nanoseconds.
    static let sleepTolerance: Int64 = 10_000_000
    private static let joinTime = Duration.milliseconds(1_500)

    init(onEvent: (@Sendable (Call.Event) -> Void)?) {
        self.onEvent = onEvent
        wakeUp = WireStream.makeWakeUp()
    }

    deinit { close(wakeUp) }

    // MARK: - Callers

    func attach(_ receive: @escaping @Sendable ([RateNews]) -> Void) -> Int {
        let (number, news) = state.withLock { state in
            state.lastLimiter += 1
            state.limiters[state.lastLimiter] = receive
            // A limiter that is made after the contact learns of it, and so does its first call.
            let joined: [RateNews] =
                state.facts.isJoined ? [.event(.fleetJoined(members: state.facts.members))] : []
            return (state.lastLimiter, state.contact + joined)
        }
        receive(news)
        return number
    }

    func carryOut(_ orders: [RateOrder], for limiter: Int) {
        state.withLock { state in
            for order in orders where !state.hasEnded { state.mail.orders.append((limiter, order)) }
        }
        wake()
    }

    func touch() {
        let asleep = WireStream.timeAsleep
        let (isFirst, hasSlept) = state.withLock { state in
            defer { (state.mail.hasDemand, state.asleep) = (true, asleep) }
            return (!state.mail.hasDemand && !state.facts.isJoined, asleep - state.asleep > Self.sleepTolerance)
        }
        // The slots of before are void now; the thread may notice it only later.
        if hasSlept { pass(.void, to: nil) }
        if isFirst { wake() }
    }

    var now: Instant { time.now }

    func attach(
        _ name: String,
        _ rules: CredentialRules,
        offer: @escaping @Sendable (Instant) -> CredentialOrder?,
        receive: @escaping @Sendable (CredentialReply) -> Void
    ) -> Int {
        state.withLock { state in
            state.lastNumber += 1
            let record = SharedRecord(name: name, sharer: state.lastNumber, rules: rules)
            state.sharers[state.lastNumber] = Sharer(record: record, offer: offer, receive: receive)
            return state.lastNumber
        }
    }

    func detach(_ sharer: Int) { state.withLock { $0.sharers[sharer] = nil } }

    func carryOut(_ order: CredentialOrder, for sharer: Int, _ receive: @escaping CredentialReceiver) {
        let isPossible = state.withLock { state in
            guard !state.hasEnded, !state.mail.isLeaving, let sharer = state.sharers[sharer] else { return false }
            state.lastNumber += 1
            state.receivers[state.lastNumber] = receive
            state.mail.credentials.append((sharer.record, state.lastNumber, order))
            return true
        }
        if isPossible { wake() } else { receive(nil, time.now, time.now) }
    }

    /// Adds a board, whose closure extends its leases from the thread; returns its number for ``detachBoard(_:)``.
    func attachBoard(_ beat: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.lastNumber += 1
            state.beaters[state.lastNumber] = beat
            return state.lastNumber
        }
    }

    func detachBoard(_ number: Int) { state.withLock { $0.beaters[number] = nil } }

    func carryOut(_ order: BoardOrder, of record: BoardRecord, _ receive: @escaping @Sendable (BoardReply?) -> Void) {
        let isPossible = state.withLock { state in
            guard !state.hasEnded, !state.mail.isLeaving else { return false }
            state.lastNumber += 1
            state.boardReceivers[state.lastNumber] = receive
            state.mail.boards.append((record, state.lastNumber, order))
            return true
        }
        if isPossible { wake() } else { receive(nil) }
    }

    var facts: Facts { state.withLock(\.facts) }

    /// Waits for the first contact.
    func join() async -> Start {
        await withResumption { resumption in
            let due = time.now.advanced(by: Self.joinTime)
            let start = state.withLock { state -> Start? in
                if let start = state.start { return start }
                if state.hasEnded { return .unreachable(reason: "the fleet was left", host: "") }
                state.joiners.append(resumption)
                state.joinDue = min(state.joinDue, due)
                return nil
            }
            if let start { resumption.resume(returning: start) } else { wake() }
        }
    }

    func leave() async {
        await withResumption { (resumption: Resumption<Void>) in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.leavers.append(resumption) }
                state.mail.isLeaving = true
                return state.hasEnded
            }
            if hasEnded { resumption.resume(returning: ()) } else { wake() }
        }
    }

    /// Leaves without waiting.
    func abandon() {
        state.withLock { $0.mail.isLeaving = true }
        wake()
    }

    // MARK: - The thread

    func takeMail() -> Mail {
        let now = time.now
        let (mail, joiners, start) = state.withLock { state -> (Mail, [Resumption<Start>], Start?) in
            var mail = Mail()
            swap(&mail, &state.mail)
            state.mail.isLeaving = mail.isLeaving
            guard state.joinDue <= now, state.start == nil else { return (mail, [], nil) }
            let failure = state.lastFailure ?? ("no reply within 1.5 s", "")
            defer { (state.joiners, state.joinDue) = ([], Instant(nanoseconds: .max)) }
            return (mail, state.joiners, .unreachable(reason: failure.reason, host: failure.host))
        }
        if let start { for joiner in joiners { joiner.resume(returning: start) } }
        return mail
    }

    var isJoining: Bool { state.withLock { !$0.joiners.isEmpty } }
    var joinDue: Instant { state.withLock(\.joinDue) }

    func found(_ addresses: [WireStream.Address]) {
        state.withLock { $0.mail.addresses = addresses }
        wake()
    }

    func joined() { finish(.joined) }

    func refused(_ refusal: StoreRefusal) { finish(.refused(refusal)) }

    func failed(_ reason: String, host: String) {
        state.withLock { $0.lastFailure = (reason, host) }
    }

    private func finish(_ start: Start) {
        let joiners = state.withLock { state -> [Resumption<Start>] in
            if case .joined = state.start { return [] }
            state.start = start
            defer { (state.joiners, state.joinDue) = ([], Instant(nanoseconds: .max)) }
            return state.joiners
        }
        for joiner in joiners { joiner.resume(returning: start) }
    }

    func note(_ facts: Facts) { state.withLock { $0.facts = facts } }

    /// Passes news to one limiter, or to all.
    func pass(_ news: RateNews, to limiter: Int?) {
        if case .event(let event) = news { onEvent?(event) }
        let receivers = state.withLock { state in
            switch news {
            case .joined: state.contact = [news]
            case .alone: state.contact = [news]
            case .parted: if !state.contact.isEmpty { state.contact.append(news) }
            default: break
            }
            return limiter.map { [$0] }?.compactMap { state.limiters[$0] } ?? Array(state.limiters.values)
        }
        for receive in receivers { receive([news]) }
    }

    func pass(_ reply: CredentialReply?, to number: Int, sent: Instant) {
        let receive = state.withLock { $0.receivers.removeValue(forKey: number) }
        receive?(reply, sent, time.now)
    }

    func pass(_ reply: BoardReply?, toBoard number: Int) {
        state.withLock { $0.boardReceivers.removeValue(forKey: number) }?(reply)
    }

    /// Extends the leases of all boards.
    func beatBoards() {
        for beat in state.withLock(\.beaters.values).map(\.self) { beat() }
    }

    /// Sends what this process holds of all credentials.
    func offer() {
        for (number, sharer) in state.withLock(\.sharers) {
            guard let order = sharer.offer(time.now) else { continue }
            carryOut(order, for: number) { reply, _, _ in
                if let reply { sharer.receive(reply) }
            }
        }
    }

    func ended() {
        let boards = state.withLock { state in
            (state.hasEnded, state.beaters) = (true, [:])
            defer { state.boardReceivers = [:] }
            return state.boardReceivers
        }
        for receive in boards.values { receive(nil) }
        let (leavers, joiners, receivers) = state.withLock { state in
            state.hasEnded = true
            state.mail = Mail()
            (state.limiters, state.sharers) = ([:], [:])
            defer { (state.leavers, state.joiners, state.receivers) = ([], [], [:]) }
            return (state.leavers, state.joiners, state.receivers)
        }
        for receive in receivers.values { receive(nil, time.now, time.now) }
        for joiner in joiners { joiner.resume(returning: .unreachable(reason: "the fleet was left", host: "")) }
        for leaver in leavers { leaver.resume(returning: ()) }
    }

    func drain() {
        var count: UInt64 = 0
        _ = read(wakeUp, &count, 8)
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(wakeUp, &one, 8)
    }
}
