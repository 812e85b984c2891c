import LadeCore

/// Which calls may use the network now: queues per host and priority, under the connection limits.
///
/// libcurl's own queue costs 50 µs a request, forgets the order, and has neither events nor time-outs, so libcurl is given
/// only what may run, and what it queues all the same comes back (``takeBack(_:host:kind:priority:)``). A free connection
/// goes to the highest priority that waits anywhere, then to the hosts in turn, then by arrival. A value: requests and
/// endings go in, the calls that may start come out.
struct Admission<Ticket: Sendable>: Sendable {
    /// What a host's connections turned out to speak.
    enum Multiplexing: Sendable {
        /// One call at a time (HTTP/1.1), or not known yet.
        case none
        /// Many calls at a time (HTTP/2).
        case streams
    }

    /// How a call uses a connection.
    enum Kind: Int, Sendable {
        /// Only until its answer is there, and beside others where the host multiplexes.
        case shared
        /// Alone, for as long as its reader likes: a streamed answer.
        ///
        /// One connection of each host is left to the shared calls, so that a reader can make another request to the host
        /// of what it reads.
        case exclusive
    }

    /// The answer to a call that asks.
    enum Answer: Sendable, Equatable {
        /// Start immediately.
        case start
        /// Wait; the place is needed to withdraw.
        case wait(Place)
    }

    /// A position in a queue.
    struct Place: Sendable, Equatable {
        fileprivate let line: Int
        fileprivate let number: Int
    }

    private struct Waiter: Sendable {
        let ticket: Ticket
        /// Its position among all that ever waited.
        let arrival: Int
    }

    private struct Host: Sendable {
        /// Never given to another host, as the position in the list is.
        let identity: Int
        /// Calls with libcurl.
        var active = 0
        /// Those of them that use a connection alone.
        var exclusive = 0
        var multiplexing = Multiplexing.none
        /// How many calls libcurl carried when it queued one more; nil when it has queued none.
        var capacity: Int?
        /// Whether the latest attempt to connect failed.
        var isDoubtful = false
        /// The queues, most urgent first; for each priority one per kind.
        var lines = Array(repeating: WaitingLine<Waiter>(), count: 6)
        /// How many calls wait.
        var waiting = 0
        /// For each priority, whether the host is in the list of those that could start a call.
        var isReady = [false, false, false]

        init(identity: Int) {
            self.identity = identity
        }

        func hasRoom(_ kind: Kind, _ limits: TransportSettings.ConnectionLimits) -> Bool {
            if let capacity, active >= capacity { return false }
            if kind == .exclusive, exclusive >= max(1, limits.perHost - 1) { return false }
            return active < (multiplexing == .streams ? max(limits.streamsPerHost, limits.perHost) : limits.perHost)
        }

        /// The line of a priority from which a call could start; the earlier arrival, when both kinds could.
        mutating func startableLine(_ urgency: Int, _ limits: TransportSettings.ConnectionLimits) -> Int? {
            let (shared, exclusive) = (Self.line(urgency, .shared), Self.line(urgency, .exclusive))
            let first = hasRoom(.shared, limits) ? lines[shared].first?.arrival : nil
            guard hasRoom(.exclusive, limits), let other = lines[exclusive].first?.arrival else {
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

        mutating func popFirst(line: Int) -> Ticket? {
            guard let waiter = lines[line].popFirst() else { return nil }
            waiting -= 1
            return waiter.ticket
        }

        mutating func remove(_ place: Place) {
            let before = lines[place.line].count
            lines[place.line].remove(place.number)
            waiting -= before - lines[place.line].count
        }

        static func line(_ urgency: Int, _ kind: Kind) -> Int { 2 * urgency + kind.rawValue }
    }

    private let limits: TransportSettings.ConnectionLimits
    private var hosts: [Host] = []
    private var numbers: [String: Int] = [:]
    private var freeNumbers: [Int] = []
    private var identities = 0
    // Most calls go where the one before went, and no key need be made for them.
    private var latest: (beginning: String, number: Int)?
    private var active = 0
    private var arrivals = 0
    private var latestReturn = 0
    /// For each priority, the hosts that could start a call of it, in turn.
    private var ready = Array(repeating: WaitingLine<Int>(), count: 3)
    /// Hosts of which libcurl queued a call although it carried none.
    private var blocked: [Int] = []

    init(limits: TransportSettings.ConnectionLimits) {
        self.limits = limits
    }

    /// The number of a host, by which it is called from then on while any call uses it or waits for it.
    mutating func host(_ key: String) -> Int { numbers[key] ?? newHost(key) }

    /// The number of an address's host.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - end: The UTF-8 offset at which its path begins; what is before decides which host it is.
    ///   - key: Makes the host's key.
    /// - Returns: The number, as of ``host(_:)``.
    mutating func host(of address: String, upTo end: Int, key: () -> String) -> Int {
        if let latest, latest.beginning.utf8.count == end, address.begins(with: latest.beginning) {
            return latest.number
        }
        let number = host(key())
        latest = (String(decoding: address.utf8.prefix(end), as: UTF8.self), number)
        return number
    }

    /// The number that no other host has for as long as the transport lives.
    func identity(host: Int) -> Int { hosts[host].identity }

    private mutating func newHost(_ key: String) -> Int {
        // Hosts without calls are forgotten once there are many, so that a crawler's table does not grow for ever.
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

    /// A call wants to use a host.
    mutating func request(_ ticket: Ticket, host: Int, kind: Kind = .shared, priority: Request.Priority) -> Answer {
        // While the total has room, every waiter lacks room at its host: nothing is overtaken.
        if active < limits.total, hosts[host].hasRoom(kind, limits) {
            begin(host, kind)
            return .start
        }
        arrivals += 1
        let line = Host.line(Self.urgency(priority), kind)
        let number = hosts[host].append(Waiter(ticket: ticket, arrival: arrivals), line: line)
        markReady(host)
        return .wait(Place(line: line, number: number))
    }

    /// A waiting call leaves its position.
    mutating func withdraw(from place: Place, host: Int) {
        hosts[host].remove(place)
    }

    /// A running call ended.
    ///
    /// Returns what may start now.
    mutating func end(host: Int, kind: Kind = .shared) -> [Ticket] {
        leave(host, kind)
        if hosts[host].active == 0 { hosts[host].capacity = nil }
        markReady(host)
        // Their connections are used by others, as those of a proxy may be; which others is not known.
        for host in blocked {
            hosts[host].capacity = nil
            markReady(host)
        }
        blocked = []
        return fill()
    }

    /// libcurl queued a call that was started: it waits here again, before all others of its kind and priority, until a
    /// call to its host ends or a connection to it is made.
    mutating func takeBack(_ ticket: Ticket, host: Int, kind: Kind = .shared, priority: Request.Priority) -> Place {
        leave(host, kind)
        hosts[host].capacity = hosts[host].active
        if hosts[host].active == 0 { blocked.append(host) }
        let line = Host.line(Self.urgency(priority), kind)
        // Before every other arrival.
        latestReturn -= 1
        let number = hosts[host].prepend(Waiter(ticket: ticket, arrival: latestReturn), line: line)
        return Place(line: line, number: number)
    }

    /// A connection to the host was made, or could not be made.
    ///
    /// Returns what may start now.
    mutating func noteConnection(isMade: Bool, host: Int) -> [Ticket] {
        hosts[host].isDoubtful = !isMade
        guard isMade, hosts[host].capacity != nil else { return [] }
        hosts[host].capacity = nil
        markReady(host)
        return fill()
    }

    /// Whether calls wait for one connection to tell whether it can be shared; not while connecting fails, or they would
    /// fail one after the other.
    func awaitsSharing(host: Int) -> Bool { !hosts[host].isDoubtful }

    /// The host's connections turned out to speak a version.
    ///
    /// Returns what may start now.
    mutating func learn(_ multiplexing: Multiplexing, host: Int) -> [Ticket] {
        guard hosts[host].multiplexing != multiplexing else { return [] }
        hosts[host].multiplexing = multiplexing
        markReady(host)
        return fill()
    }

    /// The calls that may start because others were taken back.
    mutating func startable() -> [Ticket] { fill() }

    /// Everything that waits; the queues are empty afterwards.
    mutating func removeAllWaiting() -> [Ticket] {
        var all: [Ticket] = []
        for host in hosts.indices {
            for line in hosts[host].lines.indices {
                while let ticket = hosts[host].popFirst(line: line) { all.append(ticket) }
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

    /// Lists a host under each priority of which it could start a call.
    private mutating func markReady(_ host: Int) {
        guard hosts[host].waiting > 0 else { return }
        for urgency in ready.indices where !hosts[host].isReady[urgency] {
            guard hosts[host].startableLine(urgency, limits) != nil else { continue }
            hosts[host].isReady[urgency] = true
            ready[urgency].append(host)
        }
    }

    private mutating func fill() -> [Ticket] {
        var tickets: [Ticket] = []
        while active < limits.total, let ticket = next() { tickets.append(ticket) }
        return tickets
    }

    /// Starts the next call of all that wait.
    private mutating func next() -> Ticket? {
        for urgency in ready.indices {
            while let host = ready[urgency].popFirst() {
                hosts[host].isReady[urgency] = false
                // What made it ready may be gone.
                guard let line = hosts[host].startableLine(urgency, limits),
                    let ticket = hosts[host].popFirst(line: line)
                else { continue }
                begin(host, line % 2 == Kind.exclusive.rawValue ? .exclusive : .shared)
                // Behind the other hosts that could.
                markReady(host)
                return ticket
            }
        }
        return nil
    }
}
