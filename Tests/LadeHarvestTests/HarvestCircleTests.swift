import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

@Suite("Harvests of lists that lead in a circle", .timeLimit(.minutes(5)))
struct HarvestCircleTests {
    /// Pages from 0, the last of which leads back to an earlier one.
    private static func source(pages: Int, backTo first: Int) -> PagedSource {
        PagedSource { asked in
            let page = asked["page"] ?? 0
            let next = page + 1 < pages ? page + 1 : first
            return .json(#"{"items":[{"id":\#(page)}],"next":"/list?page=\#(next)"}"#)
        }
    }

    private static func lines(_ count: Int) -> String { (0..<count).map { "{\"id\":\($0)}\n" }.joined() }

    private static func isLoop(_ error: HarvestError?) -> Bool {
        guard case .page(let failure) = error, case .loop = failure.cause else { return false }
        return true
    }

    @Test(
        "finds a circle that was entered before an interrupt, and writes no page twice",
        arguments: [0, 2],
        [1, 3, 4, 5]
    )
    func overInterrupts(prefetch: Int, pagesPerRun: Int) async throws {
        let folder = try TemporaryFolder()
        let source = Self.source(pages: 6, backTo: 2)
        var harvest = try HarvestSample.harvest()
        harvest.prefetch = prefetch
        var error: HarvestError?

        for run in 1...6 where error == nil {
            harvest.pageLimit = run * pagesPerRun
            do throws(HarvestError) {
                _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
            } catch let failure {
                error = failure
            }
        }

        #expect(Self.isLoop(error))
        #expect(folder.text("out") == Self.lines(6))
    }

    @Test("detects it again when it runs again, until it restarts")
    func again() async throws {
        let folder = try TemporaryFolder()
        let harvest = try HarvestSample.harvest()
        for restart in [false, false, true] {
            let error = await #expect(throws: HarvestError.self) {
                let source = Self.source(pages: 4, backTo: 1)
                _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")), restart: restart)
            }
            #expect(Self.isLoop(error))
            #expect(folder.text("out") == Self.lines(4))
        }
    }

    @Test("continues with a page that was written in part, which is not a loop")
    func partialPages() async throws {
        let folder = try TemporaryFolder()
        let source = HarvestSample.source()
        var harvest = try HarvestSample.harvest()
        for limit in 1...14 {
            harvest.itemLimit = limit
            _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        }
        harvest.itemLimit = nil

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.ending == .complete)
        #expect(folder.text("out") == HarvestSample.lines(0..<15))
    }

    @Test("accepts journals without marks, and marks no numbered pages")
    func withoutMarks() async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.rules = [.pageNumber(query: "page", first: 0)]
        harvest.pageLimit = 2
        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        #expect(folder.text("out.journal")?.contains("marks") == false)
        harvest.pageLimit = 4

        let summary = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))

        #expect(summary.pages == 4 && summary.resumedPages == 2)
    }

    @Test("marks every page up to a limit, then each second, each fourth", arguments: [1, 512, 513, 1024, 10_000])
    func marks(pages: Int) throws {
        var marks = PageMarks()
        for page in 0..<pages { marks.add(UInt64(page), at: page) }

        #expect(marks.keys == stride(from: 0, to: UInt64(pages), by: UInt64.Stride(marks.stride)).map { $0 })
        #expect(
            marks.keys.count <= PageMarks.limit && marks.keys.count * 2 * marks.stride > min(pages, PageMarks.limit)
        )
        let decoded = try JSONDecoder().decode(PageMarks.self, from: JSONEncoder().encode(marks))
        #expect(decoded == marks)
    }

    @Test("keeps marks of every size, and refuses what are none")
    func storedMarks() throws {
        var marks = PageMarks()
        let keys: [UInt64] = [0, 1, .max, 0x00AB_CDEF_0000_0000]
        for (position, key) in keys.enumerated() { marks.add(key, at: position) }
        #expect(try JSONDecoder().decode(PageMarks.self, from: JSONEncoder().encode(marks)) == marks)
        for text in [
            #"{"every":1,"keys":"12"}"#, #"{"every":0,"keys":"0000000000000001"}"#,
            #"{"every":1,"keys":"\#(String(repeating: "g", count: 16))"}"#,
        ] {
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(PageMarks.self, from: Data(text.utf8)) }
        }
    }

    @Test("distinguishes pages by method, address and body")
    func keys() throws {
        let address = "https://api.example.com/list?page=1"
        let requests = [
            try Request(address), try Request(address + "2"), try Request(.post, address),
            try Request(.post, address, body: .text("a")), try Request(.post, address, body: .text("b")),
        ]
        #expect(Set(requests.map(PageMarks.key)).count == requests.count)
        #expect(PageMarks.key(of: requests[0]) == PageMarks.key(of: try Request(address)))
        // The key is stored: another run must compute the same.
        #expect(String(PageMarks.key(of: requests[0]), radix: 16) == "4d3b7ddb8d8f2970")
    }
}
