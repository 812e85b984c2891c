import Lade
import LadeCatalogueServer
import LadeTesting

/// The settings of `lade demo`.
struct DemoSettings: CommandSettings {
    var seed: UInt64 = 1
    var medias: Int?
    var isFast = false
    var path: String?
    var mayOverwrite = false
    var output = OutputSettings()

    static let rows: [OptionRow<DemoSettings>] =
        [
            .count(
                "medias",
                .server,
                "How many medias there are (4000; 600 with --fast)",
                to: LocalCatalogue.Options.most
            ) { $0.medias = $1 },
            .count("seed", .server, "The seed of medias and delays (1)", from: 0) { $0.seed = UInt64($1) },
            .flag("fast", .server, "A few seconds instead of a quarter of a minute") { $0.isFast = true },
            .value(
                "out",
                letter: "o",
                "FILE",
                .output,
                "Where the medias go (a new folder for temporary files)",
                completion: .files
            ) { settings, value in
                settings.path = value
            }.also("output"),
            .flag("force", .output, "Overwrite a file that exists") { $0.mayOverwrite = true },
        ] + OutputSettings.rows.only("events").lifted(\.output)

    mutating func addOperand(_ operand: String) throws(CommandError) {
        throw .unexpected(operand, of: "demo")
    }
}

extension Command {
    /// `lade demo`: harvests the local catalogue under injected faults.
    static let demo = Command(
        "demo",
        "Show a harvest of a catalogue on this machine that injects faults",
        description: "Starts the catalogue of lade serve and fetches all of it: its first address is dead, its tokens "
            + "end after seconds, it allows so many requests a second, and some responses are refused, reset, cut short or "
            + "never end. Reports each fault and ends with a summary; then compares every line with what the catalogue "
            + "has. Nothing leaves the machine.",
        options: DemoSettings.rows,
        examples: [
            Example(line: "lade demo", purpose: "Watch it"),
            Example(line: "lade demo --fast --medias 100", purpose: "Quickly"),
            Example(line: "lade demo --fast --seed 7 --force -o medias.ndjson", purpose: "And keep what it fetched"),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        try await Demo(settings: settings, context: context).run()
    }
}
