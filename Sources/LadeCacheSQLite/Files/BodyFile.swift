#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The file of a body that is being written; it is removed unless a row refers to it in the end.
///
/// Sendable: only the writing thread uses it, until the last reference is released.
final class BodyFile: @unchecked Sendable {
    private let folder: StoreFolder
    private let seed: UInt64
    private var descriptor: Int32 = -1
    private var sums = ChunkSums()
    private var chunks = 0
    private var length: Int64 = 0
    /// The bytes of a chunk that is not full yet.
    private var tail = Data()
    private var failure: StoreFault?
    private var isKept = false

    init(_ folder: StoreFolder, seed: UInt64) {
        (self.folder, self.seed) = (folder, seed)
    }

    deinit {
        guard descriptor >= 0 else { return }
        if !isKept { folder.removeBody(seed) }
        // Closing releases the lock, after which a file without a row may be removed by any process.
        close(descriptor)
    }

    /// Appends bytes; a failure is reported at the end.
    func append(_ bytes: Data) {
        guard failure == nil else { return }
        do throws(StoreFault) {
            if descriptor < 0 { descriptor = try folder.makeBody(seed) }
            length += Int64(bytes.count)
            guard !tail.isEmpty else { return try add(bytes) }
            let missing = min(Checksum.chunk - tail.count, bytes.count)
            tail.append(bytes.prefix(missing))
            guard tail.count == Checksum.chunk else { return }
            let chunk = tail
            tail = Data()
            try write(chunk)
            try add(bytes.dropFirst(missing))
        } catch {
            failure = error
        }
    }

    /// Writes whole chunks, and keeps the rest.
    private func add(_ bytes: Data) throws(StoreFault) {
        let whole = bytes.count / Checksum.chunk * Checksum.chunk
        if whole > 0 { try write(bytes.prefix(whole)) }
        if whole < bytes.count { tail = Data(bytes.dropFirst(whole)) }
    }

    private func write(_ bytes: Data) throws(StoreFault) {
        let code = bytes.withUnsafeBytes { bytes -> Int32 in
            var start = 0
            while start < bytes.count {
                let end = min(start + Checksum.chunk, bytes.count)
                sums.append(Checksum.chunk(chunks, UnsafeRawBufferPointer(rebasing: bytes[start..<end]), seed: seed))
                chunks += 1
                start = end
            }
            var offset = 0
            while offset < bytes.count, let base = bytes.baseAddress {
                let count = systemWrite(descriptor, base + offset, bytes.count - offset)
                if count > 0 {
                    offset += count
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
        guard code == 0 else { throw StoreFolder.failure(code) }
    }

    /// Writes the rest, and returns the facts that a row keeps.
    func finish() throws(StoreFault) -> WriteSession.Blob {
        if failure == nil, !tail.isEmpty {
            do throws(StoreFault) { try write(tail) } catch { failure = error }
            tail = Data()
        }
        if let failure { throw failure }
        return WriteSession.Blob(seed: seed, length: length, sums: sums, bytes: nil)
    }

    /// Keeps the file: a row refers to it, or the transaction has removed it.
    func keep() { isKept = true }
}

// A separate function, because a method above has the same name.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
