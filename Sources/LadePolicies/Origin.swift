#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// A scheme, a host and a port: what credentials are made for and must not leave (RFC 6454 §4).
///
/// `https://API.example.com` and `https://api.example.com:443/v1` are of the same origin.
public struct Origin: Sendable, Hashable {
    /// The scheme, in lower case.
    public let scheme: String
    /// The host in its normal form: in lower case, without a dot at its end, escapes decoded; an IPv4 address as four decimal
    /// parts, an IPv6 address as RFC 5952 has it and without brackets.
    public let host: String
    /// The port, written or the scheme's own; 0 for a scheme that has none.
    public let port: Int

    /// The origin of an address; nil without scheme or host, and for an HTTP address whose host has no normal form.
    public init?(_ url: URL) {
        // Asked several times per exchange: one pass over the text costs a fraction of what each part of a `URL` does.
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

    /// The origin of an address given as text; its path and query do not count.
    ///
    /// - Throws: `LoadingError.invalidSetting` when the text is no absolute address with a host.
    public init(_ address: String) throws(LoadingError) {
        guard let url = URL(string: address, encodingInvalidCharacters: false), let origin = Origin(url) else {
            throw .invalidSetting(
                name: "origin",
                reason:
                    "“\(Redaction.standard.unparsable(address).escapedForDisplay())” is no address with scheme and host",
                ErrorContext()
            )
        }
        self = origin
    }

    /// Whether the connection is encrypted.
    public var isSecure: Bool { scheme == "https" }
}

extension Request {
    /// The same request for another address, with nothing that was meant for the old one's origin alone.
    ///
    /// When scheme, host or port change, `Host`, the destination and every field that is known as a credential are
    /// dropped (policies PL-46). For redirects, next-page links, and whatever else a server says to ask.
    ///
    /// - Parameters:
    ///   - url: The new address.
    ///   - trusted: Origins that credentials may follow to from any other.
    /// - Returns: The request to send there.
    public func moved(to url: URL, trusting trusted: Set<Origin> = []) -> Request {
        var moved = self
        moved.url = url
        moved.keepSecrets(of: self)
        let origin = Origin(url)
        guard origin == nil || origin != Origin(self.url) else { return moved }
        moved.destination = nil
        moved.headers.remove("Host")
        if origin.map({ !trusted.contains($0) }) ?? true { moved.headers.removeCredentials() }
        return moved
    }
}

extension Origin: CustomStringConvertible {
    /// `https://api.example.com:443`.
    public var description: String {
        "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}
