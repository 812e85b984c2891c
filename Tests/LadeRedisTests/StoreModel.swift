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
        var top: Double
    }

    private struct Gate {
        var end: Double
        var sequence: Double
        var key: String
    }

    private struct Quota {
        var left: Double?
        var early: Double?
        var limit = 0.0
        var rest: Double?
        var last = 0.0
        var got = 0.0
        var seen: Double?
        var window = 0.0
    }

    private var members: [String: Double] = [:]
    private var born: Double?
    private var seen = 0.0
    private var least = 1.0
    private var sequence = 0.0
    private var gates: [String: Gate] = [:]
    private var limits: [String: Limit] = [:]
    private var quotas: [String: Quota] = [:]
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
        case .giveBack where arguments[0].isEmpty:
            guard let tat = limits[command.keys[0]]?.tat else { return .integer(0) }
            let by = -Self.number(arguments[1])
            limits[command.keys[0]]?.tat = by > 0 ? max(tat, now) + by : max(min(tat, now), tat + by)
            return .integer(1)
        case .giveBack:
            guard let tat = limits[command.keys[0]]?.tat, abs(tat - Self.number(arguments[0])) <= 1 else {
                return .integer(0)
            }
            limits[command.keys[0]]?.tat = (tat - Self.number(arguments[1])).rounded(.up)
            return .integer(1)
        case .gate: return gate(command.keys[2], arguments, now)
        case .quota: return quota(command.keys[0], arguments, now)
        case .beat: return beat(arguments, now)
        case .ask: return ask(command.keys[3], arguments, now)
        case .credentials:
            let names = Array(members.keys)
            return records[command.keys[0], default: CredentialModel()]
                .run(arguments, now: now, born: born, members: names)
        // Compared apart, as orders and replies.
        case .board: return .nothing
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
            limit?.top -= seen - now
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
        if witness > (limit?.top ?? tat) + 1 {
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
        if count < values[15] { count = arguments[8] == "1" ? values[15] : 0 }
        if count > 0 { tat = (base + count * spacing).rounded(.up) }
        // The store keeps whole microseconds.
        tat = tat.rounded(.toNearestOrEven)
        let top = max(limit?.top ?? tat, tat)
        limits[key] = Limit(tat: tat, interval: interval, member: member, heard: heard, seen: now, top: top)
        return .list([
            Self.reply(Self.text(now)), Self.reply(Self.text(base)), Self.reply(String(format: "%.3f", spacing)),
            .integer(Int64(count)), Self.reply(Self.text(tat)), .integer(Int64(n)), .integer(Int64(a)),
            .integer(lost), .integer(differs), Self.reply(Self.text(gate)), Self.reply(Self.text(born)),
        ])
    }

    private mutating func gate(_ limit: String, _ arguments: [String], _ now: Double) -> StoreReply {
        let end = now + max(0, min(Self.number(arguments[1]), 86_400_000_000))
        guard notice(arguments[0], end, arguments[2], most: Int(Self.number(arguments[5])), now) else {
            return .integer(0)
        }
        let interval = Self.number(arguments[3])
        if interval > 0, let tat = limits[limit]?.tat {
            limits[limit]?.tat = max(tat, end + (Self.number(arguments[4]) - 1) * interval).rounded(.toNearestOrEven)
        }
        return .integer(1)
    }

    private mutating func notice(_ field: String, _ end: Double, _ key: String, most: Int, _ now: Double) -> Bool {
        if let old = gates[field]?.end, old >= end { return false }
        if gates[field] == nil, gates.count >= most {
            gates = gates.filter { $0.value.end > now }
            if gates.count >= most { return false }
        }
        sequence += 1
        gates[field] = Gate(end: end.rounded(.toNearestOrEven), sequence: sequence, key: key)
        return true
    }

    private mutating func quota(_ key: String, _ arguments: [String], _ now: Double) -> StoreReply {
        let values = arguments.map { Double($0) }
        let numbers = values.map { $0 ?? 0 }
        let (wanted, none, horizon, active) = (numbers[0], numbers[1], numbers[2], numbers[3])
        var quota = quotas[key] ?? Quota()
        if let seen = quota.seen, seen - now > 1_000 {
            quota.early? -= seen - now
            quota.last -= seen - now
        }
        if let early = quota.early, now >= early + 1_000_000 { quota.left = nil }
        if quota.window == numbers[5] { quota.left? += numbers[4] }
        quota.limit = max(quota.limit, numbers[11])
        quota.rest = quota.rest ?? values[12]
        if let remaining = values[13] {
            let (end, most) = (now + numbers[14], Int(numbers[10]))
            if let left = quota.left, let early = quota.early, abs(end - early) < 1_500_000 {
                (quota.early, quota.left) = (min(early, end), min(left, remaining - numbers[15]))
            } else if quota.left == nil || end - now >= 1_000_000 {
                quota.left = remaining - max(numbers[15], quota.got - 1)
                (quota.early, quota.got, quota.window) = (end, 0, quota.window + 1)
                (quota.limit, quota.rest) = (values[11] ?? remaining + 1, values[12] ?? quota.rest ?? 1_000_000)
                _ = notice("q" + arguments[8], end + 1_000_000, arguments[9], most: most, now)
            }
            if let left = quota.left, left <= 0, let early = quota.early {
                _ = notice("x" + arguments[8], early + 1_000_000, arguments[9], most: most, now)
            }
        }
        guard let rest = quota.rest else {
            return .list(
                [Self.reply(Self.text(now)), .integer(0), .integer(0)] + ["0", "0", "0"].map(Self.reply)
                    + [.integer(0), .integer(0)]
            )
        }
        var (count, first, spacing) = (0.0, max(now, quota.last + rest), rest)
        if wanted > 0, let left = quota.left, left > 0, let early = quota.early {
            let free = left - max(numbers[7], (quota.limit * numbers[6]).rounded(.down))
            if free > 0 {
                (first, spacing) = (now, 0)
                count = min(wanted, free, max(1, (left / (2 * active)).rounded(.down)))
            } else {
                spacing = max(1, (early - max(now, quota.last)) / (left + 1))
                first = max(now, quota.last + spacing)
                count = min(
                    wanted,
                    left,
                    ((now + horizon - first) / spacing).rounded(.down) + 1,
                    max(1, (horizon / (spacing * active)).rounded(.down))
                )
                if count < 1 { count = none }
            }
            quota.left = left - count
        } else if wanted > 0, quota.left == nil, none == 1 || first <= now + horizon {
            count = 1
        }
        if count > 0 {
            quota.last = first + (count - 1) * spacing
            let edge = (quota.early ?? 0) - 1_000_000
            if quota.last >= edge {
                quota.got += min(count, spacing > 0 ? ((quota.last - edge) / spacing).rounded(.down) + 1 : count)
            }
        }
        // The store keeps whole microseconds.
        quota.last = quota.last.rounded(.toNearestOrEven)
        quota.seen = now
        quotas[key] = quota
        return .list([
            Self.reply(Self.text(now)), .integer(1), .integer(Int64(count)), Self.reply(Self.text(first)),
            Self.reply(String(format: "%.3f", spacing)), Self.reply(Self.text(quota.early ?? 0)),
            .integer(quota.left.map { $0 <= 0 } ?? false ? 1 : 0), .integer(Int64(quota.window)),
        ])
    }

    private static func number(_ text: String) -> Double { Double(text) ?? 0 }
    private static func text(_ value: Double) -> String { String(format: "%.0f", value) }
    private static func reply(_ text: String) -> StoreReply { .text(Array(text.utf8)) }
}
