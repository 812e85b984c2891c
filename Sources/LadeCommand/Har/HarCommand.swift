import Lade
import LadeTraffic

/// The settings of `lade har`.
struct HarSettings: CommandSettings {
    /// The actions on a recording.
    enum Verb: String, CaseIterable, Sendable {
        case list = "ls"
        case show
        case curl
        case diff
        case check
        case repair
        case html
    }

    var verb: Verb?
    var files: [String] = []
    /// The number of the entry, from 1.
    var number: Int?
    var isLenient = false
    var writesBody = false
    /// Where the page goes; nil for the standard output.
    var target: String?

    static let rows: [OptionRow<HarSettings>] = [
        .flag(
            "lenient",
            .output,
            "Use what is right of a faulty recording",
            details:
                "Entries that cannot be read are left out, and members that are wrong count as missing. Without it "
                + "the first fault ends the command."
        ) { $0.isLenient = true },
        .flag("body", .output, "show: write the body of the response alone") { $0.writesBody = true },
        .value("output", letter: "o", "FILE", .output, "html: write the page to a file", completion: .files) {
            $0.target = $1
        },
    ]

    private static let advice = "It is ls, check, repair or html FILE, show or curl FILE N, or diff OLD NEW."

    mutating func addOperand(_ operand: String) throws(CommandError) {
        guard let verb else {
            guard let verb = Verb(rawValue: operand) else {
                throw .usage("lade har: there is no “\(operand.asArgument)”", advice: Self.advice)
            }
            self.verb = verb
            return
        }
        if files.count == verb.fileCount, verb.takesNumber, number == nil {
            guard let number = Int(operand), number > 0, String(number) == operand else {
                throw .usage(
                    "lade har \(verb.rawValue): “\(operand.asArgument)” is no number of an entry",
                    advice: "“lade har ls \((files.first ?? "FILE").asArgument)” lists them from 1 on."
                )
            }
            self.number = number
            return
        }
        guard files.count < verb.fileCount else { throw .unexpected(operand, of: "har \(verb.rawValue)") }
        files.append(operand)
    }

    func validate() throws(CommandError) {
        guard let verb else { throw .usage("lade har: what to do", advice: Self.advice) }
        guard files.count == verb.fileCount else {
            throw .usage("lade har \(verb.rawValue): which file", advice: Self.advice)
        }
        guard !verb.takesNumber || number != nil else {
            throw .usage("lade har \(verb.rawValue): which entry", advice: Self.advice)
        }
    }
}

extension HarSettings.Verb {
    /// How many recordings it takes.
    var fileCount: Int { self == .diff ? 2 : 1 }

    /// Whether it is about one entry.
    var takesNumber: Bool { self == .show || self == .curl }
}

extension Command {
    /// `lade har`: recorded traffic.
    static let har = Command(
        "har",
        "Read, compare and show recorded traffic",
        operands: "ls|show|curl|diff|check|repair|html FILE [N|NEW]",
        operandCompletions: [.words(HarSettings.Verb.allCases.map(\.rawValue)), .files],
        description:
            "ls lists the exchanges of a recording (HAR 1.2) that --har, a browser or another program has written. show "
            + "prints one of them, curl a command line that sends its request again. check reads all of it and names each "
            + "fault by entry and member, also times that do not add up. repair completes a file that was left in the middle "
            + "of an entry. html makes a page of it for a browser, with a bar for each exchange; the page loads nothing. diff says "
            + "what a later recording of the same flow has that an earlier one has not: exchanges that are new, gone, slower, "
            + "have another status or another shape of JSON.",
        options: HarSettings.rows,
        examples: [
            Example(line: "lade har ls session.har", purpose: "One line for each exchange"),
            Example(line: "lade har show session.har 3", purpose: "The third of them"),
            Example(line: "lade har html session.har -o session.html", purpose: "A page for the browser"),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        try HarRun(settings: settings, context: context).run()
    }
}

extension CommandError {
    /// The error for a recording that cannot be read or written.
    static func recording(_ path: String, _ fault: HARFault) -> CommandError {
        if fault.isOfFile {
            return CommandError(
                what: "\(path): \(fault.reason)",
                advice: "Check the name and the permissions of the file.",
                code: .localFile
            )
        }
        return CommandError(
            what: "\(path), \(fault)",
            advice:
                "--lenient uses the rest; “lade har check” names every fault, “lade har repair” completes a cut file.",
            code: .decoding
        )
    }
}
