import LadeCore
import LadeExchange
import Testing

@testable import LadeWire

@Suite("An exchange of HTTP/1.1 as a value", .timeLimit(.minutes(5)))
struct HTTP1ExchangeTests {
    /// What came of the bytes of a server.
    struct Outcome: Equatable {
        var interim: [Int] = []
        var status: Int?
        var content = ""
        var trailers: [String] = []
        var isComplete = false
        var hasSurplus = false
        var fault: HeadVetting.Fault?
        var end: HTTP1Exchange.End?
    }

    private static let rules = Exchange.Rules(TransportSettings())

    private static func makeExchange(isToHead: Bool = false, framing: RequestFraming = .none) -> HTTP1Exchange {
        HTTP1Exchange(framing: framing, isToHead: isToHead, rules: rules)
    }

    /// Feeds the bytes in the given pieces, and then the end of the connection unless the response is complete.
    static func receive(_ pieces: [[UInt8]], isToHead: Bool = false) -> Outcome {
        var exchange = makeExchange(isToHead: isToHead)
        var vetting = HeadVetting(limits: rules.limits, tolerances: rules.tolerances)
        var outcome = Outcome()
        for piece in pieces where outcome.fault == nil {
            piece.withUnsafeBytes { feed($0, &exchange, &vetting, &outcome) }
        }
        if outcome.fault == nil, !outcome.isComplete { outcome.end = exchange.ended() }
        outcome.trailers = vetting.takeTrailers().map { "\($0.name): \($0.value)" }
        return outcome
    }

    private static func feed(
        _ bytes: UnsafeRawBufferPointer,
        _ exchange: inout HTTP1Exchange,
        _ vetting: inout HeadVetting,
        _ outcome: inout Outcome
    ) {
        var rest = bytes
        do throws(HeadVetting.Fault) {
            while true {
                switch try exchange.next(&rest, &vetting, nil) {
                case .more: return
                case .interim(let status, _): outcome.interim.append(status.code)
                case .final(let head): outcome.status = head.status.code
                case .content(let count):
                    outcome.content += String(decoding: rest[..<count], as: UTF8.self)
                    exchange.took(count)
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                case .complete(let surplus):
                    outcome.isComplete = true
                    if surplus > 0 { outcome.hasSurplus = true }
                    return
                }
            }
        } catch {
            outcome.fault = error
        }
    }

    private static let answers = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\n\r\nuntil the end",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\nfour\r\n0\r\nX-A: 1\r\nX-B: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nX : 1\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "FOOBAR\r\n\r\n",
        "FOOBAR",
        "HTTP/1.1 200 OK\r\nContent-",
    ]

    @Test(
        "wire WR-35 a response in pieces gives what it gives in one piece, wherever it is cut",
        arguments: answers
    )
    func splits(answer: String) {
        let bytes = Array(answer.utf8)
        let whole = Self.receive([bytes])
        func expectSame(_ outcome: Outcome, _ place: String) {
            // A fault that is certain before the end of its line quotes as much of the line as has arrived.
            guard case .malformed(let fault)? = outcome.fault, case .malformed(let expected)? = whole.fault else {
                #expect(outcome == whole, "\(place)")
                return
            }
            #expect(fault.rule == expected.rule, "\(place)")
            #expect(outcome.content == whole.content, "\(place)")
        }
        for cut in bytes.indices.dropFirst() {
            expectSame(Self.receive([Array(bytes[..<cut]), Array(bytes[cut...])]), "cut at \(cut)")
        }
        expectSame(Self.receive(bytes.map { [$0] }), "byte by byte")
    }

    @Test("delivers content, trailers and interim heads, and finds the end of each framing")
    func framings() {
        let outcomes = Self.answers.map { Self.receive([Array($0.utf8)]) }
        #expect(outcomes.map(\.content).prefix(7) == ["hello", "hello", "hello", "until the end", "", "four", "four"])
        #expect(outcomes.map(\.isComplete).prefix(7) == [true, true, false, false, true, true, false])
        #expect(outcomes.map(\.hasSurplus).prefix(3) == [false, true, false])
        #expect(outcomes[2].end == .incomplete(expected: 9))
        #expect(outcomes[3].end == .complete)
        #expect(outcomes[4].interim == [103])
        #expect(outcomes[4].status == 204)
        #expect(outcomes[5].trailers == ["X-A: 1", "X-B: 2"])
        #expect(outcomes[6].end == .incomplete(expected: nil))
        #expect(outcomes[12].end == .lost)
    }

    @Test("a response to HEAD ends at its head, whatever it announces")
    func head() {
        let outcome = Self.receive([Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".utf8)], isToHead: true)
        #expect(outcome.isComplete)
    }

    // MARK: - Sending

    private func receive(_ text: String, _ exchange: inout HTTP1Exchange) {
        var vetting = HeadVetting(limits: Self.rules.limits, tolerances: Self.rules.tolerances)
        var outcome = Outcome()
        Array(text.utf8).withUnsafeBytes { Self.feed($0, &exchange, &vetting, &outcome) }
    }

    @Test(
        "a body that waits for 100 is sent after it, and not after a final status",
        arguments: [
            ("HTTP/1.1 100 Continue\r\n\r\n", HTTP1Exchange.Sending.body),
            ("HTTP/1.1 103 Hints\r\n\r\n", .awaitingContinue),
            ("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n", .stopped), ("HTTP/1.1 200 OK\r\n\r\n", .stopped),
        ]
    )
    func expectation(answer: String, sending: HTTP1Exchange.Sending) {
        var exchange = Self.makeExchange(framing: .length(10))
        exchange.headSent(bodyFollows: true, awaitsContinue: true)
        #expect(exchange.sending == .awaitingContinue)
        receive(answer, &exchange)
        #expect(exchange.sending == sending)
    }

    @Test("an unanswered expectation ends by itself")
    func impatience() {
        var exchange = Self.makeExchange(framing: .chunked)
        exchange.headSent(bodyFollows: true, awaitsContinue: true)
        exchange.continueAnyway()
        #expect(exchange.sending == .body)
    }

    @Test(
        "a final status from 300 on stops the upload, and one below does not",
        arguments: [(200, HTTP1Exchange.Sending.body), (299, .body), (300, .stopped), (401, .stopped), (500, .stopped)]
    )
    func earlyAnswer(status: Int, sending: HTTP1Exchange.Sending) {
        var exchange = Self.makeExchange(framing: .length(10))
        exchange.headSent(bodyFollows: true, awaitsContinue: false)
        receive("HTTP/1.1 \(status) \r\nContent-Length: 0\r\n\r\n", &exchange)
        #expect(exchange.sending == sending)
        #expect(exchange.receiving == .done)
        #expect(exchange.hasEnded == (sending == .stopped))
        exchange.bodySent()
        #expect(exchange.hasEnded)
    }

    @Test("an exchange without a body has sent everything with its head")
    func bodyless() {
        var exchange = Self.makeExchange()
        exchange.headSent(bodyFollows: false, awaitsContinue: false)
        #expect(exchange.sending == .done)
    }
}
