#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The settings of `lade cache`.
struct CacheCommandSettings: CallSettings {
    /// The operation on the cache.
    enum Verb: String, CaseIterable, Sendable {
        case list = "ls"
        case why
        case purge
        case check
    }

    var verb: Verb?
    var request = RequestSettings()
    var session = SessionSettings()
    var output = OutputSettings()
    var policy = PolicySettings()
    var connection = ConnectionSettings()
    var caching = CachingSettings()
    var host: String?
    var account: String?
    var tag: String?
    var older: Duration?
    var selectsAll = false
    var isJSON = false

    static let rows: [OptionRow<CacheCommandSettings>] =
        [
            .value("host", "HOST", .output, "ls, purge: the responses of a host") { $0.host = $1 },
            .value("account", "NAME", .output, "ls, purge: those of an account of ls --json") { $0.account = $1 },
            .value("tag", "NAME", .output, "ls, purge: the responses with a tag") { $0.tag = $1 },
            .duration("older", .output, "purge: what is older") { $0.older = $1 },
            .flag("all", .output, "purge: everything") { $0.selectsAll = true },
            .flag("json", .output, "ls: a line of JSON for each response") { $0.isJSON = true },
        ]
        + CachingSettings.rows.lifted(\.caching)
        + RequestSettings.rows.except("url", "globoff", "json").lifted(\.request).rare()
        + SessionSettings.rows.lifted(\.session).rare()
        + PolicySettings.rows.except("host").lifted(\.policy).rare()

    mutating func addOperand(_ operand: String) throws(CommandError) {
        guard verb == nil else { return try request.addOperand(operand) }
        guard let verb = Verb(rawValue: operand) else {
            throw .usage(
                "lade cache: there is no “\(operand.asArgument)”",
                advice: "It is ls, why URL, purge or check."
            )
        }
        self.verb = verb
    }

    func validate() throws(CommandError) {
        guard let verb else { throw .usage("lade cache: what to do", advice: "It is ls, why URL, purge or check.") }
        let selections = [host, account, tag].count { $0 != nil } + (older == nil ? 0 : 1) + (selectsAll ? 1 : 0)
        let addresses = request.address == nil ? 0 : 1
        switch verb {
        case .why:
            try request.validate()
            try request.checkSingleAddress()
        case .purge:
            guard selections + addresses == 1 else {
                throw .usage(
                    "lade cache purge: \(selections + addresses == 0 ? "nothing to remove" : "more than one selection")",
                    advice: "Give one of URL, --host, --account, --tag, --older and --all."
                )
            }
        case .list, .check:
            guard addresses == 0, selections < 2, older == nil, !selectsAll else {
                throw .usage(
                    "lade cache \(verb.rawValue): too many arguments",
                    advice: "“lade cache --help” lists them."
                )
            }
        }
    }
}

extension Command {
    /// `lade cache`: lists the stored responses, explains why a call would get one, and removes them.
    static let cache = Command(
        "cache",
        "Show, explain, remove and verify stored responses",
        operands: "ls | why URL [ITEM...] | purge [URL] | check",
        operandCompletions: [.words(CacheCommandSettings.Verb.allCases.map(\.rawValue)), .nothing],
        description:
            "ls lists what calls with --cache have stored. why says what a call would get now, and by which rule; "
            + "it asks no server and changes nothing. purge removes what one option or an address selects. check reads "
            + "every stored byte and verifies it.",
        options: CacheCommandSettings.rows,
        examples: [
            Example(line: "lade cache ls --host api.example.com", purpose: "What is stored"),
            Example(line: "lade cache why https://api.example.com/shows", purpose: "Why it is served or not"),
            Example(line: "lade cache purge --older 168h", purpose: "Remove what is older"),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        let run = CacheRun(settings: settings, context: context)
        return try await run.run()
    }
}
