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
    /// A pipe that no other program reads yet; ``opened(in:)`` waits for its reader.
    case unread(String)

    /// Checks the path before any request is sent.
    ///
    /// - Throws: A usage error for an empty path. A local error when the file exists and must not be overwritten, or when the
    ///   path is a folder. The same for a pipe or a disk that must not be written to.
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
        case let kind:
            // The names of the shell's own pipes are meant: >(command) is /dev/fd/63.
            let isMeant = kind == S_IFCHR || path.hasPrefix("/dev/fd/") || path.hasPrefix("/dev/std")
            guard mayOverwrite || isMeant || kind == S_IFDIR else {
                throw CommandError(
                    what: "The file \(path) cannot be written: it is no regular file.",
                    advice: "Write to it with --force, or choose another with -o.",
                    code: .localFile
                )
            }
            // The system opens no folder for writing.
            do throws(SystemError) {
                self = .special(try Descriptor.open(path, O_WRONLY | O_NONBLOCK))
            } catch {
                guard error.number == ENXIO, kind == S_IFIFO else { throw .file(path, "written", error) }
                self = .unread(path)
            }
        }
    }

    /// Checks before any request is sent that a body for a path can be compared before it is there.
    ///
    /// - Throws: A local error for a pipe or a device.
    static func checkIsComparable(_ path: String) throws(CommandError) {
        var status = stat()
        guard stat(path, &status) == 0, ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) else { return }
        throw CommandError(
            what: "The file \(path) cannot be compared with --sha256: it is no regular file.",
            advice: "Name another file with -o.",
            code: .localFile
        )
    }

    /// The destination of bytes that are added to the end of a file, which is made where it is missing.
    init(appendingTo path: String) throws(CommandError) {
        do throws(SystemError) {
            self = .special(try Descriptor.open(path, O_WRONLY | O_CREAT | O_APPEND))
        } catch {
            throw .file(path, "written", error)
        }
    }

    /// The destination, after a reader has opened its pipe.
    ///
    /// - Throws: An interruption as soon as the task is cancelled.
    func opened(in time: any TimeSource) async throws(CommandError) -> OutputFile {
        var file = self
        while case .unread(let path) = file {
            do throws(LoadingError) {
                try await time.sleep(for: .milliseconds(20))
            } catch {
                throw .interrupted
            }
            file = try OutputFile(path, mayOverwrite: true)
        }
        return file
    }

    /// The error for an existing file that must not be overwritten.
    static func exists(_ path: String) -> CommandError {
        CommandError(
            what: "The file \(path) exists already.",
            advice: "Complete it with -C, overwrite it with --force, or choose another with -o.",
            code: .localFile
        )
    }

    /// The error for a download whose file another call of the command has written; nil for any other error.
    static func written(_ error: LoadingError) -> CommandError? {
        guard case .file(let fault) = error.kind, fault.reason == Download.isWritten else { return nil }
        return CommandError(
            what: "The file \(fault.path) has another response of this command already.",
            advice: "Give each address a file of its own with -o.",
            code: .localFile
        )
    }

    /// The error for a download whose file already exists; nil for any other error.
    static func exists(_ error: LoadingError, mayOverwrite: Bool) -> CommandError? {
        var status = stat()
        guard !mayOverwrite, case .file(let fault) = error.kind, fault.operation == .write,
            !fault.path.hasSuffix(".lade-part"), lstat(fault.path, &status) == 0
        else { return nil }
        return exists(fault.path)
    }

    /// The error for a download with another digest than the user expects; nil for any other error.
    static func mismatch(_ error: LoadingError, with wanted: Download.Digest?) -> CommandError? {
        guard let wanted, case .digest(_, wanted.bytes, let bytes)? = error.underlyingError as? ProcessingError else {
            return nil
        }
        var reported = CommandError(error)
        let start = reported.what.cut(at: "The response could not be decoded").map { String($0.before) } ?? ""
        let actual = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        reported.what = start + "The file has the SHA-256 \(actual), and --sha256 says \(wanted)."
        return reported
    }

    /// The error for a file whose rest the server does not send; nil for any other error.
    static func unfinished(_ error: LoadingError) -> CommandError? {
        guard case .file(let fault) = error.kind, fault.reason.hasPrefix(Download.noRest) else { return nil }
        return CommandError(
            what: "The file \(fault.path) cannot be completed: \(fault.reason).",
            advice: "Fetch it anew with --force in place of -C.",
            code: .localFile
        )
    }
}
