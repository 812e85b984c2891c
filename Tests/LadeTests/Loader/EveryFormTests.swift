#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadeTesting
import Testing

/// The same refusals, met by every form of a call.
@Suite("Every form of a call", .timeLimit(.minutes(5)))
struct EveryFormTests {
    private let rig = Rig {
        $0.retries.limit = 2
        $0.retries.backoff = .none
    }

    enum Form: CaseIterable {
        case load, endpoint, streamed, completion, endpointCompletion, delegate, fluentHandler, fluentAwaited
        case fluentCallersStatuses
    }

    /// Makes the call and waits for its end.
    private func make(_ form: Form, _ request: Request) async throws {
        let ended = Signal()
        switch form {
        case .load: _ = try? await rig.loader.load(request)
        case .endpoint: _ = try? await rig.loader.load(Endpoint(request))
        case .streamed: try? await rig.loader.withResponse(to: request) { _ in }
        case .completion:
            rig.loader.load(request, on: .anywhere) { _ in ended.raise() }
            try await ended.wait()
        case .endpointCompletion:
            rig.loader.load(Endpoint(request), on: .anywhere) { _ in ended.raise() }
            try await ended.wait()
        case .delegate:
            let witness = Witness()
            _ = rig.perform(request, witness)
            _ = try await witness.journal.next()
        case .fluentHandler:
            rig.loader.request(request, on: .anywhere).response { _ in ended.raise() }
            try await ended.wait()
        case .fluentAwaited: _ = await rig.loader.request(request, on: .anywhere).outcome()
        case .fluentCallersStatuses:
            _ = await rig.loader.request(request, on: .anywhere).validateStatus(in: .successful).outcome()
        }
    }

    @Test("finding FP-1 sends a refused call again alike in every form", arguments: Form.allCases)
    func retriesAlike(form: Form) async throws {
        rig.transport.onAnyRequest().respond(.status(503, "busy"))

        try await make(form, rig.request())

        #expect(rig.transport.received.map(\.call.attempt) == [1, 2, 3])
    }

    @Test("finding FP-1 takes a status that the caller accepts for an answer in every form", arguments: [0, 1, 2])
    func keepsAcceptedAnswers(form: Int) async throws {
        rig.transport.onAnyRequest().respond(.status(503, "maintenance"))
        var request = try rig.request()
        if form < 2 { request.acceptableStatuses = .codes(200..<600) }

        let status =
            switch form {
            case 0: try await rig.loader.load(request).status
            case 1: await rig.loader.request(request, on: .anywhere).outcome().response?.status
            default: await rig.loader.request(request, on: .anywhere).acceptingAnyStatus().outcome().response?.status
            }

        #expect(status == 503)
        #expect(rig.transport.received.count == 1)
    }
}
