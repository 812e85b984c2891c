import CSQLite
import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The keys whose exchanges this process carries out: each is a locked byte of a file that all processes share.
///
/// The system releases the locks of a process that ends, so a killed one keeps no other process waiting. Where the system
/// has no such locks, or the file cannot be made, every key is free.
final class KeyLocks: Sendable {
    private struct State {
        var descriptor: Int32 = -1
        var held: Set<Int64> = []
    }

    private let path: String
    // Guarded by its lock.
    private let state = Locked(State())

    init(_ path: String) { self.path = path }

    deinit {
        let descriptor = state.withLock(\.descriptor)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Locks a key.
    ///
    /// - Returns: Whether it was free, in this process and in others.
    func lock(_ digest: [UInt8]) -> Bool {
        let byte = Self.byte(digest)
        let isFree = state.withLock { state in
            if state.descriptor < 0 { state.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
            return state.held.insert(byte).inserted ? Optional(state.descriptor) : nil
        }
        guard let descriptor = isFree else { return false }
        guard descriptor >= 0, lade_lock_byte(descriptor, byte, 1) != 0, errno == EAGAIN || errno == EACCES else {
            return true
        }
        _ = state.withLock { $0.held.remove(byte) }
        return false
    }

    /// Unlocks a key; does nothing for a key that this object has not locked.
    func unlock(_ digest: [UInt8]) {
        let byte = Self.byte(digest)
        let descriptor = state.withLock { state in state.held.contains(byte) ? state.descriptor : -1 }
        if descriptor >= 0 { _ = lade_lock_byte(descriptor, byte, 0) }
        _ = state.withLock { $0.held.remove(byte) }
    }

    /// Two keys with the same byte wait for each other, which is harmless.
    private static func byte(_ digest: [UInt8]) -> Int64 {
        digest.prefix(8).reduce(0) { $0 << 8 | Int64($1) } & (1 << 62 - 1)
    }
}
