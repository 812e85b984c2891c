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
import Lade

/// A file that is written by one harvest.
///
/// Its errors say what to do.
final class Disk {
    let path: String
    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private let calls: any DiskCalls

    private init(_ path: String, _ descriptor: Int32, _ calls: any DiskCalls, owned: Bool) {
        self.path = path
        self.descriptor = descriptor
        self.calls = calls
        ownsDescriptor = owned
    }

    /// Opens a file for reading and writing, creating it if necessary, and locks it against other harvests for the life
    /// of this value.
    convenience init(locking path: String, _ calls: any DiskCalls, mode: mode_t = 0o644) throws(HarvestError) {
        self.init(path, try Self.openLocked(path, calls, mode), calls, owned: true)
    }

    /// Creates an empty file, replacing an existing one.
    convenience init(creating path: String, _ calls: any DiskCalls, mode: mode_t) throws(HarvestError) {
        // Something else under that name, such as a link that was planted there, is removed and not written to.
        unlink(path)
        let descriptor = calls.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Self.failure(path, errno, .write) }
        self.init(path, descriptor, calls, owned: true)
    }

    /// Opens a regular file for reading; what a link leads to is none.
    convenience init(reading path: String, _ calls: any DiskCalls) throws(HarvestError) {
        let descriptor = calls.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0)
        guard descriptor >= 0 else { throw Self.failure(path, errno, .read) }
        self.init(path, descriptor, calls, owned: true)
        guard size != nil else {
            throw .file(LoadingError.FileCause(path: path, operation: .read, reason: "it is no regular file"))
        }
    }

    /// Writes to a descriptor that the caller keeps open and closes.
    convenience init(descriptor: Int32, _ calls: any DiskCalls) {
        self.init("the output", descriptor, calls, owned: false)
    }

    deinit {
        guard ownsDescriptor else { return }
        // Unlocked explicitly: a process that was being started meanwhile may hold the same open file slightly longer.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func openLocked(_ path: String, _ calls: any DiskCalls, _ mode: mode_t) throws(HarvestError) -> Int32
    {
        while true {
            let descriptor = calls.open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode)
            guard descriptor >= 0 else { throw failure(path, errno, .write) }
            // Some file systems have no locks; then the file is used without one.
            if calls.lock(descriptor) != 0, errno == EWOULDBLOCK {
                close(descriptor)
                throw .outputBusy(path: path)
            }
            // The file may have been replaced between the two calls: a lock counts only for the file that has the name
            // now.
            if FileIdentity(descriptor) == FileIdentity(path: path) { return descriptor }
            close(descriptor)
        }
    }

    /// The size in bytes; nil if it is not a regular file.
    var size: Int64? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    /// Whether the file has this size, and its name.
    ///
    /// Another program may have truncated, replaced or removed it.
    func isUnchanged(size: Int64) -> Bool {
        self.size == size && FileIdentity(descriptor) == FileIdentity(path: path)
    }

    func write(_ bytes: Data) throws(HarvestError) {
        // `withUnsafeBytes` does not support typed errors.
        let failure = bytes.withUnsafeBytes { bytes -> HarvestError? in
            do throws(HarvestError) {
                try write(bytes)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(HarvestError) {
        var offset = 0
        while offset < bytes.count, let base = bytes.baseAddress {
            let count = calls.write(
                descriptor,
                UnsafeRawBufferPointer(start: base + offset, count: bytes.count - offset)
            )
            if count >= 0 {
                offset += count
            } else if errno == EAGAIN {
                // The descriptor was made non-blocking elsewhere; `poll` waits instead.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&ready, 1, -1)
            } else if errno != EINTR {
                throw Self.failure(path, errno, .write)
            }
        }
    }

    /// Returns when the written bytes are safe from a loss of power.
    func synchronise() throws(HarvestError) {
        // A pipe or a terminal cannot be synchronised and need not be.
        guard calls.synchronise(descriptor) != 0, errno != EINVAL, errno != ENOTSUP, errno != EROFS else { return }
        throw Self.failure(path, errno, .write)
    }

    /// Truncates the file and continues to write at its end.
    func truncate(to size: Int64) throws(HarvestError) {
        guard calls.truncate(descriptor, off_t(size)) == 0, lseek(descriptor, off_t(size), SEEK_SET) >= 0 else {
            throw Self.failure(path, errno, .write)
        }
    }

    /// Reads the first bytes, piece by piece.
    func read(
        _ size: Int64,
        _ body: (UnsafeRawBufferPointer) throws(HarvestError) -> Void
    ) throws(HarvestError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < size {
            let wanted = Int(min(Int64(buffer.count), size - offset))
            let count = pread(descriptor, buffer.baseAddress, wanted, off_t(offset))
            if count > 0 {
                try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                offset += Int64(count)
            } else if count == 0 {
                throw .outputChanged(path: path, reason: "it is shorter")
            } else if errno != EINTR {
                throw Self.failure(path, errno, .read)
            }
        }
    }

    /// The bytes of a file of at most `limit` bytes; nil if there is no file.
    static func contents(of path: String, limit: Int64, _ calls: any DiskCalls) throws(HarvestError) -> Data? {
        // Opening a pipe without a writer would wait for one.
        let descriptor = calls.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure(path, errno, .read)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(path, errno, .read) }
        let isFile = status.st_mode & S_IFMT == S_IFREG
        guard isFile, status.st_size <= limit else {
            let reason = isFile ? "it is larger than \(limit) bytes" : "it is no regular file"
            throw .file(LoadingError.FileCause(path: path, operation: .read, reason: reason))
        }
        var contents = Data()
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = systemRead(descriptor, &piece, piece.count)
            if count > 0 {
                contents.append(contentsOf: piece[..<count])
            } else if count == 0 {
                return contents
            } else if errno != EINTR {
                throw failure(path, errno, .read)
            }
        }
    }

    /// Removes a file, if there is one.
    static func remove(_ path: String) { unlink(path) }

    /// Renames a file, and makes that safe from a loss of power.
    static func rename(_ path: String, to target: String, _ calls: any DiskCalls) throws(HarvestError) {
        guard calls.rename(path, target) == 0 else { throw failure(target, errno, .write) }
        let descriptor = calls.open(folder(of: target), O_RDONLY | O_CLOEXEC, 0)
        // A folder that may not be read cannot be synchronised; its entries are as safe as the system keeps them.
        guard descriptor >= 0 else { return }
        _ = calls.synchronise(descriptor)
        close(descriptor)
    }

    /// The folder that has a file.
    static func folder(of path: String) -> String {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Makes a folder, unless there is one.
    static func makeFolder(_ path: String) throws(HarvestError) {
        guard mkdir(path, 0o755) != 0, errno != EEXIST else { return }
        throw failure(path, errno, .write)
    }

    static func failure(_ path: String, _ code: Int32, _ operation: LoadingError.FileCause.Operation) -> HarvestError {
        switch code {
        case ENOSPC, EDQUOT, EFBIG: .diskFull(path: path)
        case EPIPE: .outputClosed
        default:
            .file(LoadingError.FileCause(path: path, operation: operation, reason: String(cString: strerror(code))))
        }
    }
}

// A separate function, because a method above has the same name.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}
