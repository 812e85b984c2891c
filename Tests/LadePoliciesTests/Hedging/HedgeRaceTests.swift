import LadeCore
import Testing

@testable import LadePolicies

/// What decides about a hedged attempt, without tasks and time.
@Suite("The race of a hedged attempt", .timeLimit(.minutes(5)))
struct HedgeRaceTests {
    private typealias Ending = HedgeRace.Ending

    @Test(
        "policies PL-71 decides every order of two endings, before and after the delay",
        arguments: Ending.allCases.filter { $0 != .unsent },
        Ending.allCases
    )
    func twoEndings(first: HedgeRace.Ending, hedge: HedgeRace.Ending) {
        // Before the delay.
        var early = HedgeRace(limit: 1)
        let earlyActions = [early.ended(0, first), early.due(after: 0)]
        #expect(earlyActions == [.deliver(0), .wait])
        #expect(early.sent == 0)

        // After it, in both orders.
        let final: Set<Ending> = [.settled, .cancelled]
        let least = hedge == .unsettled && first != .unsettled ? 1 : 0
        for order in [[0, 1], [1, 0]] {
            var race = HedgeRace(limit: 1)
            let sent = race.due(after: 0)
            #expect(sent == .hedge(1))
            let endings = order.map { $0 == 0 ? first : hedge }
            let actions = [race.ended(order[0], endings[0]), race.ended(order[1], endings[1])]
            if final.contains(endings[0]) {
                #expect(actions == [.deliver(order[0]), .wait])
            } else if final.contains(endings[1]) {
                #expect(actions == [.wait, .deliver(order[1])])
            } else {
                #expect(actions == [.wait, .deliver(least)])
            }
            #expect(race.sent == (hedge == .unsent ? 0 : 1))
            let further = race.due(after: 1)
            #expect(further == .wait)
        }
    }

    @Test("policies PL-70 sends no more hedges than the limit, each after the delay of the newest", arguments: 0...3)
    func limit(limit: Int) {
        var race = HedgeRace(limit: limit)

        for number in 0..<limit {
            let actions = [race.due(after: number), race.due(after: number)]
            #expect(actions == [.hedge(number + 1), .wait])
        }

        let last = race.due(after: limit)
        #expect(last == .wait)
        #expect(race.sent == limit)
    }

    @Test(
        "policies PL-71 sends no further hedge once an exchange has failed",
        arguments: [HedgeRace.Ending.unsettled, .failed, .unsent]
    )
    func nothingAfterAFailure(ending: HedgeRace.Ending) {
        var race = HedgeRace(limit: 2)
        _ = race.due(after: 0)

        let actions = [race.ended(1, ending), race.due(after: 1), race.ended(0, .failed)]
        #expect(actions == [.wait, .wait, .deliver(ending == .unsettled ? 1 : 0)])
    }

    // MARK: - The delay

    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("policies PL-70 measures the delay from the beginning of the newest exchange, without waits")
    func wait() throws {
        let reason = Call.WaitReason.connection(host: "h")
        var wait = HeadWait(since: at(0))
        #expect(wait.end(of: .milliseconds(200)) == at(200))

        _ = wait.note(.waitStarted(reason), at: at(10))
        #expect(wait.end(of: .milliseconds(200)) == nil)
        _ = wait.note(.waitEnded(reason, after: .milliseconds(300)), at: at(310))
        #expect(wait.end(of: .milliseconds(200)) == at(510))
        _ = wait.note(.exchangeStarted(method: .get, url: "http://h/"), at: at(320))
        #expect(wait.end(of: .milliseconds(200)) == at(520))
        #expect(wait.sample(nil, at: at(400)) == .milliseconds(80))

        let isChanged = wait.note(.interimResponse(status: 103, headers: [:]), at: at(330))
        #expect(!isChanged)
        _ = wait.note(.headReceived(status: 401, headers: [:], version: nil), at: at(350))
        #expect(wait.end(of: .milliseconds(200)) == nil)
        #expect(wait.sample(200, at: at(400)) == .milliseconds(30))

        _ = wait.note(.exchangeStarted(method: .get, url: "http://h/"), at: at(360))
        #expect(wait.end(of: .milliseconds(200)) == at(560))
        _ = wait.note(.headReceived(status: 503, headers: [:], version: nil), at: at(370))
        #expect(wait.sample(503, at: at(400)) == nil)
    }

    // MARK: - Percentiles

    @Test(
        "policies PL-76 takes a percentile by the nearest rank",
        arguments: [
            (95.0, 20, 18), (95, 200, 189), (99, 100, 98), (50, 3, 1), (0, 5, 0), (100, 5, 4), (250, 5, 4), (-1, 5, 0),
            (.nan, 5, 4), (95, 1, 0),
        ]
    )
    func rank(percent: Double, count: Int, rank: Int) {
        #expect(Hedging.rank(percent, of: count) == rank)
    }

    @Test("policies PL-76 hedges nothing before there are samples, and forgets the oldest of them")
    func samples() {
        let hedging = Hedging(.percentile(50, minimumSamples: 3))
        let (key, other) = (ServiceKey("a"), ServiceKey("b"))
        for milliseconds in [30, 10] { hedging.note(.milliseconds(milliseconds), for: key) }
        #expect(hedging.delay(for: key) == nil)

        hedging.note(.milliseconds(20), for: key)
        #expect(hedging.delay(for: key) == .milliseconds(20))
        #expect(hedging.delay(for: other) == nil)

        for _ in 0..<HedgingPolicy.sampleLimit { hedging.note(.milliseconds(7), for: key) }
        #expect(hedging.delay(for: key) == .milliseconds(7))
        for _ in 0..<HedgingPolicy.sampleLimit / 2 { hedging.note(.milliseconds(5), for: key) }
        #expect(hedging.delay(for: key) == .milliseconds(5))
    }

    @Test("policies PL-76 keeps the samples of the services that were used last")
    func services() {
        let hedging = Hedging(.percentile(50, minimumSamples: 1))
        for number in 0...Hedging.serviceLimit { hedging.note(.milliseconds(1), for: ServiceKey("\(number)")) }

        #expect(hedging.delay(for: ServiceKey("0")) == nil)
        #expect(hedging.delay(for: ServiceKey("\(Hedging.serviceLimit)")) == .milliseconds(1))
    }

    @Test("policies PL-70 counts a negative delay as none")
    func negativeDelay() {
        #expect(Hedging(.delay(.seconds(-1))).delay(for: ServiceKey("a")) == .zero)
    }
}
