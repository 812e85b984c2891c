import Foundation
import LadeCore

/// A request's body in a form that the platform accepts.
enum Upload: Sendable {
    case none
    case bytes(Data)
    case file(URL)
    case spooled(SpooledFile)
    #if canImport(Darwin)
        case stream(BoundStreamUpload)
    #endif

    /// The body, if it is available without waiting: none, bytes, or a whole file of unchanged length.
    init?(immediately body: Request.Body?) {
        switch body?.content {
        case nil: self = .none
        case .bytes(let bytes): self = .bytes(bytes)
        case .file(let path, 0):
            // The platform sends the file as it is now. A file that grew or shrank is copied at the right length
            // instead, or the copy fails with the reason.
            let file = try? FileSource(path: path, context: LoadingError.Context())
            guard let length = file?.length, length == body?.length else { return nil }
            self = .file(URL(fileURLWithPath: path))
        case .file, .stream: return nil
        }
    }
}

/// A temporary file that holds a body until it is sent; it is removed with its last reference.
final class SpooledFile: Sendable {
    let url: URL

    private init(url: URL) {
        self.url = url
    }

    deinit {
        // It may never have been created; the system removes files that stay in the temporary directory.
        try? FileManager.default.removeItem(at: url)
    }

    /// Writes a body to a new file that only this user can read.
    ///
    /// - Parameters:
    ///   - body: The body to write;
    ///   - request: For errors.
    ///   - progress: Called for each chunk.
    /// - Returns: The file.
    /// - Throws: ``LoadingError/Kind/requestBodyFailed`` for an error of the body, ``LoadingError/Kind/file(_:)`` for an
    ///   error of the disk, ``LoadingError/Kind/cancelled`` when the task is cancelled.
    static func make(
        from body: Request.Body,
        of request: Request,
        progress: @escaping @Sendable () -> Void
    ) async throws(LoadingError) -> SpooledFile {
        let directory = FileManager.default.temporaryDirectory
        let file = SpooledFile(url: directory.appendingPathComponent("lade-\(UUID().uuidString)"))
        let spool = try Spool(file, context: LoadingError.Context(request), progress: progress)
        switch body.content {
        case .bytes(let bytes): try spool.write(bytes)
        case .file(let path, let offset): try await spool.copy(path, from: offset, length: body.length)
        case .stream(let produce): try await spool.fill(from: produce)
        }
        if let length = body.length, length != spool.count {
            let fault = LoadingError.RequestCause.contentLength(written: String(length), actual: spool.count)
            throw LoadingError(.invalidRequest(fault), LoadingError.Context(request))
        }
        return file
    }
}

/// Writes one file, in one task.
private final class Spool {
    private let handle: FileHandle
    private let path: String
    private let context: LoadingError.Context
    private let progress: @Sendable () -> Void
    private(set) var count: Int64 = 0

    init(_ file: SpooledFile, context: LoadingError.Context, progress: @escaping @Sendable () -> Void)
        throws(LoadingError)
    {
        path = file.url.path
        self.context = context
        self.progress = progress
        let isCreated = FileManager.default.createFile(
            atPath: path,
            contents: nil,
            attributes: [.posixPermissions: 0o600]
        )
        guard isCreated, let handle = FileHandle(forWritingAtPath: path) else {
            throw LoadingError(
                .file(LoadingError.FileCause(path: path, operation: .write, reason: "it cannot be created")),
                context
            )
        }
        self.handle = handle
    }

    func write(_ chunk: Data) throws(LoadingError) {
        guard !Task.isCancelled else { throw LoadingError(.cancelled, context) }
        do {
            try handle.write(contentsOf: chunk)
        } catch {
            throw LoadingError(
                .file(LoadingError.FileCause(path: path, operation: .write, reason: error.localizedDescription)),
                context
            )
        }
        count += Int64(chunk.count)
        progress()
    }

    func copy(_ path: String, from offset: Int64, length: Int64?) async throws(LoadingError) {
        let source = try FileSource(path: path, offset: offset, context: context)
        var remaining = length ?? .max
        while remaining > 0, let chunk = try await source.next() {
            try write(chunk.prefix(Int(clamping: remaining)))
            remaining -= Int64(chunk.count)
        }
    }

    func fill(from produce: @Sendable (Request.Body.ChunkWriter) async throws -> Void) async throws(LoadingError) {
        // An error of the writer itself keeps its type, even if the body rethrows or ignores it; all others are errors
        // of the body.
        var ownError: LoadingError?
        var bodyError: (any Error)?
        do {
            try await produce { (chunk) async throws(LoadingError) in
                do throws(LoadingError) {
                    try self.write(chunk)
                } catch {
                    ownError = error
                    throw error
                }
            }
        } catch {
            bodyError = error
        }
        if let ownError { throw ownError }
        if let bodyError {
            guard !Task.isCancelled else { throw LoadingError(.cancelled, context) }
            throw LoadingError(.requestBodyFailed, context, underlyingError: bodyError)
        }
    }
}
