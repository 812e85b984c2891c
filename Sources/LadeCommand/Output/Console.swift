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

/// The program's input and output: data on the standard output, all messages on the standard error.
struct Console: Sendable {
    /// The standard input, read only when the arguments ask for it.
    var input = Descriptor.standardInput
    /// The standard output, which receives only data.
    var output = Descriptor.standardOutput
    /// The log for all messages to the user.
    var talk: LineLog
    /// The secrets that no message shows.
    let secrets = SecretMask()
    /// Whether the data is written to a terminal.
    var isOutputTerminal: Bool
    /// Whether the messages are written to a terminal.
    var isTalkTerminal: Bool
    /// Whether the data may be coloured (`NO_COLOR`, `TERM`).
    var usesColour: Bool
    /// Whether messages may be coloured.
    var coloursTalk: Bool
    /// Whether JSON is formatted and control characters are removed, as on a terminal.
    var laysOut: Bool

    /// The console of this process.
    init() {
        talk = LineLog(.standardError, hiding: secrets)
        isOutputTerminal = output.isTerminal
        isTalkTerminal = Descriptor.standardError.isTerminal
        let isUnwanted = Environment.value(.noColour)?.isEmpty == false || Environment.value(.terminal) == "dumb"
        usesColour = isOutputTerminal && !isUnwanted
        coloursTalk = isTalkTerminal && !isUnwanted
        laysOut = isOutputTerminal
    }

    /// The console with the choice of `--color` applied.
    func coloured(_ choice: OutputSettings.Colour) -> Console {
        var console = self
        switch choice {
        case .automatic: break
        case .always: (console.usesColour, console.coloursTalk, console.laysOut) = (true, true, true)
        case .never: (console.usesColour, console.coloursTalk) = (false, false)
        }
        return console
    }

    /// Writes a text to the standard output, on the calling thread.
    func write(_ text: String) throws(CommandError) { try write(Data(text.utf8)) }

    /// Writes bytes to the standard output, on the calling thread.
    func write(_ bytes: Data) throws(CommandError) {
        do {
            try output.write(bytes)
        } catch {
            throw .output(error)
        }
    }

    /// Writes a line for the user, in which texts of others control nothing.
    func say(_ line: String) { talk.say(line) }

    /// The number of columns of the terminal that receives the data: the terminal's own number, the number in `COLUMNS`, or 80.
    var outputWidth: Int {
        if let columns = output.columns { return columns }
        return Environment.value(.columns).flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } ?? 80
    }
}

extension CommandError {
    /// The error for a failed write to the standard output, or to the file at a path; quiet when its reader closed it.
    static func output(_ error: SystemError, _ path: String? = nil) -> CommandError {
        guard error.number != EPIPE else { return .brokenPipe }
        if let path { return .file(path, "written", error) }
        return CommandError(
            what: "The standard output cannot be written: \(error.reason).",
            advice: "Write to another file or pipe.",
            code: .localFile
        )
    }

    /// The error for a local file that cannot be used.
    static func file(_ path: String, _ verb: String, _ error: SystemError) -> CommandError {
        CommandError(
            what: "\(path == "-" ? "The standard input" : "The file \(path)") cannot be \(verb): \(error.reason).",
            advice: "Check the path, its permissions and the space left.",
            code: .localFile
        )
    }
}
