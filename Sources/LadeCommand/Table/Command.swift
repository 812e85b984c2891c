import Lade

/// What a command gets besides its own settings.
struct CommandContext: Sendable {
    /// The table that the command stands in.
    var table: CommandTable
    /// Where it reads, writes and talks.
    var console: Console
    /// Who is told when a signal asks the program to end.
    var interruption: Interruption
    /// Where its waits and dates come from.
    var time: any TimeSource = SystemTime()
    /// Makes what carries out the calls.
    var makeService: @Sendable (Service.Settings) throws(LoadingError) -> Service = { settings throws(LoadingError) in
        try Service(settings)
    }
}

/// One command: its place in the table, from which parsing, help, completions and the manual come (CM-08).
struct Command: Sendable {
    /// A titled list of the help that is no option: the kinds of items, the topics.
    struct Chapter: Sendable {
        var title: String
        var rows: [(term: String, meaning: String)]
    }

    /// A line that can be typed as it is, and what it does.
    struct Example: Sendable {
        var line: String
        var purpose: String
    }

    /// The word after `lade`.
    var name: String
    /// What it does, in a line.
    var summary: String
    /// The operands as the usage line shows them.
    var operands: String
    /// What a shell can offer for each operand; the last holds for all that follow.
    var operandCompletions: [ValueCompletion]
    /// What the manual says before the options.
    var description: String
    /// Lists of the help before the options.
    var chapters: [Chapter]
    /// The options in the order of the help.
    var options: [OptionInfo]
    /// Three lines to learn from.
    var examples: [Example]
    /// Reads the arguments and does it.
    var run: @Sendable ([String], CommandContext) async throws(CommandError) -> ExitCode

    /// Makes a command from a table of options and a function that acts on the settings they fill in.
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
