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

/// A file that has its name only once it is complete (CM-06).
///
/// The bytes go to a hidden file beside it. Without permission to overwrite, the final name is taken in one step that
/// fails when somebody else has taken it meanwhile.
struct FileSink: BodySink {
    /// The final name.
    let path: String
    private let temporaryPath: String
    private let mayOverwrite: Bool
    private let file: Descriptor
    private let isOpen = Locked(true)
    private let forgetCleanUp: @Sendable () -> Void

    /// Opens the hidden file; a device or a pipe is opened itself, for nothing can take its place.
    ///
    /// - Throws: A local error when the file exists and may not be overwritten, or none can be made there.
    init(
        _ path: String,
        mayOverwrite: Bool,
        interruption: Interruption,
        random: any RandomSource = SystemRandom()
    ) throws(CommandError) {
        try Self.check(path, mayOverwrite: mayOverwrite)
        self.path = path
        self.mayOverwrite = mayOverwrite
        let temporaryPath = Self.isSpecial(path) ? path : Self.temporaryPath(for: path, random)
        self.temporaryPath = temporaryPath
        do throws(SystemError) {
            let flags = temporaryPath == path ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL
            file = try Descriptor.open(temporaryPath, flags)
        } catch {
            throw .file(path, "written", error)
        }
        if temporaryPath == path {
            forgetCleanUp = {}
        } else {
            forgetCleanUp = interruption.cleanUp { _ = unlink(temporaryPath) }
        }
    }

    /// Checks that a file may be written, before anything is asked of a server.
    static func check(_ path: String, mayOverwrite: Bool) throws(CommandError) {
        var status = stat()
        guard stat(path, &status) == 0 || lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFDIR { throw .file(path, "written", SystemError(number: EISDIR)) }
        if !mayOverwrite, !isSpecial(path) { throw Self.exists(path) }
    }

    func writeHead(_ head: String) async throws(CommandError) {
        try await write(Data(head.utf8))
    }

    func write(_ chunk: Data) async throws(CommandError) {
        do throws(SystemError) {
            try file.write(chunk)
        } catch {
            throw .file(path, "written", error)
        }
    }

    /// Whether it is a file; what a device or a pipe has taken is gone.
    var canBeginAnew: Bool { temporaryPath != path }

    func beginAnew() async throws(CommandError) {
        do throws(SystemError) {
            try file.clear()
        } catch {
            throw .file(path, "written", error)
        }
    }

    func finish() async throws(CommandError) {
        do throws(SystemError) {
            guard takeOpenness() else { return }
            try file.close()
            if temporaryPath != path { try takeName() }
            forgetCleanUp()
        } catch {
            removeTemporary()
            throw error.number == EEXIST ? Self.exists(path) : .file(path, "written", error)
        }
    }

    func abandon() {
        guard takeOpenness() else { return }
        // The file is about to be removed, so it does not matter what of it could not be kept.
        try? file.close()
        removeTemporary()
    }

    private func takeOpenness() -> Bool {
        isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
    }

    private func removeTemporary() {
        if temporaryPath != path { unlink(temporaryPath) }
        forgetCleanUp()
    }

    /// Gives the complete file its name.
    private func takeName() throws(SystemError) {
        if !mayOverwrite {
            // Unlike renaming, linking fails when the name is taken.
            if link(temporaryPath, path) == 0 {
                unlink(temporaryPath)
                return
            }
            guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else { throw .last }
            // This file system has no links; looking first is the best there is.
            var status = stat()
            guard lstat(path, &status) != 0 else { throw SystemError(number: EEXIST) }
        }
        guard rename(temporaryPath, path) == 0 else { throw .last }
    }

    private static func temporaryPath(for path: String, _ random: any RandomSource) -> String {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        return folder + ".lade-" + String(random.next(), radix: 36) + ".part"
    }

    private static func isSpecial(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    private static func exists(_ path: String) -> CommandError {
        CommandError(
            what: "The file \(path) exists already.",
            advice: "Overwrite it with --force, or choose another with -o.",
            code: .localFile
        )
    }
}
