import Lade

/// The table of the program and its commands, from which parsing, help, completions and the manual are made.
struct CommandTable: Sendable {
    /// The program's name.
    var program = "lade"
    /// The purpose in one line.
    var summary = "loads data over HTTP"
    /// The commands in the order of the help; the first is the default for an address without a command.
    var commands: [Command]

    /// The table of this version.
    static let standard = CommandTable(commands: [
        .get, .pages, .explain, .har, .cache, .catalogue, .serve, .demo, .completions, .help,
    ])

    /// The command with a name; nil when there is none.
    subscript(name: String) -> Command? {
        commands.first { $0.name == name }
    }

    /// Parses the whole command line and runs the command.
    ///
    /// - Throws: A usage error, or the error of the command.
    func run(_ arguments: [String], in context: CommandContext) async throws(CommandError) -> ExitCode {
        guard let first = arguments.first else {
            context.console.talk.write(HelpPage(table: self).overview)
            return .usage
        }
        if let command = self[first] { return try await command.run(Array(arguments.dropFirst()), context) }
        if RequestSettings.isMethod(first), arguments.count > 1, let fetch = commands.first {
            return try await fetch.run(arguments, context)
        }
        let operand = arguments.first { !$0.begins(with: "-") }
        if let operand, first.begins(with: "-") ? self[operand] == nil : Self.isAddress(operand),
            let fetch = commands.first
        {
            return try await fetch.run(arguments, context)
        }
        guard first.begins(with: "-") else { throw unknownCommand(first) }
        return try await runWithoutCommand(arguments, in: context)
    }

    /// Whether a word can only be an address: it contains characters that no command has.
    private static func isAddress(_ word: String) -> Bool {
        word.contains { ":/.[".contains($0) } || word == "localhost"
    }

    private func runWithoutCommand(
        _ arguments: [String],
        in context: CommandContext
    ) async throws(CommandError) -> ExitCode {
        switch try ArgumentParser(command: program, rows: ProgramSettings.rows).parse(arguments) {
        case .help:
            try context.console.write(HelpPage(table: self).overview)
        case .run(let settings):
            try context.console.write(settings.isJSON ? Version.json() : "\(program) \(Version.number)\n")
        }
        return .success
    }

    private func unknownCommand(_ name: String) -> CommandError {
        let nearest = Suggestion.nearest(to: name, among: commands.map(\.name))
        return .usage(
            "there is no command “\(name.asArgument)”" + (nearest.map { "; did you mean “\($0)”?" } ?? ""),
            advice: "“\(program) --help” lists the commands; “\(program) get \(name.asArgument)” fetches an address."
        )
    }
}

/// The settings for the program called without a command.
struct ProgramSettings: CommandSettings {
    var showsVersion = false
    var isJSON = false

    static let rows: [OptionRow<ProgramSettings>] = [
        .flag("version", letter: "V", .general, "Show the version") { $0.showsVersion = true },
        .flag("json", .general, "With --version: transport, TLS, codings, HTTP versions") { $0.isJSON = true },
    ]

    mutating func addOperand(_ operand: String) throws(CommandError) {
        throw .usage(
            "“\(operand.asArgument)” comes after an option; the command goes first",
            advice: "“lade --help” lists them."
        )
    }

    func validate() throws(CommandError) {
        guard !showsVersion else { return }
        throw .usage("an option without a command", advice: "“lade --help” lists the commands.")
    }
}
