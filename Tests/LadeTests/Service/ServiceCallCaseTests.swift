#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadeTesting
import SharedDoubles
import Testing

@Suite("The course of a call of a service", .timeLimit(.minutes(5)))
struct ServiceCallCaseTests {
    @Test("service SV-08 calls the authoriser once per call")
    func authorises() async throws {
        let asked = Locked(0)
        let rig = Rig {
            $0.decorators = [
                Service.decorator { request in
                    asked.withLock { $0 += 1 }
                    return request
                }
            ]
        }
        rig.transport.onAnyRequest().respond(.text("ok"))

        _ = try await rig.loader.load(rig.request())

        #expect(asked.withLock { $0 } == 1)
    }

    @Test("service SV-10 reports one failure when authorisation fails")
    func authorisationFailed() async throws {
        struct Refused: Error {}
        let rig = Rig { $0.decorators = [Service.decorator { _ in throw Refused() }] }
        let recorder = ReportRecorder()

        _ = rig.perform(try rig.request(), recorder)

        #expect(try await recorder.journal.next() == [.failure("call failed: decorationFailed")])
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("service SV-11 hands over the head before the body has arrived")
    func head() async throws {
        let rig = Rig()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.steps([.signal(signal), .bytes(Data("x".utf8))]))

        let response = try await rig.loader.load(rig.request().streamed)

        #expect(response.status == 200)
        signal.raise()
        #expect(try await response.body.collect() == Data("x".utf8))
    }

    @Test("service LO-07 SV-17 reports a chunk of a streamed request once")
    func chunk() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("thing"))
        let recorder = ReportRecorder(chunks: true)

        _ = rig.perform(try rig.request().streamed, recorder)

        #expect(try await recorder.journal.next(3).filter { $0 == .chunk("thing") }.count == 1)
    }

    @Test("service SV-18 reports one success at the end")
    func completion() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("thing"))
        let recorder = ReportRecorder()

        _ = rig.perform(try rig.request(), recorder)

        #expect(try await recorder.journal.next() == [.success(200, "thing")])
        #expect(rig.events.story.filter { $0.hasPrefix("call ") }.count == 2)
    }

    /// Up to ten retries, each immediate.
    private func repeating(_ settings: inout Service.Settings) {
        settings.retries.limit = 10
        settings.retries.backoff = .none
    }

    /// A request that the service itself retries after a failed look-up of its name, during its second exchange.
    private func repeated(_ look: (Rig, ReportRecorder, Loader.Handle) -> Void) async throws {
        let rig = Rig(repeating)
        rig.transport.onAnyRequest().respond(.fails(LoadingError(.nameNotResolved(host: "svc.example.com")))).then(
            .stalls
        )
        let recorder = ReportRecorder()
        let handle = rig.perform(try rig.request(), recorder)
        _ = try await rig.transport.request(at: 1)

        look(rig, recorder, handle)

        handle.cancel()
        #expect(try await recorder.journal.next() == [.cancelled])
    }

    @Test("service SV-34 keeps a request that it retries in flight, and reports nothing meanwhile")
    func staysInFlight() async throws {
        try await repeated { rig, recorder, handle in
            #expect(rig.loader.currentRequests.count == 1)
            #expect(handle.isRunning)
            #expect(recorder.reported.isEmpty)
        }
    }

    @Test("service SV-35 makes an exchange of its own for each attempt")
    func newExchange() async throws {
        try await repeated { rig, _, _ in
            #expect(rig.transport.received.map(\.call.attempt) == [1, 2])
            #expect(rig.events.story.filter { $0.hasPrefix("exchange started") }.count == 2)
            #expect(rig.events.story.filter { $0.hasPrefix("exchange failed") }.count == 1)
        }
    }

    @Test("service SV-37 does not retry a cancelled call")
    func cancelledIsNotRepeated() async throws {
        let rig = Rig(repeating)
        rig.transport.onAnyRequest().respond(.fails(LoadingError(.cancelled)))
        let recorder = ReportRecorder()

        _ = rig.perform(try rig.request(), recorder)

        #expect(try await recorder.journal.next() == [.cancelled])
        #expect(rig.transport.received.count == 1)
    }

    @Test("service SV-38 asks for a body once each time it is needed again")
    func newBody() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 1)] }
        rig.transport.onAnyRequest().respond(.connectionLost(isSafeToRepeat: true)).then(.text("ok"))
        let recorder = ReportRecorder(newBody: .bytes(Data("again".utf8)))
        var request = try rig.request()
        request.method = .put
        request.body = .writer { try await $0(Data("once".utf8)) }

        _ = rig.perform(request, recorder)
        let reported = try await recorder.journal.next(2)

        #expect(reported.filter { $0 == .askedForBody }.count == 1)
        #expect(rig.transport.received.last?.text == "again")
    }
}
