#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCache
import LadeCore

/// Collects the bytes of one entry: small bodies in memory, larger ones in a file.
final class BodyWriter: CacheWriter {
    /// Larger bodies lie in files.
    static let rowLimit = 64 << 10

    private struct State {
        /// The bytes that are not in the file.
        var body = CollectedBody()
        var count: Int64 = 0
        var file: BodyFile?
        var isOver = false

        /// Ends the entry.
        ///
        /// - Returns: The state before; its bytes and its file are released outside of the lock.
        mutating func end() -> State? {
            guard !isOver else { return nil }
            defer { self = State(isOver: true) }
            return self
        }
    }

    private enum Step { case done, refuse(State?), open, write(BodyFile) }

    private let core: StoreCore
    private let write: CacheWrite
    private let limit: Int64
    // Guarded by its lock.
    private let state = Locked(State())

    init(_ core: StoreCore, _ write: CacheWrite, limit: Int64) {
        (self.core, self.write, self.limit) = (core, write, limit)
    }

    func append(_ bytes: Data) async throws(CacheError) {
        let step = state.withLock { state -> Step in
            guard !state.isOver, !bytes.isEmpty else { return .done }
            state.count += Int64(bytes.count)
            guard state.count <= limit else { return .refuse(state.end()) }
            if let file = state.file { return .write(file) }
            state.body.append(bytes)
            return state.count > Int64(Self.rowLimit) ? .open : .done
        }
        switch step {
        case .done: return
        case .refuse: throw CacheError(.tooLarge)
        case .open: try await openFile()
        case .write(let file): try await append(bytes, to: file)
        }
    }

    /// Moves the collected bytes into a file.
    private func openFile() async throws(CacheError) {
        let file = core.makeFile()
        let body = state.withLock { state -> CollectedBody? in
            guard !state.isOver else { return nil }
            state.file = file
            return state.body.take()
        }
        if let body { try await append(body.bytes, to: file) }
    }

    private func append(_ bytes: Data, to file: BodyFile) async throws(CacheError) {
        guard await core.append(bytes, to: file) else {
            await abort()
            throw CacheError(.tooSlow)
        }
    }

    func commit(_ head: StoredHead) async throws(CacheError) -> UInt64? {
        guard let taken = state.withLock({ $0.end() }) else { return nil }
        return try await core.commit(write, head, taken.body.bytes, taken.file)
    }

    func abort() async {
        _ = state.withLock { $0.end() }
    }
}
