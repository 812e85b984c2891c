import Foundation
import LadeRedis

/// The scripts of the store as a pure value: the same arguments give the same replies, with the time as an argument.
struct StoreModel {
    private struct Limit {
        var tat: Double
        var interval: Double
        var member: String
        var heard: Double
        var seen: Double
    }

    private struct Gate {
        var end: Double
        var sequence: Double
        var key: String
    }

    private var members: [String: Double] = [:]
    private var born: Double?
    private var seen = 0.0
    private var least = 1.0
    private var sequence = 0.0
    private var gates: [String: Gate] = [:]
    private var limits: [String: Limit] = [:]
    private var records: [String: CredentialModel] = [:]

    /// Loses all contents.
    mutating func flush() { self = StoreModel() }

    /// Forgets delays and one limit.
    mutating func forgetGates(limit: String) { (gates, sequence, limits[limit]) = ([:], 0, nil) }

    mutating func run(_ command: FleetMember.Command, now: Double) -> StoreReply {
        let arguments = command.arguments
        switch command.script {
        case .leave:
            guard members.removeValue(forKey: arguments[0]) != nil else { return .integer(0) }
            if least > 1 { least -= 1 }
            return .integer(1)
        case .giveBack:
            guard let tat = limits[command.keys[0]]?.tat, abs(tat - Self.number(arguments[0])) <= 1 else {
                return .integer(0)
            }
            limits[command.keys[0]]?.tat = (tat - Self.number(arguments[1])).rounded(.up)
            return .integer(1)
        case .gate: return gate(command.keys[2], arguments, now)
        case .beat: return beat(arguments, now)
        case .ask: return ask(command.keys[3], arguments, now)
        case .credentials:
            let names = Array(members.keys)
            return records[command.keys[0], default: CredentialModel()]
                .run(arguments, now: now, born: born, members: names)
        }
    }

    private mutating func census(
        _ me: String,
        _ known: Double,
        _ lapse: Double,
        _ forget: Double,
        _ from: String,
        _ now: Double,
        probes: Bool = false
    )
        -> (n: Double, a: Double, born: Double)
    {
        if from != self.born.map(Self.text), known > least { least = known }
        var born = self.born ?? now
        let back = (self.born == nil ? now : seen) - now
        if back > 1_000 {
            born -= back
            for name in members.keys { members[name]? -= back }
            for name in gates.keys { gates[name]?.end -= back }
        }
        (self.born, seen) = (born, now)
        if !probes { members[me] = now }
        members = members.filter { $0.value > now - forget }
        var n = Double(members.count)
        let a = Double(members.values.count { $0 >= now - lapse })
        if now - born < forget, least > n { n = least }
        return (max(n, 1), max(a, 1), born)
    }

    private mutating func beat(_ arguments: [String], _ now: Double) -> StoreReply {
        let me = arguments[0]
        var clash: Int64 = 0
        if arguments[2] == "1" {
            for (name, time) in members where name != me && name.hasPrefix(arguments[1] + " ") {
                if time < now - Self.number(arguments[4]) { members[name] = nil } else { clash = 1 }
            }
        }
        let (n, a, born) = census(
            me,
            Self.number(arguments[3]),
            Self.number(arguments[4]),
            Self.number(arguments[5]),
            arguments[7],
            now,
            probes: arguments[2] == "2"
        )
        let from = arguments[7] == Self.text(born) ? Self.number(arguments[6]) : -1
        var list: [StoreReply] = []
        for (digest, gate) in gates where sequence > from && gate.sequence > from && gate.end > now {
            list += [Self.reply(digest), Self.reply(Self.text(gate.end)), Self.reply(gate.key)]
        }
        return .list([
            Self.reply(Self.text(now)), .integer(Int64(n)), .integer(Int64(a)), Self.reply(Self.text(born)),
            .integer(Int64(sequence)), .integer(clash), .list(list),
        ])
    }

    private mutating func ask(_ key: String, _ arguments: [String], _ now: Double) -> StoreReply {
        let values = arguments.map(Self.number)
        let (me, forget, mine, burst, horizon) = (arguments[0], values[3], values[4], values[5], values[9])
        let wanted = min(values[6], values[13])
        let (n, a, born) = census(me, values[1], values[2], forget, arguments[14], now)
        var limit = limits[key]
        if let seen = limit?.seen, seen - now > 1_000 {
            limit?.tat -= seen - now
            limit?.heard -= seen - now
        }
        var differs: Int64 = 0
        var (interval, member, heard) = (mine, me, now)
        if let limit {
            let isRecent = limit.member != me && now - limit.heard <= forget
            if isRecent, limit.interval != mine { differs = 1 }
            if isRecent, mine < limit.interval {
                (interval, member, heard) = (limit.interval, limit.member, limit.heard)
            }
        }
        let spacing = interval * n / a
        var lost: Int64 = 0
        var tat = limit?.tat ?? (now - born < values[10] ? now + horizon + (burst - 1) * spacing : now)
        let witness = min(values[7], now + max(horizon, n * interval) + burst * interval)
        if witness > tat + 1 {
            tat = max(witness, now + horizon)
            lost = 1
        }
        var gate = gates[arguments[11]]?.end ?? 0
        if gate > now { tat = max(tat, gate + (burst - 1) * interval) } else { gate = 0 }
        let base = max(tat, now)
        var count = min(
            wanted,
            ((now + horizon - base) / spacing).rounded(.down) + burst,
            max(1, (horizon / (spacing * a)).rounded(.down))
        )
        if count < 1 { count = arguments[8] == "1" ? 1 : 0 }
        if count > 0 { tat = (base + count * spacing).rounded(.up) }
        // The store keeps whole microseconds.
        tat = tat.rounded(.toNearestOrEven)
        limits[key] = Limit(tat: tat, interval: interval, member: member, heard: heard, seen: now)
        return .list([
            Self.reply(Self.text(now)), Self.reply(Self.text(base)), Self.reply(String(format: "%.3f", spacing)),
            .integer(Int64(count)), Self.reply(Self.text(tat)), .integer(Int64(n)), .integer(Int64(a)),
            .integer(lost), .integer(differs), Self.reply(Self.text(gate)), Self.reply(Self.text(born)),
        ])
    }

    private mutating func gate(_ limit: String, _ arguments: [String], _ now: Double) -> StoreReply {
        let end = now + max(0, min(Self.number(arguments[1]), 86_400_000_000))
        if let old = gates[arguments[0]]?.end, old >= end { return .integer(0) }
        let most = Int(Self.number(arguments[5]))
        if gates[arguments[0]] == nil, gates.count >= most {
            gates = gates.filter { $0.value.end > now }
            if gates.count >= most { return .integer(0) }
        }
        sequence += 1
        gates[arguments[0]] = Gate(end: end.rounded(.toNearestOrEven), sequence: sequence, key: arguments[2])
        let interval = Self.number(arguments[3])
        if interval > 0, let tat = limits[limit]?.tat {
            limits[limit]?.tat = max(tat, end + (Self.number(arguments[4]) - 1) * interval).rounded(.toNearestOrEven)
        }
        return .integer(1)
    }

    private static func number(_ text: String) -> Double { Double(text) ?? 0 }
    private static func text(_ value: Double) -> String { String(format: "%.0f", value) }
    private static func reply(_ text: String) -> StoreReply { .text(Array(text.utf8)) }
}
