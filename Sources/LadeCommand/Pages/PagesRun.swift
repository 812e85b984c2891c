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

    private var console: Console { context.console }

    /// Harvests the list.
    ///
    /// - Returns: Success, also when a limit that the user set ended the harvest.
    func run() async throws(CommandError) -> ExitCode {
        let call = try await PreparedCall(settings, context)
        return try await Witness.observing(settings.output, settings.policy, context) {
            (witness) async throws(CommandError) in
            try await run(call, witness)
        }
    }

    private func run(_ call: PreparedCall, _ witness: Witness) async throws(CommandError) -> ExitCode {
        let harvest = settings.paging.harvest(call.request)
        let line = PagesLine(console, time: context.time, isShown: showsProgress)
        let firstPage = Locked(Int?.none)
        let meter = PageMeter { progress in
            if progress.pages == 1 { firstPage.withLock { $0 = $0 ?? progress.items } }
            line.show(progress)
        }
        let account = try await context.account(
            settings.connection,
            settings.policy,
            for: .list,
            call,
            witness: witness,
            observers: [meter]
        )
        let stop = Harvest.Stop()
        let (interrupts, interrupt) = AsyncStream.makeStream(of: Void.self)
        // The first interrupt completes the page and saves the progress; the second ends the program.
        context.interruption.onSignal { [console] in
            stop.request()
            console.talk.write("lade: Finishing the page; interrupt again to end immediately.\n")
            interrupt.finish()
        }
        let loader = account.makeLoader()
        let outcome = await untilStopped(interrupts) { [destination, settings] () async throws(HarvestError) in
            try await harvest.run(
                with: loader,
                to: destination,
                restart: settings.paging.restarts,
                stop: stop,
                meter: meter
            )
        }
        line.end()
        await account.service.shutDown()
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
        case .success(let summary): return try finish(summary)
        case .failure(.page(let failure)) where failure.isCancellation && stop.isRequested:
            throw stopped(after: pages, items: meter.progress.items)
        case .failure(let error): throw failure(error, witness, hasPages: meter.progress.pages > 0)
        }
    }

    /// How long the first interrupt waits for the page.
    static let patience = Duration.seconds(1)

    /// Runs the harvest, and cancels it when it has not ended one second after the first interrupt.
    private func untilStopped(
        _ interrupts: AsyncStream<Void>,
        _ run: @escaping @Sendable () async throws(HarvestError) -> Harvest.Summary
    ) async -> Result<Harvest.Summary, HarvestError> {
        let time = context.time
        return await withTaskGroup(of: Result<Harvest.Summary, HarvestError>?.self) { group in
            group.addTask {
                do throws(HarvestError) { return .success(try await run()) } catch { return .failure(error) }
            }
            group.addTask {
                for await _ in interrupts {}
                // Cancelled when the harvest has ended.
                try? await time.sleep(for: Self.patience)
                return nil
            }
            while let result = await group.next() {
                group.cancelAll()
                if let result { return result }
            }
            preconditionFailure("The harvest ended without a result")
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

    private func finish(_ summary: Harvest.Summary) throws(CommandError) -> ExitCode {
        if !settings.output.isSilent, console.isTalkTerminal || summary.duplicates > 0 || (summary.missing ?? 0) > 0 {
            console.talk.write("lade: \(Self.text(summary)).\n")
        }
        guard summary.ending == .stopped else { return .success }
        throw stopped(after: summary.pages, items: summary.items)
    }

    private func stopped(after pages: Int, items: Int) -> CommandError {
        CommandError(
            what: "Stopped after \(Self.pages(pages)), \(Self.items(items)).",
            advice: settings.paging.path == nil ? "Name a file with --out to be able to continue." : Self.resuming,
            code: .partial
        )
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
        return
            "lade: The server ignores \(query)=\(size): its pages have \(items(first)). --size-query names its query.\n"
    }

    /// The summary of what was written, and of anything unusual.
    static func text(_ summary: Harvest.Summary) -> String {
        var text = "\(items(summary.items)) in \(pages(summary.pages)), \(ProgressLine.bytes(summary.bytes))"
        if summary.resumedPages > 0 {
            text += "; \(pages(summary.resumedPages)) \(summary.resumedPages == 1 ? "was" : "were") there already"
        }
        if summary.duplicates > 0 { text += "; \(items(summary.duplicates)) came twice" }
        if let missing = summary.missing, missing > 0 { text += "; \(missing) of \(summary.total ?? 0) never came" }
        return text
    }

    private func failure(_ error: HarvestError, _ witness: Witness, hasPages: Bool) -> CommandError {
        let restart = "--restart begins anew and overwrites it."
        switch error {
        case .page(let failure):
            var reported: CommandError
            if case .loading(let cause) = failure.cause {
                reported = witness.failure(cause)
            } else {
                reported = CommandError(
                    what: failure.description,
                    advice: "Print the page with “lade get”.",
                    code: .decoding
                )
            }
            if case .repeated = failure.cause {
                reported.advice = "Check --next; --repeated end stops before such a page, --repeated keep writes it."
            }
            guard hasPages, settings.paging.path != nil, !reported.isQuiet else { return reported }
            reported.code = .partial
            if case .repeated = failure.cause { return reported }
            reported.advice = reported.advice.isEmpty ? Self.resuming : "\(reported.advice) \(Self.resuming)"
            return reported
        case .argumentsDiffer:
            return .usage(error.description, advice: "Use the arguments of before; \(restart)")
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
        case .file:
            let advice = "Check the path, its permissions and the space left."
            return CommandError(what: error.description, advice: advice, code: .localFile)
        }
    }
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

    init(_ console: Console, time: any TimeSource, isShown: Bool) {
        talk = console.talk
        self.time = time
        isWanted = isShown
        start = time.now
        state = Locked(State(lastShown: start))
    }

    /// Updates the line, unless it changed very recently.
    func show(_ progress: PageProgress) {
        guard isWanted else { return }
        let now = time.now
        let isDue = state.withLock { state in
            guard !state.isEnded, state.lastShown.duration(to: now) >= Self.interval else { return false }
            state.lastShown = now
            state.isShown = true
            return true
        }
        if isDue { talk.write("\r\(text(progress, at: now))\u{1B}[K") }
    }

    /// Removes the line.
    func end() {
        let wasShown = state.withLock { state in
            state.isEnded = true
            return state.isShown
        }
        if wasShown { talk.write("\r\u{1B}[K") }
    }

    /// The text of the line.
    func text(_ progress: PageProgress, at now: Instant) -> String {
        let elapsed = max(start.duration(to: now), .milliseconds(1))
        var text = "\(PagesRun.pages(progress.pages)), "
        text += progress.total.map { "\(progress.items) of \(PagesRun.items($0))" } ?? PagesRun.items(progress.items)
        text += ", \(ProgressLine.bytes(progress.bytes)), "
        text += "\(ProgressLine.bytes(ProgressLine.rate(progress.bytes, in: elapsed)))/s"
        if let waiting = progress.waiting { text += ", waiting for \(waiting)".escapedForDisplay(limit: 60) }
        return text
    }
}
