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

/// A file with secrets, or with options that act for the user; it is refused if other users can read or write it.
struct PrivateFile: Sendable {
    /// The path of the file.
    let path: String
    /// The name of the file in errors: “session file”.
    let kind: String

    // A larger file is not one of these.
    private static let limit = 4 << 20

    /// The contents; nil when the file does not exist.
    ///
    /// - Throws: A local error that names the file, when it belongs to another user, when others can read or write it,
    ///   or when it is not a regular file of a plausible size.
    func read() throws(CommandError) -> Data? {
        let file: Descriptor
        do throws(SystemError) {
            // Opening a pipe must not block.
            file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
        } catch {
            guard error.number == ENOENT || error.number == ENOTDIR else {
                throw refused("cannot be read: \(error.reason)")
            }
            return nil
        }
        // Closing a file that was only read loses nothing.
        defer { try? file.close() }
        var status = stat()
        guard fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw refused("is no regular file")
        }
        guard status.st_uid == geteuid() else {
            throw refused("belongs to another user", "Remove it, or copy what you trust of it into one of your own.")
        }
        guard status.st_mode & 0o077 == 0 else {
            let verb = status.st_mode & 0o044 != 0 ? "read" : "changed or run"
            throw refused("can be \(verb) by other users", "Make it yours alone: chmod 600 \(path)")
        }
        var all = Data()
        do throws(SystemError) {
            while all.count <= Self.limit {
                let chunk = try file.read(upTo: 64 << 10)
                if chunk.isEmpty { return all }
                all.append(chunk)
            }
        } catch {
            throw refused("cannot be read: \(error.reason)")
        }
        throw refused("is larger than 4 MB")
    }

    /// Replaces the file with a new one that only its owner can read; creates the folder if necessary.
    ///
    /// - Throws: A local error that names the file.
    func write(_ data: Data) throws(CommandError) {
        if let slash = path.lastIndex(of: "/") { Self.makeFolder(String(path[..<slash])) }
        let part = "\(path).\(getpid()).part"
        do throws(SystemError) {
            unlink(part)
            let file = try Descriptor.open(part, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            // Writing reports its errors; closing the file adds none.
            defer { try? file.close() }
            try file.write(data)
            guard TrustedFile.synchronise(file.number) == 0, rename(part, path) == 0 else { throw SystemError.last }
        } catch {
            unlink(part)
            throw refused("cannot be written: \(error.reason)")
        }
    }

    /// The error for this file.
    func refused(
        _ what: String,
        _ advice: String = "Check the path and its permissions, or remove it."
    ) -> CommandError {
        CommandError(what: "The \(kind) \(path) \(what).", advice: advice, code: .localFile)
    }

    private static func makeFolder(_ path: String) {
        guard !path.isEmpty, access(path, F_OK) != 0 else { return }
        if let slash = path.lastIndex(of: "/") { makeFolder(String(path[..<slash])) }
        // A folder that cannot be created is reported when the file is written.
        mkdir(path, 0o700)
    }

    /// The folder for lade's files: `$XDG_CONFIG_HOME/lade`, or `~/.config/lade`; nil without a home directory.
    static var folder: String? {
        // The XDG Base Directory Specification requires that relative paths are ignored.
        if let base = Console.environment("XDG_CONFIG_HOME"), base.hasPrefix("/") { return base + "/lade" }
        return Console.environment("HOME").flatMap { $0.isEmpty ? nil : $0 + "/.config/lade" }
    }
}
