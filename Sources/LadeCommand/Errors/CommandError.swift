import Lade

/// The known facts about the proxy of a call.
struct ProxyFact: Equatable {
    /// Whether a user name and a password were sent to it.
    var hasCredentials: Bool
    var isSOCKS: Bool
    /// The variable that names it; nil for an option.
    var variable: String?
}

/// Why a command failed: what happened, what the user can do, and the exit code.
struct CommandError: Error, Equatable {
    /// The fault, as one sentence without secrets.
    var what: String
    /// The advice: an action that the user can take.
    var advice: String
    /// The exit code for scripts.
    var code: ExitCode
    /// Whether nothing is printed: the reader of the output closed it, or the user interrupted the program.
    var isQuiet = false

    /// Makes a usage error: `what` is wrong with the arguments.
    static func usage(_ what: String, advice: String = "") -> CommandError {
        CommandError(what: what, advice: advice, code: .usage)
    }

    /// Makes the error for an operand of a command that takes none.
    static func unexpected(_ operand: String, of command: String) -> CommandError {
        .usage("\(command) takes no “\(operand.asArgument)”", advice: "“lade \(command) --help” shows what it takes.")
    }

    /// The reader of the output closed it, as `head` does after enough lines.
    static let brokenPipe = CommandError(what: "", advice: "", code: .success, isQuiet: true)

    /// The user pressed the interrupt key.
    static let interrupted = CommandError(what: "", advice: "", code: .interrupted, isQuiet: true)

    /// The two lines that are printed.
    ///
    /// Text from a server or a lower layer cannot add a line or control the terminal.
    var lines: String {
        "lade: \(what.escapedForDisplay(limit: 2_000))\n      \(advice.escapedForDisplay(limit: 2_000))\n"
    }
}
