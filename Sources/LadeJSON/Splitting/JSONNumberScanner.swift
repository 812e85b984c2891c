/// Validates a number that may arrive in several pieces.
struct JSONNumberScanner {
    /// The part of the number that the last byte belongs to.
    enum Part: UInt8 {
        case minus
        case zero
        case integer
        case point
        case fraction
        case exponent
        case sign
        case power
    }

    private var part = Part.minus

    /// Whether the number may end here.
    var isComplete: Bool { part == .zero || part == .integer || part == .fraction || part == .power }

    /// Starts a number with its first byte.
    @inline(__always)
    mutating func begin(_ first: Part) {
        part = first
    }

    /// Continues to the end of the number or of the piece.
    ///
    /// Returns the first byte after the number; nil when the piece ends first.
    @inline(__always)
    mutating func scan(
        _ from: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) -> UnsafePointer<UInt8>? {
        var position = from
        var part = part
        while position < piece.end {
            let byte = position.pointee
            let isDigit = byte &- 0x30 <= 9
            switch part {
            case .integer, .fraction, .power:
                if isDigit { break }
                if byte == UInt8(ascii: "."), part == .integer {
                    part = .point
                } else if byte | 0x20 == UInt8(ascii: "e"), part != .power {
                    part = .exponent
                } else {
                    return position
                }
            case .zero:
                if byte == UInt8(ascii: ".") {
                    part = .point
                } else if byte | 0x20 == UInt8(ascii: "e") {
                    part = .exponent
                } else {
                    guard !isDigit else { throw piece.fault(.invalidNumber, position) }
                    return position
                }
            case .minus:
                guard isDigit else { throw piece.fault(.invalidNumber, position) }
                part = byte == UInt8(ascii: "0") ? .zero : .integer
            case .point:
                guard isDigit else { throw piece.fault(.invalidNumber, position) }
                part = .fraction
            case .exponent:
                if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") {
                    part = .sign
                    break
                }
                fallthrough
            case .sign:
                guard isDigit else { throw piece.fault(.invalidNumber, position) }
                part = .power
            }
            position += 1
        }
        self.part = part
        return nil
    }

    /// The first byte after a whole number that ends before the piece does; nil for anything else.
    @inline(__always)
    static func end(_ from: UnsafePointer<UInt8>, _ piece: JSONPiece) -> UnsafePointer<UInt8>? {
        func skipDigits(_ from: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
            var position = from
            while position < piece.end, Bytes.isDigit(position.pointee) { position += 1 }
            return position
        }
        let first = from.pointee == UInt8(ascii: "-") ? from + 1 : from
        var position = skipDigits(first)
        guard position > first, first.pointee != UInt8(ascii: "0") || position == first + 1 else { return nil }
        if position < piece.end, position.pointee == UInt8(ascii: ".") {
            let fraction = position + 1
            position = skipDigits(fraction)
            guard position > fraction else { return nil }
        }
        if position < piece.end, position.pointee | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < piece.end, position.pointee == UInt8(ascii: "+") || position.pointee == UInt8(ascii: "-") {
                position += 1
            }
            let power = position
            position = skipDigits(power)
            guard position > power else { return nil }
        }
        return position < piece.end ? position : nil
    }
}
