#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CSQLite
import LadeCache
import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The folder of a store: its database, and beside it the bodies that are too large for a row.
struct StoreFolder: Sendable {
    /// Part of all names: a program never touches files of another version.
    static let version = 2

    /// With a slash at its end.
    let path: String
    /// Whether nothing can be written here.
    private(set) var isReadOnly = false

    /// The file whose bytes processes lock while they ask servers.
    var locksPath: String { path + "exchanges" }
    var databasePath: String { path + Self.name(Self.version) }
    private var bodiesPath: String { path + Self.bodies(Self.version) + "/" }

    private static func name(_ version: Int) -> String { "cache-\(version).sqlite" }
    private static func bodies(_ version: Int) -> String { "bodies-\(version)" }

    /// Makes the folder if there is none, and checks that no other user can change it.
    init(_ directory: String, canWrite: (String) -> Bool = { access($0, W_OK) == 0 }) throws(CacheError) {
        path = directory.hasSuffix("/") ? directory : directory + "/"
        try make()
        let name = path.utf8.count > 1 ? String(path.dropLast()) : path
        try Self.check(name, isFolder: true)
        isReadOnly = !canWrite(path)
        if isReadOnly, !FileManager.default.fileExists(atPath: databasePath) {
            throw Self.fault(name, .write, "it is not writable")
        }
        #if os(Linux)
            // The locks and the shared memory of SQLite need one machine: NFS, SMB, CIFS, AFS, Ceph, 9P, FUSE.
            let remote: [UInt32] = [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x5346_414F, 0x00C3_6400, 0x0102_1997]
            if remote.contains(lade_file_system(path)) {
                throw Self.fault(name, .write, "it is on a network file system")
            }
        #endif
        for file in ["", "-wal", "-shm"] where try Self.exists(databasePath + file) {
            try Self.check(databasePath + file, isFolder: false)
        }
        if try Self.exists(String(bodiesPath.dropLast())) {
            try Self.check(String(bodiesPath.dropLast()), isFolder: true)
        }
    }

    /// Makes the folders that are missing, for this user only; others may exist.
    func make() throws(CacheError) { try make(path) }

    private func make(_ path: String) throws(CacheError) {
        var end = path.startIndex
        while let slash = path.utf8[end...].firstIndex(of: UInt8(ascii: "/")) {
            end = path.utf8.index(after: slash)
            let part = String(path[..<slash])
            guard !part.isEmpty, mkdir(part, 0o700) != 0 else { continue }
            let code = errno
            if code == EEXIST || access(part, F_OK) == 0 { continue }
            throw Self.fault(part, .write, code)
        }
    }

    private static func exists(_ path: String) throws(CacheError) -> Bool {
        var status = stat()
        guard lstat(path, &status) != 0 else { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw fault(path, .read, errno) }
        return false
    }

    /// Checks that a name belongs to the user, is no link, and cannot be changed by others.
    ///
    /// Nothing is opened: closing a descriptor would release the locks that SQLite holds on the same file.
    private static func check(_ path: String, isFolder: Bool) throws(CacheError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw fault(path, .read, errno) }
        let kind = status.st_mode & S_IFMT
        guard kind != S_IFLNK else { throw fault(path, .write, FileDistrust.link.reason) }
        guard !isFolder || kind == S_IFDIR else { throw fault(path, .write, "it is no folder") }
        var facts = FileTrust.Facts(status)
        if isFolder { (facts.isRegular, facts.names) = (true, 1) }
        if let distrust = FileTrust(forbidden: 0o022, hasOneName: true).fault(of: facts) {
            throw fault(path, .write, distrust.reason)
        }
    }

    static func fault(_ path: String, _ operation: LoadingError.FileCause.Operation, _ reason: String) -> CacheError {
        CacheError(.file(LoadingError.FileCause(path: path, operation: operation, reason: reason)))
    }

    /// The fault for an error of the system: a full disk and a lack of resources say nothing about the folder.
    static func fault(_ path: String, _ operation: LoadingError.FileCause.Operation, _ code: Int32) -> CacheError {
        let reason = String(cString: strerror(code))
        return switch code {
        case ENOSPC, EDQUOT, EFBIG: CacheError(.full)
        case EMFILE, ENFILE, ENOMEM, EIO, EINTR, EAGAIN:
            CacheError(.system("The cache store cannot use \(path): \(reason)"))
        default: fault(path, operation, reason)
        }
    }

    /// Makes an empty database file with permissions for this user only, unless there is one.
    ///
    /// SQLite gives the files beside it the same permissions.
    func makeDatabaseFile() throws(CacheError) {
        let descriptor = open(databasePath, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            guard errno == EEXIST else { throw Self.fault(databasePath, .write, errno) }
            return try Self.check(databasePath, isFolder: false)
        }
        // The mask may have removed a permission.
        fchmod(descriptor, 0o600)
        close(descriptor)
    }

    /// The identity that tells the database file from one that replaced it; nil without a file.
    var identity: Identity? {
        var status = stat()
        guard lstat(databasePath, &status) == 0 else { return nil }
        return Identity(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    }

    /// The bytes of the log.
    var logSize: Int64 {
        var status = stat()
        return lstat(databasePath + "-wal", &status) == 0 ? Int64(status.st_size) : 0
    }

    struct Identity: Sendable, Hashable {
        let device: UInt64
        let number: UInt64
    }

    /// Runs a closure while no other process opens the database or sets it aside.
    func withLock<Result>(_ body: () throws(CacheError) -> Result) throws(CacheError) -> Result {
        guard !isReadOnly else { return try body() }
        // A process that was stopped must not stop all others: after two seconds the lock is not waited for any more.
        // No lock of POSIX waits for a limited time, except by a signal, which belongs to the program and not to a
        // library. So the thread tries again each millisecond, which it does only when the files are opened or replaced.
        var lock: TrustedFile?
        for _ in 0..<2_000 {
            do throws(FileDistrust) {
                lock = try TrustedFile.locking(path + "lock", FileTrust(forbidden: 0o022, hasOneName: true))
                break
            } catch .busy {
                usleep(1_000)
            } catch .system(let code) {
                throw Self.fault(path + "lock", .write, code)
            } catch {
                throw Self.fault(path + "lock", .write, error.reason)
            }
        }
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    /// Renames the files of a damaged database, of which one set is kept.
    func setAside() {
        for file in ["-wal", ""] { rename(databasePath + file, databasePath + ".broken" + file) }
        unlink(databasePath + "-shm")
    }

    /// Removes the files of the previous version once it was not used for 30 days.
    func removeOutdated(now: Date) {
        for version in 0..<Self.version {
            let path = path + Self.name(version)
            let used = ["", "-wal"].compactMap { suffix -> Date? in
                var status = stat()
                return lstat(path + suffix, &status) == 0 ? status.modified : nil
            }.max()
            guard let used, now.timeIntervalSince(used) > 30 * 86_400 else { continue }
            for suffix in ["-wal", "-shm", ""] { unlink(path + suffix) }
            let bodies = self.path + Self.bodies(version)
            for name in Self.names(in: bodies) { unlink(bodies + "/" + name) }
            rmdir(bodies)
        }
    }

    // MARK: - Bodies

    static func bodyName(_ seed: UInt64) -> String {
        let digits = String(seed, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// Makes the file of a body and locks it, so that no other process takes it for one that was left behind.
    func makeBody(_ seed: UInt64) throws(StoreFault) -> Int32 {
        let name = bodiesPath + Self.bodyName(seed)
        for _ in 0..<100 {
            var descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            if descriptor < 0, errno == ENOENT {
                // The system may have cleared the folder.
                do throws(CacheError) { try make(bodiesPath) } catch { throw StoreFault(.refused(error), "") }
                descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            }
            guard descriptor >= 0 else { throw Self.failure(errno) }
            fchmod(descriptor, 0o600)
            // Another process may have found the file before it was locked, and removed it.
            var status = stat()
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0, status.st_nlink == 1 {
                return descriptor
            }
            close(descriptor)
        }
        throw StoreFault(.other, "The file of a body cannot be locked")
    }

    static func failure(_ code: Int32) -> StoreFault {
        let kind: StoreFault.Kind =
            switch code {
            case ENOSPC, EDQUOT, EFBIG: .full
            case EROFS, EACCES, EPERM: .readOnly
            default: .other
            }
        return StoreFault(kind, String(cString: strerror(code)))
    }

    /// Opens the file of a body; negative when there is none.
    func openBody(_ seed: UInt64) -> Int32 {
        open(bodiesPath + Self.bodyName(seed), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    }

    func removeBody(_ seed: UInt64) { unlink(bodiesPath + Self.bodyName(seed)) }

    /// The seeds of all bodies that have files.
    var bodies: [UInt64] { Self.names(in: bodiesPath).compactMap { UInt64($0, radix: 16) } }

    /// Removes the file of a body that no row knows, unless a process is writing it.
    ///
    /// The closure is called while no process can be writing it.
    func removeOrphan(_ seed: UInt64, isKnown: () throws(StoreFault) -> Bool) throws(StoreFault) {
        let descriptor = openBody(seed)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return }
        if try !isKnown() { removeBody(seed) }
    }

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }
}

extension stat {
    fileprivate var modified: Date {
        #if canImport(Darwin)
            Date(timeIntervalSince1970: Double(st_mtimespec.tv_sec))
        #else
            Date(timeIntervalSince1970: Double(st_mtim.tv_sec))
        #endif
    }
}
