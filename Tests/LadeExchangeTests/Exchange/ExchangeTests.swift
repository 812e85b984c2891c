import LadeCore
import LadeTesting
import Testing

@testable import LadeExchange

@Suite("Exchanges", .timeLimit(.minutes(5)))
struct ExchangeTests {
    private static let interim = ["HTTP/1.1 103 Early\r\n", "\r\n"]
    private static let final = ["HTTP/1.1 200 OK\r\n", "\r\n"]

    /// Gives lines to an exchange.
    private func take(_ lines: [String], _ exchange: Exchange) {
        for line in lines {
            let finding = Array(line.utf8).withUnsafeBufferPointer { exchange.take(line: $0, at: 1) }
            if case .final(let head) = finding { exchange.noteHead(head) }
        }
    }

    @Test(
        "finding WF-14 an exchange can be sent, and sent again, until a line of the response has arrived",
        arguments: [
            ([], true), (["HTTP/1.1 200 OK\r\n"], false), (interim, false), (final, false), (interim + final, false),
        ] as [([String], Bool)]
    )
    func sendings(lines: [String], canBeSent: Bool) {
        let exchange = Exchange.numbered(1)
        let isFirst = exchange.prepareForSending()
        #expect(isFirst)
        take(lines, exchange)

        #expect(exchange.prepareForSending() == canBeSent)
        #expect(exchange.hasHead == lines.contains("HTTP/1.1 200 OK\r\n") && lines.count > 1 || !exchange.hasHead)
    }

    @Test("finding WF-11 an exchange has an end in the events when it has begun, and once", arguments: [true, false])
    func pairs(hasBegun: Bool) throws {
        let recorder = EventRecorder()
        let exchange = try Exchange(
            Request("http://a.test/"),
            call: Call(events: [recorder]),
            rules: Exchange.Rules(TransportSettings()),
            lane: .direct
        )
        if hasBegun { exchange.announce(skipsCertificates: false) }
        for _ in 0..<2 { _ = exchange.finish(LoadingError(.cancelled), metrics: Response.Metrics()) }

        let expected = hasBegun ? ["exchange started GET http://a.test/", "exchange failed: cancelled"] : []
        #expect(recorder.story == expected)
    }
}
