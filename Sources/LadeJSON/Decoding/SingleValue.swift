// A scope is the single-value container of its own value.
extension Scope: SingleValueDecodingContainer {
    @inline(__always)
    private var index: Int { state.pointee.index }

    func decodeNil() -> Bool {
        state.pointee.uses |= Uses.other
        return word.isNull
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        state.pointee.uses |= Uses.other
        return try value(type)
    }

    func decode(_ type: String.Type) throws -> String {
        // Calling it a second time has no effect.
        state.pointee.uses |= Uses.string
        guard let value = string(index) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: Bool.Type) throws -> Bool {
        state.pointee.uses |= Uses.other
        guard let value = bool(index) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: Double.Type) throws -> Double {
        state.pointee.uses |= Uses.other
        guard let value = double(index) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: Float.Type) throws -> Float {
        state.pointee.uses |= Uses.other
        guard let value = float(index) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: Int.Type) throws -> Int {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: Int8.Type) throws -> Int8 {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: Int16.Type) throws -> Int16 {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: Int32.Type) throws -> Int32 {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: Int64.Type) throws -> Int64 {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: UInt.Type) throws -> UInt {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: UInt8.Type) throws -> UInt8 {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: UInt16.Type) throws -> UInt16 {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: UInt32.Type) throws -> UInt32 {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: UInt64.Type) throws -> UInt64 {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: Int128.Type) throws -> Int128 {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }

    func decode(_ type: UInt128.Type) throws -> UInt128 {
        state.pointee.uses |= Uses.other
        guard let value = integer(index, as: type) else { throw failure(type, index, nil) }
        return value
    }
}
