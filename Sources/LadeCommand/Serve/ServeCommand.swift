import Lade
import LadeTesting

/// What `lade serve` was asked for.
struct ServeSettings: CommandSettings {
    var options = LocalCatalogue.Options()
    var duration: Duration?

    static let rows: [OptionRow<ServeSettings>] = [
        .value("port", "PORT", .server, "The port of 127.0.0.1 (a free one)") { settings, value throws(CommandError) in
            guard let port = UInt16(value) else {
                throw .usage("--port: “\(value)” is no port", advice: "Write a number up to 65535.")
            }
            settings.options.endpoint = .ipv4(port: port)
        },
        .value("for", "TIME", .server, "Stop after so long (30s, 5m)") { settings, value throws(CommandError) in
            settings.duration = try Quantity.duration(value, of: "--for")
        },
        .value("medias", "N", .server, "How many medias there are (20000)") { settings, value throws(CommandError) in
            settings.options.medias = try PagingSettings.count(value, of: "--medias")
        },
        .value("shows", "N", .server, "How many shows there are (240)") { settings, value throws(CommandError) in
            settings.options.shows = try PagingSettings.count(value, of: "--shows")
        },
        .value("seed", "N", .server, "What everything is made from (1)") { settings, value throws(CommandError) in
            settings.options.seed = UInt64(try PagingSettings.count(value, of: "--seed", from: 0))
        },
        .value("max-size", "N", .server, "The most items of a page (100)") { settings, value throws(CommandError) in
            settings.options.maximumPageSize = try PagingSettings.count(value, of: "--max-size")
        },
        .value("latency", "TIME", .server, "Hold every answer back") { settings, value throws(CommandError) in
            settings.options.latency = try Quantity.duration(value, of: "--latency")
        },
        .value("rate", "N/s", .server, "Answer so many requests a second, then 429") {
            settings,
            value throws(CommandError) in
            let digits = value.hasSuffix("/s") ? String(value.dropLast(2)) : value
            settings.options.requestsPerSecond = try PagingSettings.count(digits, of: "--rate")
        },
        .flag("token", .server, "Want a bearer token (client lade, demo-secret)") {
            $0.options.requiresToken = true
        },
        .value("token-lifetime", "TIME", .server, "How long a token is good (30s)") {
            settings,
            value throws(CommandError) in
            settings.options.tokenLifetime = try Quantity.duration(value, of: "--token-lifetime")
        },
        .value(
            "fault",
            "KIND=EVERY",
            .server,
            "A fault every so many requests: reset=50",
            details: "The kinds are 503, 429, 401, reset, stall and truncate. Any address can ask for one as well: "
                + "?fault=503, or ?fault=503:2 for the first two times."
        ) { settings, value throws(CommandError) in
            let parts = value.split(separator: "=")
            guard parts.count == 2, let kind = LocalCatalogue.Fault(rawValue: String(parts[0])) else {
                let kinds = LocalCatalogue.Fault.allCases.map(\.rawValue).joined(separator: ", ")
                throw .usage("--fault: “\(value)” is no fault", advice: "Write KIND=EVERY with one of \(kinds).")
            }
            settings.options.faults[kind] = try PagingSettings.count(String(parts[1]), of: "--fault")
        },
    ]

    mutating func addOperand(_ operand: String) throws(CommandError) {
        throw .usage("serve takes no “\(operand)”", advice: "“lade serve --help” shows what it takes.")
    }

    func validate() throws(CommandError) {}
}

extension Command {
    /// `lade serve`: the local catalogue on loopback.
    static let serve = Command(
        "serve",
        "Serve a media catalogue on this machine, to try things on",
        description: "Prints its address and serves until it is interrupted: invented medias and shows in pages, a "
            + "plain list at /medias, and an OAuth 2 token endpoint at /oauth2/token. Business units are srf, rts, rsi, "
            + "rtr and swi.",
        options: ServeSettings.rows,
        examples: [
            Example(line: "lade serve --for 10m", purpose: "For a while"),
            Example(line: "lade serve --rate 20/s --fault reset=50 --for 10m", purpose: "A bad day"),
            Example(line: "lade serve --token --token-lifetime 5s --for 10m", purpose: "With tokens"),
        ]
    ) { settings, context async throws(CommandError) -> ExitCode in
        let catalogue: LocalCatalogue
        do throws(SystemCallFailure) {
            catalogue = try LocalCatalogue(settings.options)
        } catch {
            let what = "The catalogue cannot be served: \(error)."
            throw CommandError(what: what, advice: "Choose another --port.", code: .network)
        }
        try context.console.write(catalogue.address("/") + "\n")
        // Cancelled by the first signal, which is how it is meant to end.
        let end = settings.duration.map { context.time.now.advanced(by: $0) }
        try? await context.time.sleep(until: end ?? Instant(nanoseconds: .max))
        // The wait for its threads takes no time: none of its answers blocks once its connection is closed.
        catalogue.stop()
        return .success
    }
}
