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

/// The first bytes of a part of a file.
struct FileBytes {
    /// The bytes; nil when the file cannot be read.
    let bytes: Data?

    init(_ path: String, offset: Int64, limit: Int) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            bytes = nil
            return
        }
        defer { close(descriptor) }
        var found = Data()
        var buffer = [UInt8](repeating: 0, count: min(limit, 64 << 10))
        while found.count < limit {
            let count = buffer.withUnsafeMutableBytes { bytes in
                pread(
                    descriptor,
                    bytes.baseAddress,
                    min(bytes.count, limit - found.count),
                    off_t(offset) + off_t(found.count)
                )
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            found.append(contentsOf: buffer[..<count])
        }
        bytes = found
    }
}
