import LadeCore

/// The keys of a request whose limits are all kept, each once; the first is that of the key rule.
struct RateKeys: Sendable {
    let all: [ServiceKey]

    init(_ first: ServiceKey, _ further: [ServiceKey]) {
        all = further.reduce(into: [first]) { if !$0.contains($1) { $0.append($1) } }
    }
}

extension RateLimiterState {
    /// The result of requesting a slot of each key.
    enum SetArrival {
        /// It starts, with these numbers; a key that nothing limits has none.
        case started([(key: ServiceKey, start: UInt64)])
        /// The key at this position has none; no slot of another key was kept.
        case obstacle(Int, Arrival)
    }

    /// Takes a slot of each key, or none and a queue position of the first that has no slot.
    mutating func arrive(
        _ keys: RateKeys,
        _ priority: Request.Priority,
        deadline: Instant?,
        call: Call,
        taskPriority: UInt8,
        granted: (id: UInt64, index: Int, start: UInt64)?,
        cost: Int = 1,
        now: Instant
    ) -> (SetArrival, Wakes) {
        var wakes: Wakes = []
        var taken: [(index: Int, start: UInt64)] = granted.map { [($0.index, $0.start)] } ?? []
        for (index, key) in keys.all.enumerated() where index != granted?.index {
            let (arrival, woken) = arrive(
                key,
                priority,
                deadline: deadline,
                call: call,
                taskPriority: taskPriority,
                id: granted?.id,
                isCounted: index == 0,
                cost: cost,
                now: now
            )
            wakes += woken
            if case .started(let start) = arrival {
                if let start { taken.append((index, start)) }
                continue
            }
            for (index, start) in taken {
                wakes += finish(
                    start,
                    of: call.account,
                    keys.all[index],
                    isUnused: true,
                    isCounted: index == 0,
                    cost: cost,
                    now: now
                )
            }
            return (.obstacle(index, arrival), wakes)
        }
        taken.sort { $0.index < $1.index }
        return (.started(taken.map { (keys.all[$0.index], $0.start) }), wakes)
    }
}
