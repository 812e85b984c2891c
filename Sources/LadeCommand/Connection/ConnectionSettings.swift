#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// How to reach the server: time-outs, proxy, trust and HTTP versions.
///
/// Every command that makes requests has these options.
struct ConnectionSettings: Sendable {
    /// A public key that a host must present.
    struct Pin: Equatable, Sendable {
        var pattern: String
        var hash: String

        /// The pattern of pins that every host must present.
        static let everyHost = "*"
    }

    var timeouts = Request.Timeouts()
    var destination: Request.Destination?
    /// Where to connect instead, by host and port of the address; the first that fits counts.
    var connectTargets: [ConnectTarget] = []
    var version = Request.VersionPreference.automatic
    var proxy: TransportSettings.ProxyChoice.Proxy?
    var isDirect = false
    /// The hosts that no proxy is used for; nil for the hosts of `no_proxy`.
    var proxyExceptions: [String]?
    /// The user and the password for the proxy, as `--proxy-user` writes them.
    var proxyUser: String?
    var tunnels = false
    /// How the password for the proxy is proved.
    var proxyScheme = UserCredentials.Scheme.basic
    /// The fields for the proxy alone.
    var proxyHeaders: [HeaderEdit] = []
    /// Whether requests name HTTP/1.0, and requests for a tunnel too.
    var isHTTP1_0 = false
    var asksProxyByHTTP1_0 = false
    var addressFamily: TransportSettings.AddressFamily?
    /// Addresses of hosts that need no look-up, by `HOST:PORT`; `*` is every host.
    var resolved: [String: [HostDirectory.Address]] = [:]
    var authorityFile: String?
    var certificateFile: String?
    var keyFile: String?
    var pins: [Pin] = []
    var isInsecure = false
    var needsTLS13 = false
    var decodesContent = true

    /// The options that set these values.
    static let rows: [OptionRow<ConnectionSettings>] = [
        .duration("max-time", letter: "m", .connection, "How long it may take as a whole: 30s, 500ms, 2m") {
            $0.timeouts.whole = $1
        },
        .duration("connect-timeout", .connection, "How long connecting may take, TLS included (10s)", isCommon: false) {
            $0.timeouts.connect = $1
        },
        .duration("idle-timeout", .connection, "How long nothing at all may move (30s)", isCommon: false) {
            $0.timeouts.idle = $1
        },
        .value(
            "proxy",
            letter: "x",
            "URL",
            .connection,
            "Go through a proxy: http://... or socks5://...",
            details: "A user and a password for the proxy stand before the host. An empty address means no proxy, "
                + "whatever the environment says."
        ) { settings, value throws(CommandError) in
            settings.isDirect = value.isEmpty
            settings.proxy = value.isEmpty ? nil : try TransportSettings.ProxyChoice.Proxy(argument: value)
        },
        .value(
            "noproxy",
            "HOST,...",
            .connection,
            "Hosts that --proxy is not for; * for all",
            isCommon: false
        ) { settings, value in
            settings.proxyExceptions = ProxyExceptions.list(value)
        },
        .value(
            "proxy-user",
            letter: "U",
            "USER:PW",
            .connection,
            "User and password for the proxy",
            details: "A password given here can be seen by other users of the machine; without it, it is read from the "
                + "terminal.",
            isCommon: false
        ) { $0.proxyUser = $1 },
        .flag("proxy-digest", .connection, "Prove its password by a digest", isCommon: false) {
            $0.proxyScheme = .digest
        },
        .flag("proxy-anyauth", .connection, "The same in the safest way offered", isCommon: false) {
            $0.proxyScheme = .best
        },
        .value("proxy-header", "LINE", .connection, "A header for the proxy", isCommon: false) {
            settings,
            value throws(CommandError) in settings.proxyHeaders.append(try HeaderEdit(line: value))
        },
        .flag("proxytunnel", letter: "p", .connection, "Ask the proxy for a tunnel, also for http", isCommon: false) {
            $0.tunnels = true
        },
        .value(
            "resolve",
            "HOST:PORT:IP",
            .connection,
            "Where a host is, without a look-up",
            details:
                "Several addresses are separated by commas. It is for the port of the request, and not for hosts that "
                + "a proxy looks up. Stored responses (--cache) do not depend on it.",
            isCommon: false
        ) { settings, value throws(CommandError) in try settings.addResolved(value) },
        .flag("ipv4", letter: "4", .connection, "Connect by IPv4 only", isCommon: false) { $0.addressFamily = .v4 },
        .flag("ipv6", letter: "6", .connection, "Connect by IPv6 only", isCommon: false) { $0.addressFamily = .v6 },
        .value(
            "cacert",
            "FILE",
            .connection,
            "Trust these authorities instead of the system's",
            completion: .files
        ) { $0.authorityFile = $1 },
        .value(
            "cert",
            letter: "E",
            "FILE",
            .connection,
            "The client certificate, as PEM",
            isCommon: false,
            completion: .files
        ) { $0.certificateFile = $1 },
        .value(
            "key",
            "FILE",
            .connection,
            "The key of the client certificate, as PEM",
            isCommon: false,
            completion: .files
        ) { $0.keyFile = $1 },
        .value(
            "pin",
            "HOST=sha256/...",
            .connection,
            "A key the host must have; a second is a backup",
            details: "The base64 form of the SHA-256 of the public key (SubjectPublicKeyInfo). The host is a name or "
                + "*.name for every host one label below it.",
            isCommon: false
        ) { settings, value throws(CommandError) in settings.pins.append(try Pin(argument: value)) },
        .flag("insecure", letter: "k", .connection, "Accept every certificate: others can read along") {
            $0.isInsecure = true
        },
        .value(
            "unix-socket",
            "PATH",
            .connection,
            "Connect to a Unix-domain socket",
            isCommon: false,
            completion: .files
        ) { $0.destination = .unixSocket(path: $1) },
        .value(
            "connect-to",
            "HOST[:PORT]",
            .connection,
            "Dial another host than the address names",
            details: "The name in the address stays the one for the Host header and the certificate.",
            isCommon: false
        ) { settings, value throws(CommandError) in
            let (host, port) = try Quantity.hostAndPort(value, of: "--connect-to")
            settings.destination = .host(host, port: port)
        },
        .flag("http2", .connection, "HTTP/2 where TLS negotiates it (the default)", isCommon: false) {
            $0.version = .automatic
        },
        .flag("http1.1", .connection, "HTTP/1.1 only", isCommon: false) { $0.version = .http1_1 },
        .flag(
            "http2-prior-knowledge",
            .connection,
            "HTTP/2 without negotiation",
            isCommon: false
        ) { $0.version = .http2PriorKnowledge },
        .flag(
            "compressed",
            .connection,
            "Ask for compression and decode it (the default)",
            isCommon: false
        ) { $0.decodesContent = true },
        .flag(
            "raw",
            .connection,
            "Do not ask for compression, nor decode it",
            isCommon: false
        ) { $0.decodesContent = false },
    ]

    /// Checks rules that involve several options.
    func validate() throws(CommandError) {
        if keyFile != nil, certificateFile == nil {
            throw .usage("--key without --cert", advice: "Give the certificate that the key belongs to.")
        }
        if proxy == nil, proxyUser != nil || tunnels {
            throw .usage(
                "\(tunnels ? "--proxytunnel" : "--proxy-user") without --proxy",
                advice: "Name the proxy with -x; a user of a proxy of the environment stands in its variable."
            )
        }
        for case .set(let name, let value) in proxyHeaders {
            try CommandError.translating { () throws(LoadingError) in
                var request = try Request("http://localhost/")
                request.headers.add(name, value)
                try request.validate()
            }
        }
        do throws(LoadingError) {
            _ = try ProxyExceptions(proxyExceptions ?? [])
        } catch {
            throw .usage(
                "--noproxy: an entry is no host",
                advice: "Write names, *.names, addresses, networks such as 192.0.2.0/24, or *."
            )
        }
    }

    /// Adds or removes addresses as curl does: behind a dash the entry is removed, and a star is every host.
    mutating func addCurlResolved(_ text: String) throws(CommandError) {
        if let entry = text.behind("-") {
            resolved[entry.lowercased()] = nil
        } else if let rest = text.behind("*:") {
            var other = ConnectionSettings()
            try other.addResolved("x:" + rest)
            for (key, addresses) in other.resolved { resolved["*" + key.dropFirst()] = addresses }
        } else {
            try addResolved(text)
        }
    }

    private mutating func addResolved(_ text: String) throws(CommandError) {
        let parts = text.utf8.drop { $0 == UInt8(ascii: "+") }
            .split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 3, let port = Int(parts[1]), (1...65_535).contains(port), !parts[0].isEmpty,
            parts[0] != "*", !parts[2].isEmpty
        else {
            throw .usage(
                "--resolve: “\(text.asArgument)” is no address of a host",
                advice: "Write it as HOST:PORT:ADDRESS, such as example.com:443:127.0.0.1."
            )
        }
        let name = "\(parts[0].lowercased()):\(port)"
        resolved[name] = parts[2].parts(at: ",", omitsEmpty: true).map { HostDirectory.Address(String($0)) }
    }

    /// The addresses that need no look-up, for the port of a request; none where a proxy looks up the host.
    func resolvedHosts(for url: URL) -> [String: [HostDirectory.Address]] {
        guard let origin = Origin(url), !isLookedUpByProxy(origin) else { return [:] }
        let port = origin.port
        let ending = ":\(port)"
        var hosts: [String: [HostDirectory.Address]] = [:]
        if let all = resolved["*" + ending], let host = url.host(percentEncoded: false) {
            hosts[host.lowercased()] = all
        }
        for (key, addresses) in resolved where key.hasSuffix(ending) && !key.hasPrefix("*") {
            hosts[String(key.dropLast(ending.count))] = addresses
        }
        return hosts
    }

    private func isLookedUpByProxy(_ origin: Origin) -> Bool {
        guard let proxy, proxy.kind == .http || proxy.resolvesNames else { return false }
        // Malformed exceptions were refused before.
        let exceptions = try? ProxyExceptions(proxyExceptions ?? Self.environmentExceptions)
        return exceptions?.covers(origin.host, port: Int(origin.port)) != true
    }

    /// The known facts about the proxy for an address; nil without a proxy.
    func proxyFact(for url: URL) -> ProxyFact? {
        if let proxy {
            return ProxyFact(
                hasCredentials: proxyUser != nil || proxy.credentials != nil,
                isSOCKS: proxy.kind == .socks5
            )
        }
        guard let origin = Origin(url) else { return nil }
        // Malformed exceptions were refused before.
        let exceptions = proxyExceptions.flatMap { try? ProxyExceptions($0) }
        let variables = EnvironmentProxies(ProcessInfo.processInfo.environment, exceptions: exceptions)
        guard
            let found = variables.proxy(
                isSecure: origin.isSecure,
                host: origin.host,
                port: Int(origin.port)
            )
        else { return nil }
        let address = found.address.reveal()
        let authority = (address.cut(at: "://")?.after ?? address[...]).halves { $0 == "/" }.text
        return ProxyFact(
            hasCredentials: authority.has("@"),
            isSOCKS: address.asciiLowercased.begins(with: "socks"),
            variable: found.variable
        )
    }

    /// Applies the settings that belong to a request.
    func apply(to request: inout Request) {
        request.timeouts = timeouts
        request.destination = destination ?? ConnectTarget.destination(of: request.url, among: connectTargets)
        request.version = isHTTP1_0 ? .http1_1 : version
        var form = request.headForm
        (form.isHTTP1_0, form.asksProxyByHTTP1_0) = (isHTTP1_0, asksProxyByHTTP1_0)
        for case .set(let name, let value) in proxyHeaders { form.proxyFields.add(name, value) }
        if form != HeadForm() { request.headForm = form }
    }

    /// The proxy's user and password, which an interceptor proves when the proxy asks; nil where they are sent at once.
    var challengedProxyCredentials: UserCredentials? {
        guard proxyScheme != .basic, let proxy, proxy.kind == .http else { return nil }
        if let proxyUser { return UserCredentials(proxyScheme, pair: proxyUser) }
        return proxy.credentials.map { UserCredentials(proxyScheme, pair: "\($0.user):\($0.password.reveal())") }
    }

    /// Asks for the password of `--proxy-user` where the user alone is given.
    ///
    /// - Throws: A usage error when the user enters no password; then nothing is sent.
    mutating func completeProxyUser(askingBy prompt: PasswordPrompt) async throws(CommandError) {
        guard let user = proxyUser, !user.has(":"), let proxy else { return }
        let question = "Password of \(user) at the proxy \(proxy.host): ".escapedForDisplay()
        let password = try await prompt.ask(question, otherwise: "Give it as -U USER:PASSWORD.")
        proxyUser = "\(user):\(password.reveal())"
    }

    /// The entries of `no_proxy`, which count for `--proxy` too, as with curl; those that are not understood count for nothing.
    private static var environmentExceptions: [String] {
        let text =
            [Environment.Variable.noProxy, .noProxyInCapitals].lazy.compactMap(Environment.value)
            .first { !$0.isEmpty } ?? ""
        return ProxyExceptions.list(text).filter { entry in
            ProxyExceptions.reading(entry).ignored.isEmpty
        }
    }

    /// The settings for the transport.
    ///
    /// - Throws: A usage error for a malformed pin.
    func transportSettings() throws(CommandError) -> TransportSettings {
        var settings = TransportSettings()
        settings.decodesContent = decodesContent
        settings.addressFamily = addressFamily
        if var proxy {
            let known = ["\(proxy.host.lowercased()):\(proxy.port)", "*:\(proxy.port)"].lazy.compactMap {
                resolved[$0]?.first
            }
            if let address = known.first { proxy.host = address.host }
            proxy.exceptions = proxyExceptions ?? Self.environmentExceptions
            proxy.tunnels = tunnels
            if let proxyUser {
                let user = UserCredentials(.basic, pair: proxyUser)
                proxy.credentials = .init(user: user.user, password: user.password)
            }
            if challengedProxyCredentials != nil { proxy.credentials = nil }
            settings.proxy = .proxy(proxy)
        } else if isDirect || proxyExceptions == ["*"] {
            settings.proxy = .direct
        } else {
            settings.environmentExceptions = proxyExceptions
        }
        if let authorityFile {
            settings.tls.authorities = [.file(authorityFile)]
            settings.tls.trustsSystemAuthorities = false
        }
        if let certificateFile {
            settings.tls.clientIdentity = .init(certificateFile: certificateFile, keyFile: keyFile)
        }
        if needsTLS13 { settings.tls.minimumVersion = .tls1_3 }
        if isInsecure { settings.tls.verification = .unsafelyAcceptEveryCertificate }
        settings.tls.pins = try pinSet()
        return settings
    }

    /// The pins of all hosts.
    ///
    /// - Throws: A usage error for a malformed pin.
    func pinSet() throws(CommandError) -> TransportSettings.TLS.PinSet {
        var set = TransportSettings.TLS.PinSet()
        for pattern in Set(pins.map(\.pattern)) {
            let hashes = pins.filter { $0.pattern == pattern }.map(\.hash)
            do throws(LoadingError) {
                if pattern == Pin.everyHost { try set.pinEveryHost(hashes) } else { try set.pin(hashes, for: pattern) }
            } catch {
                throw CommandError(error)
            }
        }
        return set
    }
}

extension ConnectionSettings.Pin {
    /// Reads `HOST=sha256/HASH`.
    init(argument text: String) throws(CommandError) {
        guard let (name, pin) = text.cut(at: "="), !name.isEmpty else {
            throw .usage("--pin: “\(text.asArgument)” names no host", advice: "Write it as HOST=sha256/BASE64.")
        }
        pattern = name.lowercased()
        hash = String(pin)
    }
}

extension TransportSettings.ProxyChoice.Proxy {
    /// Reads `[http|socks5://][USER:PASSWORD@]HOST[:PORT]`; the default port is 1080.
    ///
    /// - Throws: A usage error, which does not show the password.
    ///
    /// - Parameters:
    ///   - text: The address.
    ///   - isForCurl: Whether `socks5` means, as with curl, that this machine looks up names.
    init(argument text: String, isForCurl: Bool = false) throws(CommandError) {
        let (scheme, address) = text.cut(at: "://").map { ($0.before, $0.after) } ?? ("", text[...])
        let kind: Kind
        switch scheme.lowercased() {
        case "", "http": kind = .http
        case "socks5", "socks5h": kind = .socks5
        case let scheme: throw .usage("--proxy: no proxy speaks “\(scheme)”", advice: "Write http://… or socks5://….")
        }
        var rest = address.halves { $0 == "/" }.text
        var credentials: Credentials?
        if let (user, host) = rest.cut(atLast: "@") {
            let parts = user.parts(at: ":", most: 2)
                .compactMap { String(validating: $0.percentDecodedBytes, as: UTF8.self) }
            guard parts.count == user.parts(at: ":", most: 2).count else {
                throw .usage("--proxy: the user is no text in UTF-8", advice: "Write the escapes of its UTF-8.")
            }
            credentials = Credentials(user: parts[0], password: Secret(parts.count > 1 ? parts[1] : ""))
            rest = host
        }
        let (host, port) = try Quantity.hostAndPort(String(rest), of: "--proxy")
        self.init(kind, host: host, port: port ?? 1_080, credentials: credentials)
        resolvesNames = !(isForCurl && scheme.lowercased() == "socks5")
    }
}
