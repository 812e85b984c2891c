/// A host in its normal form, in which it is compared: for origins, cookies, pins, limits and connecting.
///
/// | written | normal form |
/// | --- | --- |
/// | `API.Example.COM.` | `api.example.com` |
/// | `ex%61mple.org` | `example.org` |
/// | `bücher.example` | `xn--bcher-kva.example` |
/// | `127.1`, `0x7f.1`, `2130706433` | `127.0.0.1` |
/// | `[1:0::]` | `1::` |
/// | `[example.org]`, `a..b`, `1.2.3.4.5`, more than 253 bytes | none |
///
/// Percent escapes are decoded (RFC 3986 §6.2.2), letters become lower case, and one dot at the end is dropped. A name
/// whose labels are all numbers is an IPv4 address in any of the forms that `inet_aton` reads, and otherwise no host.
/// `shop.7` is a name, because no function reads it as an address. An IPv6 address is written as in RFC 5952. A name in another script becomes its A-labels (RFC 5890, UTS 46).
package struct NormalHost: Sendable, Hashable {
    /// The kinds of host.
    package enum Kind: Sendable, Hashable {
        /// A name.
        case name
        /// An IPv4 address.
        case ipv4
        /// An IPv6 address.
        case ipv6
    }

    /// The most bytes of a name (RFC 1035 §2.3.4).
    package static let nameLimit = 253
    private static let labelLimit = 63

    /// The normal form, an IPv6 address without brackets.
    package let text: String
    /// The kind of the host.
    package let kind: Kind

    /// Whether it is an address rather than a name.
    package var isAddress: Bool { kind != .name }

    /// Whether it is this machine: `localhost` and names below it (RFC 6761 §6.3), 127.0.0.0/8 and `::1`.
    package var isLoopback: Bool {
        switch kind {
        case .name: text == "localhost" || text.hasSuffix(".localhost")
        case .ipv4: text.hasPrefix("127.")
        case .ipv6: text == "::1" || text.hasPrefix("::ffff:127.")
        }
    }

    /// The host as it is written in an address: an IPv6 address in brackets, the percent sign of its zone encoded.
    package var inURL: String {
        guard kind == .ipv6 else { return text }
        guard let zone = text.utf8.firstIndex(of: UInt8(ascii: "%")) else { return "[\(text)]" }
        return "[\(text[..<zone])%25\(text[text.utf8.index(after: zone)...])]"
    }

    /// Finds the normal form; nil when there is none.
    package init?(_ written: String) {
        self.init(bytes: written.utf8)
    }

    /// Finds the normal form of a host written in these bytes, an IPv6 address with or without brackets.
    package init?(bytes written: some Collection<UInt8>) {
        // A percent escape has three bytes for one. A text longer than three times the limit has no normal form and is not copied.
        guard written.count <= 3 * (Self.nameLimit + 1) else { return nil }
        if let host = Self.plainName(written) {
            (text, kind) = (host, .name)
            return
        }
        if written.contains(UInt8(ascii: ":")) || written.first == UInt8(ascii: "[") {
            guard let address = Self.ipv6(Array(written)) else { return nil }
            (text, kind) = (address, .ipv6)
            return
        }
        guard var name = Self.decoded(written) else { return nil }
        if name.contains(where: { $0 >= 0x80 }) {
            guard let ascii = InternationalName.ascii(name) else { return nil }
            name = ascii
        }
        if name.last == UInt8(ascii: ".") { name.removeLast() }
        guard Self.isName(name) else { return nil }
        if Self.consistsOfNumbers(name) {
            guard let address = Self.ipv4(name) else { return nil }
            (text, kind) = (address, .ipv4)
        } else {
            (text, kind) = (String(decoding: name, as: UTF8.self), .name)
        }
    }

    /// Whether bytes are a name, or an address in four decimal parts, that needs no change.
    ///
    /// Letter case and a dot at the end do not count.
    package static func isPlain(_ host: some Collection<UInt8>) -> Bool {
        host.withContiguousStorageIfAvailable(isPlain) ?? Array(host).withUnsafeBufferPointer(isPlain)
    }

    // Not generic, because every request parses its host.
    private static func isPlain(_ host: UnsafeBufferPointer<UInt8>) -> Bool {
        let count = host.count
        var label = 0
        var index = 0
        var isNumber = true
        var dots = 0
        var part = 0
        var areDecimal = true
        while index < count {
            let byte = host[index]
            index += 1
            if byte == UInt8(ascii: ".") {
                guard label > 0 else { return false }
                areDecimal = areDecimal && isNumber && part < 256
                (label, isNumber, part) = (0, true, 0)
                dots += 1
                continue
            }
            guard byte.isHostNameByte else { return false }
            label += 1
            guard label <= labelLimit else { return false }
            if byte.isDigit {
                // A leading zero makes the part an octal number.
                if label > 1, part == 0 { areDecimal = false }
                part = min(part * 10 + Int(byte - 0x30), 1_000)
            } else {
                // `0x7f` is a number too; the full parser decides.
                if byte | 0x20 == UInt8(ascii: "x"), label == 2, part == 0, isNumber { return false }
                isNumber = false
            }
        }
        guard count > 0, count <= nameLimit || (label == 0 && count == nameLimit + 1) else { return false }
        // Only the full parser can handle a number before the dot at the end.
        guard label > 0 else { return dots > 0 && !host.dropLast().endsWithDigit }
        return !isNumber || (dots == 3 && areDecimal && part < 256)
    }

    /// The text of a name that ``isPlain(_:)`` accepts.
    private static func plainName(_ host: some Collection<UInt8>) -> String? {
        guard isPlain(host), !host.endsWithDigit else { return nil }
        let count = host.count
        let endsWithDot = host.dropFirst(count - 1).first == UInt8(ascii: ".")
        return String(decoding: host.prefix(endsWithDot ? count - 1 : count).map(\.lowercasedASCII), as: UTF8.self)
    }

    /// The bytes in lower case with escapes decoded; nil for a percent sign that starts no escape.
    private static func decoded(_ written: some Collection<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var rest = written[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte.lowercasedASCII)
                continue
            }
            guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else {
                return nil
            }
            result.append((high << 4 | low).lowercasedASCII)
        }
        return result
    }

    private static func isName(_ name: [UInt8]) -> Bool {
        guard (1...nameLimit).contains(name.count), name.allSatisfy({ $0.isHostNameByte || $0 == 0x2E }) else {
            return false
        }
        let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return labels.allSatisfy { (1...labelLimit).contains($0.count) }
    }

    /// Whether every label is a number in decimal, octal or hexadecimal.
    private static func consistsOfNumbers(_ name: [UInt8]) -> Bool {
        name.split(separator: UInt8(ascii: ".")).allSatisfy { label in
            if label.allSatisfy(\.isDigit) { return true }
            return label.starts(with: "0x".utf8) && label.dropFirst(2).allSatisfy { $0.hexadecimalValue != nil }
        }
    }
}

// MARK: - Addresses

extension NormalHost {
    /// Four decimal parts from one to four parts in decimal, octal or hexadecimal; the last part fills the remaining
    /// bytes.
    private static func ipv4(_ name: [UInt8]) -> String? {
        let parts = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 4 else { return nil }
        var address: UInt64 = 0
        for (index, part) in parts.enumerated() {
            guard let value = number(part) else { return nil }
            let isLast = index == parts.count - 1
            guard value < (isLast ? 1 << (8 * UInt64(5 - parts.count)) : 256) else { return nil }
            address = isLast ? address << (8 * UInt64(5 - parts.count)) | value : address << 8 | value
        }
        return dotted(UInt32(truncatingIfNeeded: address))
    }

    private static func dotted(_ address: UInt32) -> String {
        [24, 16, 8, 0].map { String(address >> $0 & 0xFF) }.joined(separator: ".")
    }

    private static func number(_ part: ArraySlice<UInt8>) -> UInt64? {
        var digits = part
        var radix: UInt64 = 10
        if part.starts(with: "0x".utf8) {
            (digits, radix) = (part.dropFirst(2), 16)
        } else if part.count > 1, part.first == UInt8(ascii: "0") {
            radix = 8
        }
        var value: UInt64 = 0
        for digit in digits {
            guard let next = digit.hexadecimalValue, UInt64(next) < radix else { return nil }
            value = min(value * radix + UInt64(next), 1 << 40)
        }
        return value
    }

    /// An address in brackets with a zone after `%25`, or without brackets and with a zone after `%` (RFC 4291 §2.2,
    /// RFC 6874).
    private static func ipv6(_ written: [UInt8]) -> String? {
        var inner = written[...]
        let isBracketed = inner.first == UInt8(ascii: "[")
        if isBracketed {
            guard inner.last == UInt8(ascii: "]"), inner.count > 2 else { return nil }
            inner = inner.dropFirst().dropLast()
        }
        var zone: ArraySlice<UInt8>?
        if let percent = inner.firstIndex(of: UInt8(ascii: "%")) {
            var rest = inner[(percent + 1)...]
            if isBracketed {
                guard rest.starts(with: "25".utf8) else { return nil }
                rest = rest.dropFirst(2)
            }
            guard !rest.isEmpty, rest.count <= labelLimit, rest.allSatisfy({ $0.isHostNameByte || $0 == 0x2E }) else {
                return nil
            }
            (inner, zone) = (inner[..<percent], rest)
        }
        guard let groups = groups(of: inner) else { return nil }
        return text(of: groups) + (zone.map { "%" + String(decoding: $0, as: UTF8.self) } ?? "")
    }

    private static func groups(of text: ArraySlice<UInt8>) -> [UInt16]? {
        guard text.count <= 45 else { return nil }
        var pieces = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard pieces.count >= 3 else { return nil }
        // `::` at either end leaves two empty pieces there; one of them is the gap.
        if pieces[0].isEmpty {
            guard pieces[1].isEmpty else { return nil }
            pieces.removeFirst()
        }
        if pieces[pieces.count - 1].isEmpty {
            guard pieces[pieces.count - 2].isEmpty else { return nil }
            if pieces.count > 1 { pieces.removeLast() }
        }
        var groups: [UInt16] = []
        var gap: Int?
        for (index, piece) in pieces.enumerated() {
            if piece.isEmpty {
                guard gap == nil else { return nil }
                gap = groups.count
            } else if piece.contains(UInt8(ascii: ".")) {
                guard index == pieces.count - 1, let address = strictIPv4(piece) else { return nil }
                groups += [UInt16(address >> 16), UInt16(truncatingIfNeeded: address)]
            } else {
                guard piece.count <= 4, piece.allSatisfy({ $0.hexadecimalValue != nil }) else { return nil }
                groups.append(piece.reduce(0) { $0 << 4 | UInt16($1.hexadecimalValue ?? 0) })
            }
        }
        guard let gap else { return groups.count == 8 ? groups : nil }
        guard groups.count < 8 else { return nil }
        groups.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
        return groups
    }

    private static func strictIPv4(_ text: ArraySlice<UInt8>) -> UInt32? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var address: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.count), part.allSatisfy(\.isDigit), part.count == 1 || part.first != 0x30,
                let value = number(part), value < 256
            else { return nil }
            address = address << 8 | UInt32(value)
        }
        return address
    }

    /// Lower case, no leading zeros, `::` for the longest run of zero groups, the first of equal ones (RFC 5952 §4).
    private static func text(of groups: [UInt16]) -> String {
        if groups[..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xFFFF {
            return "::ffff:" + dotted(UInt32(groups[6]) << 16 | UInt32(groups[7]))
        }
        var longest = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > max(1, longest.count) { longest = start..<end }
            start = max(end, start + 1)
        }
        let words = groups.map { String($0, radix: 16) }
        guard !longest.isEmpty else { return words.joined(separator: ":") }
        return words[..<longest.lowerBound].joined(separator: ":") + "::"
            + words[longest.upperBound...].joined(separator: ":")
    }
}

extension NormalHost: CustomStringConvertible {
    /// The normal form.
    package var description: String { text }
}

extension Collection<UInt8> {
    /// Whether the last byte is a digit.
    fileprivate var endsWithDigit: Bool { dropFirst(Swift.max(0, count - 1)).first?.isDigit == true }
}

extension UInt8 {
    /// The bytes that a label of a host name may consist of: letters, digits, hyphens, and the other unreserved
    /// characters.
    var isHostNameByte: Bool {
        isLetter || isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_") || self == UInt8(ascii: "~")
    }
}
