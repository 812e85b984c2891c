import LadeCore

/// Splitting field values at bytes outside of quoted strings, in linear time (RFC 9110 §5.6).
enum FieldMembers {
    /// The parts between the separators, without white space around them; separators in quoted strings do not count.
    static func split(_ bytes: some Sequence<UInt8>, at separator: UInt8) -> [[UInt8]] {
        var members: [[UInt8]] = []
        var member: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in bytes {
            if isQuoted {
                member.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isQuoted = false
                }
            } else if byte == separator {
                members.append(trimmed(member))
                member.removeAll(keepingCapacity: true)
            } else {
                if byte == UInt8(ascii: "\"") { isQuoted = true }
                member.append(byte)
            }
        }
        members.append(trimmed(member))
        return members
    }

    /// The members of all lines of a list, without empty ones.
    static func list(_ lines: [[UInt8]]) -> [[UInt8]] {
        lines.flatMap { split($0, at: UInt8(ascii: ",")).filter { !$0.isEmpty } }
    }

    /// The bytes without spaces and tabs at both ends.
    static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        guard let first = bytes.first, let last = bytes.last, isSpace(first) || isSpace(last) else { return bytes }
        guard let start = bytes.firstIndex(where: { !isSpace($0) }), let end = bytes.lastIndex(where: { !isSpace($0) })
        else { return [] }
        return Array(bytes[start...end])
    }

    /// A number that is digits and nothing else, at most `limit`; nil for anything else.
    static func number(_ bytes: some Collection<UInt8>, limit: Int64) -> Int64? {
        guard !bytes.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in bytes {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            // The value saturates before it could overflow.
            value = value > limit / 10 ? limit : min(value * 10 + Int64(byte - 0x30), limit)
        }
        return value
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

extension [UInt8] {
    /// The bytes with A–Z in lower case.
    var lowercasedASCII: [UInt8] { map(\.lowercasedASCII) }

    /// Whether the bytes are a token (RFC 9110 §5.6.2).
    var isToken: Bool { !isEmpty && allSatisfy(\.isTokenCharacter) }
}
