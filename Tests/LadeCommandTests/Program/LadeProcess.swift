import Foundation
import Lade
import LadeTesting
import SharedDoubles

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A run of the built `lade`, with its three streams and its end.
final class LadeProcess: Sendable {
    /// What a run left behind.
    struct Outcome: Sendable {
        var status: Int32
        var output: String
        var talk: String

        /// The lines of what was said to the user.
        var talkLines: [String] { talk.split(separator: "\n").map(String.init) }
    }

    /// What the standard output is.
    enum Output: Sendable {
        case pipe
        /// A terminal, which is the standard input as well.
        case terminal
        /// It has no reader any more.
        case brokenPipe
        case file(String)
    }

    private let process: ChildProcess
    private let keyboard = Locked(FileHandle?.none)
    private let output = Collector()
    private let talk = Collector()

    /// The program that the tests were built with.
    static let path: String = {
        #if os(Linux)
            let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        #else
            let bundle = Bundle(for: LadeProcess.self).bundlePath
        #endif
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().path + "/lade"
    }()

    /// Makes this process, and the programs that it starts, receive the signals that end them.
    ///
    /// A shell without job control starts background jobs with SIGINT ignored, `nohup` starts a program with SIGHUP
    /// ignored, and `lade` does not end by signals that it was started to ignore.
    private static let hasSignals: Void = {
        for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
    }()

    /// Starts a program, `lade` unless another is named.
    init(
        _ arguments: [String],
        program: String = path,
        input: String? = nil,
        to sink: Output = .pipe,
        in folder: String = NSTemporaryDirectory(),
        environment: [String: String] = [:]
    ) throws {
        _ = Self.hasSignals
        let folders = URL(fileURLWithPath: Self.path).deletingLastPathComponent().path + ":/usr/local/bin:/usr/bin:/bin"
        let home = folder.hasSuffix("/") ? String(folder.dropLast()) : folder
        let variables = ["PATH": folders, "HOME": home, "TERM": "xterm", "LANG": "C.UTF-8"]
            .merging(environment) { _, new in new }
        let inputPipe = input.map { _ in Pipe() }
        var standardInput = inputPipe?.fileHandleForReading
        let standardOutput: FileHandle
        switch sink {
        case .pipe:
            let pipe = Pipe()
            standardOutput = pipe.fileHandleForWriting
            output.collect(from: pipe.fileHandleForReading)
        case .terminal:
            let (master, slave) = try Self.openTerminal()
            standardOutput = slave
            standardInput = slave
            keyboard.withLock { $0 = master }
            output.collect(from: master)
        case .brokenPipe:
            let pipe = Pipe()
            standardOutput = pipe.fileHandleForWriting
            try pipe.fileHandleForReading.close()
        case .file(let path):
            guard let file = FileHandle(forWritingAtPath: path) else { throw CocoaError(.fileNoSuchFile) }
            standardOutput = file
        }
        let talkPipe = Pipe()
        talk.collect(from: talkPipe.fileHandleForReading)
        // The streams end with the program, so its sides of them are closed here, also when it does not start.
        defer {
            for handle in [standardOutput, talkPipe.fileHandleForWriting] { try? handle.close() }
            try? inputPipe?.fileHandleForReading.close()
        }
        process = try ChildProcess(
            program,
            arguments,
            environment: variables,
            in: folder,
            input: standardInput?.fileDescriptor,
            output: standardOutput.fileDescriptor,
            error: talkPipe.fileHandleForWriting.fileDescriptor
        )
        if let input, let writing = inputPipe?.fileHandleForWriting {
            try writing.write(contentsOf: Data(input.utf8))
            try writing.close()
        }
    }

    /// Sends a signal.
    func send(_ signal: Int32) {
        process.send(signal)
    }

    /// Types on the terminal.
    func type(_ text: String) throws {
        try keyboard.withLock(\.self)?.write(contentsOf: Data(text.utf8))
    }

    /// Waits until so much was written to the standard output.
    func output(atLeast count: Int) async throws {
        try await output.bytes(atLeast: count)
    }

    /// Waits until so much was said to the user.
    func talk(atLeast count: Int) async throws {
        try await talk.bytes(atLeast: count)
    }

    /// What was written to the standard output so far.
    func outputSoFar() -> String { output.textSoFar }

    /// Waits for the end of the program and of its streams.
    func outcome() async throws -> Outcome {
        let end = try await process.ended()
        // A program that a signal has ended gets the number a shell would give it.
        let status = end < 0 ? 128 - end : end
        return Outcome(status: status, output: try await output.text(), talk: try await talk.text())
    }

    /// Runs a program to its end.
    static func run(
        _ arguments: String...,
        program: String = path,
        input: String? = nil,
        to sink: Output = .pipe,
        in folder: String = NSTemporaryDirectory(),
        environment: [String: String] = [:]
    ) async throws -> Outcome {
        let process = try LadeProcess(
            arguments,
            program: program,
            input: input,
            to: sink,
            in: folder,
            environment: environment
        )
        return try await process.outcome()
    }

    private static func openTerminal() throws -> (master: FileHandle, slave: FileHandle) {
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        let slave = open(try nameOfOtherSide(master), O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw CocoaError(.fileReadUnknown) }
        return (FileHandle(fileDescriptor: master, closeOnDealloc: true), FileHandle(fileDescriptor: slave))
    }

    private static func nameOfOtherSide(_ master: Int32) throws -> String {
        #if os(Linux)
            // The functions for this are hidden from Swift there; these are the requests they make.
            var unlocked: Int32 = 0
            var number: Int32 = 0
            let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
            guard ioctl(master, setLock, &unlocked) == 0, ioctl(master, getNumber, &number) == 0 else {
                throw CocoaError(.fileReadUnknown)
            }
            return "/dev/pts/\(number)"
        #else
            guard grantpt(master) == 0, unlockpt(master) == 0, let name = ptsname(master) else {
                throw CocoaError(.fileReadUnknown)
            }
            return String(cString: name)
        #endif
    }
}

/// Reads a stream to its end on a thread of its own.
private final class Collector: Sendable {
    private struct State {
        var data = Data()
        var isDone = true
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func takeReady() -> [CheckedContinuation<Void, Never>] {
            let ready = waiters.filter { isDone || data.count >= $0.count }
            waiters.removeAll { isDone || data.count >= $0.count }
            return ready.map(\.continuation)
        }
    }

    private let state = Locked(State())

    func collect(from handle: FileHandle) {
        state.withLock { $0.isDone = false }
        let descriptor = handle.fileDescriptor
        let thread = Thread { [state] in
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                // A terminal whose other side is closed fails instead of ending.
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                let ready = state.withLock { state in
                    if count > 0 { state.data.append(contentsOf: buffer[..<count]) } else { state.isDone = true }
                    return state.takeReady()
                }
                for waiter in ready { waiter.resume() }
                if count <= 0 { break }
            }
            // Keeps the descriptor open until here.
            withExtendedLifetime(handle) {}
        }
        thread.start()
    }

    func bytes(atLeast count: Int) async throws {
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state in
                state.waiters.append((count, continuation))
                return state.takeReady()
            }
            for waiter in ready { waiter.resume() }
        }
    }

    var textSoFar: String { state.withLock { String(decoding: $0.data, as: UTF8.self) } }

    func text() async throws -> String {
        try await bytes(atLeast: .max)
        return textSoFar
    }
}
