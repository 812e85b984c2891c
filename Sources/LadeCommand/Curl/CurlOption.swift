import Lade

/// An option of curl, and its meaning for `lade get`.
///
/// ``all`` is the one table of curl's options, by which `--from-curl` reads. The tests compare the output of `--curl` with it.
/// So every option of `lade get` either has a form in curl or a reason for having none.
struct CurlOption: Sendable {
    /// Changes the settings; a switch receives an empty text.
    typealias Apply = @Sendable (inout GetSettings, String) throws(CommandError) -> Void

    /// The meaning of an option for `lade get`.
    enum Meaning: Sendable {
        /// The option of `lade get` with this name.
        case option(String)
        /// It has no effect here: it asks for the normal behaviour, or changes only curl's messages.
        case ignored
        /// It sets something that no option of `lade get` sets in the same way.
        case special(Apply)
    }

    /// The name after two dashes.
    var name: String
    /// The letter after one dash.
    var letter: Character?
    /// Whether a value follows.
    var takesValue: Bool
    var meaning: Meaning

    /// The options that have a counterpart; every other is refused by its name.
    static let all: [CurlOption] = switches + values + ignoredOptions + olderVersionsOfTLS + specialOptions

    /// Switches that are refused, and that do nothing when they are taken back.
    static let unsupportedSwitches: Set<String> = [
        "http0.9", "ntlm", "negotiate", "proxy-ntlm", "proxy-negotiate", "tr-encoding", "raw", "ftp-pasv",
        "haproxy-protocol",
        "sasl-ir", "http3", "http3-only", "crlf", "ssl-reqd", "ssl", "false-start", "mptcp", "xattr", "styled-output",
    ]

    /// Whether `--no-NAME` undoes the option.
    ///
    /// It does not where the option is a choice among several, where curl knows no such negation, or where the negation
    /// does something else.
    var canBeTakenBack: Bool { !Self.withoutNegation.contains(name) }

    private static let withoutNegation: Set<String> = [
        "no-clobber", "clobber", "proxy-basic", "anyauth", "alpn", "http1.0", "http1.1", "http2",
        "http2-prior-knowledge",
        "ipv4", "ipv6", "tlsv1", "tlsv1.0", "tlsv1.1", "tlsv1.2", "tlsv1.3",
    ]

    /// Whether both are names of the same option.
    func isSame(as other: CurlOption) -> Bool {
        guard case .option(let name) = meaning, case .option(let otherName) = other.meaning else { return false }
        let pairs: [Set<String>] = [["include", "show-headers"]]
        return name == otherName || pairs.contains([name, otherName])
    }

    /// The options of `lade get` that no line of curl can have, with the reason.
    static let withoutForm: [String: String] = {
        var reasons: [String: String] = [:]
        let own = "curl has no such policy"
        let policies = [
            "rate", "share", "fleet-secret-env", "fleet-secret-fd", "fleet-insecure", "idle-timeout", "deadline",
            "max-wait",
            "retry-unsafe",
            "hedge", "host", "cross-origin-body",
        ]
        for name in policies { reasons[name] = own }
        for name in ["scope", "audience", "token-param", "client-auth", "refresh-token-env"] {
            reasons[name] = "curl asks for no token"
        }
        for name in ["auth", "secret-env", "secret-fd"] { reasons[name] = "a secret that is asked for is not printed" }
        for name in [
            "select", "raw-output", "color", "events", "show-secrets", "force", "ignore-status", "har", "har-secrets",
            "har-bodies",
        ] {
            reasons[name] = "it changes what lade writes, not what is sent"
        }
        for name in ["curl", "from-curl", "offline", "profile", "no-config", "config", "session"] {
            reasons[name] = "the printed line has what it stands for"
        }
        reasons["sha256"] = "curl compares no digest"
        for name in ["cache", "cache-mode", "cache-status", "no-cache"] { reasons[name] = "curl keeps no responses" }
        for name in ["netrc", "netrc-optional", "netrc-file"] { reasons[name] = "the printed line has the credentials" }
        for name in ["globoff", "next", "parallel", "parallel-max", "fail-early"] {
            reasons[name] = "each call is a line of its own"
        }
        return reasons
    }()

    private static func row(_ name: String, _ letter: Character?, _ value: Bool, _ meaning: Meaning) -> CurlOption {
        CurlOption(name: name, letter: letter, takesValue: value, meaning: meaning)
    }

    /// The meaning of `--no-remote-name` behind `--remote-name-all` for the next address.
    static let standardOutput = row(
        "no-remote-name",
        nil,
        false,
        .special { (settings, _) in
            settings.output.add(.standardOutput)
        }
    )

    private static let switches: [CurlOption] =
        ([
            ("get", "G"), ("head", "I"), ("location", "L"), ("insecure", "k"), ("include", "i"), ("show-headers", nil),
            ("fail", "f"), ("silent", "s"), ("show-error", "S"), ("verbose", "v"), ("netrc", "n"),
            ("netrc-optional", nil), ("remote-name", "O"), ("remote-name-all", nil), ("remote-header-name", "J"),
            ("remote-time", "R"), ("create-dirs", nil), ("fail-with-body", nil), ("location-trusted", nil),
            ("globoff", "g"), ("proxytunnel", "p"), ("ipv4", "4"), ("ipv6", "6"), ("http1.1", nil), ("http2", nil),
            ("http2-prior-knowledge", nil), ("compressed", nil), ("digest", nil), ("anyauth", nil), ("basic", nil),
            ("parallel", "Z"), ("fail-early", nil), ("path-as-is", nil), ("junk-session-cookies", "j"),
            ("proxy-digest", nil), ("proxy-anyauth", nil),
        ] as [(String, Character?)]).map { row($0, $1, false, .option($0)) }

    private static let values: [CurlOption] =
        ([
            ("request", "X", nil), ("header", "H", nil), ("data", "d", nil), ("data-ascii", nil, nil),
            ("data-raw", nil, nil), ("data-binary", nil, nil), ("data-urlencode", nil, nil), ("url-query", nil, nil),
            ("json", nil, nil), ("form", "F", "form-part"), ("form-string", nil, nil), ("upload-file", "T", nil),
            ("user", "u", nil), ("user-agent", "A", nil), ("cookie", "b", nil), ("cookie-jar", "c", nil),
            ("netrc-file", nil, nil), ("output", "o", nil), ("output-dir", nil, nil), ("dump-header", "D", nil),
            ("write-out", "w", nil), ("max-time", "m", nil), ("connect-timeout", nil, nil),
            ("max-redirs", nil, "max-redirects"), ("max-filesize", nil, "max-size"), ("limit-rate", nil, nil),
            ("retry", nil, nil), ("retry-delay", nil, nil), ("retry-max-time", nil, nil), ("proxy", "x", nil),
            ("proxy-user", "U", nil),
            ("noproxy", nil, nil), ("cacert", nil, nil), ("cert", "E", nil), ("key", nil, nil),
            ("unix-socket", nil, nil), ("range", "r", nil), ("time-cond", "z", nil),
            ("etag-save", nil, nil), ("etag-compare", nil, nil), ("oauth2-bearer", nil, nil),
            ("parallel-max", nil, nil), ("proxy-header", nil, nil),
        ] as [(String, Character?, String?)]).map { row($0, $1, true, .option($2 ?? $0)) }

    /// TLS 1.2 is the oldest version anyway; the last of these options counts.
    private static let olderVersionsOfTLS: [CurlOption] =
        ([("tlsv1", "1"), ("tlsv1.0", nil), ("tlsv1.1", nil), ("tlsv1.2", nil)] as [(String, Character?)])
        .map { row($0, $1, false, .special { (settings, _) in settings.connection.needsTLS13 = false }) }

    private static let ignoredOptions: [CurlOption] =
        ([
            ("no-progress-meter", nil), ("progress-meter", nil), ("progress-bar", "#"), ("buffer", nil),
            ("no-buffer", "N"), ("tcp-nodelay", nil), ("keepalive", nil), ("no-keepalive", nil), ("styled-output", nil),
            ("compressed-ssh", nil), ("sessionid", nil), ("no-sessionid", nil), ("alpn", nil),
            ("npn", nil), ("no-npn", nil), ("metalink", nil), ("trace-time", nil), ("trace-ids", nil),
            ("disable", "q"), ("parallel-immediate", nil), ("tcp-fastopen", nil), ("ca-native", nil),
            ("proxy-ca-native", nil), ("proxy-basic", nil),
        ] as [(String, Character?)]).map { row($0, $1, false, .ignored) }
        + ["keepalive-time", "expect100-timeout", "happy-eyeballs-timeout-ms", "trace-config"]
        .map { row($0, nil, true, .ignored) }

    private static let specialOptions: [CurlOption] = [
        row(
            "url",
            nil,
            true,
            .special { (settings, value) throws(CommandError) in
                guard let path = value.behind("@") else { return try settings.addCurlAddress(value) }
                for line in try ArgumentFile.lines(String(path), of: "--url") {
                    let address = line.trimmedOfSpace
                    guard !address.isEmpty, !address.begins(with: "#") else { continue }
                    settings.request.listedAddresses.insert(settings.request.addressCount)
                    try settings.addCurlAddress(String(address))
                }
            }
        ),
        row(
            "continue-at",
            "C",
            true,
            .special { (settings, value) throws(CommandError) in
                guard value != "-" else {
                    settings.output.continuesFile = true
                    return
                }
                guard let byte = Whole.count(value), byte < .max else {
                    throw CurlReader.wrong("--continue-at is neither a dash nor a number of bytes")
                }
                settings.request.firstByte = Int64(byte)
            }
        ),
        row(
            "connect-to",
            nil,
            true,
            .special { (settings, value) throws(CommandError) in
                if let target = try ConnectTarget(curlValue: value) {
                    settings.connection.connectTargets.append(target)
                }
            }
        ),
        row("remove-on-error", nil, false, .special { (settings, _) in settings.output.removesOnError = true }),
        row("retry-connrefused", nil, false, .special { (settings, _) in settings.policy.repeatsRefused = true }),
        row(
            "resolve",
            nil,
            true,
            .special { (settings, value) throws(CommandError) in try settings.connection.addCurlResolved(value) }
        ),
        row("out-null", nil, false, .special { (settings, _) in settings.output.add(.file("/dev/null")) }),
        row("post301", nil, false, .special { (settings, _) in settings.policy.keepsPost.insert(301) }),
        row("post302", nil, false, .special { (settings, _) in settings.policy.keepsPost.insert(302) }),
        row("post303", nil, false, .special { (settings, _) in settings.policy.keepsPost.insert(303) }),
        row("retry-all-errors", nil, false, .special { (settings, _) in settings.policy.retriesAllErrors = true }),
        row("skip-existing", nil, false, .special { (settings, _) in settings.output.skipsExisting = true }),
        row(
            "suppress-connect-headers",
            nil,
            false,
            .special { (settings, _) in settings.output.hidesTunnelHeads = true }
        ),
        row("http1.0", "0", false, .special { (settings, _) in settings.connection.isHTTP1_0 = true }),
        row(
            "proxy1.0",
            nil,
            true,
            .special { (settings, value) throws(CommandError) in
                settings.connection.proxy = try TransportSettings.ProxyChoice.Proxy(argument: value, isForCurl: true)
                settings.connection.asksProxyByHTTP1_0 = true
            }
        ),
        row("request-target", nil, true, .special { (settings, value) in settings.request.target = value }),
        row("follow", nil, false, .special { (settings, _) in settings.policy.followsByRules = true }),
        row("no-clobber", nil, false, .special { (settings, _) in settings.output.keepsExisting = true }),
        row("clobber", nil, false, .special { (settings, _) in settings.output.keepsExisting = false }),
        row("tlsv1.3", nil, false, .special { (settings, _) in settings.connection.needsTLS13 = true }),
        row(
            "referer",
            "e",
            true,
            .special { (settings, value) throws(CommandError) in
                let (first, isAuto) =
                    value.ends(with: ";auto") ? (value.utf8.dropLast(5), true) : (value.utf8[...], false)
                settings.request.referer = isAuto && first.isEmpty ? nil : String(Substring(first))
                settings.policy.setsReferer = isAuto
            }
        ),
        row(
            "proto",
            nil,
            true,
            .special { (settings, value) throws(CommandError) in
                let names = value.utf8.drop { $0 == UInt8(ascii: "=") }.split(separator: UInt8(ascii: ","))
                    .map { String(decoding: $0, as: UTF8.self) }
                guard value.utf8.first == UInt8(ascii: "="), !names.isEmpty, Set(names).isSubset(of: ["http", "https"])
                else { throw CurlReader.wrong("only “--proto =https” and “=http,https” are known") }
                settings.allowedSchemes = Set(names)
            }
        ),
        row(
            "proto-redir",
            nil,
            true,
            .special { (settings, value) throws(CommandError) in
                guard ["=https", "=http,https", "=https,http"].contains(value) else {
                    throw CurlReader.wrong("only “--proto-redir =https” and “=http,https” are known")
                }
                // A redirect never leads from https to http, so a call that begins with https stays there.
                if value == "=https" { settings.allowedSchemes = ["https"] }
            }
        ),
        row(
            "proto-default",
            nil,
            true,
            .special { (settings, value) throws(CommandError) in
                guard ["http", "https"].contains(value) else {
                    throw CurlReader.unknown("--proto-default \(value.asArgument)")
                }
                settings.defaultScheme = value
            }
        ),
        row(
            "socks5-hostname",
            nil,
            true,
            .special { (settings, value) throws(CommandError) in
                settings.connection.proxy = try TransportSettings.ProxyChoice.Proxy(argument: "socks5h://" + value)
            }
        ),
        row(
            "socks5",
            nil,
            true,
            .special { (settings, value) throws(CommandError) in
                settings.connection.proxy = try TransportSettings.ProxyChoice.Proxy(
                    argument: "socks5://" + value,
                    isForCurl: true
                )
            }
        ),
        row(
            "pinnedpubkey",
            nil,
            true,
            .special { (settings, value) throws(CommandError) in
                let pins = value.utf8.split(separator: UInt8(ascii: ";")).map { String(decoding: $0, as: UTF8.self) }
                guard !pins.isEmpty, pins.allSatisfy({ $0.utf8.starts(with: "sha256//".utf8) }) else {
                    throw CurlReader.wrong("only “--pinnedpubkey sha256//…” is known")
                }
                // curl demands them of the hosts of redirects too.
                settings.connection.pins = pins.map { pin in
                    let hash = String(decoding: pin.utf8.dropFirst("sha256//".utf8.count), as: UTF8.self)
                    return .init(pattern: ConnectionSettings.Pin.everyHost, hash: hash)
                }
            }
        ),
        row(
            "cert-type",
            nil,
            true,
            .special { (_, value) throws(CommandError) in
                guard value.lowercased() == "pem" else { throw CurlReader.unknown("--cert-type other than PEM") }
            }
        ),
        row(
            "key-type",
            nil,
            true,
            .special { (_, value) throws(CommandError) in
                guard value.lowercased() == "pem" else { throw CurlReader.unknown("--key-type other than PEM") }
            }
        ),
    ]
}
