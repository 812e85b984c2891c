extension UInt8 {
    /// Whether the byte may stand in a token: a method, a field name, a parameter name (RFC 9110 §5.6.2).
    @inlinable package var isTokenCharacter: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
        default: false
        }
    }

    /// Whether the byte may stand in a field value: visible, space, tab or above ASCII (RFC 9110 §5.5).
    @inlinable package var isFieldContent: Bool {
        self >= 0x20 ? self != 0x7F : self == 0x09
    }

    /// The byte with A–Z folded to a–z.
    @inlinable package var lowercasedASCII: UInt8 {
        self &- 0x41 < 26 ? self | 0x20 : self
    }
}

extension String {
    /// Whether two texts are equal when A–Z and a–z are not told apart; other characters compare as they are.
    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        let count = utf8.count
        guard count == other.utf8.count else { return false }
        // Swift's own strings are contiguous; what is not (bridged ones on Apple platforms) goes the long way.
        let isEqual = utf8.withContiguousStorageIfAvailable { mine in
            other.utf8.withContiguousStorageIfAvailable { theirs in
                for index in 0..<count where mine[index] != theirs[index] {
                    guard mine[index].lowercasedASCII == theirs[index].lowercasedASCII else { return false }
                }
                return true
            }
        }
        if let isEqual, let isEqual { return isEqual }
        return zip(utf8, other.utf8).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
    }
}

extension String {
    /// The text with control characters written as `\xNN`, cut after `limit` characters.
    ///
    /// Whatever a server sent goes through this before it is put into a message that a terminal may show.
    package func escapedForDisplay(limit: Int = 200) -> String {
        var result = ""
        for (count, scalar) in unicodeScalars.enumerated() {
            guard count < limit else { return result + "…" }
            if scalar.rewritesDisplay {
                let value = scalar.value
                let digits = String(value, radix: 16, uppercase: true)
                result += value < 0x100 ? "\\x" + (digits.count < 2 ? "0" : "") + digits : "\\u{" + digits + "}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension Unicode.Scalar {
    /// Whether the character can change what a reader sees around it: C0, DEL, C1 and the bidirectional controls.
    package var rewritesDisplay: Bool {
        value < 0x20 || (0x7F...0x9F).contains(value)
            || (0x200E...0x200F).contains(value) || (0x202A...0x202E).contains(value)
            || (0x2066...0x2069).contains(value) || value == 0x061C
    }
}
