/// Validates the contents of a string, in any number of pieces, including its escapes and UTF-8.
struct JSONStringScanner {
    private enum State: UInt8 {
        case plain
        case escape
        case hexadecimal
        case continuation
    }

    private var state = State.plain
    /// Whether an escape occurred since this property was last set to false.
    var hasEscape = false
    /// The number of hexadecimal digits or continuation bytes that must follow.
    private var remaining = 0
    private var lowest: UInt8 = 0
    private var highest: UInt8 = 0

    /// Continues to the end of the string or of the piece.
    ///
    /// Returns the position after the string; nil when the piece ends first.
    @inline(__always)
    mutating func scan(
        _ from: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) -> UnsafePointer<UInt8>? {
        var position = from
        while true {
            if state != .plain { position = try scanSpecial(position, piece) }
            var isFound = false
            while piece.end - position >= 8 {
                let word = Bytes.word(position)
                // A non-ASCII byte also ends the plain text, because its sequence is validated.
                let mask = Bytes.endOfPlainText(word) | (word & Bytes.highBits)
                guard mask == 0 else {
                    // The lowest bit of a mask is always correct.
                    position += mask.trailingZeroBitCount >> 3
                    isFound = true
                    break
                }
                position += 8
            }
            if !isFound {
                while position < piece.end, Self.isPlain(position.pointee) { position += 1 }
                guard position < piece.end else { return nil }
            }
            let byte = position.pointee
            position += 1
            if byte == UInt8(ascii: "\"") { return position }
            if byte == UInt8(ascii: "\\") {
                hasEscape = true
                state = .escape
            } else if byte < 0x20 {
                throw piece.fault(.controlCharacter, position - 1)
            } else {
                try beginSequence(byte, position - 1, piece)
            }
        }
    }

    @inline(__always)
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Starts a non-ASCII character (Unicode 15 table 3-7, well-formed UTF-8 byte sequences).
    private mutating func beginSequence(
        _ lead: UInt8,
        _ position: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) {
        lowest = 0x80
        highest = 0xBF
        switch lead {
        case 0xC2...0xDF: remaining = 1
        case 0xE0...0xEF:
            remaining = 2
            if lead == 0xE0 { lowest = 0xA0 }
            if lead == 0xED { highest = 0x9F }
        case 0xF0...0xF4:
            remaining = 3
            if lead == 0xF0 { lowest = 0x90 }
            if lead == 0xF4 { highest = 0x8F }
        default: throw piece.fault(.invalidUTF8, position)
        }
        state = .continuation
    }

    /// Continues an escape or a non-ASCII character, as far as the piece goes.
    private mutating func scanSpecial(
        _ from: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) -> UnsafePointer<UInt8> {
        var position = from
        while position < piece.end, state != .plain {
            let byte = position.pointee
            switch state {
            case .plain: break
            case .escape:
                switch byte {
                case UInt8(ascii: "u"):
                    state = .hexadecimal
                    remaining = 4
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
                    UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                    state = .plain
                default: throw piece.fault(.invalidEscape, position)
                }
            case .hexadecimal:
                let letter = byte | 0x20
                guard (0x30...0x39).contains(byte) || (0x61...0x66).contains(letter) else {
                    throw piece.fault(.invalidEscape, position)
                }
                remaining -= 1
                if remaining == 0 { state = .plain }
            case .continuation:
                guard byte >= lowest, byte <= highest else {
                    throw piece.fault(.invalidUTF8, position)
                }
                lowest = 0x80
                highest = 0xBF
                remaining -= 1
                if remaining == 0 { state = .plain }
            }
            position += 1
        }
        return position
    }
}
