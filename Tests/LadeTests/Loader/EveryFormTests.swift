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
    private func make(_ form: Form, _ request: Request, by rig: Rig? = nil) async throws {
        let rig = rig ?? self.rig
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
            let recorder = ReportRecorder()
            _ = rig.perform(request, recorder)
            _ = try await recorder.journal.next()
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

    @Test(
        "finding LF-12 a status that the service accepts is not retried in any form, and still holds the service",
        arguments: Form.allCases.filter { $0 != .fluentCallersStatuses },
        [429, 503] as [Response.Status]
    )
    func keepsStatusesOfTheService(form: Form, status: Response.Status) async throws {
        let rig = Rig {
            $0.acceptableStatuses = [.successful, 429, 503]
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.status(status, headers: ["Retry-After": "600"]))
        let request = try rig.request()

        try await make(form, request, by: rig)

        #expect(rig.transport.received.count == 1)
        #expect(
            rig.service.rateLimiter.estimatedWait(for: rig.service.rateLimiter.key(of: request.url)) == .seconds(600)
        )
    }

    @Test("finding LF-12 an accepted status is a response, and no error of a rate limit", arguments: [true, false])
    func acceptedIsNoRateLimit(isBySetting: Bool) async throws {
        let rig = Rig { if isBySetting { $0.acceptableStatuses = .all } }
        rig.transport.onAnyRequest().respond(.status(429, headers: ["Retry-After": "600"]))
        var request = try rig.request()
        if !isBySetting { request.acceptableStatuses = [200, 429] }

        let response = try await rig.loader.load(request)

        #expect(response.status == 429)
        #expect(rig.transport.received.count == 1)
    }

    @Test("finding LF-12 the request decides before the service, for retries as for the result")
    func requestBeforeService() async throws {
        let rig = Rig {
            $0.acceptableStatuses = .all
            $0.retries.limit = 1
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.status(503))
        var request = try rig.request()
        request.acceptableStatuses = .successful

        let error = await failure { () throws(LoadingError) in try await rig.loader.load(request) }

        #expect(error?.kind == .unacceptableStatus(503))
        #expect(rig.transport.received.count == 2)
    }

    @Test("delivers every status after the retries of those that are not acceptable", arguments: [true, false])
    func deliversEveryStatus(isStreamed: Bool) async throws {
        let rig = Rig {
            $0.retries.limit = 2
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.status(503, "busy"))
        var request = try rig.request()
        request.deliversEveryStatus = true
        if isStreamed { request.delivery = .streamed }

        let response = try await rig.loader.load(request)

        #expect(response.status == 503)
        #expect(try await response.body.collect() == Data("busy".utf8))
        #expect(rig.transport.received.count == 3)
    }
}
