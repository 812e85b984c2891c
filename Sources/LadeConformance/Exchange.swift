#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

/// The complete result of one exchange, for the cases to check.
struct Exchange: Sendable {
    var status: Response.Status?
    var headers = Headers()
    var version: Response.Version?
    var body = Data()
    var trailers = Headers()
    var metrics = Response.Metrics()
    var error: LoadingError?
    /// Whether it failed after its head was delivered.
    var failedInBody = false
    var events: [Call.Event] = []

    private static let lastCall = Locked<UInt64>(0)

    static func makeCall(_ recorder: EventRecorder) -> Call {
        let number = lastCall.withLock { last in
            last += 1
            return last
        }
        var sinks: [any Call.Observer] = [recorder]
        if let ledger = EndingLedger.current { sinks.append(ledger) }
        return Call(id: Call.ID(number), events: sinks)
    }

    /// Makes one exchange like the end of a chain, and reads its body to the end.
    static func perform(_ transport: any Transport, _ request: Request, scope: Call.Scope? = nil) async -> Exchange {
        let recorder = EventRecorder()
        var call = makeCall(recorder)
        call.scope = scope
        var exchange = Exchange()
        do throws(LoadingError) {
            let response = try await Chain(transport: transport).send(request, call: call)
            exchange.take(response)
            do throws(LoadingError) {
                var chunks = response.body.makeAsyncIterator()
                while let chunk = try await chunks.next() { exchange.body.append(chunk) }
            } catch {
                exchange.error = error
                exchange.failedInBody = true
            }
            exchange.trailers = response.trailers
            exchange.metrics = response.metrics
        } catch {
            exchange.error = error
        }
        exchange.events = recorder.events
        return exchange
    }

    private mutating func take(_ response: Response) {
        status = response.status
        headers = response.headers
        version = response.version
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// Whether it failed because of the size of its head.
    var isHeadTooLarge: Bool { if case .headTooLarge = error?.kind { true } else { false } }

    /// The result in a few words, for findings.
    var ending: String {
        let head = status.map { "\($0), \(body.count) bytes" } ?? "no head"
        guard let error else { return head }
        return "\(head), then \(error)" + (error.context.detail.map { " (\($0))" } ?? "")
    }

    /// The statuses of the final responses whose heads were reported as events.
    var reportedStatuses: [Response.Status] {
        events.compactMap { if case .headReceived(let status, _, _) = $0 { status } else { nil } }
    }

    /// The statuses of the interim responses that were reported as events.
    var interimStatuses: [Int] {
        events.compactMap { if case .interimResponse(let status, _) = $0 { status.code } else { nil } }
    }
}

extension ConformanceContext {
    /// Records a deviation unless the exchange succeeded with this status and text, and its head was reported once.
    func expect(_ exchange: Exchange, gives status: Response.Status, _ text: String? = nil) {
        expect(local: exchange, gives: status, text)
        if exchange.error == nil {
            expectEqual(exchange.reportedStatuses, [status], "statuses of the heads in the events")
        }
    }

    /// Records a deviation unless the exchange succeeded with this status and text, for an address without a server (`file:`,
    /// `data:`).
    func expect(local exchange: Exchange, gives status: Response.Status, _ text: String? = nil) {
        expect(
            exchange.error == nil && exchange.status == status && (text == nil || exchange.text == text),
            "expected \(status)\(text.map { ", “\($0)”" } ?? ""), got \(exchange.ending)"
                + (exchange.body.count < 100 ? " “\(exchange.text)”" : "")
        )
    }

    /// Records a deviation unless the exchange failed as expected.
    func expect(_ exchange: Exchange, failsWith what: String, _ matches: (LoadingError) -> Bool) {
        guard let error = exchange.error else { return fail("expected \(what), got \(exchange.ending)") }
        let detail = error.context.detail.map { " (\($0))" } ?? ""
        expect(matches(error), "expected \(what), got \(error)\(detail)")
    }

    /// Records a deviation unless the exchange was refused as malformed before anything of it was delivered.
    func expectMalformed(_ exchange: Exchange) {
        expect(exchange, failsWith: "a malformed response") {
            if case .malformedResponse = $0.kind { true } else { false }
        }
        expect(exchange.status == nil, "a head was delivered: \(exchange.ending)")
        expect(
            !exchange.events.contains { if case .headReceived = $0 { true } else { false } },
            "a head was reported as an event"
        )
    }

    /// Records a deviation unless the exchange failed because its body was truncated.
    func expectIncomplete(_ exchange: Exchange, received: Int64, expected: Int64?) {
        guard case .incompleteBody(let gotReceived, let gotExpected) = exchange.error?.kind else {
            return fail("expected an incomplete body, got \(exchange.ending)")
        }
        expectEqual(gotReceived, received, "received bytes in the error")
        expectEqual(gotExpected, expected, "expected bytes in the error")
        expect(
            exchange.error?.context.method != nil && exchange.error?.context.url != nil,
            "the error does not contain its request"
        )
    }

    /// Records a deviation unless the connection was lost, with the given progress if any.
    func expectLost(_ exchange: Exchange, _ progress: LoadingError.ResponseProgress?, isSafeToRepeat: Bool? = nil) {
        guard case .connectionLost(let got, let isSafe) = exchange.error?.kind else {
            return fail("expected a lost connection, got \(exchange.ending)")
        }
        if let progress { expectEqual(got, progress, "progress in the error") }
        if let isSafeToRepeat { expectEqual(isSafe, isSafeToRepeat, "whether it is safe to repeat") }
    }

    /// Records a deviation unless the exchange ended by the given time-out.
    func expectTimeout(_ exchange: Exchange, _ phase: LoadingError.TimeoutPhase) {
        guard case .timedOut(let got) = exchange.error?.kind else {
            return fail("expected a time-out (\(phase.rawValue)), got \(exchange.ending)")
        }
        expectEqual(got, phase, "phase of the time-out")
    }

    /// Records a deviation unless the exchange was cancelled.
    func expectCancelled(_ exchange: Exchange) {
        expect(exchange, failsWith: "a cancellation") { $0.isCancellation }
    }
}
