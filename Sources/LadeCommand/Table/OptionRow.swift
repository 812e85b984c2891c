/// The shell completion for a value.
enum ValueCompletion: Sendable, Equatable {
    /// No completion.
    case nothing
    /// File names.
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

/// The description of an option, independent of its settings type: enough for help, completions and the manual.
struct OptionInfo: Sendable {
    /// The name after two dashes.
    var name: String
    /// Other names with the same meaning, as used by other tools.
    var aliases: [String] = []
    /// Whether the option accepts a following dash, which is ignored.
    var allowsDash = false
    /// The letter after one dash.
    var letter: Character?
    /// The name of its value in the help; nil for a switch.
    var metavar: String?
    /// The name of a value that may be given after an equals sign; nil for an option without one.
    var optionalMetavar: String?
    /// The section of the help and manual that lists it.
    var section: OptionSection
    /// The description for the help, on one short line.
    var summary: String
    /// The additional text of the manual.
    var details: String
    /// Whether `--help` shows the option on a line of its own instead of only its name.
    var isCommon: Bool
    /// The shell completion for its value.
    var completion: ValueCompletion

    /// The option as it is typed, `-X, --request METHOD`.
    var spelling: String {
        (letter.map { "-\($0), " } ?? "") + "--\(name)" + (metavar.map { " \($0)" } ?? "")
            + (optionalMetavar.map { "[=\($0)]" } ?? "")
    }
}

/// A row of a command's table: an option and its effect on the command's settings.
///
/// Parsing, help, completions and the manual all come from these rows, so a new option needs one new row.
struct OptionRow<Settings>: Sendable {
    /// Changes the settings; a switch receives an empty text.
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

    /// The row, for settings that contain these settings, so that commands share tables.
    func lifted<Outer>(_ part: any WritableKeyPath<Outer, Settings> & Sendable) -> OptionRow<Outer> {
        OptionRow<Outer>(info: info) { [apply] outer, value throws(CommandError) in
            try apply(&outer[keyPath: part], value)
        }
    }

    /// The row with an additional name.
    func also(_ alias: String) -> OptionRow {
        var row = self
        row.info.aliases.append(alias)
        return row
    }

    /// The row for a switch that accepts the dash that other tools expect after it.
    var allowingDash: OptionRow {
        var row = self
        row.info.allowsDash = true
        return row
    }

    /// The row, without a line of its own on the help page.
    var rare: OptionRow {
        var row = self
        row.info.isCommon = false
        return row
    }
}
