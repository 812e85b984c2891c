#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting
import Testing

@Suite("Scripted transport", .timeLimit(.minutes(5)))
struct ScriptedTransportTests {
    let transport = ScriptedTransport()
    let time = VirtualTime()
    let events = EventRecorder()
    var call: Call { Call(time: time, events: [events]) }

    @Test("answers in the order of the script and repeats the last answer")
    func ordersAnswers() async throws {
        transport.on(.get, "/shows").respond(.json("[1]")).then(.status(503, headers: ["Retry-After": "3"]))
        let request = try Request(.get, "http://localhost/shows?size=2")

        let first = try await transport.send(request, call: call)
        let second = try await transport.send(request, call: call)
        let third = try await transport.send(request, call: call)

        #expect(first.status == 200)
        #expect(first.headers["content-type"] == "application/json")
        #expect(try await first.body.collect() == Data("[1]".utf8))
        #expect(second.headers["Retry-After"] == "3")
        #expect(third.status == 503)
        #expect(transport.lines == Array(repeating: "GET /shows?size=2", count: 3))
    }

    @Test(
        "finding SF-13 answers are used in order and the last is repeated, however they are given",
        arguments: [true, false]
    )
    func oneRuleOfRepetition(areGivenAtOnce: Bool) async throws {
        let transport = areGivenAtOnce ? ScriptedTransport(answering: .status(503), .status(200)) : ScriptedTransport()
        if !areGivenAtOnce { transport.onAnyRequest().respond(.status(503)).then(.status(200)) }
        var statuses: [Int] = []

        for _ in 1...4 {
            statuses.append(try await transport.send(Request("http://localhost/shows"), call: call).status.code)
        }

        #expect(statuses == [503, 200, 200, 200])
    }

    @Test("finding SF-13 the error of an unscripted request names the rules, and no code")
    func sayingWhatIsScripted() async throws {
        let empty = await #expect(throws: LoadingError.self) {
            _ = try await ScriptedTransport().send(Request("http://localhost/a"), call: call)
        }
        transport.on(.get, "/shows").respond(.text("x"))
        let other = await #expect(throws: LoadingError.self) {
            _ = try await transport.send(Request("http://localhost/a"), call: call)
        }

        #expect(try #require(empty).description.hasSuffix("No response is scripted for GET /a; there is no rule."))
        #expect(
            try #require(other).description.hasSuffix(
                "No response is scripted for GET /a; the rules are for “GET /shows”."
            )
        )
    }

    @Test("fails an unscripted request with an error that names it")
    func refusesUnscripted() async throws {
        transport.on(.get, "/shows").respond(.text("once")).andNoMore()
        _ = try await transport.send(try Request(.get, "http://localhost/shows"), call: call)

        let error = await #expect(throws: LoadingError.self) {
            _ = try await transport.send(try Request(.get, "http://localhost/shows"), call: call)
        }

        #expect("\(try #require(error))".contains("No response is scripted for GET /shows"))
        #expect(transport.unscripted.count == 1)
    }

    @Test("waits in virtual time and records all events")
    func waits() async throws {
        transport.onAnyRequest().respond(.chunks(["a", "b"], every: .seconds(1)).after(.seconds(2)).interim(103))
        let request = try Request(.get, "http://localhost/", delivery: .streamed)
        let call = call
        let text = try await time.runAutomatically {
            let response = try await transport.send(request, call: call)
            return String(decoding: try await response.body.collect(), as: UTF8.self)
        }
        #expect(text == "ab")
        #expect(time.now == Instant(nanoseconds: 3_000_000_000))
        #expect(
            events.story == [
                "exchange started GET http://localhost/", "interim 103", "head 200 HTTP/1.1", "exchange finished",
            ]
        )
    }

    @Test(
        "keeps the time-out of the whole exchange in virtual time",
        arguments: [
            (ScriptedResponse.stalls, 3), (.text("late").after(.seconds(4)), 3), (.text("late").after(Signal()), 3),
            (.text("0123").stalling(after: 2), 3), (.chunks(["a", "b", "c"], every: .seconds(2)), 3),
            (.steps([.bytes(Data("a".utf8)), .signal(Signal())]), 3),
        ]
    )
    func timesOut(answer: ScriptedResponse, seconds: Int) async throws {
        transport.onAnyRequest().respond(answer)
        var request = try Request(.get, "http://localhost/")
        request.timeouts.whole = .seconds(3)
        let (call, sent) = (call, request)
        let error = await time.runAutomatically { () -> LoadingError? in
            do throws(LoadingError) {
                _ = try await transport.send(sent, call: call)
                return nil
            } catch {
                return error
            }
        }
        guard case .timedOut(.whole)? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(time.now == Instant(nanoseconds: Int64(seconds) * 1_000_000_000))
        #expect(time.sleepers.isEmpty)
        #expect(events.story.last == "exchange failed: timedOut(whole exchange)")
    }

    @Test("delivers what arrives just in time")
    func isInTime() async throws {
        transport.onAnyRequest().respond(.chunks(["a", "b"], every: .seconds(1)).after(.seconds(2)))
        var request = try Request(.get, "http://localhost/")
        request.timeouts.whole = .seconds(3)
        let (call, sent) = (call, request)
        let response = try await time.runAutomatically { () async throws(LoadingError) in
            try await transport.send(sent, call: call)
        }
        #expect(response.body.bytes == Data("ab".utf8))
    }

    @Test("fails a body after the given number of bytes")
    func breaks() async throws {
        transport.onAnyRequest().respond(.text("1234567890").inPieces(of: 3).breaking(after: 4))
        let response = try await transport.send(
            try Request(.get, "http://localhost/", delivery: .streamed),
            call: call
        )
        var iterator = response.body.makeAsyncIterator()
        #expect(try await iterator.next() == Data("123".utf8))
        #expect(try await iterator.next() == Data("4".utf8))
        do {
            _ = try await iterator.next()
            Issue.record("The body did not break")
        } catch {
            guard case .incompleteBody(received: 4, expected: 10) = error.kind else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test("ends a stalled exchange when its task is cancelled, and counts it once")
    func cancelsStall() async throws {
        transport.onAnyRequest().respond(.stalls).then(.text("1234567890").stalling(after: 4))
        for delivery in [Request.Delivery.streamed, .buffered(limit: 100)] {
            let request = try Request(.get, "http://localhost/", delivery: delivery)
            let call = call
            let task = Task { [transport] in _ = try await transport.send(request, call: call) }
            _ = try await events.event {
                if case .streamed = delivery { if case .exchangeStarted = $0 { return true } }
                if case .headReceived = $0 { return true }
                return false
            }
            task.cancel()
            let error = await #expect(throws: LoadingError.self) { try await task.value }
            #expect(error?.isCancellation == true)
        }
        #expect(transport.cancellations == 2)
        #expect(transport.inFlight == 0)
    }

    @Test("ends a waiting body when it is cancelled from elsewhere or dropped")
    func cancelsBody() async throws {
        transport.onAnyRequest().respond(.chunks(["a", "b"], every: .seconds(1)))
        let request = try Request(.get, "http://localhost/", delivery: .streamed)
        let response = try await transport.send(request, call: call)
        let reading = Task { try await response.body.collect() }
        _ = try await time.nextSleeper()

        response.body.cancel()

        let error = await #expect(throws: LoadingError.self) { try await reading.value }
        #expect(error?.isCancellation == true)
        #expect(time.sleepers.isEmpty)
        _ = try await transport.send(request, call: call)
        try await transport.cancellations(atLeast: 2)
    }

    @Test("collects the bodies and trailers of requests")
    func capturesBodies() async throws {
        transport.on(.post, "/in").respond(.status(204))
        var body = Request.Body.writer { write in
            try await write(Data("ab".utf8))
            try await write(Data("cd".utf8))
        }
        body.trailers = { ["X-Sum": "4"] }
        _ = try await transport.send(try Request(.post, "http://localhost/in", body: body), call: call)
        #expect(transport.received.first?.text == "abcd")
        #expect(transport.received.first?.trailers["x-sum"] == "4")
    }

    @Test("refuses a buffered body above its limit")
    func limits() async throws {
        transport.onAnyRequest().respond(.text("12345")).then(.chunks(["123", "45"]))
        for _ in 0..<2 {
            let request = try Request(.get, "http://localhost/", delivery: .buffered(limit: 4))
            do {
                _ = try await transport.send(request, call: call)
                Issue.record("It was accepted")
            } catch {
                guard case .bodyTooLarge(limit: 4, _) = error.kind else { throw error }
            }
        }
    }

    @Test("answers what a closure makes of the request, after a signal")
    func computes() async throws {
        let signal = Signal()
        transport.onAnyRequest().respond(
            .computed { (request, _) throws(LoadingError) in .text(request.method.rawValue).after(signal) }
        )
        async let response = transport.send(try Request(.delete, "http://localhost/"), call: call)
        try await signal.arrivals(atLeast: 1)
        signal.raise()
        #expect(try await response.body.collect() == Data("DELETE".utf8))
    }
}
