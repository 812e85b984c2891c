#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The system calls with which a harvest changes the disk.
///
/// A test can record them and let each of them fail.
///
/// Each call returns what the system call returns, and leaves the cause of a failure in `errno`.
protocol DiskCalls: Sendable {
    /// Opens a file by its path.
    func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32
    /// Locks an open file.
    func lock(_ descriptor: Int32) -> Int32
    /// Writes bytes at the descriptor's position.
    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int
    /// Makes written bytes safe from a loss of power.
    func synchronise(_ descriptor: Int32) -> Int32
    /// Truncates a file.
    func truncate(_ descriptor: Int32, _ size: off_t) -> Int32
    /// Renames a file.
    func rename(_ path: String, _ target: String) -> Int32
}

/// The system's own calls.
struct SystemDiskCalls: DiskCalls {
    func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { systemOpen(path, flags, mode) }

    func lock(_ descriptor: Int32) -> Int32 { flock(descriptor, LOCK_EX | LOCK_NB) }

    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        systemWrite(descriptor, bytes.baseAddress, bytes.count)
    }

    func synchronise(_ descriptor: Int32) -> Int32 { TrustedFile.synchronise(descriptor) }

    func truncate(_ descriptor: Int32, _ size: off_t) -> Int32 { ftruncate(descriptor, size) }

    func rename(_ path: String, _ target: String) -> Int32 { systemRename(path, target) }
}

// Separate functions, because methods above have the same names.
private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
    open(path, flags, mode)
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

private func systemRename(_ from: String, _ to: String) -> Int32 {
    rename(from, to)
}
