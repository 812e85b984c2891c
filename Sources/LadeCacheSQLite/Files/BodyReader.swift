#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCache
import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads one body: rows are in memory already, files are open, so that their removal does not matter.
///
/// Every chunk is compared with its checksum before it is handed out.
final class BodyReader: CacheReader {
    /// A file that is closed with the last reference to it.
    private final class File: Sendable {
        let descriptor: Int32
        init(_ descriptor: Int32) { self.descriptor = descriptor }
        deinit { close(descriptor) }
    }

    private struct Part: Sendable {
        /// The range within the blob.
        let span: Range<Int64>
        let blob: WriteSession.Blob
        let file: File?
    }

    private struct State {
        var part = 0
        var position: Int64?
        /// The bytes that were read when the body was opened.
        var first: Data?
    }

    private let id: UInt64
    private let lease: SignOutWatch?
    private let parts: [Part]
    private let damaged: @Sendable (UInt64) -> Void
    // Guarded by its lock.
    private let state = Locked(State())
    /// All bytes, where they are in memory.
    private let whole: Data?

    /// Opens a body; nil when its first bytes are damaged or lost.
    init?(
        _ id: UInt64,
        _ body: Reading.Body,
        _ segments: [Segment],
        _ folder: StoreFolder,
        _ lease: SignOutWatch?,
        damaged: @escaping @Sendable (UInt64) -> Void
    ) {
        (self.id, self.lease, self.damaged) = (id, lease, damaged)
        var parts: [Part] = []
        var files: [UInt64: File] = [:]
        for run in segments {
            guard let blob = body.blobs[run.blob], run.offset + run.length <= blob.length,
                blob.sums.suffice(blob.length)
            else { return nil }
            if blob.bytes == nil, files[run.blob] == nil {
                let descriptor = folder.openBody(blob.seed)
                guard descriptor >= 0 else { return nil }
                files[run.blob] = File(descriptor)
            }
            parts.append(Part(span: run.offset..<run.offset + run.length, blob: blob, file: files[run.blob]))
        }
        self.parts = parts
        if parts.allSatisfy({ $0.file == nil }) {
            var all = Data()
            for part in parts {
                guard let bytes = Self.verified(part) else { return nil }
                if all.isEmpty { all = bytes } else { all.append(bytes) }
            }
            whole = all
            state.withLock { state in
                state.first = all.isEmpty ? nil : all
                state.part = parts.count
            }
        } else {
            whole = nil
            guard let first = read() else { return nil }
            state.withLock { $0.first = first }
        }
    }

    /// Whether all bytes of a body are as they were stored.
    static func isSound(_ id: UInt64, _ body: Reading.Body, _ segments: [Segment], _ folder: StoreFolder) -> Bool {
        guard let reader = BodyReader(id, body, segments, folder, nil, damaged: { _ in }) else { return false }
        while reader.state.withLock({ $0.part < reader.parts.count }) {
            if reader.read() == nil { return false }
        }
        return true
    }

    /// The bytes of a part in memory; nil when they are damaged.
    private static func verified(_ part: Part) -> Data? {
        guard let bytes = part.blob.bytes, Int64(bytes.count) == part.blob.length,
            ChunkSums(of: bytes, seed: part.blob.seed) == part.blob.sums
        else { return nil }
        guard part.span != 0..<part.blob.length else { return bytes }
        let start = bytes.startIndex
        return bytes[(start + Int(part.span.lowerBound))..<(start + Int(part.span.upperBound))]
    }

    var bytes: Data? { lease?.isEnded ?? false ? nil : whole }

    func next() async throws(CacheError) -> Data? {
        guard !(lease?.isEnded ?? false) else { throw CacheError(.signedOut) }
        let first = state.withLock { state in
            defer { state.first = nil }
            return state.first
        }
        if let first { return first }
        guard state.withLock({ $0.part < parts.count }) else { return nil }
        guard let bytes = read() else {
            damaged(id)
            throw CacheError(.damaged)
        }
        return bytes
    }

    /// The next bytes, at most a chunk; nil when they are damaged.
    private func read() -> Data? {
        let (index, start) = state.withLock { ($0.part, $0.position) }
        let part = parts[index]
        let position = start ?? part.span.lowerBound
        let chunk = Int64(Checksum.chunk)
        let number = position / chunk
        let from = number * chunk
        let length = Int(min(chunk, part.blob.length - from))
        let end = min(from + chunk, part.span.upperBound)
        state.withLock { state in
            state.position = end
            if end == part.span.upperBound { (state.part, state.position) = (index + 1, nil) }
        }
        var bytes: Data
        if let file = part.file {
            guard let read = Self.read(file.descriptor, from, length) else { return nil }
            bytes = read
        } else {
            guard let all = part.blob.bytes, Int64(all.count) == part.blob.length else { return nil }
            bytes = all.dropFirst(Int(from)).prefix(length)
        }
        guard bytes.withUnsafeBytes({ part.blob.sums.match(Int(number), $0, seed: part.blob.seed) }) else { return nil }
        if position > from || end < from + Int64(length) {
            bytes = bytes.dropFirst(Int(position - from)).prefix(Int(end - position))
        }
        return bytes
    }

    private static func read(_ descriptor: Int32, _ offset: Int64, _ count: Int) -> Data? {
        guard let memory = malloc(count) else { return nil }
        var filled = 0
        while filled < count {
            let read = pread(descriptor, memory + filled, count - filled, off_t(offset) + off_t(filled))
            if read > 0 {
                filled += read
            } else if read == 0 || errno != EINTR {
                free(memory)
                return nil
            }
        }
        return Data(bytesNoCopy: memory, count: count, deallocator: .free)
    }
}

/// Whether the account of a body that is being read has signed out.
final class SignOutWatch: Sendable {
    /// Other processes are asked this often.
    private static let interval = Duration.milliseconds(500)

    private let account: String?
    private let core: StoreCore
    private let ticket: UInt64
    private let position: Int
    // Guarded by its lock.
    private let state: Locked<(isEnded: Bool, asked: Instant)>

    init(_ account: String?, _ core: StoreCore, ticket: UInt64, position: Int) {
        (self.account, self.core, self.ticket, self.position) = (account, core, ticket, position)
        state = Locked((false, core.time.now))
    }

    var isEnded: Bool {
        guard let account else { return false }
        let now = core.time.now
        let (isEnded, mustAsk) = state.withLock { state in
            guard !state.isEnded, state.asked.duration(to: now) >= Self.interval else { return (state.isEnded, false) }
            state.asked = now
            return (false, true)
        }
        guard !isEnded else { return true }
        let hasSignedOut =
            core.hasSignedOut(account, after: position)
            || mustAsk && core.hasSignedOutElsewhere(account, since: ticket)
        if hasSignedOut { state.withLock { $0.isEnded = true } }
        return hasSignedOut
    }
}
