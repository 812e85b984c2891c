import LadeCore
import LadeExchange
import Testing

@testable import LadeWire

@Suite("What becomes of an exchange whose stream has ended", .timeLimit(.minutes(5)))
struct StreamDecisionTests {
    private static func facts(_ change: (inout StreamDecision.Facts) -> Void = { _ in }) -> StreamDecision.Facts {
        var facts = StreamDecision.Facts()
        change(&facts)
        return facts
    }

    private static let refused = StreamDecision.fail(.lost(.nothing, wasSent: false))
    private static let lost = StreamDecision.fail(.lost(.nothing, wasSent: true))

    @Test("wire WR-48 a refused stream is not sent again here, and may be by the caller")
    func refusal() {
        #expect(StreamDecision(.refused, Self.facts()) == Self.refused)
        #expect(StreamDecision(.refused, Self.facts { $0.wasReused = true }) == Self.refused)
    }

    @Test(
        "wire WR-49 a request that was not processed moves to another connection, three times, if its body can",
        arguments: [(0, true, true), (2, true, true), (3, true, false), (0, false, false)]
    )
    func unprocessed(moves: Int, canSendBodyAgain: Bool, isMoved: Bool) {
        let facts = Self.facts {
            $0.moves = moves
            $0.canSendBodyAgain = canSendBodyAgain
            $0.isRepeatable = false
        }
        let expected = isMoved ? StreamDecision.move : Self.refused
        #expect(StreamDecision(.unprocessed, facts) == expected)

        // The connection has ended while the request was in our buffers.
        var unsent = facts
        unsent.wasSent = false
        #expect(StreamDecision(.lost, unsent) == expected)
    }

    @Test("wire WR-50 HTTP/1.1 is tried once, if the body can be sent again")
    func downgrade() {
        #expect(StreamDecision(.needsHTTP1, Self.facts { $0.isRepeatable = false }) == .downgrade)
        #expect(StreamDecision(.needsHTTP1, Self.facts { $0.isDowngraded = true }) == Self.lost)
        #expect(StreamDecision(.needsHTTP1, Self.facts { $0.canSendBodyAgain = false }) == Self.lost)
    }

    @Test(
        "wire WR-47 WR-51 a lost request is sent again once, on a reused connection, if it may be processed twice",
        arguments: [
            (true, true, false, StreamDecision.sendAgain), (true, true, true, lost), (true, false, false, lost),
            (false, true, false, lost),
        ]
    )
    func lostRequests(wasReused: Bool, isRepeatable: Bool, wasRepeated: Bool, outcome: StreamDecision) {
        let facts = Self.facts {
            $0.wasReused = wasReused
            $0.isRepeatable = isRepeatable
            $0.wasRepeated = wasRepeated
        }

        #expect(StreamDecision(.lost, facts) == outcome)
    }

    @Test("wire WR-51 WR-52 what fails after a part of the response is never sent again, and says how much arrived")
    func partsOfResponses() {
        let facts = Self.facts {
            $0.progress = .body(received: 7)
            $0.expected = 9
            $0.wasReused = true
        }
        let fault = HeadVetting.Fault.tooLarge(.fields(1))

        #expect(StreamDecision(.complete, facts) == .complete)
        #expect(StreamDecision(.lost, facts) == .fail(.incomplete(received: 7, expected: 9)))
        #expect(StreamDecision(.reset(code: 0), facts) == .fail(.lost(.body(received: 7), wasSent: true)))
        #expect(StreamDecision(.reset(code: 2), Self.facts { $0.wasReused = true }) == Self.lost)
        #expect(StreamDecision(.malformed(fault), facts) == .refuse(fault))
        #expect(StreamDecision(.uploadFailed, facts) == .failUpload)
    }

    @Test(
        "finding WF-14 once a head has arrived no ending of a stream sends the request again",
        arguments: [
            .refused, .unprocessed, .needsHTTP1, .reset(code: 0), .reset(code: 7), .lost,
        ] as [HTTP2Stream.Ending],
        [.head, .body(received: 0), .body(received: 7)] as [LoadingError.ResponseProgress]
    )
    func afterAHead(ending: HTTP2Stream.Ending, progress: LoadingError.ResponseProgress) {
        for (wasSent, wasReused) in [(true, true), (true, false), (false, true), (false, false)] {
            let facts = Self.facts {
                $0.progress = progress
                $0.wasSent = wasSent
                $0.wasReused = wasReused
            }
            let expected: WireFault =
                if case (.lost, .body(let received)) = (ending, progress) {
                    .incomplete(received: received, expected: nil)
                } else {
                    .lost(progress, wasSent: true)
                }

            #expect(StreamDecision(ending, facts) == .fail(expected))
        }
    }
}
