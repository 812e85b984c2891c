/// The bytes of a string or number in a scanned document.
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

    /// The string; nil for invalid UTF-8 and for half of a surrogate pair.
    @inline(__always)
    func string() -> String? {
        if !isEscaped {
            if isASCII { return String(decoding: bytes, as: UTF8.self) }
            return Self.checked(bytes)
        }
        return unescaped()
    }

    /// Makes a string from bytes that may not be valid UTF-8; nil if they are not.
    @inline(never)
    static func checked(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        var string = String(decoding: bytes, as: UTF8.self)
        // Decoding replaces invalid bytes; comparing the result is cheaper than validating first.
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
            guard let count = Self.unescape(source, bytes.count, to: target, .refused) else { return nil }
            let text = UnsafeBufferPointer(start: target, count: count)
            return isASCII ? String(decoding: text, as: UTF8.self) : Self.checked(text)
        }
    }

    /// How half of an escaped surrogate pair is handled.
    enum LoneSurrogates {
        case refused
        /// It is replaced by U+FFFD.
        case replaced
    }

    /// The text of a string that a splitter has validated, which allows lone surrogates.
    static func replacingLoneSurrogates(_ raw: ArraySlice<UInt8>) -> String {
        raw.withUnsafeBufferPointer { raw in
            guard let source = raw.baseAddress, raw.contains(UInt8(ascii: "\\")) else {
                return String(decoding: raw, as: UTF8.self)
            }
            return String(unsafeUninitializedCapacity: raw.count) { target in
                target.baseAddress.flatMap { unescape(source, raw.count, to: $0, .replaced) } ?? 0
            }
        }
    }

    /// The reason and the offset within the string for which ``string()`` is nil.
    func fault() -> (reason: JSONError.Reason, offset: Int) {
        var checked = 0
        var rest = bytes[...]
        while let byte = rest.first {
            if byte == UInt8(ascii: "\\") {
                let isUnit = rest.count >= 6 && rest[rest.startIndex + 1] == UInt8(ascii: "u")
                let length = isUnit ? 6 : 2
                if isUnit, let start = bytes.baseAddress {
                    let unit = Self.codeUnit(start + (rest.startIndex + 2))
                    if unit & 0xF800 == 0xD800 {
                        let next = rest.dropFirst(6)
                        guard Self.pair(unit, start + next.startIndex, next.count) != nil else {
                            return (.loneSurrogate, rest.startIndex)
                        }
                        rest = next
                    }
                }
                rest = rest.dropFirst(length)
                continue
            }
            checked = rest.startIndex
            let length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
            guard String(validating: rest.prefix(length), as: UTF8.self) != nil else { break }
            rest = rest.dropFirst(length)
        }
        return (.invalidUTF8, checked)
    }

    /// Writes the bytes of a string with its escapes resolved; nil when half of a surrogate pair is rejected.
    ///
    /// The scanner has validated the escapes. The result is never longer than the source.
    static func unescape(
        _ source: UnsafePointer<UInt8>,
        _ count: Int,
        to target: UnsafeMutablePointer<UInt8>,
        _ loneSurrogates: LoneSurrogates
    ) -> Int? {
        var read = 0
        var written = 0
        while read < count {
            // Eight bytes are copied at a time; those after a backslash are overwritten later.
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
                if let pair = pair(value, source + read, count &- read) {
                    value = pair
                    read &+= 6
                } else {
                    guard loneSurrogates == .replaced else { return nil }
                    value = 0xFFFD
                }
            }
            written &+= write(value, to: target + written)
        }
        return written
    }

    /// The scalar of a surrogate pair in two escapes; nil when they are not a pair.
    private static func pair(_ high: UInt32, _ next: UnsafePointer<UInt8>, _ count: Int) -> UInt32? {
        guard high < 0xDC00, count >= 6, next[0] == UInt8(ascii: "\\"), next[1] == UInt8(ascii: "u") else { return nil }
        let low = codeUnit(next + 2)
        guard low & 0xFC00 == 0xDC00 else { return nil }
        return 0x10000 &+ ((high &- 0xD800) << 10) &+ (low &- 0xDC00)
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

    /// The value of a hexadecimal digit; 255 for any other byte.
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
