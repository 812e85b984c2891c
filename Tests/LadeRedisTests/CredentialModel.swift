import Foundation
import LadeRedis

/// The script of credentials as a pure value, for one record.
struct CredentialModel: Hashable {
    /// The states of a record.
    enum Status: Hashable {
        case idle
        case leased
        case sent
        case failed
        case out
    }

    /// A rule that is broken on purpose.
    enum Break: String, CaseIterable {
        /// A result is stored whatever it started from.
        case putWithoutBase
        /// A lease that ended after sending is free immediately.
        case takeOverWithoutDoubt
        /// The mark is set without the lease.
        case sendWithoutFence
        /// A new store grants leases before members have offered what it lost.
        case leaseInNewStore
    }

    private(set) var version = 0.0
    private(set) var value = ""
    private(set) var end = 0.0
    private(set) var status = Status.idle
    private(set) var fence = 0.0
    private(set) var leaseEnd = 0.0
    private(set) var holder = ""
    private(set) var isTakenOver = false
    private(set) var reason = ""
    private(set) var failureEnd = 0.0
    private(set) var opening = 0.0
    private(set) var failures = 0.0
    private(set) var starts: [Double] = []
    private(set) var made = 0.0
    var broken: Break?

    mutating func run(_ arguments: [String], now: Double, born: Double?, members: [String]) -> StoreReply {
        let (order, me) = (arguments[0], arguments[1])
        switch order {
        case "sending":
            guard broken == .sendWithoutFence || (fence == number(arguments[2]) && status == .leased),
                leaseEnd - now >= number(arguments[3])
            else { return texts(now, "refused") }
            touch(now)
            (status, starts) = (.sent, starts + [now])
            return texts(now, "done")
        case "put":
            if arguments[2].isEmpty || number(arguments[2]) >= version || broken == .putWithoutBase {
                set(max(version + 1, number(arguments[2]) + 1, now), arguments[3], Double(arguments[4]), now)
            }
            return newest(now)
        case "fail": return fail(arguments, now)
        case "forget":
            set(max(version + 1, now), "", nil, now)
            status = .out
            return texts(now, "done")
        default: return take(order, me, arguments.dropFirst(2).map(\.self), now, born, members)
        }
    }

    private mutating func fail(_ arguments: [String], _ now: Double) -> StoreReply {
        guard fence == number(arguments[2]), status == .leased || status == .sent else { return texts(now, "done") }
        touch(now)
        let given = Double(arguments[4])
        if let given, given < 0 {
            status = .idle
            return texts(now, "done")
        }
        failures += 1
        let memory = given.map { min($0 * pow(2, min(failures - 1, 20)), number(arguments[5])) }
        status = .failed
        reason = arguments[3]
        failureEnd = memory.map { now + $0 } ?? 0
        opening = memory == nil && isTakenOver ? now + number(arguments[6]) : 0
        if opening > 0 { return texts(now, "wait", arguments[6], "1") }
        return texts(now, "failed", reason, memory.map(text) ?? "")
    }

    private mutating func take(
        _ order: String,
        _ me: String,
        _ rest: [String],
        _ now: Double,
        _ born: Double?,
        _ members: [String]
    ) -> StoreReply {
        let have = number(rest[0])
        let (lease, period, hasUser) = (number(rest[5]), number(rest[8]), rest[9] == "1")
        let doubt = number(rest[6])
        if status != .out, have > version || version == 0, !rest[1].isEmpty {
            set(max(have, 1), rest[1], Double(rest[2]), now)
        }
        if number(rest[3]) > fence, max(have, 1) >= version {
            touch(now)
            (fence, status, holder) = (number(rest[3]), .sent, me)
            leaseEnd = now + min(number(rest[4]), lease)
        }
        if status == .out, hasUser { return newest(now) }
        if order == "offer" { return texts(now, "done") }
        if version > have, !value.isEmpty, end == 0 || end > now { return newest(now) }
        if status == .failed {
            if opening > now { return texts(now, "wait", text(min(opening - now, doubt)), "1") }
            if failureEnd == 0 || failureEnd > now {
                return texts(now, "failed", reason, failureEnd == 0 ? "" : text(failureEnd - now))
            }
        }
        let leaseEnd = min(self.leaseEnd, now + lease)
        if holder != me, status == .leased || status == .sent {
            let parts = holder.split(separator: " ")
            let isDead =
                !members.contains(parts.prefix(2).joined(separator: " "))
                && members.contains { $0.hasPrefix((parts.first ?? "") + " ") }
            let isOpen = status == .sent && !isDead && broken != .takeOverWithoutDoubt
            let free = isOpen ? leaseEnd + doubt : leaseEnd
            if free > now { return texts(now, "wait", text(free - now), leaseEnd <= now ? "1" : "0") }
        }
        let isNew = made == 0 || made >= born ?? now
        if doubt > 0, isNew, now - (born ?? now) < 1_000_000, broken != .leaseInNewStore {
            return texts(now, "wait", "1000000", "0")
        }
        starts.removeAll { abs(now - $0) >= period }
        if starts.count >= Int(number(rest[7])) { return texts(now, "excess") }
        touch(now)
        isTakenOver = (status == .sent && holder != me) || (status == .leased && isTakenOver)
        fence = max(fence + 1, now)
        (status, self.leaseEnd, holder) = (.leased, now + lease, me)
        return texts(now, "lease", text(fence), text(version), value)
    }

    private mutating func set(_ version: Double, _ value: String, _ life: Double?, _ now: Double) {
        touch(now)
        (self.version, self.value, end) = (version, value, life.map { now + $0 } ?? 0)
        (status, holder, isTakenOver, failures) = (.idle, "", false, 0)
    }

    private mutating func touch(_ now: Double) { if made == 0 { made = now } }

    private func newest(_ now: Double) -> StoreReply {
        if value.isEmpty { return texts(now, "out", text(version)) }
        return texts(now, "use", text(version), value, end == 0 ? "" : text(max(0, end - now)))
    }

    private func number(_ text: String) -> Double { Double(text) ?? 0 }
    private func text(_ value: Double) -> String { "\(Int(value))" }
    private func texts(_ now: Double, _ texts: String...) -> StoreReply {
        .list(([text(now)] + texts).map { .text(Array($0.utf8)) })
    }
}
