import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCommand
@testable import LadeHarvest

/// `--fleet` of `lade pages` before there is a store.
@Suite("lade pages --fleet", .timeLimit(.minutes(5)))
struct PagesFleetTests {
    @Test(
        "fleet RD-100 options that do not go together are errors of usage, and nothing is sent",
        arguments: [
            ["--fleet", "redis://127.0.0.1/x"],
            ["--fleet", "redis://127.0.0.1/x", "-o", "FILE", "--share", "redis://127.0.0.1/x"],
            ["--share", "redis://127.0.0.1/x", "-o", "FILE", "--fleet", "redis://127.0.0.1/x", "--state", "j"],
            ["--fleet", "redis://127.0.0.1/x", "-o", "FILE", "--worker", "../w"],
            ["--fleet", "redis://127.0.0.1/x", "-o", "FILE", "--segment", "1001"],
            ["--fleet", "redis://127.0.0.1/x", "-o", "FILE", "--partition", "year=1"],
            ["--fleet", "redis://127.0.0.1/x", "-o", "FILE", "--partition", "y=1..2/1", "--partition-file", "f"],
            ["--fleet", "redis://127.0.0.1/x", "-o", "FILE", "--force"],
            ["--fleet", "redis://127.0.0.1/x", "-o", "FILE", "--continue", "--restart"],
            ["--fleet", "redis://me:canary@127.0.0.1/x", "-o", "FILE"],
            ["-o", "FILE", "--worker", "w"], ["-o", "FILE", "--segment", "4"], ["-o", "FILE", "--continue"],
            ["-o", "FILE", "--partition", "y=1..2/1"], ["-o", "FILE", "--restart-lists"],
        ]
    )
    func usage(arguments: [String]) async throws {
        let folder = try TemporaryFolder()
        let server = try LoopbackServer { _ in .json("[]") }
        let line = arguments.map { $0 == "FILE" ? folder.file("out") : $0 }
        let outcome = try await LadeProcess(["pages", server.address("/list")] + line).outcome()

        #expect(outcome.status == 1, "\(outcome.talk)")
        #expect(outcome.talkLines.count == 2, "\(outcome.talk)")
        #expect(!outcome.talk.contains("canary"))
        #expect(server.requestCount == 0)
        #expect(folder.names.isEmpty)
    }

    @Test("fleet RD-104 a store that cannot be reached is exit code 7 and two lines, and nothing is sent or written")
    func unreachable() async throws {
        let folder = try TemporaryFolder()
        let server = try LoopbackServer { _ in .json("[]") }
        let line = ["pages", server.address("/list"), "-o", folder.file("out")]
        let outcome = try await LadeProcess(line + ["--fleet", "redis+unix:///nonexistent/store?name=x"]).outcome()

        #expect(outcome.status == 7)
        #expect(outcome.talkLines.count == 2)
        #expect(outcome.talk.contains("--fleet: the store does not respond"))
        #expect(server.requestCount == 0)
        #expect(folder.names.isEmpty)
    }

    @Test("fleet RD-100 the words at the end have the members, the own share and the pages fetched in vain")
    func share() {
        var summary = HarvestWorker.Summary(ending: .complete)
        summary.ownPages = 7
        var state = BoardState()
        state.extraPages = 2
        summary.state = state
        let text = "3 members, 7 pages by this one; 2 pages fetched twice or in vain"
        #expect(PagesRun.share(summary, members: 3) == text)
        summary.state = nil
        #expect(PagesRun.share(summary, members: 1) == "1 member, 7 pages by this one")
    }
}
