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

@Suite("Cache of a service, parts", .timeLimit(.minutes(5)))
struct CachePartTests {
    /// The SHA-256 of `0123456789`, as a digest field has it.
    private static let digest = "sha-256=:hNiYd/DUBB77a/kaFvAkjy/Vc+avBcGflr7bn4gveII=:"

    private func load(_ rig: Rig, _ range: String? = nil) async throws -> Response {
        var request = try rig.request()
        request.headers["Range"] = range
        return try await rig.loader.load(request)
    }

    private func part(_ text: String, _ range: String, _ digest: String) -> ScriptedResponse {
        .status(206, headers: .fresh(60, ["ETag": "\"a\"", "Content-Range": range, "Repr-Digest": digest]), text)
    }

    @Test(
        "cache CA-156 CA-162 parts with the digest of their whole are served as a whole, in any order",
        arguments: [true, false]
    )
    func joinsParts(isForward: Bool) async throws {
        let rig = Rig.caching()
        let parts = [part("012345", "bytes 0-5/10", Self.digest), part("3456789", "bytes 3-9/10", Self.digest)]
        rig.transport.onAnyRequest().respond(parts[isForward ? 0 : 1]).then(parts[isForward ? 1 : 0]).andNoMore()
        let ranges = ["bytes=0-5", "bytes=3-9"]
        _ = try await load(rig, ranges[isForward ? 0 : 1])
        _ = try await load(rig, ranges[isForward ? 1 : 0])

        let whole = try await load(rig)

        #expect(whole.status == 200)
        #expect(whole.source == .cache)
        #expect(try await whole.wholeText == "0123456789")
        #expect(try await rig.service.cache?.entries().count == 1)
    }

    @Test("cache CA-162 parts that do not have the digest are dropped, and the whole is fetched")
    func dropsParts() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(part("012345", "bytes 0-5/10", Self.digest))
            .then(part("6x89", "bytes 6-9/10", Self.digest)).then(.text("0123456789", headers: .fresh()))
        _ = try await load(rig, "bytes=0-5")
        let delivered = try await load(rig, "bytes=6-9")
        #expect(try await delivered.wholeText == "6x89")
        #expect(rig.cacheStory.contains("cacheNotStored(LadeCore.Response.CacheRule.digest)"))
        #expect(try await rig.service.cache?.entries().isEmpty == true)
        let fetched = try await load(rig)
        #expect(fetched.source == .network)
        #expect(rig.transport.requests[2].headers["If-Range"] == nil)
    }
}
