import LadeCore
import LadeExchange
import LadeTesting
import Testing

@testable import LadeWire

@Suite("The loop over simulated sockets", .timeLimit(.minutes(5)))
struct SimulationTests {
    /// What became of one exchange.
    private struct Outcome: Equatable {
        var endings = 0
        var error: LoadingError.Kind?
        var bytes: Int64 = 0
        var requests = 0
        var openSockets = 0
    }

    /// Runs one GET against a peer, until the exchange has ended.
    private func run(_ script: SimulatedSystem.Script) throws -> Outcome {
        let system = SimulatedSystem([script])
        let loop = try WireLoop(TransportSettings(), system: system, now: { 1 })
        let recorder = EventRecorder()
        var request = try Request("http://127.0.0.1/")
        request.timeouts.idle = .seconds(5)
        let exchange = try Exchange(
            request,
            call: Call(events: [recorder]),
            rules: Exchange.Rules(TransportSettings()),
            lane: .direct
        )
        loop.inbox.post(.submit(exchange))
        // An exchange that has ended stays so, whatever arrives afterwards.
        var turns = 0
        var later = 0
        while later < 5, turns < 10_000 {
            #expect(loop.turn())
            turns += 1
            if case .finished = exchange.phase { later += 1 }
        }
        #expect(turns < 10_000, "the exchange did not end")
        var outcome = Outcome()
        for event in recorder.events {
            switch event {
            case .exchangeFinished(let metrics):
                outcome.endings += 1
                outcome.bytes = metrics.decodedBodyBytes
            case .exchangeFailed(let error, let metrics):
                outcome.endings += 1
                outcome.error = error.kind
                outcome.bytes = metrics.decodedBodyBytes
            default: break
            }
        }
        outcome.requests = system.requests
        loop.inbox.stop()
        #expect(!loop.turn())
        outcome.openSockets = system.openSockets
        return outcome
    }

    private static let answers: [(text: String, body: Int64, endsWithConnection: Bool)] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789", 10, false),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\nX: 1\r\n\r\n", 10,
            false
        ),
        ("HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", 0, false),
        ("HTTP/1.1 200 OK\r\n\r\n0123456789", 10, true),
    ]

    @Test(
        "ends each exchange once and rightly, wherever the server ends, resets or stalls",
        arguments: answers.indices,
        SimulatedSystem.Ending.allCases
    )
    func faults(answer: Int, ending: SimulatedSystem.Ending) throws {
        let (text, body, endsWithConnection) = Self.answers[answer]
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            let sent = Array(bytes[..<cut])
            // Whole, byte by byte, and in two pieces.
            for pieces in [[sent], sent.map { [$0] }, [Array(sent[..<(cut / 2)]), Array(sent[(cut / 2)...])]] {
                let outcome = try run(SimulatedSystem.Script(pieces: pieces.filter { !$0.isEmpty }, ending: ending))
                #expect(outcome.endings == 1, "cut at \(cut)")
                #expect(outcome.requests == 1, "cut at \(cut)")
                #expect(outcome.bytes <= body, "cut at \(cut)")
                let isComplete =
                    endsWithConnection ? ending == .end && cut >= bytes.count - Int(body) : cut == bytes.count
                #expect((outcome.error == nil) == isComplete, "cut at \(cut): \(String(describing: outcome.error))")
            }
        }
    }
}
