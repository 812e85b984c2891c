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
