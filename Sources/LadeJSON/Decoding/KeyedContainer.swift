/// The keyed container of an object, a thin wrapper around a scope.
struct KeyedContainer<Key: CodingKey>: ScopeContainer {
    let scope: Scope

    var codingPath: [any CodingKey] { scope.path }

    var allKeys: [Key] { scope.memberNames.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { scope.find(key.stringValue) >= 0 }

    func decodeNil(forKey key: Key) throws -> Bool {
        let index = scope.find(key.stringValue)
        guard index >= 0 else { throw scope.missing(key) }
        return scope.core.pointee.word(index).isNull
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        let index = scope.find(key.stringValue)
        guard index >= 0 else { throw scope.missing(key) }
        return try scope.value(type, index, key)
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let index = present(key) else { return nil }
        return try scope.value(type, index, key)
    }

    /// The index of a value that is present and not null.
    @inline(__always)
    private func present(_ key: Key) -> Int? {
        let index = scope.find(key.stringValue)
        return index < 0 || scope.core.pointee.word(index).isNull ? nil : index
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try nested(key).unkeyedContainer()
    }

    private func nested(_ key: Key) throws -> Scope {
        let index = scope.find(key.stringValue)
        guard index >= 0 else { throw scope.missing(key) }
        return scope.makeIndependent(index, key)
    }

    func superDecoder() throws -> any Decoder { decoder(MemberKey.super) }

    func superDecoder(forKey key: Key) throws -> any Decoder { decoder(key) }

    private func decoder(_ key: some CodingKey) -> any Decoder {
        let index = scope.find(key.stringValue)
        return scope.makeIndependent(index < 0 ? scope.core.pointee.nullIndex : index, key)
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.bool(index) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        guard let index = present(key) else { return nil }
        guard let value = scope.bool(index) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.string(index) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        guard let index = present(key) else { return nil }
        guard let value = scope.string(index) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.double(index) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        guard let index = present(key) else { return nil }
        guard let value = scope.double(index) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.float(index) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        guard let index = present(key) else { return nil }
        guard let value = scope.float(index) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        let index = scope.find(key.stringValue)
        guard index >= 0, let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }

    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
        guard let index = present(key) else { return nil }
        guard let value = scope.integer(index, as: type) else { throw scope.failure(type, index, key) }
        return value
    }
}
