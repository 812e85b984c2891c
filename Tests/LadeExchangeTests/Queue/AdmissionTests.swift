import LadeCore
import Testing

@testable import LadeExchange

@Suite("Admission to the network", .timeLimit(.minutes(5)))
struct AdmissionTests {
    private func limits(total: Int = 100, perHost: Int = 2, streams: Int = 5) -> TransportSettings.ConnectionLimits {
        var limits = TransportSettings.ConnectionLimits()
        limits.total = total
        limits.perHost = perHost
        limits.streamsPerHost = streams
        return limits
    }

    private func fill(_ admission: inout NumberedAdmission, _ tickets: Range<Int>, host: String = "a") -> [Int] {
        tickets.filter { admission.request($0, host: admission.host(host), priority: .normal) == .start }
    }

    @Test("lets as many start as a host may have connections, and the rest in order of arrival")
    func servesInOrder() {
        var admission = NumberedAdmission(limits: limits())

        #expect(fill(&admission, 0..<6) == [0, 1])
        #expect(admission.end(host: admission.host("a")) == [2])
        #expect(admission.end(host: admission.host("a")) == [3])
        #expect(admission.end(host: admission.host("a")) == [4])
    }

    @Test("serves the more urgent first, whenever they came")
    func servesByPriority() {
        var admission = NumberedAdmission(limits: limits(perHost: 1))
        _ = admission.request(0, host: admission.host("a"), priority: .normal)
        for (ticket, priority) in [(1, Request.Priority.low), (2, .normal), (3, .high), (4, .high)] {
            _ = admission.request(ticket, host: admission.host("a"), priority: priority)
        }

        #expect((0..<4).flatMap { _ in admission.end(host: admission.host("a")) } == [3, 4, 2, 1])
    }

    @Test("removes a cancelled waiter, wherever it is in the queue")
    func forgetsTheWithdrawn() {
        var admission = NumberedAdmission(limits: limits(perHost: 1))
        var places: [Int: Admission.Place] = [:]
        for ticket in 0..<300 {
            if case .wait(let place) = admission.request(ticket, host: admission.host("a"), priority: .normal) {
                places[ticket] = place
            }
        }
        for ticket in 1..<300 where ticket % 3 != 0 {
            if let place = places[ticket] { admission.withdraw(from: place, host: admission.host("a")) }
        }
        // Twice is harmless, also after the queue has moved on.
        if let place = places[1] { admission.withdraw(from: place, host: admission.host("a")) }

        var served: [Int] = []
        while case let next = admission.end(host: admission.host("a")), !next.isEmpty { served += next }

        #expect(served == (1..<300).filter { $0 % 3 == 0 })
    }

    @Test("lets more start when a host turns out to multiplex, and fewer when it does not any more")
    func learnsMultiplexing() {
        var admission = NumberedAdmission(limits: limits())
        _ = fill(&admission, 0..<10)

        #expect(admission.learn(.streams, host: admission.host("a")) == [2, 3, 4])
        #expect(admission.learn(.streams, host: admission.host("a")) == [])
        #expect(admission.end(host: admission.host("a")) == [5])
        #expect(admission.learn(.none, host: admission.host("a")) == [])
        #expect((0..<3).flatMap { _ in admission.end(host: admission.host("a")) } == [])
        #expect(admission.end(host: admission.host("a")) == [6])
    }

    @Test("keeps to what the server's settings allow: more start when it grows, none is ended when it shrinks")
    func keepsToTheAllowance() {
        var admission = NumberedAdmission(limits: limits(streams: 10))
        let host = admission.host("a")
        _ = admission.learn(.streams, host: host)
        #expect(admission.allow(3, host: host) == [])
        #expect(fill(&admission, 0..<8) == [0, 1, 2])

        #expect(admission.allow(4, host: host) == [3])
        #expect(admission.allow(2, host: host) == [])
        #expect((0..<3).flatMap { _ in admission.end(host: host) } == [4])
        #expect(admission.allow(0, host: host) == [])
        #expect(admission.end(host: host) == [])
        #expect(admission.allow(nil, host: host) == [5, 6, 7])
    }

    @Test(
        "a streamed response leaves no place free on a host that multiplexes, where its connection is shared",
        arguments: [(true, [0, 1, 2, 3]), (false, [0])]
    )
    func sharesMultiplexed(shares: Bool, started: [Int]) {
        var admission = NumberedAdmission(limits: limits(), sharesMultiplexed: shares)
        let host = admission.host("a")
        _ = admission.learn(.streams, host: host)

        let starts = (0..<4).filter {
            admission.request($0, host: host, kind: .exclusive, priority: .normal) == .start
        }

        #expect(starts == started)
    }

    @Test("finding FT-7 a connection that becomes free goes to each host in turn that the total keeps waiting")
    func sharesTheTotal() {
        var admission = NumberedAdmission(limits: limits(total: 3))
        #expect(fill(&admission, 0..<4, host: "a") == [0, 1])
        #expect(fill(&admission, 10..<14, host: "b") == [10])
        #expect(fill(&admission, 20..<22, host: "c") == [])

        // A host at its own limit does not wait for the total: `a` joins the line when one of its calls has ended.
        let ends = ["b", "a", "a", "b", "c", "a"].map { admission.end(host: admission.host($0)) }

        #expect(ends == [[11], [20], [12], [2], [21], [13]])
    }

    @Test("finding FT-7 one urgent call goes before 2,000 others of another host, wherever they wait")
    func servesByPriorityAcrossHosts() {
        var admission = NumberedAdmission(limits: limits(total: 6, perHost: 6))
        for ticket in 0..<2_006 { _ = admission.request(ticket, host: admission.host("a"), priority: .low) }
        _ = admission.request(9_000, host: admission.host("b"), priority: .high)
        _ = admission.request(9_001, host: admission.host("c"), priority: .normal)

        #expect((0..<4).map { _ in admission.end(host: admission.host("a")) } == [[9_000], [9_001], [6], [7]])
    }

    @Test("finding FT-7 2,000 waiting calls of one host leave another its share")
    func sharesAmongHosts() {
        var admission = NumberedAdmission(limits: limits(total: 2, perHost: 2))
        for ticket in 0..<2_002 { _ = admission.request(ticket, host: admission.host("a"), priority: .normal) }
        for ticket in 5_000..<5_003 { _ = admission.request(ticket, host: admission.host("b"), priority: .normal) }
        var served: [Int] = []
        var last = "a"
        for _ in 0..<6 {
            for ticket in admission.end(host: admission.host(last)) {
                served.append(ticket)
                last = ticket >= 5_000 ? "b" : "a"
            }
        }

        // `a` joins the line when its first call has ended, behind `b`; from then on they take turns.
        #expect(served == [5_000, 2, 5_001, 3, 5_002, 4])
    }

    @Test("finding FT-5 streamed answers leave one connection of a host to others, and none overtakes its like")
    func leavesAConnection() {
        var admission = NumberedAdmission(limits: limits(perHost: 3))
        let host = admission.host("a")
        let kinds: [Admission.Kind] = [.exclusive, .exclusive, .exclusive, .exclusive, .shared, .shared]
        let started = kinds.indices.filter { number in
            admission.request(number, host: host, kind: kinds[number], priority: .normal) == .start
        }

        #expect(started == [0, 1, 4])
        #expect(admission.end(host: host, kind: .shared) == [5])
        #expect(admission.end(host: host, kind: .shared) == [])
        #expect(admission.end(host: host, kind: .exclusive) == [2])
        #expect(admission.end(host: host, kind: .exclusive) == [3])
    }

    @Test("finding FT-5 where there is one connection only, a streamed answer may have it")
    func streamsOverOne() {
        var admission = NumberedAdmission(limits: limits(perHost: 1))
        #expect(admission.request(0, host: admission.host("a"), kind: .exclusive, priority: .normal) == .start)
    }

    @Test("finding FT-5 calls that libcurl queued wait in their order, and libcurl gets no more calls than it can send")
    func takesBack() {
        var admission = NumberedAdmission(limits: limits(perHost: 2, streams: 100))
        let host = admission.host("a")
        _ = admission.learn(.streams, host: host)
        _ = fill(&admission, 0..<5)
        // libcurl carries two of them.
        for ticket in [4, 3, 2] { _ = admission.takeBack(ticket, host: host, priority: .normal) }

        #expect(fill(&admission, 5..<7) == [])
        #expect((0..<3).map { _ in admission.end(host: host) } == [[2], [3], [4]])
        // A new connection carries others: as many as it may are tried again.
        #expect(admission.noteConnection(isMade: true, host: host) == [5, 6])
    }

    @Test("finding FT-5 a host of which libcurl carries no call is tried again when a call to any host ends")
    func triesBlockedHosts() {
        var admission = NumberedAdmission(limits: limits())
        let (other, blocked) = (admission.host("a"), admission.host("b"))
        _ = fill(&admission, 0..<1, host: "a")
        _ = fill(&admission, 1..<3, host: "b")
        for ticket in [2, 1] { _ = admission.takeBack(ticket, host: blocked, priority: .normal) }

        #expect(admission.startable() == [])
        #expect(admission.end(host: other) == [1, 2])
    }

    @Test("a host to which no connection can be made does not have its calls wait for one to share")
    func doubtfulHosts() {
        var admission = NumberedAdmission(limits: limits())
        let host = admission.host("a")

        #expect(admission.awaitsSharing(host: host))
        _ = admission.noteConnection(isMade: false, host: host)
        #expect(!admission.awaitsSharing(host: host))
        _ = admission.noteConnection(isMade: true, host: host)
        #expect(admission.awaitsSharing(host: host))
    }

    @Test("hands over everything that waits, once")
    func handsOverTheWaiting() {
        var admission = NumberedAdmission(limits: limits(perHost: 1))
        _ = fill(&admission, 0..<4, host: "a")
        _ = fill(&admission, 4..<6, host: "b")

        #expect(admission.removeAllWaiting().sorted() == [1, 2, 3, 5])
        #expect(admission.removeAllWaiting() == [])
        #expect(admission.end(host: admission.host("a")) == [])
    }

    @Test("passes over a host whose calls are all cancelled, when a slot gets free")
    func passesOverTheWithdrawn() {
        var admission = NumberedAdmission(limits: limits(total: 1))
        #expect(fill(&admission, 0..<1, host: "a") == [0])
        guard case .wait(let place) = admission.request(1, host: admission.host("b"), priority: .normal) else {
            return #expect(Bool(false), "the total was exceeded")
        }
        #expect(fill(&admission, 2..<3, host: "c") == [])
        admission.withdraw(from: place, host: admission.host("b"))

        #expect(admission.end(host: admission.host("a")) == [2])
        #expect(admission.end(host: admission.host("c")) == [])
        #expect(fill(&admission, 3..<4, host: "b") == [3])
    }

    @Test("no two hosts have the same identity, though they may have the same number one after the other")
    func tellsHostsApart() {
        var admission = NumberedAdmission(limits: limits())
        var identities: [String: Int] = [:]

        for round in 0..<2 {
            for number in 0..<1_500 {
                let key = "host \(round) \(number)"
                let host = admission.host(key)
                identities[key] = admission.identity(host: host)
            }
        }

        #expect(Set(identities.values).count == 3_000)
    }

    @Test("a host that was forgotten does not share the number of the host that has it now")
    func forgottenHosts() {
        var admission = NumberedAdmission(limits: limits())
        for number in 0..<1_024 { _ = admission.host("host \(number)") }

        // Forgets them all, and uses one of their numbers.
        let fresh = admission.host("fresh")
        let again = (0..<1_000).map { admission.host("host \($0)") }

        #expect(Set(again + [fresh]).count == 1_001)
        #expect(Set(again.map { admission.identity(host: $0) }).count == 1_000)
    }

    @Test("recognises the host of an address by its beginning alone, until it has forgotten that host")
    func knowsBeginnings() {
        var admission = NumberedAdmission(limits: limits())
        var keys = 0
        func host(_ address: String, _ end: Int) -> Int {
            admission.host(of: address, upTo: end) {
                keys += 1
                return String(address.utf8.prefix(end)) ?? ""
            }
        }

        let first = host("http://a/1", 8)
        #expect(host("http://a/2", 8) == first)
        #expect(host("http://a", 8) == first)
        #expect(keys == 1)
        #expect(host("http://ab/", 9) != first)
        #expect(host("http://a/3", 8) == first)
        #expect(keys == 3)
        // Makes it forget all hosts, and gives the first one's number to another.
        for number in 0..<1_024 { _ = admission.host("other \(number)") }
        let again = host("http://a/4", 8)
        #expect(keys == 4)
        #expect(admission.host("http://a") == again)
    }

    @Test("forgets unused hosts once there are 1,024, with what they spoke, and none that are in use")
    func forgetsIdleHosts() {
        var admission = NumberedAdmission(limits: limits(total: 10_000, perHost: 1))
        let busy = admission.host("busy")
        #expect(fill(&admission, 0..<2, host: "busy") == [0])
        for number in 1..<1_024 { _ = admission.learn(.streams, host: admission.host("idle \(number)")) }

        let fresh = admission.host("fresh")

        #expect(fresh < 1_024)
        #expect(fill(&admission, 2..<5, host: "fresh") == [2])
        #expect(admission.host("busy") == busy)
        #expect(admission.end(host: busy) == [1])
        // Twice as many again: numbers are used again, and those in use stay apart.
        let others = (0..<1_022).map { admission.host("other \($0)") }
        #expect(Set(others + [fresh, busy]).count == 1_024)
        #expect(others.allSatisfy { $0 < 1_024 })
    }

    @Test("forgets no host whose calls all wait for other hosts")
    func keepsWaitingHosts() {
        var admission = NumberedAdmission(limits: limits(total: 1))
        #expect(fill(&admission, 0..<1, host: "running") == [0])
        #expect(fill(&admission, 1..<2, host: "waiting") == [])
        let (running, waiting) = (admission.host("running"), admission.host("waiting"))

        let others = (0..<2_000).map { admission.host("other \($0)") }

        #expect(!others.contains(waiting))
        #expect(admission.host("waiting") == waiting)
        #expect(admission.end(host: running) == [1])
    }

    @Test("finding FT-5 calls that libcurl queued keep their order, streamed or not")
    func keepsOrderOfQueued() {
        var admission = NumberedAdmission(limits: limits(perHost: 3))
        let host = admission.host("a")
        let kinds: [Admission.Kind] = [.shared, .shared, .exclusive]
        for (ticket, kind) in kinds.enumerated() {
            #expect(admission.request(ticket, host: host, kind: kind, priority: .normal) == .start)
        }

        // libcurl carries the first call. The latest is returned first.
        for ticket in [2, 1] { _ = admission.takeBack(ticket, host: host, kind: kinds[ticket], priority: .normal) }
        #expect(admission.startable() == [])

        #expect(admission.noteConnection(isMade: true, host: host) == [1, 2])
    }

    /// The invariants of the admission, computed from scratch after each step.
    private struct Model {
        struct Entry {
            var host: String
            var kind: Admission.Kind
            var priority: Request.Priority
            var place: Admission.Place?
        }

        let limits: TransportSettings.ConnectionLimits
        var waiting: [Int: Entry] = [:]
        var running: [Int: Entry] = [:]
        var isMultiplexing: [String: Bool] = [:]
        /// How many calls libcurl carries at the most.
        var capacity: [String: Int] = [:]

        func active(_ host: String) -> [Entry] { running.values.filter { $0.host == host } }

        /// Whether a call could start if the total had room.
        func hasRoom(_ entry: Entry) -> Bool {
            let active = active(entry.host)
            if let capacity = capacity[entry.host], active.count >= capacity { return false }
            let exclusive = active.filter { $0.kind == .exclusive }.count
            if entry.kind == .exclusive, exclusive >= max(1, limits.perHost - 1) { return false }
            let most = isMultiplexing[entry.host] == true ? max(limits.streamsPerHost, limits.perHost) : limits.perHost
            return active.count < most
        }

        /// The highest priority of which a call waits that could start if the total had room.
        var mostUrgent: Request.Priority? { waiting.values.filter(hasRoom).map(\.priority).max() }
    }

    @Test("keeps every limit, wastes no connection, goes by priority and forgets no call", arguments: 1...20)
    func keepsItsPromises(seed: Int) {
        let random = SeededRandom(seed: UInt64(seed))
        func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
        let limits = limits(total: 7, perHost: 1 + pick(4), streams: 1 + pick(6))
        var admission = NumberedAdmission(limits: limits)
        var model = Model(limits: limits)
        func started(_ tickets: [Int]) {
            for ticket in tickets {
                // Each goes before all that are left, by priority.
                let mostUrgent = model.mostUrgent
                guard let entry = model.waiting.removeValue(forKey: ticket) else {
                    Issue.record("seed \(seed): \(ticket) started twice")
                    continue
                }
                #expect(entry.priority == mostUrgent, "seed \(seed): \(ticket)")
                #expect(model.hasRoom(entry), "seed \(seed): \(ticket)")
                model.running[ticket] = entry
            }
        }
        func end(_ ticket: Int) {
            guard let entry = model.running.removeValue(forKey: ticket) else { return }
            if model.active(entry.host).isEmpty { model.capacity[entry.host] = nil }
            for (host, capacity) in model.capacity where capacity == 0 { model.capacity[host] = nil }
            started(admission.end(host: admission.host(entry.host), kind: entry.kind))
        }
        for ticket in 0..<500 {
            let host = ["a", "b", "c", "d"][pick(4)]
            var entry = Model.Entry(
                host: host,
                kind: pick(3) == 0 ? .exclusive : .shared,
                priority: Request.Priority(rawValue: pick(3)) ?? .low
            )
            switch admission.request(ticket, host: admission.host(host), kind: entry.kind, priority: entry.priority) {
            case .start:
                #expect(model.hasRoom(entry), "seed \(seed)")
                model.running[ticket] = entry
            case .wait(let place):
                entry.place = place
                model.waiting[ticket] = entry
            }
            switch pick(6) {
            case 0:
                if let (ticket, entry) = model.waiting.min(by: { $0.key < $1.key }), let place = entry.place {
                    admission.withdraw(from: place, host: admission.host(entry.host))
                    model.waiting[ticket] = nil
                }
            case 1:
                let isMultiplexing = pick(2) == 0
                model.isMultiplexing[host] = isMultiplexing
                started(admission.learn(isMultiplexing ? .streams : .none, host: admission.host(host)))
            case 2:
                // libcurl queues the call, which has just started.
                guard model.running.count > 1, var entry = model.running[ticket] else { break }
                model.running[ticket] = nil
                model.capacity[host] = model.active(host).count
                entry.place = admission.takeBack(
                    ticket,
                    host: admission.host(host),
                    kind: entry.kind,
                    priority: entry.priority
                )
                model.waiting[ticket] = entry
                started(admission.startable())
            case 3:
                model.capacity[host] = nil
                started(admission.noteConnection(isMade: true, host: admission.host(host)))
            default:
                if let ticket = model.running.keys.min() { end(ticket) }
            }
            #expect(model.running.count <= limits.total, "seed \(seed)")
            #expect(model.running.count == limits.total || model.mostUrgent == nil, "seed \(seed): one could start")
        }
        while let ticket = model.running.keys.min() { end(ticket) }
        #expect(model.waiting.isEmpty, "seed \(seed): \(model.waiting.count) were forgotten")
    }
}
