/// The unkeyed container of an array.
///
/// Its three words fit into an existential without allocation.
struct UnkeyedContainer: UnkeyedDecodingContainer {
    private let scope: Scope
    private var index: Int
    private(set) var currentIndex = 0

    /// Starts at the first element of a scope with an array.
    init(scope: Scope) {
        self.scope = scope
        index = scope.state.pointee.index + 1
    }

    var codingPath: [any CodingKey] { scope.path }

    var count: Int? {
        let count = scope.word.count
        guard count == IndexWord.saturatedCount else { return count }
        var index = scope.state.pointee.index + 1
        var exact = 0
        while index < end {
            index += scope.core.pointee.word(index).width
            exact += 1
        }
        return exact
    }

    private var end: Int { scope.state.pointee.index &+ scope.word.span }

    var isAtEnd: Bool { index >= end }

    /// The index of the next element.
    @inline(__always)
    private func next(_ type: Any.Type, _ message: String = "Unkeyed container is at end.") throws -> Int {
        guard index < end else {
            throw DecodingError.valueNotFound(
                type,
                .init(codingPath: scope.path(ElementKey(currentIndex)), debugDescription: message)
            )
        }
        return index
    }

    @inline(__always)
    private mutating func advance() {
        if index < end { index &+= scope.core.pointee.word(index).width }
        currentIndex &+= 1
    }

    /// Whether the next element exists and is not null.
    @inline(__always)
    private var isPresent: Bool { index < end && !scope.core.pointee.word(index).isNull }

    mutating func decodeNil() throws -> Bool {
        let isNull = scope.core.pointee.word(try next(Never.self)).isNull
        if isNull { advance() }
        return isNull
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let value = try scope.value(type, try next(type), ElementKey(currentIndex))
        advance()
        return value
    }

    mutating func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
        let value = isPresent ? try scope.value(type, index, ElementKey(currentIndex)) : nil
        advance()
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let index = try next(KeyedDecodingContainer<NestedKey>.self)
        let container = try scope.makeIndependent(index, ElementKey(currentIndex)).container(keyedBy: type)
        advance()
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let index = try next((any UnkeyedDecodingContainer).self)
        let container = try scope.makeIndependent(index, ElementKey(currentIndex)).unkeyedContainer()
        advance()
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let message = "Cannot get superDecoder() -- unkeyed container is at end."
        let decoder = scope.makeIndependent(try next((any Decoder).self, message), ElementKey(currentIndex))
        advance()
        return decoder
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool {
        let index = try next(type)
        guard let value = scope.bool(index) else { throw scope.failure(type, index, ElementKey(currentIndex)) }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: Bool.Type) throws -> Bool? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: String.Type) throws -> String {
        let index = try next(type)
        guard let value = scope.string(index) else { throw scope.failure(type, index, ElementKey(currentIndex)) }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: String.Type) throws -> String? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: Double.Type) throws -> Double {
        let index = try next(type)
        guard let value = scope.double(index) else { throw scope.failure(type, index, ElementKey(currentIndex)) }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: Double.Type) throws -> Double? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: Float.Type) throws -> Float {
        let index = try next(type)
        guard let value = scope.float(index) else { throw scope.failure(type, index, ElementKey(currentIndex)) }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: Float.Type) throws -> Float? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: Int.Type) throws -> Int {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: Int.Type) throws -> Int? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: Int8.Type) throws -> Int8 {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: Int8.Type) throws -> Int8? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: Int16.Type) throws -> Int16 {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: Int16.Type) throws -> Int16? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: Int32.Type) throws -> Int32 {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: Int32.Type) throws -> Int32? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: Int64.Type) throws -> Int64 {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: Int64.Type) throws -> Int64? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: UInt.Type) throws -> UInt {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: UInt.Type) throws -> UInt? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: UInt8.Type) throws -> UInt8? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: UInt16.Type) throws -> UInt16 {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: UInt16.Type) throws -> UInt16? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: UInt32.Type) throws -> UInt32 {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: UInt32.Type) throws -> UInt32? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: UInt64.Type) throws -> UInt64 {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: UInt64.Type) throws -> UInt64? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: Int128.Type) throws -> Int128 {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: Int128.Type) throws -> Int128? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }

    mutating func decode(_ type: UInt128.Type) throws -> UInt128 {
        let index = try next(type)
        guard let value = scope.integer(index, as: type) else {
            throw scope.failure(type, index, ElementKey(currentIndex))
        }
        advance()
        return value
    }

    mutating func decodeIfPresent(_ type: UInt128.Type) throws -> UInt128? {
        guard isPresent else {
            advance()
            return nil
        }
        return try decode(type)
    }
}
