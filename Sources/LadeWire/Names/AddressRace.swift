/// The race of connections to the addresses of a host (RFC 8305 §5).
///
/// A value: failures, successes and the time go in, and what to connect to next comes out.
struct AddressRace {
    /// The loop's next step.
    enum Action: Equatable {
        /// Begin to connect to the address at this index.
        case connect(Int)
        /// Wait until ``due`` or the next event.
        case wait
        /// Every attempt failed; with the most telling error number.
        case lost(Int32)
    }

    /// The time between the starts of two attempts, in nanoseconds.
    static let delay: Int64 = 250_000_000
    /// The largest number of addresses that are tried.
    static let most = 16

    let addresses: [SocketAddress]
    private var started = 0
    private var running = 0
    private var worst: Int32 = 0
    /// When the next attempt starts if none ends before; the greatest value when there is none.
    private(set) var due = Int64.max

    /// Makes a race over addresses in the order of the resolver.
    ///
    /// The families alternate, and the first address's family begins (RFC 8305 §4). An address that worked comes before
    /// them, and those that failed come after them.
    init(_ resolved: [SocketAddress], known: RouteMemory.Known = RouteMemory.Known()) {
        var first = resolved.filter { $0.isV6 == resolved.first?.isV6 }[...]
        var second = resolved.filter { $0.isV6 != resolved.first?.isV6 }[...]
        var order: [SocketAddress] = []
        while order.count < resolved.count {
            if let address = first.popFirst() { order.append(address) }
            if let address = second.popFirst() { order.append(address) }
        }
        let worked = order.filter { $0 == known.worked }
        let failed = order.filter { known.failed.contains($0) && $0 != known.worked }
        let others = order.filter { $0 != known.worked && !known.failed.contains($0) }
        addresses = Array((worked + others + failed).prefix(Self.most))
    }

    /// Starts the first attempt.
    mutating func start(at now: Int64) -> Action { next(at: now) }

    /// Records that an attempt failed; the next one starts immediately.
    mutating func failed(_ code: Int32, at now: Int64) -> Action {
        running -= 1
        if Self.weight(code) > Self.weight(worst) || worst == 0 { worst = code }
        return next(at: now)
    }

    /// Starts the next attempt when its time has come.
    mutating func expire(at now: Int64) -> Action { now >= due ? next(at: now) : .wait }

    private mutating func next(at now: Int64) -> Action {
        guard started < addresses.count else {
            due = .max
            return running == 0 ? .lost(worst) : .wait
        }
        started += 1
        running += 1
        due = started < addresses.count ? now + Self.delay : .max
        return .connect(started - 1)
    }

    /// How much an error says: that a host refuses is more than that it cannot be reached.
    private static func weight(_ code: Int32) -> Int {
        switch ConnectFailure(code) {
        case .refused: 3
        case .unreachable: 2
        case .other: 1
        }
    }
}
