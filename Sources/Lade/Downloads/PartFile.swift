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

/// A file that is being downloaded.
///
/// Until it is complete it is hidden beside its final path, together with a note that identifies the version it belongs
/// to.
struct PartFile {
    /// The version that a part belongs to; only the same version can be resumed.
    struct Origin: Equatable {
        /// The address, without secrets.
        var url: String
        /// The strong entity tag or the date of the representation.
        var validator: String
        /// The number of bytes in the file before the body.
        var prologueLength: Int64 = 0
    }

    let path: String
    private let notePath: String
    private let descriptor: Int32
    /// The number of bytes in the part.
    private(set) var length: Int64 = 0
    /// The version that the bytes belong to; nil when unknown, in which case they cannot be resumed.
    private(set) var origin: Origin?
    /// The hash of the body so far.
    private(set) var hash = SHA256()
    private var prologueLength: Int64 = 0
    /// Whether the bytes come from a file of unknown version.
    private var isAdopted = false

    /// Opens the part file for a final name, with the bytes of an earlier download.
    ///
    /// - Parameters:
    ///   - name: The final name.
    ///   - folder: Its folder, with a slash at the end, or empty.
    ///   - opened: Called between opening and locking, for tests.
    /// - Throws: `LoadingError.file` when another download writes the part, or its name belongs to something other than
    ///   a file.
    init(for name: String, in folder: String, opened: () -> Void = {}) throws(LoadingError) {
        let hidden = folder + Self.hiddenName(for: name)
        path = hidden + ".lade-part"
        notePath = hidden + ".lade-note"
        descriptor = try Self.openLocked(path, opened)
        do throws(LoadingError) {
            origin = try readNote()
            prologueLength = origin?.prologueLength ?? 0
            if origin == nil { try restart() } else { try readBack() }
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// The name of the part without its suffix: a dot and the final name.
    ///
    /// A file name has at most 255 bytes. A longer name is shortened, and a checksum of the whole distinguishes it from
    /// others with the same beginning.
    static func hiddenName(for name: String) -> String {
        let limit = 255 - ".lade-part".utf8.count
        guard name.utf8.count >= limit else { return "." + name }
        let checksum = "~" + String(CRC64.checksum(Array(name.utf8)), radix: 36)
        var beginning = ""
        for character in name {
            guard beginning.utf8.count + String(character).utf8.count + checksum.utf8.count < limit else { break }
            beginning.append(character)
        }
        return "." + beginning + checksum
    }

    /// The number of bytes of the body in the part.
    var bodyLength: Int64 { max(0, length - prologueLength) }

    /// Where the body can be resumed; nil if it cannot.
    var resumePoint: ResumePoint? {
        guard origin != nil || isAdopted, bodyLength > 0 else { return nil }
        return ResumePoint(validator: origin?.validator ?? "", offset: bodyLength)
    }

    /// Copies a file of unknown version, so that it can be completed; does nothing when there is none.
    ///
    /// - Throws: `LoadingError.file` when it is not a regular file or cannot be read.
    mutating func adopt(_ file: String) throws(LoadingError) {
        let source = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard source >= 0 else {
            guard errno == ENOENT else { throw Self.fault(file, .read) }
            return
        }
        defer { close(source) }
        var status = stat()
        guard fstat(source, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .file(FileFault(path: file, operation: .read, reason: "it is no regular file"), ErrorContext())
        }
        try restart()
        try begin(nil, Data())
        isAdopted = true
        var piece = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = pread(source, &piece, piece.count, off_t(length))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.fault(file, .read) }
            if count == 0 { return }
            try append(Data(piece[..<count]))
        }
    }

    /// Records the version that the copied bytes belong to.
    mutating func note(_ origin: Origin) throws(LoadingError) {
        unlink(notePath)
        try writeNote(origin)
        self.origin = origin
    }

    /// Removes the existing bytes.
    mutating func restart() throws(LoadingError) {
        guard ftruncate(descriptor, 0) == 0 else { throw Self.fault(path, .write) }
        length = 0
        prologueLength = 0
        isAdopted = false
        hash = SHA256()
    }

    /// Removes the bytes of the body after the first `bodyLength`; nothing can be appended afterwards.
    mutating func shorten(to bodyLength: Int64) throws(LoadingError) {
        guard bodyLength < self.bodyLength else { return }
        guard ftruncate(descriptor, off_t(prologueLength + bodyLength)) == 0 else { throw Self.fault(path, .write) }
        length = prologueLength + bodyLength
    }

    /// Starts the empty part: records the version before the first byte is written.
    mutating func begin(_ origin: Origin?, _ prologue: Data) throws(LoadingError) {
        if self.origin != origin {
            self.origin = nil
            unlink(notePath)
            if let origin { try writeNote(origin) }
            self.origin = origin
        }
        try write(prologue)
        prologueLength = Int64(prologue.count)
    }

    /// Appends bytes of the body.
    mutating func append(_ chunk: Data) throws(LoadingError) {
        // Writing after the end of a truncated file would leave a hole.
        try checkUnchanged(andNamed: false)
        try write(chunk)
        hash.update(chunk)
    }

    /// Removes all bytes and throws when another program has changed the file or, if asked for, its name.
    private mutating func checkUnchanged(andNamed isNameChecked: Bool) throws(LoadingError) {
        var status = stat()
        let isWhole = fstat(descriptor, &status) == 0 && Int64(status.st_size) == length
        if isWhole, !isNameChecked || FileIdentity(descriptor) == FileIdentity(path: path) { return }
        try restart()
        let reason = "another program has changed it meanwhile"
        throw .file(FileFault(path: path, operation: .write, reason: reason), ErrorContext())
    }

    private mutating func write(_ bytes: Data) throws(LoadingError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(length)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.fault(path, .write) }
            length += Int64(count)
            rest = rest.dropFirst(count)
        }
    }

    /// Gives the complete file its name.
    ///
    /// - Throws: `LoadingError.file` when it cannot have the name, or when another program has changed or replaced the
    ///   part, whose bytes are then removed.
    mutating func finish(as final: String, mayOverwrite: Bool) throws(LoadingError) {
        guard fsync(descriptor) == 0 else { throw Self.fault(path, .write) }
        try checkUnchanged(andNamed: true)
        if mayOverwrite {
            guard rename(path, final) == 0 else { throw Self.fault(final, .write) }
        } else if link(path, final) == 0 {
            // Unlike renaming, linking fails when the name is taken.
            unlink(path)
        } else {
            // Some file systems have no links; checking first is the best alternative.
            guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else {
                throw errno == EEXIST ? Self.exists(final) : Self.fault(final, .write)
            }
            guard access(final, F_OK) != 0 else { throw Self.exists(final) }
            guard rename(path, final) == 0 else { throw Self.fault(final, .write) }
        }
        unlink(notePath)
    }

    /// Removes the part and its note.
    func remove() {
        unlink(path)
        unlink(notePath)
    }

    /// Closes the part and keeps it.
    func release() {
        close(descriptor)
    }

    /// The error for a file that must not be replaced.
    static func exists(_ path: String) -> LoadingError {
        .file(FileFault(path: path, operation: .write, reason: "it exists already"), ErrorContext())
    }

    // MARK: - Opening

    private static func openLocked(_ path: String, _ opened: () -> Void) throws(LoadingError) -> Int32 {
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o666)
            guard descriptor >= 0 else { throw fault(path, .write) }
            opened()
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                close(descriptor)
                let fault = FileFault(path: path, operation: .write, reason: "it is no regular file")
                throw .file(fault, ErrorContext())
            }
            // Some file systems have no locks; then the part is used without one.
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                close(descriptor)
                let fault = FileFault(path: path, operation: .write, reason: "another download is writing it")
                throw .file(fault, ErrorContext())
            }
            // Another download may have given the file its final name between the two calls. The lock counts only if
            // the file still has the name of the part.
            if FileIdentity(descriptor) == FileIdentity(path: path) { return descriptor }
            close(descriptor)
        }
    }

    // MARK: - The note

    private func readNote() throws(LoadingError) -> Origin? {
        let note = open(notePath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        // Without a note the download cannot be resumed, which is not an error.
        guard note >= 0 else { return nil }
        defer { close(note) }
        var bytes = [UInt8](repeating: 0, count: Self.noteLimit)
        let count = pread(note, &bytes, bytes.count, 0)
        guard count > 0, count < Self.noteLimit else { return nil }
        let lines = String(decoding: bytes[..<count], as: UTF8.self).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        guard lines.count == 4, lines[3].isEmpty, let prologueLength = ContentRange.position(lines[2]) else {
            return nil
        }
        return Origin(url: String(lines[0]), validator: String(lines[1]), prologueLength: prologueLength)
    }

    private static let noteLimit = 64 << 10

    private func writeNote(_ origin: Origin) throws(LoadingError) {
        // A new file that only its owner can read. A link that was planted under the name is not followed.
        let note = open(notePath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard note >= 0 else { throw Self.fault(notePath, .write) }
        defer { close(note) }
        var text = "\(origin.url)\n\(origin.validator)\n\(origin.prologueLength)\n"
        let count = text.withUTF8 { pwrite(note, $0.baseAddress, $0.count, 0) }
        // Bytes on the disk must never have the note of another version.
        guard count == text.utf8.count, fsync(note) == 0 else { throw Self.fault(notePath, .write) }
    }

    private mutating func readBack() throws(LoadingError) {
        var piece = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = pread(descriptor, &piece, piece.count, off_t(length))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.fault(path, .read) }
            if count == 0 { break }
            let skipped = Int(clamping: max(0, prologueLength - length))
            hash.update(piece[..<count].dropFirst(skipped))
            length += Int64(count)
        }
    }

    private static func fault(_ path: String, _ operation: FileFault.Operation) -> LoadingError {
        .file(FileFault(path: path, operation: operation, reason: String(cString: strerror(errno))), ErrorContext())
    }
}
