#if canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#elseif canImport(Darwin)
    package import Darwin
#endif

/// A folder that is held open, so that all calls about its files concern the same folder.
///
/// By a path, each call could concern another folder: one of its parts may be replaced between two calls.
package final class OpenFolder: Sendable {
    /// The path, with a slash at its end; empty for the working folder.
    package let path: String
    // A folder that may be written and not read is reached by its path.
    private let descriptor: Int32
    private let prefix: String

    /// Opens a folder.
    ///
    /// - Throws: ``FileDistrust/system(_:)`` when there is none.
    package init(_ path: String) throws(FileDistrust) {
        self.path = path.isEmpty || path.hasSuffix("/") ? path : path + "/"
        let opened = openat(AT_FDCWD, path.isEmpty ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened < 0 else {
            (descriptor, prefix) = (opened, "")
            return
        }
        guard errno == EACCES else { throw .system(errno) }
        (descriptor, prefix) = (AT_FDCWD, self.path)
    }

    deinit { if descriptor != AT_FDCWD { close(descriptor) } }

    /// Opens a file; the result and `errno` are those of the system call, as with all methods here.
    package func open(_ name: String, _ flags: Int32, mode: mode_t = 0) -> Int32 {
        openat(descriptor, prefix + name, flags | O_CLOEXEC, mode)
    }

    /// The status of a name; nil when there is none.
    ///
    /// It is the state of a link itself unless links are followed.
    package func status(of name: String, followingLink: Bool = false) -> stat? {
        var status = stat()
        let flags = followingLink ? 0 : AT_SYMLINK_NOFOLLOW
        return fstatat(descriptor, prefix + name, &status, flags) == 0 ? status : nil
    }

    /// Renames a file, replacing an existing one; within the folder unless another is given.
    package func rename(_ name: String, to other: String, in folder: OpenFolder? = nil) -> Int32 {
        let folder = folder ?? self
        return renameat(descriptor, prefix + name, folder.descriptor, folder.prefix + other)
    }

    /// Gives a file a second name; fails if that name exists.
    package func link(_ name: String, as other: String, in folder: OpenFolder? = nil) -> Int32 {
        let folder = folder ?? self
        return linkat(descriptor, prefix + name, folder.descriptor, folder.prefix + other, 0)
    }

    /// Removes a name.
    @discardableResult
    package func remove(_ name: String) -> Int32 { unlinkat(descriptor, prefix + name, 0) }

    /// The target of a symbolic link; nil when the name is none.
    package func target(of name: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4 << 10)
        let count = readlinkat(descriptor, prefix + name, &buffer, buffer.count)
        guard count > 0, count < buffer.count else { return nil }
        return String(validating: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Makes renamed and removed names safe from a loss of power, as far as the system can.
    package func synchronise() {
        // A folder that may not be read cannot be synchronised; its entries are as safe as the system keeps them.
        if descriptor != AT_FDCWD { _ = TrustedFile.synchronise(descriptor) }
    }

    /// Divides a path into its folder, with a slash at the end or empty, and the name in it.
    package static func split(_ path: String) -> (folder: String, name: String) {
        let cut = path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:)) ?? path.startIndex
        return (String(path[..<cut]), String(path[cut...]))
    }

    /// The path of the file that a path leads to when its last name is a link, or a chain of links.
    ///
    /// The file need not exist.
    ///
    /// - Throws: ``FileDistrust/system(_:)`` with `ELOOP` for links without an end.
    package static func followingLinks(_ path: String) throws(FileDistrust) -> String {
        var path = path
        for _ in 0..<40 {
            let (folder, name) = split(path)
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
            guard let target = try OpenFolder(folder).target(of: name) else { return path }
            path = target.utf8.first == UInt8(ascii: "/") ? target : folder + target
        }
        throw .system(ELOOP)
    }
}
