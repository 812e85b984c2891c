import Foundation
import LadeCatalogueServer
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade
@testable import LadeCommand

/// The built program's policies against a server on loopback.
@Suite("lade get with policies", .timeLimit(.minutes(5)))
struct PolicyTests {
    private func server(
        _ answer: @escaping @Sendable (ServerRequest) -> ServerResponse
    ) throws -> LoopbackServer {
        try LoopbackServer(handler: answer)
    }

    /// Runs a command in this process, in virtual time, on a scripted transport.
    private func run(
        _ arguments: [String],
        on transport: ScriptedTransport,
        _ change: @escaping @Sendable (inout Service.Settings) -> Void = { _ in }
    ) async throws -> (code: ExitCode, output: String) {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let time = VirtualTime()
        var console = Console()
        console.output = try Descriptor.open(folder.file("out", ""), O_WRONLY)
        console.isOutputTerminal = false
        console.isTalkTerminal = false
        var context = CommandContext(table: .standard, console: console, interruption: Interruption(), time: time)
        context.makeService = { settings throws(LoadingError) in
            var settings = settings
            change(&settings)
            return Service(settings, transport: transport)
        }
        let code = await time.runAutomatically { [context] in
            do throws(CommandError) {
                return try await context.table.run(arguments, in: context)
            } catch {
                return error.code
            }
        }
        return (code, folder.text("out") ?? "")
    }

    /// Notes when exchanges begin.
    private struct ExchangeTimes: Interceptor {
        let times = Locked<[Instant]>([])

        func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
            times.withLock { $0.append(next.call.time.now) }
            return try await next(request)
        }
    }

    @Test("the calls of one line keep its --rate together", arguments: [["-Z"], []])
    func oneRate(arguments: [String]) async throws {
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.text("x"))
        let exchanges = ExchangeTimes()
        let line = ["get", "http://h.example/x?n=[1-4]", "--rate", "2/s", "-o", "/dev/null", "--no-config"]

        let (code, _) = try await run(line + arguments, on: transport) { $0.attemptInterceptors.append(exchanges) }

        #expect(code == .success)
        let times = exchanges.times.withLock { $0.sorted() }
        #expect(times.count == 4)
        #expect(try #require(times.first).duration(to: try #require(times.last)) == .milliseconds(1_500))
    }

    // MARK: - Without options

    @Test("follows no redirect, keeps no cookie and sends nothing again unless an option says so")
    func plain() async throws {
        let server = try server { request in
            request.path == "/to"
                ? .text("there")
                : .status(
                    request.path == "/moved" ? 302 : 503,
                    [ServerField("Location", "/to"), ServerField("Set-Cookie", "a=b")]
                )
        }

        let moved = try await LadeProcess.run("get", server.address("/moved"))
        let failing = try await LadeProcess.run("get", server.address("/fails"))

        #expect(moved.status == 3)
        #expect(failing.status == 5)
        #expect(server.requestCount == 2)
        #expect(try await server.request(at: 1)["Cookie"] == nil)
    }

    // MARK: - Redirects

    @Test("follows redirects with -L, and leaves credentials behind on another origin")
    func redirects() async throws {
        let other = try server { .text($0["Authorization"] ?? "anonymous") }
        let server = try server { request in
            .status(302, [ServerField("Location", request.path == "/a" ? "/b" : other.address("/c"))])
        }

        let outcome = try await LadeProcess.run("get", "-L", "-u", "me:pw", server.address("/a"))

        #expect(outcome.status == 0)
        #expect(outcome.output == "anonymous")
        #expect(try await server.request(at: 1)["Authorization"] != nil)
    }

    @Test(
        "command CM-03 ends with 6 when there are too many redirects or they lead nowhere new",
        arguments: [(["--max-redirects", "2"], "/n", 3), (["-L"], "/loop", 1)]
    )
    func redirectLimits(arguments: [String], path: String, count: Int) async throws {
        let server = try server { request in
            let number = request.queryItem("n").flatMap { Int($0) } ?? 0
            return .status(302, [ServerField("Location", path == "/loop" ? "/loop" : "/n?n=\(number + 1)")])
        }

        let outcome = try await LadeProcess(["get", server.address(path)] + arguments).outcome()

        #expect(outcome.status == 6)
        #expect(outcome.talkLines.count == 2)
        #expect(server.requestCount == count)
    }

    // MARK: - CM-07

    @Test(
        "command CM-07 never repeats an unsafe method without --retry-unsafe or an idempotency key",
        arguments: [
            (["-X", "POST"], 1), (["-X", "PATCH", "-d", "x"], 1), (["-X", "POST", "--retry-unsafe"], 3),
            (["-X", "POST", "--idempotency-key", "auto"], 3), (["-X", "POST", "--idempotency-key", "k1"], 3),
            (["-X", "POST", "Idempotency-Key:k1"], 3), (["-X", "PUT", "-d", "x"], 3), (["-X", "DELETE"], 3), ([], 3),
        ]
    )
    func unsafeMethods(arguments: [String], count: Int) async throws {
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.status(503))

        let code = try await run(["get", "http://h/x", "--retry", "2"] + arguments, on: transport).code

        #expect(code == .serverError)
        #expect(transport.requests.count == count)
        let keys = Set(transport.requests.map { $0.headers["Idempotency-Key"] })
        #expect(keys.count == 1)
    }

    @Test("repeats what may pass, and says nothing of it when it passes")
    func retry() async throws {
        let transport = ScriptedTransport(
            answering: .status(503, headers: ["Retry-After": "2"]),
            .connectionLost(),
            .text("there")
        )

        let outcome = try await run(["get", "--retry", "2", "http://h/x"], on: transport)

        #expect(outcome.code == .success)
        #expect(outcome.output == "there")
    }

    @Test("policies PL-77 --hedge sends again what has no head after a time, and explain shows both exchanges")
    func hedge() async throws {
        for command in ["get", "explain"] {
            let transport = ScriptedTransport(answering: .text("slow").after(.seconds(5)), .text("fast"))

            let outcome = try await run([command, "--hedge", "200ms", "http://h/x"], on: transport)

            #expect(outcome.code == .success)
            #expect(transport.requests.count == 2)
            if command == "get" {
                #expect(outcome.output == "fast")
            } else {
                #expect(outcome.output.contains("no head within 200 ms; sent once more, as hedge 1"))
                #expect(outcome.output.contains("hedge 1: response 200"))
                #expect(outcome.output.contains("the result is that of hedge 1"))
            }
        }
    }

    // MARK: - Time, rates, hosts

    @Test("command CM-03 ends with 2 at the deadline, whatever the time is spent on")
    func deadline() async throws {
        let stalling = try LoopbackServer(script: [.readRequest, .stall])
        let outcome = try await LadeProcess.run("get", "--deadline", "50ms", stalling.address())
        #expect(outcome.status == 2)
        #expect(outcome.talk.contains("--deadline"))

        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "20"]))
        let waiting = try await run(["get", "--deadline", "10s", "--retry", "2", "http://h/"], on: transport)
        #expect(waiting.code == .timedOut)
        #expect(transport.requests.count == 1)
    }

    @Test("command CM-03 ends with 10 when the server asks for a longer pause than --max-wait")
    func rateLimited() async throws {
        let server = try server { _ in .status(429, [ServerField("Retry-After", "30")]) }

        let outcome = try await LadeProcess.run("get", "--retry", "1", "--max-wait", "5s", server.address())

        #expect(outcome.status == 10)
        #expect(outcome.talk.contains("must not be called for another 30 s"))
        #expect(server.requestCount == 1)
        #expect(try await LadeProcess.run("get", server.address()).status == 4)
    }

    @Test("--max-wait bounds how long an announced quota holds a list")
    func quota() async throws {
        let transport = ScriptedTransport()
        transport.on(.get, "/list?p=1").respond(
            .json("[1]").adding("Link", "</list?p=2>; rel=next")
                .adding("RateLimit-Remaining", "0").adding("RateLimit-Reset", "3000")
        )
        transport.on(.get, "/list?p=2").respond(.json("[2]"))

        let starts = try await starts(["pages", "http://h/list?p=1", "--max-wait", "2s"], on: transport)

        #expect(starts.count == 2)
        #expect(zip(starts, starts.dropFirst()).allSatisfy { $0.duration(to: $1) <= .seconds(10) })
    }

    @Test("keeps to --rate")
    func rate() async throws {
        let transport = ScriptedTransport()
        for page in 1...5 {
            transport.on(.get, "/list?p=\(page)").respond(
                .json("[\(page)]").adding("Link", "</list?p=\(page + 1)>; rel=next")
            )
        }
        transport.on(.get, "/list?p=6").respond(.json("[6]"))

        let starts = try await starts(["pages", "http://h/list?p=1", "--rate", "2/s"], on: transport)

        #expect(starts.count == 6)
        #expect(zip(starts, starts.dropFirst()).allSatisfy { $0.duration(to: $1) >= .milliseconds(499) })
    }

    /// When each attempt of a command started, which must succeed.
    private func starts(_ arguments: [String], on transport: ScriptedTransport) async throws -> [Instant] {
        let times = Locked<[Instant]>([])
        let code = try await run(arguments, on: transport) { $0.attemptInterceptors = [Clock(times: times)] }.code
        #expect(code == .success)
        return times.withLock(\.self)
    }

    private struct Clock: Interceptor {
        let times: Locked<[Instant]>

        func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
            let now = next.call.time.now
            times.withLock { $0.append(now) }
            return try await next(request)
        }
    }

    @Test("goes to the next address of --host when one is dead")
    func hosts() async throws {
        let server = try server { .text($0["Host"] ?? "") }
        let dead = try LoopbackServer(script: [])
        dead.stopAccepting()
        let list = "api.example=\(dead.authority),\(server.authority)"

        let outcome = try await LadeProcess.run("get", "--retry", "1", "--host", list, "http://api.example/x")

        #expect(outcome.status == 0)
        #expect(outcome.output == "api.example")
    }

    @Test("command CM-03 ends with 11 when no address of --host answers")
    func hostDown() async throws {
        let dead = try LoopbackServer(script: [])
        dead.stopAccepting()

        let outcome = try await LadeProcess.run(
            "get",
            "--host",
            "api.example=\(dead.authority)",
            "http://api.example/x"
        )

        #expect(outcome.status == 11)
        #expect(outcome.talkLines.count == 2)
    }

    @Test("command CM-03 ends with 8 when an address of --host answers, but not with TLS")
    func hostWithoutTLS() async throws {
        let server = try LoopbackServer(script: [.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .stall])

        let outcome = try await LadeProcess.run(
            "get",
            "--host",
            "api.example=\(server.authority)",
            "https://api.example/x"
        )

        #expect(outcome.status == 8)
    }

    // MARK: - Credentials

    @Test(
        "signs in with a secret from the environment",
        arguments: [("basic:me", "Basic bWU6aHVzaA=="), ("bearer", "Bearer hush")]
    )
    func environmentSecret(kind: String, field: String) async throws {
        let server = try server { .text($0["Authorization"] ?? "") }

        let outcome = try await LadeProcess.run(
            "get",
            "-v",
            "--auth",
            kind,
            "--secret-env",
            "HUSH",
            server.address(),
            environment: ["HUSH": "hush"]
        )

        #expect(outcome.status == 0)
        #expect(outcome.output == field)
        #expect(!outcome.talk.contains("hush"))
        #expect(!outcome.talk.contains("bWU6"))
    }

    @Test("signs in with OAuth 2 and a secret from an open file")
    func descriptorSecret() async throws {
        var options = LocalCatalogue.Options()
        options.medias = 3
        options.requiresToken = true
        let catalogue = try LocalCatalogue(options)
        let endpoint = "http://lade@127.0.0.1:\(catalogue.port)/oauth2/token"
        let line = "lade pages \(catalogue.address("/medias")) --auth oauth2:\(endpoint) --secret-fd 3 3<<<demo-secret"

        let outcome = try await LadeProcess.run("-c", line, program: "/bin/bash")

        #expect(outcome.talk == "")
        #expect(outcome.status == 0)
        #expect(outcome.output.split(separator: "\n").count == 3)
    }

    @Test("command CM-03 ends with 9 when it cannot sign in, and with 1 when there is no secret")
    func refused() async throws {
        let catalogue = try LocalCatalogue()
        let arguments = ["get", catalogue.address("/medias"), "--auth"]
        let oauth = arguments + ["oauth2:http://lade@127.0.0.1:\(catalogue.port)/oauth2/token"]

        let wrong = try await LadeProcess(oauth + ["--secret-env", "HUSH"], environment: ["HUSH": "x"]).outcome()
        let unset = try await LadeProcess(arguments + ["bearer", "--secret-env", "HUSH"]).outcome()
        let insecure = try await LadeProcess(
            ["get", "http://api.example/", "--connect-to", "127.0.0.1:\(catalogue.port)", "--auth", "bearer"]
                + ["--secret-env", "HUSH"],
            environment: ["HUSH": "x"]
        ).outcome()

        #expect(wrong.status == 9)
        #expect(unset.status == 1)
        #expect(insecure.status == 9)
        #expect(insecure.talk.contains("without TLS"))
    }

    @Test("command CM-03 ends with 9 when the secret of a client would reach its token endpoint without TLS")
    func insecureEndpoint() async throws {
        let proxy = try server { _ in .json(#"{"access_token":"t","token_type":"Bearer"}"#) }

        let outcome = try await LadeProcess(
            ["get", "https://127.0.0.1:1/", "--auth", "oauth2:http://lade@auth.example/token", "--secret-env", "HUSH"]
                + ["--proxy", "http://\(proxy.authority)"],
            environment: ["HUSH": "hush"]
        ).outcome()

        #expect(outcome.status == 9)
        #expect(outcome.talk.contains("without TLS"), "\(outcome.talk)")
        #expect(!outcome.talk.contains("hush"), "\(outcome.talk)")
        #expect(proxy.requestCount == 0)
    }

    @Test(
        "takes a secret of one line from a descriptor, and nothing else",
        arguments: [
            ("s3cret", true), ("s3cret\\n", true), ("s3cret\\r\\n\\n", true), ("s3cret\\nmore", false), ("", false),
            ("\\n", false), ("\\ns3cret", false),
        ]
    )
    func secretLines(text: String, isSecret: Bool) async throws {
        let server = try server { .text($0["Authorization"] ?? "none") }
        let line = "lade get \(server.address()) --auth bearer --secret-fd 3 3< <(printf '\(text)')"
        let outcome = try await LadeProcess.run("-c", line, program: "/bin/bash")
        #expect(outcome.status == (isSecret ? 0 : 1))
        #expect(outcome.output == (isSecret ? "Bearer s3cret" : ""))
        #expect(!outcome.talk.contains("s3cret"))
    }

    @Test("refuses a secret of a descriptor that is longer than any secret")
    func longSecret() async throws {
        let server = try server { _ in .status(204) }
        let line = "lade get \(server.address()) --auth bearer --secret-fd 3 3< <(head -c 65537 /dev/zero | tr '\\0' x)"

        let outcome = try await LadeProcess.run("-c", line, program: "/bin/bash")

        #expect(outcome.status == 1)
        #expect(outcome.talkLines.count == 2)
        #expect(server.requestCount == 0)
    }

    @Test("secrets that the command was given are shown by nothing that it says: finding FH-8 finding FP-6")
    func hidesSecrets() async throws {
        let secrets = ["cAnArY-bearer", "cAnArY-vault", "cAnArY-query", "cAnArY-\"odd\\"]
        let server = try server { request in
            let echo = secrets.map { ServerField("X-Echo", "you sent \($0), did you?") }
            let tokens = [
                ServerField("Location", "/next?token=cAnArY-query&x=cAnArY-bearer"),
                ServerField("Set-Cookie", "s=cAnArY-set"),
            ]
            return .status(request.path == "/start" ? 302 : 404, echo + tokens)
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let events = folder.path + "events"

        let outcome = try await LadeProcess(
            ["get", "-v", "-L", "--events", events, "--auth", "bearer", "--secret-env", "HUSH"]
                + [
                    server.address("/start?api_key=cAnArY-query"), "X-Vault-Token:cAnArY-vault",
                    "X-Odd-Secret:cAnArY-\"odd\\",
                ],
            environment: ["HUSH": "cAnArY-bearer"]
        ).outcome()

        let log = folder.text("events") ?? ""
        #expect(outcome.talk.contains("X-Echo: you sent <redacted>"))
        #expect(log.contains("headReceived"))
        #expect(!outcome.talk.contains("cAnArY"), "\(outcome.talk)")
        #expect(!log.contains("cAnArY"), "\(log)")
        #expect(log.split(separator: "\n").allSatisfy { JSONValue.isValid(String($0)) })
        let rights = try FileManager.default.attributesOfItem(atPath: events)[.posixPermissions] as? NSNumber
        #expect(rights?.intValue == 0o600)
    }

    @Test(
        "finding FH-8 hides a secret that the message of a server repeats",
        arguments: [["-u", "me:cAnArY"], ["--auth", "bearer", "--secret-env", "HUSH"], ["X-Api-Key:cAnArY"]]
    )
    func repeatedInMessage(arguments: [String]) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try server { _ in .text("no account has cAnArY", status: 403) }

        let outcome = try await LadeProcess(
            ["get", "-o", "out", server.address()] + arguments,
            in: folder.path,
            environment: ["HUSH": "cAnArY"]
        ).outcome()

        #expect(outcome.status == 4)
        #expect(outcome.talkLines.first == "no account has <redacted>", "\(outcome.talk)")
        #expect(!outcome.talk.contains("cAnArY"))
    }

    @Test("asks for the scopes of --scope")
    func scopes() async throws {
        let server = try server { request in
            guard request.path == "/token" else { return .text(request["Authorization"] ?? "none") }
            return .json(#"{"access_token":"t","token_type":"Bearer","expires_in":60}"#)
        }

        let outcome = try await LadeProcess(
            ["get", server.address(), "--auth", "oauth2:http://lade@\(server.authority)/token", "--scope", "a b"]
                + ["--secret-env", "HUSH"],
            environment: ["HUSH": "hush"]
        ).outcome()

        #expect(outcome.status == 0)
        #expect(outcome.output == "Bearer t")
        let form = server.requests.first.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
        #expect(form.contains("scope=a+b") || form.contains("scope=a%20b"), "\(form)")
    }

    @Test("finding FH-8 hides a cookie of a file and the password of the proxy when a server repeats them")
    func repeatedSecrets() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let fields = "FALSE\t/\tFALSE\t0\tsid"
        _ = try folder.file("jar", "api.example\t\(fields)\tcAnArY-cookie\nother.example\t\(fields)\tcAnArY-unsent\n")
        let proxy = try server { request in
            let cookie = request["Cookie"] ?? "none"
            return .text("ok", [ServerField("X-Echo", "\(cookie), cAnArY-proxy, cAnArY-cookie, cAnArY-unsent")])
        }

        let outcome = try await LadeProcess.run(
            "get",
            "-v",
            "-b",
            "jar",
            "--events",
            "events",
            "--proxy",
            "http://me:cAnArY-proxy@\(proxy.authority)",
            "http://api.example/",
            in: folder.path
        )

        let log = folder.text("events") ?? ""
        #expect(outcome.status == 0)
        #expect(proxy.requests.first?["Cookie"] == "sid=cAnArY-cookie")
        #expect(outcome.talk.contains("X-Echo: "), "\(outcome.talk)")
        #expect(!outcome.talk.contains("cAnArY"), "\(outcome.talk)")
        #expect(log.contains("X-Echo"), "\(log)")
        #expect(!log.contains("cAnArY"), "\(log)")
    }

    @Test("finding FH-9 lade pages sends neither fields nor the body of its own to a next page on another origin")
    func pagesElsewhere() async throws {
        let other = try server { _ in .json("[2]") }
        let next = other.address("/more")
        let first = try server { _ in .json("[1]", [ServerField("Link", "<\(next)>; rel=\"next\"")]) }

        let followed = try await LadeProcess.run("pages", first.address(), "X-Foo:cAnArY", "Accept-Language:de")
        let refused = try await LadeProcess.run("pages", first.address(), "--request", "POST", "--data", "cAnArY")
        let allowed = try await LadeProcess.run(
            "pages",
            first.address(),
            "--request",
            "POST",
            "--data",
            "cAnArY",
            "--cross-origin-body"
        )

        #expect(followed.output == "1\n2\n")
        #expect(refused.status != 0)
        #expect(allowed.output == "1\n2\n")
        let received = other.requests
        try #require(received.count == 2)
        #expect(received[0].fields.contains { $0.name == "Accept-Language" })
        #expect(!received[0].fields.contains { $0.value.contains("cAnArY") })
        #expect(received[1].body == Data("cAnArY".utf8))
    }

    @Test(
        "finding FH-10 a host that only looks like a loopback address gets no secret without TLS",
        arguments: ["127.evil.example.com", "127.0.0.evil"]
    )
    func looksLikeLoopback(host: String) async throws {
        let server = try server { _ in .status(204) }

        let outcome = try await LadeProcess(
            ["get", "http://\(host)/", "--connect-to", "127.0.0.1:\(server.port)", "--auth", "bearer"]
                + ["--secret-env", "HUSH"],
            environment: ["HUSH": "x"]
        ).outcome()

        #expect(outcome.status == 9)
        #expect(outcome.talk.contains("without TLS"))
    }

    @Test(
        "command CM-01 asks for the secret of --auth on the terminal itself, unseen",
        .enabled(if: FileManager.default.isExecutableFile(atPath: setsid))
    )
    func prompt() async throws {
        let server = try server { _ in .status(204) }
        let arguments = ["--wait", "--ctty", LadeProcess.path, "get", "--auth", "bearer", server.address()]
        let process = try LadeProcess(arguments, program: Self.setsid, to: .terminal)
        let question = "Token for 127.0.0.1: "
        try await process.output(atLeast: question.count)
        try process.type("hush\n")

        let outcome = try await process.outcome()

        #expect(outcome.status == 0)
        #expect(outcome.output == question + "\r\n")
        #expect(try await server.request(at: 0)["Authorization"] == "Bearer hush")
    }

    @Test(
        "shows what is typed on the terminal again after it asked for a secret",
        .enabled(if: FileManager.default.isExecutableFile(atPath: setsid))
    )
    func echo() async throws {
        let server = try server { _ in .status(204) }
        let line = "lade get --auth bearer '\(server.address())'; stty -a"
        let arguments = ["--wait", "--ctty", "/bin/bash", "-c", line]
        let process = try LadeProcess(arguments, program: Self.setsid, to: .terminal)
        try await process.output(atLeast: "Token for 127.0.0.1: ".count)
        try process.type("hush\n")

        let outcome = try await process.outcome()

        #expect(outcome.output.contains(" echo "), "\(outcome.output)")
        #expect(!outcome.output.contains("-echo "), "\(outcome.output)")
    }

    private static let setsid = "/usr/bin/setsid"
}
