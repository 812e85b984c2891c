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

/// A recording on the disk that is a complete document after each entry.
///
/// Each entry is written over the end of the document, with a new end behind it. A process that is killed between two writes
/// leaves a valid file. One that is killed within a write leaves a file that ``repair(_:)`` completes. Only the owner can read
/// the file.
public final class HARFile: Sendable {
    private struct State {
        var pending: [UInt8] = []
        var count = 0
        var isWriting = false
        var isClosed = false
        /// Where the next entry goes.
        var end: Int64
        var failure: HARFault?
    }

    private static let separator = Array(",\n".utf8)
    private static let tail = Array("\n]}}\n".utf8)

    private let descriptor: Int32
    // Guarded by its lock; the writing itself happens outside of it.
    private let state: Locked<State>

    /// Makes a file; one that exists is replaced.
    ///
    /// - Throws: The fault of the file.
    public init(_ path: String) throws(HARFault) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw Self.fault("it cannot be written") }
        // A file that existed keeps its mode otherwise.
        _ = fchmod(descriptor, 0o600)
        let creator = "{\"name\":\"Lade\",\"version\":\"\(UserAgent.LibraryVersion.number)\"}"
        let head = Array("{\"log\":{\"version\":\"1.2\",\"creator\":\(creator),\"entries\":[\n".utf8)
        state = Locked(State(end: Int64(head.count)))
        if let failure = Self.write((head + Self.tail)[...], to: descriptor, at: 0) {
            close(descriptor)
            throw failure
        }
    }

    deinit { close(descriptor) }

    /// Adds an entry.
    ///
    /// It is in the file when this returns, unless another thread is writing; that one then writes it too. A failure is kept
    /// for ``flush()``, and nothing is written after one.
    public func add(_ entry: HAREntry) {
        var text = HARText(after: Self.separator)
        text.object { entry.write(to: &$0) }
        add(text.bytes)
    }

    /// Adds an entry with the separator before it.
    private func add(_ entry: [UInt8]) {
        let bytes = entry + Self.tail
        let first = state.withLock { state -> (bytes: ArraySlice<UInt8>, offset: Int64)? in
            guard state.failure == nil else { return nil }
            let kept = (state.count == 0 ? Self.separator.count : 0)..<entry.count
            state.count += 1
            guard !state.isWriting else {
                state.pending += bytes[kept]
                return nil
            }
            defer { state.end += Int64(kept.count) }
            state.isWriting = true
            return (bytes[kept.lowerBound...], state.end)
        }
        var chunk = first
        while let (bytes, offset) = chunk {
            if let failure = Self.write(bytes, to: descriptor, at: offset) {
                state.withLock { ($0.failure, $0.pending) = (failure, []) }
            }
            chunk = next()
        }
    }

    /// How many entries were added.
    public var count: Int { state.withLock(\.count) }

    /// Reports the first failure of a write.
    ///
    /// - Throws: The fault of the file.
    public func flush() throws(HARFault) {
        if let failure = state.withLock(\.failure) { throw failure }
    }

    /// The entries that other threads have added during the last write; nil for none, so that the next thread writes.
    private func next() -> (bytes: ArraySlice<UInt8>, offset: Int64)? {
        state.withLock { state in
            guard !state.pending.isEmpty else {
                state.isWriting = false
                return nil
            }
            defer {
                state.end += Int64(state.pending.count)
                state.pending = []
            }
            return ((state.pending + Self.tail)[...], state.end)
        }
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, at offset: Int64) -> HARFault? {
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(written))
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == ESPIPE { return HARFault(reason: "it is no regular file", isOfFile: true) }
                guard count > 0 else { return fault("it cannot be written") }
                written += count
            }
            return nil
        }
    }

    static func fault(_ words: String) -> HARFault {
        HARFault(reason: "\(words) (\(String(cString: strerror(errno))))", isOfFile: true)
    }

    /// The result of a repair.
    public struct Repair: Sendable, Hashable {
        /// How many entries the file has now.
        public var kept: Int
        /// Whether anything was wrong.
        public var wasDamaged: Bool
    }

    /// Completes a file that a program left in the middle of an entry.
    ///
    /// Every whole entry is kept, byte for byte but for white space. The rest is removed.
    ///
    /// A file without damage is left as it is. The new file takes the place of the old one in one step, for its owner alone.
    ///
    /// - Throws: The fault of the file, or of one in which no recording begins.
    public static func repair(_ path: String) throws(HARFault) -> Repair {
        let lenient = HARReader(isLenient: true)
        let summary = try lenient.readLines(path) { _, _ in }
        guard !summary.isComplete else { return Repair(kept: summary.count, wasDamaged: false) }
        if summary.faults.contains(where: { $0.member == "log.entries" }) {
            throw HARFault(member: "log.entries", reason: "there is no list of entries to keep")
        }
        let new = path + ".repaired"
        let file = try HARFile(new)
        do throws(HARFault) {
            _ = try lenient.readLines(path) { _, line in file.add(Self.separator + line) }
            try file.flush()
            guard fsync(file.descriptor) == 0, rename(new, path) == 0 else { throw fault("it cannot be replaced") }
        } catch {
            unlink(new)
            throw error
        }
        return Repair(kept: summary.count, wasDamaged: true)
    }
}
