import LadeCore

extension Pages {
    /// The pages of an endpoint, in order, loaded on demand.
    ///
    /// Each page goes through the whole chain, so a failing page is retried individually. The sequence can be iterated more
    /// than once; each iteration starts again.
    public struct Sequence<Value: Sendable>: AsyncSequence, Sendable {
        /// A page that was loaded, with its value and its response.
        public typealias Element = Pages.Page<Loader.Loaded<Value>>

        /// The error of an iteration: the cause, and the page to resume at.
        public typealias Failure = PageError

        private let source: PageFeed<Loader.Loaded<Value>>.Source

        init(_ source: PageFeed<Loader.Loaded<Value>>.Source) {
            self.source = source
        }

        /// Starts at the first page, or at the page that was passed as the start.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(PageFeed(source))
        }

        /// Iterates over the pages.
        ///
        /// When the last copy is released, everything in flight is cancelled.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let owner: Owner

            fileprivate init(_ feed: PageFeed<Loader.Loaded<Value>>) {
                owner = Owner(feed)
            }

            /// The next page; nil after the last.
            ///
            /// - Throws: ``PageError`` with the page that could not be loaded.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(PageError) -> Element? {
                try await owner.feed.next().map(Element.init)
            }

            /// The next page; nil after the last.
            ///
            /// - Throws: ``PageError`` with the page that could not be loaded.
            public mutating func next() async throws(PageError) -> Element? {
                try await next(isolation: #isolation)
            }

            private final class Owner: Sendable {
                let feed: PageFeed<Loader.Loaded<Value>>

                init(_ feed: PageFeed<Loader.Loaded<Value>>) { self.feed = feed }

                deinit { feed.cancel() }
            }
        }

        /// The items of all pages, in order; the closure returns the items of one page.
        public func items<Item: Sendable>(_ items: @escaping @Sendable (Value) -> [Item])
            -> Pages.ItemSequence<Value, Item>
        {
            Pages.ItemSequence<Value, Item>(pages: self, items: items)
        }
    }
}

extension Pages {
    /// The items of all pages, in order.
    public struct ItemSequence<Value: Sendable, Item: Sendable>: AsyncSequence, Sendable {
        /// One item.
        public typealias Element = Item
        /// The error of an iteration: the cause, and the page to resume at.
        public typealias Failure = PageError

        fileprivate let pages: Pages.Sequence<Value>
        fileprivate let items: @Sendable (Value) -> [Item]
        fileprivate var makeFilter: (@Sendable () -> (Item) -> Bool)?

        /// The same sequence without items whose identity occurred before, on any page.
        ///
        /// All identities are kept in memory during the iteration.
        public func unique<ID: Hashable & SendableMetatype>(by identity: @escaping @Sendable (Item) -> ID)
            -> Pages.ItemSequence<Value, Item>
        {
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

        /// Iterates over the items.
        ///
        /// When the last copy is released, everything in flight is cancelled.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var pages: Pages.Sequence<Value>.AsyncIterator
            fileprivate let sequence: Pages.ItemSequence<Value, Item>
            fileprivate var rest: ArraySlice<Item> = []
            /// The page of these items.
            private var page: PageRequest?
            private let isNew: ((Item) -> Bool)?

            fileprivate init(pages: Pages.Sequence<Value>.AsyncIterator, sequence: Pages.ItemSequence<Value, Item>) {
                self.pages = pages
                self.sequence = sequence
                isNew = sequence.makeFilter?()
            }

            /// The next item; nil after the last.
            ///
            /// - Throws: ``PageError`` with the page that could not be loaded; when the task is cancelled between the items
            ///   of a page, with that page.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(PageError) -> Item? {
                if Task.isCancelled, !rest.isEmpty, let page {
                    throw .cancelled(at: page)
                }
                while true {
                    while let item = rest.popFirst() {
                        if let isNew, !isNew(item) { continue }
                        return item
                    }
                    guard let loaded = try await pages.next(isolation: actor) else { return nil }
                    page = loaded.page
                    rest = sequence.items(loaded.value)[...]
                }
            }

            /// The next item; nil after the last.
            ///
            /// - Throws: ``PageError`` with the page that could not be loaded.
            public mutating func next() async throws(PageError) -> Item? {
                try await next(isolation: #isolation)
            }
        }
    }
}

extension Loader {
    /// The pages of an endpoint.
    ///
    /// ```swift
    /// for try await page in loader.pages(of: shows, size: 50, prefetch: 2) { render(page.value.showList) }
    /// ```
    ///
    /// Leaving the loop cancels the loads in flight.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint of the list.
    ///   - size: The number of items per page; 0 leaves it to the service.
    ///   - prefetch: How many pages are loaded ahead of the requested one; none by default, 64 at most. Memory holds at most
    ///     one page more than this number. Pages found by number or offset are loaded in parallel and delivered in order. The
    ///     assumption is that all are as long as those before them; where it was wrong, pages are loaded again.
    ///   - pageLimit: The maximum number of pages; nil for all.
    ///   - start: The page to start with, from an earlier iteration, with its own size; nil for the first page.
    ///   - meter: Receives the progress with every delivered page.
    /// - Returns: The sequence; nothing is loaded before it is iterated.
    public func pages<Value>(
        of endpoint: PagedEndpoint<Value>,
        size: Int = 0,
        prefetch: Int = 0,
        pageLimit: Int? = nil,
        from start: PageRequest? = nil,
        meter: Pages.Progress.Meter? = nil
    ) -> Pages.Sequence<Value> {
        endpoint.pages(
            size: size,
            prefetch: prefetch,
            pageLimit: pageLimit,
            from: start,
            meter: meter,
            note: { event in self.note(event) }
        ) {
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
    /// A page whose successor cannot be followed is loaded all the same, and ``Pages/Page/nextFailure`` says why.
    ///
    /// - Parameters:
    ///   - page: A page of this list: the first page, a page that followed another, or a stored page.
    ///   - endpoint: The list.
    /// - Returns: The page, with the one after it.
    /// - Throws: ``PageError`` when the page cannot be loaded. Cancelling the task ends the call.
    @concurrent
    public func load<Value>(
        _ page: PageRequest,
        of endpoint: PagedEndpoint<Value>
    ) async throws(PageError) -> Pages.Page<Loader.Loaded<Value>> {
        try await endpoint.load(page) {
            $0
        } _: { (endpoint) async throws(LoadingError) in
            try await self.loadValue(of: endpoint)
        }
    }

    /// Sends an event about pages, which is part of no call, to the observers.
    package func note(_ event: Call.Event) { core.makeCall().record(event) }
}
