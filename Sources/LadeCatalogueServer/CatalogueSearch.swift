import LadeCore

/// Finds medias and shows by words in their titles.
final class CatalogueSearch: Sendable {
    /// The number of videos, and of audios, that can be found: the newest ones.
    static let reach = 50_000

    private struct Index {
        /// The items for each word, in order.
        var items: [String: [CatalogueItem]] = [:]
    }

    private let stock: CatalogueStock
    private let index = Locked<Index?>(nil)

    init(_ stock: CatalogueStock) {
        self.stock = stock
    }

    /// The rules for comparing words.
    struct Matching {
        var isAny = false
        var isWhole = false
    }

    /// The words of a text in lower case.
    static func words(_ text: String) -> [String] {
        text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }

    /// The medias that match a query, newest first and videos before audios; all of them for a blank query.
    func medias(_ query: String, _ matching: Matching) -> [CatalogueItem] {
        let words = Self.words(query)
        guard !words.isEmpty else { return all }
        let index = madeIndex()
        var found: Set<CatalogueItem>?
        for word in words {
            var items: Set<CatalogueItem> = []
            if matching.isWhole {
                items.formUnion(index.items[word] ?? [])
            } else {
                for (known, more) in index.items where known.hasPrefix(word) { items.formUnion(more) }
            }
            found = found.map { matching.isAny ? $0.union(items) : $0.intersection(items) } ?? items
        }
        return (found ?? []).sorted { lhs, rhs in
            lhs.kind == rhs.kind ? lhs.index < rhs.index : lhs.kind == .video
        }
    }

    /// The shows that match a query.
    func shows(_ query: String, _ kinds: [CatalogueKind], isWhole: Bool) -> [CatalogueItem] {
        let words = Self.words(query)
        return kinds.flatMap { kind in
            (0..<stock.count(kind)).map { CatalogueItem(kind, $0) }.filter { show in
                let title = Self.words(stock.showTitle(show))
                return words.allSatisfy { word in
                    title.contains { isWhole ? $0 == word : $0.hasPrefix(word) }
                }
            }
        }
    }

    private var all: [CatalogueItem] {
        [CatalogueKind.video, .audio].flatMap { kind in
            (0..<min(stock.count(kind), Self.reach)).map { CatalogueItem(kind, $0) }
        }
    }

    private func madeIndex() -> Index {
        if let index = index.withLock({ $0 }) { return index }
        // Two connections may build the index at the same time, with the same result.
        var made = Index()
        for item in all {
            let facts = stock.facts(item)
            for word in Set(Self.words(facts.title)) { made.items[word, default: []].append(item) }
        }
        index.withLock { $0 = made }
        return made
    }
}
