#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeHarvest

/// One run of `lade pages`: the harvest, its progress, and its result for the user.
struct PagesRun: Sendable {
    let settings: PagesSettings
    let context: CommandContext

    var console: Console { context.console }

    /// Harvests the list.
    ///
    /// - Returns: Success, also when a limit that the user set ended the harvest.
    func run() async throws(CommandError) -> ExitCode {
        let own = [(settings.paging.path, "--out"), (settings.paging.journalPath, "--state")].compactMap {
            path,
            option in
            path.map { OutputPlace.Use(path: $0, option: option, isShared: false) }
        }
        try OutputPlace.check(own + OutputPlace.sharedUses(settings.session, settings.output))
        let call = try await PreparedCall(settings, context)
        return try await Witness.observing(settings.output, settings.policy, settings.connection, context) {
            (witness) async throws(CommandError) in
            try await run(call, witness)
        }
    }

    private func run(_ call: PreparedCall, _ witness: Witness) async throws(CommandError) -> ExitCode {
        var harvest = settings.paging.harvest(call.request)
        harvest.circumstances = circumstances
        let cookies = settings.session.cookieTexts
        if !cookies.isEmpty { harvest.secrets["cookies"] = cookies.joined(separator: "; ") }
        try checkPositions(call.request)
        // One option for both ways to another origin: a next page and a redirect.
        var policy = settings.policy
        policy.sendsBodyElsewhere = settings.paging.sendsBodyElsewhere
        policy.sharing?.member = settings.fleet.worker
        let line = PagesLine(console, time: context.time, isShown: showsProgress) {
            [memberships = context.memberships] in
            memberships.withLock { $0.values.first }?.words()
        }
        let firstPage = Locked(Int?.none)
        let meter = Pages.Progress.Meter { progress in
            if progress.pages == 1 { firstPage.withLock { $0 = $0 ?? progress.items } }
            line.show(progress)
        }
        let account = try await context.account(
            settings.connection,
            policy,
            for: .list,
            call,
            witness: witness,
            observers: [meter],
            receiving: { [authorisation = settings.policy.authorisation] secret in
                // A token that is given is the sign-in itself; passwords and secrets of clients may be renewed.
                if authorisation == .bearer { harvest.secrets["token"] = secret }
            }
        )
        let stop = Harvest.Stop()
        let (loader, destination, restarts) = (account.makeLoader(), destination, settings.paging.restarts)
        let outcome: Result<Work, HarvestError>
        let membership = context.memberships.withLock { $0.values.first }
        if settings.fleet.isOn, let membership, let path = settings.paging.path {
            let (board, run) = try membership.board()
            let worker = try settings.fleet.makeWorker(harvest, run: run, output: path, restarts: restarts)
            if !settings.output.isSilent, !worker.isParallel, worker.partitions.count == 1 {
                console.talk.write("lade: The pages are linked, so one process at a time fetches them.\n")
            }
            outcome = await result(stop) { () async throws(HarvestError) in
                .fleet(try await Self.work(worker, on: board, loader, stop, meter))
            }
        } else {
            outcome = await result(stop) { [harvest] () async throws(HarvestError) in
                .harvest(
                    try await harvest.run(
                        with: loader,
                        to: destination,
                        restart: restarts,
                        stop: stop,
                        meter: meter
                    )
                )
            }
        }
        line.end()
        await witness.end(account.service, at: context.time)
        try call.finish(settings.session, console)
        let pages = meter.progress.pages
        if !settings.output.isSilent,
            let notice = Self.sizeNotice(
                settings.paging.size,
                settings.paging.sizeQuery,
                first: firstPage.withLock(\.self),
                pages: pages
            )
        {
            console.talk.write(notice)
        }
        switch outcome {
        case .success(.harvest(let summary)): return try finish(summary)
        case .success(.fleet(let work)): return try finish(work, members: membership?.members() ?? 1)
        case .failure(.page(let failure)) where failure.isCancellation && stop.isRequested:
            throw stopped(pages: meter.progress.pages, items: meter.progress.items)
        case .failure(let error): throw failure(error, witness, call.request, hasPages: meter.progress.pages > 0)
        }
    }

    /// How long the present page may take after the first interrupt.
    private static let grace = Duration.seconds(1)

    /// The work of this process, as it ended.
    private enum Work: Sendable {
        case harvest(Harvest.Summary)
        case fleet(HarvestWorker.Summary)
    }

    /// Works until the end or the first interrupt.
    private func result(
        _ stop: Harvest.Stop,
        _ work: @escaping @Sendable () async throws(HarvestError) -> Work
    ) async -> Result<Work, HarvestError> {
        // Awaited below; cancelled when the page takes too long after an interrupt.
        let run = Task { () async -> Result<Work, HarvestError> in
            do throws(HarvestError) {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }
        let timer = Locked(Task<Void, Never>?.none)
        // The first interrupt completes the page and saves the progress; the second ends the program.
        context.interruption.onSignal { [console, time = context.time] in
            stop.request()
            console.talk.write("lade: Finishing the page; interrupt again to end immediately.\n")
            let ending = Task {
                // Cancelled when the page is complete.
                guard (try? await time.sleep(for: Self.grace)) != nil else { return }
                run.cancel()
            }
            timer.withLock { $0 = ending }
        }
        let outcome = await run.value
        timer.withLock(\.self)?.cancel()
        return outcome
    }

    /// The settings that influence the server's response, besides the request itself.
    private var circumstances: [String: String] {
        var found: [String: String] = [:]
        if let user = settings.request.user {
            found["user"] = String(Substring(user.utf8.prefix { $0 != UInt8(ascii: ":") }))
        }
        switch settings.policy.authorisation {
        case .basic(let user): found["user"] = user
        case .oauth2(let endpoint, let client):
            found["client"] = client
            found["token endpoint"] = endpoint
        case .bearer, nil: break
        }
        if !settings.policy.scopes.isEmpty { found["scope"] = settings.policy.scopes.joined(separator: " ") }
        let parameters = settings.policy.oauth2.parameters
        if !parameters.isEmpty {
            found["token parameters"] = parameters.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        }
        let session = settings.session
        if let name = session.name { found["session"] = name }
        if !session.cookieFiles.isEmpty { found["cookie file"] = session.cookieFiles.joined(separator: ", ") }
        if let certificate = settings.connection.certificateFile { found["certificate"] = certificate }
        return found
    }

    /// Checks that a list which is counted begins at a number.
    private func checkPositions(_ request: Request) throws(CommandError) {
        for rule in settings.paging.rules {
            let query: String
            switch rule {
            case .pageNumber(let name, nil): query = name
            case .offset(let name, nil): query = name
            default: continue
            }
            guard let value = request.url.queryValue(query), Int(wholeNumber: value) == nil else { continue }
            throw .usage(
                "“\(query.asArgument)” in the address is no number to count from",
                advice: "Write a number there, or the first number: "
                    + "--next \(rule.isOffset ? "offset" : "page"):\(query.asArgument)=1."
            )
        }
    }

    private var destination: Harvest.Destination {
        if let path = settings.paging.path { return .file(path, journal: settings.paging.journalPath) }
        guard console.isOutputTerminal else { return .descriptor(console.output.number) }
        let output = console.output
        return .writer { lines in
            do {
                try output.write(PagesRun.shown(lines))
            } catch let error as SystemError {
                if CommandError.output(error).isQuiet { throw HarvestError.outputClosed }
                throw error
            }
        }
    }

    /// The lines with control characters and bidirectional controls escaped.
    ///
    /// JSON strings may contain DEL, the control characters from U+0080 on, and bidirectional controls. Their escapes
    /// have the same meaning.
    static func shown(_ lines: Data) -> [UInt8] {
        let text = String(decoding: lines, as: UTF8.self)
        var shown = ""
        for scalar in text.unicodeScalars {
            if scalar.value >= 0x7F, scalar.rewritesDisplay || [0x2028, 0x2029, 0xFEFF].contains(scalar.value) {
                // All of these characters have at most four hexadecimal digits.
                let digits = String(scalar.value, radix: 16)
                shown += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return Array(shown.utf8)
    }

    /// Whether a progress line is shown.
    var showsProgress: Bool {
        // The output lines on the same terminal would collide with it.
        console.isTalkTerminal && (settings.paging.path != nil || !console.isOutputTerminal)
            && !settings.output.isSilent && !settings.output.isVerbose
    }

    // MARK: - Ending

    func finish(_ summary: Harvest.Summary) throws(CommandError) -> ExitCode {
        if !settings.output.isSilent, console.isTalkTerminal || summary.duplicates > 0 {
            console.talk.write("lade: \(Self.text(summary)).\n")
        }
        let isWhole = summary.ending != .complete || !summary.isCut
        if !settings.output.isSilent {
            for doubt in isWhole ? summary.doubts[...] : summary.doubts.dropFirst() {
                console.talk.write(warning(doubt).lines)
            }
        }
        if !isWhole, let doubt = summary.doubts.first {
            throw CommandError(
                what: "The list is not whole: \(doubt.description)",
                advice: advice(on: doubt.rule != nil ? doubt : summary.doubts.first { $0.rule != nil } ?? doubt),
                code: .incomplete
            )
        }
        guard summary.ending == .stopped else { return .success }
        throw stopped(pages: summary.pages, items: summary.items)
    }

    private func stopped(pages: Int, items: Int) -> CommandError {
        CommandError(
            what: "Stopped after \(Self.pages(pages)), \(Self.items(items)).",
            advice: settings.paging.path == nil ? "Name a file with --out to be able to continue." : Self.resuming,
            code: .partial
        )
    }

    private func warning(_ doubt: Harvest.Doubt) -> CommandError {
        CommandError(what: doubt.description, advice: advice(on: doubt), code: .incomplete)
    }

    /// The advice for a list that may lack items.
    private func advice(on doubt: Harvest.Doubt) -> String {
        let anew = settings.paging.path == nil ? "" : ", with --restart"
        if let rule = doubt.rule {
            let spelled = PagingSettings.spelling(of: rule)
            let words = ["--next", spelled] + (doubt.more.map { ["--more", PagingSettings.spelling(of: $0)] } ?? [])
            let blank =
                switch rule {
                case .cursor(_, .query("QUERY")): "; QUERY is the query item that takes it"
                case .cursor(_, .body(let pointer)) where pointer.tokens.last == "QUERY":
                    "; QUERY is the member of the body that takes it"
                default: ""
                }
            return "Write \(words.map(ShellWords.quoted).joined(separator: " "))\(blank)\(anew)."
        }
        if doubt.description.hasPrefix("The announced") { return "Fetch it anew\(anew)." }
        return "Say where the next page is, such as --next page:page\(anew); “lade help pages” lists the rules."
    }

    private static let resuming = "The same command continues from there."

    static func pages(_ count: Int) -> String { Count.text(count, "page", "pages") }

    static func items(_ count: Int) -> String { Count.text(count, "item", "items") }

    /// The notice that the server sends pages of another size than requested; nil when it does not.
    ///
    /// - Parameters:
    ///   - size: The requested size.
    ///   - query: The query item with the size.
    ///   - first: How many items the first page had.
    ///   - pages: How many pages there were; a single page may be smaller because it is the last.
    /// - Returns: The notice.
    static func sizeNotice(_ size: Int?, _ query: String, first: Int?, pages: Int) -> String? {
        guard let size, let first, first > size || (first < size && pages > 1) else { return nil }
        let fact =
            first > size
            ? "The server ignores \(query)=\(size): its pages have \(items(first))."
            : "The server gives \(items(first)) a page at most, or does not know \(query)=\(size)."
        return "lade: \(fact) --size-query names its query.\n"
    }

    /// The summary of the written items, and of anything unusual.
    static func text(_ summary: Harvest.Summary) -> String {
        var text = "\(items(summary.items)) in \(pages(summary.pages)), \(ProgressLine.bytes(summary.bytes))"
        if summary.resumedPages > 0 {
            text += "; \(pages(summary.resumedPages)) \(summary.resumedPages == 1 ? "was" : "were") there already"
        }
        if summary.duplicates > 0 { text += "; \(items(summary.duplicates)) came twice" }
        if let missing = summary.missing, missing > 0 { text += "; \(missing) of \(summary.total ?? 0) never came" }
        return text
    }

    private func failure(
        _ error: HarvestError,
        _ witness: Witness,
        _ request: Request,
        hasPages: Bool
    ) -> CommandError {
        let restart = "--restart begins anew and overwrites it."
        switch error {
        case .page(let failure): return pageFailure(failure, witness, request, hasPages: hasPages)
        case .argumentsDiffer(_, let differences):
            let advice =
                differences.allSatisfy(\.isRenewal)
                ? "Add --same-sign-in if that is renewed, for the same user; \(restart)"
                : "Use the arguments of before; \(restart)"
            return .usage(error.description, advice: advice)
        case .outputClosed: return .brokenPipe
        case .outputExists, .outputChanged, .invalidJournal:
            return CommandError(what: error.description, advice: restart.capitalisedFirst, code: .localFile)
        case .outputBusy:
            return CommandError(what: error.description, advice: "Wait for it, or write elsewhere.", code: .localFile)
        case .diskFull:
            return CommandError(
                what: error.description,
                advice: "Make room. \(Self.resuming)",
                code: .localFile
            )
        case .store:
            return CommandError(
                what: error.description,
                advice: "Protect the store as the key of the API is protected.",
                code: .decoding
            )
        case .file:
            let advice = "Check the path, its permissions and the space left."
            return CommandError(what: error.description, advice: advice, code: .localFile)
        }
    }

    private func pageFailure(
        _ failure: PageError,
        _ witness: Witness,
        _ request: Request,
        hasPages: Bool
    ) -> CommandError {
        var reported: CommandError
        if case .loading(let cause) = failure.cause {
            reported = witness.failure(cause)
            // Page 1 is the address that was given.
            if failure.page.number > 0 { reported.what = "Page \(failure.page.number + 1): \(reported.what)" }
            say(cause.context, of: cause)
            if let advice = advice(on: cause, failure, request) { reported.advice = advice }
        } else {
            reported = CommandError(
                what: failure.description,
                advice: advice(on: failure.cause),
                code: .decoding
            )
        }
        guard hasPages, settings.paging.path != nil, !reported.isQuiet else { return reported }
        if case .repeated = failure.cause {
            // Another choice for --repeated continues from there.
            reported.code = .partial
        } else if failure.canContinue, mayContinue(failure) {
            reported.code = .partial
            reported.advice = reported.advice.isEmpty ? Self.resuming : "\(reported.advice) \(Self.resuming)"
        }
        return reported
    }

    /// Whether the same page may be loaded later.
    private func mayContinue(_ failure: PageError) -> Bool {
        guard case .loading(let cause) = failure.cause else { return true }
        switch cause.kind {
        case .unacceptableStatus(let status):
            return !(400..<500).contains(status.code) || [401, 403, 408, 425, 429].contains(status.code)
        case .decoding, .invalidRequest, .invalidSetting, .bodyTooLarge, .headTooLarge: return false
        default: return true
        }
    }

    /// Prints what the server says about a request that it refused.
    private func say(_ context: LoadingError.Context, of cause: LoadingError) {
        let isRefusal: Bool
        switch cause.kind {
        case .unacceptableStatus(let status): isRefusal = status.statusClass == .clientError
        case .decoding: isRefusal = Self.missingList(cause.underlyingError)?.lists.isEmpty == true
        default: isRefusal = false
        }
        guard isRefusal, !settings.output.isSilent, let body = context.body else { return }
        let text = ServerMessage.text(of: body, contentType: context.headers.value(.contentType))
        if !text.isEmpty { console.talk.write(text) }
    }

    private func advice(on cause: LoadingError, _ failure: PageError, _ request: Request) -> String? {
        if let status = failure.endStatus { return "--end-status \(status) ends the list there." }
        switch cause.kind {
        case .decoding: return cause.underlyingError.flatMap { advice(on: $0, cause.context) }
        case .unacceptableStatus(let status) where [401, 403].contains(status.code):
            if let home = Origin(request.url), let origin = Origin(failure.page.request.url), home != origin {
                return "Page \(failure.page.number + 1) is on \(origin), and not on \(home): credentials, cookies and "
                    + "fields of the request were not sent there. --next-here fetches it from \(home)."
            }
            let hasCredentials = request.headers.contains {
                $0.carriesCredentials || Redaction.standard.isSecret($0.name)
            }
            guard status == 401,
                hasCredentials || settings.policy.authorisation != nil || !settings.session.cookieTexts.isEmpty
            else { return nil }
            let refused = "The server refused the credentials that were sent; check them, or get new ones."
            let isNamed = settings.request.user != nil || ![nil, .bearer].contains(settings.policy.authorisation)
            // A journal names the user; of a token alone it does not know whose it is.
            return isNamed || settings.paging.path == nil
                ? refused : "\(refused) With new ones of the same user add --same-sign-in."
        default: return nil
        }
    }

    private static func missingList(_ fault: (any Error)?) -> ProcessingError.MissingList? {
        if case .missingList(let list)? = fault as? ProcessingError { list } else { nil }
    }

    /// How to read a page that has no list where it is expected.
    private func advice(on fault: any Error, _ context: LoadingError.Context) -> String? {
        let type = context.headers.value(.contentType)?.asciiLowercased ?? ""
        if type.hasPrefix("text/csv") {
            return "Pages of CSV are not read; ask for JSON, such as with Accept:application/json."
        }
        if let missing = Self.missingList(fault) {
            guard let list = missing.lists.first else { return "Check the address; this is what the server sent." }
            let items = "\(list.pointer)".escapedForDisplay(limit: 100)
            return "Say where the list is: --items \(items) has \(Self.items(list.count))."
        }
        guard settings.paging.format == .document,
            ["ndjson", "jsonl", "json-lines", "jsonlines", "json-seq", "stream+json"].contains(where: type.contains)
        else { return nil }
        return "Lines of JSON are read with --items lines."
    }

    private func advice(on cause: PageError.Cause) -> String {
        switch cause {
        case .repeated: "Check --next; --repeated end stops before such a page, --repeated keep writes it."
        case .otherOrigin: "Leave out --same-origin, or fetch it from the list's origin with --next-here."
        case .bodyToOtherOrigin:
            "Send it with --cross-origin-body, or fetch the page from the list's origin with --next-here."
        case .insecure: "Fetch it from the list's origin with --next-here."
        case .loop: "Check --next: the server may ignore the query item that takes the cursor."
        case .unusable: "Check --next; “lade help pages” lists the rules."
        case .emptyPages: "Allow more with --empty-pages."
        case .cut: "Check --next and --more."
        case .loading, .invalidTarget, .paginator: "Print the page with “lade get”."
        @unknown default: "Print the page with “lade get”."
        }
    }
}

extension Pages.Rule {
    fileprivate var isOffset: Bool { if case .offset = self { true } else { false } }
}

extension String {
    fileprivate var capitalisedFirst: String { prefix(1).uppercased() + dropFirst() }
}

/// A line on the terminal with the progress of the pages and the current wait.
final class PagesLine: Sendable {
    private struct State {
        var lastShown: Instant
        var isShown = false
        var isEnded = false
    }

    private static let interval = Duration.milliseconds(100)

    private let talk: LineLog
    private let time: any TimeSource
    private let start: Instant
    private let isWanted: Bool
    private let state: Locked<State>

    /// The words of the line about the limits; nil for none.
    private let words: @Sendable () -> String?

    init(
        _ console: Console,
        time: any TimeSource,
        isShown: Bool,
        words: @escaping @Sendable () -> String? = { nil }
    ) {
        self.words = words
        talk = console.talk
        self.time = time
        isWanted = isShown
        start = time.now
        state = Locked(State(lastShown: start))
    }

    /// Updates the line, unless it changed very recently.
    func show(_ progress: Pages.Progress) {
        guard isWanted else { return }
        let now = time.now
        let isDue = state.withLock { state in
            guard !state.isEnded, state.lastShown.duration(to: now) >= Self.interval else { return false }
            state.lastShown = now
            state.isShown = true
            return true
        }
        if isDue { talk.show(text(progress, at: now)) }
    }

    /// Removes the line.
    func end() {
        let wasShown = state.withLock { state in
            state.isEnded = true
            return state.isShown
        }
        if wasShown { talk.show("") }
    }

    /// The text of the line.
    func text(_ progress: Pages.Progress, at now: Instant) -> String {
        let elapsed = max(start.duration(to: now), .milliseconds(1))
        var text = "\(PagesRun.pages(progress.pages)), "
        text += progress.total.map { "\(progress.items) of \(PagesRun.items($0))" } ?? PagesRun.items(progress.items)
        text += ", \(ProgressLine.bytes(progress.bytes)), "
        text += "\(ProgressLine.bytes(ProgressLine.rate(progress.bytes, in: elapsed)))/s"
        if let words = words() { text += ", \(words)" }
        if let waiting = progress.waiting { text += ", waiting for \(waiting)".escapedForDisplay(limit: 60) }
        return text
    }
}
