#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadePolicies
import LadeTesting
import SharedDoubles
import Testing

/// The combined behaviour of the interceptors in the assembled chain.
@Suite("The whole chain", .timeLimit(.minutes(5)))
struct WholeChainTests {
    private static let oneToken: RetryBudget.Settings = {
        var settings = RetryBudget.Settings()
        settings.capacity = 1
        return settings
    }()

    private func bearer() throws -> Authorisation.Bearer {
        let count = Locked(0)
        return Authorisation.Bearer(scope: try Authorisation.Scope("https://svc.example.com")) {
            (_, _) throws(LoadingError) in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .init(Secret("token-\(number)"))
        }
    }

    // MARK: - Budgets

    @Test("finding FQ-4 does not replay a refused request when the retry budget is empty")
    func replaysWithinTheBudget() async throws {
        let rig = Rig { $0.retryBudget = RetryBudget(Self.oneToken) }
        rig.transport.onAnyRequest().respond(.status(401)).then(.text("ok"))
        let loader = rig.service.account(identifier: "a", authorisers: [try bearer()]).makeLoader()

        let error = await failure { () throws(LoadingError) in try await loader.load(try rig.request()) }

        guard case .unacceptableStatus(401)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(rig.transport.received.count == 1)
    }

    @Test("finding FQ-5 does not follow a redirect back to the same address when the retry budget is empty")
    func redirectsWithinTheBudget() async throws {
        let rig = Rig { $0.retryBudget = RetryBudget(Self.oneToken) }
        // An address that sets a cookie and redirects to itself is followed, and counts as a request sent again.
        rig.transport.onAnyRequest().respond(.status(307, headers: ["Location": "/thing", "Set-Cookie": "a=1"]))
            .then(.text("ok"))

        let error = await failure { () throws(LoadingError) in try await rig.loader.load(try rig.request()) }

        guard case .redirectRefused(.loop)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(rig.transport.lines == ["GET /thing"])
    }

    @Test("finding FP-12 replays and redirects withdraw from the budget of the same key as retries")
    func oneKeyRule() async throws {
        var limits = RateLimits()
        limits.keyRule = { _ in ServiceKey("everything") }
        let budget = RetryBudget()
        let rig = try Rig(limits: limits) {
            $0.retries.limit = 1
            $0.retries.backoff = .none
            $0.retryBudget = budget
        }
        rig.transport.onAnyRequest().respond(.status(401))
            .then(.status(307, headers: ["Location": "/other", "Set-Cookie": "a=1"]))
            .then(.status(307, headers: ["Location": "/thing", "Set-Cookie": "a=1"])).then(.status(501))
        let loader = rig.service.account(identifier: "a", authorisers: [try bearer()]).makeLoader()

        _ = try? await loader.load(try rig.request())

        #expect(rig.transport.lines == ["GET /thing", "GET /thing", "GET /other", "GET /thing"])
        #expect(budget.left(for: ServiceKey("everything")) < 500)
        #expect(budget.left(for: ServiceKey(try rig.request())) == 500)
        #expect(budget.left(for: ServiceKey(try rig.request("/other"))) == 500)
    }

    // MARK: - Slots

    /// A refusal whose body is longer than what is read to keep a connection, of unknown length, or never complete.
    private static func refusal(_ status: Response.Status, _ body: Int) -> ScriptedResponse {
        switch body {
        case 0: .bytes(Data(repeating: 1, count: 1 << 20), status: status)
        case 1: .chunks(Array(repeating: String(repeating: "1", count: 1 << 10), count: 1 << 10), status: status)
        default: .text("0123456789", status: status).stalling(after: 4)
        }
    }

    @Test("finding FQ-6 gives the only slot of a streamed 503 to the next attempt", arguments: [0, 1, 2])
    func retriesInTheOnlySlot(body: Int) async throws {
        let rig = try Rig(limits: .one) {
            $0.retries.limit = 1
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(Self.refusal(503, body)).then(.text("ok"))
        let (request, loader) = (try rig.request().streamed, rig.loader)

        let text = try await rig.time.runAutomatically { () async throws -> Data in
            try await loader.load(request).body.collect()
        }

        #expect(text == Data("ok".utf8))
        #expect(rig.transport.received.count == 2)
        #expect(rig.time.now < Instant(nanoseconds: 2_000_000_000))
    }

    @Test("finding FQ-6 FQ-7 gives the only slot of a streamed 401 to the replay", arguments: [0, 1, 2])
    func replaysInTheOnlySlot(body: Int) async throws {
        let rig = try Rig(limits: .one)
        rig.transport.onAnyRequest().respond(Self.refusal(401, body)).then(.text("ok"))
        let loader = rig.service.account(identifier: "a", authorisers: [try bearer()]).makeLoader()
        let request = try rig.request().streamed

        let text = try await rig.time.runAutomatically { () async throws -> Data in
            try await loader.load(request).body.collect()
        }

        #expect(text == Data("ok".utf8))
        #expect(rig.transport.received.count == 2)
        #expect(rig.time.now < Instant(nanoseconds: 2_000_000_000))
    }

    @Test("finding FQ-6 FQ-7 gives the only slot of a streamed redirect to the next hop", arguments: [0, 1, 2])
    func redirectsInTheOnlySlot(body: Int) async throws {
        let rig = try Rig(limits: .one)
        let redirect = Self.refusal(302, body).adding("Location", "/thing/else")
        rig.transport.onAnyRequest().respond(redirect).then(.text("ok"))
        let (request, loader) = (try rig.request().streamed, rig.loader)

        let text = try await rig.time.runAutomatically { () async throws -> Data in
            try await loader.load(request).body.collect()
        }

        #expect(text == Data("ok".utf8))
        #expect(rig.time.now < Instant(nanoseconds: 2_000_000_000))
    }

    // MARK: - Cookies

    @Test("finding FP-8 stores the cookies of a refusal that is retried, and sends them with the next attempt")
    func cookiesOfRetries() async throws {
        let rig = Rig {
            $0.retries.limit = 2
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.status(503, headers: ["Set-Cookie": "route=b"]))
            .then(.text("half").adding("Set-Cookie", "part=1").breaking(after: 2)).then(.text("ok"))

        _ = try await rig.loader.load(rig.request())
        _ = try await rig.loader.load(rig.request())

        let sent = rig.transport.requests.map { $0.headers["Cookie"] }
        #expect(sent[0...1] == [nil, "route=b"])
        #expect(sent[2...].allSatisfy { Set(($0 ?? "").components(separatedBy: "; ")) == ["route=b", "part=1"] })
    }

    @Test("finding FP-8 stores the cookies of a 401 that is replayed, and sends them with the replay")
    func cookiesOfReplays() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(401, headers: ["Set-Cookie": "session=new"])).then(.text("ok"))
        let loader = rig.service.account(identifier: "a", authorisers: [try bearer()]).makeLoader()
        var request = try rig.request()
        request.headers["Cookie"] = "own=1"

        _ = try await loader.load(request)

        #expect(rig.transport.requests.map { $0.headers["Cookie"] } == ["own=1", "own=1; session=new"])
    }

    @Test("finding FP-8 neither sends nor stores cookies with what an authoriser sends past the chain")
    func cookiesOfAuthorisers() async throws {
        let rig = Rig()
        rig.transport.on(.post, "/token")
            .respond(.json(#"{"access_token": "a"}"#).adding("Set-Cookie", "id=1; Domain=example.com"))
        rig.transport.onAnyRequest().respond(.text("ok").adding("Set-Cookie", "app=1; Domain=example.com"))
        let endpoint = try #require(URL(string: "https://id.example.com/token"))
        let oauth = Authorisation.OAuth2(
            Authorisation.OAuth2.Settings(tokenEndpoint: endpoint, grant: .clientCredentials),
            scope: try Authorisation.Scope("https://svc.example.com")
        )
        let loader = rig.service.account(identifier: "a", authorisers: [oauth]).makeLoader()

        _ = try await loader.load(rig.request())
        oauth.refresh()
        _ = try await loader.load(rig.request())

        #expect(rig.transport.lines == ["POST /token", "GET /thing", "POST /token", "GET /thing"])
        #expect(rig.transport.requests.map { $0.headers["Cookie"] } == [nil, nil, nil, "app=1"])
    }

    #if os(Linux)
        @Test("finding FP-25 cookie octets that are not UTF-8 are on the wire as they were received")
        func cookieOctets() async throws {
            let cookie = Data("n=".utf8) + [0xFF, 0xC3, 0x28]
            let head = Data("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: ".utf8) + cookie
            let answer = ServerStep.send(head + Data("\r\n\r\n".utf8))
            let server = try LoopbackServer(script: [.readRequest, answer, .readRequest, answer, .close])
            let service = try Service()
            let loader = service.anonymous.makeLoader()

            for _ in 0..<2 { _ = try await loader.load(Request(server.address())) }

            let heads = server.requests.map(\.head)
            let line = Data("Cookie: ".utf8) + cookie + Data("\r\n".utf8)
            #expect(heads.map { $0.firstRange(of: line) != nil } == [false, true])
            await service.shutDown()
        }
    #endif

    #if os(Linux)
        /// What a server does with a request, and the stage in which its call reaches the deadline.
        private static let deadlineStages: [(steps: [ServerStep]?, isUpload: Bool, isStreamed: Bool, words: String)] = [
            (nil, false, false, "connecting to the server"),
            ([.run { try $0.wait(for: Signal()) }], true, false, "sending the request"),
            ([.readRequest, .stall], false, false, "waiting for the response"),
            ([.readRequest, .stall], true, false, "waiting for the response"),
            (
                [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123"), .stall], false, false,
                "receiving the response"
            ),
            (
                [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123"), .stall], false, true,
                "receiving the response"
            ),
        ]

        @Test(
            "finding DC-5 the error of a deadline names the stage that took the time",
            arguments: 0..<deadlineStages.count
        )
        func stageOfTheDeadline(index: Int) async throws {
            let (steps, isUpload, isStreamed, words) = Self.deadlineStages[index]
            let (server, hole) = (try steps.map { try LoopbackServer(script: $0) }, try Blackhole())
            var settings = Service.Settings()
            settings.retries.limit = 0
            let service = try Service(settings)
            let loader = service.anonymous.makeLoader()
            var request = try Request(server?.address() ?? "http://127.0.0.1:\(hole.port)/")
            if isUpload {
                request.method = .put
                // More than the buffers of the sockets hold, unless the server reads it.
                request.body = .bytes(Data(count: words.hasPrefix("sending") ? 64 << 20 : 100_000))
            }
            if isStreamed { request = request.streamed }
            request.deadline = .milliseconds(400)
            let asked = request

            let error = await failure { () throws(LoadingError) in
                _ = try await loader.load(asked).body.collect()
            }

            guard case .deadlineExceeded(let report)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
            // On a busy machine the program itself may take longer than all of them.
            let stages: [Call.StageTimes.Stage] = [.connecting, .sending, .awaiting, .receiving]
            let times = report.stages.entries.filter { stages.contains($0.stage) }
            #expect(times.max { $0.duration < $1.duration }?.stage.description == words, "\(report)")
            #expect(report.stages.total == report.elapsed)
            await service.shutDown()
        }
    #endif

    // MARK: - Hosts

    @Test("finding FP-9 an address that never answers before the deadline is marked, and the backup is used")
    func silentAddresses() async throws {
        let directory = HostDirectory(["svc.example.com": ["svc.example.com", "backup.example.com"]])
        let rig = Rig { $0.hosts = directory }
        rig.transport.on("backup", where: { $0.destination == .host("backup.example.com", port: nil) })
            .respond(.text("backup"))
        rig.transport.onAnyRequest().respond(.stalls)
        var request = try rig.request()
        request.deadline = .seconds(3)
        let (loader, marking) = (rig.loader, directory.marking)

        let outcomes = await rig.time.runAutomatically { [request] in
            var outcomes: [String] = []
            for _ in 0...marking.failuresInRow {
                do throws(LoadingError) {
                    let bytes = try await loader.load(request).body.bytes ?? Data()
                    outcomes.append(String(decoding: bytes, as: UTF8.self))
                } catch {
                    if case .deadlineExceeded = error.kind { outcomes.append("deadline") }
                }
            }
            return outcomes
        }

        #expect(outcomes == Array(repeating: "deadline", count: marking.failuresInRow) + ["backup"])
    }

    @Test("finding FP-9 a deadline that passes in a queue says nothing about an address")
    func deadlinesInQueues() async throws {
        let directory = HostDirectory(["svc.example.com": ["svc.example.com", "backup.example.com"]])
        let rig = try Rig(limits: .one) { $0.hosts = directory }
        rig.transport.onAnyRequest().respond(.stalls)
        let (loader, time) = (rig.loader, rig.time)
        var long = try rig.request()
        long.deadline = .seconds(100)
        var short = long
        short.deadline = .seconds(1)

        await time.runAutomatically { [long, short] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await loader.load(long) }
                try? await time.sleep(for: .milliseconds(1))
                for _ in 0..<20 { group.addTask { _ = try? await loader.load(short) } }
            }
        }

        #expect(rig.transport.received.count == 1)
        #expect(!directory.isMarked("svc.example.com", at: time.now))
    }

    // MARK: - Accounts

    @Test("finding FP-22 an account with credentials of its own has an identity of its own")
    func identities() throws {
        let rig = Rig()
        let first = rig.service.account(authorisers: [try bearer()])
        let second = rig.service.account(authorisers: [try bearer()])
        var settings = Account.Settings()
        settings.authorisers = [try bearer()]
        let third = rig.service.account(settings)
        settings.identifier = "named"

        let generated = [first, second, third].map(\.identifier)
        #expect(Set(generated).count == 3 && !generated.contains(""))
        #expect(third.settings.identifier == third.identifier)
        #expect(rig.service.account(settings).identifier == "named")
        #expect(rig.service.account(Account.Settings()).identifier.isEmpty)
        #expect(rig.service.anonymous.identifier.isEmpty)
        #expect(Rig().service.account(authorisers: [try bearer()]).identifier == first.identifier)
    }

    @Test("finding FP-22 calls of an account without a name carry its generated identity")
    func identityOfCalls() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let account = rig.service.account(authorisers: [try bearer()])

        _ = try await account.makeLoader().load(rig.request())

        #expect(rig.transport.received.map(\.call.account) == [account.identifier])
    }
}

extension RateLimits {
    /// One exchange at a time.
    fileprivate static var one: RateLimits {
        var limits = RateLimits()
        limits.concurrency = 1
        return limits
    }
}

extension Rig {
    /// A rig with a limiter that has these limits and uses the rig's time.
    fileprivate init(limits: RateLimits, _ change: (inout Service.Settings) -> Void = { _ in }) throws {
        var fault: LoadingError?
        self.init { settings in
            do throws(LoadingError) {
                settings.rateLimiter = try RateLimiter(limits, time: settings.time, random: settings.random)
            } catch {
                fault = error
            }
            change(&settings)
        }
        if let fault { throw fault }
    }
}
