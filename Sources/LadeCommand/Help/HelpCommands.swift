/// The settings of `lade help`.
struct HelpSettings: CommandSettings {
    /// The topic of the exit codes, which is not a command.
    static let exitCodes = "exit-codes"

    var topic: String?
    var isManual = false
    var isComplete = false

    static let rows: [OptionRow<HelpSettings>] = [
        .flag("all", .general, "Give every option a line") { $0.isComplete = true },
        .flag("man", .general, "Print the source of the manual page") { $0.isManual = true },
    ]

    mutating func addOperand(_ operand: String) throws(CommandError) {
        guard topic == nil else {
            throw .usage("more than one topic: “\(operand.asArgument)”", advice: "Ask for one topic at a time.")
        }
        topic = operand
    }
}

extension Command {
    /// `lade help`: the pages of `--help`, and the pages that belong to no command.
    static let help = Command(
        "help",
        "Explain a command or the exit codes",
        operands: "[COMMAND|\(HelpSettings.exitCodes)]",
        operandCompletions: [.topics],
        options: HelpSettings.rows,
        examples: [
            Example(line: "lade help get --all", purpose: "Every option of a command"),
            Example(line: "lade help exit-codes", purpose: "What scripts can distinguish"),
            Example(line: "lade help --man | man -l -", purpose: "Read the manual page"),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        let pages = HelpPage(table: context.table)
        if settings.isManual {
            try context.console.write(ManPage(table: context.table).source)
        } else if let topic = settings.topic {
            try context.console.write(page(about: topic, pages, isComplete: settings.isComplete))
        } else {
            try context.console.write(pages.overview)
        }
        return .success
    }

    private static func page(about topic: String, _ pages: HelpPage, isComplete: Bool) throws(CommandError) -> String {
        if topic == HelpSettings.exitCodes { return pages.exitCodes }
        if let command = pages.table[topic] { return pages.page(of: command, isComplete: isComplete) }
        let topics = pages.table.commands.map(\.name) + [HelpSettings.exitCodes]
        let nearest = Suggestion.nearest(to: topic, among: topics).map { "; did you mean “\($0)”?" }
        throw .usage(
            "there is no help about “\(topic.asArgument)”" + (nearest ?? ""),
            advice: "“lade --help” lists the commands."
        )
    }
}

/// The settings of `lade completions`.
struct CompletionsSettings: CommandSettings {
    var shell: Completions.Shell?

    mutating func addOperand(_ operand: String) throws(CommandError) {
        guard shell == nil, let named = Completions.Shell(rawValue: operand) else { throw Self.unknownShell }
        shell = named
    }

    func validate() throws(CommandError) {
        if shell == nil { throw Self.unknownShell }
    }

    private static let unknownShell = CommandError.usage(
        "completions are for one shell at a time",
        advice: "Name one of \(Completions.Shell.allCases.map(\.rawValue).joined(separator: ", "))."
    )
}

extension Command {
    /// `lade completions`: prints the completion script for a shell.
    static let completions = Command(
        "completions",
        "Print completions for bash, zsh or fish",
        operands: Completions.Shell.allCases.map(\.rawValue).joined(separator: "|"),
        operandCompletions: [.words(Completions.Shell.allCases.map(\.rawValue))],
        options: [OptionRow<CompletionsSettings>](),
        examples: [
            Example(line: "source <(lade completions bash)", purpose: "For this session of bash"),
            Example(line: "lade completions zsh > _lade", purpose: "For a folder in $fpath"),
            Example(line: "lade completions fish | source", purpose: "For this session of fish"),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        guard let shell = settings.shell else { return .usage }
        try context.console.write(Completions(table: context.table).script(for: shell))
        return .success
    }
}
