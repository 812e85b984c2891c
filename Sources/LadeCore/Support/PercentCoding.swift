extension StringProtocol {
    /// The bytes with every `%NN` decoded; a `%` that starts no such triple stays.
    package var percentDecodedBytes: [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(utf8.count)
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let value = Self.hexadecimal(digits) {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    private static func hexadecimal(_ digits: some Collection<UInt8>) -> UInt8? {
        var value: UInt8 = 0
        for digit in digits {
            switch digit {
            case 0x30...0x39: value = (value << 4) | (digit &- 0x30)
            case 0x41...0x46, 0x61...0x66: value = (value << 4) | ((digit | 0x20) &- 0x57)
            default: return nil
            }
        }
        return value
    }
}

extension Collection<UInt8> {
    /// The octets, with those that are not kept percent-encoded (RFC 3986 §2.1).
    ///
    /// Everything that percent-encodes does it here.
    ///
    /// - Parameters:
    ///   - keepsTriples: Whether a `%NN` that is there already stays.
    ///   - isLowercase: Whether the digits of `NN` are in lower case, as in display strings (RFC 9651 §4.1.11).
    ///   - isKept: Which octets stay.
    /// - Returns: The encoded octets.
    package func percentEncoded(
        keepsTriples: Bool = false,
        isLowercase: Bool = false,
        where isKept: (UInt8) -> Bool
    ) -> [UInt8] {
        let digits: StaticString = isLowercase ? "0123456789abcdef" : "0123456789ABCDEF"
        var result: [UInt8] = []
        result.reserveCapacity(count)
        for (index, octet) in zip(indices, self) {
            if isKept(octet) || keepsTriples && octet == UInt8(ascii: "%") && startsTriple(at: index) {
                result.append(octet)
            } else {
                result.append(UInt8(ascii: "%"))
                result.append(digits.utf8Start[Int(octet >> 4)])
                result.append(digits.utf8Start[Int(octet & 15)])
            }
        }
        return result
    }

    /// The octets as text, with all but unreserved ones (RFC 3986 §2.3) and some others percent-encoded.
    package func percentEncoded(keeping others: StaticString = "", keepsTriples: Bool = false) -> String {
        String(
            decoding: percentEncoded(keepsTriples: keepsTriples) { octet in
                octet.isUnreserved || others.withUTF8Buffer { $0.contains(octet) }
            },
            as: UTF8.self
        )
    }

    private func startsTriple(at index: Index) -> Bool {
        let digits = self[index...].dropFirst().prefix(2)
        return digits.count == 2 && digits.allSatisfy { $0.hexadecimalValue != nil }
    }
}

extension UInt8 {
    /// Whether the octet needs no encoding in any part of an address (RFC 3986 §2.3).
    package var isUnreserved: Bool {
        isLetter || isDigit || self == 0x2D || self == 0x2E || self == 0x5F || self == 0x7E
    }
}
