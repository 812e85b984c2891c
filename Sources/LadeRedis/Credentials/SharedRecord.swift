import LadeCore
package import LadePolicies

/// A record of credentials in the store, as one sharer of it uses it.
package struct SharedRecord: Sendable {
    package var name: String
    /// The number of the sharer, which tells those of one process apart.
    package var sharer: Int
    package var rules: CredentialRules

    package init(name: String, sharer: Int, rules: CredentialRules) {
        (self.name, self.sharer, self.rules) = (name, sharer, rules)
    }

    /// The arguments of the script for an order.
    package func arguments(of order: CredentialOrder, me: String) -> [String] {
        let word: String
        var rest: [String]
        switch order {
        case .take(let held), .offer(let held):
            word = if case .take = order { "take" } else { "offer" }
            rest = ["\(held.version)", held.value?.reveal() ?? "", life(held.life), "\(held.fence)"]
            rest += [held.leaseRest, rules.lease, rules.doubt].map(micro)
            rest += ["\(rules.limit)", micro(rules.window), rules.hasUser ? "1" : "0"]
        case .sending(let fence): (word, rest) = ("sending", ["\(fence)", micro(rules.leastRest)])
        case .put(let base, let value, let life):
            (word, rest) = ("put", [base.map(String.init) ?? "", value.reveal(), self.life(life)])
        case .fail(let fence, let failure):
            let reason = failure.map { ($0.needsUser ? "user " : "") + $0.detail } ?? ""
            let memory = failure.map { $0.needsUser ? "" : micro(rules.memory) } ?? "-1"
            (word, rest) = ("fail", ["\(fence)", reason, memory, micro(rules.mostMemory), micro(rules.doubt)])
        case .forget: (word, rest) = ("forget", [])
        }
        return [word, "\(me) \(sharer)"] + rest
    }

    private func life(_ life: Duration?) -> String { life.map(micro) ?? "" }

    private func micro(_ duration: Duration) -> String {
        "\(min(max(0, duration.wholeNanoseconds), 4_000_000_000_000_000_000) / 1_000)"
    }
}

extension CredentialReply {
    /// Reads a reply of the script; nil for anything that it does not return.
    package init?(_ reply: StoreReply) {
        guard case .list(let all) = reply, all.count > 1, all[0].number != nil, let word = all[1].string else {
            return nil
        }
        // The time of the store is of no use here.
        let items = all.dropFirst().map(\.self)
        func number(_ index: Int) -> Int? {
            guard let number = items[index].number, (0...9e15).contains(number) else { return nil }
            return Int(number)
        }
        // The time that a text says; nil for an empty one.
        func time(_ index: Int) -> Duration?? {
            if items[index].string == "" { return .some(nil) }
            return number(index).map { .microseconds($0) }
        }
        switch (word, items.count) {
        case ("use", 4):
            guard let version = number(1), let text = items[2].string, let life = time(3) else { return nil }
            self = .use(CredentialRecord(version: version, value: Secret(text), life: life))
        case ("out", 2):
            guard let version = number(1) else { return nil }
            self = .signedOut(version: version)
        case ("wait", 3):
            guard let rest = number(1) else { return nil }
            self = .wait(.microseconds(rest), isInDoubt: items[2].string == "1")
        case ("lease", 4):
            guard let fence = number(1), let version = number(2), let text = items[3].string else { return nil }
            self = .lease(fence: fence, version: version, text.isEmpty ? nil : Secret(text))
        case ("failed", 3):
            guard let text = items[1].string, let rest = time(2) else { return nil }
            let needsUser = text.utf8.starts(with: "user ".utf8)
            let detail = String(Substring(text.utf8.dropFirst(needsUser ? 5 : 0))).escapedForDisplay(limit: 120)
            self = .failed(CredentialFailure(needsUser: needsUser, detail: detail), for: rest)
        case ("excess", 1): self = .excessive
        case ("done", 1): self = .done
        case ("refused", 1): self = .refused
        default: return nil
        }
    }
}
