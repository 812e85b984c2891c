import LadeCatalogue

extension Command {
    /// `lade catalogue`: lists the services of the media catalogue, and calls one by name.
    static let catalogue = Command(
        "catalogue",
        "Call a service of the Swiss media catalogue",
        operands: "services|SERVICE [ARGUMENT...]",
        operandCompletions: [
            .words([CatalogueSettings.listWord] + CatalogueService.all.map(\.name)), .nothing,
        ],
        description: "Without a service it lists all of them, with --unit those of a business unit, and behind the "
            + "word services those whose names contain a text. On a terminal a response is a table that fits it; in a pipe "
            + "the values are whole, with a tab between them and no titles. Nothing is sent for a service that the "
            + "business unit does not offer, a malformed URN, a day that does not exist, or an empty query. A page that "
            + "fails is tried twice more, unless --retry says otherwise.",
        chapters: [
            Chapter(
                title: "Arguments",
                rows: [
                    ("services [TEXT]", "List the services whose names contain the text"),
                    ("SERVICE VALUE...", "Call it, with the values that it needs in their order"),
                    ("SERVICE NAME=VALUE...", "Call it, with values by name"),
                ]
            )
        ],
        options: CatalogueSettings.rows,
        examples: [
            Example(line: "lade catalogue services --unit rts", purpose: "What RTS offers"),
            Example(line: "lade catalogue tvLatestEpisodes --unit rts --pages 3", purpose: "Three pages"),
            Example(line: "lade catalogue media urn:rts:video:100000 --images 480", purpose: "An image"),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        try await CatalogueRun(settings: settings, context: context).run()
    }
}
