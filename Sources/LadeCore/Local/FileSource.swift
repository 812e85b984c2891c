#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads a file in pieces, for a response body or a request body.
package final class FileSource: Response.Body.Source {
    private static let piece = 256 << 10

    private enum State {
        case open(descriptor: Int32, position: Int64)
        /// The descriptor is closed by `deinit`, because a read may be in progress.
        case cancelled(descriptor: Int32)
        case ended
    }

    private let state: Locked<State>
    private let path: String
    private let context: LoadingError.Context

    /// Opens a regular file.
    ///
    /// - Throws: ``LoadingError/Kind/file(_:)`` when it cannot be opened for reading.
    package init(path: String, offset: Int64 = 0, context: LoadingError.Context) throws(LoadingError) {
        self.path = path
        self.context = context
        // Opening a named pipe would wait for a writer; for a regular file the flag has no effect.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.fault(path, errno, context) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw LoadingError(
                .file(LoadingError.FileCause(path: path, operation: .read, reason: "it is not a regular file")),
                context
            )
        }
        length = Self.length(of: descriptor, status, from: offset)
        state = Locked(.open(descriptor: descriptor, position: offset))
    }

    deinit {
        switch state.withLock({ $0 }) {
        case .open(let descriptor, _), .cancelled(let descriptor): close(descriptor)
        case .ended: break
        }
    }

    /// The number of bytes to read, as it was when the file was opened; nil for a file with content but without a size.
    package let length: Int64?

    /// The number of bytes from an offset to the end of an open file; nil for a file with content but without a size.
    ///
    /// The files of `/proc` have the size 0, and their content is made when it is read.
    static func length(of descriptor: Int32, _ status: stat, from offset: Int64) -> Int64? {
        guard status.st_size == 0 else { return Int64(status.st_size) - offset }
        var byte: UInt8 = 0
        return pread(descriptor, &byte, 1, off_t(offset)) > 0 ? nil : -offset
    }

    package func next() async throws(LoadingError) -> Data? {
        if Task.isCancelled { cancel() }
        let (descriptor, position): (Int32, Int64)
        switch state.withLock({ $0 }) {
        case .ended: return nil
        case .cancelled: throw LoadingError(.cancelled, context)
        case .open(let openDescriptor, let openPosition): (descriptor, position) = (openDescriptor, openPosition)
        }
        var chunk = Data(count: Self.piece)
        var count = 0
        repeat {
            count = chunk.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, Self.piece, off_t(position)) }
        } while count < 0 && errno == EINTR
        let error = errno
        let isCancelled = state.withLock { state in
            if case .cancelled = state { return true }
            state = count > 0 ? .open(descriptor: descriptor, position: position + Int64(count)) : .ended
            return false
        }
        guard !isCancelled else { throw LoadingError(.cancelled, context) }
        guard count > 0 else {
            close(descriptor)
            if count < 0 { throw Self.fault(path, error, context) }
            return nil
        }
        return count == Self.piece ? chunk : chunk.prefix(count)
    }

    package func cancel() {
        state.withLock { state in
            if case .open(let descriptor, _) = state { state = .cancelled(descriptor: descriptor) }
        }
    }

    package var trailers: Headers { Headers() }

    package var metrics: Response.Metrics { Response.Metrics() }

    private static func fault(_ path: String, _ error: Int32, _ context: LoadingError.Context) -> LoadingError {
        LoadingError(
            .file(LoadingError.FileCause(path: path, operation: .read, reason: String(cString: strerror(error)))),
            context
        )
    }
}
