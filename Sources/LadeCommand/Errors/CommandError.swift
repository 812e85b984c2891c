import Lade

/// Why a command gave up: what happened, what to do about it, and the exit code (CM-04).
struct CommandError: Error, Equatable {
    /// What happened, as one sentence without secrets.
    var what: String
    /// What the user can do.
    var advice: String
    /// What a script is told.
    var code: ExitCode
    /// Whether nothing is to be said: the reader of the output went away, or the user interrupted.
    var isQuiet = false

    /// Makes an error of the user's: `what` is wrong with the arguments.
    static func usage(_ what: String, advice: String = "") -> CommandError {
        CommandError(what: what, advice: advice, code: .usage)
    }

    /// An operand for a command that takes none.
    static func unexpected(_ operand: String, of command: String) -> CommandError {
        .usage("\(command) takes no “\(operand.asArgument)”", advice: "“lade \(command) --help” shows what it takes.")
    }

    /// Whoever read our output has left, which is a way of saying "enough" (CM-05).
    static let brokenPipe = CommandError(what: "", advice: "", code: .success, isQuiet: true)

    /// The user pressed the interrupt key.
    static let interrupted = CommandError(what: "", advice: "", code: .interrupted, isQuiet: true)

    /// The two lines that are shown.
    ///
    /// Texts of a server or a lower layer cannot add a third, nor control the terminal.
    var lines: String {
        "lade: \(what.escapedForDisplay(limit: 2_000))\n      \(advice.escapedForDisplay(limit: 2_000))\n"
    }
}
