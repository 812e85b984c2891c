#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCache
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

/// What a call does at the cache: it asks, and settles each question once.
@Suite("Steps at the cache", .timeLimit(.minutes(5)))
struct CacheStepTests {
    /// A request for an address.
    private static func request() throws(LoadingError) -> Request { try Request("https://example.org/a") }

    private static func response() throws(LoadingError) -> Response {
        Response(status: 200, headers: .fresh(), body: Response.Body(Data("one".utf8)), request: try request())
    }

    /// Runs a closure with what a call has at the cache.
    private static func atCache(
        _ events: EventRecorder = EventRecorder(),
        _ body: @escaping @Sendable (Chain.Next) async throws -> Void
    ) async throws {
        let cached = Chain.interceptor(observesScope: true) { _, next in
            try await body(next)
            return try Self.response()
        }
        let call = Call(time: VirtualTime(), events: [events])
        _ = try await Chain([cached], transport: ScriptedTransport()).send(request(), call: call)
    }

    /// Returns once a call waits for an equal one.
    private static func waiting(_ events: EventRecorder) async throws {
        try await events.event { if case .waitStarted(.coalescing) = $0 { true } else { false } }
    }

    private static func makeCache() -> (AccountCache, ResponseCache) {
        let cache = ResponseCache(ResponseCache.Settings(), transport: TransportSettings())
        return (AccountCache(cache), cache)
    }

    @Test("cache CA-13 a question is sent and settled with its response, and the next one is served without a request")
    func asksAndSettles() async throws {
        let (cache, _) = Self.makeCache()
        try await Self.atCache { next in
            let question = try #require(try await cache.ask(Self.request(), next).question)
            let settled = try #require(try await cache.settle(.success(Self.response()), question).response)
            #expect(settled.source == .network)

            let served = try #require(try await cache.ask(Self.request(), next).response)

            #expect(served.source == .cache)
            #expect(served.body.bytes == Data("one".utf8))
        }
    }

    @Test("cache CA-270 a question that is settled twice ends the program: it would hand over its calls twice")
    func settlesOnce() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (cache, _) = CacheStepTests.makeCache()
            try await CacheStepTests.atCache { next in
                let question = try #require(try await cache.ask(CacheStepTests.request(), next).question)
                _ = try await cache.settle(.success(CacheStepTests.response()), question)
                _ = try await cache.settle(.success(CacheStepTests.response()), question)
            }
        }
        let message = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
        #expect(message.contains("settled twice"))
    }

    @Test("cache CA-178 CA-270 a call that waits for a question that is never settled carries it out itself")
    func isNeverSettled() async throws {
        let (cache, shared) = Self.makeCache()
        let events = EventRecorder()
        try await Self.atCache(events) { next in
            let first = Locked<CacheStep?>(try await cache.ask(Self.request(), next))
            async let second = cache.ask(Self.request(), next)
            try await Self.waiting(events)

            _ = first.withLock { step in
                defer { step = nil }
                return step
            }

            let question = try #require(try await second.question)
            _ = try await cache.settle(.success(Self.response()), question)
            #expect(shared.waiting == 0)
        }
    }

    @Test("cache CA-178 a cancellation settles a question, and a call that waits takes over")
    func settlesCancellation() async throws {
        let (cache, shared) = Self.makeCache()
        let events = EventRecorder()
        try await Self.atCache(events) { next in
            let question = try #require(try await cache.ask(Self.request(), next).question)
            async let second = cache.ask(Self.request(), next)
            try await Self.waiting(events)

            await #expect(throws: LoadingError.self) {
                _ = try await cache.settle(.failure(LoadingError(.cancelled)), question)
            }

            let other = try #require(try await second.question)
            _ = try await cache.settle(.success(Self.response()), other)
            #expect(shared.waiting == 0)
        }
    }

    @Test("cache CA-179 a failure settles a question, and calls that wait fail with it")
    func settlesFailure() async throws {
        let (cache, shared) = Self.makeCache()
        let events = EventRecorder()
        try await Self.atCache(events) { next in
            let question = try #require(try await cache.ask(Self.request(), next).question)
            let second = Task { try await cache.ask(Self.request(), next) }
            try await Self.waiting(events)

            await #expect(throws: LoadingError.self) {
                _ = try await cache.settle(.failure(LoadingError(.timedOut(.whole))), question)
            }

            await #expect(throws: LoadingError.self) { _ = try await second.value }
            #expect(shared.waiting == 0)
        }
    }
}

extension CacheStep {
    /// The question of a request to send; nil for a response.
    fileprivate var question: CacheQuestion? { if case .send(_, let question) = self { question } else { nil } }
    /// The response; nil for a request to send.
    fileprivate var response: Response? { if case .serve(let response) = self { response } else { nil } }
}
