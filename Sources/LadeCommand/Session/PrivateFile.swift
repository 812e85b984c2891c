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

/// A file that may hold secrets, or options that act in the user's name: it counts only when no other user can read or
/// write it.
struct PrivateFile: Sendable {
    /// Where it is.
    let path: String
    /// What it is called in errors: “session file”.
    let kind: String

    // What is longer is another file.
    private static let limit = 4 << 20

    /// What it has; nil when there is no such file.
    ///
    /// - Throws: A local error that names the file, when it belongs to another user, when others can read or write it, or
    ///   when it is no file of a sensible size.
    func read() throws(CommandError) -> Data? {
        let file: Descriptor
        do throws(SystemError) {
            // A pipe of that name must not be waited for.
            file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
        } catch {
            guard error.number == ENOENT || error.number == ENOTDIR else {
                throw refused("cannot be read: \(error.reason)")
            }
            return nil
        }
        // It was only read.
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

    /// Replaces it as a whole, by a new file that its owner alone can read; makes the folder if there is none.
    ///
    /// - Throws: A local error that names the file.
    func write(_ data: Data) throws(CommandError) {
        if let slash = path.lastIndex(of: "/") { Self.makeFolder(String(path[..<slash])) }
        let part = "\(path).\(getpid()).part"
        do throws(SystemError) {
            unlink(part)
            let file = try Descriptor.open(part, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            // What could not be kept shows when it is written.
            defer { try? file.close() }
            try file.write(data)
            guard fsync(file.number) == 0, rename(part, path) == 0 else { throw SystemError.last }
        } catch {
            unlink(part)
            throw refused("cannot be written: \(error.reason)")
        }
    }

    /// An error about this file.
    func refused(
        _ what: String,
        _ advice: String = "Check the path and its permissions, or remove it."
    ) -> CommandError {
        CommandError(what: "The \(kind) \(path) \(what).", advice: advice, code: .localFile)
    }

    private static func makeFolder(_ path: String) {
        guard !path.isEmpty, access(path, F_OK) != 0 else { return }
        if let slash = path.lastIndex(of: "/") { makeFolder(String(path[..<slash])) }
        // A folder that cannot be made shows when the file is written.
        mkdir(path, 0o700)
    }

    /// The folder for what lade keeps: `$XDG_CONFIG_HOME/lade`, or `~/.config/lade`; nil without a home.
    static var folder: String? {
        // The specification wants relative paths to be ignored.
        if let base = Console.environment("XDG_CONFIG_HOME"), base.hasPrefix("/") { return base + "/lade" }
        return Console.environment("HOME").flatMap { $0.isEmpty ? nil : $0 + "/.config/lade" }
    }
}
