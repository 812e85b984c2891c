#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Headers {
    /// The fault of a field, and its place.
    ///
    /// Field parsers throw no other error, and ``Headers`` keep the error of the first field that they refuse. Offsets
    /// count UTF-8 bytes from the start of the value. Several field lines of one name count as lines joined by `", "` (RFC
    /// 9110 §5.3).
    public struct FieldError: Error, Sendable, Hashable {
        /// The kinds of fault.
        @nonexhaustive
        public enum Reason: Sendable, Hashable {
            /// The expected text is missing at the offset; the value completes "expected …".
            case expected(String)
            /// The named part has the right form but an impossible value, such as the 31st of April.
            case outOfRange(String)
            /// The value could be read but does not end where it should.
            case trailingBytes
            /// There are more members than the given limit.
            case limitExceeded(Int)
            /// The named part cannot be written in this field.
            case notWritable(String)
            /// The field has no name.
            case emptyName
            /// The name of the field has a character that is not allowed in a token, at the offset.
            case invalidName
            /// The value has a control character at the offset.
            case invalidValue
        }

        /// The name of the field or form that was read or written, such as `Retry-After` or `HTTP date`.
        ///
        /// The name of a refused field has its unprintable characters replaced.
        public let field: String
        /// The rule that the value breaks.
        public let reason: Reason
        /// The byte offset of the fault in the value or the name; 0 where a value could not be written.
        public let offset: Int

        /// Makes an error; parsers of other fields may use it too.
        public init(field: String, reason: Reason, offset: Int) {
            self.field = field
            self.reason = reason
            self.offset = offset
        }
    }
}

extension Headers.FieldError: CustomStringConvertible {
    /// One plain sentence.
    public var description: String { clause + "." }

    /// The sentence without its full stop.
    package var clause: String {
        switch reason {
        case .expected(let what): "The \(field) value cannot be read: expected \(what) at byte \(offset)"
        case .outOfRange(let what): "The \(field) value cannot be read: \(what) at byte \(offset) is out of range"
        case .trailingBytes: "The \(field) value cannot be read: it should end at byte \(offset)"
        case .limitExceeded(let limit):
            "The \(field) value cannot be read: more than \(limit) members at byte \(offset)"
        case .notWritable(let what): "The \(field) value cannot be written: \(what) is not allowed there"
        case .emptyName: "A header field has no name"
        case .invalidName: "“\(field)” is no header field name: character \(offset) is not allowed"
        case .invalidValue: "The header field “\(field)” has a control character at byte \(offset) of its value"
        }
    }
}

extension Headers.FieldError: LocalizedError {
    /// The description.
    public var localizedDescription: String { description }

    /// The text that Foundation shows: ``localizedDescription``.
    public var errorDescription: String? { localizedDescription }
}
