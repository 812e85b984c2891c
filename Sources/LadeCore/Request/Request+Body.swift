#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension Request {
    /// The content of a request: bytes, a file, or chunks produced during sending.
    ///
    /// ``isReplayable`` says whether the body can be sent again. Policies that send a request again check it.
    public struct Body: Sendable {
        /// Sends one chunk; returns when the transport has room for the next.
        ///
        /// Throws when the exchange has ended.
        public typealias ChunkWriter = (Data) async throws(LoadingError) -> Void

        /// Where the bytes come from.
        public enum Content: Sendable {
            /// Memory.
            case bytes(Data)
            /// A file, read during sending, from the offset for `length` bytes or to its end.
            case file(path: String, offset: Int64)
            /// A closure that writes the chunks; called each time the body is sent.
            case stream(@Sendable (ChunkWriter) async throws -> Void)
        }

        /// Where the bytes come from.
        public let content: Content
        /// The number of bytes; nil when it is known only after sending.
        public let length: Int64?
        /// Whether the same bytes can be sent again.
        public let isReplayable: Bool
        /// The `Content-Type` to send when the request has none of its own.
        public var contentType: String?
        /// Makes the trailer section after the last chunk was sent; nil for none (RFC 9110 §6.5).
        public var trailers: (@Sendable () -> Headers)?

        private init(content: Content, length: Int64?, isReplayable: Bool, contentType: String?) {
            self.content = content
            self.length = length
            self.isReplayable = isReplayable
            self.contentType = contentType
        }

        /// A body from memory.
        public static func bytes(_ bytes: Data, contentType: String? = nil) -> Body {
            Body(
                content: .bytes(bytes),
                length: Int64(bytes.count),
                isReplayable: true,
                contentType: contentType
            )
        }

        /// A body from text, as UTF-8.
        public static func text(_ text: String, contentType: String = "text/plain; charset=utf-8") -> Body {
            bytes(Data(text.utf8), contentType: contentType)
        }

        /// A form of names and values in the coding of addresses, as a page sends it: `application/x-www-form-urlencoded`.
        ///
        /// ```swift
        /// let request = try Request(.post, "https://example.com/login", body: .form(["user": user, "password": password]))
        /// ```
        ///
        /// - Parameter fields: The fields, in their order. A name may occur more than once. Each byte of their UTF-8 but letters,
        ///   digits and `-._~` is percent-encoded.
        /// - Returns: The body, which can be sent again.
        public static func form(_ fields: KeyValuePairs<String, String>) -> Body {
            let pairs = fields.map { "\($0.utf8.percentEncoded())=\($1.utf8.percentEncoded())" }
            return text(pairs.joined(separator: "&"), contentType: "application/x-www-form-urlencoded")
        }

        /// A body from a file, streamed from the disk each time it is sent.
        ///
        /// - Parameters:
        ///   - path: The file; it must exist and not shrink until it was sent. Bytes that are added later are not sent.
        ///   - offset: Where in the file to start.
        ///   - contentType: The content type to send; nil for none.
        /// - Returns: The body, with its length as it is now. The length of a file with content but without a size, as under
        ///   `/proc`, is not known.
        /// - Throws: ``LoadingError/Kind/file(_:)`` when the file cannot be examined or the offset is beyond its end.
        public static func file(
            _ path: String,
            offset: Int64 = 0,
            contentType: String? = nil
        ) throws(LoadingError) -> Body {
            // FileManager is not used: the type of its numbers (NSNumber or not) depends on which other libraries are loaded.
            var status = stat()
            guard stat(path, &status) == 0 else {
                throw LoadingError(
                    .file(
                        LoadingError.FileCause(path: path, operation: .read, reason: String(cString: strerror(errno)))
                    )
                )
            }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw LoadingError(
                    .file(LoadingError.FileCause(path: path, operation: .read, reason: "it is not a regular file"))
                )
            }
            let size = Int64(status.st_size)
            guard (0...size).contains(offset) else {
                throw LoadingError(
                    .file(
                        LoadingError.FileCause(
                            path: path,
                            operation: .read,
                            reason: "offset \(offset) is beyond its end"
                        )
                    )
                )
            }
            return Body(
                content: .file(path: path, offset: offset),
                length: size == 0 ? length(ofEmpty: path) : size - offset,
                isReplayable: true,
                contentType: contentType
            )
        }

        /// The length of a file of size 0: nil when it has content all the same.
        private static func length(ofEmpty path: String) -> Int64? {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            // Nothing is sent of an empty file, so it need not be readable.
            guard descriptor >= 0 else { return 0 }
            defer { close(descriptor) }
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return 0 }
            return FileSource.length(of: descriptor, status, from: 0)
        }

        /// A body from a file, streamed from the disk each time it is sent; see ``file(_:offset:contentType:)-(String,_,_)``.
        ///
        /// - Throws: ``LoadingError/Kind/file(_:)`` also for a URL that names no file.
        public static func file(
            _ file: URL,
            offset: Int64 = 0,
            contentType: String? = nil
        ) throws(LoadingError) -> Body {
            try .file(file.localPath(for: .read), offset: offset, contentType: contentType)
        }

        /// A body from chunks.
        ///
        /// - Parameters:
        ///   - length: The number of bytes, when known; without it the body is sent chunked.
        ///   - isReplayable: Whether `makeChunks` gives the same bytes each time it is called.
        ///   - contentType: The content type to send; nil for none.
        ///   - makeChunks: Makes the sequence, each time the body is sent. An error of the sequence ends the exchange with
        ///     ``LoadingError/Kind/requestBodyFailed``.
        /// - Returns: The body.
        public static func stream<Chunks: AsyncSequence & Sendable>(
            length: Int64? = nil,
            isReplayable: Bool = false,
            contentType: String? = nil,
            _ makeChunks: @escaping @Sendable () -> Chunks
        ) -> Body where Chunks.Element == Data {
            writer(length: length, isReplayable: isReplayable, contentType: contentType) { write in
                for try await chunk in makeChunks() { try await write(chunk) }
            }
        }

        /// A body from a closure that writes its chunks; each write waits until there is room.
        ///
        /// - Parameters:
        ///   - length: The number of bytes, when known; without it the body is sent chunked.
        ///   - isReplayable: Whether the closure gives the same bytes each time it is called.
        ///   - contentType: The content type to send; nil for none.
        ///   - write: Called each time the body is sent, in a task that is cancelled when the exchange ends.
        /// - Returns: The body.
        public static func writer(
            length: Int64? = nil,
            isReplayable: Bool = false,
            contentType: String? = nil,
            _ write: @escaping @Sendable (ChunkWriter) async throws -> Void
        ) -> Body {
            Body(content: .stream(write), length: length, isReplayable: isReplayable, contentType: contentType)
        }
    }
}

extension Request.Body {
    /// Whether it is a sequence or a writer of which no byte is sent, because its length is 0.
    package var isEmptyStream: Bool {
        guard length == 0, trailers == nil, case .stream = content else { return false }
        return true
    }

    /// Runs a writer that was declared empty, for a transport that would not ask for its bytes.
    ///
    /// - Throws: ``LoadingError/Kind/invalidRequest(_:)`` when it writes a byte, ``LoadingError/Kind/requestBodyFailed``
    ///   when it fails.
    package func writeNothing(for request: Request) async throws(LoadingError) {
        guard case .stream(let write) = content else { return }
        let written = Locked(Int64(0))
        let excess = {
            LoadingError(.invalidRequest(.contentLength(written: "0", actual: $0)), LoadingError.Context(request))
        }
        do {
            try await write { (chunk) throws(LoadingError) in
                let count = written.withLock { written in
                    written += Int64(chunk.count)
                    return written
                }
                guard count == 0 else { throw excess(count) }
            }
        } catch let error as LoadingError {
            throw error
        } catch {
            throw LoadingError(.requestBodyFailed, LoadingError.Context(request), underlyingError: error)
        }
        // The writer may have ignored the error.
        let count = written.withLock { $0 }
        guard count == 0 else { throw excess(count) }
    }
}
