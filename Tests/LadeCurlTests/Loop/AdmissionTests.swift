import LadeCore
import Testing

@testable import LadeCurl

@Suite("Admission to the network", .timeLimit(.minutes(1)))
struct AdmissionTests {
    private func limits(total: Int = 100, perHost: Int = 2, streams: Int = 5) -> TransportSettings.ConnectionLimits {
        var limits = TransportSettings.ConnectionLimits()
        limits.total = total
        limits.perHost = perHost
        limits.streamsPerHost = streams
        return limits
    }

    private func fill(_ admission: inout Admission<Int>, _ tickets: Range<Int>, host: String = "a") -> [Int] {
        tickets.filter { admission.request($0, host: admission.host(host), priority: .normal) == .start }
    }

    @Test("lets as many start as a host may have connections, and the rest in order of arrival")
    func servesInOrder() {
        var admission = Admission<Int>(limits: limits())

        #expect(fill(&admission, 0..<6) == [0, 1])
        #expect(admission.end(host: admission.host("a")) == [2])
        #expect(admission.end(host: admission.host("a")) == [3])
        #expect(admission.end(host: admission.host("a")) == [4])
    }

    @Test("serves the more urgent first, whenever they came")
    func servesByPriority() {
        var admission = Admission<Int>(limits: limits(perHost: 1))
        _ = admission.request(0, host: admission.host("a"), priority: .normal)
        for (ticket, priority) in [(1, Request.Priority.low), (2, .normal), (3, .high), (4, .high)] {
            _ = admission.request(ticket, host: admission.host("a"), priority: priority)
        }

        #expect((0..<4).flatMap { _ in admission.end(host: admission.host("a")) } == [3, 4, 2, 1])
    }

    @Test("forgets who gave up, wherever in the queue")
    func forgetsTheWithdrawn() {
        var admission = Admission<Int>(limits: limits(perHost: 1))
        var places: [Int: Admission<Int>.Place] = [:]
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
        var admission = Admission<Int>(limits: limits())
        _ = fill(&admission, 0..<10)

        #expect(admission.learn(.streams, host: admission.host("a")) == [2, 3, 4])
        #expect(admission.learn(.streams, host: admission.host("a")) == [])
        #expect(admission.end(host: admission.host("a")) == [5])
        #expect(admission.learn(.none, host: admission.host("a")) == [])
        #expect((0..<3).flatMap { _ in admission.end(host: admission.host("a")) } == [])
        #expect(admission.end(host: admission.host("a")) == [6])
    }

    @Test("keeps the total over all hosts, and gives what is freed to those kept out by it")
    func keepsTheTotal() {
        var admission = Admission<Int>(limits: limits(total: 3))
        #expect(fill(&admission, 0..<4, host: "a") == [0, 1])
        #expect(fill(&admission, 10..<14, host: "b") == [10])
        #expect(fill(&admission, 20..<22, host: "c") == [])

        #expect(admission.end(host: admission.host("b")) == [11])
        #expect(admission.end(host: admission.host("a")) == [2])
        #expect(admission.end(host: admission.host("a")) == [3])
        #expect(admission.end(host: admission.host("a")) == [12])
        #expect(admission.end(host: admission.host("a")) == [20])
    }

    @Test("hands over everything that waits, once")
    func handsOverTheWaiting() {
        var admission = Admission<Int>(limits: limits(perHost: 1))
        _ = fill(&admission, 0..<4, host: "a")
        _ = fill(&admission, 4..<6, host: "b")

        #expect(admission.removeAllWaiting().sorted() == [1, 2, 3, 5])
        #expect(admission.removeAllWaiting() == [])
        #expect(admission.end(host: admission.host("a")) == [])
    }

    @Test("passes over a host whose calls have all given up, when a place gets free")
    func passesOverTheWithdrawn() {
        var admission = Admission<Int>(limits: limits(total: 1))
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
        var admission = Admission<Int>(limits: limits())
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

    @Test("knows the host of an address again by its beginning alone, until it has forgotten that host")
    func knowsBeginnings() {
        var admission = Admission<Int>(limits: limits())
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

    @Test("forgets hosts that nobody uses once there are 1,024, with what they spoke, and none that are in use")
    func forgetsIdleHosts() {
        var admission = Admission<Int>(limits: limits(total: 10_000, perHost: 1))
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

    @Test("never exceeds a limit and loses nobody, whatever happens", arguments: [11, 12, 13] as [UInt64])
    func keepsItsPromises(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        let limits = limits(total: 7, perHost: 2, streams: 4)
        var admission = Admission<Int>(limits: limits)
        var waiting: [Int: (host: String, place: Admission<Int>.Place)] = [:]
        var running: [Int: String] = [:]
        var hostOf: [Int: String] = [:]
        var isMultiplexing: [String: Bool] = [:]
        func started(_ tickets: [Int]) {
            for ticket in tickets {
                #expect(waiting.removeValue(forKey: ticket) != nil, "seed \(seed)")
                running[ticket] = hostOf[ticket]
            }
        }
        for ticket in 0..<5_000 {
            let host = ["a", "b", "c", "d"][Int(random.next() % 4)]
            hostOf[ticket] = host
            switch admission.request(
                ticket,
                host: admission.host(host),
                priority: .init(rawValue: Int(random.next() % 3)) ?? .low
            ) {
            case .start: running[ticket] = host
            case .wait(let place): waiting[ticket] = (host, place)
            }
            switch random.next() % 4 {
            case 0:
                if let (ticket, entry) = waiting.min(by: { $0.key < $1.key }) {
                    admission.withdraw(from: entry.place, host: admission.host(entry.host))
                    waiting[ticket] = nil
                }
            case 1:
                isMultiplexing[host] = random.next() % 2 == 0
                started(admission.learn(isMultiplexing[host] == true ? .streams : .none, host: admission.host(host)))
            default:
                if let (ticket, host) = running.min(by: { $0.key < $1.key }) {
                    running[ticket] = nil
                    started(admission.end(host: admission.host(host)))
                }
            }
            #expect(running.count <= limits.total, "seed \(seed)")
        }
        while let (ticket, host) = running.first {
            running[ticket] = nil
            started(admission.end(host: admission.host(host)))
        }
        #expect(waiting.isEmpty, "seed \(seed): \(waiting.count) were forgotten")
    }
}
