/// The addresses of a route that worked, and those that failed lately, so that the next race begins with an address that works.
///
/// A value: the results of attempts go in, and the known addresses come out.
struct RouteMemory {
    /// The known facts about the addresses of a route.
    struct Known: Equatable {
        /// The address that worked last.
        var worked: SocketAddress?
        /// The addresses that failed since they last worked.
        var failed: Set<SocketAddress> = []
    }

    /// How long an outcome counts, in nanoseconds.
    static let life: Int64 = 600_000_000_000
    /// The largest number of routes that are remembered.
    static let most = 256

    private struct Entry {
        var worked: (address: SocketAddress, at: Int64)?
        var failed: [SocketAddress: Int64] = [:]

        func isCurrent(at now: Int64) -> Bool {
            worked.map { $0.at + RouteMemory.life > now } ?? false
                || failed.values.contains { $0 + RouteMemory.life > now }
        }
    }

    private var entries: [Route: Entry] = [:]

    /// The number of routes that are remembered.
    var count: Int { entries.count }

    /// The known facts about a route.
    func known(_ route: Route, at now: Int64) -> Known {
        guard let entry = entries[route] else { return Known() }
        return Known(
            worked: entry.worked.flatMap { $0.at + Self.life > now ? $0.address : nil },
            failed: Set(entry.failed.filter { $0.value + Self.life > now }.keys)
        )
    }

    /// Records that an address worked.
    mutating func worked(_ address: SocketAddress, for route: Route, at now: Int64) {
        makeRoom(for: route, at: now)
        entries[route, default: Entry()].worked = (address, now)
        entries[route]?.failed[address] = nil
    }

    /// Records that an address failed.
    mutating func failed(_ address: SocketAddress, for route: Route, at now: Int64) {
        makeRoom(for: route, at: now)
        if entries[route]?.worked?.address == address { entries[route]?.worked = nil }
        entries[route, default: Entry()].failed[address] = now
    }

    private mutating func makeRoom(for route: Route, at now: Int64) {
        guard entries.count >= Self.most, entries[route] == nil else { return }
        entries = entries.filter { $0.value.isCurrent(at: now) }
        if entries.count >= Self.most { entries = [:] }
    }
}
