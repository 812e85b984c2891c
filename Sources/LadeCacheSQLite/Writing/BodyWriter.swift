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
        var bytes = Data()
        var count: Int64 = 0
        var file: BodyFile?
        var isOver = false
    }

    private enum Step { case done, refuse, write(BodyFile, Data) }

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
            guard state.count <= limit else {
                state = State(isOver: true)
                return .refuse
            }
            if let file = state.file { return .write(file, bytes) }
            if state.bytes.isEmpty { state.bytes = bytes } else { state.bytes.append(bytes) }
            guard state.count > Int64(Self.rowLimit) else { return .done }
            let file = core.makeFile()
            state.file = file
            defer { state.bytes = Data() }
            return .write(file, state.bytes)
        }
        switch step {
        case .done: return
        case .refuse: throw CacheError(.tooLarge)
        case .write(let file, let bytes):
            guard await core.append(bytes, to: file) else {
                await abort()
                throw CacheError(.tooSlow)
            }
        }
    }

    func commit(_ head: StoredHead) async throws(CacheError) -> UInt64? {
        let taken = state.withLock { state -> State? in
            guard !state.isOver else { return nil }
            defer { state = State(isOver: true) }
            return state
        }
        guard let taken else { return nil }
        return try await core.commit(write, head, taken.bytes, taken.file)
    }

    func abort() async {
        state.withLock { $0 = State(isOver: true) }
    }
}
