#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCatalogueServer
import LadeHarvest
import LadeTesting
import LadeTraffic

/// Harvests the local catalogue under injected faults and compares the result with the catalogue.
struct Demo: Sendable {
    let settings: DemoSettings
    let context: CommandContext

    private static let host = "media.lade.test"
    private static let pageSize = 50

    private var medias: Int { settings.medias ?? (settings.isFast ? 600 : 4_000) }

    /// Runs the demonstration.
    ///
    /// - Returns: Success when the result is complete.
    func run() async throws(CommandError) -> ExitCode {
        let (path, folder) = try destination()
        do throws(CommandError) {
            try await Witness.observing(settings.output, PolicySettings(), ConnectionSettings(), context) {
                (witness) async throws(CommandError) in
                try await harvest(to: path, in: folder, witness)
            }
            return .success
        } catch {
            // A temporary output file is removed even when the run failed.
            if let folder { try? FileManager.default.removeItem(atPath: folder) }
            throw error
        }
    }

    private func harvest(to path: String, in folder: String?, _ witness: Witness) async throws(CommandError) {
        let catalogue = try startCatalogue()
        defer { catalogue.stop() }
        let screen = DemoScreen(context.console, time: context.time, total: medias)
        let tally = DemoTally { screen.show($0) }
        let meter = Pages.Progress.Meter { screen.show($0) }
        introduce(catalogue)
        let start = context.time.now
        let entries = Locked<[HAREntry]>([])
        var recording = TrafficRecorder.Settings()
        recording.bodyLimit = 0
        let recorder = TrafficRecorder(recording) { entry in entries.withLock { $0.append(entry) } }
        let account = try makeAccount(
            catalogue,
            observers: witness.observers(hasCache: false) + [tally, meter],
            recorder: folder == nil ? nil : recorder
        )
        let harvest = try makeHarvest(catalogue)
        let outcome: Result<Harvest.Summary, HarvestError>
        do throws(HarvestError) {
            let loader = account.makeLoader()
            outcome = .success(try await harvest.run(with: loader, to: .file(path), restart: true, meter: meter))
        } catch {
            outcome = .failure(error)
        }
        await account.service.shutDown()
        screen.end()
        context.console.talk.flush()
        switch outcome {
        case .failure(let error): throw Self.failure(error)
        case .success(let summary):
            let report = DemoReport(
                summary: summary,
                time: start.duration(to: context.time.now),
                counts: tally.counts,
                requests: catalogue.counts.requests,
                path: path
            )
            try context.console.write(report.text)
            if let folder {
                // A new folder is the command's own; beside a file of the user nothing else is written.
                let page = folder + "/waterfall.html"
                try HarRun.write(WaterfallPage(entries.withLock(\.self), title: "lade demo").html, to: page)
                try context.console.write("Waterfall  file://\(page.escapedForDisplay(limit: 1_000))\n")
            }
            try verify(path, catalogue)
        }
    }

    // MARK: - Parts

    private func startCatalogue() throws(CommandError) -> LocalCatalogue {
        var options = LocalCatalogue.Options()
        options.seed = settings.seed
        options.medias = medias
        options.maximumPageSize = Self.pageSize
        options.requiresToken = true
        options.tokenLifetime = .seconds(settings.isFast ? 3 : 5)
        options.requestsPerSecond = settings.isFast ? 40 : 16
        options.latency = .milliseconds(settings.isFast ? 5 : 25)
        // The numbers have no common factors, so the faults do not coincide. None of them falls on the first requests.
        options.earlierRequests = 7
        options.faults =
            settings.isFast
            ? [.reset: 7, .unavailable: 11, .limited: 15, .truncate: 9, .stall: 17, .expired: 13]
            : [.reset: 17, .unavailable: 19, .limited: 43, .truncate: 23, .stall: 41, .expired: 37]
        do throws(SystemCallError) {
            return try LocalCatalogue(options)
        } catch {
            throw CommandError(
                what: "The catalogue cannot be served: \(error).",
                advice: "Allow listening on 127.0.0.1.",
                code: .network
            )
        }
    }

    private func makeAccount(
        _ catalogue: LocalCatalogue,
        observers: [any Call.Observer],
        recorder: TrafficRecorder?
    ) throws(CommandError) -> Account {
        var service = Service.Settings()
        service.transport.proxy = .direct
        service.observers = observers
        service.time = context.time
        service.random = SeededRandom(seed: settings.seed)
        service.userAgent = .string("lade-demo/\(Version.number)")
        service.retries.limit = 8
        service.retries.backoff = .fullJitter(base: .milliseconds(200), maximum: .seconds(1))
        service.deadlines.buffered = .seconds(60)
        // A response that takes longer has stalled.
        service.deadlines.attempt = .seconds(1)
        var marking = HostDirectory.Marking()
        marking.interval = .seconds(5)
        // The first address is a port that refuses connections.
        let dead = HostDirectory.Address(
            "127.0.0.1",
            port: Int(catalogue.deadAuthority.split(separator: ":").last ?? "") ?? 1
        )
        let alive = HostDirectory.Address("127.0.0.1", port: Int(catalogue.port))
        service.hosts = HostDirectory([Self.host: [dead, alive]], marking: marking)
        return try CommandError.translating { [service] () throws(LoadingError) in
            var service = service
            // There is only one client, so no other client retries when the delay ends.
            var limits = RateLimits()
            limits.releaseSpread = .milliseconds(200)
            service.rateLimiter = try RateLimiter(limits, time: service.time, random: service.random)
            let endpoint = URL(string: catalogue.tokenEndpoint)
            guard let endpoint else {
                throw LoadingError(.invalidSetting(name: "tokenEndpoint", reason: "no address"))
            }
            let client = LocalCatalogue.client
            var oauth = Authorisation.OAuth2.Settings(
                tokenEndpoint: endpoint,
                grant: .clientCredentials,
                clientID: client.identifier,
                clientProof: .basic(Secret(client.secret))
            )
            oauth.allowsInsecureEndpoint = true
            // A token that lasts for seconds is renewed every few seconds.
            oauth.refresh.limit = 1_000
            var scope = try Authorisation.Scope(address(catalogue))
            scope.allowsInsecure = true
            var account = Account.Settings()
            account.authorisers = [Authorisation.OAuth2(oauth, scope: scope)]
            recorder?.attach(to: &service)
            return try context.makeService(service).account(account)
        }
    }

    private func makeHarvest(_ catalogue: LocalCatalogue) throws(CommandError) -> Harvest {
        let request = try CommandError.translating { () throws(LoadingError) in
            try Request("\(address(catalogue))medias")
        }
        var harvest = Harvest(request)
        harvest.rules = [.pageNumber(query: "page", first: 1)]
        harvest.sizer = .query("per_page")
        harvest.size = Self.pageSize
        harvest.total = .header("X-Total-Count")
        harvest.identity = ["id"]
        harvest.prefetch = 2
        return harvest
    }

    private func address(_ catalogue: LocalCatalogue) -> String { "http://\(Self.host):\(catalogue.port)/" }

    private func destination() throws(CommandError) -> (path: String, folder: String?) {
        if let path = settings.path {
            _ = try OutputFile(path, mayOverwrite: settings.mayOverwrite)
            return (path, nil)
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lade-demo-\(UUID().uuidString)")
            .path
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandError(
                what: "The folder \(folder) cannot be made.",
                advice: "Name a file with --out, or set TMPDIR.",
                code: .localFile
            )
        }
        return (folder + "/medias.ndjson", folder)
    }

    // MARK: - Words

    private func introduce(_ catalogue: LocalCatalogue) {
        let pages = (medias + Self.pageSize - 1) / Self.pageSize
        let rate = settings.isFast ? 40 : 16
        let lifetime = settings.isFast ? 3 : 5
        context.console.talk.write(
            """
            A catalogue of \(medias) medias in \(pages) pages at \(address(catalogue)), on this machine.
            It requires OAuth tokens that last \(lifetime) s, allows \(rate) requests a second, and injects faults:
            its first address is dead, and some responses are refused, reset, cut short or never end.


            """
        )
    }

    private static func failure(_ error: HarvestError) -> CommandError {
        if case .page(let failure) = error, case .loading(let cause) = failure.cause { return CommandError(cause) }
        return CommandError(what: error.description, advice: "Name another file with --out.", code: .localFile)
    }

    /// Compares every line of the output with the catalogue.
    private func verify(_ path: String, _ catalogue: LocalCatalogue) throws(CommandError) {
        var count = 0
        var differing = 0
        for line in (FileManager.default.contents(atPath: path) ?? Data()).split(separator: UInt8(ascii: "\n")) {
            if count >= medias || line != catalogue.media(count) { differing += 1 }
            count += 1
        }
        guard count == medias, differing == 0 else {
            throw CommandError(
                what: "\(path) has \(count) lines instead of \(medias); \(differing) are not the catalogue's.",
                advice: "This is a fault of lade: please report it, with the seed \(settings.seed).",
                code: .usage
            )
        }
        try context.console.write("Verified   \(count) lines, each byte for byte what the catalogue has\n")
    }
}
