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
import Lade

/// A file with secrets, or with options that act for the user.
///
/// All files that the command keeps are read and written by this type. It opens only files that ``FileTrust`` accepts, and
/// reads them within a limit. It replaces a file in one step, under a lock where programs share the file.
struct PrivateFile: Sendable {
    /// The path of the file.
    let path: String
    /// The name of the file in errors: “session file”.
    let kind: String
    /// The kind of file that is accepted.
    ///
    /// By default it is the user's alone, and a link to such a file is followed.
    var trust = FileTrust.secret.followingLinks
    /// The most bytes that the file may have.
    ///
    /// A larger file is refused.
    var limit = 4 << 20

    /// The contents; nil when the file does not exist.
    ///
    /// - Throws: A local error that names the file, when it belongs to another user, or when others can read or write it. The
    ///   same when it is not a regular file of a plausible size.
    func read() throws(CommandError) -> Data? {
        do throws(FileDistrust) {
            return try TrustedFile.contents(of: path, trust, limit: limit)
        } catch {
            throw refused(error, "read")
        }
    }

    /// Replaces the file with a new one that only its owner can read; creates the folder if necessary.
    ///
    /// A device or a pipe is written to and not replaced.
    ///
    /// - Throws: A local error that names the file.
    func write(_ data: Data) throws(CommandError) {
        makeFolder()
        do throws(FileDistrust) {
            try TrustedFile.replace(path, with: data, trust)
        } catch {
            throw refused(error, "written")
        }
    }

    /// Reads the file, changes its contents, and replaces it; other programs that do so wait.
    ///
    /// - Parameter change: Makes the new contents of the present ones, which are nil when there are none.
    /// - Throws: A local error that names the file, and the errors of `change`.
    func update(_ change: (Data?) throws(CommandError) -> Data) throws(CommandError) {
        makeFolder()
        let present: Data
        let file: TrustedFile
        do throws(FileDistrust) {
            file = try TrustedFile.locking(path, trust, waits: true)
            present = try file.contents(limit: limit)
        } catch {
            throw refused(error, "written")
        }
        // The lock is held until the file is replaced.
        defer { withExtendedLifetime(file) {} }
        // An empty file was just made by another program, in order to lock it.
        try write(try change(present.isEmpty ? nil : present))
    }

    /// The error for this file.
    func refused(
        _ what: String,
        _ advice: String = "Check the path and its permissions, or remove it."
    ) -> CommandError {
        CommandError(what: "The \(kind) \(path) \(what).", advice: advice, code: .localFile)
    }

    private func refused(_ fault: FileDistrust, _ verb: String) -> CommandError {
        switch fault {
        case .notRegular: refused("is no regular file")
        case .link: refused("is a symbolic link", "Name the file that it leads to, or remove it.")
        case .foreignOwner:
            refused("belongs to another user", "Remove it, or copy what you trust of it into one of your own.")
        case .accessible(let access):
            refused(
                "can be \(access == .read ? "read" : "changed or run") by other users",
                "Make it yours alone: chmod 600 \(path)"
            )
        case .tooLarge(let limit): refused("is larger than \(limit >> 20) MB")
        case .severalNames, .busy, .system: refused("cannot be \(verb): \(fault.reason)")
        }
    }

    private func makeFolder() {
        if let (folder, _) = path.cut(atLast: "/") { Self.makeFolder(String(folder)) }
    }

    private static func makeFolder(_ path: String) {
        guard !path.isEmpty, access(path, F_OK) != 0 else { return }
        if let (parent, _) = path.cut(atLast: "/") { makeFolder(String(parent)) }
        // A folder that cannot be created is reported when the file is written.
        mkdir(path, 0o700)
    }

    /// The folder for lade's files: `$XDG_CONFIG_HOME/lade`, or `~/.config/lade`; nil without a home directory.
    static var folder: String? {
        // The XDG Base Directory Specification requires that relative paths are ignored.
        if let base = Environment.value(.configuration), base.begins(with: "/") { return base + "/lade" }
        return Environment.value(.home).flatMap { $0.isEmpty ? nil : $0 + "/.config/lade" }
    }
}
