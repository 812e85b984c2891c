/// What becomes of an answer.
struct OutputSettings: Sendable {
    var path: String?
    var usesRemoteName = false
    var mayOverwrite = false
    var includesHead = false
    var isSilent = false
    var showsErrors = false
    var failsWithoutBody = false
    var ignoresStatus = false
    var isVerbose = false
    var eventsPath: String?
    var maximumSize: Int?

    /// The options that fill this in.
    static let rows: [OptionRow<OutputSettings>] = [
        .value(
            "output",
            letter: "o",
            "FILE",
            .output,
            "Write to a file, which appears when it is complete",
            details: "Nothing is written for a status that is no success, unless --ignore-status is given. - is the "
                + "standard output.",
            completion: .files
        ) { settings, value in
            settings.path = value == "-" ? nil : value
            settings.usesRemoteName = false
        },
        .flag(
            "remote-name",
            letter: "O",
            .output,
            "The same, with the name the server gives",
            details: "The name comes from Content-Disposition or the address. It never names another folder or a "
                + "hidden file."
        ) { $0.usesRemoteName = true },
        .flag("force", .output, "Overwrite a file that exists") { $0.mayOverwrite = true },
        .flag("include", letter: "i", .output, "Print the head of the answer as well") { $0.includesHead = true },
        .flag("fail", letter: "f", .output, "Print no body for status 400 and above") { $0.failsWithoutBody = true },
        .flag("ignore-status", .output, "Treat every status as a success") { $0.ignoresStatus = true },
        .flag("verbose", letter: "v", .output, "Tell the whole story on the standard error") { $0.isVerbose = true },
        .flag("silent", letter: "s", .output, "Show neither progress nor errors", isCommon: false) {
            $0.isSilent = true
        },
        .flag("show-error", letter: "S", .output, "Show errors in spite of --silent", isCommon: false) {
            $0.showsErrors = true
        },
        .value("max-size", "BYTES", .output, "The largest body to take: 1000, 64k, 10M, 2G", isCommon: false) {
            settings,
            value throws(CommandError) in
            settings.maximumSize = try Quantity.bytes(value, of: "--max-size")
        },
        .value(
            "events",
            "FILE",
            .output,
            "Add every event to a file, one JSON object a line",
            isCommon: false,
            completion: .files
        ) { $0.eventsPath = $1 },
    ]

    /// Whether an error is put into words.
    var tellsErrors: Bool { !isSilent || showsErrors }
}
