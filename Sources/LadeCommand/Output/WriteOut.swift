#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// A text that is written after a call, with curl's variables: `%{http_code} %{time_total}\n`.
struct WriteOut: Sendable {
    private enum Piece: Sendable {
        case text(String)
        case variable(Variable)
        case component(Component)
        case header(String)
        /// All values of a field, with a text between them.
        case headers(String, separator: String)
        /// The text behind this piece goes to the standard error, or to the standard output again.
        case stream(isError: Bool)
        /// The text behind this piece is written only after a failure.
        case onlyAfterFailure
    }

    /// A variable between `%{` and `}`.
    enum Variable: String, CaseIterable, Sendable {
        case connectionCount = "num_connects"
        case contentType = "content_type"
        case errorMessage = "errormsg"
        case exitCode = "exitcode"
        case filename = "filename_effective"
        case headers = "header_json"
        case status = "http_code"
        case tunnelStatus = "http_connect"
        case version = "http_version"
        case json
        case localAddress = "local_ip"
        case localPort = "local_port"
        case method
        case headerCount = "num_headers"
        case redirects = "num_redirects"
        case proxyUsed = "proxy_used"
        case retries = "num_retries"
        case redirectURL = "redirect_url"
        case referer
        case remoteAddress = "remote_ip"
        case remotePort = "remote_port"
        case responseCode = "response_code"
        case scheme
        case delivered = "size_delivered"
        case downloaded = "size_download"
        case headSize = "size_header"
        case requestSize = "size_request"
        case uploaded = "size_upload"
        case downloadSpeed = "speed_download"
        case uploadSpeed = "speed_upload"
        case secureConnect = "time_appconnect"
        case connect = "time_connect"
        case nameLookup = "time_namelookup"
        case preTransfer = "time_pretransfer"
        case redirectTime = "time_redirect"
        case firstByte = "time_starttransfer"
        case total = "time_total"
        case url
        case finalURL = "url_effective"
        case number = "urlnum"

        /// Whether the value is a number, which stands without quotes in JSON.
        fileprivate var isNumber: Bool {
            switch self {
            case .contentType, .errorMessage, .filename, .headers, .json, .localAddress, .version, .method,
                .redirectURL,
                .referer, .remoteAddress, .scheme, .url, .finalURL:
                false
            default: true
            }
        }
    }

    /// A component of an address behind `url.`, or behind `urle.` of the last one that was requested.
    struct Component: Sendable {
        enum Part: String, CaseIterable, Sendable {
            case scheme, user, password, host, port, path, query, fragment, zoneid, options
        }

        var part: Part
        var isOfLast: Bool

        fileprivate init?(_ name: Substring) {
            guard let (start, rest) = name.cut(at: "."), start == "url" || start == "urle",
                let part = Part(rawValue: String(rest))
            else { return nil }
            (self.part, isOfLast) = (part, start == "urle")
        }
    }

    /// The facts of a completed call.
    struct Facts: Sendable {
        var request: Request
        var response: Response?
        var path: String?
        var error: CommandError?
        /// Whether a condition of the call holds, for the server or for the command itself.
        var isUnchanged = false
        var metrics = Response.Metrics()
        var redirects = 0
        var attempts = 1
        /// The number of connections that were made.
        var connections = 0
        /// The address as the user wrote it, with user and password.
        var address = ""
        /// Whether the call went through a proxy.
        var usesProxy = false
        var elapsed = Duration.zero
        /// The number of the address of its operation that the call is for, from 0.
        var number = 0
    }

    private var pieces: [Piece] = []
    /// The format as the user wrote it.
    let format: String

    /// Parses a format.
    ///
    /// - Throws: A usage error for an unknown variable.
    init(_ argument: String) throws(CommandError) {
        var format = argument
        if argument.utf8.first == UInt8(ascii: "@") {
            let path = String(decoding: argument.utf8.dropFirst(), as: UTF8.self)
            let bytes = try ArgumentFile.bytes(path, of: "--write-out")
            let octets = bytes.filter { $0 != 0x0A && $0 != 0x0D && $0 != 0 }
            guard let text = String(validating: octets, as: UTF8.self) else {
                throw .usage("--write-out: the file \(path) is no text in UTF-8", advice: "Write it in UTF-8.")
            }
            format = text
        }
        self.format = format
        var text = ""
        var scalars = format.unicodeScalars[...]
        while let character = scalars.popFirst() {
            switch (character, scalars.first) {
            case ("\\", "n"): text += "\n"
            case ("\\", "r"): text += "\r"
            case ("\\", "t"): text += "\t"
            case ("\\", "\\"): text += "\\"
            case ("%", "%"): text += "%"
            case ("%", "{"):
                guard let end = scalars.firstIndex(of: "}") else {
                    throw .usage("--write-out: “%{” without “}”", advice: "Write %{http_code}; %% is a percent sign.")
                }
                pieces.append(.text(text))
                text = ""
                pieces.append(try Self.piece(Substring(scalars[..<end].dropFirst())))
                scalars = scalars[end...]
            case ("%", "h") where scalars.starts(with: "header{".unicodeScalars):
                scalars = scalars.dropFirst("header{".unicodeScalars.count)
                pieces += [.text(text), try Self.headerPiece(&scalars)]
                text = ""
            case ("%", "o") where scalars.starts(with: "output{".unicodeScalars):
                throw .usage("--write-out: “%output{” is not known", advice: "Print it, and redirect it with >.")
            default:
                text.unicodeScalars.append(character)
                continue
            }
            scalars.removeFirst()
        }
        pieces.append(.text(text))
    }

    /// The field up to the closing brace, which stays: `NAME` or `NAME:all:SEPARATOR`, in which `\}` is a brace.
    private static func headerPiece(_ scalars: inout Substring.UnicodeScalarView) throws(CommandError) -> Piece {
        var inside = ""
        while let scalar = scalars.first, scalar != "}" {
            scalars.removeFirst()
            if scalar == "\\", scalars.first == "}" {
                inside.unicodeScalars.append(scalars.removeFirst())
            } else {
                inside.unicodeScalars.append(scalar)
            }
        }
        guard !scalars.isEmpty else {
            throw .usage("--write-out: “%header{” without “}”", advice: "Write %header{Content-Type}.")
        }
        guard let (name, separator) = inside.cut(at: ":all:") else { return .header(inside) }
        return .headers(String(name), separator: String(separator))
    }

    private static func piece(_ name: Substring) throws(CommandError) -> Piece {
        switch name {
        case "stdout": .stream(isError: false)
        case "stderr": .stream(isError: true)
        case "onerror": .onlyAfterFailure
        default:
            if let component = Component(name) { .component(component) } else { .variable(try variable(name)) }
        }
    }

    private static func variable(_ name: Substring) throws(CommandError) -> Variable {
        if let variable = Variable(rawValue: String(name)) { return variable }
        let names = Variable.allCases.map(\.rawValue)
        let nearest = Suggestion.nearest(to: String(name), among: names).map { "; did you mean “\($0)”?" } ?? ""
        throw .usage(
            "--write-out: there is no variable “\(name)”" + nearest,
            advice: "“lade help --man” lists them, among them http_code, time_total, size_download and url."
        )
    }

    /// The text for a call on the standard output.
    func text(_ facts: Facts) -> String { String(decoding: octets(facts).output, as: UTF8.self) }

    /// The octets that are written for a call to the standard output and to the standard error.
    ///
    /// The values of fields are the octets that were received.
    func octets(_ facts: Facts) -> (output: [UInt8], talk: [UInt8]) {
        var result: (output: [UInt8], talk: [UInt8]) = ([], [])
        var isError = false
        for piece in pieces {
            let octets: [UInt8]
            switch piece {
            case .text(let plain): octets = Array(plain.utf8)
            case .variable(.contentType): octets = facts.response?.headers.octets("Content-Type").last ?? []
            case .variable(.headers): octets = Self.headersInJSON(facts.response)
            case .variable(let variable): octets = Array(Self.value(variable, facts).utf8)
            case .component(let component): octets = Array(Self.value(component, facts).utf8)
            case .header(let name): octets = facts.response?.headers.octets(name).first ?? []
            case .headers(let name, let separator):
                octets = Array(Self.values(of: name, facts).joined(separator: Array(separator.utf8)))
            case .stream(let next):
                isError = next
                continue
            case .onlyAfterFailure:
                if facts.error == nil { return result }
                continue
            }
            if isError { result.talk += octets } else { result.output += octets }
        }
        return result
    }

    /// The values of a field in the responses of a call; with redirects and challenges there are several responses.
    ///
    /// They end before the first response without the field, as with curl. Interim responses and the response that opened a
    /// tunnel have none.
    private static func values(of name: String, _ facts: Facts) -> [[UInt8]] {
        let record = facts.response?.request.headRecord
        let heads = (record?.heads ?? []).filter { $0 != record?.tunnelHead && !status($0).begins(with: "1") }
        guard !heads.isEmpty else { return facts.response?.headers.octets(name) ?? [] }
        return heads.map { values(of: name, in: $0) }.prefix { !$0.isEmpty }.flatMap(\.self)
    }

    private static func values(of name: String, in head: Data) -> [[UInt8]] {
        TextLines(head).compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                String(decoding: line[..<colon], as: UTF8.self).equalsIgnoringASCIICase(name)
            else { return nil }
            let value = line[(colon + 1)...].drop(while: \.isBlank)
            return Array(value.prefix(value.count - value.reversed().prefix(while: \.isBlank).count))
        }
    }

    /// The address that a redirect names, resolved against the requested one.
    private static func redirectURL(_ response: Response?) -> String {
        guard let response, response.status.code / 100 == 3, let location = response.headers["Location"] else {
            return ""
        }
        guard let target = URL(reference: location, against: response.request.url)?.absoluteString else {
            return location
        }
        // An address without a path has the path of the root.
        let parts = AddressParts(target)
        let end = target.utf8.index(target.utf8.startIndex, offsetBy: parts.authorityEnd)
        guard !parts.hostIsEmpty, target.utf8[end...].first != UInt8(ascii: "/") else { return target }
        return target[..<end] + "/" + target[end...]
    }

    /// A component of an address; empty without it.
    private static func value(_ component: Component, _ facts: Facts) -> String {
        let last = (facts.response?.request ?? facts.request).url.absoluteString
        let written = component.isOfLast && facts.redirects > 0 ? last : facts.address
        guard let url = URL(string: written) else { return "" }
        return switch component.part {
        case .scheme: url.scheme ?? ""
        case .user: url.user(percentEncoded: false) ?? ""
        case .password: url.password(percentEncoded: false) ?? ""
        case .host: url.host(percentEncoded: false) ?? ""
        case .port: "\(url.port ?? (url.scheme == "https" ? 443 : 80))"
        case .path: url.path(percentEncoded: true).isEmpty ? "/" : url.path(percentEncoded: true)
        case .query: url.query(percentEncoded: true) ?? ""
        case .fragment: url.fragment(percentEncoded: true) ?? ""
        case .zoneid, .options: ""
        }
    }

    /// The fields of the response as JSON: each name in lower case once, with its values in a list.
    private static func headersInJSON(_ response: Response?) -> [UInt8] {
        var names: [String] = []
        var values: [String: [[UInt8]]] = [:]
        for field in response?.headers ?? Headers() {
            let name = field.name.asciiLowercased
            if values[name] == nil { names.append(name) }
            values[name, default: []].append(inJSON(field))
        }
        var result = Array("{".utf8)
        for name in names {
            if result.count > 1 { result += ",\n".utf8 }
            result += "\(JSONQuoting.string(name)):[".utf8
            result += (values[name] ?? []).joined(separator: ",".utf8)
            result += "]".utf8
        }
        return result + Array("\n}".utf8)
    }

    /// The value of a field as a JSON string; octets that are no UTF-8 stay as they are, as with curl.
    private static func inJSON(_ field: Headers.Field) -> [UInt8] {
        guard let octets = field.unusualOctets else { return Array(JSONQuoting.string(field.value).utf8) }
        let quote = [UInt8(ascii: "\"")]
        return quote + octets.flatMap(CurlVariables.escapedInJSON) + quote
    }

    /// Every variable as a member of one JSON object.
    private static func json(_ facts: Facts) -> String {
        let variables = Variable.allCases.filter { $0 != .json && $0 != .headers }
        let members = variables.sorted { $0.rawValue < $1.rawValue }.map { variable in
            let text = value(variable, facts)
            let shown =
                variable.isNumber
                ? (Int64(text).map(String.init) ?? text) : text.isEmpty ? "null" : JSONQuoting.string(text)
            return "\"\(variable.rawValue)\":\(shown)"
        }
        return "{" + members.joined(separator: ",") + ",\"curl_version\":\"lade/\(Version.number)\"}"
    }

    private static func value(_ variable: Variable, _ facts: Facts) -> String {
        let metrics = facts.metrics
        let response = facts.response
        return switch variable {
        // As curl: the last of several types, and the first of several addresses.
        case .contentType: response?.headers.all("Content-Type").last ?? ""
        case .errorMessage: facts.error?.what.escapedForDisplay(limit: 2_000) ?? ""
        case .exitCode: "\(facts.error?.code.rawValue ?? 0)"
        case .filename: facts.path ?? ""
        case .status, .responseCode: facts.isUnchanged ? "304" : response.map { "\($0.status)" } ?? "000"
        case .version: version(response?.version)
        case .connectionCount: "\(facts.connections)"
        case .headers: String(decoding: headersInJSON(response), as: UTF8.self)
        case .json: json(facts)
        case .tunnelStatus: facts.request.headRecord?.tunnelHead.map(Self.status) ?? "000"
        case .localAddress: facts.request.headRecord?.localEnd?.address ?? ""
        case .localPort: "\(facts.request.headRecord?.localEnd?.port ?? 0)"
        case .proxyUsed: facts.usesProxy ? "1" : "0"
        case .delivered: "\(metrics.decodedBodyBytes)"
        case .redirectTime:
            seconds(facts.redirects > 0 ? max(.zero, facts.elapsed - (metrics.total ?? .zero)) : .zero)
        case .method: (response?.request ?? facts.request).method.rawValue
        case .redirects: "\(facts.redirects)"
        case .retries: "\(max(0, facts.attempts - 1))"
        case .redirectURL: redirectURL(response)
        case .headerCount: "\(response?.headers.count ?? 0)"
        case .referer: (response?.request ?? facts.request).headers["Referer"] ?? ""
        case .number: "\(facts.number)"
        case .remoteAddress: metrics.remoteAddress ?? ""
        case .remotePort: "\(metrics.remotePort ?? 0)"
        case .scheme: (response?.request ?? facts.request).url.scheme ?? ""
        case .downloaded: "\(metrics.responseBodyBytes)"
        case .headSize: "\(metrics.responseHeadBytes)"
        case .requestSize: "\(metrics.requestHeadBytes)"
        case .uploaded: "\(metrics.requestBodyBytes)"
        case .downloadSpeed: "\(ProgressLine.rate(metrics.responseBodyBytes, in: metrics.total ?? facts.elapsed))"
        case .uploadSpeed: "\(ProgressLine.rate(metrics.requestBodyBytes, in: metrics.total ?? facts.elapsed))"
        case .secureConnect: seconds(metrics.secureConnect)
        case .connect: seconds(metrics.connect)
        case .nameLookup: seconds(metrics.nameLookup)
        case .preTransfer: seconds(metrics.requestStarted)
        case .firstByte: seconds(metrics.firstByte)
        case .total: seconds(facts.elapsed)
        case .url: facts.request.url.absoluteString
        case .finalURL: (response?.request ?? facts.request).url.absoluteString
        }
    }

    /// The three digits of a status line.
    private static func status(_ head: Data) -> String {
        String(decoding: head.drop { $0 != UInt8(ascii: " ") }.dropFirst().prefix(3), as: UTF8.self)
    }

    private static func version(_ version: Response.Version?) -> String {
        version.map { String($0.rawValue.drop { $0 != "/" }.dropFirst()) } ?? "0"
    }

    /// Seconds with six decimals, in curl's form.
    static func seconds(_ duration: Duration?) -> String {
        let microseconds = (duration ?? .zero).wholeNanoseconds / 1_000
        return "\(microseconds / 1_000_000)."
            + "\(microseconds % 1_000_000)".leftPadded(to: 6).replacing(" ", with: "0")
    }
}

/// Collects the facts for ``WriteOut`` while a call is made.
final class FactCollector: Call.Observer {
    private struct State {
        var metrics = Response.Metrics()
        var redirects = 0
        var attempts = 1
        var connections = 0

        mutating func note(_ metrics: Response.Metrics) {
            self.metrics = metrics
            if metrics.isReusedConnection == false { connections += 1 }
        }
    }

    private let state = Locked(State())

    func record(_ event: Call.Event, of call: Call) {
        state.withLock { state in
            switch event {
            case .exchangeFinished(let metrics): state.note(metrics)
            case .exchangeFailed(_, let metrics): state.note(metrics)
            case .redirectFollowed: state.redirects += 1
            case .attemptStarted(let number): state.attempts = max(state.attempts, number)
            default: break
            }
        }
    }

    /// Adds the collected facts.
    func complete(_ facts: inout WriteOut.Facts) {
        let state = state.withLock(\.self)
        (facts.metrics, facts.redirects, facts.attempts) = (state.metrics, state.redirects, state.attempts)
        facts.connections = state.connections
    }
}
