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
        /// The length of the whole body, if known.
        var length: Int64?
        /// The address that sent the response, as `FileVersion` compares it; nil when unknown.
        var address: String?
    }

    /// The path of the part.
    var path: String { folder.path + name }
    private let folder: OpenFolder
    private let name: String
    private let noteName: String
    // Locked until `release()`.
    private let file: TrustedFile
    private var descriptor: Int32 { file.descriptor }
    /// The number of bytes in the part.
    private(set) var length: Int64 = 0
    /// The version that the bytes belong to; nil when unknown, in which case they cannot be resumed.
    private(set) var origin: Origin?
    private var prologueLength: Int64 = 0
    /// Whether the bytes come from a file of unknown version.
    private var isAdopted = false

    /// Opens the part file for a final name, with the bytes of an earlier download.
    ///
    /// - Parameters:
    ///   - name: The final name.
    ///   - folder: Its folder, with a slash at the end, or empty.
    ///   - opened: Called between opening and locking, for tests.
    /// - Throws: `LoadingError.Kind.file` when another download writes the part, or its name belongs to something other than
    ///   a file.
    init(for name: String, in folder: String, opened: () -> Void = {}) throws(LoadingError) {
        let hidden = Self.hiddenName(for: name)
        self.name = hidden + ".lade-part"
        noteName = hidden + ".lade-note"
        do throws(FileDistrust) {
            self.folder = try OpenFolder(folder)
            file = try Self.openLocked(self.name, noteName, self.folder, opened)
        } catch {
            let fault = error == .busy ? "another download is writing it" : error.reason
            throw LoadingError(
                .file(LoadingError.FileCause(path: folder + hidden + ".lade-part", operation: .write, reason: fault))
            )
        }
        origin = readNote()
        prologueLength = origin?.prologueLength ?? 0
        if origin == nil {
            try restart()
        } else {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw fault(.read) }
            length = Int64(status.st_size)
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
        return ResumePoint(
            validator: origin?.validator ?? "",
            address: origin?.address,
            offset: bodyLength,
            length: origin?.length
        )
    }

    /// Copies a file of unknown version, so that it can be completed; does nothing when there is none.
    ///
    /// - Throws: `LoadingError.Kind.file` when it is not a regular file or cannot be read.
    mutating func adopt(_ file: String) throws(LoadingError) {
        let source = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard source >= 0 else {
            guard errno == ENOENT else { throw Self.fault(file, .read) }
            return
        }
        defer { close(source) }
        var status = stat()
        guard fstat(source, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw LoadingError(
                .file(LoadingError.FileCause(path: file, operation: .read, reason: "it is no regular file"))
            )
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
        folder.remove(noteName)
        try writeNote(origin)
        self.origin = origin
    }

    /// Removes the existing bytes.
    mutating func restart() throws(LoadingError) {
        guard ftruncate(descriptor, 0) == 0 else { throw fault(.write) }
        length = 0
        prologueLength = 0
        isAdopted = false
    }

    /// Removes the bytes of the body after the first `bodyLength`; nothing can be appended afterwards.
    mutating func shorten(to bodyLength: Int64) throws(LoadingError) {
        guard bodyLength < self.bodyLength else { return }
        guard ftruncate(descriptor, off_t(prologueLength + bodyLength)) == 0 else { throw fault(.write) }
        length = prologueLength + bodyLength
    }

    /// Starts the empty part: records the version before the first byte is written.
    mutating func begin(_ origin: Origin?, _ prologue: Data) throws(LoadingError) {
        if self.origin != origin {
            self.origin = nil
            folder.remove(noteName)
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
    }

    /// The SHA-256 of the body, read from the file: it is needed only where a server announces one.
    ///
    /// - Throws: `LoadingError.Kind.file` when the file cannot be read, `LoadingError.Kind.cancelled` when the task is cancelled.
    func digest() throws(LoadingError) -> [UInt8] {
        var hash = SHA256()
        var piece = [UInt8](repeating: 0, count: 256 << 10)
        var offset = prologueLength
        while true {
            guard !Task.isCancelled else { throw LoadingError(.cancelled) }
            let count = pread(descriptor, &piece, piece.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw fault(.read) }
            if count == 0 { return hash.finish() }
            hash.update(piece[..<count])
            offset += Int64(count)
        }
    }

    /// Removes all bytes and throws when another program has changed the file or, if asked for, its name.
    private mutating func checkUnchanged(andNamed isNameChecked: Bool) throws(LoadingError) {
        var status = stat()
        let isWhole = fstat(descriptor, &status) == 0 && Int64(status.st_size) == length
        if isWhole, !isNameChecked || file.hasItsName { return }
        try restart()
        let reason = "another program has changed it meanwhile"
        throw LoadingError(.file(LoadingError.FileCause(path: path, operation: .write, reason: reason)))
    }

    private mutating func write(_ bytes: Data) throws(LoadingError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(length)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw fault(.write) }
            length += Int64(count)
            rest = rest.dropFirst(count)
        }
    }

    /// Gives the complete file its name, and the permissions of the file that it replaces.
    ///
    /// - Parameters:
    ///   - final: The path. If it is a link that is replaced, the file that it leads to is.
    ///   - mayOverwrite: Whether an existing file is replaced. A file that is not regular never is.
    ///   - claims: Where the file is recorded.
    /// - Throws: `LoadingError.Kind.file` when it cannot have the name, or when another program has changed or replaced the
    ///   part, whose bytes are then removed.
    mutating func finish(
        as final: String,
        mayOverwrite: Bool,
        _ claims: FileClaims? = nil
    ) throws(LoadingError) {
        guard TrustedFile.synchronise(descriptor) == 0 else { throw fault(.write) }
        try checkUnchanged(andNamed: true)
        claims?.record(descriptor)
        do throws(FileDistrust) {
            let path = mayOverwrite ? try OpenFolder.followingLinks(final) : final
            let (place, finalName) = OpenFolder.split(path)
            let target = place == folder.path ? folder : try OpenFolder(place)
            try setPermissions(of: mayOverwrite ? target.status(of: finalName) : nil, in: target)
            if mayOverwrite {
                guard folder.rename(name, to: finalName, in: target) == 0 else { throw .system(errno) }
            } else if folder.link(name, as: finalName, in: target) == 0 {
                // Unlike renaming, linking fails when the name is taken.
                folder.remove(name)
            } else {
                // Some file systems have no links; checking first is the best alternative.
                let number = errno
                guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(number) else { throw .system(number) }
                guard target.status(of: finalName) == nil else { throw .system(EEXIST) }
                guard folder.rename(name, to: finalName, in: target) == 0 else { throw .system(errno) }
            }
            target.synchronise()
        } catch {
            throw error == .system(EEXIST) ? Self.exists(final) : error.error(final, .write)
        }
        folder.remove(noteName)
    }

    /// Gives the part the owner and the permissions of a file that it replaces, or those of a new file.
    private func setPermissions(of old: stat?, in target: OpenFolder) throws(FileDistrust) {
        guard let old else {
            guard fchmod(descriptor, try TrustedFile.usualMode(in: target)) == 0 else { throw .system(errno) }
            return
        }
        guard old.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        // Only root can give a file away. For others, a file of another user becomes one of their own.
        if old.st_uid != geteuid() { _ = fchown(descriptor, old.st_uid, old.st_gid) }
        guard fchmod(descriptor, old.st_mode & 0o777) == 0 else { throw .system(errno) }
    }

    /// Removes the part and its note.
    func remove() {
        folder.remove(name)
        folder.remove(noteName)
    }

    /// Releases the part for other downloads, and keeps its bytes.
    func release() { file.unlock() }

    /// The error for a file that must not be replaced.
    static func exists(_ path: String) -> LoadingError {
        LoadingError(.file(LoadingError.FileCause(path: path, operation: .write, reason: "it exists already")))
    }

    // MARK: - Opening

    private static func openLocked(
        _ name: String,
        _ noteName: String,
        _ folder: OpenFolder,
        _ opened: () -> Void
    ) throws(FileDistrust) -> TrustedFile {
        do throws(FileDistrust) {
            return try TrustedFile.locking(name, in: folder, trust, opened: opened)
        } catch {
            switch error {
            case .foreignOwner, .accessible, .severalNames: break
            default: throw error
            }
            // The bytes of another user are not continued. Without them the download begins anew.
            folder.remove(noteName)
            guard folder.remove(name) == 0 else { throw error }
            return try TrustedFile.locking(name, in: folder, trust)
        }
    }

    /// Only the user's own file is continued.
    ///
    /// A file with a second name is not, because both names would change.
    private static let trust = FileTrust(hasOneName: true)

    // MARK: - The note

    private func readNote() -> Origin? {
        let note = folder.open(noteName, O_RDONLY | FileTrust.own.openFlags)
        // Without a note that can be trusted the download cannot be resumed, which is not an error.
        guard note >= 0 else { return nil }
        defer { close(note) }
        guard FileTrust.own.fault(of: note) == nil else { return nil }
        var bytes = [UInt8](repeating: 0, count: Self.noteLimit)
        let count = pread(note, &bytes, bytes.count, 0)
        guard count > 0, count < Self.noteLimit else { return nil }
        let lines = bytes[..<count].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        // Earlier versions wrote three lines.
        guard lines.count == 4 || lines.count == 6, lines.last?.isEmpty == true,
            let prologueLength = ContentRange.position(lines[2][...])
        else { return nil }
        var origin = Origin(url: lines[0], validator: lines[1], prologueLength: prologueLength)
        guard lines.count == 6 else { return origin }
        if !lines[3].isEmpty {
            guard let length = ContentRange.position(lines[3][...]) else { return nil }
            origin.length = length
        }
        origin.address = lines[4].isEmpty ? nil : lines[4]
        return origin
    }

    private static let noteLimit = 64 << 10

    private func writeNote(_ origin: Origin) throws(LoadingError) {
        // A new file that only its owner can read. A link that was planted under the name is not followed.
        let note = folder.open(noteName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        guard note >= 0 else { throw Self.fault(folder.path + noteName, .write) }
        defer { close(note) }
        let length = origin.length.map(String.init) ?? ""
        let text =
            "\(origin.url)\n\(origin.validator)\n\(origin.prologueLength)\n\(length)\n\(origin.address ?? "")\n"
        do throws(FileDistrust) {
            try TrustedFile.write(Data(text.utf8), to: note)
            // Bytes on the disk must never have the note of another version.
            guard TrustedFile.synchronise(note) == 0 else { throw .system(errno) }
        } catch {
            throw error.error(folder.path + noteName, .write)
        }
    }

    private func fault(_ operation: LoadingError.FileCause.Operation) -> LoadingError { Self.fault(path, operation) }

    private static func fault(_ path: String, _ operation: LoadingError.FileCause.Operation) -> LoadingError {
        FileDistrust.system(errno).error(path, operation)
    }
}
