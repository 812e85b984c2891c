import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand

/// `--share` of the built program.
@Suite("lade get --share", .timeLimit(.minutes(5)))
struct SharedLimitTests {
    @Test("fleet RD-104 a store that cannot be reached is exit code 7 and two lines, and nothing is sent")
    func unreachable() async throws {
        let server = try LoopbackServer { _ in .text("x") }
        let share = "redis+unix:///nonexistent/store?name=x"
        let outcome = try await LadeProcess.run("get", server.address("/"), "--rate", "5/s", "--share", share)

        #expect(outcome.status == 7)
        #expect(outcome.talkLines.count == 2)
        #expect(outcome.talk.contains("the store does not respond"))
        #expect(server.requestCount == 0)
    }

    @Test(
        "fleet RD-01 RD-101 a wrong address, a password in it, and a password without a store are errors of usage",
        arguments: [
            ["--share", "http://h/x"], ["--share", "redis://me:canary@127.0.0.1/x"],
            ["--fleet-secret-env", "NAME"],
            ["--share", "redis://127.0.0.1/x", "--fleet-secret-env", "UNSET_NAME_OF_A_TEST"],
        ]
    )
    func usage(arguments: [String]) async throws {
        let server = try LoopbackServer { _ in .text("x") }
        let outcome = try await LadeProcess(["get", server.address("/")] + arguments).outcome()

        #expect(outcome.status == 1)
        #expect(!outcome.talk.contains("canary"))
        #expect(server.requestCount == 0)
    }

    @Test("fleet RD-101 the configuration file has the address of the store, and no password")
    func configured() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path + ".config/lade", withIntermediateDirectories: true)
        let server = try LoopbackServer { _ in .text("x") }
        for (address, status) in [("redis://me:canary@127.0.0.1/x", 1), ("redis+unix:///nonexistent/store?name=x", 7)]
            as [(String, Int32)]
        {
            try folder.write("share = \(address)\nrate = 5/s\n", to: ".config/lade/config")
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600],
                ofItemAtPath: folder.path + ".config/lade/config"
            )
            let outcome = try await LadeProcess(["get", server.address("/")], in: folder.path).outcome()
            #expect(outcome.status == status, "\(outcome.talk)")
            #expect(!outcome.talk.contains("canary"))
        }
        #expect(server.requestCount == 0)
    }

    @Test("fleet RD-114 a store on another machine without TLS is a warning before anything else")
    func plain() async throws {
        // This machine by another name than loopback, at a port without a server.
        let share = "redis://0.0.0.0:1/x"
        let outcome = try await LadeProcess.run("get", "http://127.0.0.1:1/", "--rate", "5/s", "--share", share)

        #expect(outcome.status == 7)
        #expect(outcome.talkLines.first?.contains("not encrypted") == true, "\(outcome.talk)")
        #expect(outcome.talkLines.count == 3)
    }

    @Test("fleet RD-114 tokens for a store on another machine without TLS are refused before anything is sent")
    func plainTokens() async throws {
        let line = ["get", "http://127.0.0.1:1/", "--share", "redis://203.0.113.1:1/x"]
        let tokens = [
            "--auth", "oauth2:http://app@127.0.0.1:1/token", "--client-auth", "none", "--refresh-token-env", "PATH",
        ]
        let outcome = try await LadeProcess(line + tokens).outcome()

        #expect(outcome.status == 1)
        #expect(outcome.talk.contains("--fleet-insecure"), "\(outcome.talk)")
        #expect(try await LadeProcess(["get", "http://127.0.0.1:1/", "--fleet-insecure"]).outcome().status == 1)
    }

    @Test("the calls of one command keep its rate together")
    func oneRate() async throws {
        let time = SystemTime()
        let times = Locked<[Instant]>([])
        let server = try LoopbackServer { _ in
            times.withLock { $0.append(time.now) }
            return .text("x")
        }
        let address = server.address("/x") + "?n=[1-4]"
        let outcome = try await LadeProcess.run("get", address, "-Z", "--rate", "2/s", "-o", "/dev/null")

        #expect(outcome.status == 0, "\(outcome.talk)")
        let all = times.withLock { $0.sorted() }
        // Three intervals of half a second, however late the first call arrived; calls without the rate take a moment.
        #expect(try #require(all.first).duration(to: try #require(all.last)) >= .milliseconds(500))
    }

    @Test("fleet RD-110 explain shows the wait for a shared slot as the limit's, with the number of members")
    func explained() {
        let text = "   0.1  waiting for the rate limit of example.com:443\n   0.2  connecting\n"
        #expect(Explanation.naming(text, members: nil) == text)
        #expect(
            Explanation.naming(text, members: 8)
                == "   0.1  waiting for the rate limit of example.com:443, fleet of 8\n   0.2  connecting\n"
        )
    }

    @Test("fleet RD-110 the progress line says when a process is alone")
    func words() throws {
        let line = PagesLine(Console(), time: VirtualTime(), isShown: false) { "alone, 1/8 of the limit" }
        let text = line.text(Pages.Progress(), at: VirtualTime().now)
        #expect(text.contains("alone, 1/8 of the limit"))
    }
}
