/// The bytes of a string or number of a document that was scanned.
struct JSONText {
    let bytes: UnsafeBufferPointer<UInt8>
    let isEscaped: Bool
    let isASCII: Bool

    @inline(__always)
    init(base: UnsafePointer<UInt8>, words: UnsafePointer<UInt64>, index: Int) {
        let word = IndexWord(bits: words[index])
        let short = word.shortLength
        let count = short == IndexWord.longLength ? Int(words[index &+ 1]) : short
        bytes = UnsafeBufferPointer(start: base + word.offset, count: count)
        isEscaped = word.flag
        isASCII = word.isASCII
    }

    @inline(__always)
    init(base: UnsafePointer<UInt8>, words: UnsafeMutablePointer<UInt64>, index: Int) {
        self.init(base: base, words: UnsafePointer(words), index: index)
    }

    /// The string; nil when it is not UTF-8 or has half of a surrogate pair.
    @inline(__always)
    func string() -> String? {
        if !isEscaped {
            if isASCII { return String(decoding: bytes, as: UTF8.self) }
            return Self.checked(bytes)
        }
        return unescaped()
    }

    /// A string of bytes that may not be UTF-8.
    @inline(never)
    static func checked(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        var string = String(decoding: bytes, as: UTF8.self)
        // Decoding replaces what is not valid, and a comparison is cheaper than checking first.
        let isSame = string.withUTF8 { decoded in
            guard decoded.count == bytes.count, let left = decoded.baseAddress, let right = bytes.baseAddress else {
                return decoded.isEmpty && bytes.isEmpty
            }
            return Bytes.areEqual(left, right, bytes.count)
        }
        return isSame ? string : nil
    }

    @inline(never)
    private func unescaped() -> String? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count) { buffer in
            guard let target = buffer.baseAddress, let source = bytes.baseAddress else { return nil }
            guard let count = Self.unescape(source, bytes.count, to: target) else { return nil }
            let text = UnsafeBufferPointer(start: target, count: count)
            return isASCII ? String(decoding: text, as: UTF8.self) : Self.checked(text)
        }
    }

    /// Writes the bytes that an escaped string stands for; nil when half of a surrogate pair stands alone.
    ///
    /// The escapes are those that the scanner lets through. The result is never longer than the source.
    static func unescape(
        _ source: UnsafePointer<UInt8>,
        _ count: Int,
        to target: UnsafeMutablePointer<UInt8>
    ) -> Int? {
        var read = 0
        var written = 0
        while read < count {
            // Eight bytes are copied at once: those beyond a backslash are written again later.
            while count &- read >= 8 {
                let word = Bytes.word(source + read)
                UnsafeMutableRawPointer(target + written).storeBytes(of: word.littleEndian, as: UInt64.self)
                let plain = Bytes.firstBackslash(word)
                read &+= plain
                written &+= plain
                if plain < 8 { break }
            }
            guard read < count else { break }
            let byte = source[read]
            guard byte == UInt8(ascii: "\\") else {
                target[written] = byte
                read &+= 1
                written &+= 1
                continue
            }
            let kind = source[read &+ 1]
            guard kind == UInt8(ascii: "u") else {
                target[written] = Self.escaped(kind)
                read &+= 2
                written &+= 1
                continue
            }
            var value = codeUnit(source + (read &+ 2))
            read &+= 6
            if value & 0xF800 == 0xD800 {
                guard value < 0xDC00, count &- read >= 6, source[read] == UInt8(ascii: "\\"),
                    source[read &+ 1] == UInt8(ascii: "u")
                else { return nil }
                let low = codeUnit(source + (read &+ 2))
                guard low & 0xFC00 == 0xDC00 else { return nil }
                value = 0x10000 &+ ((value &- 0xD800) << 10) &+ (low &- 0xDC00)
                read &+= 6
            }
            written &+= write(value, to: target + written)
        }
        return written
    }

    @inline(__always)
    private static func write(_ scalar: UInt32, to target: UnsafeMutablePointer<UInt8>) -> Int {
        if scalar < 0x80 {
            target[0] = UInt8(scalar)
            return 1
        }
        if scalar < 0x800 {
            target[0] = UInt8(0xC0 | scalar >> 6)
            target[1] = UInt8(0x80 | scalar & 0x3F)
            return 2
        }
        if scalar < 0x10000 {
            target[0] = UInt8(0xE0 | scalar >> 12)
            target[1] = UInt8(0x80 | (scalar >> 6) & 0x3F)
            target[2] = UInt8(0x80 | scalar & 0x3F)
            return 3
        }
        target[0] = UInt8(0xF0 | scalar >> 18)
        target[1] = UInt8(0x80 | (scalar >> 12) & 0x3F)
        target[2] = UInt8(0x80 | (scalar >> 6) & 0x3F)
        target[3] = UInt8(0x80 | scalar & 0x3F)
        return 4
    }

    @inline(__always)
    private static func codeUnit(_ digits: UnsafePointer<UInt8>) -> UInt32 {
        var value: UInt32 = 0
        for place in 0..<4 { value = value << 4 | UInt32(hexadecimal(digits[place])) }
        return value
    }

    /// The value of a hexadecimal digit; 255 when it is none.
    @inline(__always)
    static func hexadecimal(_ digit: UInt8) -> UInt8 {
        let decimal = digit &- 0x30
        if decimal <= 9 { return decimal }
        let letter = (digit | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : 255
    }

    @inline(__always)
    private static func escaped(_ kind: UInt8) -> UInt8 {
        switch kind {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: kind
        }
    }
}
