/// Why a text is no JSON document, or not one that may be passed on (RFC 8259).
public struct JSONSyntaxFault: Error, Sendable, Hashable {
    /// The rule that was broken.
    @nonexhaustive
    public enum Reason: Sendable, Hashable {
        /// A byte that cannot stand there.
        case unexpectedByte(UInt8)
        /// The text ended within the document.
        case unexpectedEnd
        /// Something other than white space after the document.
        case trailingContent
        /// A control character within a string that is not escaped.
        case controlCharacter
        /// An escape within a string that JSON does not have.
        case invalidEscape
        /// Bytes within a string that are no UTF-8.
        case invalidUTF8
        /// A number that is not written as JSON writes numbers.
        case invalidNumber
        /// More arrays and objects within one another than allowed.
        case nestingTooDeep(limit: Int)
        /// An item with more bytes than allowed.
        case itemTooLarge(limit: Int)
        /// A value that was asked for, or a name on the way to it, with more bytes than allowed.
        case valueTooLarge(limit: Int)
        /// The list is there twice, so that no order of its items is right.
        case repeatedList
    }

    /// The rule that was broken.
    public let reason: Reason
    /// Where in the document, in bytes from its beginning.
    public let offset: Int64

    /// Makes a fault.
    public init(_ reason: Reason, offset: Int64) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONSyntaxFault: CustomStringConvertible {
    /// One plain clause with the offset.
    public var description: String { "\(reason) at byte \(offset)" }
}

extension JSONSyntaxFault.Reason: CustomStringConvertible {
    /// A few words.
    public var description: String {
        switch self {
        case .unexpectedByte(let byte):
            (0x21...0x7E).contains(byte)
                ? "“\(Character(UnicodeScalar(byte)))” cannot stand there"
                : "the byte 0x\(String(byte, radix: 16, uppercase: true)) cannot stand there"
        case .unexpectedEnd: "the document ends too early"
        case .trailingContent: "something follows the document"
        case .controlCharacter: "a control character is not escaped"
        case .invalidEscape: "an escape is malformed"
        case .invalidUTF8: "a string is not UTF-8"
        case .invalidNumber: "a number is malformed"
        case .nestingTooDeep(let limit): "the nesting is deeper than \(limit)"
        case .itemTooLarge(let limit): "an item is larger than \(limit) bytes"
        case .valueTooLarge(let limit): "a value is larger than \(limit) bytes"
        case .repeatedList: "the list is there a second time"
        }
    }
}
