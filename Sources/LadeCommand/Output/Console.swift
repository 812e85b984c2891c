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

/// Where the program reads, writes and talks: data on the standard output, everything else beside it (CM-01).
struct Console: Sendable {
    /// Read only when the arguments say so.
    var input = Descriptor.standardInput
    /// Takes data and nothing else.
    var output = Descriptor.standardOutput
    /// Takes everything that is said to the user.
    var talk: LineLog
    /// What is never said.
    let secrets = SecretMask()
    /// Whether the data goes to a person.
    var isOutputTerminal: Bool
    /// Whether what is said goes to a person.
    var isTalkTerminal: Bool
    /// Whether the data may be coloured (`NO_COLOR`, `TERM`).
    var usesColour: Bool
    /// Whether what is said may be coloured.
    var coloursTalk: Bool
    /// Whether JSON is laid out and text made harmless, as on a terminal.
    var laysOut: Bool

    /// The console of the process.
    init() {
        talk = LineLog(.standardError, hiding: secrets)
        isOutputTerminal = output.isTerminal
        isTalkTerminal = Descriptor.standardError.isTerminal
        let isUnwanted = Self.environment("NO_COLOR")?.isEmpty == false || Self.environment("TERM") == "dumb"
        usesColour = isOutputTerminal && !isUnwanted
        coloursTalk = isTalkTerminal && !isUnwanted
        laysOut = isOutputTerminal
    }

    /// The console with the colours that `--color` asks for.
    func coloured(_ choice: OutputSettings.Colour) -> Console {
        var console = self
        switch choice {
        case .automatic: break
        case .always: (console.usesColour, console.coloursTalk, console.laysOut) = (true, true, true)
        case .never: (console.usesColour, console.coloursTalk) = (false, false)
        }
        return console
    }

    /// Writes a text as data, on the calling thread.
    func write(_ text: String) throws(CommandError) {
        do {
            try output.write(text.utf8)
        } catch {
            throw .output(error)
        }
    }

    /// The value of a variable of the environment.
    static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

extension CommandError {
    /// The standard output cannot be written; quiet when its reader has left (CM-05).
    static func output(_ error: SystemError) -> CommandError {
        guard error.number != EPIPE else { return .brokenPipe }
        return CommandError(
            what: "The standard output cannot be written: \(error.reason).",
            advice: "Write to another file or pipe.",
            code: .localFile
        )
    }

    /// A local file cannot be used.
    static func file(_ path: String, _ verb: String, _ error: SystemError) -> CommandError {
        CommandError(
            what: "\(path == "-" ? "The standard input" : "The file \(path)") cannot be \(verb): \(error.reason).",
            advice: "Check the path, its permissions and the space left.",
            code: .localFile
        )
    }
}
