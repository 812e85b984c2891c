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

/// Reads small files into memory, such as certificates and cookies.
package enum FileContents {
    /// The bytes of a regular file.
    ///
    /// - Parameters:
    ///   - path: The file. A pipe or a device is refused: reading it may have no end.
    ///   - limit: The largest number of bytes.
    ///   - kind: The contents, for the error of a file that is larger: “a certificate”.
    /// - Returns: The bytes.
    /// - Throws: ``LoadingError/Kind/file(_:)`` with the reason.
    package static func read(_ path: String, limit: Int, kind: String) throws(LoadingError) -> Data {
        // Opening a named pipe would wait for a writer; for a regular file the flag has no effect.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw fault(path, String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw fault(path, "it is not a regular file")
        }
        var contents = Data()
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while contents.count <= limit {
            let count = pread(descriptor, &piece, piece.count, off_t(contents.count))
            if count == 0 { return contents }
            if count > 0 {
                contents.append(contentsOf: piece[..<count])
            } else if errno != EINTR {
                throw fault(path, String(cString: strerror(errno)))
            }
        }
        throw fault(path, "it is larger than \(limit >> 20) MiB, so it is not \(kind)")
    }

    private static func fault(_ path: String, _ reason: String) -> LoadingError {
        LoadingError(.file(LoadingError.FileCause(path: path, operation: .read, reason: reason)))
    }
}
