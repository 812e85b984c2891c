#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore
public import LadeJSON

extension Response.Body {
    /// How the values of a body follow one another.
    public enum JSONFraming: Sendable, Hashable {
        /// As an array when the first character is a bracket, else as lines.
        case automatic
        /// A value in each line (NDJSON); blank lines are skipped.
        case lines
        /// The elements of an array, and where it is in the document.
        case array(JSONPointer)
    }
}

extension Response.Body {
    /// The values in the body, decoded one by one while the body arrives.
    ///
    /// ```swift
    /// request.delivery = .streamed
    /// let response = try await loader.load(request)
    /// for try await show in response.body.decoded(Show.self) { list.append(show) }
    /// ```
    ///
    /// No more than one chunk and one value that is not complete are in memory. The next chunk is requested when the values of
    /// the previous chunk are taken, so a slow reader holds the server back. Leaving the loop early, and any error, end the
    /// exchange.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - framing: How the values follow one another; found out by the first character by default.
    ///   - decoder: The decoder of each value; `FastJSONDecoder` by default.
    ///   - valueLimit: The most bytes that a value may have; 16 MiB by default.
    /// - Returns: The values. The iteration throws the error of the body, and `LoadingError.Kind.decoding` with a
    ///   `JSONError`, ``ProcessingError/missingList(_:)``, or the error of the decoder. The coding path of a decoder's
    ///   error begins with the position of the value. The values before it are given first.
    public func decoded<Value: Decodable>(
        _ type: Value.Type,
        from framing: Response.Body.JSONFraming = .automatic,
        decoder: any BodyDecoder = FastJSONDecoder(),
        valueLimit: Int = 16 << 20
    ) -> Loader.DecodedValues<Value> {
        Loader.DecodedValues(body: self, framing: framing, decoder: decoder, valueLimit: valueLimit)
    }
}

extension Loader {
    /// The values in a body, decoded while it arrives: `Response.Body.decoded(_:from:decoder:valueLimit:)`.
    public struct DecodedValues<Value: Decodable>: AsyncSequence, Sendable {
        /// A value.
        public typealias Element = Value
        /// The error of reading.
        public typealias Failure = LoadingError

        let body: Response.Body
        let framing: Response.Body.JSONFraming
        let decoder: any BodyDecoder
        let valueLimit: Int

        /// Starts the reading; the body of a stream can be read once.
        public func makeAsyncIterator() -> Iterator {
            Iterator(
                chunks: body.makeAsyncIterator(),
                splitter: ValueSplitter(framing, valueLimit: valueLimit),
                decoder: decoder
            )
        }

        /// Walks over the values.
        public struct Iterator: AsyncIteratorProtocol {
            // Released at the end and with an error, which ends the exchange.
            private var chunks: Response.Body.Iterator?
            private let splitter: ValueSplitter
            private let decoder: any BodyDecoder
            private var position = 0

            init(chunks: Response.Body.Iterator, splitter: ValueSplitter, decoder: any BodyDecoder) {
                self.chunks = chunks
                self.splitter = splitter
                self.decoder = decoder
            }

            /// The next value, or nil after the last and after an error.
            ///
            /// - Throws: The error of the body or the value; `LoadingError.Kind.cancelled` when the task is cancelled, also
            ///   where more values have arrived.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(LoadingError) -> Value? {
                while var reading = chunks {
                    try await reading.checkCancellation()
                    do {
                        if let line = try splitter.next() {
                            let value = try decoder.decode(Value.self, from: line)
                            position += 1
                            return value
                        }
                    } catch {
                        chunks = nil
                        throw LoadingError(.decoding, underlyingError: error.within(position))
                    }
                    guard !splitter.isFinished else { break }
                    chunks = nil
                    if let chunk = try await reading.next(isolation: actor) {
                        splitter.consume(chunk)
                    } else {
                        splitter.finish()
                    }
                    chunks = reading
                }
                chunks = nil
                return nil
            }

            /// The next value, or nil after the last and after an error.
            public mutating func next() async throws(LoadingError) -> Value? {
                try await next(isolation: #isolation)
            }
        }
    }
}

extension Error {
    /// The same error with the position of its value in the list at the beginning of the coding path.
    fileprivate func within(_ position: Int) -> any Error {
        func moved(_ context: DecodingError.Context) -> DecodingError.Context {
            .init(
                codingPath: [PositionKey(position)] + context.codingPath,
                debugDescription: context.debugDescription,
                underlyingError: context.underlyingError
            )
        }
        switch self as? DecodingError {
        case .typeMismatch(let type, let context): return DecodingError.typeMismatch(type, moved(context))
        case .valueNotFound(let type, let context): return DecodingError.valueNotFound(type, moved(context))
        case .keyNotFound(let key, let context): return DecodingError.keyNotFound(key, moved(context))
        case .dataCorrupted(let context): return DecodingError.dataCorrupted(moved(context))
        default: return self
        }
    }
}

/// The position of a value in a coding path.
private struct PositionKey: CodingKey {
    let position: Int

    init(_ position: Int) { self.position = position }
    init?(intValue: Int) { position = intValue }
    init?(stringValue: String) { nil }

    var intValue: Int? { position }
    var stringValue: String { "Index \(position)" }
}
