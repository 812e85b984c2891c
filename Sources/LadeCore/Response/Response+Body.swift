#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Synchronization

extension Response {
    /// The content of a response: an asynchronous sequence of byte chunks.
    ///
    /// A body is either *complete*, a buffered response that can be read any number of times, or a *stream*, which is read once.
    /// A stream has backpressure: no more than the transport's high-water mark waits in memory. Releasing the body, or its
    /// iterator, before its end cancels the exchange. A cancelled task reads no byte of a body, not even bytes in memory. Its
    /// request for a chunk throws ``LoadingError/Kind/cancelled`` and ends the exchange.
    public final class Body: AsyncSequence, Sendable {
        /// A run of bytes, never empty.
        public typealias Element = Data
        /// The error of reading.
        public typealias Failure = LoadingError

        private let completeBytes: Data?
        private let completeTrailers: Headers
        private let completeMetrics: Response.Metrics
        private let source: (any Body.Source)?
        private let isTaken = Atomic(false)

        /// Makes a complete body.
        public init(
            _ bytes: Data = Data(),
            trailers: Headers = Headers(),
            metrics: Response.Metrics = Response.Metrics()
        ) {
            completeBytes = bytes
            completeTrailers = trailers
            completeMetrics = metrics
            source = nil
        }

        /// Makes a streaming body that reads from `source`.
        public init(streaming source: any Body.Source) {
            completeBytes = nil
            completeTrailers = Headers()
            completeMetrics = Response.Metrics()
            self.source = source
        }

        deinit {
            // An iteration has its own reference and cancels by itself; a body that was never read must not keep its
            // connection.
            if !isTaken.load(ordering: .acquiring) { source?.abandon() }
        }

        /// All the bytes, when the body is complete; nil for a stream.
        public var bytes: Data? { completeBytes }

        /// The trailer section; empty until the body has ended.
        public var trailers: Headers { source?.trailers ?? completeTrailers }

        /// The costs of the exchange; final once the body has ended.
        public var metrics: Response.Metrics { source?.metrics ?? completeMetrics }

        /// Reads the whole body into memory.
        ///
        /// - Parameter limit: The most bytes to accept.
        /// - Returns: All bytes.
        /// - Throws: ``LoadingError/Kind/bodyTooLarge(limit:announced:)`` above the limit, immediately and without draining
        ///   the connection; otherwise the error of the stream. Cancelling the task throws ``LoadingError/Kind/cancelled``.
        public func collect(limit: Int = Request.defaultBufferLimit) async throws(LoadingError) -> Data {
            if let completeBytes {
                guard !Task.isCancelled else { throw LoadingError(.cancelled) }
                guard completeBytes.count <= limit else {
                    throw LoadingError(.bodyTooLarge(limit: limit, announced: Int64(completeBytes.count)))
                }
                return completeBytes
            }
            var collected = Data()
            var iterator = makeAsyncIterator()
            while let chunk = try await iterator.next(isolation: #isolation) {
                guard collected.count + chunk.count <= limit else {
                    throw LoadingError(.bodyTooLarge(limit: limit, announced: nil))
                }
                collected.append(chunk)
            }
            return collected
        }

        /// Ends the exchange; further reading throws ``LoadingError/Kind/cancelled``, also where received bytes were not read.
        ///
        /// Does nothing to a complete body.
        public func cancel() {
            source?.cancel()
        }

        /// Lets another source read the stream in place of this one; it reads from this one's source and may change the
        /// chunks.
        ///
        /// For interceptors that observe or limit a body. Afterwards this body can no longer be read.
        ///
        /// - Returns: A body that reads from the source made by `wrap`; this body itself when it is complete or being read.
        public func wrapped(
            _ wrap: (any Body.Source) -> any Body.Source
        ) -> Body {
            guard let source, !isTaken.exchange(true, ordering: .acquiringAndReleasing) else { return self }
            return Body(streaming: wrap(source))
        }

        /// Starts an iteration.
        ///
        /// A second iteration over a stream throws ``LoadingError/Kind/invalidRequest(_:)``.
        public func makeAsyncIterator() -> Iterator {
            guard let source else { return Iterator(remaining: completeBytes) }
            let wasTaken = isTaken.exchange(true, ordering: .acquiringAndReleasing)
            guard wasTaken else { return Iterator(reading: Reading(source)) }
            let refusal = LoadingError(.invalidRequest(.bodyReadTwice))
            // A body below an observer knows no request.
            return Iterator(refused: (source as? ObservedBody)?.described(refusal) ?? refusal)
        }

        /// Iterates over the chunks.
        public struct Iterator: AsyncIteratorProtocol {
            private var remaining: Data?
            private let reading: Reading?
            private let refusal: LoadingError?

            fileprivate init(remaining: Data?) {
                self.remaining = remaining
                reading = nil
                refusal = nil
            }

            fileprivate init(reading: Reading) {
                remaining = nil
                self.reading = reading
                refusal = nil
            }

            fileprivate init(refused refusal: LoadingError) {
                remaining = nil
                reading = nil
                self.refusal = refusal
            }

            /// The next chunk, or nil after the last.
            ///
            /// - Throws: The error that ended the body; ``LoadingError/Kind/cancelled`` when the task is cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(LoadingError) -> Data? {
                try await checkCancellation()
                if let reading { return try await reading.source.next() }
                if let refusal { throw refusal }
                defer { remaining = nil }
                return remaining?.isEmpty == true ? nil : remaining
            }

            /// The next chunk, or nil after the last.
            public mutating func next() async throws(LoadingError) -> Data? {
                try await next(isolation: #isolation)
            }

            /// Ends the exchange and throws when the task is cancelled.
            ///
            /// Every body is read by this iterator, however it is wrapped, so this is the only place that looks at the task
            /// before a chunk. A sequence that makes several elements of one chunk calls it before each element.
            ///
            /// - Throws: ``LoadingError/Kind/cancelled``, also on every later call for a stream.
            package func checkCancellation() async throws(LoadingError) {
                if let reading {
                    try await reading.checkCancellation()
                } else if Task.isCancelled {
                    throw LoadingError(.cancelled)
                }
            }
        }

        /// Owns the reading of a stream: the exchange ends when the last iterator is released.
        fileprivate final class Reading: Sendable {
            let source: any Body.Source
            /// Whether a chunk was asked for in a cancelled task, after which nothing is read in any task.
            private let isCancelled = Atomic(false)

            init(_ source: any Body.Source) { self.source = source }

            deinit { source.abandon() }

            func checkCancellation() async throws(LoadingError) {
                if Task.isCancelled { isCancelled.store(true, ordering: .relaxed) }
                guard isCancelled.load(ordering: .relaxed) else { return }
                source.cancel()
                // A source that was cancelled throws an error with the context of its request. An iterator that still has a chunk
                // loses it.
                var context = LoadingError.Context()
                do throws(LoadingError) { _ = try await source.next() } catch { context = error.context }
                throw LoadingError(.cancelled, context)
            }
        }
    }
}

extension Response.Body {
    /// The source that a streaming ``Response/Body`` reads from.
    ///
    /// Transports make these; interceptors wrap them.
    public protocol Source: AnyObject, Sendable {
        /// The next chunk, never empty; nil after the last and on every later call.
        ///
        /// Only one reader calls it at a time.
        ///
        /// - Throws: The error that ended the body; ``LoadingError/Kind/cancelled`` when the task is cancelled or after
        ///   ``cancel()``.
        func next() async throws(LoadingError) -> Data?

        /// Ends the exchange, and drops the bytes that were received and not read.
        ///
        /// Has no effect after the end was read; may be called several times.
        func cancel()

        /// Ends the exchange like ``cancel()``, because the body was released; the default calls that.
        ///
        /// Has no effect after the end was read or the exchange was cancelled.
        func abandon()

        /// The trailer section; empty until the end.
        var trailers: Headers { get }

        /// The costs of the exchange so far.
        var metrics: Response.Metrics { get }
    }
}

extension Response.Body.Source {
    /// Ends the exchange.
    public func abandon() {
        cancel()
    }
}
