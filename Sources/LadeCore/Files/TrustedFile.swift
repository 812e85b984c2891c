#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

#if canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#elseif canImport(Darwin)
    package import Darwin
#endif

/// A file that is open and that was checked by ``FileTrust`` since.
///
/// Files are opened, locked, read within a limit, replaced and synchronised here. So no place trusts a file before its
/// kind and its owner are checked.
package final class TrustedFile: Sendable {
    /// The path.
    package let path: String
    /// The open file; it is closed with this value.
    package let descriptor: Int32
    /// Where a locked file is; nil for one that is only read.
    private let place: (folder: OpenFolder, name: String, followsLink: Bool)?

    private init(
        _ path: String,
        _ descriptor: Int32,
        _ place: (folder: OpenFolder, name: String, followsLink: Bool)? = nil
    ) {
        self.path = path
        self.descriptor = descriptor
        self.place = place
    }

    deinit {
        // Unlocked explicitly: a process that was being started meanwhile may hold the same open file slightly longer.
        if place != nil { flock(descriptor, LOCK_UN) }
        close(descriptor)
    }

    /// Opens a file for reading.
    ///
    /// - Returns: The file; nil when there is none.
    /// - Throws: ``FileDistrust`` when it is not trusted or cannot be opened.
    package static func reading(_ path: String, _ trust: FileTrust) throws(FileDistrust) -> TrustedFile? {
        let descriptor = open(path, O_RDONLY | trust.openFlags)
        guard descriptor >= 0 else {
            let number = errno
            if number == ENOENT || number == ENOTDIR { return nil }
            let (folder, name) = OpenFolder.split(path)
            throw opening(try OpenFolder(folder), name, number)
        }
        let file = TrustedFile(path, descriptor)
        if let fault = trust.fault(of: descriptor) { throw fault }
        return file
    }

    /// Opens a file for reading and writing, creates it if necessary, and locks it until this value is released.
    ///
    /// The lock belongs to the file which has the name now. If another program replaced the file in the meantime, its successor
    /// is opened. A file that is created here is empty.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - trust: The conditions that it must meet.
    ///   - mode: The permissions of a new file.
    ///   - waits: Whether a lock that another program holds is waited for, on this thread.
    ///   - opened: Called between opening and locking, for tests.
    /// - Returns: The file, locked.
    /// - Throws: ``FileDistrust``: `busy` when another program holds the lock and it is not waited for.
    package static func locking(
        _ path: String,
        _ trust: FileTrust,
        mode: mode_t = 0o600,
        waits: Bool = false,
        opened: () -> Void = {}
    ) throws(FileDistrust) -> TrustedFile {
        let (folder, name) = OpenFolder.split(path)
        return try locking(name, in: try OpenFolder(folder), trust, mode: mode, waits: waits, opened: opened)
    }

    /// Opens a file in a folder that is open; see ``locking(_:_:mode:waits:opened:)``.
    package static func locking(
        _ name: String,
        in folder: OpenFolder,
        _ trust: FileTrust,
        mode: mode_t = 0o600,
        waits: Bool = false,
        opened: () -> Void = {}
    ) throws(FileDistrust) -> TrustedFile {
        while true {
            let descriptor = folder.open(name, O_RDWR | O_CREAT | trust.openFlags, mode: mode)
            guard descriptor >= 0 else { throw opening(folder, name, errno) }
            let file = TrustedFile(folder.path + name, descriptor, (folder, name, trust.followsLink))
            opened()
            // The second name of a file that gets its final one passes with the lock.
            if let fault = trust.fault(of: descriptor), fault != .severalNames { throw fault }
            while flock(descriptor, LOCK_EX | (waits ? 0 : LOCK_NB)) != 0 {
                if errno == EINTR { continue }
                guard errno != EWOULDBLOCK else { throw .busy }
                // Some file systems have no locks; then the file is used without one.
                break
            }
            guard file.hasItsName else { continue }
            if let fault = trust.fault(of: descriptor) { throw fault }
            return file
        }
    }

    /// Whether its name still leads to this file; true for a file that is only read.
    package var hasItsName: Bool {
        guard let place else { return true }
        var mine = stat()
        guard fstat(descriptor, &mine) == 0,
            let named = place.folder.status(of: place.name, followingLink: place.followsLink)
        else { return false }
        return mine.st_dev == named.st_dev && mine.st_ino == named.st_ino
    }

    /// Releases the lock before this value is released.
    package func unlock() { flock(descriptor, LOCK_UN) }

    /// All bytes.
    ///
    /// - Throws: ``FileDistrust/tooLarge(limit:)`` when there are more than `limit`.
    package func contents(limit: Int) throws(FileDistrust) -> Data {
        var contents = Data()
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while contents.count <= limit {
            let count = pread(descriptor, &piece, piece.count, off_t(contents.count))
            if count == 0 { return contents }
            if count > 0 {
                contents.append(contentsOf: piece[..<count])
            } else if errno != EINTR {
                throw .system(errno)
            }
        }
        throw .tooLarge(limit: limit)
    }

    /// The bytes of a file.
    ///
    /// - Returns: The bytes; nil when there is no file.
    /// - Throws: ``FileDistrust`` when it is not trusted, too large, or cannot be read.
    package static func contents(of path: String, _ trust: FileTrust, limit: Int) throws(FileDistrust) -> Data? {
        try reading(path, trust)?.contents(limit: limit)
    }

    // MARK: - Replacing

    /// Replaces the contents of a file, or makes the file.
    ///
    /// A reader sees the old or the new contents in full, and a loss of power leaves either.
    ///
    /// An existing file keeps its permissions. A file that is not regular is written to and never replaced. A link is
    /// followed if `trust` says so, and replaced otherwise.
    ///
    /// - Parameters:
    ///   - path: The file; its folder exists.
    ///   - data: The new contents.
    ///   - trust: Whether a link is followed.
    ///   - mode: The permissions of a new file, and the most that an existing one keeps.
    /// - Throws: ``FileDistrust/system(_:)``.
    package static func replace(
        _ path: String,
        with data: Data,
        _ trust: FileTrust,
        mode: mode_t = 0o600
    ) throws(FileDistrust) {
        let path = trust.followsLink ? try OpenFolder.followingLinks(path) : path
        let (folderPath, name) = OpenFolder.split(path)
        let folder = try OpenFolder(folderPath)
        let old = folder.status(of: name)
        if let old, ![S_IFREG, S_IFLNK].contains(old.st_mode & S_IFMT) {
            return try writeSpecial(folder, name, data)
        }
        let (new, descriptor) = try makeNew(in: folder)
        defer { close(descriptor) }
        do throws(FileDistrust) {
            let kept = old.flatMap { $0.st_mode & S_IFMT == S_IFREG ? $0.st_mode & mode : nil } ?? mode
            guard fchmod(descriptor, kept) == 0 else { throw .system(errno) }
            try write(data, to: descriptor)
            guard synchronise(descriptor) == 0, folder.rename(new, to: name) == 0 else { throw .system(errno) }
        } catch {
            folder.remove(new)
            throw error
        }
        folder.synchronise()
    }

    /// Creates an empty file with a new hidden name; by default only its owner can open it.
    package static func makeNew(
        in folder: OpenFolder,
        mode: mode_t = 0o600
    ) throws(FileDistrust) -> (name: String, descriptor: Int32) {
        for number in 0..<1_000 {
            let name = ".lade-new-\(getpid())-\(number)"
            let descriptor = folder.open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
            if descriptor >= 0 { return (name, descriptor) }
            guard errno == EEXIST else { throw .system(errno) }
        }
        throw .system(EEXIST)
    }

    /// The permissions that a new file of the user has in a folder.
    ///
    /// They depend on the process and the folder, and are read from a file that is made for it. To read the mask of the
    /// process would change it for other threads.
    package static func usualMode(in folder: OpenFolder) throws(FileDistrust) -> mode_t {
        let (name, descriptor) = try makeNew(in: folder, mode: 0o666)
        defer { close(descriptor) }
        folder.remove(name)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(errno) }
        return status.st_mode & 0o777
    }

    private static func writeSpecial(_ folder: OpenFolder, _ name: String, _ data: Data) throws(FileDistrust) {
        // A pipe without a reader is an error and is not waited for.
        let descriptor = folder.open(name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .system(errno) }
        defer { close(descriptor) }
        try write(data, to: descriptor)
    }

    /// Writes all bytes at the position of a descriptor, and waits while it takes none.
    package static func write(_ data: Data, to descriptor: Int32) throws(FileDistrust) {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&ready, 1, -1)
            } else if errno != EINTR {
                throw .system(errno)
            }
        }
    }

    /// Returns when the written bytes of a file are safe from a loss of power; 0, or -1 with `errno`.
    ///
    /// On Apple platforms `fsync` leaves the bytes in the cache of the drive. `F_FULLFSYNC` does not; file systems that do
    /// not know it are synchronised by `fsync`.
    package static func synchronise(_ descriptor: Int32) -> Int32 {
        #if canImport(Darwin)
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
        #endif
        return fsync(descriptor)
    }

    private static func opening(_ folder: OpenFolder, _ name: String, _ number: Int32) -> FileDistrust {
        // O_NOFOLLOW fails with the error for a loop of links.
        let isLink = folder.status(of: name).map { $0.st_mode & S_IFMT == S_IFLNK } ?? false
        return number == ELOOP && isLink ? .link : .system(number)
    }
}

// A separate function, because a method above has the same name.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
