/// Shell completions for the command line, made from the table.
struct Completions {
    /// The supported shells.
    enum Shell: String, CaseIterable, Sendable {
        case bash
        case zsh
        case fish
    }

    /// The table of the commands to complete.
    let table: CommandTable

    /// The script for a shell.
    func script(for shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    private var topics: [String] { table.commands.map(\.name) + [HelpSettings.exitCodes] }

    private func words(_ completion: ValueCompletion) -> [String]? {
        switch completion {
        case .nothing, .files: nil
        case .words(let words): words
        case .topics: topics
        }
    }

    private static func spellings(_ option: OptionInfo) -> [String] {
        (option.letter.map { ["-\($0)"] } ?? []) + ["--\(option.name)"]
    }

    /// Quotes a text as one word of the shell.
    private static func quoted(_ text: String) -> String {
        var result = "'"
        for character in text { result += character == "'" ? "'\\''" : String(character) }
        return result + "'"
    }
}

// MARK: - bash

extension Completions {
    // An empty reply falls back to file names (`-o default`), which suits options that take a file.
    private var bash: String {
        let program = table.program
        var lines = [
            "# bash completion for \(program)",
            "_\(program)() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}",
            "    COMPREPLY=()",
            "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
            "        COMPREPLY=( $(compgen -W \"\(bashProgramWords)\" -- \"$current\") )",
            "        return",
            "    fi",
            "    case ${COMP_WORDS[1]} in",
        ]
        for command in table.commands { lines += bashCase(of: command) }
        lines += ["    esac", "}", "complete -o default -F _\(program) \(program)"]
        return lines.joined(separator: "\n") + "\n"
    }

    private var bashProgramWords: String {
        (table.commands.map(\.name) + ProgramSettings.rows.map { "--\($0.info.name)" } + ["--help"])
            .joined(separator: " ")
    }

    private func bashCase(of command: Command) -> [String] {
        var lines = ["    \(command.name))", "        case $previous in"]
        let values = command.options.filter { $0.metavar != nil }
        for option in values {
            guard let words = words(option.completion) else { continue }
            let pattern = Self.spellings(option).joined(separator: "|")
            lines += ["        \(pattern)) \(Self.bashReply(words)); return ;;"]
        }
        let free = values.filter { words($0.completion) == nil }.flatMap(Self.spellings)
        if !free.isEmpty { lines += ["        \(free.joined(separator: "|"))) return ;;"] }
        lines += ["        esac"]
        let options = command.options.flatMap(Self.spellings)
        let operands = command.operandCompletions.first.flatMap(words) ?? []
        lines += ["        case $current in", "        -*) \(Self.bashReply(options)) ;;"]
        if !operands.isEmpty { lines += ["        *) \(Self.bashReply(operands)) ;;"] }
        return lines + ["        esac ;;"]
    }

    private static func bashReply(_ words: [String]) -> String {
        "COMPREPLY=( $(compgen -W \"\(words.joined(separator: " "))\" -- \"$current\") )"
    }
}

// MARK: - zsh

extension Completions {
    private var zsh: String {
        let program = table.program
        var lines = ["#compdef \(program)", "_\(program)() {", "    local -a commands", "    commands=("]
        lines += table.commands.map { "        \(Self.quoted("\($0.name):\($0.summary)"))" }
        lines += [
            "    )",
            "    if (( CURRENT == 2 )); then",
            "        _describe -t commands command commands",
            "        return",
            "    fi",
            "    local command=$words[2]",
            "    shift words",
            "    (( CURRENT-- ))",
            "    case $command in",
        ]
        for command in table.commands {
            lines += ["    \(command.name))", "        _arguments -s -S \\"]
            lines += command.options.map { "            \(zshSpecification(of: $0)) \\" }
            lines += [zshOperands(of: command) + " ;;"]
        }
        lines += ["    esac", "}"]
        // The file is loaded by name from the function path, or sourced.
        lines += ["if [ \"$funcstack[1]\" = \"_\(program)\" ]; then", "    _\(program) \"$@\"", "else"]
        lines += ["    compdef _\(program) \(program)", "fi"]
        return lines.joined(separator: "\n") + "\n"
    }

    private func zshSpecification(of option: OptionInfo) -> String {
        let takesValue = option.metavar != nil
        let value = option.metavar.map { ":\(Self.zshEscaped($0)):\(zshAction(option.completion))" } ?? ""
        let text = Self.quoted("[\(Self.zshEscaped(option.summary))]\(value)")
        let long = "--\(option.name)\(takesValue ? "=" : "")"
        // The star allows an option to be given several times.
        return option.letter.map { "'*'{-\($0)\(takesValue ? "+" : ""),\(long)}\(text)" } ?? "'*'\(long)\(text)"
    }

    private func zshOperands(of command: Command) -> String {
        guard let last = command.operandCompletions.last else { return "            '*: :'" }
        // The last completion applies to all further operands.
        let first = command.operandCompletions.dropLast().enumerated().map { "\($0 + 1):argument:\(zshAction($1))" }
        return "            " + (first + ["*:argument:\(zshAction(last))"]).map(Self.quoted).joined(separator: " ")
    }

    private func zshAction(_ completion: ValueCompletion) -> String {
        if let words = words(completion) { return "(\(words.joined(separator: " ")))" }
        return completion == .files ? "_files" : " "
    }

    private static func zshEscaped(_ text: String) -> String {
        var result = ""
        for character in text { result += ":[]\\".contains(character) ? "\\\(character)" : String(character) }
        return result
    }
}

// MARK: - fish

extension Completions {
    private var fish: String {
        let program = table.program
        var lines = ["# fish completion for \(program)", "complete -c \(program) -f"]
        for command in table.commands {
            let summary = Self.fishQuoted(command.summary)
            lines += ["complete -c \(program) -n __fish_use_subcommand -a \(command.name) -d \(summary)"]
        }
        for row in ProgramSettings.rows { lines += [fishLine("__fish_use_subcommand", row.info)] }
        for command in table.commands {
            let condition = "'__fish_seen_subcommand_from \(command.name)'"
            lines += command.options.map { fishLine(condition, $0) }
            guard let operand = command.operandCompletions.first else { continue }
            if let words = words(operand) {
                let list = Self.fishQuoted(words.joined(separator: " "))
                lines += ["complete -c \(program) -n \(condition) -a \(list)"]
            } else if operand == .files {
                lines += ["complete -c \(program) -n \(condition) -F"]
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func fishLine(_ condition: String, _ option: OptionInfo) -> String {
        var line = "complete -c \(table.program) -n \(condition)"
        line += option.letter.map { " -s \($0)" } ?? ""
        line += " -l \(option.name)"
        if let words = words(option.completion) {
            line += " -x -a \(Self.fishQuoted(words.joined(separator: " ")))"
        } else if option.metavar != nil {
            line += option.completion == .files ? " -r -F" : " -x"
        }
        return line + " -d \(Self.fishQuoted(option.summary))"
    }

    private static func fishQuoted(_ text: String) -> String {
        var result = "'"
        for character in text { result += "'\\".contains(character) ? "\\\(character)" : String(character) }
        return result + "'"
    }
}
