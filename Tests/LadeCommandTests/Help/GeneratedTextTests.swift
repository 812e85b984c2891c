import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(1)))
struct GeneratedTextTests {
    @Test("command CM-08 makes completions from the table", arguments: Completions.Shell.allCases)
    func completions(shell: Completions.Shell) {
        let script = Completions(table: .standard).script(for: shell)
        for command in CommandTable.standard.commands {
            #expect(script.contains(command.name))
            for option in command.options { #expect(script.contains(option.name), "\(command.name) --\(option.name)") }
        }
    }

    @Test("command CM-08 makes the manual from the table")
    func manual() {
        let source = ManPage(table: .standard).source
        #expect(source.hasPrefix(".TH LADE 1 "))
        for command in CommandTable.standard.commands {
            #expect(source.contains(".SS lade \(command.name)"))
            for option in command.options {
                #expect(source.contains(option.name.split(separator: "-").joined(separator: "\\-")))
            }
        }
        for code in ExitCode.allCases { #expect(source.contains(".B \(code.rawValue)\n")) }
    }

    @Test("keeps texts from being taken for requests of the manual's formatter")
    func escaping() {
        let command = Command("x", "does 'it' \\ well", operands: ".y", options: [OptionRow<HelpSettings>]()) {
            _,
            _ async throws(CommandError) -> ExitCode in .success
        }
        let source = ManPage(table: CommandTable(commands: [command])).source
        #expect(source.contains("\n\\&.y\n"))
        #expect(source.contains("does \\(aqit\\(aq \\e well."))
    }
}
