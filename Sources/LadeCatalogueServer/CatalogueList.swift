/// An ordered list, whose items are made on demand.
struct CatalogueList: Sendable {
    /// The number of items in a stock.
    let count: @Sendable (CatalogueStock) -> Int
    let item: @Sendable (Int) -> CatalogueItem

    /// All items of a kind.
    static func all(_ kind: CatalogueKind) -> CatalogueList {
        CatalogueList {
            $0.count(kind)
        } item: {
            CatalogueItem(kind, $0)
        }
    }

    /// The first items of a kind.
    static func first(_ count: Int, _ kind: CatalogueKind) -> CatalogueList {
        CatalogueList {
            min(count, $0.count(kind))
        } item: {
            CatalogueItem(kind, $0)
        }
    }

    /// Every third item of a kind, as the most popular ones.
    static func popular(_ kind: CatalogueKind) -> CatalogueList {
        CatalogueList {
            ($0.count(kind) + 2) / 3
        } item: {
            CatalogueItem(kind, $0 * 3)
        }
    }

    /// The given items.
    static func only(_ items: [CatalogueItem]) -> CatalogueList {
        CatalogueList { _ in
            items.count
        } item: {
            items[$0]
        }
    }
}

extension CatalogueStock {
    /// The items of a kind from an index on, with a step.
    func list(_ kind: CatalogueKind, _ first: Int, every step: Int, most: Int = .max) -> CatalogueList {
        let rest = max(0, count(kind) - first)
        let count = min((rest + step - 1) / step, most)
        return CatalogueList { _ in
            count
        } item: {
            CatalogueItem(kind, first + $0 * step)
        }
    }

    /// The items of a kind that were published on a day.
    func published(on day: CatalogueDay, _ kind: CatalogueKind) -> CatalogueList {
        let age = CatalogueDay.newest.number - day.number
        guard (0..<3650).contains(age) else { return .only([]) }
        let first = min(age * perDay(kind), count(kind))
        return list(kind, first, every: 1, most: perDay(kind))
    }
}
