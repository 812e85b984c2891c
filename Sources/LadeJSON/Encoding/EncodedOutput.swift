/// The bytes of a document being written, and the members of its open objects.
///
/// All state is in memory behind one constant pointer, because Swift would check each access to class properties for
/// exclusivity.
struct EncodedOutput {
    /// The position of an object's member in the output.
    struct Member {
        /// The offset of the quotation mark before its name; −1 when a later member with the same name replaces it.
        var start: Int
        var nameLength: Int
        var end = 0
        /// The index of its value among the nested parts of the object; −1 when the value is in the bytes.
        var nested = -1
        var isEscaped: Bool
    }

    private(set) var bytes: UnsafeMutablePointer<UInt8>
    private(set) var capacity = 512
    var count = 0
    private(set) var members: UnsafeMutablePointer<Member>
    private var memberCapacity = 16
    var memberCount = 0
    /// The part that is being written; no other part may write.
    var current: Unmanaged<EncodedPart>?
    /// Whether a container exceeded the nesting limit.
    var isTooDeep = false
    let isPretty: Bool
    let isSorted: Bool
    private let escapesSlashes: Bool

    init(isPretty: Bool, isSorted: Bool, escapesSlashes: Bool) {
        self.isPretty = isPretty
        self.isSorted = isSorted
        self.escapesSlashes = escapesSlashes
        bytes = .allocate(capacity: capacity)
        members = .allocate(capacity: memberCapacity)
    }

    func deallocate() {
        bytes.deallocate()
        members.deallocate()
    }

    var written: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: bytes, count: count) }

    @inline(__always)
    mutating func reserve(_ wanted: Int) {
        if capacity &- count < wanted { grow(wanted) }
    }

    @inline(never)
    private mutating func grow(_ wanted: Int) {
        let larger = max(capacity * 2, count + wanted)
        let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        moved.update(from: bytes, count: count)
        bytes.deallocate()
        bytes = moved
        capacity = larger
    }

    @inline(__always)
    mutating func push(_ member: Member) {
        if memberCount == memberCapacity { growMembers() }
        (members + memberCount).initialize(to: member)
        memberCount &+= 1
    }

    @inline(never)
    private mutating func growMembers() {
        let moved = UnsafeMutablePointer<Member>.allocate(capacity: memberCapacity * 2)
        moved.moveInitialize(from: members, count: memberCount)
        members.deallocate()
        members = moved
        memberCapacity *= 2
    }

    // MARK: - Text

    @inline(__always)
    mutating func write(_ byte: UInt8) {
        reserve(1)
        bytes[count] = byte
        count &+= 1
    }

    mutating func write(_ text: StaticString) {
        write(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func write(_ text: UnsafeBufferPointer<UInt8>) {
        guard let source = text.baseAddress else { return }
        reserve(text.count)
        (bytes + count).update(from: source, count: text.count)
        count &+= text.count
    }

    /// Writes a text that is already JSON.
    mutating func write(json text: String) {
        var text = text
        text.withUTF8 { write($0) }
    }

    mutating func indent(_ depth: Int) {
        reserve(2 * depth)
        (bytes + count).update(repeating: 0x20, count: 2 * depth)
        count &+= 2 * depth
    }

    /// Writes a string with its quotation marks; returns whether any character was escaped.
    @inline(__always)
    @discardableResult
    mutating func write(string: String) -> Bool {
        var string = string
        return string.withUTF8 { write(string: $0) }
    }

    @discardableResult
    private mutating func write(string: UnsafeBufferPointer<UInt8>) -> Bool {
        // Most strings have no escapes, so one capacity check is enough. Eight bytes are copied together.
        reserve(string.count &+ 10)
        bytes[count] = UInt8(ascii: "\"")
        count &+= 1
        var isEscaped = false
        if var position = string.baseAddress {
            let end = position + string.count
            while position < end {
                if end - position >= 8 {
                    let word = Bytes.word(position)
                    UnsafeMutableRawPointer(bytes + count).storeBytes(of: word.littleEndian, as: UInt64.self)
                    var mask = Bytes.endOfPlainText(word)
                    if escapesSlashes { mask |= Bytes.zeros(word ^ 0x2F2F_2F2F_2F2F_2F2F) }
                    guard mask != 0 else {
                        position += 8
                        count &+= 8
                        continue
                    }
                    let plain = mask.trailingZeroBitCount >> 3
                    position += plain
                    count &+= plain
                } else if isPlain(position.pointee) {
                    bytes[count] = position.pointee
                    position += 1
                    count &+= 1
                    continue
                }
                // The lowest bit of a mask is always correct, so this byte needs an escape.
                isEscaped = true
                escape(position.pointee)
                position += 1
                reserve(end - position &+ 10)
            }
        }
        bytes[count] = UInt8(ascii: "\"")
        count &+= 1
        return isEscaped
    }

    @inline(__always)
    private func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            && !(byte == UInt8(ascii: "/") && escapesSlashes)
    }

    @inline(never)
    private mutating func escape(_ byte: UInt8) {
        reserve(6)
        switch byte {
        case UInt8(ascii: "\""): write("\\\"")
        case UInt8(ascii: "\\"): write("\\\\")
        case UInt8(ascii: "/"): write("\\/")
        case 0x08: write("\\b")
        case 0x0C: write("\\f")
        case 0x0A: write("\\n")
        case 0x0D: write("\\r")
        case 0x09: write("\\t")
        default:
            write("\\u00")
            write(byte >> 4 | 0x30)
            write(byte & 15 < 10 ? byte & 15 | 0x30 : byte & 15 &+ 0x57)
        }
    }

    // MARK: - Numbers

    @inline(__always)
    mutating func write<T: FixedWidthInteger>(integer value: T) {
        if let small = Int64(exactly: value) {
            write(digits: small.magnitude, isNegative: small < 0)
        } else {
            write(json: value.description)
        }
    }

    mutating func write(digits magnitude: UInt64, isNegative: Bool) {
        reserve(20)
        if isNegative {
            bytes[count] = UInt8(ascii: "-")
            count &+= 1
        }
        var length = 1
        var limit: UInt64 = 10
        while length < 20, magnitude >= limit {
            length &+= 1
            if length < 20 { limit = limit &* 10 }
        }
        var rest = magnitude
        var place = bytes + (count &+ length)
        for _ in 0..<length {
            place -= 1
            place.pointee = UInt8(truncatingIfNeeded: rest % 10) | 0x30
            rest /= 10
        }
        count &+= length
    }

    /// Writes a finite number.
    mutating func write<T: BinaryFloatingPoint & LosslessStringConvertible>(number value: T) {
        // A whole number is written like an integer if its digits fit; −0 keeps its sign.
        if value.magnitude < 1e6 || T.self == Double.self && value.magnitude < 1e15,
            value.rounded(.towardZero) == value,
            value != 0 || value.sign == .plus
        {
            write(integer: Int64(value))
        } else {
            write(json: value.jsonText)
        }
    }
}
