#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads a file, a pipe or, for `-`, the standard input once, on a separate thread; opens it for the first piece.
final class InputReader: Sendable {
    private let path: String
    private let queue = BlockingQueue(label: "lade.input")
    // Accessed only on `queue`; the lock makes this visible to the compiler.
    private let opened = Locked(Descriptor?.none)

    /// Makes a reader for a path; nothing is opened yet.
    init(_ path: String) {
        self.path = path
    }

    deinit {
        // All data has been read, so an error of closing does not matter.
        if path != "-" { try? opened.withLock(\.self)?.close() }
    }

    /// The next piece; nil at the end.
    ///
    /// - Throws: A local error, or the quiet error of an interruption when the task is cancelled.
    func next() async throws(CommandError) -> Data? {
        let result = await queue.run { [self] () -> Result<Data, SystemError> in
            do throws(SystemError) {
                return .success(try descriptor().read(upTo: 64 << 10))
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let chunk): return chunk.isEmpty ? nil : chunk
        case .failure(let error): throw .file(path, "read", error)
        case nil: throw .interrupted
        }
    }

    /// Reads to the end; nil when there are more than `limit` bytes.
    func all(atMost limit: Int) async throws(CommandError) -> Data? {
        var all = Data()
        while let chunk = try await next() {
            all.append(chunk)
            guard all.count <= limit else { return nil }
        }
        return all
    }

    private func descriptor() throws(SystemError) -> Descriptor {
        if let descriptor = opened.withLock(\.self) { return descriptor }
        let descriptor = path == "-" ? Descriptor.standardInput : try .open(path, O_RDONLY)
        opened.withLock { $0 = descriptor }
        return descriptor
    }

    /// Whether a path names a file on a disk, whose length is known before it is read.
    static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Whether a path names a pipe that belongs to the user.
    static func isOwnPipe(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO && status.st_uid == geteuid()
    }

    /// Whether a path names an existing file of any kind.
    static func exists(_ path: String) -> Bool {
        access(path, R_OK) == 0
    }
}
