/// The manual page, in troff with the `man` macros, made from the table.
struct ManPage {
    /// The table that the page describes.
    let table: CommandTable

    /// The troff source of the page.
    var source: String {
        var lines = [".TH \(table.program.uppercased()) 1 \"\" \"\(table.program) \(Version.number)\""]
        lines += [".SH NAME", "\(table.program) \\- \(Self.escaped(table.summary))"]
        lines += [".SH SYNOPSIS"]
        for (index, command) in table.commands.enumerated() {
            if index > 0 { lines += [".br"] }
            lines += [".B \(table.program) \(command.name)"]
            lines += [Self.line((command.options.count > 1 ? "[OPTION...] " : "") + command.operands)]
        }
        lines += [".SH COMMANDS"]
        for command in table.commands { lines += section(of: command) }
        lines += [".SH EXIT STATUS"]
        for code in ExitCode.allCases { lines += [".TP", ".B \(code.rawValue)", Self.line(code.meaning)] }
        lines += [".SH ENVIRONMENT"]
        for (name, meaning) in Self.environment { lines += [".TP", ".B \(Self.escaped(name))", Self.line(meaning)] }
        return lines.filter { !$0.isEmpty }.joined(separator: "\n") + "\n"
    }

    private func section(of command: Command) -> [String] {
        var lines = [".SS \(table.program) \(command.name)", Self.line(command.summary + ".")]
        lines += [Self.line(command.description)]
        for chapter in command.chapters {
            lines += [".PP", ".B \(Self.escaped(chapter.title))"]
            for row in chapter.rows { lines += [".TP", ".B \(Self.escaped(row.term))", Self.line(row.meaning)] }
        }
        for section in OptionSection.allCases {
            let options = command.options.filter { $0.section == section }
            guard !options.isEmpty else { continue }
            lines += [".PP", ".B \(section.rawValue) options"]
            for option in options {
                lines += [".TP", ".B \(Self.escaped(option.spelling))", Self.line(option.summary + ".")]
                lines += [Self.line(option.details)]
            }
        }
        guard !command.examples.isEmpty else { return lines }
        lines += [".PP", ".B Examples"]
        for example in command.examples {
            lines += [
                ".PP", Self.line(example.purpose + ":"), ".PP", ".nf", ".RS", Self.line(example.line), ".RE", ".fi",
            ]
        }
        return lines
    }

    private static let environment = [
        ("http_proxy, https_proxy, all_proxy, no_proxy", "The proxies of requests, unless --proxy is given."),
        ("NO_COLOR", "Not empty: no colours."),
        ("TERM", "“dumb”: no colours."),
    ]

    /// A line of text; a period or an apostrophe at its beginning is escaped, because troff reads it as a request.
    private static func line(_ text: String) -> String {
        let text = escaped(text)
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }

    /// The text with troff's special characters escaped; dashes stay ones that can be pasted into a shell.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "~": result += "\\(ti"
            case "^": result += "\\(ha"
            case "“": result += "\\(lq"
            case "”": result += "\\(rq"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
