/// Why and where a text is not JSON (RFC 8259), or not JSON that can be accepted.
public struct JSONFault: Error, Sendable, Hashable {
    /// The rule that was broken.
    @nonexhaustive
    public enum Reason: Sendable, Hashable {
        /// A byte that is not allowed at its position.
        case unexpectedByte(UInt8)
        /// The text ends before the document does.
        case unexpectedEnd
        /// Something other than white space follows the document.
        case trailingContent
        /// A control character within a string is not escaped.
        case controlCharacter
        /// An escape within a string is not one of JSON's.
        case invalidEscape
        /// Half of a surrogate pair is escaped without the other.
        case loneSurrogate
        /// The bytes of a string, or of the whole text, are not in the encoding that the text is in.
        case invalidUTF8
        /// A number is not written as JSON writes numbers.
        case invalidNumber
        /// A number does not fit into the type asked for.
        case numberOutOfRange
        /// The nesting of arrays and objects is deeper than allowed.
        case nestingTooDeep(limit: Int)
        /// An item of a list has more bytes than allowed.
        case itemTooLarge(limit: Int)
        /// A value that was asked for, or a name on the path to it, has more bytes than allowed.
        case valueTooLarge(limit: Int)
        /// The list occurs twice, so that no order of its items is right.
        case repeatedList
    }

    /// The rule that was broken.
    public let reason: Reason
    /// The position in the document, in bytes from its beginning.
    public let offset: Int64
    /// The line, from 1.
    public let line: Int
    /// The position in the line in bytes, from 1.
    public let column: Int
    /// The value within the document that the fault is in, as far as it is known.
    public let path: JSONPointer

    /// Makes a fault.
    public init(_ reason: Reason, offset: Int64, line: Int = 1, column: Int? = nil, path: JSONPointer = []) {
        self.reason = reason
        self.offset = offset
        self.line = line
        self.column = column ?? Int(clamping: offset) + 1
        self.path = path
    }

    /// Makes a fault of a document that is in memory, whose lines are counted.
    init(_ reason: Reason, offset: Int, in bytes: UnsafeBufferPointer<UInt8>, path: JSONPointer = []) {
        var place = JSONPiece.Place()
        if let base = bytes.baseAddress { place.pass(base, min(offset, bytes.count)) }
        self = place.fault(reason, path: path)
    }

    /// The same fault in a document with a byte order mark in front.
    func moved(_ markLength: Int) -> JSONFault {
        guard markLength > 0 else { return self }
        return JSONFault(
            reason,
            offset: offset + Int64(markLength),
            line: line,
            column: line == 1 ? column + markLength : column,
            path: path
        )
    }

    /// The same fault in a value whose path is known by now.
    func located(at path: JSONPointer) -> JSONFault {
        JSONFault(reason, offset: offset, line: line, column: column, path: path)
    }
}

extension JSONFault: CustomStringConvertible {
    /// One plain clause with line, column and path.
    public var description: String {
        "\(reason) at line \(line), column \(column)" + (path.tokens.isEmpty ? "" : ", in \(path)")
    }
}

extension JSONFault.Reason: CustomStringConvertible {
    /// A few words.
    public var description: String {
        switch self {
        case .unexpectedByte(let byte):
            (0x21...0x7E).contains(byte)
                ? "“\(Character(UnicodeScalar(byte)))” is not allowed"
                : "the byte 0x\(String(byte, radix: 16, uppercase: true)) is not allowed"
        case .unexpectedEnd: "the document ends too early"
        case .trailingContent: "something follows the document"
        case .controlCharacter: "a control character is not escaped"
        case .invalidEscape: "an escape is malformed"
        case .loneSurrogate: "half of a surrogate pair stands alone"
        case .invalidUTF8: "the text is not valid in its encoding"
        case .invalidNumber: "a number is malformed"
        case .numberOutOfRange: "a number is out of range"
        case .nestingTooDeep(let limit): "the nesting is deeper than \(limit)"
        case .itemTooLarge(let limit): "an item is larger than \(limit) bytes"
        case .valueTooLarge(let limit): "a value is larger than \(limit) bytes"
        case .repeatedList: "the list occurs a second time"
        }
    }
}
