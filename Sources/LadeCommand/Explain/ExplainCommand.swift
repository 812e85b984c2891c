import Lade

/// The settings of `lade explain`: the same as of a call of `lade get`.
struct ExplainSettings: CallSettings {
    var request = RequestSettings()
    var session = SessionSettings()
    var output = OutputSettings()
    var caching = CachingSettings()
    var policy = PolicySettings()
    var connection = ConnectionSettings()
    var showsAll = false
    /// The file of the page; nil for none.
    var pagePath: String?

    static let rows: [OptionRow<ExplainSettings>] =
        [
            .flag("all", .output, "Show every row, also those under 1 % of the time") { $0.showsAll = true },
            .value(
                "html",
                "FILE",
                .output,
                "Write a page with a bar for each exchange, too",
                details: "The page is for a browser, and loads nothing. A file that exists is replaced.",
                completion: .files
            ) { $0.pagePath = $1 },
        ]
        + PolicySettings.rows.lifted(\.policy)
        + OutputSettings.rows.only("events", "ignore-status", "max-size", "color").lifted(\.output).rare()
        + RequestSettings.rows.except("url", "globoff").lifted(\.request).rare()
        + SessionSettings.rows.lifted(\.session).rare()
        + CachingSettings.rows.lifted(\.caching)
        + ConnectionSettings.rows.lifted(\.connection).rare()

    func validateRest() throws(CommandError) {
        try request.checkSingleAddress()
    }
}

extension Command {
    /// `lade explain`: one call with its events and timings.
    static let explain = Command(
        "explain",
        "Make one call and show where its time went",
        operands: "URL [ITEM...]",
        operandCompletions: [.nothing, .files],
        description:
            "Makes the call that lade get would make with the same arguments, and prints its story in place of "
            + "the response, the sums first: every wait and its reason, every attempt, from the look-up of the name to the last byte. Each "
            + "millisecond is counted once. The exit code is that of lade get.",
        options: ExplainSettings.rows,
        examples: [
            Example(line: "lade explain https://api.example.com/shows", purpose: "Where the time goes"),
            Example(line: "lade explain -L --retry 3 https://api.example.com/shows", purpose: "With its retries"),
            Example(line: "lade explain --all https://api.example.com/shows", purpose: "Every row"),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        try await Explanation(settings: settings, context: context).run()
    }
}
