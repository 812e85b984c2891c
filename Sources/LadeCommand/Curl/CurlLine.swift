#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// A call as a curl command line that makes the same request; secrets are shown only if requested.
struct CurlLine {
    private let settings: GetSettings
    private let call: PreparedCall
    private let showsSecrets: Bool
    /// The pins of the host, in base64.
    private let pins: [String]

    /// Prepares the command line for a call.
    ///
    /// - Throws: A usage error for a malformed pin.
    init(_ settings: GetSettings, _ call: PreparedCall) throws(CommandError) {
        self.settings = settings
        self.call = call
        showsSecrets = settings.output.showsSecrets
        pins = try settings.connection.pinSet().pins(for: call.request.url.host(percentEncoded: false) ?? "") ?? []
    }

    /// The command line, in printable characters only.
    var text: String {
        // Brackets and braces of an address have a meaning for curl.
        let isPattern = address.utf8.contains { "[]{}".utf8.contains($0) }
        let words = ["curl"] + (isPattern ? ["-g"] : []) + method + [address] + headers + cookies
        let rest = policy + connection + output
        return (words.map(Self.octets) + body + rest.map(Self.octets)).map(ShellWords.quoted).joined(separator: " ")
    }

    private static func octets(_ word: String) -> [UInt8] { Array(word.utf8) }

    private var request: Request { call.request }

    private var method: [String] {
        // With -X HEAD curl would wait for a body.
        let isHead = settings.request.isHead || (request.method == .head && !request.hasBody)
        let implied: Request.Method =
            isHead ? .head : settings.request.uploadPath != nil ? .put : request.hasBody ? .post : .get
        let path = Address(request.url.absoluteString).hasDotSegments ? ["--path-as-is"] : []
        return (isHead ? ["-I"] : []) + (request.method == implied ? [] : ["-X", request.method.rawValue]) + path
    }

    private var address: String {
        showsSecrets
            ? request.url.absoluteString : request.url.redacted(secretQueryNames: request.secretQueryNames)
    }

    private var headers: [String] {
        let implied = ["Accept: */*", "User-Agent: lade/\(Version.number)"]
        var lines: [String] = []
        for field in request.headers {
            var value = showsSecrets ? field.value : field.redactedValue
            // curl completes the type of a form by the boundary of its own.
            if isMultipart, field.name.equalsIgnoringASCIICase("Content-Type"),
                let (type, _) = value.cut(at: "; boundary=lade-")
            {
                value = String(type)
            }
            let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(value)"
            if !implied.contains(line), !(usesJSONOption && line == "Accept: application/json") { lines.append(line) }
        }
        if usesData, let type = request.body?.contentType, type != "application/x-www-form-urlencoded" {
            lines.append("Content-Type: \(type)")
        }
        if case .value(let key) = settings.policy.idempotencyKey { lines.append("Idempotency-Key: \(key)") }
        lines += removed
        if case .bearer = settings.policy.authorisation { lines.append("Authorization: Bearer <redacted>") }
        return lines.flatMap { ["-H", $0] } + basicUser
    }

    /// The fields that curl would add and that the request does not have, as curl's options remove them.
    private var removed: [String] {
        var names = ["Accept", "User-Agent"]
        // curl adds no content type to an uploaded file.
        if let body = request.body, body.contentType == nil, settings.request.uploadPath == nil {
            names.append("Content-Type")
        }
        return names.filter { !request.headers.contains($0) }.map { "\($0):" }
    }

    private var basicUser: [String] {
        if case .basic(let user) = settings.policy.authorisation { return ["-u", user] }
        guard let credentials = call.credentials else { return [] }
        let password = showsSecrets ? credentials.password.reveal() : "<redacted>"
        return [credentials.scheme == .digest ? "--digest" : "--anyauth", "-u", "\(credentials.user):\(password)"]
    }

    private var cookies: [String] {
        let held = call.session?.cookies ?? []
        let pairs = held.map { "\($0.name)=\(showsSecrets ? $0.value.reveal() : "<redacted>")" }
        var words = pairs.isEmpty ? [] : ["-b", pairs.joined(separator: "; ")]
        words += settings.session.cookieFiles.flatMap { ["-b", $0] }
        if settings.session.dropsSessionCookies { words.append("-j") }
        return words + (settings.session.cookieOutput.map { ["-c", $0] } ?? [])
    }

    // MARK: - Body

    private var usesJSONOption: Bool { !settings.request.json.isEmpty }

    /// Whether the body is given by `--data`, whose content type is the one of forms unless a field sets another.
    private var usesData: Bool { settings.request.hasItemBody && !isMultipart }

    private var isMultipart: Bool { settings.request.hasFile }

    /// The words of the body as octets, which need not be text.
    private var body: [[UInt8]] {
        let given = settings.request
        if isMultipart { return form.map(Self.octets) }
        if usesData, case .bytes(let bytes) = request.body?.content {
            return [Self.octets("--data-raw"), Array(bytes)]
        }
        if !given.data.isEmpty, !given.sendsDataInQuery { return given.data.flatMap(Self.words) }
        if !given.json.isEmpty { return given.json.flatMap { [Self.octets("--json"), Self.value($0)] } }
        if let path = given.uploadPath { return ["-T", path].map(Self.octets) }
        if given.readsStandardInput || given.items.contains(.standardInput) {
            return ["--data-binary", "@-"].map(Self.octets)
        }
        return []
    }

    private var form: [String] {
        var words: [String] = []
        for part in settings.request.formParts {
            switch part.content {
            case .text(let text) where part.isPlain: words += ["--form-string", "\(part.name)=\(text)"]
            case .text(let text): words += ["-F", "\(part.name)=\(Self.formQuoted(text))\(part.parameters)"]
            case .fieldFile(let path):
                words += ["-F", "\(part.name)=<\(Self.formWord(path))\(part.parameters)"]
            case .files(let files):
                let texts = files.map { "\(Self.formWord($0.path))\($0.parameters)" }
                words += ["-F", "\(part.name)=@\(texts.joined(separator: ","))"]
            }
        }
        for item in settings.request.items {
            switch item {
            case .text(let name, let value), .json(let name, let value): words += ["--form-string", "\(name)=\(value)"]
            case .textFile(let name, let path), .jsonFile(let name, let path):
                words += ["-F", "\(name)=<\(Self.formWord(path))"]
            case .file(let name, let path): words += ["-F", "\(name)=@\(Self.formWord(path))"]
            case .query, .header, .headerFile, .standardInput: break
            }
        }
        return words
    }

    /// A text in the double quotes of curl's forms.
    static func formQuoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }

    /// A text as a word of curl's forms, in quotes if necessary.
    static func formWord(_ text: String) -> String {
        text.utf8.contains { $0.isBlank || ";,\"".utf8.contains($0) } ? formQuoted(text) : text
    }

    private static func words(_ piece: RequestSettings.Piece) -> [[UInt8]] {
        switch piece {
        case .text, .bytes: [octets("--data-raw"), value(piece)]
        case .file(_, strippingLineEnds: true): [octets("-d"), value(piece)]
        case .file: [octets("--data-binary"), value(piece)]
        case .encoded(let name, .file(let path, _)): ["--data-urlencode", "\(name)@\(path)"].map(octets)
        case .encoded(let name, let text): [octets("--data-urlencode"), octets("\(name)=") + value(text)]
        }
    }

    private static func value(_ piece: RequestSettings.Piece) -> [UInt8] {
        switch piece {
        case .text(let text): octets(text)
        case .bytes(let bytes): bytes
        case .file(let path, _): octets("@\(path)")
        case .encoded(_, let piece): value(piece)
        }
    }

    // MARK: - The rest

    private var policy: [String] {
        let policy = settings.policy
        var words = policy.followsRedirects || policy.redirectLimit != nil ? ["-L"] : []
        if let limit = policy.redirectLimit { words += ["--max-redirs", "\(limit)"] }
        if policy.trustsEveryOrigin { words.append("--location-trusted") }
        if let retries = policy.retries { words += ["--retry", "\(retries)"] }
        if let delay = policy.retryDelay {
            words += ["--retry-delay", "\(max(1, delay.wholeNanoseconds / 1_000_000_000))"]
        }
        if let time = policy.retryTime {
            words += ["--retry-max-time", "\(max(1, time.wholeNanoseconds / 1_000_000_000))"]
        }
        return words
    }

    private var connection: [String] {
        let connection = settings.connection
        var words: [String] = []
        if let time = connection.timeouts.whole { words += ["-m", WriteOut.seconds(time)] }
        if let time = connection.timeouts.connect, time != Request.Timeouts().connect {
            words += ["--connect-timeout", WriteOut.seconds(time)]
        }
        if let proxy = connection.proxy {
            if let user = connection.proxyUser {
                let name = user.utf8.prefix { $0 != UInt8(ascii: ":") }
                words += ["-U", showsSecrets ? user : String(decoding: name, as: UTF8.self) + ":<redacted>"]
            }
            if connection.tunnels { words.append("-p") }
            switch connection.proxyScheme {
            case .basic: break
            case .digest: words.append("--proxy-digest")
            case .best: words.append("--proxy-anyauth")
            }
            for edit in connection.proxyHeaders {
                if case .set(let name, let value) = edit {
                    words += [
                        "--proxy-header",
                        value.isEmpty ? "\(name);" : "\(name): \(showsSecrets ? value : "<redacted>")",
                    ]
                }
            }
            let user =
                proxy.credentials.map { "\($0.user):\(showsSecrets ? $0.password.reveal() : "<redacted>")@" } ?? ""
            let scheme = proxy.kind == .http ? "http" : "socks5h"
            words += ["-x", "\(scheme)://\(user)\(Self.bracketed(proxy.host)):\(proxy.port)"]
        } else if connection.isDirect {
            words += ["-x", ""]
        }
        if let exceptions = connection.proxyExceptions { words += ["--noproxy", exceptions.joined(separator: ",")] }
        if let file = connection.authorityFile { words += ["--cacert", file] }
        if let file = connection.certificateFile { words += ["-E", file] }
        if let file = connection.keyFile { words += ["--key", file] }
        if connection.isInsecure { words.append("-k") }
        if !pins.isEmpty { words += ["--pinnedpubkey", pins.map { "sha256//\($0)" }.joined(separator: ";")] }
        switch connection.destination {
        case .unixSocket(let path): words += ["--unix-socket", path]
        case .host(let host, let port):
            words += ["--connect-to", "::\(Self.bracketed(host)):\(port.map(String.init) ?? "")"]
        case nil: break
        }
        for (name, addresses) in connection.resolved.sorted(by: { $0.key < $1.key }) {
            words += ["--resolve", "\(name):\(addresses.map { Self.bracketed($0.host) }.joined(separator: ","))"]
        }
        if let family = connection.addressFamily { words.append(family == .v4 ? "-4" : "-6") }
        if connection.needsTLS13 { words.append("--tlsv1.3") }
        if case .http1_1 = connection.version { words.append("--http1.1") }
        if case .http2PriorKnowledge = connection.version { words.append("--http2-prior-knowledge") }
        // curl cannot continue a decoded body.
        if connection.decodesContent, !settings.output.continuesFile { words.append("--compressed") }
        return words
    }

    /// A host name unchanged, an IPv6 address in brackets.
    private static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

    private var output: [String] {
        let output = settings.output
        var words = output.path.map { ["-o", $0] } ?? (output.usesRemoteName ? ["-O"] : [])
        if output.takesServerName { words.append("-J") }
        if let folder = output.folder { words += ["--output-dir", folder] }
        if output.createsFolders { words.append("--create-dirs") }
        if output.keepsExisting { words.append("--no-clobber") }
        if output.takesFileTime { words.append("-R") }
        if let path = output.headPath { words += ["-D", path] }
        if let path = output.tagPath { words += ["--etag-save", path] }
        if let rate = output.rate { words += ["--limit-rate", String(rate)] }
        if let format = output.writeOut?.format { words += ["-w", format] }
        if output.showsErrors { words.append("-S") }
        if output.isVerbose { words.append("-v") }
        if output.continuesFile { words += ["-C", "-"] }
        if output.includesHead { words.append("-i") }
        if output.failsWithoutBody { words.append("-f") }
        if output.isSilent { words.append("-s") }
        if let limit = output.maximumSize { words += ["--max-filesize", String(limit)] }
        return words
    }
}

extension FormPart {
    fileprivate var isPlain: Bool { contentType == nil && fileName == nil && fields.isEmpty }

    fileprivate var parameters: String { File.parameters(contentType, fileName, fields) }
}

extension FormPart.File {
    fileprivate var parameters: String { Self.parameters(contentType, fileName, fields) }

    fileprivate static func parameters(_ type: String?, _ name: String?, _ fields: [HeaderEdit]) -> String {
        var text = type.map { ";type=\($0)" } ?? ""
        if let name { text += ";filename=\(CurlLine.formWord(name))" }
        for case .set(let name, let value) in fields { text += ";headers=\(CurlLine.formQuoted("\(name): \(value)"))" }
        return text
    }
}
