import Lade

/// How a response is written.
struct OutputSettings: Sendable {
    /// When to use colours.
    enum Colour: String, CaseIterable, Sendable {
        case automatic = "auto"
        case always
        case never
    }

    var path: String?
    var usesRemoteName = false
    var mayOverwrite = false
    var continuesFile = false
    var includesHead = false
    var isSilent = false
    var showsErrors = false
    var failsWithoutBody = false
    var ignoresStatus = false
    var isVerbose = false
    var showsSecrets = false
    var colour = Colour.automatic
    var eventsPath: String?
    var maximumSize: Int?
    var writeOut: WriteOut?
    var pointer: JSONPointer?
    var writesRawStrings = false

    /// The options that set these values.
    static let rows: [OptionRow<OutputSettings>] = [
        .value(
            "output",
            letter: "o",
            "FILE",
            .output,
            "Write to a file instead of the standard output",
            details: "The file appears when it is complete; a download that was interrupted is resumed by the same "
                + "command. Nothing is written for a status that is no success, unless --ignore-status is given. - is "
                + "the standard output.",
            completion: .files
        ) { settings, value in
            settings.path = value == "-" ? nil : value
            settings.usesRemoteName = false
        }.also("out"),
        .flag(
            "remote-name",
            letter: "O",
            .output,
            "Write to a file named like the remote file",
            details: "The name comes from Content-Disposition or the address. It never names another folder or a "
                + "hidden file."
        ) { $0.usesRemoteName = true },
        .flag(
            "continue",
            letter: "C",
            .output,
            "With -o or -O: complete a file that has a part",
            details: "What a download of lade's left is resumed without this. A file that another tool has begun is "
                + "completed when the server sends the rest of it; until then it stays as it is. A dash behind it is "
                + "allowed."
        ) { $0.continuesFile = true }.allowingDash,
        .flag("force", .output, "Overwrite a file that exists") { $0.mayOverwrite = true },
        .flag("include", letter: "i", .output, "Include the response headers in the output") {
            $0.includesHead = true
        }.also("show-headers"),
        .flag("fail", letter: "f", .output, "Print no body for status 400 and above") { $0.failsWithoutBody = true },
        .flag("ignore-status", .output, "Treat every status as a success") { $0.ignoresStatus = true },
        .flag("verbose", letter: "v", .output, "Show both headers and what happens, on stderr") {
            $0.isVerbose = true
        },
        .flag(
            "show-secrets",
            .output,
            "With -v or --curl: show secrets as well",
            details: "Passwords, tokens and cookies are shown as <redacted> without it.",
            isCommon: false
        ) { $0.showsSecrets = true },
        .value(
            "select",
            "/POINTER",
            .output,
            "Print this part of a JSON answer alone",
            details: "A JSON Pointer (RFC 6901): /items/0/title. The part is printed as the server wrote it."
        ) { settings, value throws(CommandError) in
            settings.pointer = try PagingSettings.pointer(value, of: "--select")
        },
        .flag("raw-output", letter: "r", .output, "Print a JSON string without quotes", isCommon: false) {
            $0.writesRawStrings = true
        },
        .value(
            "write-out",
            letter: "w",
            "FORMAT",
            .output,
            "Print this after the call: '%{http_code}'",
            details: "The variables are " + WriteOut.Variable.allCases.map(\.rawValue).joined(separator: ", ")
                + ", and %header{Name}. \\n is a line end, %% a percent sign.",
            isCommon: false
        ) { settings, value throws(CommandError) in settings.writeOut = try WriteOut(value) },
        .value(
            "color",
            "WHEN",
            .output,
            "Use colours: auto, always or never",
            details:
                "auto is for terminals, where NO_COLOR is empty and TERM is not dumb. always also lays JSON out in "
                + "a pipe.",
            isCommon: false,
            completion: .words(Colour.allCases.map(\.rawValue))
        ) { settings, value throws(CommandError) in
            guard let colour = Colour(rawValue: value) else {
                throw .usage("--color: “\(value)” is no choice", advice: "Write auto, always or never.")
            }
            settings.colour = colour
        }.also("colour"),
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
            details: "When the file cannot be written, nothing more is added to it, and the command ends with an error "
                + "unless the call itself failed. A pipe must have a reader when the command begins.",
            isCommon: false,
            completion: .files
        ) { $0.eventsPath = $1 },
    ]

    /// The part of the response that is printed; nil for all of it.
    var selection: JSONSelection? {
        guard pointer != nil || writesRawStrings else { return nil }
        return JSONSelection(pointer: pointer ?? [], isRaw: writesRawStrings)
    }

    /// Whether errors are printed.
    var tellsErrors: Bool { !isSilent || showsErrors }
}
