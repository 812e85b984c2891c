#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCache
import LadeTesting
import SharedDoubles
import Testing

@Suite("Cache of a service, in the background", .timeLimit(.minutes(5)))
struct CacheBackgroundTests {
    private static let fields: Headers = ["Cache-Control": "max-age=10, stale-while-revalidate=30", "ETag": "\"a\""]

    private func load(_ rig: Rig) async throws -> String { try await rig.loader.load(rig.request()).wholeText }

    @Test(
        "cache CA-170 CA-174 a stale response is served within its window and validated meanwhile; later, the call waits"
    )
    func validates() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(.text("one", headers: Self.fields)).then(
            .text("two", headers: Self.fields)
        )
        .then(.text("three", headers: Self.fields))
        _ = try await load(rig)
        rig.time.advance(by: .milliseconds(39_900))

        let stale = try await rig.loader.load(rig.request())
        await rig.service.cache?.finishBackgroundWork(time: rig.time)
        let next = try await rig.loader.load(rig.request())
        rig.time.advance(by: .seconds(40))
        let late = try await rig.loader.load(rig.request())

        #expect(try await stale.wholeText == "one")
        #expect(stale.source == .cache)
        #expect(stale.metrics.cacheUse?.rule == .whileRevalidate)
        #expect(try await next.wholeText == "two")
        #expect(next.source == .cache)
        #expect(try await late.wholeText == "three")
        #expect(rig.transport.requests[1].headers["If-None-Match"] == "\"a\"")
        #expect(try await rig.service.cache?.entries().count == 1)
    }

    @Test("cache CA-172 CA-173 many calls cause one validation, which has a call of its own without observers")
    func validatesOnce() async throws {
        let rig = Rig.caching()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.text("one", headers: Self.fields))
            .then(.status(304, headers: Self.fields).after(signal))
        _ = try await load(rig)
        rig.time.advance(by: .seconds(15))
        rig.events.clear()

        for _ in 1...100 { #expect(try await load(rig) == "one") }
        let received = try await rig.transport.request(at: 1)
        signal.raise()
        await rig.service.cache?.finishBackgroundWork(time: rig.time)

        #expect(rig.sent == 2)
        #expect(received.call.deadline == rig.time.now.advanced(by: .seconds(30)))
        #expect(received.request.priority == .low)
        #expect(!rig.events.story.contains { $0.hasPrefix("exchange") })
        #expect(try await load(rig) == "one")
        #expect(rig.sent == 2)
    }

    @Test("cache CA-173 after a failure the next validation waits, and the stale response is served meanwhile")
    func waitsAfterFailure() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(.text("one", headers: Self.fields)).then(.connectionLost())
            .then(.text("two", headers: Self.fields))
        _ = try await load(rig)
        rig.time.advance(by: .seconds(15))

        for _ in 1...3 {
            #expect(try await load(rig) == "one")
            await rig.service.cache?.finishBackgroundWork(time: rig.time)
        }
        #expect(rig.sent == 2)
        rig.time.advance(by: .seconds(1))
        _ = try await load(rig)
        await rig.service.cache?.finishBackgroundWork(time: rig.time)

        #expect(try await load(rig) == "two")
        #expect(rig.sent == 3)
    }

    @Test("cache CA-173 a validation ends with its account and with its service", arguments: [true, false])
    func ends(withAccount: Bool) async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(.text("one", headers: Self.fields)).then(.stalls)
        let account = rig.service.account(identifier: "a")
        let loader = account.makeLoader()
        _ = try await loader.load(rig.request())
        rig.time.advance(by: .seconds(15))
        _ = try await loader.load(rig.request())
        _ = try await rig.transport.request(at: 1)

        if withAccount { await account.signOut() } else { await rig.service.shutDown() }

        try await rig.transport.cancellations(atLeast: 1)
        #expect(rig.transport.cancellations == 1)
    }
}
