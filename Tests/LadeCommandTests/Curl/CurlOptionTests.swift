import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// Options of curl that did something else, or nothing.
@Suite("Options of curl, one by one", .timeLimit(.minutes(5)))
struct CurlOptionTests {
    /// Translates a line, in which `H` is the server, and runs it.
    private func run(
        _ line: String,
        _ server: LoopbackServer,
        in folder: TemporaryFolder
    ) async throws -> LadeProcess.Outcome {
        let text = line.replacing("H/", with: server.address("/"))
        return try await LadeProcess.run("get", "--no-config", "--from-curl", text, in: folder.path)
    }

    private func server() throws -> LoopbackServer {
        try LoopbackServer { .text("\($0.method) \($0.target) \($0.text)") }
    }

    @Test("finding CL-11 --limit-rate limits what is sent, too, in pieces of a tenth of a second")
    func sendingRate() async throws {
        let time = VirtualTime()
        let body = BodyThrottle(bytesPerSecond: 100).limited(.bytes(Data(repeating: 1, count: 1_000)), time)
        #expect(body.length == 1_000 && body.isReplayable)
        let start = time.now
        let pieces = Locked<[(count: Int, at: Duration)]>([])
        try await time.runAutomatically {
            try await body.write(to: { (chunk) throws(LoadingError) in
                pieces.withLock { $0.append((chunk.count, start.duration(to: time.now))) }
            })
        }
        let sent = pieces.withLock(\.self)
        #expect(sent.count == 100 && sent.allSatisfy { $0.count == 10 })
        #expect(sent.first?.at == .zero && sent.last?.at == .milliseconds(9_900))
    }

    /// A server whose first response is cut.
    private func cuttingServer() throws -> LoopbackServer {
        let isFirst = Locked(true)
        return try LoopbackServer { request in
            let tag = ServerField("ETag", "\"1\"")
            let first = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            if !first, request["Range"] == "bytes=5-" {
                return .text(" world", status: 206, [tag, ServerField("Content-Range", "bytes 5-10/11")])
            }
            return ServerResponse(
                status: 200,
                fields: [tag, ServerField("Content-Length", "11")],
                body: .raw { connection in
                    try connection.send(Data("hello".utf8))
                    try connection.close()
                }
            )
        }
    }

    @Test("finding CL-11 the line that resumes is named where another one does not")
    func resumption() async throws {
        let (server, folder) = (try cuttingServer(), try TemporaryFolder())
        defer { folder.remove() }
        let cut = try await run("curl -o f H/", server, in: folder)
        #expect(cut.status == 7 && cut.talk.contains("5 B are kept; the line with -C - resumes."), "\(cut.talk)")
        let rest = try await run("curl -C - -o f H/", server, in: folder)
        #expect(rest.status == 0 && folder.text("f") == "hello world", "\(rest.talk)")
        #expect(folder.names == ["f"])
    }

    @Test("finding CL-11 --remove-on-error leaves no part and no note")
    func removal() async throws {
        let (server, folder) = (try cuttingServer(), try TemporaryFolder())
        defer { folder.remove() }
        let cut = try await run("curl --remove-on-error -o f H/", server, in: folder)
        #expect(cut.status == 7 && !cut.talk.contains("kept"), "\(cut.talk)")
        #expect(folder.names == [])
    }

    @Test("finding CL-11 a response that asks for a longer delay than --retry may wait is written")
    func longDelay() async throws {
        let server = try LoopbackServer { _ in .text("busy", status: 503, [ServerField("Retry-After", "200")]) }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let outcome = try await run("curl --retry 2 H/", server, in: folder)
        #expect(outcome.status == 5 && outcome.output == "busy", "\(outcome.talk)")
        #expect(server.requestCount == 1)
    }

    @Test("finding CL-11 --retry repeats what curl repeats")
    func retries() throws {
        let request = try Request("http://svc.example.com/")
        let lost = LoadingError.Kind.connectionLost(.nothing, isSafeToRepeat: true)
        let rows: [(LoadingError.Kind, translated: Bool, withOption: Bool, native: Bool)] = [
            (.cannotConnect(host: "h", reason: .refused), false, true, true),
            (.cannotConnect(host: "h", reason: .unreachable), false, false, true),
            (lost, false, false, true), (.timedOut(.connect), true, true, true),
            (.nameNotResolved(host: "h"), true, true, true),
        ]
        for row in rows {
            for (options, expected) in [
                (["--from-curl", "curl --retry 1 http://h/"], row.translated),
                (["--from-curl", "curl --retry 1 --retry-connrefused http://h/"], row.withOption),
                (["--retry", "1", "http://h/"], row.native),
            ] {
                let parser = ArgumentParser(command: "lade get", rows: GetSettings.rows)
                guard case .run(let settings) = try parser.parse(options) else { throw CommandError.usage("help") }
                var service = Service.Settings()
                try settings.policy.apply(to: &service, for: .call)
                let attempt = RetryPolicy.Attempt(request, .failure(LoadingError(row.0, LoadingError.Context(request))))
                let action = service.retries.decision(attempt).action
                let isRepeated = if case .retry = action { true } else { false }
                #expect(isRepeated == expected, "\(row.0) \(options)")
            }
        }
    }

    /// The decision about an attempt of a line.
    private func isRepeated(_ line: String, _ method: Request.Method, _ outcome: RetryPolicy.Attempt.Ending) throws
        -> Bool
    {
        var settings = GetSettings()
        try CurlReader.read("curl \(line) http://h/", into: &settings)
        var service = Service.Settings()
        try settings.policy.apply(to: &service, for: .call)
        var request = try Request("http://svc.example.com/")
        request.method = method
        if case .retry = service.retries.decision(RetryPolicy.Attempt(request, outcome)).action { return true }
        return false
    }

    @Test(
        "finding CL-5 --retry-all-errors repeats failures, and statuses where these are failures",
        arguments: [
            ("--retry 1", 404, false), ("--retry 1", 503, true), ("--retry 1", 425, false),
            ("--retry 1 --retry-all-errors", 404, false), ("--retry 1 --retry-all-errors", 503, true),
            ("--retry 1 --retry-all-errors -f", 404, true),
            ("--retry 1 --retry-all-errors --fail-with-body", 401, true),
            ("--retry 1 -f", 404, false), ("--retry-all-errors -f", 404, false),
        ] as [(String, Response.Status, Bool)]
    )
    func retriesOfStatuses(options: String, status: Response.Status, expected: Bool) throws {
        #expect(try isRepeated(options, .get, .response(status, delay: nil)) == expected)
    }

    @Test("finding CL-5 --retry-all-errors repeats each failure that is not certain, with any method")
    func retriesOfFailures() throws {
        let context = LoadingError.Context(try Request("http://svc.example.com/"))
        let kinds: [LoadingError.Kind] = [
            .connectionLost(.head, isSafeToRepeat: false), .cannotConnect(host: "h", reason: .refused),
            .malformedResponse(.init(.statusLine)),
        ]
        for kind in kinds {
            for method in [Request.Method.get, .post] {
                let outcome = RetryPolicy.Attempt.Ending.failure(LoadingError(kind, context))
                #expect(try isRepeated("--retry 1 --retry-all-errors", method, outcome), "\(kind)")
                #expect(try !isRepeated("--retry 1", method, outcome), "\(kind)")
            }
        }
    }

    @Test(
        "finding CL-5 a nought lifts a limit, and a unit, which curl does not know, is refused",
        arguments: ["max-time", "connect-timeout", "retry-delay", "retry-max-time", "limit-rate", "max-filesize"]
    )
    func limits(name: String) throws {
        func settings(_ options: String) throws(CommandError) -> GetSettings {
            var settings = GetSettings()
            try CurlReader.read("curl --retry 1 \(options) http://h/", into: &settings)
            return settings
        }
        let none = try settings("")
        #expect("\(try settings("--\(name) 7 --\(name) 0"))" == "\(none)")
        #expect("\(try settings("--\(name) 7"))" != "\(none)")
        if !["limit-rate", "max-filesize"].contains(name) {
            for value in ["7m", "7s", "1e3", "-1", "x"] {
                #expect(throws: CommandError.self, "\(value)") { try settings("--\(name) \(value)") }
            }
        }
    }

    @Test(
        "finding CL-5 what curl reads by version, or refuses itself, is refused",
        arguments: [
            "-D % H/", "-T a 'H/up/?q'", "-T a 'H?q'", "--etag-save t H/a H/b", "--etag-compare t H/a H/b",
            "-C - --remove-on-error -o f H/", "-C 1 -OJ H/f", "-C - -OJ H/f",
            "--no-alpn H/", "--no-http2 H/", "--no-ipv4 H/", "--no-anyauth -u a:b H/", "--no-tlsv1.2 H/",
        ]
    )
    func byVersion(options: String) async throws {
        let (server, folder) = (try server(), try TemporaryFolder())
        defer { folder.remove() }
        _ = try folder.file("a", "text")
        let line = "curl " + options.replacing("H?", with: server.address("") + "?")
        let outcome = try await run(line, server, in: folder)
        #expect(outcome.status == 1 && outcome.talk.contains("--from-curl"), "\(outcome.talk)")
        #expect(server.requestCount == 0 && folder.names == ["a"])
    }

    @Test("finding CL-10 each address of --url @FILE is literal, and has a file of its name unless -o names one")
    func listedAddresses() async throws {
        let (server, folder) = (try server(), try TemporaryFolder())
        defer { folder.remove() }
        _ = try folder.file("urls", "# two\n\(server.address("/l1"))\n\n  \(server.address("/l[2]"))\n")
        for (options, names) in [
            ("--url @urls", ["l1", "l[2]"]), ("H/first --url @urls", ["l1", "l[2]"]),
            ("H/first --url @urls -o a", ["a", "l1", "l[2]"]), ("--url @urls -o a", ["a", "l[2]"]),
            ("-o a -o b --url @urls H/last", ["a", "b"]), ("-o a --url @urls H/last -o b -o c", ["a", "b", "c"]),
        ] {
            let outcome = try await run("curl \(options)", server, in: folder)
            #expect(outcome.status == 0, "\(options): \(outcome.talk)")
            #expect(folder.names == (names + ["urls"]).sorted(), "\(options)")
            for name in names { try FileManager.default.removeItem(atPath: folder.path + name) }
        }
    }

    @Test(
        "finding CL-11 a negation does what curl does, or is refused by name",
        arguments: [
            ("curl --remote-name-all --no-remote-name H/a/x", 0, "GET /a/x "),
            ("curl -i --no-show-headers H/", 0, "GET / "),
            ("curl --anyauth -u a:b --no-digest H/", 1, "--no-digest"),
            ("curl --location-trusted --no-location H/", 1, "--no-location"),
            ("curl --netrc-optional --no-netrc H/", 1, "--no-netrc"), ("curl --no-remote-name H/", 0, "GET / "),
            ("curl -w '%output{f}x' H/", 1, "%output{"),
        ] as [(String, Int32, String)]
    )
    func negations(line: String, status: Int32, part: String) async throws {
        let (server, folder) = (try server(), try TemporaryFolder())
        defer { folder.remove() }
        let outcome = try await run(line, server, in: folder)
        #expect(outcome.status == status, "\(outcome.talk)")
        #expect((status == 0 ? outcome.output : outcome.talk).contains(part), "\(outcome.talk)")
        #expect(server.requestCount == (status == 0 ? 1 : 0) && folder.names == [])
    }

    @Test("finding CL-11 a pattern of -T uploads each file", .enabled(if: RealCurl.isThere))
    func uploads() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        for name in ["u1", "u2", "v"] { _ = try folder.file(name, name) }
        for line in ["-T 'u{1,2}' H/", "-T 'u[1-2]' H/x", "-T 'u{1,2}' 'H/[3-4]' -T v H/v"] {
            var lists: [[String]] = []
            for isOurs in [true, false] {
                let server = try server()
                if isOurs {
                    let outcome = try await run("curl " + line, server, in: folder)
                    #expect(outcome.status == 0, "\(outcome.talk)")
                } else {
                    let text = "\(RealCurl.path) -q -s " + line.replacing("H/", with: server.address("/"))
                    _ = try await LadeProcess.run("-c", text, program: "/bin/bash", in: folder.path)
                }
                lists.append(server.requests.map { "\($0.method) \($0.target)" })
            }
            #expect(lists[0] == lists[1], "\(line)")
        }
        let server = try server()
        let refused = try await run("curl -T 'u{1,2}' H/a/ H/b/", server, in: folder)
        #expect(refused.status == 1 && server.requestCount == 0, "\(refused.talk)")
    }

    @Test(
        "finding CL-11 a file of heads or of a tag that cannot be made is an error before anything is sent",
        arguments: ["--etag-save none/tag", "-D none/heads", "--etag-save /", "-o f -D none/heads"]
    )
    func missingFolder(options: String) async throws {
        let (server, folder) = (try server(), try TemporaryFolder())
        defer { folder.remove() }
        let outcome = try await run("curl \(options) H/", server, in: folder)
        #expect(outcome.status == 14 && outcome.talkLines.count == 2, "\(outcome.talk)")
        #expect(server.requestCount == 0 && folder.names == [])
    }

    @Test("finding CL-11 cookies of a file: prefixes count, and dates may have a fraction")
    func jar() async throws {
        let server = try LoopbackServer { .text($0["Cookie"] ?? "-") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let start = "127.0.0.1\tFALSE\t/\tFALSE\t"
        let cases = [
            (start + "0\t__Secure-a\tb", "-"), (start + "0\t__Host-a\tb", "-"),
            (start + "4102444800.5\ta\tb", "a=b"), (start + "4102444800.\ta\tb", "a=b"),
        ]
        for (line, sent) in cases {
            _ = try folder.file("jar", "# Netscape HTTP Cookie File\n" + line + "\n")
            let outcome = try await run("curl -b jar H/", server, in: folder)
            #expect(outcome.status == 0 && outcome.output == sent, "\(line): \(outcome.output) \(outcome.talk)")
        }
        _ = try folder.file("jar", start + "1.5x\ta\tb\n")
        #expect(try await run("curl -b jar H/", server, in: folder).status == 14)
    }

    @Test("finding CL-11 a pipe of the shell is a netrc file")
    func pipe() async throws {
        let server = try LoopbackServer { .text($0["Authorization"] ?? "-") }
        let line =
            "'\(LadeProcess.path)' get --netrc-file <(echo machine 127.0.0.1 login ann password pw) \(server.address())"
        let outcome = try await LadeProcess.run("-c", line, program: "/bin/bash")
        #expect(outcome.output == "Basic " + Data("ann:pw".utf8).base64EncodedString(), "\(outcome.talk)")
    }

    // MARK: - Proxies

    @Test("finding CL-13 a proxy that asks for credentials gets a message about what was sent, and where it belongs")
    func proxies() async throws {
        let proxy = try LoopbackServer { _ in .status(407, [ServerField("Proxy-Authenticate", "Basic realm=\"p\"")]) }
        let address = "http://svc.example.com/"
        let none = try await LadeProcess.run("get", "-x", "http://\(proxy.authority)", address)
        #expect(none.status == 9, "\(none.talk)")
        #expect(none.talk.contains("requires credentials, and none were given"), "\(none.talk)")
        #expect(none.talk.contains("-U USER:PASSWORD"), "\(none.talk)")
        let wrong = try await LadeProcess.run("get", "-x", "http://u:s3cret@\(proxy.authority)", address)
        #expect(wrong.talk.contains("refuses the credentials that were sent"), "\(wrong.talk)")
        #expect(wrong.talk.contains("Check") && !wrong.talk.contains("s3cret"), "\(wrong.talk)")
        let named = try await LadeProcess.run(
            "get",
            address,
            environment: ["http_proxy": "http://\(proxy.authority)"]
        )
        #expect(named.talk.contains("none were given"), "\(named.talk)")
        #expect(named.talk.contains("variable http_proxy: http://USER:PASSWORD@HOST:PORT"), "\(named.talk)")
    }

    @Test("finding CL-13 the advice is about the kind of the proxy")
    func kinds() throws {
        let url = try #require(URL(string: "http://svc.example.com/"))
        let error = LoadingError(
            .proxy(.authenticationRequired(proxy: "p:1")),
            LoadingError.Context(try Request("\(url)"))
        )
        var settings = ConnectionSettings()
        settings.proxy = try TransportSettings.ProxyChoice.Proxy(argument: "socks5h://u:pw@p:1")
        #expect(settings.proxyFact(for: url) == ProxyFact(hasCredentials: true, isSOCKS: true))
        settings.proxy = try TransportSettings.ProxyChoice.Proxy(argument: "p:1")
        #expect(settings.proxyFact(for: url) == ProxyFact(hasCredentials: false, isSOCKS: false))
        settings.proxyUser = "u:pw"
        #expect(settings.proxyFact(for: url) == ProxyFact(hasCredentials: true, isSOCKS: false))
        for isSOCKS in [true, false] {
            for (hasCredentials, variable) in [(true, nil), (false, nil), (true, "all_proxy"), (false, "all_proxy")] {
                var reported = CommandError(error)
                reported.describe(
                    "p:1",
                    ProxyFact(hasCredentials: hasCredentials, isSOCKS: isSOCKS, variable: variable)
                )
                #expect(reported.what.contains(hasCredentials ? "refuses the credentials" : "none were given"))
                #expect(reported.advice.contains(variable ?? "-U"))
                #expect(!isSOCKS || !reported.advice.contains("http://"))
            }
        }
    }
}
