#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeExchange

/// Writes the head of a request (RFC 9112 §3).
///
/// `Host` comes first, then the fields of the caller in their order, then those of the transport. The fields that frame
/// the message are the transport's alone.
enum RequestHead {
    /// Appends the bytes of the head of an exchange's request, with the empty line at the end.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - framing: How its body is framed.
    ///   - proxy: The proxy that it is sent to in the absolute form; nil for its origin, or a tunnel to it.
    ///   - head: The bytes that it is appended to.
    static func append(
        of exchange: Exchange,
        framing: RequestFraming,
        through proxy: Proxy? = nil,
        to head: inout [UInt8]
    ) {
        let request = exchange.request
        let form = request.headForm
        head.reserveCapacity(head.count + 256 + exchange.address.utf8.count)
        head.append(text: request.method.rawValue)
        head.append(0x20)
        if let target = form.target {
            head.append(text: target)
        } else {
            if proxy != nil {
                head.append(text: "http://")
                appendAuthority(of: exchange, to: &head)
            }
            appendTarget(of: exchange, to: &head)
        }
        head.append(text: form.isHTTP1_0 ? " HTTP/1.0\r\nHost: " : " HTTP/1.1\r\nHost: ")
        appendHost(of: exchange, to: &head)
        head.appendLineEnd()
        let authorization = proxy.flatMap { form.proxyAuthorization?.reveal() ?? $0.authorization }
        if proxy != nil {
            for field in form.proxyFields { head.append(text: "\(field.name): \(field.value)\r\n") }
        }
        if let authorization { head.append(text: "Proxy-Authorization: \(authorization)\r\n") }
        var hasAccept = false
        var hasContentType = false
        for field in request.headers {
            let name = field.name
            // The transport writes the length itself, and the caller's was compared with it.
            if name.equalsIgnoringASCIICase("Content-Length") || name.equalsIgnoringASCIICase("Host") { continue }
            if authorization != nil, name.equalsIgnoringASCIICase("Proxy-Authorization") { continue }
            if name.equalsIgnoringASCIICase("Accept") { hasAccept = true }
            if name.equalsIgnoringASCIICase("Content-Type") { hasContentType = true }
            head.append(text: name)
            head.append(text: ": ")
            if let octets = field.unusualOctets {
                head.append(contentsOf: octets)
            } else {
                head.append(text: field.value)
            }
            head.appendLineEnd()
        }
        if !hasAccept, !request.omitsAccept { head.append(text: "Accept: */*\r\n") }
        if exchange.isDecoding { head.append(text: acceptEncoding) }
        if let type = request.body?.contentType, !hasContentType { head.append(text: "Content-Type: \(type)\r\n") }
        switch framing {
        case .none: break
        case .length(let length): head.append(text: "Content-Length: \(length)\r\n")
        case .chunked: head.append(text: "Transfer-Encoding: chunked\r\n")
        }
        head.appendLineEnd()
    }

    private static let acceptEncoding =
        "Accept-Encoding: " + ContentCoding.allCases.map(\.rawValue).joined(separator: ", ") + "\r\n"

    /// Path and query, without the fragment (RFC 9112 §3.2.1).
    static func appendTarget(of exchange: Exchange, to head: inout [UInt8]) {
        var address = exchange.address
        address.withUTF8 { bytes in
            let rest = bytes[exchange.parts.authorityEnd...]
            let target = rest.prefix { $0 != 0x23 }
            if target.first != 0x2F { head.append(0x2F) }
            head.append(contentsOf: target)
        }
    }

    /// Host and port without user information, without the port of the scheme, and without a zone (RFC 6874 §4).
    static func appendHost(of exchange: Exchange, to head: inout [UInt8]) {
        let field = exchange.request.headers["Host"]
        if let field {
            head.append(text: field)
        } else {
            appendAuthority(of: exchange, to: &head)
        }
    }

    private static func appendAuthority(of exchange: Exchange, to head: inout [UInt8]) {
        var address = exchange.address
        let parts = exchange.parts
        address.withUTF8 { bytes in
            let host = bytes[parts.host]
            if host.first == 0x5B, let zone = host.firstIndex(of: 0x25) {
                head.append(contentsOf: host[..<zone])
                head.append(0x5D)
            } else {
                head.append(contentsOf: host)
            }
        }
        if let port = parts.port, port != (exchange.isSecure ? 443 : 80) { head.append(text: ":\(port)") }
    }
}

extension [UInt8] {
    fileprivate mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }

    fileprivate mutating func appendLineEnd() {
        append(0x0D)
        append(0x0A)
    }
}
