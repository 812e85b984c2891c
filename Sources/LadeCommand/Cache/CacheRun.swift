#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// One run of `lade cache`.
struct CacheRun: Sendable {
    let settings: CacheCommandSettings
    let context: CommandContext

    private var console: Console { context.console }

    /// Carries out the user's command.
    ///
    /// - Returns: Success; the code of a local file for a store with damage.
    func run() async throws(CommandError) -> ExitCode {
        let folder = try CommandCache.folder(settings.caching.directory)
        guard CommandCache.exists(folder) else {
            console.say("lade: There is no cache in \(folder.escapedForDisplay()).")
            return .success
        }
        let store = try CommandCache.store(at: folder)
        let code: ExitCode
        do throws(CommandError) {
            code = try await carryOut(store, folder)
        } catch {
            await store.close()
            throw error
        }
        await store.close()
        return code
    }

    private func carryOut(_ store: any CacheStore, _ folder: String) async throws(CommandError) -> ExitCode {
        do {
            switch settings.verb {
            case .list: try list(try await store.entries(selection))
            case .why: try await explain(store)
            case .purge:
                let removal = try await store.remove(selection)
                let count = removal.entries == 1 ? "1 response" : "\(removal.entries) responses"
                try console.write("\(count), \(removal.bytes) bytes\n")
            case .check: return try await check(store)
            case nil: break
            }
            return .success
        } catch let fault as CacheError {
            throw CommandCache.refused(fault, folder)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError(what: "The cache failed: \(error).", advice: "Try again.", code: .localFile)
        }
    }

    /// The selection that the options make.
    private var selection: ResponseCache.Selection {
        if let host = settings.host { return .host(host) }
        if let account = settings.account { return .account(account) }
        if let tag = settings.tag { return .tag(tag) }
        if let older = settings.older {
            return .received(before: context.time.date.addingTimeInterval(-older.inSeconds))
        }
        if let address = settings.request.address, let url = URL(string: Address(address).text) { return .address(url) }
        return .all
    }

    // MARK: - ls

    private func list(_ entries: [ResponseCache.Entry]) throws(CommandError) {
        let isJSON = settings.isJSON || !console.isOutputTerminal
        if isJSON {
            for entry in entries { try console.write(record(entry)) }
            return
        }
        var table = TextTable(
            columns: [
                .init(title: "address", isFlexible: true), .init(title: "status", isNumeric: true),
                .init(title: "bytes", isNumeric: true), .init(title: "age", isNumeric: true), .init(title: "freshness"),
                .init(title: "varies on"),
            ],
            rows: entries.map { entry in
                let freshness = freshness(entry)
                return [
                    "\(entry.key)", "\(entry.head.status.code)", "\(entry.bytes)", freshness.age.shortText,
                    Self.words(freshness, entry.head), entry.head.reading.vary.names.joined(separator: ", "),
                ]
            }
        )
        if entries.allSatisfy(\.head.reading.vary.names.isEmpty) { table.removeColumn(5) }
        let widths = table.widths(in: 100)
        for line in [table.heading(widths)] + table.lines(widths) { try console.write(line + "\n") }
    }

    private func freshness(_ entry: ResponseCache.Entry) -> ResponseCache.Freshness {
        ResponseCache.Rules().freshness(of: entry.head, at: Moment(now: context.time), entry.key.place.address)
    }

    private static func words(_ freshness: ResponseCache.Freshness, _ head: StoredHead) -> String {
        if head.mustValidate { return "invalid" }
        let rest = Duration.zero - freshness.staleness
        return rest > .zero ? "fresh for \(rest.shortText)" : "stale since \(freshness.staleness.shortText)"
    }

    private func record(_ entry: ResponseCache.Entry) -> String {
        let freshness = freshness(entry)
        var account = ""
        if case .account(let name) = entry.key.place.scope { account = name }
        return JSONQuoting.object([
            (name: "url", value: JSONQuoting.string("\(entry.key)")),
            (name: "account", value: JSONQuoting.string(account)),
            (name: "status", value: "\(entry.head.status.code)"),
            (name: "bytes", value: "\(entry.bytes)"),
            (name: "age", value: "\(freshness.age.components.seconds)"),
            (name: "freshFor", value: "\((Duration.zero - freshness.staleness).components.seconds)"),
            (name: "mustValidate", value: "\(entry.head.mustValidate || entry.head.reading.requiresValidation)"),
            (name: "isWhole", value: "\(entry.head.isWhole)"),
            (
                name: "varyingFields",
                value: "[" + entry.head.reading.vary.names.map(JSONQuoting.string).joined(separator: ",") + "]"
            ),
        ]) + "\n"
    }

    // MARK: - why

    private func explain(_ store: any CacheStore) async throws {
        var settings = settings
        // The store is open already.
        settings.caching.isOn = false
        var call = try await PreparedCall(settings, context)
        call.cache = ResponseCache.Settings(store: store)
        // The account of the call itself, so that the explanation is about the response that the call would get.
        let account = try await Witness.observing(settings.output, settings.policy, settings.connection, context) {
            [call] (witness) async throws(CommandError) in
            try await context.account(settings.connection, settings.policy, for: .call, call, witness: witness)
        }
        let explanation: ResponseCache.Explanation?
        do throws(CacheError) {
            explanation = try await account.explainCaching(of: call.request)
        } catch {
            await account.service.shutDown()
            throw error
        }
        await account.service.shutDown()
        guard let found = explanation else { return }
        var lines = [
            "\(Self.words(found.action)): \(found.rule.rawValue)", "\(found.rule.sentence) (\(found.rule.section))",
        ]
        if let refusal = found.lastRefusal {
            lines.append("the last response was not stored: \(refusal.rawValue)")
            lines.append("\(refusal.sentence) (\(refusal.section))")
        }
        if let freshness = found.freshness {
            lines.append("lifetime \(freshness.lifetime.shortText), from \(freshness.source.rawValue)")
            lines.append(
                "age \(freshness.age.shortText): stored for \(freshness.residence?.shortText ?? "an unknown time"), "
                    + "by Date \(freshness.apparentAge.shortText), by Age \(freshness.statedAge.shortText) and "
                    + "\(freshness.delay.shortText) of exchange on arrival"
            )
        }
        for stored in found.stored {
            let names = stored.differences
            let state = names.isEmpty ? "matches" : "differs in " + names.joined(separator: ", ")
            lines.append("stored: \(stored.status.code), \(stored.head.length) bytes, \(state)")
        }
        for line in lines { try console.write(line.escapedForDisplay(limit: 400) + "\n") }
    }

    private static func words(_ action: ResponseCache.Explanation.Action) -> String {
        switch action {
        case .serve: "served from the cache"
        case .serveAndValidate: "served from the cache, and validated in the background"
        case .validate: "the server is asked whether what is stored is current"
        case .complete: "the server is asked for the rest of the body"
        case .fetch: "fetched from the server"
        case .passBy: "left to the server"
        case .fail(let reason): "not possible, because \(reason)"
        }
    }

    // MARK: - check

    private func check(_ store: any CacheStore) async throws -> ExitCode {
        var (sound, damaged) = (0, 0)
        for entry in try await store.entries(selection) {
            var spans: [Range<Int64>?] = [nil]
            if case .parts(let parts, _) = entry.head.extent { spans = parts }
            do throws(CacheError) {
                for span in spans {
                    // An entry that another program has just removed is not damaged.
                    guard let reader = try await store.open(entry.head.id, span: span) else { continue }
                    while try await reader.next() != nil {}
                }
                sound += 1
            } catch {
                guard error.reason == .damaged else { throw error }
                damaged += 1
                try console.write("damaged: \(entry.key)\n")
            }
        }
        try console.write("\(sound == 1 ? "1 response is" : "\(sound) responses are") sound, \(damaged) damaged\n")
        return damaged == 0 ? .success : .localFile
    }
}
