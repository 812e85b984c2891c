#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// A scheme, a host and a port; credentials made for an origin must not leave it (RFC 6454 §4).
///
/// `https://API.example.com` and `https://api.example.com:443/v1` have the same origin.
public struct Origin: Sendable, Hashable {
    /// The scheme, in lower case.
    public let scheme: String
    /// The host in its normal form.
    ///
    /// It has lower case, no dot at its end, and its escapes are decoded. An IPv4 address has four decimal parts; an
    /// IPv6 address is written as in RFC 5952, without brackets.
    public let host: String
    /// The port, as written or the scheme's default; 0 for a scheme without one.
    public let port: Int

    /// The origin of an address; nil without scheme or host, and for an HTTP address whose host has no normal form.
    public init?(_ url: URL) {
        // Used several times per exchange: one pass over the text costs a fraction of reading each part of a `URL`.
        let address = url.absoluteString
        let parts = AddressParts(address)
        guard let kind = parts.scheme, !parts.hostIsEmpty else { return nil }
        switch kind {
        case .https: (scheme, port) = ("https", parts.port ?? 443)
        case .http: (scheme, port) = ("http", parts.port ?? 80)
        case .other: (scheme, port) = (address.prefix { $0 != ":" }.lowercased(), parts.port ?? 0)
        }
        var bytes = address.utf8.dropFirst(parts.host.lowerBound).prefix(parts.host.count)
        guard kind == .other else {
            guard let host = NormalHost(bytes: bytes)?.text else { return nil }
            self.host = host
            return
        }
        if bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]") { bytes = bytes.dropFirst().dropLast() }
        host = String(decoding: bytes.map(\.lowercasedASCII), as: UTF8.self)
    }

    /// The origin of an address given as text; path and query are ignored.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` when the text is not an absolute address with a host.
    public init(_ address: String) throws(LoadingError) {
        let reason: String
        do throws(AddressFault) {
            if let origin = Origin(try AddressFault.address(address, ofAnyProtocol: true)) {
                self = origin
                return
            }
            reason = "it has no host"
        } catch {
            reason = error.clause
        }
        let shown = Redaction.standard.unparsable(address).escapedForDisplay()
        let fault = LoadingError.RequestCause.url(shown, reason: reason)
        throw LoadingError(.invalidSetting(name: "origin", reason: fault.description))
    }

    /// Whether the connection is encrypted.
    public var isSecure: Bool { scheme == "https" }

    /// Whether nothing on the network can read or change the request: over TLS, or on this machine alone.
    ///
    /// Browsers and curl send `Secure` cookies to such an origin.
    var isTrustworthy: Bool { isSecure || (scheme == "http" && NormalHost(host)?.isLoopback == true) }

    /// Whether it is the same host with TLS, each on the default port of its scheme.
    package func isSecured(_ plain: Origin) -> Bool {
        (scheme, port) == ("https", 443) && (plain.scheme, plain.port) == ("http", 80) && host == plain.host
    }
}

extension Request {
    /// Whether another machine is dialled in place of the host that the address names.
    var leavesThisMachine: Bool {
        switch destination {
        case nil, .unixSocket: false
        case .host(let host, _): NormalHost(host)?.isLoopback != true
        }
    }

    /// The same request for another address, without anything that belongs only to the old origin.
    ///
    /// When scheme, host or port change, the fields that merely describe the request go along: `Accept…`, `Range`,
    /// `If-…`, `User-Agent`, `Content-…` with the body and a few more. `Host`, the destination and every other field
    /// are removed, because any other field of the app may be a credential, whatever its name. The caller decides
    /// whether a body goes along.
    ///
    /// The one rule for all ways to another origin: redirects, next pages, and addresses of a host that are hosts of their
    /// own.
    ///
    /// - Parameters:
    ///   - url: The new address.
    ///   - trusted: Origins that may receive everything.
    /// - Returns: The request to send there.
    public func moved(to url: URL, trusting trusted: Set<Origin> = []) -> Request {
        moved(to: url, trusting: trusted, orAll: false)
    }

    package func moved(to url: URL, trusting trusted: Set<Origin>, orAll trustsAll: Bool) -> Request {
        var moved = self
        moved.url = url
        moved.keepSecrets(of: self)
        let origin = Origin(url)
        guard origin == nil || origin != Origin(self.url) else { return moved }
        moved.destination = nil
        moved.headers.remove("Host")
        guard let origin, trustsAll || trusted.contains(origin) else {
            moved.headers.keepDescription(withBody: hasBody)
            return moved
        }
        return moved
    }
}

extension Headers {
    /// Removes the fields that do not go along to another origin.
    package mutating func keepDescription(withBody hasBody: Bool) {
        removeCredentials()
        for name in Set(map { $0.name.lowercased() }) where !Self.goesAlong(name, withBody: hasBody) { remove(name) }
    }

    /// Whether a field with this name, in lower case, goes along to another origin.
    static func goesAlong(_ name: String, withBody hasBody: Bool) -> Bool {
        if description.contains(name) || name == "accept" { return true }
        if ["accept-", "if-", "want-"].contains(where: name.hasPrefix) { return true }
        return hasBody && (name.hasPrefix("content-") || ["expect", "repr-digest", "digest", "trailer"].contains(name))
    }

    /// The other fields that describe the request, or known facts of its response.
    private static let description: Set<String> = [
        "range", "user-agent", "cache-control", "pragma", "prefer", "te", "last-event-id", "idempotency-key",
    ]
}

extension Origin: CustomStringConvertible {
    /// `https://api.example.com:443`.
    public var description: String {
        "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}
