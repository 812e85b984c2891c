import Lade

/// The policies of a call: redirects, retries, rates, deadlines, credentials, and other hosts.
///
/// `lade get`, `lade pages` and `lade explain` have these options.
struct PolicySettings: Sendable {
    /// How requests are authorised.
    enum AuthorisationChoice: Equatable, Sendable {
        case basic(user: String)
        case bearer
        case oauth2(endpoint: String, client: String)
    }

    /// The source of the secret for ``authorisation``; never an argument, which every user of the machine can read.
    enum SecretSource: Hashable, Sendable {
        case environment(String)
        case descriptor(Int32)
    }

    /// The kind of work, which decides the defaults.
    enum Work: Sendable {
        /// One call, which does only what its arguments ask for.
        case call
        /// A whole list, which must survive the failure of one call.
        case list
    }

    var followsRedirects = false
    var redirectLimit: Int?
    /// Whether a redirect takes the body of a request to another origin.
    var sendsBodyElsewhere = false
    /// Whether credentials and fields follow redirects to every host.
    var trustsEveryOrigin = false
    /// Whether a redirect makes any method but GET and HEAD a GET as it makes a POST, for a body that a form makes.
    var followsByRules = false
    /// The statuses whose redirects keep the method POST.
    var keepsPost: Set<Int> = []
    /// Whether redirects to the same address are followed, up to the limit.
    var followsLoops = false
    /// Whether a redirected request has a `Referer`.
    var setsReferer = false
    var retryDelay: Duration?
    /// How long after the beginning of a call another try may begin.
    var retryTime: Duration?
    /// Whether every failure is tried again.
    var retriesAllErrors = false
    /// Whether a status from 400 on is a failure.
    var failsByStatus = false
    var retries: Int?
    var repeatsUnsafe = false
    /// Whether only that is sent again what curl sends again.
    var repeatsLikeCurl = false
    /// Whether a refused connection is tried again then.
    var repeatsRefused = false
    var idempotencyKey: Request.IdempotencyKey?
    var hedging: HedgingPolicy?
    var deadline: Duration?
    var delayLimit: Duration?
    var rate: RateLimits.Rate?
    /// The store that shares the limits with other processes.
    var sharing: SharedLimits?
    var fleetSecret: SecretSource?
    var sharesTokensInPlain = false
    var authorisation: AuthorisationChoice?
    var secretSource: SecretSource?
    var scopes: [String] = []
    var oauth2 = OAuth2Options()
    var hosts: [String: [HostDirectory.Address]] = [:]

    /// The options that set these values.
    static let rows: [OptionRow<PolicySettings>] = redirectRows + repeatRows + timeRows + signInRows + hostRows

    private static let redirectRows: [OptionRow<PolicySettings>] = [
        .flag(
            "location",
            letter: "L",
            .policy,
            "Follow redirects",
            details:
                "As soon as scheme, host or port change, only fields that describe the request go along: Accept*, "
                + "Range, If-*, User-Agent. Other fields, credentials and cookies stay behind, and a body goes only "
                + "with --cross-origin-body, or to the same host over TLS. Nothing leads from https to http. "
                + "Without it a redirect is the response. lade pages follows them anyway."
        ) { $0.followsRedirects = true },
        .flag(
            "cross-origin-body",
            .policy,
            "Let redirects take the body to another origin",
            isCommon: false
        ) { $0.sendsBodyElsewhere = true },
        .count("max-redirects", .policy, "How many redirects to follow (10); implies -L", isCommon: false, from: 0) {
            $0.redirectLimit = $1
        }.also("max-redirs"),
        .flag(
            "location-trusted",
            .policy,
            "-L, with the credentials for every host",
            isCommon: false
        ) { settings in
            settings.followsRedirects = true
            settings.trustsEveryOrigin = true
        },
    ]

    private static let repeatRows: [OptionRow<PolicySettings>] = [
        .count(
            "retry",
            .policy,
            "Try N times more what may pass (0; pages: 2)",
            details: "After a lost connection, a time-out, and the statuses 408, 425, 429, 500, 502, 503 and 504. The "
                + "delays grow from up to 1 s to up to 20 s, and Retry-After is added. Methods that may do harm are "
                + "not sent again, unless --retry-unsafe or --idempotency-key say so. A GET whose response is "
                + "truncated continues at that point when the server names the version (a strong ETag, or a date that "
                + "is old enough), and otherwise begins anew, unless a part was written to the standard output already.",
            from: 0
        ) { $0.retries = $1 },
        .duration(
            "retry-delay",
            .policy,
            "The delay before each further try",
            isCommon: false
        ) { $0.retryDelay = $1 },
        .duration(
            "retry-max-time",
            .policy,
            "Begin no try after this time",
            details:
                "Counted from the beginning of the call. Nor is a delay waited for that a server requests and that "
                + "ends later. A try that has begun is not ended: --deadline does that.",
            isCommon: false
        ) { $0.retryTime = $1 },
        .flag(
            "retry-unsafe",
            .policy,
            "Retry POST and PATCH as well",
            isCommon: false
        ) { $0.repeatsUnsafe = true },
        .value(
            "idempotency-key",
            "KEY|auto",
            .policy,
            "Let the server recognise a repetition",
            details:
                "Sent as Idempotency-Key, in quotes as its standard asks, on every attempt; with auto it is a new one for "
                + "each call. Any method is sent again then.",
            isCommon: false,
            completion: .words(["auto"])
        ) { settings, value throws(CommandError) in
            guard !value.isEmpty else { throw .usage("--idempotency-key is empty", advice: "auto makes one.") }
            settings.idempotencyKey = value == "auto" ? .generated : .value(value)
        },
        .value(
            "hedge",
            "TIME|pN",
            .policy,
            "Send again if no response begins within TIME",
            details:
                "Once, beside the request that is in progress; the first good response counts, and the other request is "
                + "cancelled. It goes to another address of --host where there is one. Only a request that --retry may retry is "
                + "sent again, and only when --rate allows it immediately. With p95 it is the time within which 95 % of "
                + "the command's recent responses began, once 20 are known.",
            isCommon: false
        ) { settings, value throws(CommandError) in settings.hedging = try HedgingPolicy(argument: value) },
    ]

    private static let timeRows: [OptionRow<PolicySettings>] = [
        .duration(
            "deadline",
            .policy,
            "How long waits, tries and response may take",
            details: "Unlike --max-time, which is for each try. For lade pages it is the time of a page."
        ) { $0.deadline = $1 },
        .duration(
            "max-wait",
            .policy,
            "The longest delay a server may request (60s)",
            details: "A call whose server requests more ends with exit code 10. An announced quota "
                + "holds calls no longer than that.",
            isCommon: false
        ) { $0.delayLimit = $1 },
        .value(
            "rate",
            "N/s[,BURST]",
            .policy,
            "At most so many requests a second; or N/m",
            details: "For each host and first part of the path. BURST may start together after an idle time (1).",
            isCommon: false
        ) { settings, value throws(CommandError) in settings.rate = try RateLimits.Rate(argument: value) },
        .value(
            "share",
            "URL",
            .policy,
            "Share --rate and tokens with other processes",
            details:
                "redis://HOST/NAME, rediss:// with TLS, or redis+unix:///PATH?name=NAME: a Redis or Valkey server, and "
                + "a name. Processes with the same name keep the rate together, and the delays that servers request. "
                + "Without the server each calls at its share of the rate. With --auth oauth2:URL one of them renews "
                + "the token for all; reading the server is having the tokens then.",
            isCommon: false
        ) { settings, value in settings.sharing = SharedLimits(address: value) },
        .flag(
            "fleet-insecure",
            .policy,
            "Let tokens travel to that server without TLS",
            isCommon: false
        ) { $0.sharesTokensInPlain = true },
        .value(
            "fleet-secret-env",
            "NAME",
            .policy,
            "The variable that has the password of --share",
            isCommon: false
        ) { settings, value throws(CommandError) in try settings.setFleetSecret(.environment(value)) },
        .value(
            "fleet-secret-fd",
            "N",
            .policy,
            "The open file that has the password of --share",
            isCommon: false
        ) { settings, value throws(CommandError) in
            try settings.setFleetSecret(
                .descriptor(Int32(clamping: Quantity.count(value, of: "--fleet-secret-fd", from: 0)))
            )
        },
    ]

    private static let signInRows: [OptionRow<PolicySettings>] = [
        .value(
            "auth",
            "KIND",
            .policy,
            "basic:USER, bearer or oauth2:TOKENURL",
            details:
                "The secret (password, token, client secret) comes from --secret-env, --secret-fd or a question on "
                + "the terminal. OAuth 2 is by client credentials, or by --refresh-token-env; the client stands before the host of the token "
                + "endpoint: oauth2:https://CLIENT@auth.example.com/token. Credentials go to the origin of the address "
                + "alone, and without TLS only on this machine."
        ) { settings, value throws(CommandError) in settings.authorisation = try AuthorisationChoice(argument: value) },
        .value(
            "secret-env",
            "NAME",
            .policy,
            "The variable that has the secret of --auth",
            isCommon: false
        ) { settings, value throws(CommandError) in try settings.setSecret(.environment(value)) },
        .value(
            "secret-fd",
            "N",
            .policy,
            "The open file that has the secret of --auth",
            isCommon: false
        ) { settings, value throws(CommandError) in
            try settings.setSecret(
                .descriptor(Int32(clamping: Quantity.count(value, of: "--secret-fd", from: 0)))
            )
        },
        .value(
            "scope",
            "TEXT",
            .policy,
            "What the token of oauth2 is to allow",
            isCommon: false
        ) { $0.scopes += $1.parts(at: " ", omitsEmpty: true).map(String.init) },
        .value(
            "client-auth",
            "WAY",
            .policy,
            "How oauth2 sends the secret: basic or post",
            details: "By Basic authentication, or with client_secret_post in the form. A public client with a refresh "
                + "token has no secret: none.",
            isCommon: false,
            completion: .words(["basic", "post", "none"])
        ) { settings, value throws(CommandError) in
            guard let way = OAuth2Options.ClientAuthentication(rawValue: value) else {
                throw .usage("--client-auth: “\(value.asArgument)” is no way", advice: "Write basic, post or none.")
            }
            settings.oauth2.authentication = way
        },
        .value(
            "refresh-token-env",
            "NAME",
            .policy,
            "The variable with the refresh token of oauth2",
            details: "The grant is refresh_token instead of client_credentials. A token that the server puts in its "
                + "place is kept in the session of --session before it is used, and later calls of the session take it. "
                + "Without a session it is lost when the command ends, which says so.",
            isCommon: false
        ) { $0.oauth2.refreshTokenVariable = $1 },
        .value("audience", "URI", .policy, "What the token of oauth2 is for", isCommon: false) { settings, value in
            settings.oauth2.parameters.append((name: "audience", value: value))
        },
        .value(
            "token-param",
            "NAME=VALUE",
            .policy,
            "A further parameter of the token request",
            isCommon: false
        ) { settings, value throws(CommandError) in
            let name = value.utf8.prefix { $0 != UInt8(ascii: "=") }
            guard !name.isEmpty, name.count < value.utf8.count else {
                throw .usage(
                    "--token-param: no name and value",
                    advice: "Write it as resource=https://api.example.com."
                )
            }
            let rest = value.utf8.dropFirst(name.count + 1)
            settings.oauth2.parameters.append((name: String(Substring(name)), value: String(Substring(rest))))
        },
    ]

    private static let hostRows: [OptionRow<PolicySettings>] = [
        .value(
            "host",
            "NAME=A,B:PORT",
            .policy,
            "Where a host can be reached, the best first",
            details:
                "When one is dead, the next try goes to the next (with --retry). Name, certificate and credentials "
                + "stay those of the host, and stored responses (--cache) do not depend on it.",
            isCommon: false
        ) { settings, value throws(CommandError) in try settings.addHost(value) }
    ]

    /// The hook that decides about further tries in addition to the policy; nil without an option that needs it.
    ///
    /// It is the only hook of a call: the limit of time holds for everything that other options would send again.
    ///
    /// - Parameters:
    ///   - time: The source of the present time.
    ///   - start: The beginning of the call.
    ///   - delayLimit: The longest delay that a server may request.
    /// - Returns: The hook.
    func retryHook(_ time: any TimeSource, since start: Instant, delayLimit: Duration) -> RetryPolicy.Hook? {
        guard retryTime != nil || repeatsLikeCurl else { return nil }
        return RetryPolicy.Hook(shouldRetry: { [self] attempt, suggestion in
            guard repeatsLikeCurl ? isRepeatedByCurl(attempt, suggestion, delayLimit) : suggestion else { return false }
            guard let retryTime else { return true }
            let elapsed = start.duration(to: time.now)
            guard elapsed < retryTime else { return false }
            guard case .response(_, let requested?) = attempt.ending else { return true }
            return elapsed + max(attempt.delay, requested) <= retryTime
        })
    }

    /// Whether curl would retry: statuses that may pass, time-outs, and names that were not found.
    ///
    /// With `--retry-all-errors` it retries every failure; a status is a failure only with `--fail`.
    ///
    /// A delay that is longer than allowed is no failure: the response is the result then.
    private func isRepeatedByCurl(_ attempt: RetryPolicy.Attempt, _ suggestion: Bool, _ delayLimit: Duration) -> Bool {
        switch attempt.ending {
        case .response(let status, let requested):
            let isPassing = suggestion && ![413, 425].contains(status)
            guard isPassing || retriesAllErrors && failsByStatus else { return false }
            return requested.map { $0 <= delayLimit && $0 <= attempt.remaining ?? $0 } ?? true
        case .failure(let error):
            if retriesAllErrors { return true }
            return switch error.kind {
            case .timedOut, .nameNotResolved, .proxy(.nameNotResolved): suggestion
            case .cannotConnect(_, .refused): suggestion && repeatsRefused
            default: false
            }
        }
    }

    /// Checks rules that involve several options.
    func validate(_ request: RequestSettings, _ connection: ConnectionSettings) throws(CommandError) {
        if secretSource != nil, authorisation == nil {
            throw .usage(
                "a secret without --auth",
                advice: "Say what it is for: --auth basic:USER, bearer or oauth2:URL."
            )
        }
        if fleetSecret != nil, sharing == nil {
            throw .usage(
                "a password of a store without --share or --fleet",
                advice: "Say which store: --share redis://HOST/NAME."
            )
        }
        if sharesTokensInPlain, sharing == nil {
            throw .usage("--fleet-insecure without --share", advice: "Say which store: --share redis://HOST/NAME.")
        }
        if authorisation != nil, request.user != nil {
            throw .usage("both --auth and --user", advice: "Choose one of them.")
        }
        if !scopes.isEmpty {
            guard case .oauth2 = authorisation else {
                throw .usage("--scope without --auth oauth2:…", advice: "Other credentials have no scope.")
            }
        }
        if let option = oauth2.option {
            guard case .oauth2 = authorisation else {
                throw .usage("\(option) without --auth oauth2:…", advice: "Other credentials are not requested.")
            }
        }
        if oauth2.authentication == OAuth2Options.ClientAuthentication.none {
            guard oauth2.refreshTokenVariable != nil else {
                throw .usage("--client-auth none without --refresh-token-env", advice: "A client needs one of the two.")
            }
            guard secretSource == nil else {
                throw .usage("a secret with --client-auth none", advice: "Leave out one of them.")
            }
        }
        if !hosts.isEmpty, connection.destination != nil {
            throw .usage("--host with another destination", advice: "Leave out --connect-to or --unix-socket.")
        }
    }

    private mutating func setSecret(_ source: SecretSource) throws(CommandError) {
        guard secretSource == nil else {
            throw .usage("the secret comes from two places", advice: "Give --secret-env or --secret-fd, once.")
        }
        secretSource = source
    }

    private mutating func setFleetSecret(_ source: SecretSource) throws(CommandError) {
        guard fleetSecret == nil else {
            throw .usage(
                "the password of --share comes from two places",
                advice: "Give --fleet-secret-env or --fleet-secret-fd, once."
            )
        }
        fleetSecret = source
    }

    private mutating func addHost(_ text: String) throws(CommandError) {
        guard let (name, list) = text.cut(at: "="), !name.isEmpty else {
            throw .usage("--host: “\(text.asArgument)” names no host", advice: "Write it as NAME=ADDRESS,ADDRESS:PORT.")
        }
        var addresses: [HostDirectory.Address] = []
        for part in list.parts(at: ",") {
            let (host, port) = try Quantity.hostAndPort(String(part), of: "--host")
            addresses.append(HostDirectory.Address(host, port: port))
        }
        hosts[name.lowercased(), default: []] += addresses
    }
}

/// Further settings of `--auth oauth2`.
struct OAuth2Options: Sendable {
    /// How the client proves its identity.
    enum ClientAuthentication: String, Sendable {
        case basic
        case post
        case none
    }

    var authentication: ClientAuthentication?
    var refreshTokenVariable: String?
    var parameters: [(name: String, value: String)] = []

    /// An option that was given.
    var option: String? {
        if authentication != nil { return "--client-auth" }
        if refreshTokenVariable != nil { return "--refresh-token-env" }
        return parameters.isEmpty ? nil : parameters[0].name == "audience" ? "--audience" : "--token-param"
    }

    /// Copies the given values into the settings of an authoriser.
    ///
    /// - Returns: The settings with the refresh token that the user gave, in place of one that a session has kept since.
    func apply(
        to settings: inout Authorisation.OAuth2.Settings,
        _ secret: Secret?,
        hiding mask: SecretMask?,
        keeping keeper: RefreshTokenKeeper?
    ) throws(CommandError) -> Authorisation.OAuth2.Settings {
        switch authentication {
        case .post: settings.clientProof = secret.map { .form($0) } ?? .none
        case .basic, nil: settings.clientProof = secret.map { .basic($0) } ?? .none
        case ClientAuthentication.none?: settings.clientProof = .none
        }
        settings.parameters = parameters.map { (name: $0.name, value: Secret($0.value)) }
        guard let refreshTokenVariable else { return settings }
        let given = try Environment.value(named: refreshTokenVariable).flatMap { $0.isEmpty ? nil : Secret($0) }
        if let given { mask?.add([given]) }
        guard let token = keeper?.newest(of: settings, inPlaceOf: given) ?? given else {
            throw .usage(
                "--refresh-token-env: the variable \(refreshTokenVariable.asArgument) is not set",
                advice: "Set and export it."
            )
        }
        mask?.add([token])
        settings.grant = .refreshToken(token)
        var original = settings
        original.grant = .refreshToken(given ?? token)
        return original
    }
}

extension PolicySettings.AuthorisationChoice {
    /// Parses `basic:USER`, `bearer` or `oauth2:TOKENURL`.
    ///
    /// - Throws: A usage error without the parts that may be secret.
    init(argument text: String) throws(CommandError) {
        let parts = text.parts(at: ":", most: 2).map(String.init)
        let rest = parts.count > 1 ? parts[1] : ""
        let noSecrets = "Give it by --secret-env, --secret-fd, or on the terminal."
        switch parts[0] {
        case "basic" where !rest.isEmpty:
            guard !rest.has(":") else { throw .usage("--auth: a password is no argument", advice: noSecrets) }
            self = .basic(user: rest)
        case "bearer":
            guard rest.isEmpty else { throw .usage("--auth: a token is no argument", advice: noSecrets) }
            self = .bearer
        case "oauth2" where !rest.isEmpty:
            let address = Address(rest)
            guard let client = address.user, !client.isEmpty else {
                let advice = "Write the client before the host: oauth2:https://CLIENT@auth.example.com/token."
                throw .usage("--auth: the token endpoint gets no client", advice: advice)
            }
            guard !client.has(":") else {
                throw .usage("--auth: a client's secret is no argument", advice: noSecrets)
            }
            self = .oauth2(endpoint: address.text, client: client)
        default:
            throw .usage("--auth: there is no such kind", advice: "Write basic:USER, bearer or oauth2:TOKENURL.")
        }
    }
}

extension HedgingPolicy {
    /// Parses a length of time, or `p95`.
    init(argument text: String) throws(CommandError) {
        guard text.utf8.first == UInt8(ascii: "p") else {
            self = .delay(try Quantity.duration(text, of: "--hedge"))
            return
        }
        guard let percent = Whole.decimal(Substring(text.utf8.dropFirst())), percent > 0, percent < 100 else {
            throw .usage(
                "--hedge: “\(text.asArgument)” is no percentile",
                advice: "Write it as p95, or as a time: 200ms."
            )
        }
        self = .percentile(percent)
    }
}

extension RateLimits.Rate {
    /// Parses `10/s`, `600/m` or `10/s,5`.
    init(argument text: String) throws(CommandError) {
        let parts = text.parts(at: ",", most: 2).map(String.init)
        let units: [(String, Double)] = [("/s", 1), ("/m", 60), ("/h", 3_600), ("", 1)]
        let burst = parts.count > 1 ? Whole.count(parts[1]).flatMap { Int(exactly: $0) } : 1
        for (unit, seconds) in units where parts[0].ends(with: unit) {
            let digits = Substring(parts[0].unicodeScalars.dropLast(unit.utf8.count))
            guard let count = Whole.decimal(digits), (1e-6...1e9).contains(count / seconds), let burst,
                (1...1_000_000).contains(burst)
            else { break }
            self = .perSecond(count / seconds, burst: burst)
            return
        }
        throw .usage("--rate: “\(text.asArgument)” is no rate", advice: "Write it as 10/s, 600/m or 10/s,5.")
    }
}
