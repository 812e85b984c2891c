import LadeCore

/// The pages of an endpoint, one after the other, as they are asked for (pages PA-10 … PA-14).
///
/// Each page goes through the whole chain, so a failing page is retried as itself. The sequence can be walked more than
/// once; each walk starts anew.
public struct PageSequence<Value: Sendable>: AsyncSequence, Sendable {
    /// A page that was loaded, with its value and its answer.
    public typealias Element = LoadedPage<LoadedValue<Value>>

    /// What is thrown: why, and the page to go on from.
    public typealias Failure = PageFailure

    private let source: PageSource<LoadedValue<Value>>

    init(_ source: PageSource<LoadedValue<Value>>) {
        self.source = source
    }

    /// Starts at the first page, or at the one the sequence was made for.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(PageFeed(source))
    }

    /// Walks over the pages; when the last copy goes away, everything under way is cancelled.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let owner: Owner

        fileprivate init(_ feed: PageFeed<LoadedValue<Value>>) {
            owner = Owner(feed)
        }

        /// The next page; nil after the last.
        ///
        /// - Throws: ``PageFailure`` with the page that could not be had.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(PageFailure) -> Element? {
            try await owner.feed.next().map(Element.init)
        }

        /// The next page; nil after the last.
        ///
        /// - Throws: ``PageFailure`` with the page that could not be had.
        public mutating func next() async throws(PageFailure) -> Element? {
            try await next(isolation: #isolation)
        }

        private final class Owner: Sendable {
            let feed: PageFeed<LoadedValue<Value>>

            init(_ feed: PageFeed<LoadedValue<Value>>) { self.feed = feed }

            deinit { feed.cancel() }
        }
    }

    /// The items of all pages, one after the other; the closure gives those of one page.
    public func items<Item: Sendable>(_ items: @escaping @Sendable (Value) -> [Item]) -> ItemSequence<Value, Item> {
        ItemSequence(pages: self, items: items)
    }
}

/// The items of all pages, one after the other.
public struct ItemSequence<Value: Sendable, Item: Sendable>: AsyncSequence, Sendable {
    /// One item.
    public typealias Element = Item
    /// What is thrown: why, and the page to go on from.
    public typealias Failure = PageFailure

    fileprivate let pages: PageSequence<Value>
    fileprivate let items: @Sendable (Value) -> [Item]
    fileprivate var makeFilter: (@Sendable () -> (Item) -> Bool)?

    /// The same without items whose identity came up before, on whatever page (pages PA-06).
    ///
    /// All identities are kept while the sequence is walked.
    public func unique<ID: Hashable & SendableMetatype>(by identity: @escaping @Sendable (Item) -> ID) -> ItemSequence {
        var copy = self
        copy.makeFilter = {
            var seen: Set<ID> = []
            return { seen.insert(identity($0)).inserted }
        }
        return copy
    }

    /// Starts at the first page.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pages: pages.makeAsyncIterator(), sequence: self)
    }

    /// Walks over the items; when the last copy goes away, everything under way is cancelled.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var pages: PageSequence<Value>.AsyncIterator
        fileprivate let sequence: ItemSequence
        fileprivate var rest: ArraySlice<Item> = []
        private let isNew: ((Item) -> Bool)?

        fileprivate init(pages: PageSequence<Value>.AsyncIterator, sequence: ItemSequence) {
            self.pages = pages
            self.sequence = sequence
            isNew = sequence.makeFilter?()
        }

        /// The next item; nil after the last.
        ///
        /// - Throws: ``PageFailure`` with the page that could not be had.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(PageFailure) -> Item? {
            while true {
                while let item = rest.popFirst() {
                    if let isNew, !isNew(item) { continue }
                    return item
                }
                guard let page = try await pages.next(isolation: actor) else { return nil }
                rest = sequence.items(page.value)[...]
            }
        }

        /// The next item; nil after the last.
        ///
        /// - Throws: ``PageFailure`` with the page that could not be had.
        public mutating func next() async throws(PageFailure) -> Item? {
            try await next(isolation: #isolation)
        }
    }
}

extension Loader {
    /// The pages of an endpoint.
    ///
    /// ```swift
    /// for try await page in loader.pages(of: shows, size: 50, prefetch: 2) { … }
    /// ```
    ///
    /// Leaving the loop cancels what is under way, and nothing else.
    ///
    /// - Parameters:
    ///   - endpoint: What the pages are of.
    ///   - size: How many items a page is to have; 0 leaves it to the service.
    ///   - prefetch: How many pages are loaded beyond the one asked for; none by default, 64 at most. At most one more
    ///     than that is in memory. Pages that are found by number or offset are loaded in parallel, on the guess that all
    ///     are as long as those before them, and delivered in order; where the guess was wrong they are loaded again.
    ///   - pageLimit: How many pages are delivered at most; nil for all.
    ///   - start: The page to begin with, from an earlier walk; nil for the first. It brings its own size.
    ///   - meter: Is told of every page delivered.
    /// - Returns: The sequence; nothing is loaded until it is walked.
    public func pages<Value>(
        of endpoint: PagedEndpoint<Value>,
        size: Int = 0,
        prefetch: Int = 0,
        pageLimit: Int? = nil,
        from start: Page? = nil,
        meter: PageMeter? = nil
    ) -> PageSequence<Value> {
        endpoint.pages(size: size, prefetch: prefetch, pageLimit: pageLimit, from: start, meter: meter) {
            (endpoint) async throws(LoadingError) in
            try await self.loadValue(of: endpoint)
        }
    }

    /// Loads one page of a list.
    ///
    /// ```swift
    /// let first = try await loader.load(shows.firstPage(size: 50), of: shows)
    /// if let next = first.next { second = try await loader.load(next, of: shows) }
    /// ```
    ///
    /// A page whose successor cannot be followed is loaded all the same, and ``LoadedPage/nextFailure`` says why.
    ///
    /// - Parameters:
    ///   - page: A page of this list: its first, one after another, or one that was stored.
    ///   - endpoint: The list.
    /// - Returns: The page, with the one after it.
    /// - Throws: ``PageFailure`` when the page cannot be loaded. Cancelling the task ends the call.
    @concurrent
    public func load<Value>(
        _ page: Page,
        of endpoint: PagedEndpoint<Value>
    ) async throws(PageFailure) -> LoadedPage<LoadedValue<Value>> {
        try await endpoint.load(page) {
            $0
        } _: { (endpoint) async throws(LoadingError) in
            try await self.loadValue(of: endpoint)
        }
    }
}
