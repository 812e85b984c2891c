#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import LadeCore

extension Request.Body {
    /// The size of the pieces in which bytes and files are written: 64 KiB.
    private static let pieceSize = 64 << 10

    /// The body without its length, so that it is sent in chunks.
    package var inChunks: Request.Body {
        let original = self
        return Request.Body.writer(isReplayable: isReplayable, contentType: contentType) { write in
            try await original.write(to: write)
        }
    }

    /// Writes the whole body, in pieces.
    package func writeBytes(to output: ([UInt8]) throws -> Void) async throws {
        try await write { (chunk) async throws(LoadingError) in
            do {
                try output(Array(chunk))
            } catch {
                throw LoadingError(.requestBodyFailed, underlyingError: error)
            }
        }
    }

    /// Writes the whole body, in pieces.
    package func write(to write: (Data) async throws(LoadingError) -> Void) async throws {
        switch content {
        case .bytes(let bytes):
            var rest = bytes[...]
            while !rest.isEmpty {
                try await write(Data(rest.prefix(Self.pieceSize)))
                rest = rest.dropFirst(Self.pieceSize)
            }
        case .file(let path, let offset):
            let file = try FileSource(path: path, offset: offset, context: LoadingError.Context())
            guard let length else {
                while let chunk = try await file.next() { try await write(chunk) }
                return
            }
            // If the file has grown since, no more than the announced length may be sent.
            var remaining = length
            while remaining > 0, let chunk = try await file.next() {
                let piece = chunk.prefix(Int(min(remaining, Int64(chunk.count))))
                remaining -= Int64(piece.count)
                try await write(Data(piece))
            }
            guard remaining == 0 else {
                let fault = LoadingError.FileCause(
                    path: path,
                    operation: .read,
                    reason: "it has become shorter by \(remaining) bytes"
                )
                throw LoadingError(.file(fault))
            }
        case .stream(let make):
            try await make(write)
        }
    }

    /// The body, made replayable by a closure that provides a new body for each further sending.
    ///
    /// If the closure returns nil, that sending fails with ``LoadingError/RequestCause/bodyNotReplayable``.
    package func reopened(by reopen: @escaping @Sendable () async -> Request.Body?) -> Request.Body {
        let reopening = Reopening(first: self, reopen: reopen)
        var body = Request.Body.writer(length: length, isReplayable: true, contentType: contentType) { write in
            try await reopening.write(to: write)
        }
        body.trailers = trailers
        return body
    }
}

/// A body that is replaced by others when it is sent again.
private final class Reopening: Sendable {
    private let first: Request.Body
    private let reopen: @Sendable () async -> Request.Body?
    private let wasSent = Locked(false)

    init(first: Request.Body, reopen: @escaping @Sendable () async -> Request.Body?) {
        self.first = first
        self.reopen = reopen
    }

    func write(to write: Request.Body.ChunkWriter) async throws {
        let isFirst = wasSent.withLock { wasSent in
            defer { wasSent = true }
            return !wasSent
        }
        guard !isFirst else { return try await first.write(to: write) }
        guard let body = await reopen() else { throw LoadingError(.invalidRequest(.bodyNotReplayable)) }
        try await body.write(to: write)
    }
}
