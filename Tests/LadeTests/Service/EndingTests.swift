#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCallbacks
import LadePolicies
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

/// The guarantees of a service, its accounts and its loaders when they end.
@Suite("Endings", .timeLimit(.minutes(5)))
struct EndingTests {
    @Test("finding FQ-1 reports only the cancellation after a streamed load was cancelled in its chunk")
    func cancelledInItsChunk() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.chunks(["a", "b", "c"]))
        let recorder = ReportRecorder(chunks: true) { reported, load in
            if case .chunk = reported { load.cancel() }
        }

        _ = rig.perform(try rig.request().streamed, recorder)

        #expect(try await recorder.journal.next(3) == [.head(200), .chunk("a"), .cancelled])
    }

    @Test("finding FQ-1 reports no chunk that was on its way when the load was cancelled")
    func cancelledMeanwhile() async throws {
        let rig = Rig()
        let recorder = ReportRecorder(chunks: true)
        let handle = Locked<Loader.Handle?>(nil)
        let count = Locked(0)
        let executor = Service.CompletionExecutor { work in
            let number = count.withLock { count in
                count += 1
                return count
            }
            // The head is the first event, the second chunk the third.
            if number == 3 { handle.withLock(\.self)?.cancel() }
            work()
        }
        let gate = Signal()
        rig.transport.onAnyRequest().respond(.chunks(["a", "b", "c"]).after(gate))
        let load = rig.loader.perform(try rig.request().streamed, recorder, on: executor)
        handle.withLock { $0 = load }
        gate.raise()

        #expect(try await recorder.journal.next(3) == [.head(200), .chunk("a"), .cancelled])
    }

    @Test("finding FQ-2 empties the cookie jar of an account that signs out")
    func cookies() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("in", headers: ["Set-Cookie": "sid=1; Path=/"])).then(.text("out"))
        let jar = CookieJar()
        var settings = Account.Settings()
        settings.cookies = .jar(jar)
        let account = rig.service.account(settings)
        _ = try await account.makeLoader().load(rig.request())
        _ = try await rig.service.account(settings).makeLoader().load(rig.request())

        await account.signOut()
        _ = try await rig.service.account(settings).makeLoader().load(rig.request())

        #expect(rig.transport.requests.map { $0.headers["Cookie"] } == [nil, "sid=1", nil])
    }

    @Test("finding FQ-3 makes the authorisers of an account that signs out forget their tokens")
    func tokens() async throws {
        let rig = Rig()
        rig.transport.on(.post, "/token").respond(
            .json(#"{"access_token":"o1","token_type":"Bearer","expires_in":3600}"#)
        )
        .then(.json(#"{"access_token":"o2","token_type":"Bearer","expires_in":3600}"#))
        rig.transport.on(.get, "/thing").respond(.text("ok"))
        let scope = Authorisation.Scope(origins: [try Origin("https://svc.example.com")])
        let bearer = Authorisation.Bearer(token: Secret("t1"), scope: scope)
        let endpoint = try #require(URL(string: "https://svc.example.com/token"))
        let oauth = Authorisation.OAuth2(
            Authorisation.OAuth2.Settings(
                tokenEndpoint: endpoint,
                grant: .clientCredentials,
                clientID: "c",
                clientProof: .basic(Secret("p"))
            ),
            scope: scope
        )
        func sent(_ authoriser: any Authoriser) async -> String? {
            _ = await failure { () throws(LoadingError) in
                try await rig.service.account(authorisers: [authoriser]).makeLoader().load(rig.request())
            }
            return rig.transport.requests.last { $0.url.path() == "/thing" }?.headers["Authorization"]
        }
        #expect(await sent(bearer) == "Bearer t1")
        #expect(await sent(oauth) == "Bearer o1")
        let things = rig.transport.requests.count { $0.url.path() == "/thing" }

        await rig.service.account(authorisers: [bearer, oauth]).signOut()

        let error = await failure { () throws(LoadingError) in
            try await rig.service.account(authorisers: [bearer]).makeLoader().load(rig.request())
        }
        guard case .authorisationFailed = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rig.transport.requests.count { $0.url.path() == "/thing" } == things)
        #expect(await sent(oauth) == "Bearer o2")
    }

    @Test("finding FQ-20 limits what a transport that streams every body may send to a buffered request")
    func bufferLimit() async throws {
        /// A body without end.
        final class Endless: Response.Body.Source {
            let given = Locked(0)
            let wasCancelled = Signal()

            func next() async throws(LoadingError) -> Data? {
                given.withLock { $0 += 1 }
                return Data(repeating: 7, count: 1_000)
            }

            func cancel() { wasCancelled.raise() }

            var trailers: Headers { Headers() }
            var metrics: Response.Metrics { Response.Metrics() }
        }
        let body = Endless()
        let transport = ClosureTransport { request, _ throws(LoadingError) in
            Response(status: 200, body: Response.Body(streaming: body), request: request)
        }
        let loader = transport.makeLoader()
        var request = try Request("https://svc.example.com/thing")
        request.delivery = .buffered(limit: 10_500)

        let error = await failure { [request] () throws(LoadingError) in try await loader.load(request) }

        guard case .bodyTooLarge(10_500, _) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(body.given.withLock { $0 } == 11)
        try await body.wasCancelled.wait()
    }

    #if os(Linux)
        @Test("finding FQ-19 leaves no thread, descriptor or connection of a service that was shut down")
        func shutDown() async {
            // In a separate process, where no other test opens descriptors.
            await #expect(processExitsWith: .success) {
                let server = try LoopbackServer { _ in .text("ok") }
                func resources() -> (threads: Int, polls: Int) {
                    let files = FileManager.default
                    let tasks = (try? files.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
                    let polls = ((try? files.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).count { name in
                        let target = try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
                        return target == "anon_inode:[eventpoll]" || target == "anon_inode:[eventfd]"
                    }
                    let threads = tasks.count { name in
                        let text = try? String(contentsOfFile: "/proc/self/task/\(name)/comm", encoding: .utf8)
                        return text?.hasPrefix("lade") == true
                    }
                    return (threads, polls)
                }
                // The first use creates what stays for the life of the process.
                let first = try Service()
                _ = try await first.anonymous.makeLoader().load(Request(server.address()))
                await first.shutDown()
                try await server.open(atMost: 0)
                let before = resources()
                let service = try Service()
                _ = try await service.anonymous.makeLoader().load(Request(server.address()))
                let meanwhile = resources()
                precondition(meanwhile.polls > before.polls && server.openCount == 1, "\(before) \(meanwhile)")

                await service.shutDown()

                try await server.open(atMost: 0)
                let after = resources()
                precondition(after == before, "\(before) \(meanwhile) \(after)")
            }
        }
    #endif
}
