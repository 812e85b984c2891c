/// The help for the terminal, made from the table.
struct HelpPage {
    /// The table that the help describes.
    let table: CommandTable

    /// The maximum width of a page.
    static let width = 80

    /// The page of the program itself.
    var overview: String {
        var page = PageRequest()
        page.line("\(table.program) \(table.summary).")
        page.blank()
        page.line("Usage: \(table.program) [OPTION...] URL [ITEM...]   (the same as \(table.program) get)")
        page.line("       \(table.program) COMMAND [ARGUMENT...]")
        page.rows("Commands", table.commands.map { ($0.name, $0.summary) })
        page.rows("Options", (ProgramSettings.rows.map(\.info)).map { (Self.aligned($0), $0.summary) })
        page.blank()
        // The first command is the main one.
        if let example = table.commands.first?.examples.first { page.line("Example: \(example.line)") }
        page.line("More: “\(table.program) help COMMAND”, “\(table.program) help exit-codes”.")
        return page.text
    }

    /// The page of a command.
    ///
    /// With `isComplete` the rare options also have a line each, and the page may be longer than a screen.
    func page(of command: Command, isComplete: Bool = false) -> String {
        var page = PageRequest()
        page.line(usage(of: command))
        page.line("\(command.summary).")
        for chapter in command.chapters { page.rows(chapter.title, chapter.rows.map { ($0.term, $0.meaning) }) }
        let shown = command.options.filter { isComplete || $0.isCommon }
        for section in OptionSection.allCases {
            let rows = shown.filter { $0.section == section }
            page.rows(section.rawValue, rows.map { (Self.aligned($0), $0.summary) })
        }
        let others = command.options.filter { !isComplete && !$0.isCommon }
        if others.count > 1 {
            page.blank()
            page.line("“\(table.program) help \(command.name) --all” lists \(others.count - 1) more options.")
        }
        page.rows("Examples", command.examples.map { ($0.line, $0.purpose) })
        return page.text
    }

    /// The page of the exit codes.
    var exitCodes: String {
        var page = PageRequest()
        page.rows("Exit codes", ExitCode.allCases.map { (String($0.rawValue).leftPadded(to: 3), $0.meaning) })
        return page.text
    }

    /// The usage line of a command.
    func usage(of command: Command) -> String {
        let options = command.options.count > 1 ? " [OPTION...]" : ""
        return
            "Usage: \(table.program) \(command.name)\(options)\(command.operands.isEmpty ? "" : " ")\(command.operands)"
    }

    private static func aligned(_ option: OptionInfo) -> String {
        option.letter == nil ? "    \(option.spelling)" : option.spelling
    }
}

/// Builds the lines of a page.
private struct PageRequest {
    private(set) var text = ""

    mutating func line(_ line: String) {
        text += line + "\n"
    }

    mutating func blank() {
        if !text.isEmpty { text += "\n" }
    }

    /// Adds a titled table of two columns; adds nothing without rows.
    mutating func rows(_ title: String, _ rows: [(term: String, meaning: String)]) {
        guard !rows.isEmpty else { return }
        blank()
        line("\(title):")
        // A term longer than this has its meaning on the next line, so that the other meanings stay in their column.
        let widest = 52
        let column = rows.map(\.term.count).filter { $0 <= widest }.max() ?? 0
        for row in rows {
            guard !row.meaning.isEmpty else {
                line("  \(row.term)")
                continue
            }
            if row.term.count > column {
                line("  \(row.term)")
                line("      \(row.meaning)")
            } else {
                line("  \(row.term.rightPadded(to: column))  \(row.meaning)")
            }
        }
    }
}

extension String {
    /// The text padded at the front to a width.
    func leftPadded(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }

    /// The text padded at the end to a width.
    func rightPadded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
