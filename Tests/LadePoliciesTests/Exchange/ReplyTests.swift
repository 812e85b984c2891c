#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting
import Testing

@testable import LadePolicies

/// What a response asks of later calls: parsed once, read by the limiter below and the retries above.
@Suite("Replies", .timeLimit(.minutes(5)))
struct ReplyTests {
    private let transport = ScriptedTransport()
    private let time = VirtualTime()
    private let events = EventRecorder()

    /// Sends a request through retries, an interceptor of an app, and the limiter.
    private func send(_ change: @escaping @Sendable (inout Response) -> Void = { _ in }) async throws -> Response {
        var policy = RetryPolicy()
        policy.backoff = .none
        let app = Chain.interceptor(observesScope: true) { request, next in
            var response = try await next(request)
            change(&response)
            return response
        }
        let limiter = try RateLimiter(time: time)
        let chain = Chain(
            [AttemptInterceptor(retries: policy), app, ExchangeInterceptor(limiter: limiter)],
            transport: transport
        )
        let request = try Request("https://svc.example.com/thing")
        let call = Call(time: time, events: [events])
        return try await time.runAutomatically { () async throws(LoadingError) in
            try await chain.send(request, call: call)
        }
    }

    private var delays: [Duration] {
        events.events.compactMap { if case .retryScheduled(let record) = $0 { record.delay } else { nil } }
    }

    private var gates: [Duration] {
        events.events.compactMap { if case .gateClosed(_, let duration, _) = $0 { duration } else { nil } }
    }

    private var ignored: [String] {
        events.events.compactMap { if case .valueIgnored(_, let value) = $0 { value } else { nil } }
    }

    @Test("the limiter and the retries read one delay, and one event reports a delay that is not understood")
    func once() async throws {
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "3"]))
            .then(.status(503, headers: ["Retry-After": "soon"])).then(.status(200))

        _ = try await send()

        #expect(delays == [.seconds(3), .zero])
        #expect(gates == [.seconds(3)])
        #expect(ignored == ["soon"])
    }

    @Test(
        "the head that an app's interceptor makes counts above it, and the received one below",
        arguments: [("7", 7), (nil, 0), ("3", 3), ("later", 0)] as [(String?, Int)]
    )
    func changed(field: String?, seconds: Int) async throws {
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "3"])).then(.status(200))

        _ = try await send { $0.headers["Retry-After"] = field }

        #expect(delays == [.seconds(seconds)])
        #expect(gates == [.seconds(3)])
        #expect(ignored == (field == "later" ? ["later"] : []))
    }

    @Test("a response that an app's interceptor makes is read as it is")
    func made() async throws {
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "3"])).then(.status(200))

        _ = try await send { response in
            guard response.status == 503 else { return }
            response = Response(status: 429, headers: ["Retry-After": "5"], request: response.request)
        }

        #expect(delays == [.seconds(5)])
        #expect(gates == [.seconds(3)])
    }

    @Test("a change of anything but the head keeps what was read, and a change of the head drops it")
    func drops() throws {
        var response = Response(status: 503, headers: ["Retry-After": "3"], request: try Request("https://a.test/"))
        let reply = response.reply(Call(time: time))
        response.reading = reply

        response.status = 429
        response.body = Response.Body(Data("x".utf8))
        #expect(response.reading === reply)
        response.headers["X-Other"] = "1"
        #expect(response.reading == nil)
        #expect(response.reply(Call(time: time))?.delay == .seconds(3))
    }

    @Test(
        "a head that asks nothing has no reply",
        arguments: [[:], ["Set-Cookie": "a=b", "Retry": "3", "X-Rate": "1"]]
    )
    func nothing(fields: [String: String]) throws {
        let headers = Headers(fields.map { ($0.key, $0.value) })
        #expect(Reply(headers, now: Date(timeIntervalSince1970: 0)) == nil)
        let response = Response(status: 200, headers: headers, request: try Request("https://a.test/"))
        #expect(response.reading == nil && !response.requestsDelay)
    }

    @Test("a requested delay that is not understood asks nothing", arguments: ["soon", "-1", ""])
    func unread(field: String) throws {
        let response = Response(status: 503, headers: ["Retry-After": field], request: try Request("https://a.test/"))
        #expect(!response.requestsDelay)
        #expect(HostEvidence(response) == .down(reason: "status 503"))
    }
}
