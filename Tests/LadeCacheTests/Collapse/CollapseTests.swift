import CacheStoreConformance
import LadeCache
import LadeCore
import SharedDoubles
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CollapseTests {
    private let samples = RuleSamples()
    private let start = Instant(nanoseconds: 0)

    private func machine() -> CollapseState { CollapseState() }

    private func query(_ path: String = "a", _ headers: Headers = [:]) throws -> CacheQuery {
        try samples.query(.get, "https://example.org/\(path)", headers)
    }

    private func head(_ headers: Headers = [:], request: Headers = [:]) throws -> StoredHead {
        var all = headers
        all.add("Cache-Control", "max-age=60")
        return try samples.keep(all, request: request)
    }

    @Test("cache CA-175 equal requests share one exchange, and each receives the response")
    func shares() throws {
        var machine = machine()
        #expect(machine.arrive(1, try query(), now: start) == [.start(exchange: 1)])
        for call in UInt64(2)...1_000 {
            #expect(machine.arrive(call, try query(), now: start) == [.wait(exchange: 1)])
        }
        #expect(machine.arrive(2_000, try query("b"), now: start) == [.start(exchange: 2)])

        let actions = machine.receive(1, try head(), now: start)

        #expect(actions == (1...1_000).map { .deliver(exchange: 1, call: $0) })
        machine.end(1)
        #expect(machine.counts.calls == 1)
    }

    @Test("cache CA-175 CA-183 a request after the head starts an exchange of its own")
    func startsAfterHead() throws {
        var machine = machine()
        _ = machine.arrive(1, try query(), now: start)
        _ = machine.receive(1, try head(), now: start)

        #expect(machine.arrive(2, try query(), now: start) == [.start(exchange: 2)])
    }

    @Test("cache CA-184 calls whose deadlines are before the end of the exchange's own wait are refused, and no others")
    func refusesTheHasty() throws {
        func at(_ seconds: Int) -> Instant { start.advanced(by: .seconds(seconds)) }
        var machine = machine()
        _ = machine.arrive(1, try query(), deadline: at(60), now: start)
        for (call, deadline) in [(2, 9), (3, 10), (4, 5)] {
            _ = machine.arrive(UInt64(call), try query(), deadline: at(deadline), now: start)
        }
        _ = machine.arrive(5, try query(), now: start)

        let late: [CollapseState.Action] = [4, 2].sorted().map { .tooLate(exchange: 1, call: $0, until: at(10)) }
        #expect(machine.delay(1, until: at(10)) == late)
        #expect(
            machine.arrive(6, try query(), deadline: at(9), now: start)
                == [.tooLate(exchange: 1, call: 6, until: at(10))]
        )
        #expect(machine.arrive(7, try query(), deadline: at(10), now: start) == [.wait(exchange: 1)])
        #expect(machine.delay(1, until: nil).isEmpty)
        #expect(machine.arrive(8, try query(), deadline: at(1), now: start) == [.wait(exchange: 1)])
        #expect(machine.delay(1, until: at(2)) == [.tooLate(exchange: 1, call: 8, until: at(2))])
        // Another call carries the exchange out, and does not wait.
        #expect(machine.handOver(1, from: 1) == [.lead(exchange: 1, call: 3)])
        #expect(machine.arrive(9, try query(), deadline: at(1), now: start) == [.wait(exchange: 1)])
        #expect(
            machine.receive(1, try head(), now: start)
                == [3, 5, 7, 9].map { .deliver(exchange: 1, call: $0) }
        )
        machine.end(1)
        #expect(machine.counts == (0, 0, 0))
    }

    @Test("cache CA-178 the call that has waited longest carries out the exchange of one that left")
    func handsOver() throws {
        var machine = machine()
        for call in UInt64(1)...3 { _ = machine.arrive(call, try query(), now: start) }

        #expect(machine.handOver(1, from: 1) == [.lead(exchange: 1, call: 2)])
        #expect(machine.arrive(4, try query(), now: start) == [.wait(exchange: 1)])
        #expect(machine.handOver(1, from: 2) == [.lead(exchange: 1, call: 3)])
        #expect(machine.handOver(1, from: 3) == [.lead(exchange: 1, call: 4)])
        #expect(machine.handOver(1, from: 4).isEmpty)
        #expect(machine.counts == (0, 0, 0))
    }

    @Test("cache CA-176 requests that need their own response are never joined")
    func keepsApart() throws {
        let own: [Headers] = [
            ["Authorization": "x"], ["Cache-Control": "no-cache"], ["Pragma": "no-cache"], ["Range": "bytes=0-1"],
            ["If-None-Match": "x"], ["Cache-Control": "no-store"],
        ]
        var machine = machine()
        _ = machine.arrive(1, try query(), now: start)
        for headers in own {
            #expect(machine.arrive(2, try query("a", headers), now: start) == [.alone(call: 2)], "\(headers)")
        }
        var bypass = try query()
        bypass.mode = .bypass
        #expect(machine.arrive(3, bypass, now: start) == [.alone(call: 3)])
        #expect(machine.arrive(4, try samples.query(.post), now: start) == [.alone(call: 4)])
        var other = try query()
        other.key = try RuleSamples.key(account: "you")
        #expect(machine.arrive(5, other, now: start) == [.start(exchange: 2)])
    }

    @Test("cache CA-176 requests that Vary tells apart go alone")
    func partsByVary() throws {
        var machine = machine()
        _ = machine.arrive(1, try query("a", ["X-A": "1"]), now: start)
        _ = machine.arrive(2, try query("a", ["X-A": "2"]), now: start)
        _ = machine.arrive(3, try query("a", ["X-A": "1"]), now: start)

        let actions = machine.receive(1, try head(["Vary": "X-A"], request: ["X-A": "1"]), now: start)

        #expect(actions == [.deliver(exchange: 1, call: 1), .alone(call: 2), .deliver(exchange: 1, call: 3)])
    }

    @Test("cache CA-177 CA-178 leaving changes nothing for the others, and the last one ends the exchange")
    func leaves() throws {
        var machine = machine()
        for call in UInt64(1)...3 { _ = machine.arrive(call, try query(), now: start) }

        // The call that started the exchange leaves first.
        #expect(machine.leave(1).isEmpty)
        #expect(machine.leave(1).isEmpty)
        #expect(machine.leave(2).isEmpty)
        #expect(machine.leave(3) == [.cancel(exchange: 1)])
        #expect(machine.counts == (0, 0, 0))
        #expect(machine.receive(1, try head(), now: start).isEmpty)
        #expect(machine.arrive(4, try query(), now: start) == [.start(exchange: 2)])
    }

    @Test("cache CA-178 readers keep the exchange until the last one leaves")
    func keepsReaders() throws {
        var machine = machine()
        for call in UInt64(1)...2 { _ = machine.arrive(call, try query(), now: start) }
        _ = machine.receive(1, try head(), now: start)

        #expect(machine.leave(1).isEmpty)
        #expect(machine.leave(2) == [.cancel(exchange: 1)])
    }

    @Test("cache CA-179 a failure reaches all that wait, and a later call starts anew")
    func fails() throws {
        var machine = machine()
        for call in UInt64(1)...3 { _ = machine.arrive(call, try query(), now: start) }

        #expect(machine.fail(1) == (1...3).map { .fail(exchange: 1, call: $0) })
        #expect(machine.counts == (0, 0, 0))
        #expect(machine.arrive(4, try query(), now: start) == [.start(exchange: 2)])
    }

    @Test("cache CA-180 after a response that is not shared all go alone immediately, and are not joined for 120 s")
    func remembersUnshared() throws {
        var machine = machine()
        for call in UInt64(1)...3 { _ = machine.arrive(call, try query(), now: start) }

        #expect(
            machine.receive(1, .unshared, now: start) == [
                .deliver(exchange: 1, call: 1), .alone(call: 2), .alone(call: 3),
            ]
        )
        let before = start.advanced(by: .seconds(119))
        #expect(machine.arrive(4, try query(), now: before) == [.alone(call: 4)])
        #expect(machine.arrive(5, try query(), now: start.advanced(by: .seconds(120))) == [.start(exchange: 2)])
    }

    @Test("cache CA-180 the table of such keys is bounded")
    func boundsTable() throws {
        var machine = machine()
        for number in 0...CollapseState.apartLimit {
            let call = UInt64(number + 1)
            guard case .start(let exchange)? = machine.arrive(call, try query("\(number)"), now: start).first else {
                Issue.record("not started")
                return
            }
            _ = machine.receive(exchange, .unshared, now: start)
            machine.end(exchange)
        }

        #expect("\(machine.arrive(5_000, try query("0"), now: start))".contains("start"))
        #expect(machine.arrive(5_001, try query("1"), now: start) == [.alone(call: 5_001)])
    }

    @Test("cache CA-181 a more urgent call raises the priority of the exchange, once")
    func raises() throws {
        var machine = machine()
        _ = machine.arrive(1, try query(), priority: .low, now: start)

        #expect(
            machine.arrive(2, try query(), priority: .high, now: start)
                == [.wait(exchange: 1), .raise(exchange: 1, to: .high)]
        )
        #expect(machine.arrive(3, try query(), priority: .high, now: start) == [.wait(exchange: 1)])
        #expect(machine.handOver(1, from: 1) == [.lead(exchange: 1, call: 2)])
        #expect(machine.priority(of: 1) == .high)
        #expect(machine.priority(of: 2) == nil)
    }

    @Test("cache CA-270 there are no more exchanges than needs, calls that left their exchange, and new tries")
    func asksNoMoreThanNeeded() throws {
        let random = SeededRandom(seed: Soak.current.seed)
        for round in 0..<100 {
            var machine = machine()
            var (needs, left, tries, begun) = (0, 0, 0, 0)
            var ended: [UInt64: Int] = [:]
            var leaders: [UInt64: UInt64] = [:]
            var calls: UInt64 = 0
            func note(_ actions: [CollapseState.Action], from call: UInt64 = 0) {
                for action in actions {
                    switch action {
                    case .start(let exchange): (begun, leaders[exchange]) = (begun + 1, call)
                    case .lead(let exchange, let call): (begun, leaders[exchange]) = (begun + 1, call)
                    case .deliver(_, let call), .fail(_, let call), .tooLate(_, let call, _):
                        ended[call, default: 0] += 1
                    case .alone, .wait, .raise: break
                    case .cancel(let exchange): leaders[exchange] = nil
                    }
                }
            }
            let keys = (0..<(1 + random.below(4))).map { "\($0)" }
            for _ in 0..<random.below(200) {
                switch random.below(6) {
                case 0...3:
                    calls += 1
                    let actions = machine.arrive(calls, try query(random.pick(keys)), now: start)
                    // A need is new where no exchange for it is in flight.
                    if case .start? = actions.first { needs += 1 }
                    note(actions, from: calls)
                case 4:
                    guard let (exchange, call) = leaders.randomElement() else { continue }
                    left += 1
                    ended[call, default: 0] += 1
                    leaders[exchange] = nil
                    note(machine.handOver(exchange, from: call))
                default:
                    guard let exchange = leaders.keys.randomElement() else { continue }
                    leaders[exchange] = nil
                    if random.chance(50) {
                        tries += 1
                        note(machine.fail(exchange))
                    } else {
                        note(machine.receive(exchange, try head(), now: start))
                        machine.end(exchange)
                    }
                }
                #expect(leaders.count <= keys.count, "seed \(random.seed), round \(round)")
            }
            for exchange in leaders.keys { note(machine.fail(exchange)) }

            #expect(begun <= needs + left + tries, "seed \(random.seed), round \(round)")
            #expect(ended.count == Int(calls), "seed \(random.seed), round \(round)")
            #expect(ended.values.allSatisfy { $0 == 1 }, "seed \(random.seed), round \(round)")
            #expect(machine.counts == (0, 0, 0), "seed \(random.seed), round \(round)")
        }
    }

    @Test("cache CA-185 any interleaving ends each call once and leaves no table behind")
    func survivesInterleavings() throws {
        let random = SeededRandom(seed: Soak.current.seed)
        for round in 0..<40 {
            var machine = machine()
            var ended: [UInt64: Int] = [:]
            var inFlight: Set<UInt64> = []
            var readers: [UInt64: Set<UInt64>] = [:]
            var live: Set<UInt64> = []
            func note(_ actions: [CollapseState.Action]) {
                for action in actions {
                    switch action {
                    case .start(let exchange): inFlight.insert(exchange)
                    case .alone(let call), .fail(_, let call), .tooLate(_, let call, _):
                        ended[call, default: 0] += 1
                        live.remove(call)
                    case .deliver(let exchange, let call):
                        ended[call, default: 0] += 1
                        readers[exchange, default: []].insert(call)
                    case .cancel(let exchange):
                        inFlight.remove(exchange)
                        readers[exchange] = nil
                    case .wait, .raise, .lead: break
                    }
                }
            }
            var calls: UInt64 = 0
            let keys = (0..<30).map { "\($0)" }
            for step in 0..<600 {
                let now = start.advanced(by: .seconds(step))
                switch random.below(10) {
                case 0...4:
                    calls += 1
                    live.insert(calls)
                    note(machine.arrive(calls, try query(random.pick(keys)), now: now))
                case 5, 6:
                    guard let call = live.randomElement() else { continue }
                    live.remove(call)
                    if ended[call] == nil { ended[call] = 1 }
                    for exchange in readers.keys { readers[exchange]?.remove(call) }
                    note(machine.leave(call))
                default:
                    guard let exchange = inFlight.randomElement() else { continue }
                    if readers[exchange] != nil {
                        machine.end(exchange)
                        for call in readers[exchange] ?? [] { live.remove(call) }
                        inFlight.remove(exchange)
                    } else if random.chance(30) {
                        note(machine.fail(exchange))
                        inFlight.remove(exchange)
                    } else {
                        note(machine.receive(exchange, random.chance(20) ? nil : try head(), now: now))
                    }
                }
            }
            for call in live {
                if ended[call] == nil { ended[call] = 1 }
                note(machine.leave(call))
            }

            #expect(ended.count == Int(calls), "seed \(random.seed), round \(round)")
            #expect(ended.values.allSatisfy { $0 == 1 }, "seed \(random.seed), round \(round): \(ended)")
            #expect(machine.counts == (0, 0, 0), "seed \(random.seed), round \(round): \(machine.counts)")
        }
    }
}

extension CollapseState {
    /// The head of an exchange has arrived, or nil where its response is not shared.
    fileprivate mutating func receive(_ exchange: UInt64, _ head: StoredHead?, now: Instant) -> [Action] {
        guard let head else { return receive(exchange, .unshared, now: now) }
        let matching = closeToOthers(exchange).filter {
            !ResponseCache.Rules().variants(of: $0.value.query, in: [head]).isEmpty
        }
        return receive(exchange, .shared(with: Set(matching.keys)), now: now)
    }
}
