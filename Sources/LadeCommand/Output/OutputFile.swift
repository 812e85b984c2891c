#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What an option names as the place of the output (CM-06).
enum OutputFile {
    /// A file, or a name that is free.
    case regular
    /// A device or a pipe, open for writing: nothing can take its place.
    case special(Descriptor)

    /// Looks at what has the name, before anything is asked of a server.
    ///
    /// - Throws: A local error when it exists and may not be overwritten, when it is a folder, or when it is a pipe that
    ///   no other program reads, which would be waited for without end.
    init(_ path: String, mayOverwrite: Bool) throws(CommandError) {
        var status = stat()
        guard stat(path, &status) == 0 || lstat(path, &status) == 0 else {
            self = .regular
            return
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: throw .file(path, "written", SystemError(number: EISDIR))
        case S_IFREG, S_IFLNK:
            guard mayOverwrite else { throw Self.exists(path) }
            self = .regular
        default:
            do throws(SystemError) {
                self = .special(try Descriptor.open(path, O_WRONLY | O_NONBLOCK))
            } catch {
                throw .file(path, "written", error)
            }
        }
    }

    /// The error for a file that must not be overwritten.
    static func exists(_ path: String) -> CommandError {
        CommandError(
            what: "The file \(path) exists already.",
            advice: "Complete it with -C, overwrite it with --force, or choose another with -o.",
            code: .localFile
        )
    }

    /// The error of a download that met a file of its name; nil for another error.
    static func exists(_ error: LoadingError, mayOverwrite: Bool) -> CommandError? {
        var status = stat()
        guard !mayOverwrite, case .file(let fault, _) = error, fault.operation == .write,
            !fault.path.hasSuffix(".lade-part"), lstat(fault.path, &status) == 0
        else { return nil }
        return exists(fault.path)
    }
}
