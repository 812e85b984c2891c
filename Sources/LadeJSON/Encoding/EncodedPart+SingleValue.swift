// A part is the single-value container of its own value.
extension EncodedPart: SingleValueEncodingContainer {
    @inline(__always)
    private func single(_ value: @autoclosure () -> Any, _ write: () throws -> Void) throws {
        try beginValue(value())
        try write()
        state.pointee.kind = .value
    }

    func encodeNil() throws {
        try single(Any?.none as Any) { output.pointee.write("null") }
    }

    func encode<T: Encodable>(_ value: T) throws { try write(single: value) }

    func encode(_ value: String) throws {
        try single(value) { output.pointee.write(string: value) }
    }

    func encode(_ value: Bool) throws {
        try single(value) { write(value) }
    }

    func encode(_ value: Double) throws {
        try single(value) { try write(number: value, nil) }
    }

    func encode(_ value: Float) throws {
        try single(value) { try write(number: value, nil) }
    }

    func encode(_ value: Int) throws {
        try single(value) { output.pointee.write(integer: value) }
    }

    func encode(_ value: Int8) throws {
        try single(value) { output.pointee.write(integer: value) }
    }

    func encode(_ value: Int16) throws {
        try single(value) { output.pointee.write(integer: value) }
    }

    func encode(_ value: Int32) throws {
        try single(value) { output.pointee.write(integer: value) }
    }

    func encode(_ value: Int64) throws {
        try single(value) { output.pointee.write(integer: value) }
    }

    func encode(_ value: Int128) throws {
        try single(value) { output.pointee.write(integer: value) }
    }

    func encode(_ value: UInt) throws {
        try single(value) { output.pointee.write(integer: value) }
    }

    func encode(_ value: UInt8) throws {
        try single(value) { output.pointee.write(integer: value) }
    }

    func encode(_ value: UInt16) throws {
        try single(value) { output.pointee.write(integer: value) }
    }

    func encode(_ value: UInt32) throws {
        try single(value) { output.pointee.write(integer: value) }
    }

    func encode(_ value: UInt64) throws {
        try single(value) { output.pointee.write(integer: value) }
    }

    func encode(_ value: UInt128) throws {
        try single(value) { output.pointee.write(integer: value) }
    }
}
