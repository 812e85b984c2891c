import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

@Suite("Harvests of lists that repeat a page", .timeLimit(.minutes(5)))
struct HarvestRepeatedPageTests {
    /// Pages of one item; after the last page the source repeats it, in a document that differs.
    private static func source(pages: Int) -> PagedSource {
        PagedSource { asked in
            let page = asked["page"] ?? asked["offset"] ?? 0
            return .json(#"{"page":\#(page),"items":[{"id":\#(min(page, pages - 1))}]}"#)
        }
    }

    private static func harvest(prefetch: Int = 0, _ rule: Pages.Rule = .pageNumber(query: "page", first: 0)) throws
        -> Harvest
    {
        var harvest = try HarvestSample.harvest()
        harvest.rules = [rule]
        harvest.prefetch = prefetch
        return harvest
    }

    private static func lines(_ count: Int) -> String { (0..<count).map { "{\"id\":\($0)}\n" }.joined() }

    private static func isRepeated(_ error: HarvestError?) -> Bool {
        guard case .page(let failure) = error, case .repeated = failure.cause else { return false }
        return true
    }

    @Test("refuses a page with the items of the one before it, however often it runs", arguments: [0, 2], [1, 3])
    func refuses(prefetch: Int, pages: Int) async throws {
        let folder = try TemporaryFolder()
        let harvest = try Self.harvest(prefetch: prefetch)
        for _ in 1...3 {
            let error = await #expect(throws: HarvestError.self) {
                _ = try await harvest.run(with: Self.source(pages: pages).loader, to: .file(folder.file("out")))
            }
            #expect(Self.isRepeated(error))
            #expect(folder.text("out") == Self.lines(pages))
        }
    }

    @Test("finds it in the first page of a run, whatever limits ended the runs before", arguments: [1, 2, 3])
    func overRuns(pagesPerRun: Int) async throws {
        let folder = try TemporaryFolder()
        var harvest = try Self.harvest(.offset(query: "offset"))
        var error: HarvestError?
        for run in 1...8 where error == nil {
            harvest.pageLimit = run * pagesPerRun
            do throws(HarvestError) {
                _ = try await harvest.run(with: Self.source(pages: 4).loader, to: .file(folder.file("out")))
            } catch let failure {
                error = failure
            }
        }

        #expect(Self.isRepeated(error))
        #expect(folder.text("out") == Self.lines(4))
    }

    @Test("completes the list before such a page, or writes it, as the setting says", arguments: [0, 2])
    func choices(prefetch: Int) async throws {
        let folder = try TemporaryFolder()
        var harvest = try Self.harvest(prefetch: prefetch)
        let refused = await #expect(throws: HarvestError.self) {
            _ = try await harvest.run(with: Self.source(pages: 3).loader, to: .file(folder.file("out")))
        }
        #expect(Self.isRepeated(refused))

        harvest.repeatedPages = .end
        let ended = try await harvest.run(with: Self.source(pages: 3).loader, to: .file(folder.file("out")))
        harvest.repeatedPages = .kept
        harvest.pageLimit = 5
        let kept = try await harvest.run(with: Self.source(pages: 3).loader, to: .file(folder.file("kept")))

        #expect(ended.ending == .complete && ended.pages == 3)
        #expect(folder.text("out.journal")?.contains("\"isComplete\" : true") == true)
        #expect(folder.text("out") == Self.lines(3))
        #expect(kept.ending == .limit && kept.items == 5)
        #expect(folder.text("kept") == Self.lines(3) + "{\"id\":2}\n{\"id\":2}\n")
        // Pages that are kept in any case are not compared, so the journal needs no checksums of them.
        #expect(folder.text("out.journal")?.contains("\"contents\"") == true)
        #expect(folder.text("kept.journal")?.contains("\"contents\"") == false)
    }

    @Test("continues with a page that was written in part, which repeats nothing")
    func partialPages() async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { asked in
            let page = asked["page"] ?? 0
            return .json(#"{"items":[\#(page < 3 ? "\(page * 2),\(page * 2 + 1)" : "")]}"#)
        }
        var harvest = try Self.harvest()
        for limit in 1...5 {
            harvest.itemLimit = limit
            _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        }
        harvest.itemLimit = nil

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.ending == .complete)
        #expect(folder.text("out") == "0\n1\n2\n3\n4\n5\n")
    }

    @Test("takes no part of a document for a page")
    func unrequestedPart() async throws {
        let source = PagedSource { _ in
            .bytes(Data("{\"items\":[1]}".utf8), status: 206, headers: ["Content-Range": "bytes 0-12/50"])
        }
        let lines = Locked(Data())

        let error = await #expect(throws: HarvestError.self) {
            let harvest = try Self.harvest()
            _ = try await harvest.run(with: source.loader, to: .writer { data in lines.withLock { $0 += data } })
        }

        guard case .page(let failure) = error, case .unacceptableStatus(206) = failure.cause.loadingError?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(lines.withLock(\.self).isEmpty)
    }
}
