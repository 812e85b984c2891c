import LadeCore
import LadeExchange

/// Asks an HTTP proxy for a tunnel (RFC 9110 §9.3.6).
///
/// The head of the response is checked like every head, except for its fields about a body. A consent has no body, whatever
/// they say, and the body of a refusal is not read.
struct ConnectTunnel {
    /// The bytes of the request.
    let request: [UInt8]
    private let limit: Int
    private var vetting: HeadVetting
    /// The beginning of an incomplete line.
    private var line: [UInt8] = []
    /// The number of bytes of complete lines.
    private var count = 0
    /// The status of the present head; nil before its status line.
    private var status: Response.Status?

    /// Makes the request for a tunnel.
    ///
    /// - Parameters:
    ///   - target: The end of the tunnel.
    ///   - authorization: The value of `Proxy-Authorization`; nil for none.
    ///   - form: How the request for it is written.
    ///   - limits: The limits of the response's head.
    init(
        to target: Tunnel.Target,
        authorization: String?,
        form: HeadForm = HeadForm(),
        limits: TransportSettings.ResponseLimits
    ) {
        let authority = target.authority
        let field = authorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
        let host = form.proxyFields.contains("Host") ? "" : "Host: \(authority)\r\n"
        let others = form.proxyFields.map { "\($0.name): \($0.value)\r\n" }.joined()
        let version = form.asksProxyByHTTP1_0 ? "1.0" : "1.1"
        request = Array("CONNECT \(authority) HTTP/\(version)\r\n\(host)\(field)\(others)\r\n".utf8)
        limit = limits.headBytes
        vetting = HeadVetting(limits: limits, tolerances: [])
    }

    mutating func receive(_ bytes: inout ArraySlice<UInt8>, _ heads: HeadRecord?) -> Tunnel.Step {
        while let end = bytes.firstIndex(of: 0x0A) {
            line += bytes[...end]
            bytes = bytes[(end + 1)...]
            if let refusal { return refusal }
            count += line.count
            let step = take(heads)
            line = []
            if let step { return step }
        }
        line += bytes
        bytes = []
        // The first bytes of a line that is none of HTTP come without its end.
        return refusal ?? .more
    }

    /// The fault of the line as far as it has arrived, by its first wrong byte.
    private var refusal: Tunnel.Step? {
        let room = limit - count
        // A head begins like one of HTTP.
        let start = status == nil ? line.prefix(room + 1).prefix("HTTP/1.".utf8.count) : []
        guard "HTTP/1.".utf8.starts(with: start) else { return Self.notHTTP }
        return line.count > room ? tooLarge : nil
    }

    /// Takes a line; nil when others follow.
    private mutating func take(_ heads: HeadRecord?) -> Tunnel.Step? {
        if status != nil, isAboutBody {
            line.withUnsafeBufferPointer { heads?.append($0, isOfTunnel: true) }
            return nil
        }
        let outcome = line.withUnsafeBufferPointer { line -> Result<HeadVetting.Finding, HeadVetting.Fault> in
            heads?.append(line, isOfTunnel: true)
            do throws(HeadVetting.Fault) {
                return .success(try vetting.take(line))
            } catch {
                return .failure(error)
            }
        }
        switch outcome {
        case .success(.more):
            if status == nil { status = Int(String(decoding: line[9..<12], as: UTF8.self)).map { Response.Status($0) } }
            return nil
        case .success(.interim):
            status = nil
            return nil
        case .success(.final(let head)): return step(for: head.status)
        case .failure(.tooLarge): return tooLarge
        case .failure(.malformed(let fault)):
            return fault.rule == .notHTTP
                ? Self.notHTTP : .refused(.malformed("its response breaks the rule \(fault.rule)"))
        }
    }

    private static let notHTTP = Tunnel.Step.refused(.malformed("its response is not HTTP"))

    private func step(for status: Response.Status) -> Tunnel.Step {
        switch status.code {
        case 200...299: .open
        case 407: .refused(.credentials)
        default: .refused(.status(status))
        }
    }

    /// A refusal that is too long is a refusal.
    private var tooLarge: Tunnel.Step {
        guard let status, status.code >= 300 else { return .refused(.tooLarge) }
        return step(for: status)
    }

    /// Whether the line is a field that frames a body.
    private var isAboutBody: Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let name = String(decoding: line[..<colon], as: UTF8.self)
        return name.equalsIgnoringASCIICase("Content-Length") || name.equalsIgnoringASCIICase("Transfer-Encoding")
    }
}
