import LadeCatalogue
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct GeneratedTextTests {
    @Test("command CM-08 makes completions from the table", arguments: Completions.Shell.allCases)
    func completions(shell: Completions.Shell) {
        let script = Completions(table: .standard).script(for: shell)
        for command in CommandTable.standard.commands {
            #expect(script.contains(command.name))
            for option in command.options { #expect(script.contains(option.name), "\(command.name) --\(option.name)") }
        }
    }

    @Test(
        "completions offer exactly the options of each command's table: finding FQ-24 command CM-08",
        arguments: Completions.Shell.allCases
    )
    func exactCompletions(shell: Completions.Shell) throws {
        let script = Completions(table: .standard).script(for: shell)
        let lines = script.split(separator: "\n").map(String.init)
        for command in CommandTable.standard.commands {
            var offered: [String] = []
            switch shell {
            case .bash:
                let start = try #require(lines.firstIndex(of: "    \(command.name))"))
                let reply = try #require(lines[start...].first { $0.contains("        -*) ") })
                let words = try #require(reply.firstMatch(of: /compgen -W "([^"]*)"/)).1
                offered = words.split(separator: " ").map(String.init)
            case .zsh:
                let start = try #require(lines.firstIndex(of: "    \(command.name))"))
                for line in lines[start...].dropFirst(2) {
                    guard line.contains("'*'") else { break }
                    if let letter = line.firstMatch(of: /'\*'\{(-.)\+?,/) { offered.append(String(letter.1)) }
                    offered.append(String(try #require(line.firstMatch(of: /--[a-z0-9.-]+/)).0))
                }
            case .fish:
                for line in lines where line.contains("'__fish_seen_subcommand_from \(command.name)'") {
                    if let letter = line.firstMatch(of: #/ -s (.) -l/#) { offered.append("-\(letter.1)") }
                    if let name = line.firstMatch(of: #/ -l ([a-z0-9.-]+) /#) { offered.append("--\(name.1)") }
                }
            }
            let expected = command.options.flatMap { (option: OptionInfo) -> [String] in
                (option.letter.map { ["-\($0)"] } ?? []) + ["--\(option.name)"]
            }
            #expect(offered == expected, "\(command.name)")
        }
    }

    @Test("the manual has exactly the options of each command's table: finding FQ-24 command CM-08")
    func exactManual() throws {
        let lines = ManPage(table: .standard).source.split(separator: "\n").map(String.init)
        for command in CommandTable.standard.commands {
            let start = try #require(lines.firstIndex(of: ".SS lade \(command.name)"))
            let section = lines[(start + 1)...].prefix { !$0.hasPrefix(".S") }
            let terms = zip(section, section.dropFirst()).filter { $0.0 == ".TP" }.map(\.1)
            let described = terms.filter { $0.contains("\\-\\-") }
                .map { String($0.dropFirst(3)).replacing("\\", with: "") }
            let expected = OptionSection.allCases.flatMap { section in
                command.options.filter { $0.section == section }.map(\.spelling)
            }
            #expect(described == expected, "\(command.name)")
        }
    }

    @Test("command CM-08 completes the operands of a command by their place in zsh")
    func zshOperands() throws {
        let script = Completions(table: .standard).script(for: .zsh)
        #expect(script.contains("'1:argument:(services tvChannels tvChannel "))
        let last = try #require(CatalogueService.all.last).name
        #expect(script.contains("\(last))' '*:argument: ' ;;"))
        #expect(script.contains("            '1:argument: ' '*:argument:_files' ;;"))
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
