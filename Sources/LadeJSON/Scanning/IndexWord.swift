/// The entry of the index for one value or name, in eight bytes.
///
/// | kind | bits 0–3 | 4 | 5 | the rest |
/// | --- | --- | --- | --- | --- |
/// | null, false, true | kind | | | |
/// | short integer | kind | | | 4–63 the value |
/// | other number | kind | has a point or an exponent | | 6–23 length, 24–63 offset |
/// | string | kind | has escapes | has bytes that are not ASCII | 6–23 length, 24–63 offset |
/// | array | kind | | | 5–27 count, 28–63 span |
/// | object | kind | has a name that is not plain ASCII | | 5–27 count, 28–63 span |
///
/// A length that does not fit is all ones, and the next word holds it. The span of a container is its number of words,
/// including its own. The words of its members or elements follow in order.
@usableFromInline
struct IndexWord {
    @usableFromInline
    enum Kind: UInt8 {
        case null = 0
        case `false`
        case `true`
        case integer
        case number
        case string
        case array
        case object
    }

    @inlinable static var longLength: Int { 0x3FFFF }
    static let saturatedCount = 0x7F_FFFF

    @usableFromInline var bits: UInt64

    @inlinable @inline(__always)
    init(bits: UInt64) { self.bits = bits }

    @inline(__always)
    init(_ kind: Kind) { bits = UInt64(kind.rawValue) }

    @inline(__always)
    init(integer: Int64) {
        bits = UInt64(bitPattern: integer << 4) | UInt64(Kind.integer.rawValue)
    }

    /// Makes the word of a string or a number; the length is at most ``longLength``.
    @inline(__always)
    init(_ kind: Kind, offset: Int, length: Int, flags: UInt64) {
        bits = UInt64(kind.rawValue) | flags << 4 | UInt64(length) << 6 | UInt64(offset) << 24
    }

    @inline(__always)
    init(container kind: Kind, count: Int, span: Int, isComplex: Bool) {
        bits =
            UInt64(kind.rawValue) | (isComplex ? 0x10 : 0) | UInt64(min(count, Self.saturatedCount)) << 5
            | UInt64(span) << 28
    }

    @inlinable @inline(__always)
    var kind: Kind { unsafeBitCast(UInt8(truncatingIfNeeded: bits & 7), to: Kind.self) }

    @inlinable @inline(__always)
    var isNull: Bool { bits & 15 == 0 }

    @inlinable @inline(__always)
    var integer: Int64 { Int64(bitPattern: bits) >> 4 }

    /// Whether a string has escapes, a number has a point or an exponent, or an object has a name that is not plain
    /// ASCII.
    @inlinable @inline(__always)
    var flag: Bool { bits & 0x10 != 0 }

    /// Whether a string has neither escapes nor bytes that are not ASCII.
    var isPlain: Bool { bits & 0x30 == 0 }

    @inline(__always)
    var isASCII: Bool { bits & 0x20 == 0 }

    @inlinable @inline(__always)
    var shortLength: Int { Int(truncatingIfNeeded: (bits >> 6) & 0x3FFFF) }

    @inlinable @inline(__always)
    var offset: Int { Int(truncatingIfNeeded: bits >> 24) }

    @inlinable @inline(__always)
    var count: Int { Int(truncatingIfNeeded: (bits >> 5) & 0x7F_FFFF) }

    @inlinable @inline(__always)
    var span: Int { Int(truncatingIfNeeded: bits >> 28) }

    /// The number of words of the value.
    @inlinable @inline(__always)
    var width: Int {
        switch kind {
        case .string, .number: shortLength == Self.longLength ? 2 : 1
        case .array, .object: span
        default: 1
        }
    }
}
