#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import LadeCore

/// The value of `Expires`, read strictly: everything that is not exactly one date has expired (RFC 9111 §5.3).
package enum Expiry: Sendable, Hashable {
    /// At a date.
    case at(Date)
    /// It has expired already, because the value is no date in one of the three forms.
    case passed

    /// Reads the field; nil without one.
    package init?(_ reading: SingleField.Reading, now: Date) {
        guard reading != .none else { return nil }
        self = .passed
        guard case .one(let field) = reading else { return }
        let line = field.octets
        guard Self.forms.contains(where: { Self.fits(line, $0) }) else { return }
        if let date = try? Headers.HTTPDate(bytes: line, now: now) { self = .at(date.date) }
    }

    /// The forms of RFC 9110 §5.6.7: `a` is a letter, `9` a digit, `_` a digit or a blank, `*` any more letters.
    private static let forms = [
        "aaa, 99 aaa 9999 99:99:99 GMT", "aaaaaa*, 99-aaa-99 99:99:99 GMT", "aaa aaa _9 99:99:99 9999",
    ].map { Array($0.utf8) }

    private static func fits(_ line: [UInt8], _ form: [UInt8]) -> Bool {
        var rest = line[...]
        for sign in form {
            switch sign {
            case UInt8(ascii: "*"):
                rest = rest.drop { isLetter($0) }
                continue
            default: break
            }
            guard let byte = rest.popFirst() else { return false }
            let fits =
                switch sign {
                case UInt8(ascii: "a"): isLetter(byte)
                case UInt8(ascii: "9"): isDigit(byte)
                case UInt8(ascii: "_"): isDigit(byte) || byte == 0x20
                default: byte.lowercasedASCII == sign.lowercasedASCII
                }
            guard fits else { return false }
        }
        return rest.isEmpty
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
