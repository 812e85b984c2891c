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

/// The destination of the output that an option names.
enum OutputFile {
    /// A regular file, or a name that does not exist yet.
    case regular
    /// A device or a pipe, open for writing; it cannot be replaced by a file.
    case special(Descriptor)

    /// Checks the path before any request is sent.
    ///
    /// - Throws: A usage error for an empty path; a local error when the file exists and must not be overwritten, when
    ///   the path is a folder, or when it is a pipe that no other program reads, which would block forever.
    init(_ path: String, mayOverwrite: Bool) throws(CommandError) {
        guard !path.isEmpty else { throw .usage("--output without a name", advice: "Name a file, or - for the pipe.") }
        var status = stat()
        guard stat(path, &status) == 0 || lstat(path, &status) == 0 else {
            self = .regular
            return
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFLNK:
            guard mayOverwrite else { throw Self.exists(path) }
            self = .regular
        default:
            // The system opens no folder for writing.
            do throws(SystemError) {
                self = .special(try Descriptor.open(path, O_WRONLY | O_NONBLOCK))
            } catch {
                throw .file(path, "written", error)
            }
        }
    }

    /// The error for an existing file that must not be overwritten.
    static func exists(_ path: String) -> CommandError {
        CommandError(
            what: "The file \(path) exists already.",
            advice: "Complete it with -C, overwrite it with --force, or choose another with -o.",
            code: .localFile
        )
    }

    /// The error for a download whose file already exists; nil for any other error.
    static func exists(_ error: LoadingError, mayOverwrite: Bool) -> CommandError? {
        var status = stat()
        guard !mayOverwrite, case .file(let fault, _) = error, fault.operation == .write,
            !fault.path.hasSuffix(".lade-part"), lstat(fault.path, &status) == 0
        else { return nil }
        return exists(fault.path)
    }
}
