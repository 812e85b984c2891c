package import Lade
package import LadeCore
package import LadePolicies

/// The state of a process in its fleet: a pure value, which decides what is sent to the store and what limiters receive.
package struct FleetMember: Sendable {
    /// The times and the names.
    package struct Settings: Sendable {
        package var fleet: String
        package var id: String
        package var name: String
        package var declared = 1
        package var beat = Duration.milliseconds(300)
        package var lapse = Duration.seconds(1)
        package var forget = Duration.seconds(60)
        package var horizon = Duration.milliseconds(250)
        package var replyTime = Duration.milliseconds(100)
        package var credentialTime = Duration.seconds(2)
        package var idle = Duration.seconds(60)
        package var sharesAlone = true

        package init(fleet: String, id: String, name: String) {
            (self.fleet, self.id, self.name) = (fleet, id, name)
        }
    }

    /// A script with its arguments.
    package struct Command: Sendable, Equatable {
        package var script: StoreScript
        package var keys: [String]
        package var arguments: [String]

        package init(script: StoreScript, keys: [String], arguments: [String]) {
            (self.script, self.keys, self.arguments) = (script, keys, arguments)
        }
    }

    /// A task for the owner.
    package enum Action: Sendable {
        /// Send a command; with its text when the store does not know the script.
        case send(Command, asText: Bool)
        /// Pass news to a limiter, or to all.
        case news(Int?, RateNews)
        /// Close the connection.
        case close(String)
        /// Close the connection, and continue at the server with these keys when the address of the fleet names it.
        case move(to: String)
        /// The store can never be used with these settings.
        case refuse(StoreRefusal)
        /// Pass the reply to an order for credentials; nil when there is none.
        case credentials(Int, CredentialReply?, sent: Instant)
        /// Pass the reply to an order for a board; nil when there is none.
        case board(Int, BoardReply?)
        /// Extend the leases of the boards of this process.
        case beatBoards
        /// Offer the credentials that this process holds: the store may have lost them, or another member has signed out.
        case offer
    }

    enum Subject: Equatable {
        case beat
        case ask(Int, RateAsk)
        case quota(Int, QuotaAsk)
        case credentials(Int)
        case board(Int, BoardOrder)
        case other
    }

    struct Pending {
        var subject: Subject
        var command: Command
        var sent: Instant
    }

    enum Phase: Equatable {
        case closed
        /// Commands are sent; the store has not responded often enough to count.
        case joining(replies: Int)
        case joined
        /// Deregistered for lack of calls; the connection stays open.
        case left
    }

    /// The end of the last block of a limit.
    struct Block {
        var end: Double
        var spacing: Double
        var count: Int
    }

    package internal(set) var settings: Settings
    var phase = Phase.closed
    var pending: [Pending] = []
    /// Orders for credentials and boards that wait for the connection, with the time since when they wait.
    var early: [Pending] = []
    var clock = StoreClock()
    var blocks: [String: Block] = [:]
    /// The most members known, with the times, the last the least.
    var known: [(count: Int, time: Instant)] = []
    package internal(set) var members = 1
    package internal(set) var active = 1
    package internal(set) var isAlone = false
    /// Whether other members know of this one.
    var isKnown = false
    var lastContact = Instant(nanoseconds: .min)
    var partedAt: Instant?
    var nextBeat = Instant(nanoseconds: .min)
    var nextOffer = Instant(nanoseconds: .min)
    /// When the leases of boards must be extended; nil without any.
    var nextBoardBeat: Instant?
    var lastDemand: Instant
    var wasSlow = false
    var isSplit = false
    var isFar = false
    var born: Double?
    var gateSequence = 0.0
    var differs: Set<String> = []
    /// The quotas that this process has asked about, by their digests.
    var quotas: [String: (key: ServiceKey, account: String?)] = [:]
    var actions: [Action] = []
    /// Commands with a reply.
    package internal(set) var roundTrips = 0
    static let mostGates = 256
    static let mostQuotas = 1_024
    static let memory = Duration.seconds(600)
    static let offerTime = Duration.seconds(20)
    static let aloneDelay = Duration.milliseconds(300)
    /// The replies in a row that end a share of the rate after a store that was too slow.
    static let steadyReplies = 3
    /// From this round trip on, blocks of slots are too short for the rate to be used evenly.
    static let farTrip = Duration.milliseconds(200)

    package init(_ settings: Settings, now: Instant) {
        self.settings = settings
        lastDemand = now
    }

    /// Whether the store counts this process.
    package var isJoined: Bool { phase == .joined }

    /// Whether replies are outstanding.
    package var hasPending: Bool { !pending.isEmpty }

    /// The most members known within ten minutes, or declared.
    package var mostMembers: Int { max(settings.declared, known.map(\.count).max() ?? 1, 1) }

    package var leastRoundTrip: Duration { clock.leastRoundTrip }

    package mutating func take() -> [Action] {
        defer { actions = [] }
        return actions
    }

    // MARK: - The connection

    /// The connection is open, and the scripts are loaded.
    package mutating func opened(_ now: Instant) {
        phase = .joining(replies: 0)
        clock.beginConnection()
        sendBeat(joins: true, now)
        let orders = early
        early = []
        for item in orders { send(item.subject, item.command, now) }
        if nextBoardBeat != nil { nextBoardBeat = now }
    }

    /// The connection is closed, or the attempt to open it has failed.
    package mutating func closed(_ now: Instant) {
        for pending in pending {
            switch pending.subject {
            case .ask(let limiter, let ask): actions.append(.news(limiter, .lost(ask.key)))
            case .quota(let limiter, let ask):
                actions.append(.news(limiter, .quota(ask.key, account: ask.account, .lost)))
            default: lose(pending)
            }
        }
        pending = []
        if phase == .joined || phase == .left { actions.append(.news(nil, .parted)) }
        if phase == .joined { partedAt = partedAt ?? now }
        phase = .closed
    }

    // MARK: - Time

    /// When ``tick(_:hasDemand:)`` must be called.
    package var due: Instant {
        var due = Instant(nanoseconds: .max)
        if case .closed = phase {} else if phase != .left { due = nextBeat }
        if let first = pending.first { due = min(due, first.sent.advanced(by: replyTime(of: first))) }
        if let first = early.first { due = min(due, first.sent.advanced(by: settings.credentialTime)) }
        if let nextBoardBeat { due = min(due, nextBoardBeat) }
        if mayBeAlone { due = min(due, aloneAt) }
        if maySplit { due = min(due, splitAt) }
        return due
    }

    /// A second before the first reply of a connection: how far the store is is not known then.
    var replyTime: Duration { min(.seconds(1), max(settings.replyTime, clock.leastRoundTrip * 4)) }

    func replyTime(of pending: Pending) -> Duration {
        switch pending.subject {
        case .credentials, .board: max(settings.credentialTime, replyTime)
        case .beat, .ask, .quota, .other: replyTime
        }
    }

    var mayBeAlone: Bool { isKnown && !isAlone && settings.sharesAlone && phase != .joined }

    var aloneAt: Instant { lastContact.advanced(by: settings.lapse).advanced(by: Self.aloneDelay) }

    var maySplit: Bool { isAlone && !isSplit && phase != .joined && mostMembers > 1 }

    var splitAt: Instant { lastContact.advanced(by: settings.forget) }

    /// Sends what is due, and notices what did not arrive.
    package mutating func tick(_ now: Instant, hasDemand: Bool) {
        if hasDemand {
            lastDemand = now
            if phase == .left { rejoin(now) }
        }
        if let first = pending.first, first.sent.advanced(by: replyTime(of: first)) <= now {
            wasSlow = true
            actions.append(.close("no reply within \(replyTime(of: first).wholeNanoseconds / 1_000_000) ms"))
            closed(now)
        }
        while let first = early.first, first.sent.advanced(by: settings.credentialTime) <= now {
            lose(early.removeFirst())
        }
        if let time = nextBoardBeat, time <= now {
            // Every order for a board sets the time of the next ones.
            nextBoardBeat = nil
            actions.append(.beatBoards)
        }
        if mayBeAlone, aloneAt <= now {
            isAlone = true
            let members = mostMembers
            actions.append(.news(nil, .alone(members: members)))
            let reason = wasSlow ? "it is too slow" : "no connection"
            actions.append(.news(nil, .event(.fleetAlone(members: members, reason: reason))))
        }
        if maySplit, splitAt <= now {
            isSplit = true
            actions.append(.news(nil, .event(.fleetSplit(members: mostMembers))))
        }
        guard phase != .closed, phase != .left, nextBeat <= now else { return }
        if phase == .joined, lastDemand.advanced(by: settings.idle) <= now { return leave(now) }
        sendBeat(joins: phase != .joined, now)
    }

    mutating func rejoin(_ now: Instant) {
        sendBeat(joins: true, now)
        phase = .joined
    }

    // MARK: - Replies

    /// Takes the reply to the first pending command.
    package mutating func reply(_ reply: StoreReply, _ now: Instant) {
        guard !pending.isEmpty else { return fault("a reply without a command", now) }
        let first = pending.removeFirst()
        if case .error(let text) = reply {
            if text.utf8.starts(with: "NOSCRIPT".utf8) {
                pending.append(Pending(subject: first.subject, command: first.command, sent: now))
                return actions.append(.send(first.command, asText: true))
            }
            if text.utf8.starts(with: "MOVED ".utf8), let place = text.parts(at: " ").last {
                pending.insert(first, at: 0)
                actions.append(.move(to: String(place)))
                return closed(now)
            }
            if let refusal = StoreRefusal(text, isFirst: roundTrips == 0) {
                actions.append(.refuse(refusal))
                pending.insert(first, at: 0)
                return fault(refusal.reason, now)
            }
            pending.insert(first, at: 0)
            return fault("the \(first.command.script.rawValue) script: \(text.prefix(120))", now)
        }
        let isUnderstood: Bool
        switch first.subject {
        case .beat: isUnderstood = noteBeat(reply, first.sent, now)
        case .ask(let limiter, let ask):
            isUnderstood = noteAsk(reply, ask, limiter, first.sent, now)
            if !isUnderstood { pending.insert(first, at: 0) }
        case .quota(let limiter, let ask):
            isUnderstood = noteQuota(reply, ask, limiter, first.sent, now)
            if !isUnderstood { pending.insert(first, at: 0) }
        case .credentials(let number):
            let read = CredentialReply(reply)
            if let read { actions.append(.credentials(number, read, sent: first.sent)) }
            isUnderstood = read != nil
            if !isUnderstood { pending.insert(first, at: 0) }
        case .board(let number, let order):
            let read = BoardReply(reply, to: order)
            if let read { actions.append(.board(number, read)) }
            isUnderstood = read != nil
            if !isUnderstood { pending.insert(first, at: 0) }
        case .other:
            if case .integer = reply { isUnderstood = true } else { isUnderstood = false }
        }
        guard isUnderstood else {
            return fault("a reply that the \(first.command.script.rawValue) script does not return", now)
        }
        roundTrips += 1
        guard !isFar, roundTrips >= Self.steadyReplies, clock.leastRoundTrip > Self.farTrip else { return }
        isFar = true
        let milliseconds = clock.leastRoundTrip.wholeNanoseconds / 1_000_000
        actions.append(.news(nil, .event(.fleetCoarse(reason: "the store takes \(milliseconds) ms to respond"))))
    }

    /// The store sent what no script returns; it counts as unreachable.
    package mutating func fault(_ reason: String, _ now: Instant) {
        actions.append(.news(nil, .event(.fleetFault(reason))))
        actions.append(.close(reason))
        closed(now)
    }

    mutating func noteBeat(_ reply: StoreReply, _ sent: Instant, _ now: Instant) -> Bool {
        guard case .list(let items) = reply, items.count == 7, let time = items[0].number, let count = items[1].number,
            let heard = items[2].number, let born = items[3].number, let sequence = items[4].number,
            let clash = items[5].number, case .list(let gates) = items[6], gates.count % 3 == 0,
            (1...1e6).contains(count), (1...1e6).contains(heard), (0...9e15).contains(time), (0...9e15).contains(born)
        else { return false }
        let hasJumped = noteClock(time, sent, now)
        let isLost = self.born.map { $0 != born } ?? false && !hasJumped
        if isLost {
            gateSequence = -1
            actions.append(.news(nil, .event(.fleetLost)))
        }
        if isLost || phase != .joined || nextOffer <= now {
            nextOffer = now.advanced(by: Self.offerTime)
            actions.append(.offer)
        }
        self.born = born
        gateSequence = sequence
        noteMembers(Int(count), Int(heard), now)
        lastContact = now
        join(now)
        for index in stride(from: 0, to: gates.count, by: 3) {
            guard let digest = gates[index].string, let end = gates[index + 1].number,
                let key = gates[index + 2].string
            else { return false }
            noteGate(digest, end, ServiceKey(key), now)
        }
        if clash == 1 { rename(now) }
        return true
    }

    mutating func noteAsk(
        _ reply: StoreReply,
        _ ask: RateAsk,
        _ limiter: Int,
        _ sent: Instant,
        _ now: Instant
    ) -> Bool {
        guard case .list(let items) = reply, items.count == 11 else { return false }
        let numbers = items.compactMap(\.number)
        guard numbers.count == 11, numbers.allSatisfy({ (0...9e15).contains($0) }) else { return false }
        let (time, base, spacing, count, end) = (numbers[0], numbers[1], numbers[2], Int(numbers[3]), numbers[4])
        // Wide enough for the rounding of a microsecond; the member's own arithmetic is exact.
        guard count <= ask.count, spacing > 0, base >= time, (1...1e6).contains(numbers[5]),
            (1...1e6).contains(numbers[6])
        else { return false }
        _ = noteClock(time, sent, now)
        noteMembers(Int(numbers[5]), Int(numbers[6]), now)
        lastContact = now
        let digest = digest(of: ask.key)
        if numbers[7] == 1 { actions.append(.news(nil, .event(.fleetLost))) }
        let isDifferent = numbers[8] == 1
        if isDifferent != differs.contains(digest) {
            if isDifferent {
                differs.insert(digest)
                actions.append(.news(nil, .event(.fleetDisagrees(key: ask.key.description))))
            } else {
                differs.remove(digest)
            }
        }
        if count > 0 { blocks[digest] = Block(end: end, spacing: spacing, count: count) }
        noteGate(digest, numbers[9], ask.key, now)
        var slots: [Instant] = []
        for number in 0..<count {
            let instant = max(time, base + Double(number - ask.rate.burst + 1) * spacing)
            guard let local = clock.local(instant) else { return false }
            slots.append(local)
        }
        actions.append(.news(limiter, .granted(ask.key, slots: slots, lead: lead)))
        return true
    }

    mutating func noteQuota(
        _ reply: StoreReply,
        _ ask: QuotaAsk,
        _ limiter: Int,
        _ sent: Instant,
        _ now: Instant
    ) -> Bool {
        guard case .list(let items) = reply, items.count == 8 else { return false }
        let numbers = items.compactMap(\.number)
        guard numbers.count == 8, numbers.allSatisfy({ (0...9e15).contains($0) }) else { return false }
        let (time, count, first, spacing) = (numbers[0], Int(numbers[2]), numbers[3], numbers[4])
        guard count <= ask.count, count == 0 || first >= time else { return false }
        _ = noteClock(time, sent, now)
        lastContact = now
        guard numbers[1] == 1 else {
            actions.append(.news(limiter, .quota(ask.key, account: ask.account, .none)))
            return true
        }
        var slots: [Instant] = []
        for number in 0..<count {
            guard let local = clock.local(first + Double(number) * spacing) else { return false }
            slots.append(local)
        }
        let end = numbers[5] > 0 ? clock.local(numbers[5]) : nil
        let news = QuotaNews.granted(slots, lead: lead, window: numbers[7], end: end, isUsedUp: numbers[6] == 1)
        actions.append(.news(limiter, .quota(ask.key, account: ask.account, news)))
        return true
    }

    /// How long an ask precedes the need.
    var lead: Duration { clock.leastRoundTrip * 2 + .milliseconds(5) }

    /// Notes the store's clock; true when it has jumped.
    mutating func noteClock(_ time: Double, _ sent: Instant, _ now: Instant) -> Bool {
        guard let jump = clock.note(time, sent: sent, received: now) else { return false }
        // The ends of blocks are instants of a clock that is no more.
        blocks = [:]
        actions.append(.news(nil, .event(.fleetClockJumped(by: jump))))
        return true
    }

    mutating func noteGate(_ digest: String, _ end: Double, _ key: ServiceKey, _ now: Instant) {
        guard end > 0, let local = clock.local(end), local > now else { return }
        let rest = now.duration(to: local)
        switch digest.utf8.first {
        case UInt8(ascii: "x"):
            if let quota = quotas[String(digest.dropFirst())] {
                actions.append(.news(nil, .quota(quota.key, account: quota.account, .usedUp(for: rest))))
            }
        case UInt8(ascii: "q"): actions.append(.news(nil, .quotaAnnounced(key, for: rest)))
        default: if digest == self.digest(of: key) { actions.append(.news(nil, .gate(key, for: rest))) }
        }
    }

    mutating func noteMembers(_ count: Int, _ heard: Int, _ now: Instant) {
        known.removeAll { $0.count <= count || $0.time.advanced(by: Self.memory) < now }
        known.append((count, now))
        guard count != members || heard != active else { return }
        (members, active) = (count, min(heard, count))
        if phase == .joined { actions.append(.news(nil, .members(members, active: active))) }
    }

    /// Counts a reply of a store that was not in contact before.
    mutating func join(_ now: Instant) {
        guard case .joining(let replies) = phase else {
            isKnown = true
            return
        }
        guard !wasSlow || replies + 1 >= Self.steadyReplies else {
            phase = .joining(replies: replies + 1)
            return
        }
        phase = .joined
        actions.append(.news(nil, .joined(members: members, active: active)))
        if isAlone, let partedAt {
            actions.append(.news(nil, .event(.fleetRejoined(after: partedAt.duration(to: now)))))
        } else if !isKnown {
            actions.append(.news(nil, .event(.fleetJoined(members: members))))
        }
        let hasProbed = isAlone
        (isKnown, isAlone, isSplit, wasSlow, partedAt) = (true, false, false, false, nil)
        if hasProbed { sendBeat(joins: true, now) }
    }

    /// Takes a name of its own, because a member that is heard has the same.
    mutating func rename(_ now: Instant) {
        send(.other, leaveCommand, now)
        settings.name += "-" + settings.id.prefix(4)
        actions.append(
            .news(nil, .event(.fleetFault("another member has the same name; this one is \(settings.name)")))
        )
        sendBeat(joins: false, now)
    }
}
