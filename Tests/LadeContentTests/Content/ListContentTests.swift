import LadeContent
import Testing

@Suite("Lists and change sets", .timeLimit(.minutes(5)))
struct ListContentTests {
    private struct Row: Identifiable, Hashable, Sendable {
        var id: Int
        var text = ""
    }

    @MainActor
    @Test("content XL-19 a look-up at a bad index gives nothing, in every list")
    func badIndexes() async {
        let bad = [
            ListIndex(item: -1), ListIndex(item: 3), ListIndex(item: 0, section: 1), ListIndex(item: 0, section: -1),
        ]
        let array = [1, 2, 3]
        let sectioned = SectionedContent([[1, 2, 3]])
        let model = ContentModel<Int, [Int]> { _ in [1, 2, 3] }
        #expect(model.item(at: ListIndex(item: 0)) == nil)
        #expect(model.totalItemCount == 0)
        #expect(model.sectionCount == 0)
        #expect(model.itemCount(inSection: 0) == 0)
        _ = await model.load()

        for index in bad {
            #expect(array.item(at: index) == nil)
            #expect(sectioned.item(at: index) == nil)
            #expect(model.item(at: index) == nil)
        }
        #expect(array.item(at: ListIndex(item: 2)) == 3)
        #expect(sectioned.item(at: ListIndex(item: 2)) == 3)
        #expect(model.item(at: ListIndex(item: 2)) == 3)
        for section in [-1, 1] {
            #expect(array.itemCount(inSection: section) == 0)
            #expect(sectioned.itemCount(inSection: section) == 0)
            #expect(model.itemCount(inSection: section) == 0)
        }
        #expect(model.totalItemCount == 3)
        let sections = SectionedContent([[1], [], [2, 3]])
        #expect(sections.totalItemCount == 3)
        #expect(sections.item(at: ListIndex(item: 1, section: 2)) == 3)
        #expect(sections.item(at: ListIndex(item: 0, section: 1)) == nil)
        #expect(SectionedContent<Int>([]).totalItemCount == 0)
    }

    /// A list that miscounts its sections.
    private struct NegativeList: ListContent {
        var sectionCount: Int { -1 }
        func itemCount(inSection section: Int) -> Int { 1 }
        func item(at index: ListIndex) -> Int? { nil }
    }

    @Test("content XL-19 a list with a negative number of sections has no items")
    func negativeSections() {
        #expect(NegativeList().totalItemCount == 0)
    }

    private final class SectionedModel: ListContentModel<Int, SectionedContent<Int>> {
        override func makeLoad(_ input: Int?) -> ContentLoad<SectionedContent<Int>> {
            ContentLoad { SectionedContent(input.map { [[], [$0]] } ?? [[], []]) }
        }
    }

    @MainActor
    @Test("content XL-01 a list whose sections are all empty ends as empty")
    func emptySections() async {
        let model = SectionedModel()
        #expect(await model.load() == .empty)
        #expect(await model.load(7) == .success(SectionedContent([[], [7]])))
    }

    @Test("indexes are ordered by section, then by item")
    func order() {
        let indexes = [ListIndex(item: 0, section: 1), ListIndex(item: 5), ListIndex(item: 1)]
        #expect(!(indexes[0] < indexes[0]))
        #expect(indexes.sorted() == [ListIndex(item: 1), ListIndex(item: 5), ListIndex(item: 0, section: 1)])
    }

    @Test("content XL-18 a change set has deletions, insertions, modifications and moves")
    func changeSets() {
        func changes(_ old: [Row], _ new: [Row]) -> ChangeSet<Row> { ChangeSet(from: old, to: new) }
        let (a, b, c, d) = (Row(id: 1), Row(id: 2), Row(id: 3), Row(id: 4))

        let shifted = changes([a, b, c], [b, c, d])
        #expect(shifted.deletions == [0])
        #expect(shifted.insertions == [2])
        #expect(shifted.modifications.isEmpty && shifted.moves.isEmpty)

        let modified = changes([a, b, c], [a, Row(id: 2, text: "new"), c])
        #expect(modified.modifications == [1])
        #expect(modified.deletions.isEmpty && modified.insertions.isEmpty && modified.moves.isEmpty)

        #expect(changes([], [a, b]).insertions == [0, 1])
        #expect(changes([a, b], []).deletions == [0, 1])
        #expect(changes([a, b], [a, b]).isEmpty)
        #expect(changes([], []).isEmpty)

        for (old, new) in [([a], []), ([], [a]), ([a], [Row(id: 1, text: "new")]), ([a, b], [b, a])] {
            #expect(!changes(old, new).isEmpty)
        }

        let reversed = changes([a, b, c], [c, b, a])
        #expect(reversed.deletions.isEmpty && reversed.insertions.isEmpty && reversed.modifications.isEmpty)
        #expect(reversed.moves.count == 2)

        // An item that moves and changes counts as both.
        let both = changes([a, b, c], [b, c, Row(id: 1, text: "new")])
        #expect(both.moves == [ChangeSet.Move(from: 0, to: 2)])
        #expect(both.modifications == [0])

        // Of duplicates, the first is matched with the first.
        let fewer = changes([a, a, a], [a])
        #expect(fewer.deletions == [1, 2])
        let more = changes([a], [a, b, a])
        #expect(more.insertions == [1, 2])
        let second = Row(id: 1, text: "second")
        let between = changes([b, a, c, second, b], [d, a, second, c, d])
        #expect(between.modifications.isEmpty && between.deletions == [0, 4] && between.insertions == [0, 4])
        #expect(between.moves.count == 1)
    }

    @Test("a change set leads from any list to any other, with the fewest moves", arguments: 0..<200 as Range<UInt64>)
    func randomChanges(seed: UInt64) {
        var random = Numbers(state: seed)
        func list() -> [Row] {
            (0..<Int.random(in: 0...9, using: &random)).map { _ in
                Row(id: Int.random(in: 0...6, using: &random), text: Bool.random(using: &random) ? "x" : "")
            }
        }
        let (old, new) = (list(), list())

        let changes = ChangeSet(from: old, to: new)

        // Items that stay keep their order; moved and inserted items get their position in the new list.
        let movedFrom = Set(changes.moves.map(\.from))
        let gone = Set(changes.deletions)
        var rest = old.indices.filter { !gone.contains($0) && !movedFrom.contains($0) }.map { old[$0].id }
        for (place, id)
            in (changes.moves.map { ($0.to, old[$0.from].id) } + changes.insertions.map { ($0, new[$0].id) })
            .sorted(by: { $0.0 < $1.0 })
        {
            rest.insert(id, at: place)
        }
        #expect(rest == new.map(\.id), "seed \(seed): \(old.map(\.id)) to \(new.map(\.id))")
        #expect(Set(changes.deletions).count == changes.deletions.count)
        #expect(changes.deletions.count + new.count - changes.insertions.count == old.count)

        // Each item that is in both lists, by its position in the new one: those that stay are matched in order.
        let placed = Set(changes.insertions).union(changes.moves.map(\.to))
        let staying = old.indices.filter { !gone.contains($0) && !movedFrom.contains($0) }
        let matches =
            (zip(staying, new.indices.filter { !placed.contains($0) }).map { ($0, $1) }
            + changes.moves.map { ($0.from, $0.to) }).sorted { $0.1 < $1.1 }
        #expect(changes.modifications == matches.filter { old[$0.0] != new[$0.1] }.map(\.0).sorted(), "seed \(seed)")
        var longest: [Int] = []
        for (position, match) in matches.enumerated() {
            let before = matches[..<position].indices.filter { matches[$0].0 < match.0 }.map { longest[$0] }.max() ?? 0
            longest.append(before + 1)
        }
        #expect(changes.moves.count == matches.count - (longest.max() ?? 0), "seed \(seed)")
        #expect(changes.moves.map(\.to) == changes.moves.map(\.to).sorted())
    }

    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }
}
