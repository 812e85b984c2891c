import Foundation
import Lade
import LadeTesting

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

    private let process = Process()
    private let ended = Locked(Int32?.none)
    private let end = Signal()
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
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        let folders = URL(fileURLWithPath: Self.path).deletingLastPathComponent().path + ":/usr/local/bin:/usr/bin:/bin"
        process.environment = ["PATH": folders, "HOME": folder, "TERM": "xterm", "LANG": "C.UTF-8"]
            .merging(environment) { _, new in new }
        let inputPipe = Pipe()
        if input == nil { process.standardInput = FileHandle.nullDevice } else { process.standardInput = inputPipe }
        var toClose: [FileHandle] = []
        switch sink {
        case .pipe:
            let pipe = Pipe()
            process.standardOutput = pipe
            output.collect(from: pipe.fileHandleForReading)
        case .terminal:
            let (master, slave) = try Self.openTerminal()
            process.standardOutput = slave
            process.standardInput = slave
            keyboard.withLock { $0 = master }
            output.collect(from: master)
            toClose = [slave]
        case .brokenPipe:
            let pipe = Pipe()
            process.standardOutput = pipe
            try pipe.fileHandleForReading.close()
        case .file(let path):
            guard let file = FileHandle(forWritingAtPath: path) else { throw CocoaError(.fileNoSuchFile) }
            process.standardOutput = file
        }
        let talkPipe = Pipe()
        process.standardError = talkPipe
        talk.collect(from: talkPipe.fileHandleForReading)
        process.terminationHandler = { [ended, end] process in
            // A program that a signal has ended gets the number a shell would give it.
            let isSignal = process.terminationReason == .uncaughtSignal
            ended.withLock { $0 = process.terminationStatus + (isSignal ? 128 : 0) }
            end.raise()
        }
        try process.run()
        for handle in toClose { try handle.close() }
        if let input {
            try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try inputPipe.fileHandleForWriting.close()
        }
    }

    /// Sends a signal.
    func send(_ signal: Int32) {
        kill(process.processIdentifier, signal)
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
        try await end.wait()
        let status = ended.withLock { $0 ?? -1 }
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
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        let slave = open(try nameOfOtherSide(master), O_RDWR | O_NOCTTY)
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
