#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Values of any encodable type, with special cases for some types.
extension EncodedPart {
    /// Writes an element or a member's value.
    @inline(__always)
    func write<T: Encodable>(_ value: T, _ key: some CodingKey) throws {
        let entry = session.kinds.entry(of: T.self)
        switch entry.pointee.kind {
        case .plain: try withChild(key) { try value.encode(to: $0) }
        case .elements:
            guard let elements = entry.pointee.elements else { return }
            try withChild(key) { child in
                try withUnsafePointer(to: value) { try elements.encodeElements($0, to: child) }
            }
        default: try withUnsafePointer(to: value) { try write($0, entry.pointee.kind, key) }
        }
    }

    /// Writes the part's own value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - isDocument: Whether the value is the whole document, for which encoding nothing is an error.
    /// - Throws: Any error of encoding the value.
    func write<T: Encodable>(single value: T, isDocument: Bool = false) throws {
        try beginValue(value)
        let entry = session.kinds.entry(of: T.self)
        switch entry.pointee.kind {
        case .plain: try value.encode(to: self)
        case .elements: try withUnsafePointer(to: value) { try entry.pointee.elements?.encodeElements($0, to: self) }
        default:
            try withUnsafePointer(to: value) { try write($0, entry.pointee.kind, nil) }
            if state.pointee.kind == .none, !isCustom(entry.pointee.kind) { state.pointee.kind = .value }
        }
        // As in Foundation, a value that encodes nothing becomes an empty object.
        if state.pointee.kind == .none, !(isDocument && entry.pointee.kind == .plain) { open(.object) }
    }

    /// Whether a closure or the type itself encodes values, and may have encoded nothing.
    private func isCustom(_ kind: EncodingKinds.Kind) -> Bool {
        switch kind {
        case .date: if case .custom = session.options.dateEncodingStrategy { true } else { false }
        case .data:
            switch session.options.dataEncodingStrategy {
            case .custom, .deferredToData: true
            default: false
            }
        default: false
        }
    }

    /// Writes a value of a type with a special case.
    private func write(_ memory: UnsafeRawPointer, _ kind: EncodingKinds.Kind, _ key: (any CodingKey)?) throws {
        switch kind {
        case .string: output.pointee.write(string: memory.assumingMemoryBound(to: String.self).pointee)
        case .integer: output.pointee.write(integer: memory.assumingMemoryBound(to: Int.self).pointee)
        case .bool: write(memory.assumingMemoryBound(to: Bool.self).pointee)
        case .double: try write(number: memory.assumingMemoryBound(to: Double.self).pointee, key)
        case .date: try write(memory.assumingMemoryBound(to: Date.self).pointee, key)
        case .data: try write(memory.assumingMemoryBound(to: Data.self).pointee, key)
        case .url: output.pointee.write(string: memory.assumingMemoryBound(to: URL.self).pointee.absoluteString)
        case .decimal:
            let value = memory.assumingMemoryBound(to: Decimal.self).pointee
            guard value.isFinite else { throw notJSON(value, key) }
            output.pointee.write(json: value.description)
        case .plain, .elements: break
        }
    }

    @inline(__always)
    func write(_ value: Bool) {
        if value { output.pointee.write("true") } else { output.pointee.write("false") }
    }

    @inline(__always)
    func write<T: BinaryFloatingPoint & LosslessStringConvertible>(number value: T, _ key: (any CodingKey)?) throws {
        if value.isFinite {
            output.pointee.write(number: value)
        } else {
            try write(nonConforming: value, session.options.nonConformingFloatEncodingStrategy, key)
        }
    }

    @inline(never)
    private func write<T: BinaryFloatingPoint & LosslessStringConvertible>(
        nonConforming value: T,
        _ strategy: JSONEncoder.NonConformingFloatEncodingStrategy,
        _ key: (any CodingKey)?
    ) throws {
        guard
            case .convertToString(positiveInfinity: let positive, negativeInfinity: let negative, nan: let nan) =
                strategy
        else { throw notJSON(value, key) }
        output.pointee.write(string: value.isNaN ? nan : value > 0 ? positive : negative)
    }

    private func notJSON<T>(_ value: T, _ key: (any CodingKey)?) -> any Error {
        EncodingError.invalidValue(
            value,
            .init(codingPath: path(key), debugDescription: "Unable to encode \(T.self).\(value) directly in JSON.")
        )
    }

    /// Calls a closure with an encoder for a value: of an element or a member if there is a key, otherwise of the part
    /// itself.
    private func withEncoder(_ key: (any CodingKey)?, _ body: (EncodedPart) throws -> Void) throws {
        guard let key else { return try body(self) }
        try withChild(key, body)
    }

    private func write(_ date: Date, _ key: (any CodingKey)?) throws {
        switch session.options.dateEncodingStrategy {
        case .deferredToDate: try write(number: date.timeIntervalSinceReferenceDate, key)
        case .secondsSince1970: try write(seconds: date.timeIntervalSince1970, key)
        case .millisecondsSince1970: try write(seconds: 1000 * date.timeIntervalSince1970, key)
        case .iso8601:
            if ISO8601Date.write(date, to: &output.pointee) { return }
            output.pointee.write(string: date.formatted(.iso8601))
        #if canImport(Darwin)
            case .formatted(let formatter): output.pointee.write(string: formatter.string(from: date))
        #endif
        case .custom(let closure): try withEncoder(key) { try closure(date, $0) }
        @unknown default: try withEncoder(key) { try date.encode(to: $0) }
        }
    }

    /// Writes a date as seconds; infinity and NaN are errors, even if the strategy for numbers allows them.
    private func write(seconds: Double, _ key: (any CodingKey)?) throws {
        guard seconds.isFinite else { throw notJSON(seconds, key) }
        output.pointee.write(number: seconds)
    }

    private func write(_ data: Data, _ key: (any CodingKey)?) throws {
        switch session.options.dataEncodingStrategy {
        case .deferredToData: try withEncoder(key) { try data.encode(to: $0) }
        case .base64: output.pointee.write(string: data.base64EncodedString())
        case .custom(let closure): try withEncoder(key) { try closure(data, $0) }
        @unknown default: try withEncoder(key) { try data.encode(to: $0) }
        }
    }
}

extension EncodedPart: Encoder {
    var codingPath: [any CodingKey] { path }

    var userInfo: [CodingUserInfoKey: Any] { session.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        open(.object)
        return KeyedEncodingContainer(KeyedEncodedContainer<Key>(part: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        open(.array)
        return UnkeyedEncodedContainer(part: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}
