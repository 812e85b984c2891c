import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

@Suite("Harvests that lose nothing", .timeLimit(.minutes(5)))
struct HarvestSafetyTests {
    @Test("finding FH-7 continues after a kill before the first save of the journal", arguments: [0, 1, 4])
    func killedBeforeTheFirstSave(page: Int) async throws {
        let folder = try HarvestSample.Folder()
        let copy = try HarvestSample.Folder()
        // The harvest waits for this page, so nothing is written while its files are copied.
        let source = HarvestSample.source { number in
            guard number == page else { return false }
            for name in ["out", "out.journal"] {
                try? FileManager.default.copyItem(atPath: folder.file(name), toPath: copy.file(name))
            }
            return false
        }
        let harvest = try HarvestSample.harvest(saveInterval: .seconds(100))
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        #expect(copy.text("out") == HarvestSample.lines(0..<page * 3))

        let summary = try await harvest.run(with: HarvestSample.source().loader, to: .file(copy.file("out")))

        #expect(summary.ending == .complete && summary.items == 15)
        #expect(copy.text("out") == HarvestSample.lines(0..<15))
    }

    @Test("finding FL-5 leaves the output of a complete run alone, with what was appended to it")
    func complete() async throws {
        let folder = try HarvestSample.Folder()
        let harvest = try HarvestSample.harvest()
        let source = HarvestSample.source()
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        let requests = source.transport.requests.count
        let appended = folder.text("out") + "a line of the user's\n"
        try appended.write(toFile: folder.file("out"), atomically: false, encoding: .utf8)

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.ending == .complete && summary.items == 15)
        #expect(folder.text("out") == appended)
        #expect(source.transport.requests.count == requests)
    }

    @Test("finding FP-2 a harvest sends no credentials to another origin either")
    func otherOrigin() async throws {
        let source = PagedSource { asked in
            let isFirst = asked.request.url.host() == "api.example.com"
            return .json(PagedSource.body([1], next: isFirst ? "https://evil.example/list" : nil))
        }
        var settings = Service.Settings()
        settings.time = source.time
        settings.retries.limit = 0
        settings.decorators = [OAuthDecorator(authenticationProvider: "IdP", accessToken: "oauth-canary")]
        let loader = Service(settings, transport: source.transport).anonymous.makeLoader()
        let folder = try HarvestSample.Folder()
        var harvest = try HarvestSample.harvest()
        harvest.request.headers.set("X-Mine", "custom-canary")

        _ = try await harvest.run(with: loader, to: .file(folder.file("out")))

        let sent = source.transport.requests
        #expect(sent.count == 2)
        #expect(sent[0].headers["Authorization"] == "Bearer oauth-canary")
        #expect(sent[0].headers["X-Mine"] == "custom-canary")
        #expect(!sent[1].headers.contains { $0.value.contains("canary") })
    }

    @Test("finding FL-3 leaves the main actor free while pages are split and written", arguments: [0, 2])
    @MainActor
    func mainActor(prefetch: Int) async throws {
        let turns = MainTurns()
        var harvest = try HarvestSample.harvest()
        harvest.prefetch = prefetch

        let summary = try await harvest.run(
            with: HarvestSample.source().loader,
            to: .writer { _ in turns.takeOne() }
        )

        #expect(summary.pages == 5)
        #expect(turns.taken == 5 && turns.missed == 0)
    }
}
