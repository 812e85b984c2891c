public import Lade

/// The pages of a list: the first immediately, and one more for each value of a signal.
///
/// A failure of the first page is thrown. After a failure of a later page, the next value of the signal loads that page
/// again. The sequence ends after the last page or when the signal ends.
public struct SignalledPages<Value: Sendable>: AsyncSequence, Sendable {
    /// A page of the list.
    public typealias Element = Value
    /// The error for the first page.
    public typealias Failure = PageFailure

    let loader: Loader
    let endpoint: PagedEndpoint<Value>
    let size: Int
    let signal: AsyncStream<Void>

    /// Starts at the first page; each iterator sends its own requests, but all of them share the signal.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(sequence: self, pages: loader.pages(of: endpoint, size: size).makeAsyncIterator())
    }

    /// Iterates over the pages; releasing its last copy cancels a request in flight.
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
                    guard let nextPage else { return nil }
                    // A signal ends with the task of its reader, but the list does not.
                    let isSignalled = await signal.next(isolation: actor) != nil
                    guard !Task.isCancelled else { throw PageFailure.cancelled(at: nextPage) }
                    guard isSignalled else { return nil }
                }
                do {
                    guard let element = try await pages?.next(isolation: actor) else { return nil }
                    nextPage = element.next
                    return element.value
                } catch {
                    guard let page = nextPage, !error.isCancellation else { throw error }
                    // A sequence that has thrown has ended, so a new one continues with the same page.
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
    /// The pages of a service: the first immediately, and one more for each value of a signal.
    ///
    /// - Parameters:
    ///   - size: The number of items per page, from 1 to 100, or ``PageSize/unlimited``; 10 by default.
    ///   - signal: Requests another page; for example from a ``Trigger``.
    ///   - make: Makes the endpoint.
    /// - Returns: The sequence; nothing is loaded before the iteration starts.
    /// - Throws: ``CatalogueError`` for an invalid request or page size.
    public func pages<Value>(
        size: Int = PageSize.default,
        on signal: AsyncStream<Void>,
        _ make: (Catalogue) throws -> PagedEndpoint<Value>
    ) throws -> SignalledPages<Value> {
        try PageSize.validate(size)
        return SignalledPages(loader: loader, endpoint: try make(catalogue), size: size, signal: signal)
    }
}
