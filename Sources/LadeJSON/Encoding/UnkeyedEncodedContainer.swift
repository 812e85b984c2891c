/// The unkeyed container of an array.
struct UnkeyedEncodedContainer: UnkeyedEncodingContainer {
    let part: EncodedPart

    var codingPath: [any CodingKey] { part.path }

    var count: Int { part.state.pointee.count }

    private var key: ElementKey { ElementKey(count) }

    @inline(__always)
    private func element(_ value: @autoclosure () -> Any, _ write: () throws -> Void) throws {
        try part.checkIsCurrent(value())
        try part.element(write)
    }

    mutating func encodeNil() throws {
        try element(Any?.none as Any) { part.output.pointee.write("null") }
    }

    mutating func encode<T: Encodable>(_ value: T) throws {
        try element(value) { try part.write(value, key) }
    }

    mutating func encode(_ value: String) throws {
        try element(value) { part.output.pointee.write(string: value) }
    }

    mutating func encode(_ value: Bool) throws {
        try element(value) { part.write(value) }
    }

    mutating func encode(_ value: Double) throws {
        try element(value) { try part.write(number: value, key) }
    }

    mutating func encode(_ value: Float) throws {
        try element(value) { try part.write(number: value, key) }
    }

    mutating func encode(_ value: Int) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: Int8) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: Int16) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: Int32) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: Int64) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: Int128) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt8) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt16) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt32) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt64) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func encode(_ value: UInt128) throws {
        try element(value) { part.output.pointee.write(integer: value) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        part.nestedElement().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        part.nestedElement().unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { part.nestedElement() }
}
