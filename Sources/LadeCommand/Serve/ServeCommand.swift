import Lade
import LadeCatalogueServer
import LadeTesting
import LadeTraffic

/// The settings of `lade serve`.
struct ServeSettings: CommandSettings {
    var options = LocalCatalogue.Options()
    var duration: Duration?
    /// The recording to serve in place of the catalogue; nil for the catalogue.
    var recordingPath: String?
    /// Whether the responses of a recording take as long as in it.
    var keepsTimes = false

    static let rows: [OptionRow<ServeSettings>] = [
        .value("port", "PORT", .server, "The port of 127.0.0.1 (a free one)") { settings, value throws(CommandError) in
            guard let port = UInt16(value) else {
                throw .usage("--port: “\(value.asArgument)” is no port", advice: "Write a number up to 65535.")
            }
            settings.options.address = .ipv4(port: port)
        },
        .duration("for", .server, "Stop after so long (30s, 5m)") { $0.duration = $1 },
        .value(
            "har",
            "FILE",
            .server,
            "Serve a recording instead of the catalogue",
            details:
                "Each request gets the response that the recording has for its method, path, query and body, in the order "
                + "of the recording. /https/HOST/path chooses the origin, as does the Host of a request or of a proxy's. Without "
                + "one of them path and query decide. The other options of the catalogue have no effect.",
            completion: .files
        ) { $0.recordingPath = $1 },
        .flag(
            "har-times",
            .server,
            "Take as long as the recording for each response",
            details:
                "Without it each response comes immediately. The events of an event stream are spread over the time in "
                + "which it was received."
        ) { $0.keepsTimes = true },
        .count("medias", .server, "How many medias there are (20000)", to: LocalCatalogue.Options.most) {
            $0.options.medias = $1
        },
        .count("shows", .server, "How many shows there are (240)", to: LocalCatalogue.Options.most) {
            $0.options.shows = $1
        },
        .count("seed", .server, "What everything is made from (1)", from: 0) { $0.options.seed = UInt64($1) },
        .count("max-size", .server, "The most items of a page (100)", to: LocalCatalogue.Options.most) {
            $0.options.maximumPageSize = $1
        },
        .duration("latency", .server, "Hold every response back") { $0.options.latency = $1 },
        .value("rate", "N/s", .server, "Serve so many requests a second, then 429") {
            settings,
            value throws(CommandError) in
            let digits = value.hasSuffix("/s") ? String(value.dropLast(2)) : value
            settings.options.requestsPerSecond = try Quantity.count(
                digits,
                of: "--rate",
                to: LocalCatalogue.Options.most
            )
        },
        .flag("token", .server, "Require a bearer token (client lade, demo-secret)") {
            $0.options.requiresToken = true
        },
        .duration("token-lifetime", .server, "How long a token is good (30s)") { $0.options.tokenLifetime = $1 },
        .value(
            "fault",
            "KIND=EVERY",
            .server,
            "A fault every so many requests: reset=50",
            details: "The kinds are 503, 429, 401, reset, stall and truncate. Any address can ask for one as well: "
                + "?fault=503, or ?fault=503:2 for the first two times."
        ) { settings, value throws(CommandError) in
            let parts = value.parts(at: "=", omitsEmpty: true)
            guard parts.count == 2, let kind = LocalCatalogue.Disruption(rawValue: String(parts[0])) else {
                let kinds = LocalCatalogue.Disruption.allCases.map(\.rawValue).joined(separator: ", ")
                throw .usage(
                    "--fault: “\(value.asArgument)” is no fault",
                    advice: "Write KIND=EVERY with one of \(kinds)."
                )
            }
            settings.options.faults[kind] = try Quantity.count(String(parts[1]), of: "--fault")
        },
    ]

    mutating func addOperand(_ operand: String) throws(CommandError) {
        throw .unexpected(operand, of: "serve")
    }

    func validate() throws(CommandError) {
        guard keepsTimes, recordingPath == nil else { return }
        throw .usage("--har-times without --har", advice: "Name the recording with --har FILE.")
    }
}

extension LocalCatalogue.Options {
    /// The largest number that any option of the catalogue accepts.
    static let most = 10_000_000
}

extension Command {
    /// `lade serve`: serves the local catalogue on loopback.
    static let serve = Command(
        "serve",
        "Serve a media catalogue on this machine, to try things on",
        description: "Prints its address and serves until it is interrupted: the services of a media catalogue below "
            + "/integrationlayer with invented data, images at /images/, a plain list at /medias, the same as a "
            + "connection of GraphQL at /graphql, and an OAuth 2 token endpoint at /oauth2/token. Business units are srf, rts, rsi, rtr, swi and ssatr.",
        options: ServeSettings.rows,
        examples: [
            Example(line: "lade serve --for 10m", purpose: "For a while"),
            Example(line: "lade serve --rate 20/s --fault reset=50 --for 10m", purpose: "A server with faults"),
            Example(line: "lade serve --token --token-lifetime 5s --for 10m", purpose: "With tokens"),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        if let path = settings.recordingPath { return try await serve(path, settings, context) }
        let catalogue: LocalCatalogue
        do throws(SystemCallError) {
            catalogue = try LocalCatalogue(settings.options)
        } catch {
            let what = "The catalogue cannot be served: \(error)."
            throw CommandError(what: what, advice: "Choose another --port.", code: .network)
        }
        try context.console.write(catalogue.address("/") + "\n")
        context.console.talk.write(ServeWords.text(catalogue.address("/"), wantsToken: settings.options.requiresToken))
        // The first signal cancels the wait, which is the normal end.
        let end = settings.duration.map { context.time.now.advanced(by: $0) }
        try? await context.time.sleep(until: end ?? Instant(nanoseconds: .max))
        // Waiting for the threads takes no time: a response stops blocking when its connection is closed.
        catalogue.stop()
        return .success
    }
}

extension Command {
    /// Serves a recording until the time is over or the command is interrupted.
    private static func serve(
        _ path: String,
        _ settings: ServeSettings,
        _ context: CommandContext
    ) async throws(CommandError) -> ExitCode {
        let entries: [HAREntry]
        do throws(HARFault) { entries = try HARReader().entries(of: path) } catch { throw .recording(path, error) }
        let server: ReplayServer
        do throws(SystemCallError) {
            server = try ReplayServer(
                entries,
                keepsTimes: settings.keepsTimes,
                time: context.time,
                address: settings.options.address
            )
        } catch {
            let what = "The recording cannot be served: \(error)."
            throw CommandError(what: what, advice: "Choose another --port.", code: .network)
        }
        try context.console.write(server.address("/") + "\n")
        let first = entries.first?.request.url ?? ""
        context.console.say(
            "lade: \(Count.text(entries.count, "response", "responses")) of \(path), the first of \(first)"
        )
        let end = settings.duration.map { context.time.now.advanced(by: $0) }
        // The first signal cancels the wait, which is the normal end.
        try? await context.time.sleep(until: end ?? Instant(nanoseconds: .max))
        server.stop()
        return .success
    }
}

/// The text that `lade serve` prints besides its address.
enum ServeWords {
    /// The paths of the catalogue and a command to try.
    static func text(_ address: String, wantsToken: Bool) -> String {
        let token = "--auth oauth2:\(address.replacing("http://", with: "http://lade@"))oauth2/token "
        let pages = "lade pages \(wantsToken ? token : "")'\(address)medias?per_page=50' --max-pages 2"
        return """
              /medias                                                      a plain list, by page and per_page
              /graphql                                                     the same by cursor, as GraphQL does (POST)
              /integrationlayer/2.0/rts/mediaList/video/latestEpisodes     medias in pages that name the next one
              /integrationlayer/2.0/rts/showList/tv/alphabetical           shows in pages
              /oauth2/token                                                tokens for the client lade, demo-secret
            Any path takes ?fault=503 or ?fault=reset:2. Try:
              \(pages)

            """
    }
}
