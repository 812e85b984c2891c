#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JSONValue: Decodable {
    /// Decodes any value.
    ///
    /// ``FastJSONDecoder`` gives exactly what the document holds: all digits of its numbers, and its names without a
    /// key strategy. From any other decoder, numbers beyond 64 bits and numbers with a fraction are the nearest
    /// `Double`, and names are those of a Swift dictionary.
    public init(from decoder: any Decoder) throws {
        if let scope = decoder as? Scope {
            self = try scope.exactValue()
            return
        }
        if var list = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !list.isAtEnd { elements.append(try list.decode(JSONValue.self)) }
            self = .array(elements)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .number(JSONValue.Number(scanned: String(value)))
        } else if let value = (try? container.decode(Double.self)).flatMap(JSONValue.Number.init(finite:)) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else {
            var members = JSONValue.Object()
            for (name, value) in try container.decode([String: JSONValue].self) { members[name] = value }
            self = .object(members)
        }
    }
}

extension JSONValue: Encodable {
    /// Encodes the value.
    ///
    /// ``FastJSONEncoder`` writes exactly this value: the text of its numbers, and its names without a key strategy.
    /// Any other encoder receives numbers beyond 64 bits and numbers with a fraction as the nearest `Double`.
    ///
    /// - Throws: `EncodingError` for a number beyond the range of `Double`, unless the encoder is ``FastJSONEncoder``;
    ///   also any error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        let part = encoder as? EncodedPart
        switch self {
        case .object(let members):
            if let part { return try part.write(members) }
            var container = encoder.singleValueContainer()
            try container.encode(members.dictionary)
        case .number(let number):
            if let part { return try part.write(number) }
            try number.encodeRounded(to: encoder)
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value): try value.encode(to: encoder)
        case .integer(let value): try value.encode(to: encoder)
        case .string(let value): try value.encode(to: encoder)
        case .array(let elements): try elements.encode(to: encoder)
        }
    }
}

extension Scope {
    /// The value, without any strategy.
    fileprivate func exactValue() throws -> JSONValue {
        state.pointee.uses |= Uses.other
        let builder = ValueBuilder(base: core.pointee.base, words: UnsafePointer(core.pointee.words))
        var position = state.pointee.index
        do throws(ValueBuilder.Stop) {
            return try builder.value(&position)
        } catch {
            let outer = path.map { $0.intValue.map { String($0) } ?? $0.stringValue }
            let fault = JSONError(
                error.reason,
                offset: error.offset,
                in: UnsafeBufferPointer(start: core.pointee.base, count: core.pointee.count),
                path: JSONPointer(tokens: outer + error.path.reversed())
            )
            throw DecodingError.dataCorrupted(.invalidDocument(fault.moved(core.pointee.markLength)))
        }
    }
}

extension EncodedPart {
    fileprivate func write(_ members: JSONValue.Object) throws {
        try beginValue(members)
        open(.object)
        for (name, value) in members {
            try member(name) { try write(value, MemberKey(name)) }
        }
    }

    fileprivate func write(_ number: JSONValue.Number) throws {
        try beginValue(number)
        output.pointee.write(json: number.text)
        state.pointee.kind = .value
    }
}

extension JSONValue.Number {
    fileprivate func encodeRounded(to encoder: any Encoder) throws {
        if let integer = integer(as: UInt64.self) { return try integer.encode(to: encoder) }
        guard double.isFinite else {
            let context = EncodingError.Context(
                codingPath: encoder.codingPath,
                debugDescription: "The number \(text) is beyond the range of Double."
            )
            throw EncodingError.invalidValue(self, context)
        }
        try double.encode(to: encoder)
    }
}
