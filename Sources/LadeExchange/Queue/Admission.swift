package import LadeCore

/// Decides which calls may use the network, with queues for each host and priority and with connection limits.
///
/// A queue of the library's own: libcurl's costs 50 µs per request, does not keep the order, and has neither events nor
/// time-outs. A transport starts only the calls that may run, and calls that libcurl queues nevertheless are returned to this queue
/// (``takeBack(_:host:kind:priority:)``). A free connection goes to the highest waiting priority, then to the hosts in
/// turn, then to the earliest arrival. A value: requests and endings go in, and the calls that may start come out.
package struct Admission: Sendable {
    /// How many calls a connection to the host carries.
    package enum Multiplexing: Sendable {
        /// One call at a time (HTTP/1.1), or not known yet.
        case none
        /// Many calls at a time (HTTP/2).
        case streams
    }

    /// How a call uses a connection.
    package enum Kind: Int, Sendable {
        /// Until the response is complete, and together with other calls where the host multiplexes.
        case shared
        /// Alone, until the reader has finished: a streamed response.
        ///
        /// One connection to each host is reserved for shared calls, so that the reader of a stream can make another
        /// request to the same host.
        case exclusive
    }

    /// The result for a call that requests a connection.
    package enum Decision: Sendable, Equatable {
        /// Start immediately.
        case start
        /// Wait; the position is needed to withdraw.
        case wait(Place)
    }

    /// A position in a queue.
    package struct Place: Sendable, Equatable {
        fileprivate let line: Int
        fileprivate let number: Int
    }

    private struct Waiter: Sendable {
        let exchange: Exchange
        /// The position in the order of all arrivals.
        let arrival: Int
    }

    private struct Host: Sendable {
        /// Unique to the host; its index in the list can be reused.
        let identity: Int
        /// The number of calls that have started and not ended.
        var active = 0
        /// How many of them use a connection alone.
        var exclusive = 0
        var multiplexing = Multiplexing.none
        /// The number of calls that ran when libcurl queued another; nil when it has queued none.
        var capacity: Int?
        /// The number of calls that the server's settings allow; nil when they are not known.
        var allowance: Int?
        /// Whether the latest attempt to connect failed.
        var isDoubtful = false
        /// Whether its calls wait until the process may have a free descriptor.
        var isStarved = false
        /// The queues, the most urgent first; two for each priority, one per kind.
        var lines = Array(repeating: WaitingLine<Waiter>(), count: 6)
        /// The number of waiting calls.
        var waiting = 0
        /// For each priority, whether the host is in the list of hosts that can start a call.
        var isReady = [false, false, false]

        init(identity: Int) {
            self.identity = identity
        }

        func hasRoom(_ kind: Kind, _ rules: Rules) -> Bool {
            let limits = rules.limits
            guard !isStarved else { return false }
            if let capacity, active >= capacity { return false }
            if let allowance, active >= allowance { return false }
            let isAlone = kind == .exclusive && !(rules.sharesMultiplexed && multiplexing == .streams)
            if isAlone, exclusive >= max(1, limits.perHost - 1) { return false }
            return active < (multiplexing == .streams ? max(limits.streamsPerHost, limits.perHost) : limits.perHost)
        }

        /// The line of a priority from which a call can start; when both can, the line with the earlier arrival.
        mutating func startableLine(_ urgency: Int, _ rules: Rules) -> Int? {
            let (shared, exclusive) = (Self.line(urgency, .shared), Self.line(urgency, .exclusive))
            let first = hasRoom(.shared, rules) ? lines[shared].first?.arrival : nil
            guard hasRoom(.exclusive, rules), let other = lines[exclusive].first?.arrival else {
                return first == nil ? nil : shared
            }
            return first.map { $0 < other } == true ? shared : exclusive
        }

        mutating func append(_ waiter: Waiter, line: Int) -> Int {
            waiting += 1
            return lines[line].append(waiter)
        }

        mutating func prepend(_ waiter: Waiter, line: Int) -> Int {
            waiting += 1
            return lines[line].prepend(waiter)
        }

        mutating func popFirst(line: Int) -> Exchange? {
            guard let waiter = lines[line].popFirst() else { return nil }
            waiting -= 1
            return waiter.exchange
        }

        mutating func remove(_ place: Place) {
            let before = lines[place.line].count
            lines[place.line].remove(place.number)
            waiting -= before - lines[place.line].count
        }

        static func line(_ urgency: Int, _ kind: Kind) -> Int { 2 * urgency + kind.rawValue }
    }

    private struct Rules: Sendable {
        let limits: TransportSettings.ConnectionLimits
        /// Whether a streamed response over a connection that multiplexes leaves it to other calls.
        let sharesMultiplexed: Bool
    }

    private let rules: Rules
    private var hosts: [Host] = []
    private var numbers: [String: Int] = [:]
    private var freeNumbers: [Int] = []
    private var identities = 0
    // Most calls use the same host as the call before, and need no new key.
    private var latest: (beginning: String, number: Int)?
    private var active = 0
    private var arrivals = 0
    private var latestReturn = 0
    /// For each priority, the hosts that can start a call of it, in turn.
    private var ready = Array(repeating: WaitingLine<Int>(), count: 3)
    /// Hosts for which libcurl queued a call although no other call to them was in progress.
    private var blocked: [Int] = []
    /// Hosts whose calls wait for a descriptor, in turn.
    private var starved = WaitingLine<Int>()

    /// Makes an admission without calls.
    ///
    /// - Parameters:
    ///   - limits: The limits of connections and streams.
    ///   - sharesMultiplexed: Whether a streamed response over a connection that multiplexes leaves it to other calls,
    ///     so that ``Kind/exclusive`` matters only on other connections. libcurl does not.
    package init(limits: TransportSettings.ConnectionLimits, sharesMultiplexed: Bool = false) {
        rules = Rules(limits: limits, sharesMultiplexed: sharesMultiplexed)
    }

    /// The number of a host, valid while any call uses the host or waits for it.
    package mutating func host(_ key: String) -> Int { numbers[key] ?? newHost(key) }

    /// The number of an address's host.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - end: The UTF-8 offset at which its path begins; the part before it identifies the host.
    ///   - key: Makes the host's key.
    /// - Returns: The number, as from ``host(_:)``.
    package mutating func host(of address: String, upTo end: Int, key: () -> String) -> Int {
        if let latest, latest.beginning.utf8.count == end, address.begins(with: latest.beginning) {
            return latest.number
        }
        let number = host(key())
        latest = (String(decoding: address.utf8.prefix(end), as: UTF8.self), number)
        return number
    }

    /// A number that no other host has during the life of the transport.
    package func identity(host: Int) -> Int { hosts[host].identity }

    private mutating func newHost(_ key: String) -> Int {
        // Hosts without calls are removed once there are many, so that the table of a crawler stays bounded.
        if hosts.count >= 1_024, freeNumbers.isEmpty { forgetIdleHosts() }
        let number = freeNumbers.popLast() ?? hosts.count
        identities += 1
        let host = Host(identity: identities)
        if number == hosts.count { hosts.append(host) } else { hosts[number] = host }
        numbers[key] = number
        return number
    }

    private mutating func forgetIdleHosts() {
        for (key, number) in numbers where hosts[number].active == 0 && hosts[number].waiting == 0 {
            numbers[key] = nil
            freeNumbers.append(number)
        }
        latest = nil
    }

    /// Requests a connection for a call.
    package mutating func request(_ exchange: Exchange, host: Int, kind: Kind = .shared, priority: Request.Priority)
        -> Decision
    {
        // While the total has room, every waiter lacks room at its host, so this call overtakes none of them.
        if active < rules.limits.total, hosts[host].hasRoom(kind, rules) {
            begin(host, kind)
            return .start
        }
        arrivals += 1
        let line = Host.line(Self.urgency(priority), kind)
        let number = hosts[host].append(Waiter(exchange: exchange, arrival: arrivals), line: line)
        markReady(host)
        return .wait(Place(line: line, number: number))
    }

    /// Removes a waiting call from its queue.
    package mutating func withdraw(from place: Place, host: Int) {
        hosts[host].remove(place)
        if hosts[host].waiting == 0 { hosts[host].isStarved = false }
    }

    /// Ends a running call.
    ///
    /// Returns the calls that may start now.
    package mutating func end(host: Int, kind: Kind = .shared) -> [Exchange] {
        leave(host, kind)
        if hosts[host].active == 0 { hosts[host].capacity = nil }
        markReady(host)
        // Calls to other hosts use the connections that these hosts need, for example to a shared proxy. The admission does not
        // know which hosts gain by the end of this call.
        for host in blocked {
            hosts[host].capacity = nil
            markReady(host)
        }
        blocked = []
        return fill()
    }

    /// Returns a started call that libcurl queued to the front of its queue.
    ///
    /// It waits there until a call to its host ends or a connection to its host is made.
    package mutating func takeBack(_ exchange: Exchange, host: Int, kind: Kind = .shared, priority: Request.Priority)
        -> Place
    {
        leave(host, kind)
        hosts[host].capacity = hosts[host].active
        if hosts[host].active == 0 { blocked.append(host) }
        return prepend(exchange, host: host, kind, priority)
    }

    /// Returns a started call for which the process has no descriptor to the front of its queue.
    ///
    /// It waits there until ``nextStarved()``: a descriptor that any call or connection frees may serve it, whatever its
    /// host.
    package mutating func starve(_ exchange: Exchange, host: Int, kind: Kind = .shared, priority: Request.Priority)
        -> Place
    {
        leave(host, kind)
        if !hosts[host].isStarved {
            hosts[host].isStarved = true
            starved.append(host)
        }
        return prepend(exchange, host: host, kind, priority)
    }

    /// Whether calls wait for a descriptor.
    package var hasStarved: Bool { !starved.isEmpty }

    /// Starts the next call that waits for a descriptor, which may be free now.
    package mutating func nextStarved() -> Exchange? {
        while active < rules.limits.total, let host = starved.popFirst() {
            // Its calls may have left.
            guard hosts[host].isStarved else { continue }
            hosts[host].isStarved = false
            defer { markReady(host) }
            for urgency in ready.indices {
                guard let line = hosts[host].startableLine(urgency, rules),
                    let exchange = hosts[host].popFirst(line: line)
                else { continue }
                begin(host, line % 2 == Kind.exclusive.rawValue ? .exclusive : .shared)
                return exchange
            }
        }
        return nil
    }

    private mutating func prepend(_ exchange: Exchange, host: Int, _ kind: Kind, _ priority: Request.Priority) -> Place
    {
        let line = Host.line(Self.urgency(priority), kind)
        // Lower than every other arrival.
        latestReturn -= 1
        let number = hosts[host].prepend(Waiter(exchange: exchange, arrival: latestReturn), line: line)
        return Place(line: line, number: number)
    }

    /// Records that a connection to the host was made, or could not be made.
    ///
    /// Returns the calls that may start now.
    package mutating func noteConnection(isMade: Bool, host: Int) -> [Exchange] {
        hosts[host].isDoubtful = !isMade
        guard isMade, hosts[host].capacity != nil else { return [] }
        hosts[host].capacity = nil
        markReady(host)
        return fill()
    }

    /// Whether calls wait for a pending connection that they may be able to share.
    ///
    /// They do not while connecting fails, because they would fail one after the other.
    package func awaitsSharing(host: Int) -> Bool { !hosts[host].isDoubtful }

    /// Records whether the host's connections multiplex.
    ///
    /// Returns the calls that may start now.
    package mutating func learn(_ multiplexing: Multiplexing, host: Int) -> [Exchange] {
        guard hosts[host].multiplexing != multiplexing else { return [] }
        hosts[host].multiplexing = multiplexing
        markReady(host)
        return fill()
    }

    /// Sets how many calls the server's settings allow; nil when they are not known.
    ///
    /// A lower number ends no call. Returns the calls that may start now.
    package mutating func allow(_ calls: Int?, host: Int) -> [Exchange] {
        guard hosts[host].allowance != calls else { return [] }
        hosts[host].allowance = calls
        markReady(host)
        return fill()
    }

    /// Returns the calls that may start because others were taken back.
    package mutating func startable() -> [Exchange] { fill() }

    /// Removes and returns all waiting calls.
    package mutating func removeAllWaiting() -> [Exchange] {
        var all: [Exchange] = []
        for host in hosts.indices {
            for line in hosts[host].lines.indices {
                while let exchange = hosts[host].popFirst(line: line) { all.append(exchange) }
            }
        }
        return all
    }

    private static func urgency(_ priority: Request.Priority) -> Int { 2 - priority.rawValue }

    private mutating func begin(_ host: Int, _ kind: Kind) {
        active += 1
        hosts[host].active += 1
        if kind == .exclusive { hosts[host].exclusive += 1 }
    }

    private mutating func leave(_ host: Int, _ kind: Kind) {
        active -= 1
        hosts[host].active -= 1
        if kind == .exclusive { hosts[host].exclusive -= 1 }
    }

    /// Adds a host to the list of each priority of which it can start a call.
    private mutating func markReady(_ host: Int) {
        guard hosts[host].waiting > 0 else { return }
        for urgency in ready.indices where !hosts[host].isReady[urgency] {
            guard hosts[host].startableLine(urgency, rules) != nil else { continue }
            hosts[host].isReady[urgency] = true
            ready[urgency].append(host)
        }
    }

    private mutating func fill() -> [Exchange] {
        var exchanges: [Exchange] = []
        while active < rules.limits.total, let exchange = next() { exchanges.append(exchange) }
        return exchanges
    }

    /// Starts the next waiting call.
    private mutating func next() -> Exchange? {
        for urgency in ready.indices {
            while let host = ready[urgency].popFirst() {
                hosts[host].isReady[urgency] = false
                // The host may no longer be able to start a call.
                guard let line = hosts[host].startableLine(urgency, rules),
                    let exchange = hosts[host].popFirst(line: line)
                else { continue }
                begin(host, line % 2 == Kind.exclusive.rawValue ? .exclusive : .shared)
                // The host goes behind the other hosts that can start a call.
                markReady(host)
                return exchange
            }
        }
        return nil
    }
}
