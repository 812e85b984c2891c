/// The settings of `lade get`.
struct GetSettings: CallSettings {
    var request = RequestSettings()
    var session = SessionSettings()
    var output = OutputSettings()
    var policy = PolicySettings()
    var connection = ConnectionSettings()
    /// Whether the command prints the call as a curl command line instead of making it.
    var printsCurl = false

    static let rows: [OptionRow<GetSettings>] =
        RequestSettings.rows.lifted(\.request)
        + curlRows
        + SessionSettings.rows.lifted(\.session)
        + OutputSettings.rows.lifted(\.output).map(\.fittingHelp)
        + PolicySettings.rows.lifted(\.policy)
        + ConnectionSettings.rows.lifted(\.connection).rare()

    private static let curlRows: [OptionRow<GetSettings>] = [
        .flag("curl", .request, "Print a curl command, send nothing", isCommon: false) {
            $0.printsCurl = true
        },
        .value(
            "from-curl",
            "LINE",
            .request,
            "Read a curl command line",
            details:
                "The line as a browser or a manual gives it, in quotes. What curl has and lade has not is refused by "
                + "name.",
            isCommon: false
        ) { settings, value throws(CommandError) in try CurlReader.read(value, into: &settings) },
    ]

    func validateRest() throws(CommandError) {
        if output.usesRemoteName, output.path != nil {
            throw .usage("both --output and --remote-name", advice: "Choose one of them.")
        }
        if output.selection != nil, output.path != nil || output.usesRemoteName {
            throw .usage("--select with a file", advice: "Print the part to a file with >, or download without it.")
        }
        if output.path != nil, !request.otherAddresses.isEmpty {
            throw .usage("one --output for several addresses", advice: "-O names each file like its remote file.")
        }
        if output.continuesFile {
            guard output.path != nil || output.usesRemoteName else {
                throw .usage(
                    "--continue without a file",
                    advice: "Name the file with -o FILE, or by its address with -O."
                )
            }
            guard !output.includesHead, !output.mayOverwrite else {
                let other = output.includesHead ? "--include" : "--force"
                throw .usage("--continue with \(other)", advice: "Choose one of them.")
            }
        }
    }
}

extension OptionRow {
    /// The row, without a line of its own where the help page has no room for it.
    fileprivate var fittingHelp: OptionRow { ["fail", "force", "ignore-status"].contains(info.name) ? rare : self }
}

extension Command {
    /// `lade get`: makes one call and writes the response to the standard output or a file.
    static let get = Command(
        "get",
        "Fetch one address, or send something to it",
        operands: "URL [URL...] [ITEM...]",
        operandCompletions: [.nothing, .files],
        description: "Without a scheme the address is https, on this machine http; :8080/path is on this machine. On a "
            + "terminal JSON is laid out and coloured and control characters are shown escaped; elsewhere every byte "
            + "is passed on as it came. The standard input is read only where a dash, @- or --stdin says so.",
        chapters: [Chapter(title: "Items", rows: RequestItem.kinds)],
        options: GetSettings.rows,
        examples: [
            Example(line: "lade get https://api.example.com/shows size==10", purpose: "With a query"),
            Example(line: "lade get https://api.example.com/shows title=News", purpose: "Send JSON"),
            Example(line: "lade get -O https://api.example.com/show.mp4", purpose: "Download"),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        try await FetchList(settings: settings, context: context).run()
    }
}
