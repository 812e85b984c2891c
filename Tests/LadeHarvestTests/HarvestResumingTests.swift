import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

@Suite("Harvests that continue", .timeLimit(.minutes(5)))
struct HarvestResumingTests {
    @Test("pages PA-22 continues after an error with the same result as without it", arguments: [0, 2])
    func resumes(prefetch: Int) async throws {
        let folder = try TemporaryFolder()
        let broken = Locked(3)
        let source = HarvestSample.source { page in broken.withLock { $0 == page } }
        var harvest = try HarvestSample.harvest(saveInterval: .seconds(100))
        harvest.prefetch = prefetch

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        }
        guard case .page(let failure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure.page.number == 3)
        broken.withLock { $0 = -1 }
        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.resumedPages == 3 && summary.pages == 5 && summary.items == 15)
        #expect(folder.text("out") == HarvestSample.lines(0..<15))
        let requests = source.transport.requests.count
        #expect(try await harvest.run(with: source.loader, to: .file(folder.file("out"))).ending == .complete)
        #expect(source.transport.requests.count == requests)
    }

    @Test("pages PA-22 cuts off a torn line and everything after the journal's position")
    func cutsTornLines() async throws {
        let folder = try TemporaryFolder()
        let harvest = try HarvestSample.harvest()
        let broken = Locked(2)
        let source = HarvestSample.source { page in broken.withLock { $0 == page } }
        _ = try? await harvest.run(with: source.loader, to: .file(folder.file("out")))
        let torn = try #require(folder.text("out")) + HarvestSample.lines(6..<8).dropLast(9)
        try torn.write(toFile: folder.file("out"), atomically: false, encoding: .utf8)
        broken.withLock { $0 = -1 }

        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(folder.text("out") == HarvestSample.lines(0..<15))
    }

    @Test("pages PA-22 refuses an output that is not what was written")
    func changedOutput() async throws {
        let folder = try TemporaryFolder()
        let harvest = try HarvestSample.harvest()
        let source = HarvestSample.source { $0 == 2 }
        _ = try? await harvest.run(with: source.loader, to: .file(folder.file("out")))
        for text in ["{}", String(HarvestSample.lines(0..<6).map { $0 == "1" ? "2" : $0 })] {
            try text.write(toFile: folder.file("out"), atomically: false, encoding: .utf8)
            let error = await #expect(throws: HarvestError.self) {
                try await harvest.run(with: source.loader, to: .file(folder.file("out")))
            }
            guard case .outputChanged = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test("pages PA-23 refuses other arguments, names them, and restarts when requested")
    func arguments() async throws {
        let folder = try TemporaryFolder()
        let source = HarvestSample.source()
        var harvest = try HarvestSample.harvest()
        harvest.pageLimit = 2
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        harvest.rules = [.link(relation: "next")]
        harvest.identity = ["id"]

        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        }
        guard case .argumentsDiffer(_, let differences) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(differences.map(\.argument) == ["identity", "next"])
        #expect(differences.map(\.before) == [nil, "body /next"])
        #expect(differences.map(\.now) == ["/id", "link next"])
        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")), restart: true)
        #expect(summary.items == 3 && summary.resumedPages == 0)
    }

    @Test("pages PA-23 leaves a file alone that no journal speaks of")
    func foreignOutput() async throws {
        let folder = try TemporaryFolder()
        try "mine".write(toFile: folder.file("out"), atomically: false, encoding: .utf8)

        let error = await #expect(throws: HarvestError.self) {
            try await HarvestSample.harvest().run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }
        guard case .outputExists = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(folder.text("out") == "mine")
    }

    @Test("pages PA-24 finishes the page when a stop is requested, and continues later")
    func stops() async throws {
        let folder = try TemporaryFolder()
        let stop = Harvest.Stop()
        let source = HarvestSample.source { page in
            if page == 2 { stop.request() }
            return false
        }
        let harvest = try HarvestSample.harvest(saveInterval: .seconds(100))

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")), stop: stop)

        #expect(summary.ending == .stopped)
        #expect(folder.text("out") == HarvestSample.lines(0..<9))
        let rest = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        #expect(rest.resumedPages == 3 && rest.ending == .complete)
        #expect(folder.text("out") == HarvestSample.lines(0..<15))
    }

    @Test("pages PA-24 ends immediately when its task is cancelled, with whole pages saved")
    func cancels() async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { asked in
            asked["p"] == nil ? .json(#"{"items":[1],"next":"/list?p=1"}"#) : .stalls
        }
        let harvest = try HarvestSample.harvest(saveInterval: .seconds(100))
        let task = Task { try await harvest.run(with: source.loader, to: .file(folder.file("out"))) }
        _ = try await source.transport.request(at: 1)

        task.cancel()

        await #expect(throws: HarvestError.self) { try await task.value }
        #expect(folder.text("out.journal")?.contains("\"pages\" : 1") == true)
    }

    @Test("finding UF-1 no page that is ready is written in a cancelled task", arguments: [0, 3])
    func cancelsWhileReady(prefetch: Int) async throws {
        let folder = try TemporaryFolder()
        let source = HarvestSample.source(pages: 50)
        var harvest = try HarvestSample.harvest()
        harvest.prefetch = prefetch
        let meter = Pages.Progress.Meter { if $0.pages == 3 { withUnsafeCurrentTask { $0?.cancel() } } }
        let task = Task { [harvest] in
            try await harvest.run(with: source.loader, to: .file(folder.file("out")), meter: meter)
        }

        await #expect(throws: HarvestError.self) { try await task.value }
        #expect(folder.text("out") == HarvestSample.lines(0..<9))
        let rest = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        #expect(rest.resumedPages == 3 && rest.ending == .complete)
    }

    @Test("stops in the middle of a page at the item limit, and continues there with a higher one")
    func itemLimit() async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        for limit in [1, 4, 5, 6, 11, 15, 20] {
            harvest.itemLimit = limit
            let summary = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
            #expect(summary.items == min(limit, 15))
            #expect(folder.text("out") == HarvestSample.lines(0..<min(limit, 15)))
        }
    }

    @Test("sends nothing and writes nothing when the limit of pages was reached before", arguments: [1, 2])
    func pageLimitReached(limit: Int) async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.pageLimit = 2
        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        let journal = try #require(folder.text("out.journal"))
        harvest.pageLimit = limit
        let source = HarvestSample.source()

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.ending == .limit && summary.pages == 2 && summary.resumedPages == 2)
        #expect(source.transport.requests.isEmpty)
        #expect(folder.text("out") == HarvestSample.lines(0..<6) && folder.text("out.journal") == journal)
    }

    @Test("does not restart after a page whose successor cannot be loaded")
    func deadEnd() async throws {
        let folder = try TemporaryFolder()
        let isMended = Locked(false)
        let source = PagedSource { asked in
            let next = isMended.withLock { $0 } ? "/list?p=1" : "ftp://x/"
            return .json(asked["p"] == nil ? #"{"items":[1,2],"next":"\#(next)"}"# : #"{"items":[3]}"#)
        }
        let harvest = try HarvestSample.harvest()
        for _ in 0..<2 {
            await #expect(throws: HarvestError.self) {
                try await harvest.run(with: source.loader, to: .file(folder.file("out")))
            }
            #expect(folder.text("out") == "1\n2\n")
        }
        isMended.withLock { $0 = true }

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.items == 3 && summary.pages == 2)
        #expect(folder.text("out") == "1\n2\n3\n")
    }
}
