import Foundation
import LadeCatalogueServer
import LadeCore
import LadeRedis
import LadeTesting
import SharedDoubles
import Testing

/// `lade get --share` in eight processes, judged by the server that they call.
@Suite(.timeLimit(.minutes(30)), .serialized)
struct FleetProcessTests {
    /// The program that the tests were built with.
    private static let program =
        URL(fileURLWithPath: (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "")
        .deletingLastPathComponent().path + "/lade"
    private static let members = 8

    /// Starts the members, each of which calls an address so many times.
    private func start(_ address: String, _ count: Int, _ store: StoreServer) throws -> [ChildProcess] {
        let line = [
            "get", "\(address)?n=[1-\(count)]", "-Z", "--parallel-max", "6", "--rate", "100/s", "--share", store.url,
            "--no-config", "-o", "/dev/null", "-f", "-s",
        ]
        let null = open("/dev/null", O_WRONLY)
        defer { close(null) }
        return try (0..<Self.members).map { _ in try ChildProcess(Self.program, line, output: null, error: null) }
    }

    @Test("fleet RD-03 RD-101 the calls of one command are one member, which leaves at the end")
    func oneMember() async throws {
        let store = try StoreServer.start()
        let server = try LoopbackServer { _ in .text("x") }
        let line = [
            "get", server.address("/x") + "?n=[1-20]", "-Z", "--rate", "200/s", "--share", store.url, "--no-config",
            "-o",
            "/dev/null", "-s",
        ]
        #expect(try await ChildProcess(Self.program, line).ended() == 0)
        let client = StoreClient(store.path)
        guard case .text(let bytes)? = client.command(["INFO", "commandstats"]) else {
            Issue.record("no statistics")
            return
        }
        // A connection loads each script once.
        let loads = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").first { $0.contains("script|load") }
        #expect(loads?.contains("calls=\(StoreScript.allCases.count),") == true, "\(String(describing: loads))")
        #expect(client.command(["ZCARD", "lade:1:{test}:m"]) == .integer(0))
        #expect(server.requestCount == 20)
    }

    @Test("fleet RD-02 RD-104 a wrong password is exit code 9 before anything is sent, and the right one is taken")
    func password() async throws {
        let store = try StoreServer.start(.redis, ["--requirepass", "right"])
        let server = try LoopbackServer { _ in .text("x") }
        let line = [
            "get", server.address("/x"), "--rate", "20/s", "--share", store.url, "--fleet-secret-env", "STORE",
            "--no-config", "-o", "/dev/null", "-s",
        ]
        for (secret, status) in [("wrong", 9), ("right", 0)] as [(String, Int32)] {
            let variables = ["STORE": secret, "HOME": store.folder, "PATH": "/usr/bin:/bin"]
            let null = open("/dev/null", O_WRONLY)
            defer { close(null) }
            #expect(try await ChildProcess(Self.program, line, environment: variables, error: null).ended() == status)
        }
        #expect(server.requestCount == 1)
    }

    @Test("fleet RD-110 explain shows the wait for a slot as that of the rate limit of a fleet")
    func explained() async throws {
        let store = try StoreServer.start()
        let server = try LoopbackServer { _ in .text("x") }
        let line = ["explain", server.address("/x"), "--rate", "2/s", "--share", store.url, "--no-config", "--all"]
        let path = store.folder + "/explained"
        let output = open(path, O_WRONLY | O_CREAT, 0o600)
        defer { close(output) }
        #expect(try await ChildProcess(Self.program, line, output: output).ended() == 0)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains("the rate limit of") && text.contains(", fleet of 1"), "\(text)")
    }

    @Test("fleet RD-04 no proxy of the environment is used for the store")
    func proxies() async throws {
        let store = try StoreServer.start(StoreServer.Settings(hasPort: true))
        let server = try LoopbackServer { _ in .text("x") }
        let line = [
            "get", server.address("/x"), "--rate", "20/s", "--share", store.portURL, "--no-config", "--noproxy",
            "127.0.0.1",
            "-o", "/dev/null", "-s",
        ]
        // No server listens there.
        let proxy = "http://127.0.0.1:1"
        let variables = [
            "http_proxy": proxy, "https_proxy": proxy, "all_proxy": proxy, "HOME": store.folder,
            "PATH": "/usr/bin:/bin",
        ]
        #expect(try await ChildProcess(Self.program, line, environment: variables).ended() == 0)
        #expect(server.requestCount == 1)
    }

    @Test("fleet RD-121 RD-122 processes that are killed and stopped at random moments keep the limit")
    func killed() async throws {
        let first = Soak.current.seed(for: "FleetProcessTests.killed")
        for await round in Soak.turns(Soak.current.rounds(of: 200, few: 2)) {
            let seed = first &+ UInt64(round)
            let random = SeededRandom(seed: seed)
            let (judge, time) = (Judge(), SystemTime())
            let store = try StoreServer.start()
            let server = try LoopbackServer { _ in
                judge.note(0, time.now)
                return .text("x")
            }
            let processes = try start(server.address("/x"), 1_000, store)
            var next = 40 + Int(random.next() % 40)
            var (rest, stopped) = (Array(processes.indices), [Int]())
            while judge.count < 400 {
                try await time.sleep(for: .milliseconds(5))
                guard judge.count >= next, rest.count > 4 else { continue }
                next += 20 + Int(random.next() % 40)
                let index = Int(random.next() % UInt64(rest.count))
                switch random.next() % 3 {
                case 0: processes[rest.remove(at: index)].send(SIGKILL)
                case 1:
                    stopped.append(rest.remove(at: index))
                    processes[stopped[stopped.count - 1]].send(SIGSTOP)
                default:
                    guard !stopped.isEmpty else { continue }
                    rest.append(stopped.removeFirst())
                    processes[rest[rest.count - 1]].send(SIGCONT)
                }
            }
            for process in processes { process.send(SIGKILL) }
            for process in processes { _ = try await process.ended() }
            let excess = judge.excess(rate: 100)
            #expect(excess <= Double(Self.members), "seed \(seed)")
        }
    }

    @Test("fleet RD-122 nginx with the same limit and a burst of the members refuses nothing")
    func nginx() async throws {
        let programs = ["/usr/sbin/nginx", "/usr/local/sbin/nginx"]
        guard let program = programs.first(where: FileManager.default.isExecutableFile) else {
            try Test.cancel("nginx is missing: Scripts/bootstrap test installs it")
        }
        let (folder, port) = (try TemporaryFolder(), try StoreServer.freePort())
        let path = folder.path
        try folder.write("x", to: "x")
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(path)\($0);" }
        let configuration = """
            daemon off; master_process off; pid \(path)pid; error_log \(path)errors error;
            events {}
            http {
                \(temporary.joined(separator: " "))
                log_format status '$status'; access_log \(path)log status;
                limit_req_zone $server_name zone=all:1m rate=100r/s;
                server {
                    listen 127.0.0.1:\(port); root \(path);
                    location / { limit_req zone=all burst=\(Self.members) nodelay; }
                }
            }
            """
        let server = try ChildProcess(
            program,
            ["-p", path, "-c", try folder.file("conf", configuration), "-e", path + "errors"]
        )
        defer { server.send(SIGKILL) }
        // It is written when the sockets are open.
        while folder.text("pid") == nil { try await SystemTime().sleep(for: .milliseconds(5)) }
        let store = try StoreServer.start()
        let processes = try start("http://127.0.0.1:\(port)/x", 60, store)
        for process in processes { #expect(try await process.ended() == 0) }
        // Its log is written when a request has ended, so all of them are in it.
        let statuses = (folder.text("log") ?? "").split(separator: "\n")
        #expect(statuses.count == 60 * Self.members)
        #expect(Set(statuses) == ["200"])
    }

    /// The moment at which the process that renews a token is killed.
    enum Moment: String, CaseIterable, Sendable {
        /// The server has the request, and has not replaced the token.
        case arrived
        /// The server has replaced the token, and has not responded.
        case replaced
        /// The process uses the new token.
        case published
    }

    @Test(
        "fleet RD-127 RD-54 RD-101 a process that is killed before, during or after a refresh is replaced",
        arguments: Moment.allCases
    )
    func killedHolder(moment: Moment) async throws {
        let clock = try await MovedClock()
        let store = try StoreServer.start(StoreServer.Settings(environment: clock.environment))
        let holder = Locked<ChildProcess?>(nil)
        // Kills the holder once, and says whether it did.
        @Sendable func kill(_ now: Moment) -> Bool {
            guard now == moment, let process = holder.withLock(\.self) else { return false }
            process.send(SIGKILL)
            holder.withLock { $0 = nil }
            return true
        }
        // The second use of a token is allowed, as by a server with a time of grace.
        let tokens = RotatingTokens(toleratesReuse: true)
        let server = try LoopbackServer { request in
            guard request.target.hasPrefix("/token") else {
                if kill(.published) { return .status(503) }
                return tokens.accepts(request["Authorization"]) ? .text("x") : .status(401)
            }
            if kill(.arrived) { return .status(503) }
            let (status, body) = tokens.respond(to: request.text)
            if kill(.replaced) { return .status(503) }
            return .json(body, status: status)
        }
        let line = [
            "get", server.address("/x"), "--share", store.url, "--no-config", "-f", "-s", "-o", "/dev/null", "--auth",
            "oauth2:" + server.address("/token").replacingOccurrences(of: "http://", with: "http://app@"),
            "--client-auth", "none", "--refresh-token-env", "TOKEN",
        ]
        let variables = ["TOKEN": "refresh-0", "HOME": store.folder, "PATH": "/usr/bin:/bin"]
        let null = open("/dev/null", O_WRONLY)
        defer { close(null) }
        let first = try ChildProcess(Self.program, line, environment: variables, error: null)
        holder.withLock { $0 = first }
        _ = try await first.ended()
        let second = try ChildProcess(Self.program, line, environment: variables, error: null)
        // The lease of 40 s and the doubt of 60 s, for a holder that has not published.
        if moment != .published { try clock.move(by: 101) }
        #expect(try await second.ended() == 0)
        #expect(tokens.refreshes == (moment == .replaced ? 2 : 1))
        #expect(tokens.mostUses == (moment == .replaced ? 2 : 1))
    }

    @Test("fleet RD-51 RD-101 eight processes that need a token at a time make one refresh")
    func oneRefresh() async throws {
        let (store, tokens) = (try StoreServer.start(), RotatingTokens())
        let server = try tokens.server()
        let line = [
            "get", server.address("/x") + "?n=[1-5]", "--share", store.url, "--no-config", "-f", "-s", "-o",
            "/dev/null", "--auth",
            "oauth2:" + server.address("/token").replacingOccurrences(of: "http://", with: "http://app@"),
            "--client-auth", "none", "--refresh-token-env", "TOKEN",
        ]
        let variables = ["TOKEN": "refresh-0", "HOME": store.folder, "PATH": "/usr/bin:/bin"]
        let null = open("/dev/null", O_WRONLY)
        defer { close(null) }
        let processes = try (0..<Self.members).map { _ in
            try ChildProcess(Self.program, line, environment: variables, error: null)
        }
        for process in processes { #expect(try await process.ended() == 0) }
        #expect(tokens.refreshes == 1)
        #expect(tokens.mostUses == 1)
        // Neither the password of a user nor a token is part of a key.
        guard case .list(let keys)? = StoreClient(store.path).command(["KEYS", "*"]) else { return }
        #expect(!"\(keys)".contains("refresh-"))
    }

    @Test("fleet RD-127 RD-51 an endpoint that revokes a sign-in when a refresh token is used twice sees no second use")
    func rotation() async throws {
        var options = LocalCatalogue.Options()
        (options.requiresToken, options.tokenLifetime) = (true, .seconds(3_600))
        let (catalogue, store) = (try LocalCatalogue(options), try StoreServer.start())
        let line = [
            "get", catalogue.address("/medias") + "?n=[1-15]", "-Z", "--share", store.url, "--no-config", "-f", "-s",
            "-o", "/dev/null", "--auth", "oauth2:http://lade@127.0.0.1:\(catalogue.port)/oauth2/token",
            "--secret-env", "SECRET", "--refresh-token-env", "SECRET",
        ]
        let variables = ["SECRET": LocalCatalogue.client.secret, "HOME": store.folder, "PATH": "/usr/bin:/bin"]
        let null = open("/dev/null", O_WRONLY)
        defer { close(null) }
        for round in 1...4 {
            let processes = try (0..<4).map { _ in
                try ChildProcess(Self.program, line, environment: variables, error: null)
            }
            for process in processes { #expect(try await process.ended() == 0, "round \(round)") }
            // The store takes the token for a valid one.
            catalogue.expireTokens()
        }

        #expect(catalogue.counts.tokens == 4)
        #expect(catalogue.counts.reusedTokens == 0)
    }
}
