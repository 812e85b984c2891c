#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import SharedDoubles
import Testing

/// Where the service improves on SPTDataLoader: each test would fail with its behaviour.
@Suite("Service, better than the reference", .timeLimit(.minutes(5)))
struct ServiceDefectTests {
    /// A body of ten minutes, with a piece every ten seconds.
    private let film = ScriptedResponse.text(String(repeating: "x", count: 61)).inPieces(of: 1, every: .seconds(10))

    @Test("service D-17 lets a body take as long as bytes flow")
    func longTransfer() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(film)

        let bytes = try await rig.time.runAutomatically {
            try await rig.loader.load(rig.request().streamed).body.collect()
        }

        #expect(bytes.count == 61)
        #expect(rig.time.now == Instant(nanoseconds: 600_000_000_000))
    }

    @Test("service D-17 ends a body that takes longer than its request allows")
    func boundedTransfer() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(film)
        var request = try rig.request().streamed
        request.timeouts.whole = .seconds(20)

        let error = await rig.time.runAutomatically { [request] in
            await failure { () throws(LoadingError) in try await rig.loader.load(request).body.collect() }
        }

        guard case .timedOut(.whole) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rig.time.now == Instant(nanoseconds: 20_000_000_000))
    }

    @Test("service D-40 reports how long each attempt took, and how long the whole call")
    func times() async throws {
        let rig = Rig {
            $0.retries.limit = 1
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.connectionLost().after(.seconds(2))).then(.text("ok").after(.seconds(3)))
        let totals = Journal<ConsumptionObserver.Total>()
        let observation = rig.service.observe(with: ConsumptionObserver(on: nil) { totals.add($0) })

        _ = try await rig.time.runAutomatically { try await rig.loader.load(rig.request()) }
        observation.end()

        #expect(totals.all.map(\.duration) == [.seconds(5)])
        #expect(totals.all.map(\.exchanges) == [2])
        let records = rig.events.records
        let starts = records.filter { if case .exchangeStarted = $0.event { true } else { false } }
        let ends = records.filter {
            switch $0.event {
            case .exchangeFailed, .exchangeFinished: true
            default: false
            }
        }
        #expect(zip(starts, ends).map { $0.instant.duration(to: $1.instant) } == [.seconds(2), .seconds(3)])
        #expect(starts.map(\.attempt) == [1, 2])
    }

    @Test("service D-44 reports of each attempt whether its answer came from a cache, as far as the transport can")
    func sources() async throws {
        let asked = Locked(0)
        let transport = ClosureTransport { request, _ throws(LoadingError) in
            let isFirst = asked.withLock { count in
                count += 1
                return count == 1
            }
            return Response(status: isFirst ? 503 : 200, source: isFirst ? .network : .cache, request: request)
        }
        let seen = Journal<Response.Source>()
        var settings = Service.Settings()
        settings.time = VirtualTime()
        settings.retries.backoff = .none
        settings.attemptInterceptors = [Sources { seen.add($0) }]
        let loader = Service(settings, transport: transport).anonymous.makeLoader()

        let response = try await loader.load(Request("https://svc.example.com/"))

        #expect(seen.all == [.network, .cache])
        #expect(response.source == .cache)
    }

    /// Records the source of each response.
    private struct Sources: Interceptor {
        let note: @Sendable (Response.Source) -> Void

        func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
            let response = try await next(request)
            note(response.source)
            return response
        }
    }
}
