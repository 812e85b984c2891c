#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A pipe or a device that a body is written to.
///
/// It is never waited for by a system call that blocks: a wait for its reader ends with the task and the loader.
final class SpecialFile: Sendable {
    private let path: String
    private let descriptor: Int32
    private let request: Request

    /// Opens the file for writing, and waits for the reader of a pipe.
    ///
    /// - Throws: `LoadingError.Kind.file` when it cannot be opened, `LoadingError.Kind.cancelled` when the wait is cancelled.
    init(_ path: String, for request: Request, by loader: Loader) async throws(LoadingError) {
        self.path = path
        self.request = request
        while true {
            let opened = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            guard opened < 0 else {
                descriptor = opened
                return
            }
            let isPipe = errno == ENXIO && Self.isPipe(path)
            guard isPipe || errno == EINTR else { throw FileDistrust.system(errno).error(path, .write) }
            try await loader.core.wait(for: Self.interval, before: request)
        }
    }

    deinit { close(descriptor) }

    /// Writes all bytes, and waits while the reader takes none.
    func write(_ data: Data, by loader: Loader) async throws(LoadingError) {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try await loader.core.wait(for: Self.interval, before: request)
            } else if errno != EINTR {
                throw FileDistrust.system(errno).error(path, .write)
            }
        }
    }

    /// How often a pipe is tried while its reader is waited for.
    private static let interval = Duration.milliseconds(20)

    private static func isPipe(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }
}

// A separate function, because a method above has the same name.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
