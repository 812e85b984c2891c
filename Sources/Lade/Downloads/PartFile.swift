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

/// A file that is being downloaded: hidden beside its final place until it is complete, with a note of what it is a part
/// of.
struct PartFile {
    /// What a part belongs to; it may go on only with the same.
    struct Origin: Equatable {
        /// The address, without secrets.
        var url: String
        /// The strong entity tag or the date of the representation.
        var validator: String
    }

    let path: String
    private let notePath: String
    private let descriptor: Int32
    /// How many bytes are there.
    private(set) var length: Int64
    /// What they belong to; nil when that is not known, and they cannot be gone on with.
    private(set) var origin: Origin?
    private(set) var hash = SHA256()

    /// Opens the part of a final name, with what an earlier download has left of it.
    init(for name: String, in folder: String) throws(LoadingError) {
        path = folder + "." + name + ".lade-part"
        notePath = folder + "." + name + ".lade-note"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
        guard descriptor >= 0 else { throw Self.fault(path, .write) }
        length = 0
        // One download at a time: the lock goes with the descriptor.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw .file(FileFault(path: path, operation: .write, reason: "another download is writing it"), .init())
        }
        // Without a note there is nothing to go on with, which is no error.
        let note = try? String(contentsOf: URL(filePath: notePath), encoding: .utf8)
        let lines = (note ?? "").split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.count == 2 { origin = Origin(url: lines[0], validator: lines[1]) }
        if origin == nil { try restart() } else { try readBack() }
    }

    /// Forgets what is there and begins anew.
    mutating func restart() throws(LoadingError) {
        guard ftruncate(descriptor, 0) == 0 else { throw Self.fault(path, .write) }
        length = 0
        hash = SHA256()
    }

    /// Notes what the bytes belong to, before the first of them is written.
    mutating func belongs(to origin: Origin?) throws(LoadingError) {
        guard self.origin != origin else { return }
        self.origin = origin
        guard let origin else {
            unlink(notePath)
            return
        }
        do {
            try Data("\(origin.url)\n\(origin.validator)".utf8).write(to: URL(filePath: notePath))
        } catch {
            throw .file(FileFault(path: notePath, operation: .write, reason: "it cannot be written"), .init())
        }
    }

    /// Appends bytes.
    mutating func append(_ chunk: Data) throws(LoadingError) {
        var rest = chunk[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(length)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.fault(path, .write) }
            hash.update(rest.prefix(count))
            length += Int64(count)
            rest = rest.dropFirst(count)
        }
    }

    /// Gives the complete file its name.
    func finish(as final: String, mayOverwrite: Bool) throws(LoadingError) {
        guard fsync(descriptor) == 0 else { throw Self.fault(path, .write) }
        if mayOverwrite {
            guard rename(path, final) == 0 else { throw Self.fault(final, .write) }
        } else {
            // Unlike renaming, linking fails when the name is taken; some file systems have no links.
            if link(path, final) == 0 {
                unlink(path)
            } else if [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno), access(final, F_OK) != 0 {
                guard rename(path, final) == 0 else { throw Self.fault(final, .write) }
            } else {
                throw Self.fault(final, .write)
            }
        }
        unlink(notePath)
    }

    /// Removes the part and its note.
    func remove() {
        unlink(path)
        unlink(notePath)
    }

    /// Lets go of the part, which stays where it is.
    func release() {
        close(descriptor)
    }

    private mutating func readBack() throws(LoadingError) {
        var piece = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = pread(descriptor, &piece, piece.count, off_t(length))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.fault(path, .read) }
            if count == 0 { break }
            hash.update(piece[..<count])
            length += Int64(count)
        }
    }

    private static func fault(_ path: String, _ operation: FileFault.Operation) -> LoadingError {
        .file(FileFault(path: path, operation: operation, reason: String(cString: strerror(errno))), ErrorContext())
    }
}
