#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CCurl
import LadeCore
import LadeExchange

extension EasyHandle {
    /// The description of one exchange for libcurl, except for its callbacks.
    struct Plan {
        var exchange: Exchange
        /// The number of body bytes; nil for chunked, 0 for an empty body or none.
        var bodyLength: Int64?
        var hasBody: Bool
        /// Whether the exchange must use a new connection.
        var isFresh: Bool
        /// Whether the exchange waits for a pending connection that it may be able to share.
        var awaitsSharing: Bool

        var request: Request { exchange.request }

        /// Whether the exchange may ask a proxy for a tunnel.
        func mayTunnel(_ proxy: TransportSettings.ProxyChoice) -> Bool {
            switch proxy {
            case .direct: false
            case .environment: exchange.isSecure
            case .proxy(let proxy): exchange.isSecure || proxy.tunnels
            }
        }

        /// The setup of the exchange; nil when it cannot serve another exchange.
        var setup: Setup? {
            let request = exchange.request
            guard request.method == .get, !hasBody, bodyLength == nil, !isFresh, exchange.heads == nil else {
                return nil
            }
            return Setup(
                host: exchange.hostIdentity,
                version: request.version,
                isStreamed: exchange.isStreamed,
                connectsPatiently: exchange.connectsPatiently,
                awaitsSharing: awaitsSharing
            )
        }
    }

    /// The inputs of a plain GET's options, except for address and headers.
    ///
    /// Whether content codings are decoded follows from the headers.
    struct Setup: Equatable {
        /// The identity of the host in the admission: of the address and the destination, or of a socket.
        var host: Int
        var version: Request.VersionPreference
        /// A stream gets a connection of its own, see ``CurlLoop``.
        var isStreamed: Bool
        /// Whether connecting may take as long as libcurl's own connect time-out, or longer.
        var connectsPatiently: Bool
        /// Whether the exchange waits for a pending connection.
        var awaitsSharing: Bool
    }

    /// Sets the options of an exchange, and only the changed ones when the last exchange had the same setup.
    func prepare(_ plan: Plan, _ handleSettings: HandleSettings) {
        defer { if plan.mayTunnel(handleSettings.settings.proxy) { watchTunnel() } }
        let setup = plan.setup
        if let setup, setup == self.setup {
            stopWatching(for: watches)
            set(address: plan.exchange.address)
            if !plan.request.headers.areSpelled(like: headers) { setHeaders(plan) }
            return
        }
        reset()
        configure(plan, handleSettings)
        setCallbacks()
        if plan.exchange.hasBody, let body = plan.request.body { setBodyCallbacks(body) }
        self.setup = setup
    }

    /// Sets all options of an exchange after a reset, except for the callbacks.
    private func configure(_ plan: Plan, _ handleSettings: HandleSettings) {
        let settings = handleSettings.settings
        set(address: plan.exchange.address)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_NOSIGNAL, true)
        set(CURLOPT_PATH_AS_IS, true)
        let highWater = plan.exchange.isStreamed ? settings.limits.streamHighWater : nil
        set(CURLOPT_BUFFERSIZE, Self.readSize(highWater: highWater))
        // A cancelled name look-up must not block the loop until the resolver's thread ends.
        set(CURLOPT_QUICK_EXIT, true)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, plan.exchange.heads == nil)
        // ``ChunkParser`` parses the chunks; libcurl still finds their end.
        set(CURLOPT_HTTP_TRANSFER_DECODING, false)
        set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        // The loop implements all time-outs. libcurl's connect time-out (300 s) is raised only where it could expire
        // first, because setting it costs a timer for each exchange.
        if plan.exchange.connectsPatiently { set(CURLOPT_CONNECTTIMEOUT, 86_400) }
        set(CURLOPT_MAXAGE_CONN, max(1, Int(settings.connections.idleLife.wholeNanoseconds / 1_000_000_000)))
        set(CURLOPT_TCP_KEEPALIVE, true)
        switch settings.addressFamily {
        case .v4: set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .v6: set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        case nil: break
        }
        if plan.isFresh { set(CURLOPT_FRESH_CONNECT, true) }
        // libcurl would use the connection for requests that may use HTTP/2.
        if plan.exchange.isDowngraded { set(CURLOPT_FORBID_REUSE, true) }
        // ``ContentDecoder`` decodes content codings: libcurl does not detect a coded stream without an end.
        set(CURLOPT_HTTP_CONTENT_DECODING, false)
        setVersion(plan)
        setMethodAndBody(plan)
        setHeaders(plan)
        setDestination(plan)
        setProxy(plan, handleSettings)
        if plan.exchange.isSecure { setTLS(plan, handleSettings) }
    }

    /// The size of libcurl's read buffer in bytes, given the high-water mark of a stream; nil for a buffered response.
    ///
    /// libcurl keeps the rest of a read while a stream is paused, so a read is no larger than the high-water mark. Up to
    /// the largest size that libcurl accepts, larger reads mean fewer reads, and fewer window updates to the peer. The
    /// buffer of other exchanges stays below the size at which the C library trims its heap on each release.
    static func readSize(highWater: Int?) -> Int {
        guard let highWater else { return 60 << 10 }
        return max(16 << 10, min(highWater, 512 << 10))
    }

    private func setVersion(_ plan: Plan) {
        switch plan.exchange.isDowngraded ? .http1_1 : plan.request.version {
        case .automatic: set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        case .http1_1: set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        case .http2PriorKnowledge: set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE))
        }
        if plan.awaitsSharing { set(CURLOPT_PIPEWAIT, true) }
    }

    private func setMethodAndBody(_ plan: Plan) {
        let method = plan.request.method
        if plan.hasBody {
            set(CURLOPT_UPLOAD, true)
            set(offset: CURLOPT_INFILESIZE_LARGE, plan.bodyLength ?? -1)
            if (plan.bodyLength ?? .max) > 256 << 10 { set(CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10) }
            if method != .put { set(CURLOPT_CUSTOMREQUEST, method.rawValue) }
        } else if method == .head {
            set(CURLOPT_NOBODY, true)
        } else if method != .get {
            set(CURLOPT_CUSTOMREQUEST, method.rawValue)
        }
    }

    private func setHeaders(_ plan: Plan) {
        let request = plan.request
        var lines: [String] = []
        var octetLines: [[UInt8]] = []
        for field in request.headers where !field.name.equalsIgnoringASCIICase("Content-Length") {
            if let octets = field.unusualOctets {
                octetLines.append(Array("\(field.name): ".utf8) + octets)
                continue
            }
            // libcurl's syntax for a field with an empty value.
            lines.append(field.value.isEmpty ? field.name + ";" : field.name + ": " + field.value)
        }
        if plan.hasBody {
            if !request.headers.contains("Expect") { lines.append("Expect:") }
        } else if plan.bodyLength == 0 {
            lines.append("Content-Length: 0")
        }
        if plan.exchange.hasBody, let contentType = request.body?.contentType, !request.headers.contains("Content-Type")
        {
            lines.append("Content-Type: " + contentType)
        }
        if plan.exchange.isDecoding { lines.append(Self.acceptEncoding) }
        if request.omitsAccept, !request.headers.contains("Accept") { lines.append("Accept:") }
        headers = request.headers
        set(list: CURLOPT_HTTPHEADER, lines, octets: octetLines)
    }

    private static let acceptEncoding =
        "Accept-Encoding: " + ContentCoding.allCases.map(\.rawValue).joined(separator: ", ")

    private func setDestination(_ plan: Plan) {
        switch plan.request.destination {
        case nil: break
        case .host(let host, let port):
            let literal = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
            set(list: CURLOPT_CONNECT_TO, ["::\(literal):\(port.map(String.init) ?? "")"])
        case .unixSocket(let path):
            set(CURLOPT_UNIX_SOCKET_PATH, path)
        }
    }

    /// Which hosts are excepted is decided here, and libcurl's own reading of exceptions, which knows other forms, is off.
    private func setProxy(_ plan: Plan, _ handleSettings: HandleSettings) {
        if let proxy = plan.exchange.proxy(of: handleSettings) {
            let scheme = proxy.kind == .http ? "http" : "socks5h"
            let host = proxy.host.contains(":") && !proxy.host.hasPrefix("[") ? "[\(proxy.host)]" : proxy.host
            set(CURLOPT_PROXY, "\(scheme)://\(host):\(proxy.port)")
            set(CURLOPT_NOPROXY, "")
            if proxy.tunnels { set(CURLOPT_HTTPPROXYTUNNEL, true) }
            if let credentials = proxy.credentials {
                set(CURLOPT_PROXYUSERNAME, credentials.user)
                set(CURLOPT_PROXYPASSWORD, credentials.password.reveal())
            }
        } else if let found = plan.exchange.environmentProxy(of: handleSettings) {
            set(CURLOPT_PROXY, found.address.reveal())
            set(CURLOPT_NOPROXY, "")
        } else {
            setNoProxy()
        }
    }

    private func setNoProxy() {
        set(CURLOPT_PROXY, "")
        // Without exceptions, libcurl would search the environment for them on each exchange.
        set(CURLOPT_NOPROXY, "")
    }

    private func setTLS(_ plan: Plan, _ handleSettings: HandleSettings) {
        let tls = handleSettings.settings.tls
        // Without NULL, libcurl adds its built-in directory and parses the whole store for each connection.
        set(CURLOPT_CAPATH, nil as String?)
        set(CURLOPT_CAINFO, handleSettings.authorityFile)
        // Only this setting distinguishes a stream's connection from the others, so that libcurl never mixes the two.
        let most = plan.exchange.isStreamed ? Int(CURL_SSLVERSION_MAX_TLSv1_3) : Int(CURL_SSLVERSION_MAX_DEFAULT)
        let least = tls.minimumVersion == .tls1_3 ? Int(CURL_SSLVERSION_TLSv1_3) : Int(CURL_SSLVERSION_TLSv1_2)
        set(CURLOPT_SSLVERSION, least | most)
        if let file = handleSettings.revocationFile { set(CURLOPT_CRLFILE, file) }
        if let identity = tls.clientIdentity {
            set(CURLOPT_SSLCERT, identity.certificateFile)
            set(CURLOPT_SSLKEY, identity.keyFile ?? identity.certificateFile)
            if let passphrase = identity.passphrase { set(CURLOPT_KEYPASSWD, passphrase.reveal()) }
        }
        if tls.verification == .unsafelyAcceptEveryCertificate {
            // Accepting every certificate includes every key, so pins are ignored too.
            set(CURLOPT_SSL_VERIFYPEER, false)
            set(CURLOPT_SSL_VERIFYHOST, 0)
        } else if let pins = tls.pins.pins(for: plan.exchange.host) {
            set(CURLOPT_PINNEDPUBLICKEY, pins.map { "sha256//" + $0 }.joined(separator: ";"))
        }
    }
}
