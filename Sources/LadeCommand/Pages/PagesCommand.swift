import Lade

/// The settings of `lade pages`.
struct PagesSettings: CallSettings {
    var request = RequestSettings()
    var session = SessionSettings()
    var paging = PagingSettings()
    var output = OutputSettings()
    var caching = CachingSettings()
    var policy = PolicySettings()
    var connection = ConnectionSettings()
    var fleet = FleetSettings()

    static let rows: [OptionRow<PagesSettings>] =
        PagingSettings.rows.lifted(\.paging) + [fleetRow] + FleetSettings.rows.lifted(\.fleet)
        + OutputSettings.rows.only(
            "verbose",
            "show-secrets",
            "color",
            "silent",
            "events",
            "har",
            "har-secrets",
            "har-bodies"
        ).lifted(\.output).rare()
        + RequestSettings.rows.except(
            "head",
            "upload-file",
            "stdin",
            "url",
            "globoff",
            "range",
            "time-cond",
            "etag-compare"
        ).lifted(\.request).rare()
        + SessionSettings.rows.lifted(\.session).rare()
        + CachingSettings.rows.lifted(\.caching)
        + PolicySettings.rows.except("location", "cross-origin-body").lifted(\.policy).rare()
        + ConnectionSettings.rows.lifted(\.connection).rare()

    private static let fleetRow = OptionRow<PagesSettings>.value(
        "fleet",
        "URL",
        .paging,
        "Fetch the list with all processes of a fleet",
        details: "redis://HOST/NAME, rediss:// with TLS, or redis+unix:///PATH?name=NAME. Processes that run the same "
            + "command, on any machine, take segments of the list, and write them to parts in the folder FILE.parts. A "
            + "process that ends is replaced by the others. The last one merges the parts to FILE, which is that of one "
            + "process. Rates and tokens are shared as by --share. Pages that are numbered are fetched by all processes, and "
            + "linked ones by one at a time.",
        isCommon: false
    ) { settings, value throws(CommandError) in
        settings.policy.sharing = SharedLimits(address: value, option: "--fleet")
        settings.fleet.isOn = true
    }

    func validateRest() throws(CommandError) {
        try paging.validate()
        if fleet.isOn, policy.sharing?.option != "--fleet" {
            throw .usage("both --fleet and --share", advice: "--fleet shares limits and tokens as well.")
        }
        try fleet.validate(paging)
        try request.checkSingleAddress()
    }
}

extension Command {
    /// `lade pages`: writes a whole paged list as NDJSON.
    static let pages = Command(
        "pages",
        "Fetch a whole paged list, one item a line",
        operands: "URL [ITEM...]",
        operandCompletions: [.nothing, .files],
        description: "Each item becomes one line, byte for byte what the server sent but for white space. With --out a "
            + "journal beside the file says what is certain: the same command continues from there after an error, an "
            + "interrupt or a crash. An interrupt finishes the present page if that takes at most a second; a second one "
            + "ends immediately. A page that fails is tried twice more, after the delay that the server requests, unless "
            + "--retry and --max-wait say otherwise. Items of the request are written as for lade get. Success means that "
            + "the list is whole: where something shows that it is not, the exit code is 15, and where something hints at "
            + "more, a warning names it. A journal belongs to its arguments, to all fields and cookies that are given, and "
            + "to the user: of these, only User-Agent, fields of tracing and of caching, a renewed password, "
            + "cookies that the server set, limits, retries and --verbose may change, and other secrets with "
            + "--same-sign-in; --restart begins anew.",
        chapters: [PagingSettings.chapter],
        options: PagesSettings.rows,
        examples: [
            Example(line: "lade pages https://api.example.com/shows --size 50", purpose: "To the pipe"),
            Example(
                line: "lade pages https://api.example.com/shows --next page:page -o all",
                purpose: "To a file, by number; the same line resumes"
            ),
            Example(
                line: "lade pages https://api.example.com/shows --next cursor:/after=after",
                purpose: "By cursor"
            ),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        try await PagesRun(settings: settings, context: context).run()
    }
}
