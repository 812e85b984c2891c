/// The pages of a list that were loaded so far.
public struct PagedContent<Item: Sendable>: ListContent, Sendable {
    /// The items of all loaded pages, in order.
    public internal(set) var items: [Item]
    /// Whether there is another page.
    public internal(set) var hasMore: Bool
    /// How many pages were loaded.
    public internal(set) var pageCount: Int
    /// The cursor of the last page.
    var cursor: (any Sendable)?
    /// The query and the page size that the pages were loaded with, and that the next page needs.
    ///
    /// A later list may have begun with others, and was cancelled or failed.
    var query: (any Sendable)?
    var pageSize = 0

    /// One: all pages form a single section.
    public var sectionCount: Int { 1 }

    /// The number of loaded items for section 0, and 0 for every other.
    ///
    /// A row for an activity indicator is not counted.
    public func itemCount(inSection section: Int) -> Int { items.itemCount(inSection: section) }

    /// The item; nil where none is loaded.
    public func item(at index: ListIndex) -> Item? { items.item(at: index) }
}

extension PagedContent: Equatable where Item: Equatable {
    /// Whether the items are equal, and both or neither have another page.
    public static func == (lhs: PagedContent, rhs: PagedContent) -> Bool {
        lhs.hasMore == rhs.hasMore && lhs.pageCount == rhs.pageCount && lhs.items == rhs.items
    }
}

/// The page that a ``PagedContentModel`` requests.
public struct PagePosition<Query: Sendable>: Sendable {
    /// The query of the list; nil when the model was refreshed without one.
    public let query: Query?
    /// The number of the page, from 0.
    public let index: Int
    /// How many items a page has.
    public let size: Int
    /// How many items the earlier pages had, which need not be `index` times `size`.
    public let itemsBefore: Int
    /// The ``ContentPage/cursor`` of the page before: a token, an address, a `PageRequest`; nil for the first page.
    public let cursor: (any Sendable)?
}

/// One loaded page.
public struct ContentPage<Item: Sendable>: Sendable {
    /// Its items.
    public var items: [Item]
    /// Finds the next page; passed on in ``PagePosition/cursor``.
    public var cursor: (any Sendable)?
    /// Whether there is another page.
    ///
    /// Nil, the default, infers it. With a cursor there is another page. Without a cursor, there is another page if this one
    /// has at least the requested number of items.
    public var hasMore: Bool?

    /// Makes a page.
    public init(_ items: [Item], cursor: (any Sendable)? = nil, hasMore: Bool? = nil) {
        self.items = items
        self.cursor = cursor
        self.hasMore = hasMore
    }

    func hasMore(size: Int) -> Bool { hasMore ?? (cursor != nil || items.count >= size) }
}
