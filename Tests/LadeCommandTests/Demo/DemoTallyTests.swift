import Testing

@testable import Lade
@testable import LadeCommand
@testable import LadeHarvest

@Suite(.timeLimit(.minutes(5)))
struct DemoTallyTests {
    private let lines = Locked<[String]>([])

    private func tally() -> DemoTally {
        DemoTally { [lines] line in lines.withLock { $0.append(line) } }
    }

    @Test("counts the events of a harvest by kind, and reports them in a line")
    func counts() {
        let tally = tally()
        let error = LoadingError(.cannotConnect(host: "h", reason: .refused))
        let events: [Call.Event] = [
            .exchangeFailed(error, Response.Metrics()),
            .headReceived(status: 429, headers: ["Retry-After": "1"], version: nil),
            .headReceived(status: 429, headers: [:], version: nil),
            .headReceived(status: 200, headers: [:], version: nil),
            .retryScheduled(Call.Event.Retry(attempt: 1, rule: .transportFailure, delay: .seconds(2))),
            .waitEnded(.backoff(attempt: 2), after: .seconds(2)), .waitEnded(.backoff(attempt: 3), after: .seconds(1)),
            .refreshFinished(authoriser: "a", after: .zero), .requestReplayed(authoriser: "a"),
            .exchangeFailed(LoadingError(.cancelled), Response.Metrics()),
        ]
        for event in events { tally.record(event, of: Call()) }

        let counts = tally.counts
        #expect(counts.faults.map(\.kind) == ["dead host", "429 too many requests"])
        #expect(counts.faults.map(\.count) == [1, 2])
        #expect(counts.retries == 1)
        #expect(counts.refreshes == 1)
        #expect(counts.replays == 1)
        #expect(counts.waits.map(\.time) == [.seconds(3)])
        #expect(lines.withLock(\.self).count == 6)
    }

    @Test("ends with what was harvested, met, done and waited for")
    func report() {
        var counts = DemoTally.Counts()
        counts.add(fault: "dead host")
        counts.add(fault: "dead host")
        counts.add(fault: "503 unavailable")
        counts.retries = 3
        counts.refreshes = 1
        counts.add(wait: "for a token", .milliseconds(20))
        let summary = Harvest.Summary(
            ending: .complete,
            pages: 2,
            items: 80,
            bytes: 65_000,
            resumedPages: 0,
            duplicates: 0,
            total: 80,
            missing: 0
        )
        let report = DemoReport(summary: summary, time: .seconds(12), counts: counts, requests: 9, path: "out")

        #expect(
            report.text == """

                Harvested  80 medias in 2 pages, 65 kB, in 12 s, with 9 requests
                Met        2 × dead host, 1 × 503 unavailable
                Did        3 retries, 1 token
                           0 requests sent again with a new token
                Waited     20 ms for a token (1 time)
                Output     out

                """
        )
    }

    @Test("shows on a terminal how far it is")
    func words() {
        var progress = Pages.Progress()
        progress.items = 300
        progress.bytes = 250_000

        #expect(DemoScreen.words(progress, of: 600) == "50 %, 300 of 600, 250 kB")
        #expect(DemoScreen.seconds(.milliseconds(12_340)) == " 12.3 s")
    }
}
