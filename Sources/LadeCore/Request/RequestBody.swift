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

/// The content of a request: bytes, a file, or chunks made while it is sent.
///
/// A body says whether it can be sent again; whatever repeats a request asks ``isReplayable`` and never guesses.
public struct RequestBody: Sendable {
    /// Takes one chunk; returns when the transport has room for the next.
    ///
    /// Throws when the exchange has ended.
    public typealias ChunkWriter = (Data) async throws(LoadingError) -> Void

    /// Where the bytes come from.
    public enum Content: Sendable {
        /// Memory.
        case bytes(Data)
        /// A file, read while it is sent, from the offset on for `length` bytes or to its end.
        case file(path: String, offset: Int64)
        /// A closure that writes the chunks, once per sending.
        case stream(@Sendable (ChunkWriter) async throws -> Void)
    }

    /// Where the bytes come from.
    public let content: Content
    /// How many bytes there are, or nil when only sending them will tell.
    public let length: Int64?
    /// Whether the same bytes can be sent again.
    public let isReplayable: Bool
    /// The `Content-Type` that is sent when the request has none of its own.
    public var contentType: String?
    /// Makes the trailer section once the last chunk was sent; nil for none (RFC 9110 §6.5).
    public var trailers: (@Sendable () -> Headers)?

    private init(content: Content, length: Int64?, isReplayable: Bool, contentType: String?) {
        self.content = content
        self.length = length
        self.isReplayable = isReplayable
        self.contentType = contentType
    }

    /// A body from memory.
    public static func bytes(_ bytes: Data, contentType: String? = nil) -> RequestBody {
        RequestBody(
            content: .bytes(bytes),
            length: Int64(bytes.count),
            isReplayable: true,
            contentType: contentType
        )
    }

    /// A body from text, as UTF-8.
    public static func text(_ text: String, contentType: String = "text/plain; charset=utf-8") -> RequestBody {
        bytes(Data(text.utf8), contentType: contentType)
    }

    /// A body from a file, streamed from the disk each time it is sent.
    ///
    /// - Parameters:
    ///   - path: The file; it must exist and not shrink until it was sent.
    ///   - offset: Where in the file to start.
    ///   - contentType: The content type, if it is to be sent.
    /// - Returns: The body, with its length as it is now.
    /// - Throws: ``LoadingError/file(_:_:)`` when the file cannot be examined or the offset is beyond its end.
    public static func file(
        _ path: String,
        offset: Int64 = 0,
        contentType: String? = nil
    ) throws(LoadingError) -> RequestBody {
        // Not by way of FileManager: whether its numbers are NSNumber depends on who else is loaded.
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw .file(FileFault(path: path, operation: .read, reason: String(cString: strerror(errno))), .init())
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .file(FileFault(path: path, operation: .read, reason: "it is not a regular file"), .init())
        }
        let size = Int64(status.st_size)
        guard (0...size).contains(offset) else {
            throw .file(FileFault(path: path, operation: .read, reason: "offset \(offset) is beyond its end"), .init())
        }
        return RequestBody(
            content: .file(path: path, offset: offset),
            length: size - offset,
            isReplayable: true,
            contentType: contentType
        )
    }

    /// A body from a file, streamed from the disk each time it is sent; see ``file(_:offset:contentType:)-(String,_,_)``.
    ///
    /// - Throws: ``LoadingError/file(_:_:)`` also for a URL that names no file.
    public static func file(
        _ file: URL,
        offset: Int64 = 0,
        contentType: String? = nil
    ) throws(LoadingError) -> RequestBody {
        try .file(file.localPath(for: .read), offset: offset, contentType: contentType)
    }

    /// A body from chunks.
    ///
    /// - Parameters:
    ///   - length: The number of bytes, when known; without it the body goes out chunked.
    ///   - isReplayable: Whether `makeChunks` gives the same bytes each time it is called.
    ///   - contentType: The content type, if it is to be sent.
    ///   - makeChunks: Makes the sequence, once per sending. What the sequence throws ends the exchange with
    ///     ``LoadingError/requestBodyFailed(_:_:)``.
    /// - Returns: The body.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        length: Int64? = nil,
        isReplayable: Bool = false,
        contentType: String? = nil,
        _ makeChunks: @escaping @Sendable () -> Chunks
    ) -> RequestBody where Chunks.Element == Data {
        writer(length: length, isReplayable: isReplayable, contentType: contentType) { write in
            for try await chunk in makeChunks() { try await write(chunk) }
        }
    }

    /// A body from a closure that writes its chunks, waiting at each until there is room.
    ///
    /// - Parameters:
    ///   - length: The number of bytes, when known; without it the body goes out chunked.
    ///   - isReplayable: Whether the closure gives the same bytes each time it is called.
    ///   - contentType: The content type, if it is to be sent.
    ///   - write: Called once per sending, in a task that is cancelled when the exchange ends.
    /// - Returns: The body.
    public static func writer(
        length: Int64? = nil,
        isReplayable: Bool = false,
        contentType: String? = nil,
        _ write: @escaping @Sendable (ChunkWriter) async throws -> Void
    ) -> RequestBody {
        RequestBody(content: .stream(write), length: length, isReplayable: isReplayable, contentType: contentType)
    }
}
