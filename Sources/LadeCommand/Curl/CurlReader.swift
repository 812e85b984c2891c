/// Reads a curl command into the settings of `lade get`.
enum CurlReader {
    // These options ask for behaviour that is the default here, or have no meaning here.
    private static let ignored: Set<String> = [
        "no-progress-meter", "progress-bar", "globoff", "no-buffer", "http2", "basic", "tcp-nodelay",
        "no-keepalive", "styled-output", "compressed-ssh", "ipv4", "ipv6",
    ]
    private static let ignoredLetters: Set<Character> = ["#", "g", "N", "4", "6"]
    private static let renamed = [
        "form": "form-part", "data-ascii": "data", "max-redirs": "max-redirects", "max-filesize": "max-size",
    ]

    /// Reads a command line.
    ///
    /// - Throws: A usage error for a text that is not a curl command, and for an option without a counterpart in lade.
    static func read(_ line: String, into settings: inout GetSettings) throws(CommandError) {
        guard let words = ShellWords.words(line) else { throw wrong("a quote has no end") }
        if words.contains(where: { !$0.isQuoted && ["|", "||", "&", "&&", ";", ">", ">>", "<"].contains($0.text) }) {
            throw wrong("it has more than one command")
        }
        var texts = words.map(\.text)[...]
        if texts.first == "$" { texts.removeFirst() }
        guard let program = texts.popFirst(), program == "curl" || program.hasSuffix("/curl") else {
            throw wrong("it does not begin with curl")
        }
        let rows = GetSettings.rows
        let parser = ArgumentParser(command: "lade get --from-curl", rows: rows)
        var arguments: [String] = []
        while let word = texts.popFirst() {
            if word.hasPrefix("--"), word.count > 2 {
                try readLong(word.dropFirst(2), &texts, rows.map(\.info), &arguments, &settings)
            } else if word.hasPrefix("-"), word.count > 1 {
                try readLetters(word.dropFirst(), &texts, rows.map(\.info), &arguments)
            } else {
                arguments.append("--url=\(withScheme(word))")
            }
        }
        guard try parser.read(arguments, into: &settings) else { throw wrong("it asks for help") }
    }

    private static func readLong(
        _ name: Substring,
        _ rest: inout ArraySlice<String>,
        _ rows: [OptionInfo],
        _ arguments: inout [String],
        _ settings: inout GetSettings
    ) throws(CommandError) {
        let written = String(name)
        guard !ignored.contains(written) else { return }
        switch written {
        case "url": arguments.append("--url=\(withScheme(try value("--url", &rest)))")
        case "range": arguments.append("--header=Range: bytes=\(try value("--range", &rest))")
        case "oauth2-bearer": arguments.append("--header=Authorization: Bearer \(try value("--oauth2-bearer", &rest))")
        case "continue-at":
            guard try value("--continue-at", &rest) == "-" else { throw wrong("only “-C -” is known") }
            arguments.append("--continue")
        case "form-string":
            let text = try value("--form-string", &rest)
            guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
                throw wrong("--form-string has no name")
            }
            let content = FormPart.Content.text(String(text[text.index(after: equals)...]))
            settings.request.formParts.append(FormPart(String(text[..<equals]), content))
        case "connect-to":
            // In lade the option is for every host of the call, as with an empty host and port here.
            let text = try value("--connect-to", &rest)
            guard text.hasPrefix("::") else { throw wrong("only “--connect-to ::HOST:PORT” is known") }
            let target = text.dropFirst(2)
            arguments.append("--connect-to=\(target.hasSuffix(":") ? target.dropLast() : target)")
        // These names have another meaning in lade.
        case "fail-early", "next", "config", "proto": throw unknown("--\(written)")
        default:
            let known = renamed[written] ?? written
            guard let row = rows.first(where: { $0.name == known }) else { throw unknown("--\(written)") }
            arguments.append(row.metavar == nil ? "--\(known)" : "--\(known)=\(try value("--\(written)", &rest))")
        }
    }

    private static func readLetters(
        _ letters: Substring,
        _ rest: inout ArraySlice<String>,
        _ rows: [OptionInfo],
        _ arguments: inout [String]
    ) throws(CommandError) {
        var letters = letters
        while let letter = letters.popFirst() {
            if ignoredLetters.contains(letter) { continue }
            let attached = letters.isEmpty ? nil : String(letters)
            switch letter {
            case "r":
                arguments.append("--header=Range: bytes=\(try value("-r", &rest, attached))")
                return
            case "C":
                guard try value("-C", &rest, attached) == "-" else { throw wrong("only “-C -” is known") }
                arguments.append("--continue")
                return
            default: break
            }
            guard let row = rows.first(where: { $0.letter == letter }) else { throw unknown("-\(letter)") }
            guard row.metavar != nil else {
                arguments.append("--\(row.name)")
                continue
            }
            arguments.append("--\(row.name)=\(try value("-\(letter)", &rest, attached))")
            return
        }
    }

    private static func value(
        _ option: String,
        _ rest: inout ArraySlice<String>,
        _ attached: String? = nil
    ) throws(CommandError) -> String {
        if let attached { return attached }
        guard let value = rest.popFirst() else { throw wrong("\(option) has no value") }
        return value
    }

    /// Adds `http`, which curl assumes for an address without a scheme.
    private static func withScheme(_ address: String) -> String {
        address.contains("://") ? address : "http://" + address
    }

    private static func wrong(_ what: String) -> CommandError {
        .usage("--from-curl: \(what)", advice: "Give one line in quotes: --from-curl 'curl -H \"A: b\" https://…'.")
    }

    private static func unknown(_ option: String) -> CommandError {
        .usage("--from-curl: lade has no counterpart of curl's \(option)", advice: "Leave it out of the line.")
    }
}
