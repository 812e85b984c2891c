#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
import LadeCore

/// An address of HTTP in normal form: equal resources have equal bytes (RFC 3986 §6.2.2, RFC 9110 §4.2.3).
///
/// Scheme and host are in lower case; the default port and the fragment are dropped. An empty path is `/`, and dot segments are
/// removed. Escapes of unreserved characters are decoded, and other escapes have upper-case digits. The query is kept: the
/// order and repetition of its items, a lone `?`, and `+` against `%20` make different addresses.
package struct CacheAddress: Sendable, Hashable {
    /// The address as text.
    package let text: String
    /// Where path and query begin in its bytes.
    private let pathStart: Int
    /// Whether the scheme is `https`.
    package let isSecure: Bool
    /// Whether there is a query, even an empty one.
    package let hasQuery: Bool

    /// The origin: scheme, host and port.
    package var origin: String { String(decoding: text.utf8.prefix(pathStart), as: UTF8.self) }

    /// The host without the port.
    package var host: String {
        let authority = text.utf8.prefix(pathStart).dropFirst(isSecure ? 8 : 7)
        guard let colon = authority.lastIndex(of: UInt8(ascii: ":")),
            !authority[colon...].contains(UInt8(ascii: "]"))
        else { return String(decoding: authority, as: UTF8.self) }
        return String(decoding: authority[..<colon], as: UTF8.self)
    }

    /// Normalises an address; nil for every scheme but `http` and `https`.
    package init?(_ url: URL) {
        let written = url.absoluteString
        self.init(written, AddressParts(written))
    }

    /// Normalises the address of a request.
    init?(_ request: Request) { self.init(request.url.absoluteString, request.parts) }

    private init?(_ written: String, _ parts: AddressParts) {
        guard let scheme = parts.scheme, scheme != .other, !parts.hostIsEmpty else { return nil }
        isSecure = scheme == .https
        if Self.isNormal(written, parts) {
            text = written
            pathStart = parts.authorityEnd
            hasQuery = written.utf8.contains(UInt8(ascii: "?"))
            return
        }
        let address = Array(written.utf8)
        var bytes = Array((isSecure ? "https://" : "http://").utf8)
        let host = address[parts.host]
        if parts.hostIsPlain {
            bytes += host.map(\.lowercasedASCII)
        } else {
            // Without a normal form, the request is refused before the cache.
            bytes += NormalHost(bytes: host)?.inURL.utf8.map(\.lowercasedASCII) ?? host.map(\.lowercasedASCII)
        }
        if let port = parts.port, port != (isSecure ? 443 : 80) { bytes += ":\(port)".utf8 }
        pathStart = bytes.count
        let rest = address[parts.authorityEnd...].prefix { $0 != UInt8(ascii: "#") }
        let path = Self.unescaped(rest.prefix { $0 != UInt8(ascii: "?") })
        bytes += Self.withoutDotSegments(path)
        let query = rest.drop { $0 != UInt8(ascii: "?") }
        hasQuery = !query.isEmpty
        bytes += Self.unescaped(query)
        text = String(decoding: bytes, as: UTF8.self)
    }

    /// An address as a store kept it, perhaps without its secrets; nil for a text that is no address.
    package init?(stored text: String) {
        guard text.begins(with: "http://") || text.begins(with: "https://") else { return nil }
        self.text = text
        isSecure = text.begins(with: "https://")
        let authority = text.utf8.dropFirst(isSecure ? 8 : 7)
        guard let slash = authority.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        pathStart = text.utf8.distance(from: text.utf8.startIndex, to: slash)
        hasQuery = authority[slash...].contains(UInt8(ascii: "?"))
    }

    /// Whether an address has nothing that the normal form changes, so that its text need not be made.
    private static func isNormal(_ text: String, _ parts: AddressParts) -> Bool {
        guard parts.hostIsPlain, !parts.hasUserInformation, parts.host.upperBound == parts.authorityEnd else {
            return false
        }
        var text = text
        return text.withUTF8 { bytes in
            let rest = bytes[parts.authorityEnd...]
            guard rest.first == UInt8(ascii: "/") else { return false }
            if bytes[..<parts.authorityEnd].contains(where: { 0x41...0x5A ~= $0 }) { return false }
            return !rest.contains { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "#") }
        }
    }

    /// The escapes in normal form.
    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard bytes.contains(UInt8(ascii: "%")) else { return Array(bytes) }
        var result: [UInt8] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            guard bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.endIndex,
                let high = digit(bytes[index + 1]), let low = digit(bytes[index + 2])
            else {
                result.append(bytes[index])
                index += 1
                continue
            }
            let value = high << 4 | low
            if isUnreserved(value) {
                result.append(value)
            } else {
                let digits = Array("0123456789ABCDEF".utf8)
                result += [UInt8(ascii: "%"), digits[Int(high)], digits[Int(low)]]
            }
            index += 3
        }
        return result
    }

    /// RFC 3986 §5.2.4; the dots are decoded already.
    private static func withoutDotSegments(_ path: [UInt8]) -> [UInt8] {
        guard path.first == UInt8(ascii: "/") else { return Array("/".utf8) + path }
        guard path.contains(UInt8(ascii: ".")) else { return path }
        var segments: [ArraySlice<UInt8>] = []
        let all = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in all.enumerated() {
            let isDot = segment.elementsEqual(".".utf8)
            let isParent = segment.elementsEqual("..".utf8)
            guard isDot || isParent else {
                segments.append(segment)
                continue
            }
            if isParent { _ = segments.popLast() }
            if index == all.count - 1 { segments.append([]) }
        }
        return segments.reduce(into: []) { $0 += [UInt8(ascii: "/")] + $1 }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

extension CacheAddress: CustomStringConvertible, CustomReflectable {
    /// The address without secrets.
    package var description: String { Redaction.standard.address(text) }

    /// A mirror that shows no secrets.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}
