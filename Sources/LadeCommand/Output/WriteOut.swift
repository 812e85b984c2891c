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
        case header(String)
        /// What follows goes to the standard error, or to the standard output again.
        case stream(isError: Bool)
        /// What follows is written only after a failure.
        case onlyAfterFailure
    }

    /// A variable between `%{` and `}`.
    enum Variable: String, CaseIterable, Sendable {
        case contentType = "content_type"
        case errorMessage = "errormsg"
        case exitCode = "exitcode"
        case filename = "filename_effective"
        case status = "http_code"
        case version = "http_version"
        case method
        case headerCount = "num_headers"
        case redirects = "num_redirects"
        case retries = "num_retries"
        case redirectURL = "redirect_url"
        case referer
        case remoteAddress = "remote_ip"
        case remotePort = "remote_port"
        case responseCode = "response_code"
        case scheme
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
        case firstByte = "time_starttransfer"
        case total = "time_total"
        case url
        case finalURL = "url_effective"
        case number = "urlnum"
    }

    /// The facts of a completed call.
    struct Facts: Sendable {
        var request: Request
        var response: Response?
        var path: String?
        var error: CommandError?
        var metrics = Response.Metrics()
        var redirects = 0
        var attempts = 1
        var elapsed = Duration.zero
        /// Which address of its operation the call is for, from 0.
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
                guard let end = scalars.firstIndex(of: "}") else {
                    throw .usage("--write-out: “%header{” without “}”", advice: "Write %header{Content-Type}.")
                }
                pieces += [.text(text), .header(String(scalars[..<end].dropFirst("header{".count)))]
                text = ""
                scalars = scalars[end...]
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

    private static func piece(_ name: Substring) throws(CommandError) -> Piece {
        switch name {
        case "stdout": .stream(isError: false)
        case "stderr": .stream(isError: true)
        case "onerror": .onlyAfterFailure
        default: .variable(try variable(name))
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
    func text(_ facts: Facts) -> String { texts(facts).output }

    /// The texts for a call on the standard output and on the standard error.
    func texts(_ facts: Facts) -> (output: String, talk: String) {
        var texts = (output: "", talk: "")
        var isError = false
        for piece in pieces {
            let text: String
            switch piece {
            case .text(let plain): text = plain
            case .variable(let variable): text = Self.value(variable, facts)
            case .header(let name): text = facts.response?.headers[name] ?? ""
            case .stream(let next):
                isError = next
                continue
            case .onlyAfterFailure:
                if facts.error == nil { return texts }
                continue
            }
            if isError { texts.talk += text } else { texts.output += text }
        }
        return texts
    }

    /// The address that a redirect names, resolved against the requested one.
    private static func redirectURL(_ response: Response?) -> String {
        guard let response, response.status.code / 100 == 3, let location = response.headers["Location"] else {
            return ""
        }
        return URL(string: location, relativeTo: response.request.url)?.absoluteString ?? location
    }

    private static func value(_ variable: Variable, _ facts: Facts) -> String {
        let metrics = facts.metrics
        let response = facts.response
        return switch variable {
        case .contentType: response?.headers["Content-Type"] ?? ""
        case .errorMessage: facts.error?.what.escapedForDisplay(limit: 2_000) ?? ""
        case .exitCode: "\(facts.error?.code.rawValue ?? 0)"
        case .filename: facts.path ?? ""
        case .status, .responseCode: response.map { "\($0.status)" } ?? "000"
        case .version: version(response?.version)
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

    private static func version(_ version: HTTPVersion?) -> String {
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
final class FactCollector: EventSink {
    private struct State {
        var metrics = Response.Metrics()
        var redirects = 0
        var attempts = 1
    }

    private let state = Locked(State())

    func record(_ event: CallEvent, of call: Call) {
        state.withLock { state in
            switch event {
            case .exchangeFinished(let metrics): state.metrics = metrics
            case .exchangeFailed(_, let metrics): state.metrics = metrics
            case .redirectFollowed: state.redirects += 1
            case .attemptStarted(let number): state.attempts = max(state.attempts, number)
            default: break
            }
        }
    }

    /// Adds the collected facts.
    func complete(_ facts: inout WriteOut.Facts) {
        (facts.metrics, facts.redirects, facts.attempts) = state.withLock { ($0.metrics, $0.redirects, $0.attempts) }
    }
}
