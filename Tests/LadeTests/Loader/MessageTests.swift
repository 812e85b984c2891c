import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@Suite("Sentences of errors", .timeLimit(.minutes(5)))
struct MessageTests {
    @Test("a 401 names the authoriser whose credentials it refuses, and one without credentials does not")
    func namesTheRefused() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(401))
        let scope = try Authorisation.Scope("https://svc.example.com")
        let account = rig.service.account(authorisers: [Authorisation.Bearer(token: "t", scope: scope)])
        let loader = account.makeLoader()

        let refused = await failure { () throws(LoadingError) in try await loader.load(rig.request()) }
        let missing = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }

        let head = "GET https://svc.example.com/thing: The server responded with 401"
        #expect(refused?.description == head + ": it refuses the credentials of Bearer.")
        #expect(missing?.description == head + ".")
    }

    @Test("a 401 after a replay names the authoriser, too")
    func namesTheRefusedAgain() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(401))
        let scope = try Authorisation.Scope("https://svc.example.com")
        let authoriser = Authorisation.Bearer(scope: scope, identifier: "session") { _, _ in .init("t") }
        let loader = rig.service.account(authorisers: [authoriser]).makeLoader()

        let refused = await failure { () throws(LoadingError) in try await loader.load(rig.request()) }

        #expect(refused?.description.hasSuffix("401: it refuses the credentials of session.") == true)
        #expect(rig.transport.requests.count == 2)
    }

    @Test("a stream that ends because its loader was released says so, and one that is cancelled does not")
    func namesTheRelease() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.steps([.bytes(Data("one".utf8)), .stall]))
        var request = try rig.request()
        request.delivery = .streamed
        var loader: Loader? = rig.service.anonymous.makeLoader()
        let result = await withCheckedContinuation { [request] continuation in
            _ = loader?.load(request, on: .anywhere) { continuation.resume(returning: $0) }
        }
        var iterator = try result.get().body.makeAsyncIterator()
        _ = try await iterator.next()

        loader = nil

        let error = await failure { () throws(LoadingError) in try await iterator.next() }
        #expect(error?.isCancellation == true)
        let sentence = "The call was cancelled: its loader was released while its body was being read."
        #expect(error?.description == "GET https://svc.example.com/thing: " + sentence)

        let kept = try await rig.loader.load(request)
        kept.body.cancel()
        let cancelled = await failure { () throws(LoadingError) in try await kept.body.collect() }
        #expect(cancelled?.isCancellation == true)
        #expect(cancelled?.description.contains("released") == false)
    }

    @Test("finding DC-7 a body that is read twice names its request, and how it can be read again")
    func readTwice() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("hello"))
        var request = try rig.request("/log")
        request.delivery = .streamed
        let response = try await rig.loader.load(request)
        _ = try await response.body.collect()

        let error = await failure { () throws(LoadingError) in try await response.body.collect() }

        #expect(
            error?.description
                == "GET https://svc.example.com/log: A streamed body was read a second time; it can be read once, or be "
                + "loaded with buffered delivery."
        )
        #expect(error?.kind == .invalidRequest(.bodyReadTwice))
    }

    @Test("finding DC-7 a requested delay beyond the limit of gates says for how long calls are held")
    func endlessDelay() async throws {
        let rig = Rig { $0.retries.limit = 2 }
        rig.transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "99999999999"]))

        let error = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }

        #expect(error?.description.hasSuffix("calls to it are held for 60 min.") == true, "\(error as Any)")
    }
}
