import Lade
import LadeTraffic

/// The environment of a command besides its own settings.
struct CommandContext: Sendable {
    /// The table with the command.
    var table: CommandTable
    /// The input and output of the command.
    var console: Console
    /// The signals that cancel the command.
    var interruption: Interruption
    /// The clock for waits and dates.
    var time: any TimeSource = SystemTime()
    /// Whether a fault of the cache has been reported.
    let cacheFaultIsTold = Locked(false)
    /// The fleets that the command has joined.
    let memberships = Locked<[SharedLimits: SharedLimits.Membership]>([:])
    /// The limiters of the command's calls with a rate or a fleet.
    let limiters = Locked<[LimitKey: RateLimiter]>([:])
    /// The recorders of the command's calls, by the paths of their files.
    let recorders = Locked([String: TrafficRecorder]())
    /// Makes the service that carries out the calls.
    var makeService: @Sendable (Service.Settings) throws(LoadingError) -> Service = { settings throws(LoadingError) in
        try Service(settings)
    }
}

/// A command: its row in the table, from which parsing, help, completions and the manual are made.
struct Command: Sendable {
    /// A titled list in the help that does not hold options, such as the kinds of items.
    struct Chapter: Sendable {
        var title: String
        var rows: [(term: String, meaning: String)]
    }

    /// An example command line and its effect.
    struct Example: Sendable {
        var line: String
        var purpose: String
    }

    /// The name after `lade`.
    var name: String
    /// The purpose in one line.
    var summary: String
    /// The operands as the usage line shows them.
    var operands: String
    /// The shell completion for each operand; the last applies to all further ones.
    var operandCompletions: [ValueCompletion]
    /// The text of the manual before the options.
    var description: String
    /// The lists in the help before the options.
    var chapters: [Chapter]
    /// The options, in the order of the help.
    var options: [OptionInfo]
    /// Example command lines, usually three.
    var examples: [Example]
    /// Parses the arguments and runs the command.
    var run: @Sendable ([String], CommandContext) async throws(CommandError) -> ExitCode

    /// Makes a command from a table of options and a function that receives the settings.
    init<Settings: CommandSettings>(
        _ name: String,
        _ summary: String,
        operands: String = "",
        operandCompletions: [ValueCompletion] = [],
        description: String = "",
        chapters: [Chapter] = [],
        options: [OptionRow<Settings>] = [],
        examples: [Example] = [],
        perform: @escaping @Sendable (Settings, CommandContext) async throws(CommandError) -> ExitCode
    ) {
        self.name = name
        self.summary = summary
        self.operands = operands
        self.operandCompletions = operandCompletions
        self.description = description
        self.chapters = chapters
        self.options = options.map(\.info) + [Self.helpOption]
        self.examples = examples
        run = { arguments, context async throws(CommandError) -> ExitCode in
            let parser = ArgumentParser(
                command: "\(context.table.program) \(name)",
                rows: options,
                table: context.table
            )
            switch try parser.parse(arguments) {
            case .run(let settings):
                return try await perform(settings, context)
            case .help:
                guard let command = context.table[name] else { return .usage }
                try context.console.write(HelpPage(table: context.table).page(of: command))
                return .success
            }
        }
    }

    private static let helpOption = OptionInfo(
        name: "help",
        letter: "h",
        metavar: nil,
        section: .general,
        summary: "Show this help",
        details: "",
        isCommon: false,
        completion: .nothing
    )
}
