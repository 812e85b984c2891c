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
        var active = 0
        var multiplexing = Multiplexing.none
        // One queue per priority, most urgent first.
        var waiting = [Queue(), Queue(), Queue()]

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
    private var hosts: [String: Host] = [:]
    private var active = 0
    // Hosts kept from starting something by the total limit alone, in order of arrival.
    private var starved: [String] = []

    init(limits: TransportSettings.ConnectionLimits) {
        self.limits = limits
    }

    /// A call wants to use a host.
    mutating func request(_ ticket: Ticket, host: String, priority: Request.Priority) -> Answer {
        let hasRoom = active < limits.total
        let queue = 2 - priority.rawValue
        let limits = limits
        let answer = update(host) { state -> Answer in
            if hasRoom, state.active < state.limit(limits), !state.hasWaiting {
                state.active += 1
                return .start
            }
            return .wait(Place(queue: queue, number: state.waiting[queue].append(ticket)))
        }
        if answer == .start {
            active += 1
        } else if !hasRoom, !starved.contains(host) {
            starved.append(host)
        }
        return answer
    }

    /// A waiting call gave up its place.
    mutating func withdraw(from place: Place, host: String) {
        update(host) { $0.waiting[place.queue].remove(place.number) }
    }

    /// A running call ended.
    ///
    /// Returns what may start now.
    mutating func end(host: String) -> [Ticket] {
        active -= 1
        update(host) { $0.active -= 1 }
        return startable(host)
    }

    /// The host's connections turned out to speak a version.
    ///
    /// Returns what may start now.
    mutating func learn(_ multiplexing: Multiplexing, host: String) -> [Ticket] {
        let isNews = update(host) { state -> Bool in
            defer { state.multiplexing = multiplexing }
            return state.multiplexing != multiplexing
        }
        return isNews ? startable(host) : []
    }

    /// Everything that waits; the queues are empty afterwards.
    mutating func removeAllWaiting() -> [Ticket] {
        var all: [Ticket] = []
        for host in hosts.keys {
            while let ticket = hosts[host]?.popMostUrgent() { all.append(ticket) }
        }
        starved = []
        return all
    }

    private mutating func startable(_ host: String) -> [Ticket] {
        var tickets = start(host)
        // What this host left of the total goes to those who were kept out by it alone.
        while active < limits.total, !starved.isEmpty { tickets += start(starved.removeFirst()) }
        return tickets
    }

    private mutating func start(_ host: String) -> [Ticket] {
        guard hosts[host]?.hasWaiting == true else { return [] }
        var room = limits.total - active
        let limits = limits
        let (tickets, isStarved) = update(host) { state -> ([Ticket], Bool) in
            var tickets: [Ticket] = []
            while room > 0, state.active < state.limit(limits), let ticket = state.popMostUrgent() {
                state.active += 1
                room -= 1
                tickets.append(ticket)
            }
            return (tickets, room == 0 && state.hasWaiting && state.active < state.limit(limits))
        }
        active += tickets.count
        if isStarved, !starved.contains(host) { starved.append(host) }
        return tickets
    }

    // Hosts nobody uses are forgotten once there are many, so that a crawler's table does not grow for ever.
    @discardableResult
    private mutating func update<Result>(_ host: String, _ change: (inout Host) -> Result) -> Result {
        if hosts.count > 1_024, hosts[host] == nil {
            hosts = hosts.filter { $0.value.active > 0 || $0.value.hasWaiting }
        }
        return change(&hosts[host, default: Host()])
    }
}
