#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadePolicies
import LadeTesting
import SharedDoubles
import Testing

/// The number of attempts in the errors of every form of a call.
@Suite("Attempts in errors", .timeLimit(.minutes(5)))
struct AttemptCountTests {
    /// Keeps the error that a delegate receives.
    private final class Listener: LoaderDelegate {
        let errors = Journal<Int>()

        func loader(_ loader: Loader, didLoad response: Response, for load: Loader.Handle) { errors.add(-1) }

        func loader(_ loader: Loader, didFailWith error: LoadingError, for load: Loader.Handle) {
            errors.add(error.context.attempts)
        }
    }

    enum Form: String, CaseIterable, CustomTestStringConvertible {
        case load, endpoint, completion, callbacks, fluent, delegate, download, pages, stream
        var testDescription: String { rawValue }
    }

    struct Ending: CustomTestStringConvertible {
        var testDescription: String
        var answers: [ScriptedResponse]
        var attempts: Int
    }

    static let endings: [Ending] = [
        Ending(testDescription: "a final status", answers: [.status(404)], attempts: 1),
        Ending(testDescription: "a status that is retried", answers: [.status(503)], attempts: 3),
        Ending(
            testDescription: "no connection",
            answers: [.fails(LoadingError(.cannotConnect(host: "h", reason: .refused)))],
            attempts: 3
        ),
        Ending(
            testDescription: "a redirect that is refused",
            answers: [.status(302, headers: ["Location": "http://svc.example.com/plain"])],
            attempts: 1
        ),
        Ending(
            testDescription: "a redirect to nowhere, after a retry",
            answers: [.status(503), .status(302, headers: ["Location": "https://[x"])],
            attempts: 2
        ),
    ]

    private static func attempts(_ error: any Error) -> Int? {
        switch error {
        case let error as LoadingError: error.context.attempts
        case let failure as PageError:
            if case .loading(let error) = failure.cause { error.context.attempts } else { nil }
        default: nil
        }
    }

    /// The number of attempts in the error of a call.
    private static func outcome(of form: Form, _ rig: Rig) async throws -> Int? {
        let (loader, request, endpoint) = (rig.loader, try rig.request(), try rig.endpoint())
        let heard = Journal<Int>()
        do throws(any Error) {
            switch form {
            case .load: _ = try await loader.load(request)
            case .endpoint: _ = try await loader.load(endpoint.decoding([Int].self))
            case .completion:
                loader.load(request, on: .anywhere) { result in
                    if case .failure(let error) = result { heard.add(error.context.attempts) }
                }
            case .callbacks:
                loader.send(endpoint, on: .anywhere, failure: { _, error in heard.add(error.context.attempts) })
            case .fluent:
                loader.request(request, on: .anywhere).validateStatus(in: [200]).responseData { outcome in
                    if case .failure(let error) = outcome.result { heard.add(attempts(error) ?? -1) }
                }
            case .delegate:
                let listener = Listener()
                loader.delegate = listener
                await loader.perform(request)
                return try await listener.errors.next()[0]
            case .download:
                let folder = try TemporaryFolder()
                defer { folder.remove() }
                let path = folder.file("file")
                _ = try await loader.download(request, to: path)
            case .pages:
                let paged = PagedEndpoint(endpoint, paginator: .rule(.link(relation: "next")))
                for try await _ in loader.pages(of: paged) {}
            case .stream: _ = try await loader.load(request.streamed)
            }
            guard [.completion, .callbacks, .fluent].contains(form) else { return nil }
            return try await heard.next()[0]
        } catch {
            return attempts(error)
        }
    }

    @Test("finding SF-3 the error of every form of a call says how many attempts there were", arguments: Form.allCases)
    func counts(form: Form) async throws {
        for ending in Self.endings {
            let rig = Rig {
                $0.retries.limit = 2
                $0.retries.backoff = .none
            }
            let rule = rig.transport.onAnyRequest().respond(ending.answers[0])
            for answer in ending.answers.dropFirst() { _ = rule.then(answer) }

            let attempts = try await rig.time.runAutomatically { try await Self.outcome(of: form, rig) }

            #expect(attempts == ending.attempts, "\(ending.testDescription)")
        }
    }

    @Test("finding SF-3 errors after the head have the number too: an undecodable value, a body that breaks")
    func afterTheHead() async throws {
        let rig = Rig {
            $0.retries.limit = 2
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.status(503)).then(.text("no list"))
        let undecodable = await failure { () throws(LoadingError) in
            try await rig.loader.load(try rig.endpoint().decoding([Int].self))
        }
        let broken = Rig {
            $0.retries.limit = 2
            $0.retries.backoff = .none
        }
        broken.transport.onAnyRequest().respond(.status(503))
            .then(.text("0123456789").breaking(after: 4))

        let body = try await broken.loader.load(broken.request().streamed).body
        let cut = await failure { () throws(LoadingError) in try await body.collect() }

        #expect(undecodable?.context.attempts == 2)
        #expect(cut?.context.attempts == 2)
    }

    @Test("finding SF-3 a call that is cancelled in its second attempt says so, in every form that reports it")
    func cancelled() async throws {
        let rig = Rig { $0.retries.limit = 2 }
        rig.transport.onAnyRequest().respond(.status(503))
        let heard = Journal<Int>()
        try await rig.time.runAutomatically { [loader = rig.loader, request = try rig.request(), time = rig.time] in
            let handle = loader.load(request, on: .anywhere) { result in
                if case .failure(let error) = result { heard.add(error.context.attempts) }
            }
            // The second attempt stalls.
            rig.transport.onAnyRequest().respond(.stalls)
            try await time.sleep(for: .seconds(25))
            handle.cancel()
            _ = try await heard.next()
        }
        #expect(heard.all.allSatisfy { $0 >= 1 })
    }

    @Test("finding SF-3 a refusal before anything was attempted has no attempts")
    func nothingAttempted() async throws {
        let rig = Rig()
        let error = await failure { () throws(LoadingError) in
            var request = try rig.request()
            request.headers["Bad"] = "a\nb"
            return try await rig.loader.load(request)
        }
        #expect(error?.context.attempts == 0)
    }
}

#if os(Linux)
    /// Lists of addresses on real sockets.
    @Suite("Fail-over on sockets", .timeLimit(.minutes(5)))
    struct FailOverSocketTests {
        /// Addresses at which nothing listens: ports of servers that have stopped.
        private static func dead(_ count: Int) throws -> [HostDirectory.Address] {
            let servers = try (0..<count).map { _ in try LoopbackServer { _ in .text("stopped") } }
            for server in servers { server.stop() }
            return servers.map { HostDirectory.Address("127.0.0.1", port: Int($0.port)) }
        }

        @Test(
            "finding SF-4 finding UF-11 on sockets the first call reaches the only address of six that listens",
            arguments: [true, false]
        )
        func reachesTheLast(isDataLoader: Bool) async throws {
            let server = try LoopbackServer { _ in .text("alive") }
            let list = try Self.dead(5) + [HostDirectory.Address("127.0.0.1", port: Int(server.port))]
            let events = EventRecorder()
            var settings = isDataLoader ? try Service.Settings.dataLoader() : Service.Settings()
            settings.retries.limit = 0
            settings.hosts.setAddresses(list, for: "svc.test")
            settings.observers = [events]
            let service = try Service(settings)

            let response = try await service.anonymous.makeLoader().load(Request(.post, "http://svc.test/a"))

            #expect(response.body.bytes == Data("alive".utf8))
            #expect(response.attempts == 1)
            #expect(server.requests.map { $0["Host"] } == ["svc.test"])
            #expect(events.events.count { if case .hostMoved = $0 { true } else { false } } == 5)
            #expect(!events.story.contains { $0.contains("waitStarted(backoff") })
            await service.shutDown()
        }
    }
#endif
