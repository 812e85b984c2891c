import Lade
import LadeTraffic

/// How a response is written.
struct OutputSettings: Sendable {
    /// When to use colours.
    enum Colour: String, CaseIterable, Sendable {
        case automatic = "auto"
        case always
        case never
    }

    /// The destination of a body.
    enum Target: Equatable, Sendable {
        case standardOutput
        case file(String)
        /// A file named like the remote file.
        case remoteName
    }

    /// The destination for the first address; nil for the default.
    var target: Target?
    /// The destinations for further addresses.
    var otherTargets: [Target] = []
    /// Whether every address without a destination has a file named like the remote file.
    var usesRemoteNames = false
    /// Whether the server may name the file.
    var takesServerName = false
    /// The folder of files without one in their names.
    var folder: String?
    var createsFolders = false
    /// Whether nothing of a download that fails is kept.
    var removesOnError = false
    /// Whether a file that exists is kept, and the new one has a number behind its name.
    var keepsExisting = false
    /// Whether a call is left out whose file exists.
    var skipsExisting = false
    /// Whether the heads of a proxy's responses to CONNECT are not shown.
    var hidesTunnelHeads = false
    var headPath: String?
    var tagPath: String?
    /// How fast a body is sent and received at most, in bytes per second.
    var rate: Int?
    var takesFileTime = false
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
    /// The file of the recording; nil for none.
    var recordingPath: String?
    var recordsSecrets = false
    /// The most bytes of each body in the recording; nil for the default.
    var recordingLimit: Int?
    var maximumSize: Int?
    /// The SHA-256 that the file must have; nil when none is expected.
    var digest: Download.Digest?
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
        ) { settings, value throws(CommandError) in
            guard !value.isEmpty else {
                throw .usage("--output without a name", advice: "Name a file, or - for the pipe.")
            }
            settings.add(value == "-" ? .standardOutput : .file(value))
        }.also("out"),
        .flag(
            "remote-name",
            letter: "O",
            .output,
            "Write to a file named like the remote file",
            details: "The name is the last part of the address that was given, or with -J what the server says. It "
                + "never names another folder or a hidden file."
        ) { $0.add(.remoteName) },
        .flag("remote-name-all", .output, "Use -O for every address", isCommon: false) { $0.usesRemoteNames = true },
        .flag(
            "remote-header-name",
            letter: "J",
            .output,
            "With -O: take the name that the server sends",
            isCommon: false
        ) { $0.takesServerName = true },
        .value(
            "output-dir",
            "FOLDER",
            .output,
            "The folder of the files of -o and -O",
            isCommon: false,
            completion: .files
        ) { $0.folder = $1 },
        .flag("create-dirs", .output, "Create the folders of -o", isCommon: false) { $0.createsFolders = true },
        .flag(
            "no-clobber",
            .output,
            "Keep a file that exists; add a number",
            isCommon: false
        ) { $0.keepsExisting = true },
        .flag("remote-time", letter: "R", .output, "Give the file the server's date", isCommon: false) {
            $0.takesFileTime = true
        },
        .value(
            "dump-header",
            letter: "D",
            "FILE",
            .output,
            "Write the response headers to a file",
            details: "- is the standard output. The file is overwritten.",
            isCommon: false,
            completion: .files
        ) { $0.headPath = $1 },
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
        .flag("fail-with-body", .output, "Write the body of status 400 and above, and fail", isCommon: false) {
            $0.failsWithoutBody = false
        },
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
            "Print this part of a JSON response alone",
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
                + ", url.host and other parts of an address, %header{Name}, %header{Name:all:, }. \\n is a line "
                + "end, %% a percent sign.",
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
                throw .usage("--color: “\(value.asArgument)” is no choice", advice: "Write auto, always or never.")
            }
            settings.colour = colour
        }.also("colour"),
        .value(
            "etag-save",
            "FILE",
            .output,
            "Write the entity tag of the response to a file",
            isCommon: false,
            completion: .files
        ) { $0.tagPath = $1 },
        .value("limit-rate", "BYTES", .output, "Send and receive at most so much a second: 64k", isCommon: false) {
            settings,
            value throws(CommandError) in
            let rate = try Quantity.bytes(value, of: "--limit-rate")
            settings.rate = rate > 0 ? rate : nil
        },
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
        }.also("max-filesize"),
        .value(
            "sha256",
            "HEX",
            .output,
            "With -o or -O: the SHA-256 the file must have",
            details:
                "64 hexadecimal digits, as sha256sum prints them. The file gets its name only when the whole body has "
                + "that digest; otherwise nothing of it is kept, a file that was there stays as it is, and the exit code "
                + "is 16. A download that is resumed is compared as a whole.",
            isCommon: false
        ) { settings, value throws(CommandError) in
            do throws(LoadingError) {
                settings.digest = try Download.Digest(value)
            } catch {
                throw .usage(
                    "--sha256: “\(value.asArgument)” is no SHA-256",
                    advice: "Write its 64 hexadecimal digits, as sha256sum prints them."
                )
            }
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
        .value(
            "har",
            "FILE",
            .output,
            "Record every exchange to a file, as HAR 1.2",
            details:
                "Retries, redirects and exchanges with token endpoints included, each with its waits. A file that exists "
                + "is replaced, and only its owner can read it. Secrets are left out. “lade har” reads it, and so do browsers.",
            isCommon: false,
            completion: .files
        ) { settings, value throws(CommandError) in
            guard !value.isEmpty, value != "-" else {
                throw .usage(
                    "--har without a file",
                    advice: "Name a file; its end is written again with each exchange."
                )
            }
            settings.recordingPath = value
        },
        .flag("har-secrets", .output, "With --har: record secrets as well", isCommon: false) {
            $0.recordsSecrets = true
        },
        .value(
            "har-bodies",
            "BYTES",
            .output,
            "With --har: how much of each body (1M)",
            details: "0 records no bodies. A body that is longer says so.",
            isCommon: false
        ) { settings, value throws(CommandError) in
            settings.recordingLimit = try Quantity.bytes(value, of: "--har-bodies")
        },
    ]

    /// Checks that options of the recording come with one.
    func checkRecording() throws(CommandError) {
        guard recordingPath == nil, recordsSecrets || recordingLimit != nil else { return }
        let option = recordsSecrets ? "--har-secrets" : "--har-bodies"
        throw .usage("\(option) without --har", advice: "Name the file of the recording with --har FILE.")
    }

    /// The recorder of the file of `--har`, which all calls of the command share; nil without one.
    ///
    /// Calls that run at the same time find it made already.
    func recorder(_ context: CommandContext) throws(CommandError) -> TrafficRecorder? {
        guard let path = recordingPath else { return nil }
        if let known = context.recorders.withLock({ $0[path] }) { return known }
        var settings = TrafficRecorder.Settings()
        settings.bodyLimit = recordingLimit ?? settings.bodyLimit
        settings.showsSecrets = recordsSecrets
        do throws(HARFault) {
            let made = try TrafficRecorder(writingTo: path, settings)
            context.recorders.withLock { $0[path] = made }
            return made
        } catch {
            throw .recording(path, error)
        }
    }

    /// The file of the body; nil without one, or when the address names it.
    var path: String? {
        guard case .file(let path) = target else { return nil }
        return path
    }

    /// Whether the body goes to a file that is named like the remote file.
    var usesRemoteName: Bool { target == .remoteName || (target == nil && usesRemoteNames) }

    /// Adds the destination of the next address without one.
    mutating func add(_ next: Target) {
        if target == nil { target = next } else { otherTargets.append(next) }
    }

    /// The part of the response that is printed; nil for all of it.
    var selection: JSONSelection? {
        guard pointer != nil || writesRawStrings else { return nil }
        return JSONSelection(pointer: pointer ?? [], isRaw: writesRawStrings)
    }

    /// Whether errors are printed.
    var tellsErrors: Bool { !isSilent || showsErrors }
}
