import LadeCore
import Testing

@testable import LadePolicies

@Suite(.timeLimit(.minutes(5)))
struct AddressBreakerTests {
    private let settings = HostDirectory.Marking()
    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    private func note(
        _ evidence: HostEvidence,
        _ breaker: inout AddressBreaker,
        at seconds: Int64,
        jitter: Double = 0
    ) -> AddressBreaker.Change {
        let ticket = breaker.pick(at: at(seconds))
        return breaker.note(evidence, of: ticket, at: at(seconds), settings, jitter: jitter)
    }

    @Test("service RE-05 an address that was never used is reachable")
    func startsClosed() {
        #expect(!AddressBreaker().isMarked(at: at(0)))
    }

    @Test("service RE-06 an address that failed just now is not reachable")
    func marks() {
        var breaker = AddressBreaker()

        let change = note(.down(reason: "no connection"), &breaker, at: 10)

        #expect(change == .marked(reason: "no connection", for: .seconds(30)))
        #expect(breaker.isMarked(at: at(10)))
        #expect(breaker.isMarked(at: at(39)))
        #expect(!breaker.isMarked(at: at(40)))
    }

    @Test("service RE-07 a mark of the future is none: the clock was set back")
    func ignoresFuture() {
        var breaker = AddressBreaker()
        breaker.mark(at: at(100_000), for: .seconds(30))

        #expect(!breaker.isMarked(at: at(0)))
    }

    @Test("policies PL-31 five suspicious failures in a row mark an address, with a success between them none")
    func countsRow() {
        var breaker = AddressBreaker()
        for _ in 0..<4 { #expect(note(.suspicious(reason: "status 500"), &breaker, at: 0) == .none) }
        #expect(note(.works, &breaker, at: 0) == .none)
        for _ in 0..<4 { #expect(note(.suspicious(reason: "status 500"), &breaker, at: 0) == .none) }
        #expect(!breaker.isMarked(at: at(0)))

        #expect(
            note(.suspicious(reason: "status 500"), &breaker, at: 0) == .marked(reason: "status 500", for: .seconds(30))
        )
    }

    @Test("finding FT-12 an interval of any length is taken, and doubled as far as it can be")
    func longIntervals() {
        var settings = HostDirectory.Marking()
        settings.interval = .seconds(Int64.max)
        settings.maximumInterval = .seconds(Int64.max)
        var breaker = AddressBreaker()
        for _ in 0..<3 {
            let ticket = breaker.pick(at: at(0))
            let evidence = HostEvidence.down(reason: "no connection")
            let change = breaker.note(evidence, of: ticket, at: at(0), settings, jitter: 0)
            #expect(change == .marked(reason: "no connection", for: .nanoseconds(Int64.max)))
            breaker = AddressBreaker()
        }
    }

    @Test("policies PL-31 marks grow to five minutes and are jittered downwards")
    func grows() {
        var breaker = AddressBreaker()
        var now: Int64 = 0
        var lengths: [Duration] = []
        for _ in 0..<6 {
            if case .marked(_, let length) = note(.down(reason: ""), &breaker, at: now) { lengths.append(length) }
            now += 400
        }
        #expect(lengths == [30, 60, 120, 240, 300, 300].map { .seconds($0) })

        var other = AddressBreaker()
        #expect(note(.down(reason: ""), &other, at: 0, jitter: 0.5) == .marked(reason: "", for: .seconds(26.25)))
    }

    @Test("policies PL-31 when the mark is over, one call finds out; its success clears, its failure marks for longer")
    func probes() {
        var breaker = AddressBreaker()
        _ = note(.down(reason: ""), &breaker, at: 0)

        let probe = breaker.pick(at: at(30))
        #expect(probe.isProbe)
        // Other calls avoid it while the probe is in flight.
        #expect(breaker.isMarked(at: at(31)))
        #expect(!breaker.pick(at: at(31)).isProbe)
        #expect(
            breaker.note(.down(reason: "x"), of: probe, at: at(32), settings, jitter: 0)
                == .marked(reason: "x", for: .seconds(60))
        )

        let second = breaker.pick(at: at(92))
        #expect(second.isProbe)
        #expect(breaker.note(.works, of: second, at: at(93), settings, jitter: 0) == .recovered)
        #expect(!breaker.isMarked(at: at(93)))
        #expect(note(.down(reason: ""), &breaker, at: 94) == .marked(reason: "", for: .seconds(30)))
    }

    @Test("policies PL-31 after a cancelled probe, the next call is the probe")
    func abandonsProbe() {
        var breaker = AddressBreaker()
        _ = note(.down(reason: ""), &breaker, at: 0)
        let probe = breaker.pick(at: at(30))

        #expect(breaker.note(.none, of: probe, at: at(31), settings, jitter: 0) == .none)

        #expect(breaker.pick(at: at(31)).isProbe)
    }

    @Test("a hundred failures that were in flight together make one mark, and a late success does not remove it")
    func ignoresStaleNews() {
        var breaker = AddressBreaker()
        let tickets = (0..<100).map { _ in breaker.pick(at: at(0)) }

        let changes = tickets.map { breaker.note(.down(reason: ""), of: $0, at: at(1), settings, jitter: 0) }

        #expect(changes.count { $0 != .none } == 1)
        #expect(breaker.note(.works, of: tickets[0], at: at(2), settings, jitter: 0) == .none)
        #expect(breaker.isMarked(at: at(2)))
    }
}

@Suite(.timeLimit(.minutes(5)))
struct HostEvidenceTests {
    private func request() throws -> Request { try Request("https://a.test/") }

    @Test(
        "policies PL-31 distinguishes statuses that count against an address from others",
        arguments: [
            (200, false, "works"), (404, false, "works"), (429, false, "works"), (501, false, "works"),
            (500, false, "suspicious"), (502, false, "down"), (503, false, "down"), (504, false, "down"),
            (503, true, "none"), (502, true, "none"),
        ]
    )
    func statuses(status: Int, hasRetryAfter: Bool, expected: String) throws {
        let headers: Headers = hasRetryAfter ? ["Retry-After": "3"] : [:]

        let evidence = HostEvidence(Response(status: Response.Status(status), headers: headers, request: try request()))

        #expect(label(evidence) == expected)
    }

    @Test(
        "policies PL-31 distinguishes errors that count against an address from others",
        arguments: [
            (LoadingError(.cannotConnect(host: "a", reason: .refused)), "down"),
            (LoadingError(.nameNotResolved(host: "a")), "down"), (LoadingError(.timedOut(.connect)), "down"),
            (LoadingError(.connectionLost(.nothing, isSafeToRepeat: true)), "down"),
            (LoadingError(.untrustedServer(.init(host: "a", cause: .expired))), "down"),
            (LoadingError(.pinMismatch(host: "a")), "down"), (LoadingError(.timedOut(.idle)), "suspicious"),
            (LoadingError(.connectionLost(.head, isSafeToRepeat: false)), "suspicious"),
            (LoadingError(.malformedResponse(.init(.statusLine))), "suspicious"), (LoadingError(.cancelled), "none"),
            (LoadingError(.bodyTooLarge(limit: 1, announced: nil)), "none"),
            (LoadingError(.requestBodyFailed, underlyingError: CancellationError()), "none"),
            (LoadingError(.proxy(.cannotConnect(proxy: "p"))), "none"),
        ] as [(LoadingError, String)]
    )
    func errors(error: LoadingError, expected: String) {
        #expect(label(HostEvidence(error)) == expected)
    }

    private func label(_ evidence: HostEvidence) -> String {
        switch evidence {
        case .works: "works"
        case .down: "down"
        case .suspicious: "suspicious"
        case .none: "none"
        }
    }
}
