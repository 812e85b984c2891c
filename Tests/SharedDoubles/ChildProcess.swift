import LadeCore
import LadeTesting

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A program that a test runs, and that is reaped as soon as it ends.
///
/// It is not Foundation's `Process`, which on Linux learns of an end by a socket. Another program that starts at that moment
/// can inherit the socket and keep it open. The ended program then stays unreaped, and while there is such a process, Swift
/// Testing learns of the end of no test that runs in a process of its own: these tests fill all places, and the others wait.
package final class ChildProcess: Sendable {
    /// The system could not start the program.
    package struct StartFault: Error, CustomStringConvertible {
        package let program: String
        package let code: Int32

        package var description: String { "\(program): \(String(cString: strerror(code)))" }
    }

    private let identifier: pid_t
    private let status = Locked(Int32?.none)
    private let end = Signal()

    /// Starts a program in a process group of its own.
    ///
    /// It inherits no descriptor below 1,024 but the three standard ones.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: Its arguments, without its name.
    ///   - environment: Its variables; nil for those of the tests, the default.
    ///   - folder: Its working directory; nil for that of the tests, the default.
    ///   - input: The descriptor that becomes its standard input; nil for `/dev/null`, the default.
    ///   - output: The descriptor that becomes its standard output; nil for that of the tests, the default.
    ///   - error: The descriptor that becomes its standard error; nil for that of the tests, the default.
    /// - Throws: A ``StartFault``.
    package init(
        _ program: String,
        _ arguments: [String],
        environment: [String: String]? = nil,
        in folder: String? = nil,
        input: Int32? = nil,
        output: Int32? = nil,
        error: Int32? = nil
    ) throws(StartFault) {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
            let flags = Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_CLOEXEC_DEFAULT)
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
            let flags = Int16(POSIX_SPAWN_SETPGROUP)
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawnattr_setflags(&attributes, flags)
        posix_spawnattr_setpgroup(&attributes, 0)
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output ?? 1, 1)
        posix_spawn_file_actions_adddup2(&actions, error ?? 2, 2)
        #if !canImport(Darwin)
            for descriptor in 3..<8_192 as Range<Int32> { posix_spawn_file_actions_addclose(&actions, descriptor) }
        #endif
        // Glibc's module lacks the action that changes the directory.
        let shell = ["/bin/sh", "-c", #"cd -- "$0" && exec "$@""#]
        let line = (folder.map { shell + [$0] } ?? []) + [program] + arguments
        var texts = line.map { strdup($0) } + [nil]
        var variables = (environment ?? [:]).map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in texts + variables { free(text) } }
        var identifier: pid_t = 0
        let code =
            environment == nil
            ? posix_spawn(&identifier, line[0], &actions, &attributes, &texts, Self.environment)
            : posix_spawn(&identifier, line[0], &actions, &attributes, &texts, &variables)
        guard code == 0 else { throw StartFault(program: program, code: code) }
        self.identifier = identifier
        Threads.start("child process") { [self] in reap() }
    }

    /// The environment of this process, which Darwin's libraries reach by a function.
    private static var environment: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
        #if canImport(Darwin)
            _NSGetEnviron().pointee
        #else
            environ
        #endif
    }

    /// Waits for the end on a thread.
    private func reap() {
        var information = siginfo_t()
        // The number stays reserved until `waitpid`, so that no signal reaches another process with the same number.
        while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        status.withLock { status in
            var word: Int32 = 0
            while waitpid(identifier, &word, 0) < 0, errno == EINTR {}
            let signal = word & 0x7F
            status = signal == 0 ? word >> 8 & 0xFF : -signal
        }
        end.raise()
    }

    /// Sends a signal, unless the program has ended.
    package func send(_ signal: Int32) {
        status.withLock { status in
            if status == nil { kill(identifier, signal) }
        }
    }

    /// Waits for the end; returns the exit code, or the negative number of the signal that ended the program.
    package func ended() async throws -> Int32 {
        try await end.wait()
        return status.withLock { $0 ?? 0 }
    }
}
