import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade
@testable import LadeCommand

/// Downloads of the command that are killed, interrupted, or pointed at what is no file.
@Suite("lade get, into files that must not be lost", .timeLimit(.minutes(5)))
struct GetSafetyTests: GetResumeSuite {
    @Test(
        "finding FL-9 resumes a download that was killed or interrupted",
        arguments: [(SIGKILL, 137), (SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)],
        [["-o", "file"], ["-O"]]
    )
    func resumes(signal: (number: Int32, status: Int32), target: [String]) async throws {
        // The second request of the first run, for the rest, shows that the bytes before it are written.
        let server = try server { request, number in
            switch number {
            case 0: Self.whole(upTo: 100_000)
            case 1: Self.rest(of: request, upTo: 0, .silence)
            default: Self.rest(of: request)
            }
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let arguments = ["get", "--retry", "3"] + target + [server.address("/a/file")]
        let process = try LadeProcess(arguments, in: folder.path)
        _ = try await server.head(at: 1)
        process.send(signal.number)
        #expect(try await process.outcome().status == signal.status)
        #expect(folder.names == [".file.lade-note", ".file.lade-part"])

        let again = try await LadeProcess(arguments, in: folder.path).outcome()

        #expect(again.status == 0)
        #expect(Self.ranges(server) == [nil, "bytes=100000-", "bytes=100000-"])
        #expect(Self.same(FileManager.default.contents(atPath: folder.path + "file"), Self.content))
        #expect(folder.names == ["file"])
    }

    @Test("finding FL-9 writes the head before a body that is resumed by another run")
    func resumesBehindTheHead() async throws {
        let server = try server { request, number in
            number == 0 ? Self.whole(upTo: 100_000) : Self.rest(of: request)
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let arguments = ["get", "-i", "-o", "file", server.address()]

        let first = try await LadeProcess(arguments, in: folder.path).outcome()
        let second = try await LadeProcess(arguments, in: folder.path).outcome()

        #expect(first.status == 7)
        #expect(second.status == 0)
        #expect(Self.ranges(server) == [nil, "bytes=100000-"])
        let file = try #require(FileManager.default.contents(atPath: folder.path + "file"))
        #expect(file.starts(with: Data("HTTP/1.1 200 OK\r\n".utf8)))
        #expect(Self.same(file.suffix(Self.content.count), Self.content))
    }

    @Test("finding FH-15 refuses a pipe of the server's name, and does not wait for its reader")
    func pipes() async throws {
        let server = try server { _, _ in .text("data") }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        #expect(mkfifo(folder.path + "pipe", 0o600) == 0)

        let remote = try await LadeProcess.run("get", "-OJ", server.address("/pipe"), in: folder.path)
        let named = try await LadeProcess.run("get", "-o", "pipe", server.address("/pipe"), in: folder.path)

        #expect(remote.status == 14)
        #expect(remote.talk.contains("exists already"))
        #expect(named.status == 14)
        #expect(named.talk.contains("cannot be written"))
        #expect(server.requestCount == 1)
        var status = stat()
        #expect(lstat(folder.path + "pipe", &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFIFO)
        let device = try await LadeProcess.run("get", "-o", "/dev/null", server.address(), in: folder.path)
        #expect(device.status == 0)
        #expect(device.output == "")
        #expect(folder.names == ["pipe"])
    }

    @Test(
        "finding FH-15 names the server's fault when a redirect cannot be followed",
        arguments: [
            "http://[::x/", "http://host:99999/", "http:///path", "http://a b/", "//", "http://", "\u{1}", "?\u{7F}",
        ]
    )
    func redirects(location: String) async throws {
        let server = try server { _, _ in .status(302, [ServerField("Location", location)]) }

        let outcome = try await LadeProcess.run("get", "-L", server.address())

        #expect(outcome.status != 1)
        #expect(!outcome.talk.contains("Correct the command line"))
    }

    @Test("finding FH-15 limits how long a head may take when no option does")
    func headLimit() async throws {
        let time = VirtualTime()
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.stalls)
        var settings = Service.Settings()
        settings.time = time
        settings.attemptInterceptors = [HeadTimeout(idle: nil)]
        settings.retries.limit = 0
        let service = Service(settings, transport: transport)
        let load = Task {
            var request = try Request("https://api.example.com/")
            request.delivery = .streamed
            return try await service.anonymous.makeLoader().load(request)
        }
        _ = try await time.sleepers(atLeast: 1)
        _ = try await transport.request(at: 0)
        time.advance(by: .seconds(120))

        let error = await #expect(throws: LoadingError.self) { try await load.value }

        guard case .timedOut(.whole) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(HeadTimeout(idle: .seconds(300)).limit == .seconds(600))
    }

    @Test("finding FH-15 does not limit the head of a request with a body, or with a limit of its own")
    func unlimitedHead() async throws {
        let time = VirtualTime()
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.text("ok").after(.seconds(200)))
        let next = Chain([HeadTimeout(idle: nil)], transport: transport)
        var body = try Request(.post, "https://api.example.com/")
        body.body = .text("x")
        var limited = try Request("https://api.example.com/")
        limited.timeouts.whole = .seconds(300)
        for request in [body, limited] {
            let response = try await time.runAutomatically { () async throws -> Response in
                try await next.send(request, call: Call(time: time))
            }
            #expect(response.status == 200)
        }
    }

    @Test("finding FH-15 puts that limit into the service of lade get")
    func headLimitIsUsed() async throws {
        let seen = Locked<[Duration]>([])
        var context = CommandContext(table: .standard, console: Console(), interruption: Interruption())
        context.makeService = { settings throws(LoadingError) in
            let limits = settings.attemptInterceptors.compactMap { ($0 as? HeadTimeout)?.limit }
            seen.withLock { $0 += limits }
            throw LoadingError(.invalidSetting(name: "test", reason: "it ends here"))
        }

        _ = try? await context.table.run(["get", "http://127.0.0.1:1/"], in: context)

        #expect(seen.withLock { $0 } == [.seconds(120)])
    }
}
