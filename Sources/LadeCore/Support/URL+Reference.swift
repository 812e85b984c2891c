#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension URL {
    /// Resolves an address that a server sent: a URI or a relative reference, as it was received (RFC 3986 §5.2.2).
    ///
    /// Only octets that an address must not contain are percent-encoded; escapes stay unchanged. Dot segments are
    /// removed, even where the reference has a scheme or an authority, and even where their dots are encoded. Nil for a
    /// control character, or when the result cannot be parsed.
    ///
    /// - Parameters:
    ///   - reference: The octets, without white space around them.
    ///   - base: The absolute address that it is relative to.
    package init?(reference: some Sequence<UInt8>, against base: URL) {
        guard let reference = AddressReference(reference) else { return nil }
        guard let resolved = AddressReference(base.absoluteString.utf8)?.resolving(reference) else { return nil }
        self.init(string: resolved.text, encodingInvalidCharacters: false)
    }

    /// The same for a reference in a text; see ``init(reference:against:)``.
    package init?(reference: String, against base: URL) {
        self.init(reference: reference.utf8, against: base)
    }

    /// The address with its host in normal form, so that a transport cannot interpret the host differently.
    ///
    /// The case of letters and a dot at the end stay. An address whose host has no normal form stays, too, and is refused by
    /// ``Request/validate()``. Its parts are given with it, because they are read many times.
    package var withNormalHost: (url: URL, parts: AddressParts) {
        let address = absoluteString
        let parts = AddressParts(address)
        guard let scheme = parts.scheme, scheme != .other, !parts.hostIsPlain, !parts.hostIsEmpty else {
            return (self, parts)
        }
        let utf8 = address.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: parts.host.lowerBound)
        let end = utf8.index(start, offsetBy: parts.host.count)
        guard let host = NormalHost(bytes: utf8[start..<end])?.inURL, !host.utf8.elementsEqual(utf8[start..<end]),
            let normal = URL(string: address[..<start] + host + address[end...], encodingInvalidCharacters: false)
        else { return (self, parts) }
        return (normal, AddressParts(normal.absoluteString))
    }

    /// The path without dot segments, `/` for an empty one; cookie paths and scopes are compared with it.
    package var normalPath: String {
        let path = path(percentEncoded: true)
        guard path.utf8.first == UInt8(ascii: "/") else { return "/" }
        guard path.utf8.contains(UInt8(ascii: ".")) || path.utf8.contains(UInt8(ascii: "%")) else { return path }
        return String(decoding: AddressReference.withoutDotSegments(Array(path.utf8)), as: UTF8.self)
    }
}

/// The components of a URI reference as octets (RFC 3986 appendix B), each with only the octets allowed in it.
private struct AddressReference {
    private var scheme: [UInt8]?
    private var authority: [UInt8]?
    private var path: [UInt8]
    private var query: [UInt8]?
    private var fragment: [UInt8]?

    /// Splits a reference into components; nil with a control character.
    init?(_ octets: some Sequence<UInt8>) {
        var rest = Array(octets)[...]
        guard rest.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
            fragment = Self.encoded(rest[(hash + 1)...])
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = Self.encoded(rest[(mark + 1)...])
            rest = rest[..<mark]
        }
        if let colon = rest.firstIndex(of: UInt8(ascii: ":")), rest.first?.isLetter == true,
            rest[..<colon].allSatisfy({ $0.isLetter || $0.isDigit || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E })
        {
            scheme = Array(rest[..<colon])
            rest = rest[(colon + 1)...]
        }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = Self.encoded(rest[..<end], allowing: "[]")
            rest = rest[end...]
        }
        path = Self.encoded(rest)
    }

    /// The reference resolved against this address (RFC 3986 §5.2.2).
    func resolving(_ reference: AddressReference) -> AddressReference {
        var target = reference
        if reference.scheme == nil {
            target.scheme = scheme
            if reference.authority == nil {
                target.authority = authority
                if reference.path.isEmpty {
                    target.path = path
                    target.query = reference.query ?? query
                    return target
                }
                if reference.path.first != UInt8(ascii: "/") { target.path = folder + reference.path }
            }
        }
        target.path = Self.withoutDotSegments(target.path)
        return target
    }

    /// The folder that a relative path is appended to (§5.2.3).
    private var folder: ArraySlice<UInt8> {
        if authority != nil, path.isEmpty { return [UInt8(ascii: "/")] }
        return path[...(path.lastIndex(of: UInt8(ascii: "/")) ?? -1)]
    }

    /// The reference as text (§5.3).
    var text: String {
        var octets: [UInt8] = []
        if let scheme { octets += scheme + ":".utf8 }
        if let authority { octets += "//".utf8 + authority }
        octets += path
        if let query { octets += "?".utf8 + query }
        if let fragment { octets += "#".utf8 + fragment }
        return String(decoding: octets, as: UTF8.self)
    }

    /// A path without `.` and `..` segments (§5.2.4), whose dots may be written as `%2e`.
    static func withoutDotSegments(_ path: [UInt8]) -> [UInt8] {
        guard path.first == UInt8(ascii: "/") else { return path }
        var segments: [ArraySlice<UInt8>] = []
        let all = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in all.enumerated() {
            let dots = dots(segment)
            guard dots > 0 else {
                segments.append(segment)
                continue
            }
            if dots == 2 { _ = segments.popLast() }
            // A dot segment at the end names a folder.
            if index == all.count - 1 { segments.append([]) }
        }
        return segments.reduce(into: []) { $0 += "/".utf8 + $1 }
    }

    /// 1 for `.`, 2 for `..`, 0 for every other segment.
    private static func dots(_ segment: ArraySlice<UInt8>) -> Int {
        var rest = segment
        var count = 0
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2, rest.popFirst() == 0x32,
                rest.popFirst()?.lowercasedASCII == 0x65
            {
                count += 1
            } else if byte == UInt8(ascii: ".") {
                count += 1
            } else {
                return 0
            }
            if count > 2 { return 0 }
        }
        return count
    }

    /// The octets, with those encoded that the component must not contain.
    private static func encoded(_ octets: ArraySlice<UInt8>, allowing extra: StaticString = "") -> [UInt8] {
        octets.percentEncoded(keepsTriples: true) {
            $0 != UInt8(ascii: "%") && ($0.isAddressOctet || extra.contains($0))
        }
    }
}

extension StaticString {
    fileprivate func contains(_ octet: UInt8) -> Bool { withUTF8Buffer { $0.contains(octet) } }
}

extension UInt8 {
    /// Whether every component of an address may contain the octet: unreserved, `sub-delims`, `:`, `@`, `/` and `?`.
    fileprivate var isAddressOctet: Bool {
        if isLetter || isDigit { return true }
        return switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "!"),
            UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"),
            UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="),
            UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "/"), UInt8(ascii: "?"):
            true
        default: false
        }
    }
}
