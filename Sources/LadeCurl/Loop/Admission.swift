import LadeCore

/// Who may use the network now: a queue per host in order of priority, then arrival, under the connection limits.
///
/// libcurl's own queue costs 50 µs a request and forgets the order, so it is given only what may run. A value: what
/// asks and ends goes in, what may start comes out.
struct Admission<Ticket: Sendable>: Sendable {
    /// What a host's connections turned out to speak.
    enum Multiplexing: Sendable {
        /// One call at a time (HTTP/1.1), or not known yet.
        case none
        /// Many calls at a time (HTTP/2).
        case streams
    }

    /// What a call that asks is told.
    enum Answer: Sendable, Equatable {
        /// Start at once.
        case start
        /// Wait; the place is needed to give up.
        case wait(Place)
    }

    /// A place in a queue.
    struct Place: Sendable, Equatable {
        fileprivate let queue: Int
        fileprivate let number: Int
    }

    private struct Host {
        /// Never given to another host, as the position in the list is.
        let identity: Int
        var active = 0
        var multiplexing = Multiplexing.none
        // One queue per priority, most urgent first.
        var waiting = [Queue(), Queue(), Queue()]

        init(identity: Int) {
            self.identity = identity
        }

        var hasWaiting: Bool { waiting.contains { !$0.isEmpty } }

        func limit(_ limits: TransportSettings.ConnectionLimits) -> Int {
            multiplexing == .streams ? max(limits.streamsPerHost, limits.perHost) : limits.perHost
        }

        mutating func popMostUrgent() -> Ticket? {
            for index in waiting.indices {
                if let ticket = waiting[index].popFirst() { return ticket }
            }
            return nil
        }
    }

    /// First in, first out, with removal from the middle in constant time: who gave up leaves a hole.
    private struct Queue {
        private var tickets: [Ticket?] = []
        private var head = 0
        private var firstNumber = 0
        private var count = 0

        var isEmpty: Bool { count == 0 }

        mutating func append(_ ticket: Ticket) -> Int {
            tickets.append(ticket)
            count += 1
            return firstNumber + tickets.count - 1
        }

        mutating func popFirst() -> Ticket? {
            while head < tickets.count {
                let ticket = tickets[head]
                tickets[head] = nil
                head += 1
                guard let ticket else { continue }
                count -= 1
                compact()
                return ticket
            }
            return nil
        }

        mutating func remove(_ number: Int) {
            let index = number - firstNumber
            guard index >= head, index < tickets.count, tickets[index] != nil else { return }
            tickets[index] = nil
            count -= 1
            compact()
        }

        // Amortised constant: the array is moved only when more than half of it lies behind the head.
        private mutating func compact() {
            let behind = count == 0 ? tickets.count : head
            guard count == 0 || (behind > 64 && behind > tickets.count / 2) else { return }
            tickets.removeFirst(behind)
            firstNumber += behind
            head = 0
        }
    }

    private let limits: TransportSettings.ConnectionLimits
    private var hosts: [Host] = []
    private var numbers: [String: Int] = [:]
    private var freeNumbers: [Int] = []
    private var identities = 0
    // Most calls go where the one before went, and no key need be made for them.
    private var latest: (beginning: String, number: Int)?
    private var active = 0
    // Hosts kept from starting something by the total limit alone, in order of arrival.
    private var starved: [Int] = []

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

    /// What tells a host from every other one for as long as the transport lives.
    func identity(host: Int) -> Int { hosts[host].identity }

    private mutating func newHost(_ key: String) -> Int {
        // Hosts nobody uses are forgotten once there are many, so that a crawler's table does not grow for ever.
        if hosts.count >= 1_024, freeNumbers.isEmpty { forgetIdleHosts() }
        let number = freeNumbers.popLast() ?? hosts.count
        identities += 1
        let host = Host(identity: identities)
        if number == hosts.count { hosts.append(host) } else { hosts[number] = host }
        numbers[key] = number
        return number
    }

    private mutating func forgetIdleHosts() {
        for (key, number) in numbers where hosts[number].active == 0 && !hosts[number].hasWaiting {
            numbers[key] = nil
            freeNumbers.append(number)
        }
        latest = nil
    }

    /// A call wants to use a host.
    mutating func request(_ ticket: Ticket, host: Int, priority: Request.Priority) -> Answer {
        let hasRoom = active < limits.total
        if hasRoom, hosts[host].active < hosts[host].limit(limits), !hosts[host].hasWaiting {
            hosts[host].active += 1
            active += 1
            return .start
        }
        if !hasRoom, !starved.contains(host) { starved.append(host) }
        let queue = 2 - priority.rawValue
        return .wait(Place(queue: queue, number: hosts[host].waiting[queue].append(ticket)))
    }

    /// A waiting call gave up its place.
    mutating func withdraw(from place: Place, host: Int) {
        hosts[host].waiting[place.queue].remove(place.number)
    }

    /// A running call ended.
    ///
    /// Returns what may start now.
    mutating func end(host: Int) -> [Ticket] {
        active -= 1
        hosts[host].active -= 1
        return startable(host)
    }

    /// The host's connections turned out to speak a version.
    ///
    /// Returns what may start now.
    mutating func learn(_ multiplexing: Multiplexing, host: Int) -> [Ticket] {
        guard hosts[host].multiplexing != multiplexing else { return [] }
        hosts[host].multiplexing = multiplexing
        return startable(host)
    }

    /// Everything that waits; the queues are empty afterwards.
    mutating func removeAllWaiting() -> [Ticket] {
        var all: [Ticket] = []
        for host in hosts.indices {
            while let ticket = hosts[host].popMostUrgent() { all.append(ticket) }
        }
        starved = []
        return all
    }

    private mutating func startable(_ host: Int) -> [Ticket] {
        var tickets = start(host)
        // What this host left of the total goes to those who were kept out by it alone.
        while active < limits.total, !starved.isEmpty { tickets += start(starved.removeFirst()) }
        return tickets
    }

    private mutating func start(_ host: Int) -> [Ticket] {
        guard hosts[host].hasWaiting else { return [] }
        var tickets: [Ticket] = []
        while active < limits.total, hosts[host].active < hosts[host].limit(limits),
            let ticket = hosts[host].popMostUrgent()
        {
            hosts[host].active += 1
            active += 1
            tickets.append(ticket)
        }
        let isStarved = hosts[host].hasWaiting && hosts[host].active < hosts[host].limit(limits)
        if isStarved, !starved.contains(host) { starved.append(host) }
        return tickets
    }
}
