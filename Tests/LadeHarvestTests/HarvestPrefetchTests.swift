import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

/// A run with prefetch must write the same as a run without, for any behaviour of the server and any length of its
/// pages.
@Suite("Harvests with prefetch", .timeLimit(.minutes(5)))
struct HarvestPrefetchTests {
    /// A list of `count` numbers in pages of uneven length.
    struct UnevenList: Sendable {
        /// The total number of items in the responses.
        enum Total: CaseIterable, Sendable {
            case none, right, tooLarge, tooSmall, growing, negative, largest, garbage
        }

        var count = 60
        var rule: Pages.Rule
        var total = Total.none
        /// The length of a page by its number, or by its offset.
        var length: @Sendable (Int) -> Int

        static func random(_ seed: UInt64) -> UnevenList {
            let random = SeededRandom(seed: seed)
            let lengths = (0..<100).map { _ in random.next(below: 9) + 1 }
            let rule: Pages.Rule =
                random.next(below: 2) == 0
                ? .pageNumber(query: "page", first: random.next(below: 3)) : .offset(query: "offset")
            let total = Total.allCases[random.next(below: Total.allCases.count)]
            return UnevenList(count: random.next(below: 80), rule: rule, total: total) { lengths[$0 % lengths.count] }
        }

        /// The page that a request is for.
        func items(_ asked: PagedSource.Asked) -> Range<Int> {
            let first: Int
            let length: Int
            if case .pageNumber(_, let start) = rule {
                let origin = start ?? 1
                let page = (asked["page"] ?? origin) - origin
                first = (0..<page).reduce(0) { $0 + self.length($1) }
                length = self.length(page)
            } else {
                first = asked["offset"] ?? 0
                length = self.length(first)
            }
            let start = min(first, count)
            return start..<min(start + length, count)
        }

        func body(_ asked: PagedSource.Asked) -> String {
            let items = items(asked)
            let total: String? =
                switch total {
                case .none: nil
                case .right: String(count)
                case .tooLarge: String(count * 3 + 1)
                case .tooSmall: String(count / 2)
                case .growing: String(items.upperBound + 4)
                case .negative: String(Int.min)
                case .largest: String(Int.max)
                case .garbage: "\"1e99\""
                }
            let list = items.map(String.init).joined(separator: ",")
            return "{\"items\":[\(list)]\(total.map { ",\"total\":\($0)" } ?? "")}"
        }

        var source: PagedSource { PagedSource { asked in .json(body(asked)) } }

        func harvest() throws -> Harvest {
            var harvest = Harvest(try Request("https://api.example.com/list"))
            harvest.items = ["items"]
            harvest.rules = [rule]
            harvest.total = .body(["total"])
            harvest.saveInterval = .zero
            return harvest
        }
    }

    /// The lines that a harvest writes, and its ending.
    private static func outcome(_ harvest: Harvest, _ source: PagedSource) async -> String {
        let written = Locked("")
        let destination = Harvest.Destination.writer { lines in
            written.withLock { $0 += String(decoding: lines, as: UTF8.self) }
        }
        do throws(HarvestError) {
            let summary = try await harvest.run(with: source.loader, to: destination)
            return written.withLock { $0 } + "\(summary.ending) \(summary.pages) \(summary.items)"
        } catch {
            return written.withLock { $0 } + "\(error)"
        }
    }

    private static func lines(_ items: Range<Int>) -> String { items.map { "\($0)\n" }.joined() }

    @Test(
        "finding FL-2 treats totals and the length of the first page as hints",
        arguments: [Pages.Rule.pageNumber(query: "page", first: 1), .offset(query: "offset")],
        [150, 99]
    )
    func longFirstPage(rule: Pages.Rule, first: Int) async throws {
        let list = UnevenList(count: 1_000, rule: rule, total: .right) { $0 <= 0 ? first : $0 == 200 ? 99 : 100 }
        var harvest = try list.harvest()
        harvest.prefetch = 3

        let outcome = await Self.outcome(harvest, list.source)

        let pages = rule == .offset(query: "offset") && first == 99 ? 11 : first == 99 ? 11 : 10
        #expect(outcome == Self.lines(0..<1_000) + "complete \(pages) 1000")
    }

    @Test("finding FL-2 writes the same with any prefetch, any lengths of pages and any totals", arguments: 1...60)
    func anyLengths(seed: UInt64) async throws {
        let list = UnevenList.random(seed)
        var harvest = try list.harvest()
        let expected = await Self.outcome(harvest, list.source)
        if [.none, .right, .tooLarge, .growing, .largest].contains(list.total) {
            #expect(expected.hasPrefix(Self.lines(0..<list.count) + "complete"), "seed \(seed)")
        }

        for prefetch in [1, 2, 3, 7, 40] {
            harvest.prefetch = prefetch
            #expect(await Self.outcome(harvest, list.source) == expected, "seed \(seed), prefetch \(prefetch)")
        }
    }

    @Test(
        "finding FL-2 writes the same when it is interrupted at any page and continues with any prefetch",
        arguments: 1...30
    )
    func anyInterrupt(seed: UInt64) async throws {
        let list = UnevenList.random(seed)
        var harvest = try list.harvest()
        let whole = try TemporaryFolder()
        _ = try await harvest.run(with: list.source.loader, to: .file(whole.file("out")))
        let random = SeededRandom(seed: seed)
        let folder = try TemporaryFolder()
        let requests = Locked(0)
        let failing = Locked(0)
        let source = PagedSource { asked in
            let number = requests.withLock { requests in
                requests += 1
                return requests
            }
            return number == failing.withLock({ $0 }) ? .status(500) : .json(list.body(asked))
        }

        for run in 1...200 {
            harvest.prefetch = random.next(below: 6)
            let next = random.next(below: 6) + 1
            let number = run == 200 ? 0 : requests.withLock { $0 } + next
            failing.withLock { $0 = number }
            do throws(HarvestError) {
                let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
                if summary.ending == .complete { break }
            } catch {
                guard case .page = error else { throw error }
            }
        }

        #expect(folder.text("out") == whole.text("out"), "seed \(seed)")
    }

    @Test(
        "finding FL-1 does not trap, whatever numbers an answer, a rule or a limit has",
        arguments: [0, 1, .max],
        [Int.min, -1, 0, 1, .max - 1, .max]
    )
    func extremes(prefetch: Int, number: Int) async throws {
        let rules: [Pages.Rule] = [
            .pageNumber(query: "page", first: number), .pageNumber(query: "page", first: 1), .offset(query: "offset"),
        ]
        for rule in rules {
            let source = PagedSource { asked in
                let isEmpty = (asked["offset"] ?? 0) >= 4 || ![number, 1, nil].contains(asked["page"])
                return .json(
                    "{\"items\":[\(isEmpty ? "" : "1,2")],\"total\":\(number)}",
                    headers: ["X-Total-Count": String(number)]
                )
            }
            for total in [Pages.Rule.Place.body(["total"]), .header("X-Total-Count")] {
                var harvest = try UnevenList(rule: rule) { $0 }.harvest()
                harvest.total = total
                harvest.prefetch = 0
                let expected = await Self.outcome(harvest, source)
                harvest.prefetch = prefetch
                #expect(await Self.outcome(harvest, source) == expected)
                harvest.pageLimit = number
                _ = await Self.outcome(harvest, source)
                harvest.pageLimit = nil
                harvest.itemLimit = number
                _ = await Self.outcome(harvest, source)
                harvest.itemLimit = nil
                harvest.size = number
                _ = await Self.outcome(harvest, source)
            }
        }
    }
}
