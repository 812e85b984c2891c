/// What a shell can offer for a value.
enum ValueCompletion: Sendable, Equatable {
    /// Nothing is known.
    case nothing
    /// Names of files.
    case files
    /// One of these words.
    case words([String])
    /// The name of a command or of another topic of the help.
    case topics
}

/// The parts of a command's help and manual.
enum OptionSection: String, Sendable, CaseIterable {
    case request = "Request"
    case paging = "Pages"
    case server = "Server"
    case output = "Output"
    case policy = "Policies"
    case connection = "Connection"
    case general = "General"
}

/// What is known of an option without knowing whose setting it changes: enough for help, completions and the manual.
struct OptionInfo: Sendable {
    /// The name after the two dashes.
    var name: String
    /// Other names that mean the same, for the habits of other tools.
    var aliases: [String] = []
    /// Whether a dash may follow as if it were a value, and means nothing.
    var allowsDash = false
    /// The letter after one dash.
    var letter: Character?
    /// What its value is called in the help; nil for a switch.
    var metavar: String?
    /// Where it is listed.
    var section: OptionSection
    /// One short line.
    var summary: String
    /// What the manual adds.
    var details: String
    /// Whether `--help` gives it a line of its own, rather than only its name.
    var isCommon: Bool
    /// What a shell can offer for its value.
    var completion: ValueCompletion

    /// The option as it is typed, `-X, --request METHOD`.
    var spelling: String {
        (letter.map { "-\($0), " } ?? "") + "--\(name)" + (metavar.map { " \($0)" } ?? "")
    }
}

/// One row of a command's table: an option, and what it changes in the command's settings.
///
/// Parsing, help, completions and the manual all come from these rows, so a new option is one new row.
struct OptionRow<Settings>: Sendable {
    /// Changes the settings; a switch gets an empty text.
    typealias Apply = @Sendable (inout Settings, String) throws(CommandError) -> Void

    var info: OptionInfo
    var apply: Apply

    /// A row for a switch.
    static func flag(
        _ name: String,
        letter: Character? = nil,
        _ section: OptionSection,
        _ summary: String,
        details: String = "",
        isCommon: Bool = true,
        apply: @escaping @Sendable (inout Settings) -> Void
    ) -> OptionRow {
        let info = OptionInfo(
            name: name,
            letter: letter,
            metavar: nil,
            section: section,
            summary: summary,
            details: details,
            isCommon: isCommon,
            completion: .nothing
        )
        return OptionRow(info: info) { settings, _ in apply(&settings) }
    }

    /// A row for an option with a value.
    static func value(
        _ name: String,
        letter: Character? = nil,
        _ metavar: String,
        _ section: OptionSection,
        _ summary: String,
        details: String = "",
        isCommon: Bool = true,
        completion: ValueCompletion = .nothing,
        apply: @escaping Apply
    ) -> OptionRow {
        let info = OptionInfo(
            name: name,
            letter: letter,
            metavar: metavar,
            section: section,
            summary: summary,
            details: details,
            isCommon: isCommon,
            completion: completion
        )
        return OptionRow(info: info, apply: apply)
    }

    /// The same row for settings that contain these, so that commands share tables.
    func lifted<Outer>(_ part: any WritableKeyPath<Outer, Settings> & Sendable) -> OptionRow<Outer> {
        OptionRow<Outer>(info: info) { [apply] outer, value throws(CommandError) in
            try apply(&outer[keyPath: part], value)
        }
    }

    /// The same row under another name as well.
    func also(_ alias: String) -> OptionRow {
        var row = self
        row.info.aliases.append(alias)
        return row
    }

    /// The same row for a switch that takes the dash that other tools want behind it.
    var allowingDash: OptionRow {
        var row = self
        row.info.allowsDash = true
        return row
    }

    /// The same row, named in the help without a line of its own.
    var rare: OptionRow {
        var row = self
        row.info.isCommon = false
        return row
    }
}
