#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// A server that writes exact bytes, one response per connection. This file has the single-line cases.
extension TransportConformance {
    static var rawResponses: [ConformanceCase] {
        [
            malformed("TR-01", "refuses a response that is not HTTP", ["not HTTP": "FOOBAR"]),
            malformed(
                "TR-02",
                "refuses a protocol name in another case",
                ["Http": "Http/1.1 200 OK\r\n" + okRest, "http": "http/1.1 200 OK\r\n" + okRest],
                tolerance: .protocolNameCase
            ),
            delivers(
                "TR-03",
                "accepts a status line without a reason phrase",
                ["no space": "HTTP/1.1 200\r\n" + okRest, "a space": "HTTP/1.1 200 \r\n" + okRest]
            ),
            bodiless("TR-04", "ends a 204 at its head, whatever its Content-Length", 204),
            bodiless("TR-05", "ends a 304 at its head, whatever its Content-Length", 304),
            shortBody,
            delivers(
                "TR-07",
                "delivers a body ended by close",
                ["HTTP/1.1": "HTTP/1.1 200 OK\r\n\r\n1234", "HTTP/1.0": "HTTP/1.0 200 OK\r\n\r\n1234"],
                text: "1234"
            ),
            malformed(
                "TR-08",
                "refuses a Content-Length with a list of different numbers",
                ["10, 4": "HTTP/1.1 200 OK\r\nContent-Length: 10, 4\r\n\r\n1234567890"]
            ),
            malformed(
                "TR-09",
                "refuses two Content-Length fields that differ",
                ["5, 4": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\n1234"]
            ),
            lengthWithChunked,
            malformed(
                "TR-11",
                "refuses bare LF line ends in the head",
                [
                    "everywhere": "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
                    "after the status line": "HTTP/1.1 200 OK\n" + okRest,
                    "after a field": "HTTP/1.1 200 OK\r\nX-A: 1\nContent-Length: 2\r\n\r\nok",
                    "at the end": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nok",
                ],
                tolerance: .bareLineFeed
            ),
            malformed(
                "TR-12",
                "refuses a folded header line",
                [
                    "by a space": "HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\n" + okRest,
                    "by a tab": "HTTP/1.1 200 OK\r\nX-A: 1\r\n\t2\r\n" + okRest,
                ],
                tolerance: .foldedFields
            ),
            malformed(
                "TR-13",
                "refuses a header name with a space before the colon",
                [
                    "length": "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
                    "other": "HTTP/1.1 200 OK\r\nX-A : 1\r\n" + okRest,
                ],
                tolerance: .spaceBeforeColon
            ),
            cutChunks,
            badChunkSizes,
            largeHeads,
            interimHeads,
            unaskedUpgrade,
            surplusBytes,
            statusRange,
            malformed(
                "TR-21",
                "refuses NUL and a bare CR inside a header value",
                [
                    "NUL": "HTTP/1.1 200 OK\r\nX-A: a\0b\r\n" + okRest,
                    "CR": "HTTP/1.1 200 OK\r\nX-A: a\rb\r\n" + okRest,
                ]
            ),
            silence,
            resets,
        ]
    }

    static let okRest = "Content-Length: 2\r\n\r\nok"

    // MARK: - Shapes of cases

    /// Each response is refused.
    ///
    /// With the tolerance that is named for it, and only with that, it is accepted.
    private static func malformed(
        _ number: String,
        _ title: String,
        _ responses: KeyValuePairs<String, String>,
        tolerance: TransportSettings.Tolerances? = nil
    ) -> ConformanceCase {
        ConformanceCase(number, title) { context in
            for (name, response) in responses {
                await context.part(name) { context in
                    let all: TransportSettings.Tolerances = [
                        .bareLineFeed, .foldedFields, .protocolNameCase, .spaceBeforeColon, .lengthWithChunked,
                    ]
                    let others = tolerance.map { all.subtracting($0) } ?? all
                    for tolerances in [[], others] {
                        await context.eachDelivery {
                            try LoopbackServer(answering: response)
                        } _: {
                            $0.tolerances = tolerances
                        } check: { context, exchange, _ in
                            context.expectMalformed(exchange)
                        }
                    }
                    guard let tolerance else { return }
                    await context.part("tolerated") { context in
                        await expectTolerated(context, response, tolerance)
                    }
                }
            }
        }
    }

    static func expectTolerated(
        _ context: ConformanceContext,
        _ response: String,
        _ tolerance: TransportSettings.Tolerances
    ) async {
        await context.eachDelivery {
            try LoopbackServer(answering: response)
        } _: {
            $0.tolerances = tolerance
        } check: { context, exchange, _ in
            context.expect(exchange, gives: 200, "ok")
            context.expect(
                exchange.events.contains { if case .malformationTolerated = $0 { true } else { false } },
                "the tolerance was not reported as an event"
            )
        }
    }

    private static func delivers(
        _ number: String,
        _ title: String,
        _ responses: KeyValuePairs<String, String>,
        text: String = "ok"
    ) -> ConformanceCase {
        ConformanceCase(number, title) { context in
            for (name, response) in responses {
                await context.part(name) { context in
                    await context.eachDelivery {
                        try LoopbackServer(answering: response)
                    } check: { context, exchange, _ in
                        context.expect(exchange, gives: 200, text)
                    }
                }
            }
        }
    }

    private static func bodiless(_ number: String, _ title: String, _ status: Int) -> ConformanceCase {
        ConformanceCase(number, title) { context in
            await context.eachDelivery {
                // The connection stays open: an exchange that waited for the body would hang.
                let response = ServerStep.send("HTTP/1.1 \(status) Status\r\nContent-Length: 1000\r\n\r\n")
                return try LoopbackServer(script: [.readRequest, response, .readRequest, response, .stall])
            } check: { context, exchange, _ in
                context.expect(exchange, gives: Response.Status(status), "")
                context.expectEqual(exchange.headers["Content-Length"], "1000", "Content-Length")
            }
        }
    }
}
