#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Caches how types are decoded, and which case of an enumeration a text gives.
///
/// Both are tables in memory that belongs to one document.
struct TypeKinds {
    /// How the values of a type are decoded.
    enum Kind: UInt8 {
        /// With their own initialiser.
        case plain
        case string
        case double
        case int
        case bool
        case date
        case data
        case url
        case decimal
        case ints
        /// Arrays and dictionaries of decodable values, without a container for each.
        case elements
        /// Enumerations with string raw values.
        case enumeration
        /// Types that are ``FastJSONDecoder/Readable``.
        case readable
    }

    struct Entry {
        var type: ObjectIdentifier?
        var kind = Kind.plain
        var elements: (any ElementsDecodable.Type)?
        var readable: (any FastJSONDecoder.Readable.Type)?
    }

    /// A text of at most 16 bytes and the enumeration case it gave.
    struct Text {
        var type: ObjectIdentifier?
        var round = 0
        var count = 0
        var low: UInt64 = 0
        var high: UInt64 = 0
        var value: UInt64 = 0

        static let valueOffset = MemoryLayout<Text>.offset(of: \.value) ?? 0
    }

    private static let size = 256
    private static let textCount = 256
    private let entries: UnsafeMutablePointer<Entry>
    private let texts: UnsafeMutablePointer<Text>
    private let round: UnsafeMutablePointer<Int>

    init() {
        entries = .allocate(capacity: Self.size)
        entries.initialize(repeating: Entry(), count: Self.size)
        texts = .allocate(capacity: Self.textCount)
        texts.initialize(repeating: Text(), count: Self.textCount)
        round = .allocate(capacity: 1)
        round.initialize(to: 1)
    }

    func deallocate() {
        entries.deallocate()
        texts.deallocate()
        round.deallocate()
    }

    /// Removes all texts, because an initialiser may give another case in another document.
    @inline(__always)
    func forgetTexts() { round.pointee &+= 1 }

    @inline(__always)
    func entry<T>(of type: T.Type) -> UnsafeMutablePointer<Entry> {
        let identifier = ObjectIdentifier(type)
        let mixed = UInt64(UInt(bitPattern: identifier)) &* 0x9E37_79B9_7F4A_7C15
        let first = Int(truncatingIfNeeded: mixed >> 56)
        let place = entries + first
        return place.pointee.type == identifier ? place : findEntry(type, first)
    }

    /// Finds an entry that is not at its preferred position.
    @inline(never)
    private func findEntry<T>(_ type: T.Type, _ first: Int) -> UnsafeMutablePointer<Entry> {
        let identifier = ObjectIdentifier(type)
        for step in 0..<16 {
            let place = entries + ((first &+ step) & (Self.size &- 1))
            if place.pointee.type == identifier { return place }
            if place.pointee.type == nil {
                place.pointee = Self.makeEntry(type)
                return place
            }
        }
        // The table is full: types replace each other at the first position.
        let place = entries + first
        place.pointee = Self.makeEntry(type)
        return place
    }

    @inline(__always)
    func text(_ type: ObjectIdentifier, _ bytes: UnsafeBufferPointer<UInt8>) -> (UnsafeMutablePointer<Text>, Text) {
        var key = Text(type: type, round: round.pointee, count: bytes.count)
        if let base = bytes.baseAddress {
            if bytes.count >= 8 {
                key.low = Bytes.word(base)
                key.high = Bytes.word(base + (bytes.count &- 8))
            } else {
                for byte in bytes { key.low = key.low << 8 | UInt64(byte) }
            }
        }
        let mixed =
            (key.low ^ key.high &* 31 ^ UInt64(UInt(bitPattern: type)) ^ UInt64(bytes.count))
            &* 0x9E37_79B9_7F4A_7C15
        // Two texts that share a place would replace each other for every value, so each has a second place.
        let place = texts + Int(truncatingIfNeeded: mixed >> 56)
        if Self.isKnown(place, key) || place.pointee.round != key.round { return (place, key) }
        return (texts + (Int(truncatingIfNeeded: mixed >> 56) ^ 1), key)
    }

    /// Whether a place has the value for a text.
    @inline(__always)
    static func isKnown(_ place: UnsafeMutablePointer<Text>, _ wanted: Text) -> Bool {
        place.pointee.type == wanted.type && place.pointee.round == wanted.round
            && place.pointee.count == wanted.count && place.pointee.low == wanted.low
            && place.pointee.high == wanted.high
    }

    /// The value that a text of at most 16 bytes gave before; nil if there is none.
    func knownValue(_ type: ObjectIdentifier, _ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeRawPointer? {
        let (place, wanted) = text(type, bytes)
        return Self.isKnown(place, wanted) ? UnsafeRawPointer(place) + Text.valueOffset : nil
    }

    @inline(never)
    private static func makeEntry<T>(_ type: T.Type) -> Entry {
        var entry = Entry(type: ObjectIdentifier(type))
        if type == String.self {
            entry.kind = .string
        } else if type == Double.self {
            entry.kind = .double
        } else if type == Int.self {
            entry.kind = .int
        } else if type == Bool.self {
            entry.kind = .bool
        } else if type == Date.self {
            entry.kind = .date
        } else if type == Data.self {
            entry.kind = .data
        } else if type == URL.self {
            entry.kind = .url
        } else if type == Decimal.self {
            entry.kind = .decimal
        } else if type == [Int].self {
            entry.kind = .ints
        } else if let readable = type as? any FastJSONDecoder.Readable.Type {
            entry.kind = .readable
            entry.readable = readable
        } else if let elements = type as? any ElementsDecodable.Type {
            entry.kind = .elements
            entry.elements = elements
        } else if type is any RawRepresentable<String>.Type, _isPOD(type), MemoryLayout<T>.size <= 8 {
            entry.kind = .enumeration
        }
        return entry
    }
}
