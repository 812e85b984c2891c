#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An error in a JSON text or pointer, or a value beyond a limit: its reason and position.
public struct JSONError: Error, Sendable, Hashable {
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
        /// An escape within a string is not a JSON escape.
        case invalidEscape
        /// Half of a surrogate pair is escaped without its counterpart.
        case loneSurrogate
        /// The bytes of a string or of the whole text are not valid in the text's encoding.
        case invalidUTF8
        /// A number does not match the grammar of JSON numbers.
        case invalidNumber
        /// A number does not fit into the requested type.
        case numberOutOfRange
        /// The nesting of arrays and objects exceeds the limit.
        case nestingTooDeep(limit: Int)
        /// An item of a list exceeds the limit.
        case itemTooLarge(limit: Int)
        /// A requested value, or a name on the path to it, exceeds the limit.
        case valueTooLarge(limit: Int)
        /// A JSON Pointer is not empty and does not begin with `/`, or has a `~` without `0` or `1` (RFC 6901 §3).
        case invalidPointer
        /// The list occurs twice, so the order of its items is ambiguous.
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
    /// The path to the value with the error, as far as it is known.
    public let path: JSONPointer

    /// Makes an error.
    public init(_ reason: Reason, offset: Int64, line: Int = 1, column: Int? = nil, path: JSONPointer = []) {
        self.reason = reason
        self.offset = offset
        self.line = line
        self.column = column ?? Int(clamping: offset) + 1
        self.path = path
    }

    /// Makes an error for a document in memory, and computes the line and column.
    init(_ reason: Reason, offset: Int, in bytes: UnsafeBufferPointer<UInt8>, path: JSONPointer = []) {
        var place = JSONPiece.Place()
        if let base = bytes.baseAddress { place.pass(base, min(offset, bytes.count)) }
        self = place.fault(reason, path: path)
    }

    /// The error moved by the length of a byte order mark.
    func moved(_ markLength: Int) -> JSONError {
        guard markLength > 0 else { return self }
        return JSONError(
            reason,
            offset: offset + Int64(markLength),
            line: line,
            column: line == 1 ? column + markLength : column,
            path: path
        )
    }

    /// The error with the path to its value.
    func located(at path: JSONPointer) -> JSONError {
        JSONError(reason, offset: offset, line: line, column: column, path: path)
    }
}

extension JSONError: CustomStringConvertible {
    /// A clause with the rule, line, column and path.
    public var description: String {
        "\(reason) at line \(line), column \(column)" + (path.tokens.isEmpty ? "" : ", in \(path)")
    }
}

extension JSONError.Reason: CustomStringConvertible {
    /// The rule in a few words.
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
        case .invalidPointer: "the text is no JSON Pointer"
        case .repeatedList: "the list occurs a second time"
        }
    }
}

extension JSONError: LocalizedError {
    /// The description.
    public var localizedDescription: String { description }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }
}
