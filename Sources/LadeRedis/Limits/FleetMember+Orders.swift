package import Lade
package import LadeCore
package import LadePolicies

// The orders of the callers, and the commands that carry them out.
extension FleetMember {
    /// Carries out the order of a limiter.
    package mutating func order(_ order: RateOrder, of limiter: Int, _ now: Instant) {
        lastDemand = now
        if phase == .left { rejoin(now) }
        switch order {
        case .ask(let ask):
            guard phase == .joined, let interval = ask.rate.interval else {
                actions.append(.news(limiter, .lost(ask.key)))
                return
            }
            send(.ask(limiter, ask), askCommand(ask, interval: Double(interval) / 1_000), now)
        case .giveBack(let key, let count):
            let digest = digest(of: key)
            guard phase == .joined, var block = blocks[digest], block.count > 0 else { return }
            let amount = block.spacing * Double(min(count, block.count))
            let command = Command(
                script: .giveBack,
                keys: [storeKey("l:" + digest)],
                arguments: [Self.whole(block.end), Self.fraction(amount)]
            )
            block.count -= min(count, block.count)
            // A lower witness is never wrong; where the slots were not returned, it only proves less.
            block.end -= amount
            blocks[digest] = block
            send(.other, command, now)
        case .gate(let key, let delay, let rate):
            guard phase == .joined else { return }
            let digest = digest(of: key)
            let interval = rate?.interval.map { Double($0) / 1_000 } ?? 0
            let command = Command(
                script: .gate,
                keys: [storeKey("g"), storeKey("k"), storeKey("l:" + digest)],
                arguments: [
                    digest, Self.whole(Double(delay.wholeNanoseconds) / 1_000), key.description,
                    Self.fraction(interval), "\(rate?.burst ?? 1)", "\(Self.mostGates)",
                ]
            )
            send(.other, command, now)
        case .adjust(let key, let units, let rate):
            guard phase == .joined, let interval = rate.interval else { return }
            let shrinking = -Double(units) * Double(interval) / 1_000
            let arguments = ["", Self.whole(shrinking)]
            let keys = [storeKey("l:" + digest(of: key))]
            send(.other, Command(script: .giveBack, keys: keys, arguments: arguments), now)
        case .quota(let ask):
            guard phase == .joined else {
                return actions.append(.news(limiter, .quota(ask.key, account: ask.account, .lost)))
            }
            send(.quota(limiter, ask), quotaCommand(ask), now)
        }
    }

    /// Carries out an order for credentials; the number returns with its reply.
    package mutating func order(_ order: CredentialOrder, of record: SharedRecord, number: Int, _ now: Instant) {
        let keys = [storeKey("t:" + digest(of: "token " + record.name)), storeKey("k"), storeKey("m")]
        let arguments = record.arguments(of: order, me: me)
        submit(.credentials(number), Command(script: .credentials, keys: keys, arguments: arguments), now)
    }

    /// Carries out an order for a board; the number returns with its reply.
    package mutating func order(_ order: BoardOrder, of record: BoardRecord, number: Int, _ now: Instant) {
        let name = digest(of: "run " + record.name)
        let keys = BoardRecord.keys.map { storeKey($0 + name) }
        nextBoardBeat = min(nextBoardBeat ?? Instant(nanoseconds: .max), now.advanced(by: record.lease / 3))
        let command = Command(script: .board, keys: keys, arguments: record.arguments(of: order))
        submit(.board(number, order), command, now)
    }

    /// Sends a command as soon as there is a connection, which the first orders often precede.
    mutating func submit(_ subject: Subject, _ command: Command, _ now: Instant) {
        lastDemand = now
        if phase == .left { rejoin(now) }
        guard phase != .closed else {
            return early.append(Pending(subject: subject, command: command, sent: now))
        }
        send(subject, command, now)
    }

    /// Reports that an order has no reply.
    mutating func lose(_ pending: Pending) {
        switch pending.subject {
        case .credentials(let number): actions.append(.credentials(number, nil, sent: pending.sent))
        case .board(let number, _): actions.append(.board(number, nil))
        case .beat, .ask, .quota, .other: break
        }
    }

    /// Deregisters; the last command before the process ends.
    package mutating func leave(_ now: Instant) {
        guard phase == .joined else { return }
        send(.other, leaveCommand, now)
        phase = .left
        isKnown = false
    }

    /// Slots that are held are void, because the machine has slept.
    package mutating func slept() {
        clock = StoreClock()
        actions.append(.news(nil, .void))
    }

    // MARK: - Commands

    var me: String { settings.name + " " + settings.id }

    var leaveCommand: Command {
        Command(script: .leave, keys: [storeKey("m"), storeKey("k")], arguments: [me])
    }

    mutating func send(_ subject: Subject, _ command: Command, _ now: Instant) {
        pending.append(Pending(subject: subject, command: command, sent: now))
        actions.append(.send(command, asText: false))
    }

    mutating func sendBeat(joins: Bool, _ now: Instant) {
        nextBeat = now.advanced(by: settings.beat)
        let command = Command(
            script: .beat,
            keys: [storeKey("m"), storeKey("k"), storeKey("g")],
            arguments: [
                me, settings.name, joins ? isAlone ? "2" : "1" : "0", "\(mostMembers)", micro(settings.lapse),
                micro(settings.forget),
                Self.whole(gateSequence), born.map(Self.whole) ?? "",
            ]
        )
        send(.beat, command, now)
    }

    func askCommand(_ ask: RateAsk, interval: Double) -> Command {
        let digest = digest(of: ask.key)
        let horizon = max(settings.horizon, clock.leastRoundTrip * 4)
        return Command(
            script: .ask,
            keys: [storeKey("m"), storeKey("k"), storeKey("g"), storeKey("l:" + digest)],
            arguments: [
                me, "\(mostMembers)", micro(settings.lapse), micro(settings.forget), Self.fraction(interval),
                "\(ask.rate.burst)", "\(ask.count)", blocks[digest].map { Self.whole($0.end) } ?? "0",
                ask.holdsNone ? "1" : "0", micro(horizon), micro(settings.lapse), digest, ask.key.description, "64",
                born.map(Self.whole) ?? "", "\(ask.least)",
            ]
        )
    }

    mutating func quotaCommand(_ ask: QuotaAsk) -> Command {
        let digest = digest(of: "quota \(ask.key.description)\0\(ask.account.map { "a" + $0 } ?? "")")
        if quotas.count >= Self.mostQuotas { quotas = [:] }
        quotas[digest] = (ask.key, ask.account)
        let reading = ask.reading
        return Command(
            script: .quota,
            keys: [storeKey("q:" + digest), storeKey("g"), storeKey("k")],
            arguments: [
                "\(ask.count)", ask.holdsNone ? "1" : "0", micro(max(settings.horizon, clock.leastRoundTrip * 4)),
                "\(active)", "\(ask.returned)", Self.whole(ask.window), Self.fraction(ask.reserve.share),
                "\(ask.reserve.least)", digest, ask.key.description, "\(Self.mostGates / 2)",
                ask.limit.map { "\($0)" } ?? "",
                ask.interval.map { Self.fraction(Double($0.wholeNanoseconds) / 1_000) } ?? "",
                reading.map { "\($0.remaining)" } ?? "", reading.map { micro($0.reset) } ?? "",
                reading.map { "\($0.inFlight)" } ?? "",
            ]
        )
    }

    func storeKey(_ part: String) -> String { "lade:1:{\(settings.fleet)}:\(part)" }

    /// The digest that stands for a service or for credentials in the store.
    func digest(of key: ServiceKey) -> String { digest(of: key.description) }

    func digest(of name: String) -> String {
        let text = Array(settings.fleet.utf8) + [0] + Array(name.utf8) + [0]
        let digits = Array("0123456789abcdef".utf8)
        let bytes = SHA256.hash(text).prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: bytes, as: UTF8.self)
    }

    func micro(_ duration: Duration) -> String { Self.whole(Double(duration.wholeNanoseconds) / 1_000) }

    /// A number without a fraction.
    static func whole(_ value: Double) -> String { "\(Int64(max(-9e15, min(9e15, value.rounded()))))" }

    /// A number with three decimals.
    static func fraction(_ value: Double) -> String {
        let thousandths = Int64(max(0, min(9e15, (value * 1_000).rounded())))
        let rest = "\(thousandths % 1_000)"
        return "\(thousandths / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }
}
