public import Lade

/// The pages of a list: the first immediately, and one more for each value of a signal.
///
/// A failure of the first page is thrown. After a failure of a later page that page is loaded again for the next value of the
/// signal. The sequence ends after the last page, and when the signal ends.
public struct SignalledPages<Value: Sendable>: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = Value
    /// What is thrown for the first page.
    public typealias Failure = PageFailure

    let loader: Loader
    let endpoint: PagedEndpoint<Value>
    let size: Int
    let signal: AsyncStream<Void>

    /// Starts at the first page; each walk sends requests of its own, and all of them share the signal.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(sequence: self, pages: loader.pages(of: endpoint, size: size).makeAsyncIterator())
    }

    /// Walks over the pages; what is in flight is cancelled with its last copy.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let sequence: SignalledPages
        fileprivate var pages: PageSequence<Value>.AsyncIterator?
        private var signal: AsyncStream<Void>.AsyncIterator
        private var isFirst = true
        private var nextPage: Page?

        fileprivate init(sequence: SignalledPages, pages: PageSequence<Value>.AsyncIterator) {
            self.sequence = sequence
            self.pages = pages
            signal = sequence.signal.makeAsyncIterator()
        }

        /// The next page; nil after the last.
        ///
        /// - Throws: `PageFailure` for the first page, and when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(PageFailure) -> Value? {
            while true {
                if isFirst {
                    isFirst = false
                } else {
                    guard nextPage != nil, await signal.next(isolation: actor) != nil else { return nil }
                }
                do {
                    guard let element = try await pages?.next(isolation: actor) else { return nil }
                    nextPage = element.next
                    return element.value
                } catch {
                    guard let page = nextPage, !error.isCancellation else { throw error }
                    // A sequence that has thrown has ended; this one goes on with the same page.
                    pages = sequence.loader.pages(of: sequence.endpoint, size: sequence.size, from: page)
                        .makeAsyncIterator()
                }
            }
        }

        /// The next page; nil after the last.
        ///
        /// - Throws: `PageFailure` for the first page, and when the task is cancelled.
        public mutating func next() async throws(PageFailure) -> Value? {
            try await next(isolation: #isolation)
        }
    }
}

extension CatalogueProvider {
    /// The pages that a service delivers: the first immediately, and one more for each value of a signal.
    ///
    /// - Parameters:
    ///   - size: How many items a page has, from 1 to 100, or ``PageSize/unlimited``; 10 by default.
    ///   - signal: Asks for another page; from a ``Trigger``, for example.
    ///   - make: Chooses the service.
    /// - Returns: The sequence; nothing is loaded until it is walked.
    /// - Throws: ``CatalogueError`` for what cannot be asked for, and for another size.
    public func pages<Value>(
        size: Int = PageSize.default,
        on signal: AsyncStream<Void>,
        _ make: (Catalogue) throws -> PagedEndpoint<Value>
    ) throws -> SignalledPages<Value> {
        try PageSize.validate(size)
        return SignalledPages(loader: loader, endpoint: try make(catalogue), size: size, signal: signal)
    }
}
