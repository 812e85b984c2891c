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

@Suite("The end of a call, and of a service", .timeLimit(.minutes(5)))
struct ServiceCancellationCaseTests {
    @Test("service SV-09 drops a request when its authorisation arrives after its loader was released")
    func lateAuthorisation() async throws {
        let signal = Signal()
        let asked = Signal()
        let rig = Rig {
            $0.decorators = [
                Service.decorator { request in
                    asked.raise()
                    try await signal.wait()
                    return request
                }
            ]
        }
        let recorder = ReportRecorder()
        var loader: Loader? = rig.loader.account.makeLoader()
        loader?.perform(try rig.request(), recorder)
        try await asked.wait()

        loader = nil
        try await rig.events.line("call failed: cancelled")

        #expect(recorder.reported.isEmpty)
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("service SV-25 ends calls in flight when the service is shut down and released")
    func cancelAll() async throws {
        let transport = ScriptedTransport(answering: .stalls)
        let recorder = ReportRecorder()
        do {
            let service = Service(.still, transport: transport)
            let loader = service.anonymous.makeLoader()
            loader.perform(try Request("https://svc.example.com/"), recorder)
            _ = try await transport.request(at: 0)
            await service.shutDown()
            #expect(try await recorder.journal.next() == [.cancelled])
        }
        #expect(transport.cancellations == 1)
    }

    @Test("service SV-31 sends nothing for a call that is cancelled immediately")
    func cancelledBefore() async throws {
        let signal = Signal()
        let rig = Rig {
            $0.decorators = [
                Service.decorator { request in
                    try await signal.wait()
                    return request
                }
            ]
        }
        let recorder = ReportRecorder()

        rig.perform(try rig.request(), recorder).cancel()

        #expect(try await recorder.journal.next() == [.cancelled])
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("service SV-33 cancels the exchange of a handle once")
    func cancelHandle() async throws {
        let rig = Rig()
        let recorder = ReportRecorder()
        let handle = try await rig.performStalling(recorder)

        handle.cancel()
        _ = try await recorder.journal.next()
        try await rig.transport.cancellations(atLeast: 1)

        #expect(rig.transport.cancellations == 1)
    }

    @Test("service SV-36 leaves a call alone when another one ends")
    func foreign() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/own").respond(.stalls)
        rig.transport.on(.get, "/other").respond(.text("ok"))
        let recorder = ReportRecorder()
        let handle = rig.perform(try rig.request("/own"), recorder)

        _ = try await rig.loader.load(rig.request("/other"))

        #expect(handle.isRunning)
        #expect(recorder.reported.isEmpty)
        handle.cancel()
        _ = try await recorder.journal.next()
    }

    @Test("service SV-41 reports one cancellation for a request performed after its end")
    func performAfterTheEnd() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        await rig.service.shutDown()
        let recorder = ReportRecorder()

        let handle = rig.perform(try rig.request(), recorder)

        #expect(try await recorder.journal.next() == [.cancelled])
        #expect(!handle.isRunning)
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("service D-41 reports a late call as cancelled")
    func lateCall() async throws {
        let rig = Rig()
        await rig.service.shutDown()

        _ = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }

        #expect(rig.events.story == ["call started GET https://svc.example.com/thing", "call failed: cancelled"])
    }
}
