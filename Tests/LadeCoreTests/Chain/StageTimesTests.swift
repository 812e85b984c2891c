import LadeTesting
import Testing

@testable import LadeCore

@Suite("Where the time of a call went", .timeLimit(.minutes(5)))
struct StageTimesTests {
    private typealias Exchange = Call.StageTimes.Exchange

    /// What a transport has measured, in seconds, and the times of the stages that follow from it.
    struct Row: Sendable {
        let name: String
        var started: Int?
        var sent: Int?
        var first: Int?
        var total: Int? = 10
        /// Connecting, sending, awaiting, receiving; nil where they are not told apart.
        let stages: [Int]?
    }

    private static let rows = [
        Row(name: "no connection yet", stages: [10, 0, 0, 0]),
        Row(name: "the request is being sent", started: 2, stages: [2, 8, 0, 0]),
        Row(name: "the response is awaited", started: 2, sent: 3, stages: [2, 1, 7, 0]),
        Row(name: "the response has begun", started: 2, sent: 3, first: 6, stages: [2, 1, 3, 4]),
        Row(name: "an interim response, and the request is being sent", started: 2, first: 3, stages: [2, 8, 0, 0]),
        Row(name: "a response before the end of the request", started: 2, sent: 5, first: 3, stages: [2, 3, 0, 5]),
        Row(name: "times beyond the end", started: 2, sent: 12, first: 13, stages: [2, 8, 0, 0]),
        Row(name: "a transport that measures the first byte alone", first: 3, stages: nil),
        Row(name: "a transport that measures nothing", total: nil, stages: nil),
    ]

    @Test("finding DC-5 the stages of an exchange follow from its times, and their sum is its time", arguments: rows)
    func stages(row: Row) {
        var metrics = Response.Metrics()
        metrics.requestStarted = row.started.map { .seconds($0) }
        metrics.requestSent = row.sent.map { .seconds($0) }
        metrics.firstByte = row.first.map { .seconds($0) }
        metrics.total = row.total.map { .seconds($0) }

        let seconds = metrics.stages.map { times in
            [times.connecting, times.sending, times.awaiting, times.receiving].map { Int($0 / 1_000_000_000) }
        }
        #expect(seconds == row.stages, "\(row.name)")
    }

    @Test("finding DC-5 times of exchanges are summed by stage, and what is not told apart is time with the server")
    func sums() {
        var table = Call.StageTimes()
        let second: Int64 = 1_000_000_000
        table.add(.seconds(1), to: .wait(.connectivity))
        table.add(Exchange(Exchange(sending: 2 * second, awaiting: second), lasting: .seconds(4)))
        table.add(.seconds(1), to: .wait(.backoff(attempt: 2)))
        table.add(Exchange(Exchange(sending: second), lasting: .seconds(1)))
        table.add(Exchange(nil, lasting: .seconds(2)))

        #expect(
            table.entries == [
                .init(stage: .wait(.connectivity), duration: .seconds(1)),
                .init(stage: .sending, duration: .seconds(3)),
                .init(stage: .awaiting, duration: .seconds(1)),
                .init(stage: .exchange, duration: .seconds(3)),
                .init(stage: .wait(.backoff(attempt: 2)), duration: .seconds(1)),
            ]
        )
        #expect(table.total == .seconds(9))
    }
}
