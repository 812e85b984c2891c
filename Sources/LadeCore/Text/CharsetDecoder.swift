/// Converts text in a charset to UTF-8, in pieces that may end anywhere.
///
/// Bytes that mean nothing become U+FFFD. Invalid UTF-8 is passed on as it is, unless it comes with another charset's
/// label.
package struct CharsetDecoder: Sendable {
    private var form: Charset.Form
    private let exceptions: [UInt8: Unicode.Scalar]
    private var converter: PlatformConverter?
    /// Bytes that the next piece may complete.
    private var rest: [UInt8] = []
    private var isBegun = false
    private var high: UInt16?
    /// Whether bytes were replaced.
    package private(set) var isMalformed = false

    /// Makes a decoder for one text.
    package init(_ charset: Charset) {
        form = charset.form
        exceptions = CharsetLabels.exceptions[charset.name] ?? [:]
        if case .platform(let name) = form { converter = PlatformConverter(name) }
    }

    /// The next piece in UTF-8.
    package mutating func decode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        rest += bytes
        return isBegun || begin(isLast: false) ? convert(isLast: false) : []
    }

    /// The rest at the end.
    package mutating func end() -> [UInt8] {
        if !isBegun { _ = begin(isLast: true) }
        return convert(isLast: true)
    }

    /// Looks for a byte order mark (Encoding Standard §6); false when more bytes are needed.
    private mutating func begin(isLast: Bool) -> Bool {
        let marks: [([UInt8], Charset)] = [
            ([0xEF, 0xBB, 0xBF], .utf8), ([0xFE, 0xFF], .utf16BigEndian), ([0xFF, 0xFE], .utf16LittleEndian),
        ]
        if case .units(4, let isBigEndian) = form {
            let mark: [UInt8] = isBigEndian ? [0, 0, 0xFE, 0xFF] : [0xFF, 0xFE, 0, 0]
            if !isLast, rest.count < 4 { return false }
            if rest.starts(with: mark) { rest.removeFirst(4) }
            isBegun = true
            return true
        }
        if let (mark, charset) = marks.first(where: { rest.starts(with: $0.0) }) {
            rest.removeFirst(mark.count)
            form = charset.form
        } else if !isLast, marks.contains(where: { $0.0.starts(with: rest) }) {
            return false
        }
        isBegun = true
        return true
    }

    private mutating func convert(isLast: Bool) -> [UInt8] {
        switch form {
        case .utf8:
            defer { rest = [] }
            return rest
        case .table(let table):
            defer { rest = [] }
            var text = String.UnicodeScalarView()
            for byte in rest {
                text.append(byte < 0x80 ? Unicode.Scalar(byte) : table[Int(byte) - 0x80] ?? replacement())
            }
            return Array(String(text).utf8)
        case .units(let size, let isBigEndian): return units(size, isBigEndian, isLast: isLast)
        case .platform:
            let converted = converter?.convert(&rest, isLast: isLast, exceptions)
            isMalformed = isMalformed || converted?.isMalformed ?? true
            return converted?.text ?? []
        }
    }

    private mutating func units(_ size: Int, _ isBigEndian: Bool, isLast: Bool) -> [UInt8] {
        var text = String.UnicodeScalarView()
        let whole = rest.count / size * size
        for start in stride(from: 0, to: whole, by: size) {
            let bytes = rest[start..<start + size]
            let unit = (isBigEndian ? Array(bytes) : bytes.reversed()).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            if size == 4 {
                text.append(Unicode.Scalar(unit) ?? replacement())
            } else {
                append(UInt16(truncatingIfNeeded: unit), to: &text)
            }
        }
        rest.removeFirst(whole)
        if isLast, high != nil || !rest.isEmpty {
            text.append(replacement())
            (rest, high) = ([], nil)
        }
        return Array(String(text).utf8)
    }

    /// Appends a unit of UTF-16.
    private mutating func append(_ unit: UInt16, to text: inout String.UnicodeScalarView) {
        if let first = high {
            high = nil
            if UTF16.isTrailSurrogate(unit) {
                let number = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(unit) - 0xDC00)
                text.append(Unicode.Scalar(number) ?? replacement())
                return
            }
            text.append(replacement())
        }
        if UTF16.isLeadSurrogate(unit) {
            high = unit
        } else {
            text.append(Unicode.Scalar(unit) ?? replacement())
        }
    }

    private mutating func replacement() -> Unicode.Scalar {
        isMalformed = true
        return "\u{FFFD}"
    }
}
