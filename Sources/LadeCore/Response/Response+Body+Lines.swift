#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Response.Body {
    /// The lines of the body as text, without their ends; see ``lines(limit:)``.
    ///
    /// ```swift
    /// request.delivery = .streamed
    /// for try await line in try await loader.load(request).body.lines { print(line) }
    /// ```
    public var lines: Response.Body.Lines { lines() }

    /// The lines of the body as text, without their ends: LF, CRLF or CR.
    ///
    /// Octets that are not UTF-8 become U+FFFD. A last line without an end counts, and an empty one after the last end does
    /// not. The body is read as the lines are, so that the server is held back meanwhile.
    ///
    /// - Parameter limit: The most bytes of one line; 1 MiB by default. A longer one throws
    ///   ``LoadingError/Kind/bodyTooLarge(limit:announced:)``.
    /// - Returns: The lines; of a stream they can be read once.
    public func lines(limit: Int = 1 << 20) -> Response.Body.Lines { Response.Body.Lines(self, limit: limit) }
}

extension Response.Body {
    /// The lines of a ``Response/Body``.
    public struct Lines: AsyncSequence, Sendable {
        /// A line without its end.
        public typealias Element = String
        /// The error of reading.
        public typealias Failure = LoadingError

        private let body: Response.Body
        private let limit: Int

        init(_ body: Response.Body, limit: Int) {
            self.body = body
            self.limit = limit
        }

        /// Starts the reading.
        public func makeAsyncIterator() -> Iterator { Iterator(body.makeAsyncIterator(), LineSplitter(limit: limit)) }

        /// Walks over the lines.
        public struct Iterator: AsyncIteratorProtocol {
            private var chunks: Response.Body.Iterator
            private var splitter: LineSplitter
            private var isEnded = false

            init(_ chunks: Response.Body.Iterator, _ splitter: LineSplitter) {
                self.chunks = chunks
                self.splitter = splitter
            }

            /// The next line, or nil after the last.
            ///
            /// - Throws: The error of the body; ``LoadingError/Kind/bodyTooLarge(limit:announced:)`` for a line over the limit;
            ///   ``LoadingError/Kind/cancelled`` when the task is cancelled, also where more lines have arrived.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(LoadingError) -> String? {
                try await chunks.checkCancellation()
                while true {
                    if let line = try splitter.next(isAtEnd: isEnded) { return line }
                    guard !isEnded else { return nil }
                    if let chunk = try await chunks.next(isolation: actor) {
                        splitter.add(chunk)
                    } else {
                        isEnded = true
                    }
                }
            }

            /// The next line, or nil after the last.
            public mutating func next() async throws(LoadingError) -> String? {
                try await next(isolation: #isolation)
            }
        }
    }
}

/// Cuts chunks of bytes into lines, wherever the chunks end.
struct LineSplitter: Sendable {
    private let limit: Int
    private var bytes: [UInt8] = []
    /// Where the next line starts, and up to where no end was found.
    private var (start, searched) = (0, 0)
    /// Whether the last line ended with CR, to which an LF may still belong.
    private var followsReturn = false

    init(limit: Int) { self.limit = limit }

    mutating func add(_ chunk: Data) {
        // Lines that were handed on are dropped once per chunk, not once per line.
        bytes.removeFirst(start)
        searched -= start
        start = 0
        bytes.append(contentsOf: chunk)
    }

    /// The next whole line; at the end of the bytes, also a last line without a line end.
    ///
    /// - Throws: ``LoadingError/Kind/bodyTooLarge(limit:announced:)`` when it is longer than the limit.
    mutating func next(isAtEnd: Bool) throws(LoadingError) -> String? {
        if followsReturn, start < bytes.count {
            if bytes[start] == 0x0A { start += 1 }
            followsReturn = false
            searched = max(searched, start)
        }
        let end = bytes[searched...].firstIndex { $0 == 0x0A || $0 == 0x0D }
        searched = end ?? bytes.count
        guard searched - start <= limit else { throw LoadingError(.bodyTooLarge(limit: limit, announced: nil)) }
        guard let end else {
            guard isAtEnd, start < bytes.count else { return nil }
            defer { start = bytes.count }
            return String(decoding: bytes[start...], as: UTF8.self)
        }
        defer {
            followsReturn = bytes[end] == 0x0D
            (start, searched) = (end + 1, end + 1)
        }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }
}
