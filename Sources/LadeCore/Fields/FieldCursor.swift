/// A position in the bytes of one field value that only moves forwards.
///
/// All field parsers read through it. Each byte is passed once, and read at most once more when it is copied. So every
/// parser built from these steps takes linear time.
package struct FieldCursor {
    /// The bytes that end a member of a list or a parameter.
    package struct Delimiters: OptionSet {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let comma = Delimiters(rawValue: 1)
        package static let semicolon = Delimiters(rawValue: 2)
    }

    /// A name with an optional value, read as tolerantly as possible: `name`, `name=token`, `name="quoted"`.
    package struct Pair {
        /// The name, in lower case.
        package let name: String
        /// The value, unquoted; `nil` without `=`.
        ///
        /// An unquoted value may contain any character but the delimiters.
        package let value: String?
        /// Whether the pair follows the grammar; what that means for the value depends on the field.
        package let isWellFormed: Bool
        /// Whether there is white space beside `=`, which most fields forbid and none gives a meaning.
        package var isSpaced = false
    }

    /// The name of the field that is being read, for errors.
    package let field: String
    private let bytes: [UInt8]
    /// The offset of the first byte within the value that errors refer to.
    private let origin: Int
    package private(set) var position = 0

    package init(_ bytes: [UInt8], field: String, origin: Int = 0) {
        self.bytes = bytes
        self.field = field
        self.origin = origin
    }

    package init(_ text: some StringProtocol, field: String, origin: Int = 0) {
        self.init(Array(text.utf8), field: field, origin: origin)
    }

    package var isAtEnd: Bool { position == bytes.count }

    /// The next byte, without passing it; `nil` at the end.
    package var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// The offset of the next byte, as errors state it.
    package var offset: Int { origin + position }

    package func error(_ reason: Headers.FieldError.Reason) -> Headers.FieldError {
        Headers.FieldError(field: field, reason: reason, offset: offset)
    }

    package func error(_ reason: Headers.FieldError.Reason, offset: Int) -> Headers.FieldError {
        Headers.FieldError(field: field, reason: reason, offset: offset)
    }

    package func text(_ range: Range<Int>) -> String { Self.text(bytes[range]) }

    /// The bytes of a range without white space at its end.
    package func octets(_ range: Range<Int>) -> [UInt8] {
        let end = bytes[range].lastIndex { !$0.isFieldWhitespace }.map { $0 + 1 } ?? range.lowerBound
        return Array(bytes[range.lowerBound..<end])
    }

    /// Decodes UTF-8.
    ///
    /// Bytes that are not UTF-8 are read as ISO-8859-1, which fields used historically (RFC 9110 §5.5).
    package static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Unicode.Scalar(byte)) }
        return String(text)
    }

    // MARK: - Steps

    package mutating func take() -> UInt8? {
        guard let byte = next else { return nil }
        position += 1
        return byte
    }

    package mutating func take(_ wanted: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: wanted) else { return false }
        position += 1
        return true
    }

    /// Passes all bytes that match, up to `limit` of them.
    @discardableResult
    package mutating func take(atMost limit: Int = .max, while fits: (UInt8) -> Bool) -> Range<Int> {
        let start = position
        while let byte = next, position - start < limit, fits(byte) { position += 1 }
        return start..<position
    }

    /// Passes optional white space, `OWS` or `BWS` (RFC 9110 §5.6.3).
    package mutating func skipWhitespace() { take(while: \.isFieldWhitespace) }

    /// Passes a token and returns it in lower case; `nil` if there is none (RFC 9110 §5.6.2).
    package mutating func lowercasedToken() -> String? {
        let range = take(while: \.isTokenCharacter)
        return range.isEmpty ? nil : String(decoding: bytes[range].lazy.map(\.lowercasedASCII), as: UTF8.self)
    }

    /// Passes a number of `minimum` to `maximum` digits (at most 18, which fit without overflow).
    package mutating func number(digits: ClosedRange<Int>) -> Int64? {
        let range = take(atMost: digits.upperBound, while: \.isDigit)
        guard digits.contains(range.count) else { return nil }
        return bytes[range].reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// Passes digits and returns their number of seconds, at most 2³¹ for any number of digits (RFC 9111 §1.2.2).
    package mutating func deltaSeconds() -> Int64? {
        let range = take(while: \.isDigit)
        guard !range.isEmpty else { return nil }
        return bytes[range].reduce(0) { min($0 * 10 + Int64($1 - 0x30), Self.deltaSecondsLimit) }
    }

    /// Where a number of seconds saturates: 2³¹, 68 years (RFC 9111 §1.2.2).
    package static let deltaSecondsLimit: Int64 = 1 << 31

    /// Passes a quoted string whose opening quote is next and returns its content unescaped (RFC 9110 §5.6.4).
    ///
    /// Without a closing quote it ends with the value, as RFC 8288 appendix B.4 reads it.
    package mutating func quotedString() -> (text: String, isClosed: Bool) {
        position += 1
        var content: [UInt8] = []
        while let byte = take() {
            if byte == UInt8(ascii: "\"") { return (Self.text(content), true) }
            if byte != UInt8(ascii: "\\") {
                content.append(byte)
            } else if let escaped = take() {
                content.append(escaped)
            }
        }
        return (Self.text(content), false)
    }

    // MARK: - Lists and parameters

    package func isAt(_ delimiters: Delimiters) -> Bool {
        switch next {
        case nil: true
        case UInt8(ascii: ","): delimiters.contains(.comma)
        case UInt8(ascii: ";"): delimiters.contains(.semicolon)
        default: false
        }
    }

    /// Passes everything up to a delimiter; a delimiter in a quoted string does not count.
    package mutating func skip(to delimiters: Delimiters) {
        while !isAt(delimiters) {
            if next == UInt8(ascii: "\"") { _ = quotedString() } else { position += 1 }
        }
    }

    /// Passes white space and commas between the members of a list; empty members are ignored (RFC 9110 §5.6.1.2).
    package mutating func skipEmptyMembers() { take { $0.isFieldWhitespace || $0 == UInt8(ascii: ",") } }

    /// Passes everything up to a delimiter and returns the pair that it contains; `nil` if there is no name.
    package mutating func pair(before delimiters: Delimiters) -> Pair? {
        guard let name = lowercasedToken() else {
            skip(to: delimiters)
            return nil
        }
        let gap = take(while: \.isFieldWhitespace)
        guard take("=") else {
            let isAlone = isAt(delimiters)
            skip(to: delimiters)
            return Pair(name: name, value: nil, isWellFormed: isAlone)
        }
        let isSpaced = !take(while: \.isFieldWhitespace).isEmpty || !gap.isEmpty
        guard next != UInt8(ascii: "\"") else {
            let (value, isClosed) = quotedString()
            skipWhitespace()
            let isWhole = isClosed && isAt(delimiters)
            skip(to: delimiters)
            return Pair(name: name, value: value, isWellFormed: isWhole, isSpaced: isSpaced)
        }
        let value = bareValue(before: delimiters)
        return Pair(name: name, value: value, isWellFormed: value.isToken, isSpaced: isSpaced)
    }

    /// Passes `*( OWS ";" OWS [ parameter ] )` (RFC 9110 §5.6.6) up to the end, or up to a comma if that delimits.
    package mutating func pairs(delimiters: Delimiters) -> [Pair] {
        var pairs: [Pair] = []
        while true {
            skipWhitespace()
            if take(";") {
                skipWhitespace()
                if !isAt(delimiters), let pair = pair(before: delimiters) { pairs.append(pair) }
            } else if isAt(delimiters) {
                return pairs
            } else {
                skip(to: delimiters)
            }
        }
    }

    /// Passes a value that is not quoted, and returns it without white space at its end.
    private mutating func bareValue(before delimiters: Delimiters) -> String {
        let start = position
        var end = position
        while !isAt(delimiters) {
            if let byte = take(), !byte.isFieldWhitespace { end = position }
        }
        return text(start..<end)
    }
}
