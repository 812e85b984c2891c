import Lade

/// The settings that the arguments of a command set.
protocol CommandSettings: Sendable {
    /// Makes the settings of a command without arguments.
    init()

    /// Adds the next argument that is not an option.
    mutating func addOperand(_ operand: String) throws(CommandError)

    /// The arguments that precede the command line's, such as the lines of a configuration file; none by default.
    ///
    /// - Parameters:
    ///   - rows: The options of the command.
    ///   - table: All commands.
    /// - Returns: The arguments.
    /// - Throws: An error for defaults that cannot be read.
    func defaultArguments(for rows: [OptionInfo], in table: CommandTable) throws(CommandError) -> [String]

    /// Marks the end of the default arguments; the arguments of the command line follow.
    mutating func endDefaults()

    /// Checks rules that involve several arguments.
    func validate() throws(CommandError)
}

extension CommandSettings {
    func defaultArguments(for rows: [OptionInfo], in table: CommandTable) throws(CommandError) -> [String] { [] }

    mutating func endDefaults() {}

    func validate() throws(CommandError) {}
}

/// Parses the arguments of one command by its table of options.
///
/// Letters combine (`-sSf`), values are attached or separate (`-ofile`, `-o file`, `--output=file`, `--output file`),
/// options and operands may be mixed, and `--` ends the options.
struct ArgumentParser<Settings: CommandSettings> {
    /// The result of parsing.
    enum Parsed {
        /// The user asked for the help page.
        case help
        /// The command runs with these settings.
        case run(Settings)
    }

    let command: String
    let rows: [OptionRow<Settings>]
    /// The table of all commands, for validating a file of defaults; nil to read no defaults.
    var table: CommandTable?

    /// Parses the arguments after the command's name.
    ///
    /// - Throws: A usage error that names the argument, and suggests the nearest option for an unknown one.
    func parse(_ arguments: [String]) throws(CommandError) -> Parsed {
        var settings = Settings()
        guard try read(arguments, into: &settings) else { return .help }
        // The arguments select the defaults, but are applied after them.
        let defaults = try table.map { table throws(CommandError) in
            try settings.defaultArguments(for: rows.map(\.info), in: table)
        }
        if let defaults, !defaults.isEmpty {
            settings = Settings()
            guard try read(defaults, into: &settings) else { return .help }
            settings.endDefaults()
            guard try read(arguments, into: &settings) else { return .help }
        }
        try settings.validate()
        return .run(settings)
    }

    /// Parses arguments into settings without validating the combination; false when one asks for help.
    func read(_ arguments: [String], into settings: inout Settings) throws(CommandError) -> Bool {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                while let operand = rest.popFirst() { try settings.addOperand(operand) }
            } else if argument == "--help" || argument == "-h" {
                return false
            } else if argument.begins(with: "--") {
                try parseLong(argument.behind("--") ?? "", &rest, &settings)
            } else if argument.begins(with: "-"), argument != "-" {
                guard try parseLetters(argument, &rest, &settings) else { return false }
            } else {
                try settings.addOperand(argument)
            }
        }
        return true
    }

    private func parseLong(
        _ text: Substring,
        _ rest: inout ArraySlice<String>,
        _ settings: inout Settings
    ) throws(CommandError) {
        let (name, attached) = text.cut(at: "=").map { ($0.before, String($0.after)) } ?? (text, nil)
        guard let row = rows.first(where: { $0.info.name == name || $0.info.aliases.contains(String(name)) }) else {
            throw unknown("--\(name)", nearest: nearestName(to: String(name)).map { "--\($0)" })
        }
        guard row.info.metavar != nil else {
            guard attached == nil || row.info.optionalMetavar != nil else { throw usage("--\(name) takes no value") }
            if row.info.allowsDash, rest.first == "-" { rest.removeFirst() }
            return try row.apply(&settings, attached ?? "")
        }
        guard let value = attached ?? rest.popFirst() else { throw missingValue(of: row.info, as: "--\(name)") }
        try row.apply(&settings, value)
    }

    /// Parses a group of letters; false when one asks for help.
    private func parseLetters(
        _ argument: String,
        _ rest: inout ArraySlice<String>,
        _ settings: inout Settings
    ) throws(CommandError) -> Bool {
        var letters = (argument.behind("-") ?? "").unicodeScalars
        while let letter = letters.popFirst() {
            if letter == "h" { return false }
            guard let row = rows.first(where: { $0.info.letter == Character(letter) }) else {
                // A group that is not valid is most likely a long name after a single dash.
                let name = String((argument.behind("-") ?? "").halves { $0 == "=" }.text)
                throw unknown("-\(letter)", nearest: name.count > 2 ? nearestName(to: name).map { "--\($0)" } : nil)
            }
            guard row.info.metavar != nil else {
                try row.apply(&settings, "")
                if row.info.allowsDash,
                    letters.elementsEqual("-".unicodeScalars) || (letters.isEmpty && rest.first == "-")
                {
                    if letters.isEmpty { rest.removeFirst() }
                    break
                }
                continue
            }
            guard let value = letters.isEmpty ? rest.popFirst() : String(letters) else {
                throw missingValue(of: row.info, as: "-\(letter)")
            }
            try row.apply(&settings, value)
            break
        }
        return true
    }

    private func nearestName(to name: String) -> String? {
        Suggestion.nearest(to: name, among: rows.flatMap { [$0.info.name] + $0.info.aliases } + ["help"])
    }

    private func missingValue(of info: OptionInfo, as written: String) -> CommandError {
        usage("\(written) needs a value: \(info.metavar ?? "")")
    }

    private func unknown(_ option: String, nearest: String?) -> CommandError {
        usage("there is no option \(option)" + (nearest.map { "; did you mean \($0)?" } ?? ""))
    }

    private func usage(_ what: String) -> CommandError {
        .usage(what, advice: "“\(command) --help” lists the options.")
    }
}
