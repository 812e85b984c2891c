/// The keyed container of an object.
struct KeyedEncodedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let part: EncodedPart

    var codingPath: [any CodingKey] { part.path }

    /// Writes a member; only this thin wrapper is generic.
    @inline(__always)
    private func member(_ key: Key, _ value: @autoclosure () -> Any, _ write: () throws -> Void) throws {
        try part.checkIsCurrent(value())
        try part.member(part.session.name(key, in: part), write)
    }

    mutating func encodeNil(forKey key: Key) throws {
        try member(key, Any?.none as Any) { part.output.pointee.write("null") }
    }

    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try member(key, value) { try part.write(value, key) }
    }

    mutating func encode(_ value: String, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(string: value) }
    }

    mutating func encode(_ value: Bool, forKey key: Key) throws {
        try member(key, value) { part.write(value) }
    }

    mutating func encode(_ value: Double, forKey key: Key) throws {
        try member(key, value) { try part.write(number: value, key) }
    }

    mutating func encode(_ value: Float, forKey key: Key) throws {
        try member(key, value) { try part.write(number: value, key) }
    }

    mutating func encode(_ value: Int, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: Int8, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: Int16, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: Int32, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: Int64, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: Int128, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt8, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt16, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt32, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt64, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt128, forKey key: Key) throws {
        try member(key, value) { part.output.pointee.write(integer: value) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        part.nestedMember(part.session.name(key, in: part), key, .object).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        part.nestedMember(part.session.name(key, in: part), key, .array).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        part.nestedMember(part.session.name(MemberKey.super, in: part), MemberKey.super, .none)
    }

    mutating func superEncoder(forKey key: Key) -> any Encoder {
        part.nestedMember(part.session.name(key, in: part), key, .none)
    }
}
