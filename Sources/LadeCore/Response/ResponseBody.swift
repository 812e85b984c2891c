#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Synchronization

/// The content of a response: an asynchronous sequence of byte chunks.
///
/// A body is either *complete* (a buffered answer: all bytes are here, it can be read as often as you like) or a
/// *stream*, which is read once. Reading a stream holds the server back: no more than the transport's high-water mark
/// waits in memory. Dropping the body, or the iteration over it, before its end cancels the exchange.
public final class ResponseBody: AsyncSequence, Sendable {
    /// A run of bytes, never empty.
    public typealias Element = Data
    /// What reading can throw.
    public typealias Failure = LoadingError

    private let completeBytes: Data?
    private let completeTrailers: Headers
    private let completeMetrics: Metrics
    private let source: (any ResponseBodySource)?
    private let isTaken = Atomic(false)

    /// Makes a complete body.
    public init(_ bytes: Data = Data(), trailers: Headers = Headers(), metrics: Metrics = Metrics()) {
        completeBytes = bytes
        completeTrailers = trailers
        completeMetrics = metrics
        source = nil
    }

    /// Makes a streaming body that reads from `source`.
    public init(streaming source: any ResponseBodySource) {
        completeBytes = nil
        completeTrailers = Headers()
        completeMetrics = Metrics()
        self.source = source
    }

    deinit {
        // An iteration has its own reference and cancels for itself; a body nobody read must not hold its connection.
        if !isTaken.load(ordering: .acquiring) { source?.cancel() }
    }

    /// All the bytes, when the body is complete; nil for a stream.
    public var bytes: Data? { completeBytes }

    /// The trailer section; empty until the body has ended.
    public var trailers: Headers { source?.trailers ?? completeTrailers }

    /// What the exchange cost; final once the body has ended.
    public var metrics: Metrics { source?.metrics ?? completeMetrics }

    /// Reads the whole body into memory.
    ///
    /// - Parameter limit: The most bytes to accept.
    /// - Returns: All bytes.
    /// - Throws: ``LoadingError/bodyTooLarge(limit:announced:_:)`` above the limit, at once and without draining the
    ///   connection; what the stream throws otherwise. Cancelling the task throws ``LoadingError/cancelled(_:)``.
    public func collect(limit: Int = Request.defaultBufferLimit) async throws(LoadingError) -> Data {
        if let completeBytes {
            guard completeBytes.count <= limit else {
                throw .bodyTooLarge(limit: limit, announced: Int64(completeBytes.count), ErrorContext())
            }
            return completeBytes
        }
        var collected = Data()
        var iterator = makeAsyncIterator()
        while let chunk = try await iterator.next(isolation: #isolation) {
            guard collected.count + chunk.count <= limit else {
                throw .bodyTooLarge(limit: limit, announced: nil, ErrorContext())
            }
            collected.append(chunk)
        }
        return collected
    }

    /// Ends the exchange; further reading throws ``LoadingError/cancelled(_:)``.
    ///
    /// Does nothing to a complete body.
    public func cancel() {
        source?.cancel()
    }

    /// Hands the reading of a stream over to another source, which reads this one's and may change what it gives.
    ///
    /// For links of the chain that watch or bound a body. This body can no longer be read then.
    ///
    /// - Returns: A body that reads from what `wrap` makes; this body itself when it is complete or being read.
    public func wrapped(
        _ wrap: (any ResponseBodySource) -> any ResponseBodySource
    ) -> ResponseBody {
        guard let source, !isTaken.exchange(true, ordering: .acquiringAndReleasing) else { return self }
        return ResponseBody(streaming: wrap(source))
    }

    /// Starts the reading.
    ///
    /// A second iteration over a stream throws ``LoadingError/invalidRequest(_:_:)``.
    public func makeAsyncIterator() -> Iterator {
        guard let source else { return Iterator(remaining: completeBytes) }
        let wasTaken = isTaken.exchange(true, ordering: .acquiringAndReleasing)
        return Iterator(reading: wasTaken ? nil : Reading(source))
    }

    /// Walks over the chunks.
    public struct Iterator: AsyncIteratorProtocol {
        private var remaining: Data?
        private let reading: Reading?
        private let isRefused: Bool

        fileprivate init(remaining: Data?) {
            self.remaining = remaining
            reading = nil
            isRefused = false
        }

        fileprivate init(reading: Reading?) {
            remaining = nil
            self.reading = reading
            isRefused = reading == nil
        }

        /// The next chunk, or nil after the last.
        ///
        /// - Throws: what broke the body; ``LoadingError/cancelled(_:)`` when the task is cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LoadingError) -> Data? {
            if let reading { return try await reading.source.next() }
            guard !isRefused else { throw .invalidRequest(.bodyReadTwice, ErrorContext()) }
            defer { remaining = nil }
            return remaining?.isEmpty == true ? nil : remaining
        }

        /// The next chunk, or nil after the last.
        public mutating func next() async throws(LoadingError) -> Data? {
            try await next(isolation: #isolation)
        }
    }

    /// Owns the reading of a stream: when the last iterator is gone, so is the exchange.
    fileprivate final class Reading: Sendable {
        let source: any ResponseBodySource

        init(_ source: any ResponseBodySource) { self.source = source }

        deinit { source.cancel() }
    }
}

/// What a streaming ``ResponseBody`` reads from.
///
/// Transports make these; interceptors wrap them.
public protocol ResponseBodySource: AnyObject, Sendable {
    /// The next chunk, never empty; nil after the last and ever after. Called by one reader at a time.
    ///
    /// - Throws: what broke the body; ``LoadingError/cancelled(_:)`` when the task is cancelled or after ``cancel()``.
    func next() async throws(LoadingError) -> Data?

    /// Ends the exchange. Harmless after the end, and called more than once.
    func cancel()

    /// The trailer section; empty until the end.
    var trailers: Headers { get }

    /// What the exchange cost so far.
    var metrics: Metrics { get }
}
