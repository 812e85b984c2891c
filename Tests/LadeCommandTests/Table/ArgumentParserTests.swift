import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct ArgumentParserTests {
    private struct Settings: CommandSettings, Equatable {
        var operands: [String] = []
        var flags: [String] = []
        var values: [String] = []

        static let rows: [OptionRow<Settings>] = [
            .flag("silent", letter: "s", .output, "Say nothing") { $0.flags.append("silent") },
            .flag("fail", letter: "f", .output, "Fail") { $0.flags.append("fail") },
            .value("output", letter: "o", "FILE", .output, "Write there") { $0.values.append($1) }.also("to"),
            .value("header", "TEXT", .request, "Send it") { settings, value throws(CommandError) in
                guard value.contains(":") else { throw .usage("no colon") }
                settings.values.append(value)
            },
        ]

        mutating func addOperand(_ operand: String) throws(CommandError) { operands.append(operand) }
        func validate() throws(CommandError) {}
    }

    private func parse(_ line: String) throws(CommandError) -> Settings? {
        let parser = ArgumentParser(command: "lade test", rows: Settings.rows)
        switch try parser.parse(line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)) {
        case .help: return nil
        case .run(let settings): return settings
        }
    }

    @Test(
        "takes letters alone and combined, values attached and separate",
        arguments: [
            ("-s -f", ["silent", "fail"], [], []),
            ("-sf", ["silent", "fail"], [], []),
            ("-sfo file x", ["silent", "fail"], ["file"], ["x"]),
            ("-sofile", ["silent"], ["file"], []),
            ("--output a --to b --to=c", [], ["a", "b", "c"], []),
            ("-o=file", [], ["=file"], []),
            ("-o -s", [], ["-s"], []),
            ("--output file --silent", ["silent"], ["file"], []),
            ("--output=a=b x", [], ["a=b"], ["x"]),
            ("--output= x", [], [""], ["x"]),
            ("x -s y", ["silent"], [], ["x", "y"]),
            ("-s -- -f --x", ["silent"], [], ["-f", "--x"]),
            ("- x", [], [], ["-", "x"]),
        ]
    )
    func takes(line: String, flags: [String], values: [String], operands: [String]) throws {
        let settings = try #require(try parse(line))
        #expect(settings == Settings(operands: operands, flags: flags, values: values))
    }

    @Test("asks for help wherever -h or --help stands", arguments: ["--help", "-h", "x -s --help --nonsense", "-sh"])
    func help(line: String) throws {
        #expect(try parse(line) == nil)
    }

    @Test(
        "command CM-08 names the culprit and suggests the nearest option",
        arguments: [
            ("--silnet", "there is no option --silnet; did you mean --silent?"),
            ("--outptu=x", "there is no option --outptu; did you mean --output?"),
            ("--hepl", "there is no option --hepl; did you mean --help?"),
            ("--quite-different", "there is no option --quite-different"),
            ("-sx", "there is no option -x"),
            ("-xsilent", "there is no option -x; did you mean --silent?"),
            ("--output", "--output needs a value: FILE"),
            ("-so", "-o needs a value: FILE"),
            ("--silent=yes", "--silent takes no value"),
            ("--header x", "no colon"),
        ]
    )
    func refuses(line: String, what: String) {
        let error = #expect(throws: CommandError.self) { try parse(line) }
        #expect(error?.what == what)
        #expect(error?.code == .usage)
    }

    @Test(
        "counts slips of the finger",
        arguments: [
            ("", "", 0), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("ab", "abc", 1), ("abc", "axc", 1),
            ("", "abc", 3), ("kitten", "sitting", 3),
        ]
    )
    func distance(lhs: String, rhs: String, slips: Int) {
        #expect(Suggestion.distance(lhs, rhs) == slips)
    }
}
