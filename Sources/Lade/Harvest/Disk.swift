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
import LadeCore

/// A file that is written by one harvest, with errors that say what to do.
final class Disk {
    let path: String
    private let descriptor: Int32
    private let ownsDescriptor: Bool

    /// Opens a file for reading and writing; makes it when it is not there.
    init(opening path: String, isTruncated: Bool = false, mode: mode_t = 0o644) throws(HarvestError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (isTruncated ? O_TRUNC : 0), mode)
        ownsDescriptor = true
        guard descriptor >= 0 else { throw Self.failure(path, errno, .write) }
    }

    /// Writes to a descriptor that stays the caller's.
    init(descriptor: Int32) {
        path = "the output"
        self.descriptor = descriptor
        ownsDescriptor = false
    }

    deinit {
        guard ownsDescriptor, descriptor >= 0 else { return }
        // Said in words: a process that was being started meanwhile may hold the same open file for a moment longer.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Keeps other harvests away as long as this value lives.
    func lock() throws(HarvestError) {
        guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
        // Some file systems know no locks; then there is none.
        if errno == EWOULDBLOCK { throw .outputBusy(path: path) }
    }

    /// The size in bytes; nil for what is no regular file.
    var size: Int64? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    func write(_ bytes: Data) throws(HarvestError) {
        // `withUnsafeBytes` passes no typed errors on.
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

    private func write(_ bytes: UnsafeRawBufferPointer) throws(HarvestError) {
        var offset = 0
        while offset < bytes.count, let base = bytes.baseAddress {
            let count = systemWrite(descriptor, base + offset, bytes.count - offset)
            if count >= 0 {
                offset += count
            } else if errno == EAGAIN {
                // Somebody made the descriptor non-blocking; a poll gives the wait back.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&ready, 1, -1)
            } else if errno != EINTR {
                throw Self.failure(path, errno, .write)
            }
        }
    }

    /// Returns when what was written is safe from a loss of power.
    func synchronise() throws(HarvestError) {
        // What is no file (a pipe, a terminal) cannot be and need not be.
        guard fsync(descriptor) != 0, errno != EINVAL, errno != ENOTSUP, errno != EROFS else { return }
        throw Self.failure(path, errno, .write)
    }

    /// Cuts the file and goes on writing at its end.
    func truncate(to size: Int64) throws(HarvestError) {
        guard ftruncate(descriptor, off_t(size)) == 0, lseek(descriptor, off_t(size), SEEK_SET) >= 0 else {
            throw Self.failure(path, errno, .write)
        }
    }

    /// Reads the first bytes, piece by piece.
    func read(_ size: Int64, _ body: (UnsafeRawBufferPointer) -> Void) throws(HarvestError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < size {
            let wanted = Int(min(Int64(buffer.count), size - offset))
            let count = pread(descriptor, buffer.baseAddress, wanted, off_t(offset))
            if count > 0 {
                body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                offset += Int64(count)
            } else if count == 0 {
                throw .outputChanged(path: path, reason: "it is shorter")
            } else if errno != EINTR {
                throw Self.failure(path, errno, .read)
            }
        }
    }

    static func contents(of path: String) throws(HarvestError) -> Data? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure(path, errno, .read)
        }
        defer { close(descriptor) }
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

    /// Gives a file another one's name, and makes that safe from a loss of power.
    static func rename(_ path: String, to target: String) throws(HarvestError) {
        guard systemRename(path, target) == 0 else { throw failure(target, errno, .write) }
        let slash = target.lastIndex(of: "/")
        let folder = slash.map { $0 == target.startIndex ? "/" : String(target[..<$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        // A folder that may not be read keeps its entries as well as it can.
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    static func remove(_ path: String) throws(HarvestError) {
        guard unlink(path) != 0, errno != ENOENT else { return }
        throw failure(path, errno, .write)
    }

    static func failure(_ path: String, _ code: Int32, _ operation: FileFault.Operation) -> HarvestError {
        switch code {
        case ENOSPC, EDQUOT, EFBIG: .diskFull(path: path)
        case EPIPE: .outputClosed
        default: .file(FileFault(path: path, operation: operation, reason: String(cString: strerror(code))))
        }
    }
}

// The names of these are those of methods above.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

private func systemRename(_ from: String, _ to: String) -> Int32 {
    rename(from, to)
}
