#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The system calls that a harvest changes the disk with, so that a test can record them and let each of them fail.
///
/// Each call returns what the system's does, and leaves the reason of a failure in `errno`.
protocol DiskCalls: Sendable {
    /// Opens a file by its path.
    func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32
    /// Takes the lock of an open file.
    func lock(_ descriptor: Int32) -> Int32
    /// Writes bytes at the descriptor's position.
    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int
    /// Makes what was written safe from a loss of power.
    func synchronise(_ descriptor: Int32) -> Int32
    /// Cuts a file to a size.
    func truncate(_ descriptor: Int32, _ size: off_t) -> Int32
    /// Gives a file another one's name.
    func rename(_ path: String, _ target: String) -> Int32
}

/// The calls of the system itself.
struct SystemDiskCalls: DiskCalls {
    func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { systemOpen(path, flags, mode) }

    func lock(_ descriptor: Int32) -> Int32 { flock(descriptor, LOCK_EX | LOCK_NB) }

    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        systemWrite(descriptor, bytes.baseAddress, bytes.count)
    }

    func synchronise(_ descriptor: Int32) -> Int32 { fsync(descriptor) }

    func truncate(_ descriptor: Int32, _ size: off_t) -> Int32 { ftruncate(descriptor, size) }

    func rename(_ path: String, _ target: String) -> Int32 { systemRename(path, target) }
}

// The names of these are those of methods above.
private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
    open(path, flags, mode)
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

private func systemRename(_ from: String, _ to: String) -> Int32 {
    rename(from, to)
}
