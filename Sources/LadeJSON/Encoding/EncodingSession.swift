#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Synchronization

/// The state that all parts of one document share: the options and the tables.
final class EncodingSession {
    /// The document exceeds the nesting limit.
    struct TooDeep: Error {}

    let options: FastJSONEncoder
    let kinds: EncodingKinds
    let convertsKeys: Bool
    private var snakeCase: [String: String] = [:]
    private(set) lazy var userInfo = options.userInfo as [CodingUserInfoKey: Any]

    init(_ options: FastJSONEncoder) {
        self.options = options
        kinds = EncodingKinds.taken()
        if case .useDefaultKeys = options.keyEncodingStrategy { convertsKeys = false } else { convertsKeys = true }
    }

    deinit { EncodingKinds.put(back: kinds) }

    func makeOutput() -> EncodedOutput {
        EncodedOutput(
            isPretty: options.outputFormatting.contains(.prettyPrinted),
            isSorted: options.outputFormatting.contains(.sortedKeys),
            escapesSlashes: !options.outputFormatting.contains(.withoutEscapingSlashes)
        )
    }

    /// The name in the document for a coding key.
    @inline(__always)
    func name(_ key: some CodingKey, in part: EncodedPart) -> String {
        convertsKeys ? converted(key, in: part) : key.stringValue
    }

    @inline(never)
    private func converted(_ key: some CodingKey, in part: EncodedPart) -> String {
        switch options.keyEncodingStrategy {
        case .useDefaultKeys: return key.stringValue
        case .convertToSnakeCase:
            let name = key.stringValue
            if let known = snakeCase[name] { return known }
            let converted = SnakeCase.written(name)
            snakeCase[name] = converted
            return converted
        case .custom(let convert): return convert(part.path(key)).stringValue
        @unknown default: return key.stringValue
        }
    }
}

/// Caches how types are encoded: a table in memory, used for one document at a time.
final class EncodingKinds {
    enum Kind: UInt8 {
        /// With their own `encode(to:)`.
        case plain
        case string
        case integer
        case double
        case bool
        case date
        case data
        case url
        case decimal
        /// Arrays and dictionaries, without a container for each.
        case elements
    }

    struct Entry {
        var type: ObjectIdentifier?
        var kind = Kind.plain
        var elements: (any ElementsEncodable.Type)?
    }

    private static let size = 128
    private let entries: UnsafeMutablePointer<Entry>

    private init() {
        entries = .allocate(capacity: Self.size)
        entries.initialize(repeating: Entry(), count: Self.size)
    }

    deinit { entries.deallocate() }

    /// A table that is reused for the next document; it is accessed only by atomic exchanges.
    private nonisolated(unsafe) static let spare = Atomic<Unmanaged<EncodingKinds>?>(nil)

    static func taken() -> EncodingKinds {
        spare.exchange(nil, ordering: .acquiring)?.takeRetainedValue() ?? EncodingKinds()
    }

    static func put(back kinds: EncodingKinds) {
        spare.exchange(.passRetained(kinds), ordering: .acquiringAndReleasing)?.release()
    }

    @inline(__always)
    func entry<T>(of type: T.Type) -> UnsafeMutablePointer<Entry> {
        let identifier = ObjectIdentifier(type)
        let mixed = UInt64(UInt(bitPattern: identifier)) &* 0x9E37_79B9_7F4A_7C15
        let place = entries + Int(truncatingIfNeeded: mixed >> 57)
        if place.pointee.type != identifier { place.pointee = Self.makeEntry(type) }
        return place
    }

    @inline(never)
    private static func makeEntry<T>(_ type: T.Type) -> Entry {
        var entry = Entry(type: ObjectIdentifier(type))
        if type == String.self {
            entry.kind = .string
        } else if type == Int.self {
            entry.kind = .integer
        } else if type == Double.self {
            entry.kind = .double
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
        } else if let elements = type as? any ElementsEncodable.Type {
            entry.kind = .elements
            entry.elements = elements
        }
        return entry
    }
}

/// A collection that is encoded without a container for its elements.
protocol ElementsEncodable {
    /// Encodes the value of this type in memory.
    static func encodeElements(_ memory: UnsafeRawPointer, to part: EncodedPart) throws
}

extension Array: ElementsEncodable where Element: Encodable {
    static func encodeElements(_ memory: UnsafeRawPointer, to part: EncodedPart) throws {
        part.open(.array)
        var position = 0
        for element in memory.assumingMemoryBound(to: Self.self).pointee {
            try part.element { try part.write(element, ElementKey(position)) }
            position &+= 1
        }
    }
}

extension Dictionary: ElementsEncodable where Key == String, Value: Encodable {
    // The keys of dictionaries are never converted.
    static func encodeElements(_ memory: UnsafeRawPointer, to part: EncodedPart) throws {
        part.open(.object)
        for (name, value) in memory.assumingMemoryBound(to: Self.self).pointee {
            try part.member(name) { try part.write(value, MemberKey(name)) }
        }
    }
}
