#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// Values of any decodable type, with special cases for some types.
extension Scope {
    // No function here has an optional of a generic type, or a closure with one. The runtime would look up its metadata
    // for each value, also where it is not used.

    /// Decodes the scope's own value.
    func value<T: Decodable>(_ type: T.Type) throws -> T {
        let entry = core.pointee.kinds.entry(of: type)
        let index = state.pointee.index
        switch entry.pointee.kind {
        case .plain, .enumeration: return try T(from: self)
        case .elements: return try elements(type, entry.pointee.elements, self)
        case .date: return unsafeBitCast(try date(index, nil), to: type)
        case .data: return unsafeBitCast(try data(index, nil), to: type)
        case .url: return unsafeBitCast(try url(index, nil), to: type)
        case .decimal: return unsafeBitCast(try decimal(index, nil), to: type)
        case .string: if let value = string(index) { return unsafeBitCast(value, to: type) }
        case .double: if let value = double(index) { return unsafeBitCast(value, to: type) }
        case .int: if let value = integer(index, as: Int.self) { return unsafeBitCast(value, to: type) }
        case .bool: if let value = bool(index) { return unsafeBitCast(value, to: type) }
        case .ints: return try T(from: self)
        case .readable:
            guard let readable = readable(entry) else { return try T(from: self) }
            return try read(type, readable, index)
        }
        throw failure(type, index, nil)
    }

    /// Decodes the value of a member or an element.
    func value<T: Decodable>(_ type: T.Type, _ index: Int, _ key: some CodingKey) throws -> T {
        let entry = core.pointee.kinds.entry(of: type)
        switch entry.pointee.kind {
        case .plain:
            let child = enterChild(index)
            defer { leaveChild() }
            return try child._withUnsafeGuaranteedRef {
                $0.state.pointee.key = key
                return try T(from: $0)
            }
        case .enumeration: return try enumeration(type, index, key)
        case .elements:
            let child = enterChild(index)
            defer { leaveChild() }
            return try child._withUnsafeGuaranteedRef {
                $0.state.pointee.key = key
                return try elements(type, entry.pointee.elements, $0)
            }
        case .date: return unsafeBitCast(try date(index, key), to: type)
        case .data: return unsafeBitCast(try data(index, key), to: type)
        case .url: return unsafeBitCast(try url(index, key), to: type)
        case .decimal: return unsafeBitCast(try decimal(index, key), to: type)
        case .string: if let value = string(index) { return unsafeBitCast(value, to: type) }
        case .double: if let value = double(index) { return unsafeBitCast(value, to: type) }
        case .int: if let value = integer(index, as: Int.self) { return unsafeBitCast(value, to: type) }
        case .bool: if let value = bool(index) { return unsafeBitCast(value, to: type) }
        case .ints:
            if let value = integers(index) { return unsafeBitCast(value, to: type) }
            // The slower path produces the error.
            return try withChild(index, key) { try T(from: $0) }
        case .readable:
            guard let readable = readable(entry) else { return try withChild(index, key) { try T(from: $0) } }
            return try read(type, readable, index)
        }
        throw failure(type, index, key)
    }

    /// The ``FastJSONDecoder/Readable`` type of an entry; nil when a key strategy requires its other initialiser.
    @inline(__always)
    private func readable(_ entry: UnsafeMutablePointer<TypeKinds.Entry>) -> (any FastJSONDecoder.Readable.Type)? {
        core.pointee.keyMode == .plain ? entry.pointee.readable : nil
    }

    /// Decodes a value of a ``FastJSONDecoder/Readable`` type.
    private func read<T>(_ type: T.Type, _ readable: any FastJSONDecoder.Readable.Type, _ index: Int) throws -> T {
        try withUnsafeTemporaryAllocation(byteCount: MemoryLayout<T>.size, alignment: MemoryLayout<T>.alignment) {
            memory in
            guard let place = memory.baseAddress else { preconditionFailure("The memory of a value has no address") }
            try readable.read(self, index, into: place)
            return place.assumingMemoryBound(to: type).move()
        }
    }

    /// Decodes an array of integers; nil when the value is anything else.
    private func integers(_ place: Int) -> [Int]? {
        let word = core.pointee.word(place)
        guard word.kind == .array else { return nil }
        let end = place &+ word.span
        var index = place &+ 1
        guard index < end else { return [] }
        var elements: [Int] = []
        elements.reserveCapacity(min(word.count, 1 << 16))
        while index < end {
            guard let element = integer(index, as: Int.self) else { return nil }
            elements.append(element)
            index &+= core.pointee.word(index).width
        }
        return elements
    }

    @inline(__always)
    private func elements<T>(_ type: T.Type, _ elements: (any ElementsDecodable.Type)?, _ scope: Scope) throws -> T {
        guard let elements else { preconditionFailure("A collection has no way to be decoded") }
        // An array or dictionary is a single reference in memory.
        var value: UInt = 0
        return try withUnsafeMutablePointer(to: &value) {
            let memory = UnsafeMutableRawPointer($0)
            try elements.decodeElements(scope, into: memory)
            return memory.assumingMemoryBound(to: T.self).move()
        }
    }

    /// Decodes an enumeration with string raw values.
    ///
    /// If its initialiser requested nothing but the string, equal texts in the same document give equal cases.
    @inline(__always)
    private func enumeration<T: Decodable>(_ type: T.Type, _ index: Int, _ key: some CodingKey) throws -> T {
        let word = core.pointee.word(index)
        guard word.kind == .string, !word.flag, word.shortLength <= 16 else {
            let child = enterChild(index)
            defer { leaveChild() }
            return try child._withUnsafeGuaranteedRef {
                $0.state.pointee.key = key
                return try T(from: $0)
            }
        }
        let (place, wanted) = core.pointee.kinds.text(ObjectIdentifier(type), text(index).bytes)
        if TypeKinds.isKnown(place, wanted) {
            return UnsafeRawPointer(place).load(fromByteOffset: TypeKinds.Text.valueOffset, as: T.self)
        }
        let child = enterChild(index)
        defer { leaveChild() }
        return try child._withUnsafeGuaranteedRef {
            $0.state.pointee.key = key
            let value = try T(from: $0)
            if $0.state.pointee.uses == Uses.container | Uses.string {
                place.pointee = wanted
                let memory = UnsafeMutableRawPointer(place) + TypeKinds.Text.valueOffset
                memory.initializeMemory(as: T.self, to: value)
            }
            return value
        }
    }

    /// Calls a closure with a decoder for a value: of a member or an element if there is a key, otherwise of the scope
    /// itself.
    private func withDecoder<R>(_ index: Int, _ key: (any CodingKey)?, _ body: (Scope) throws -> R) rethrows -> R {
        guard let key else { return try body(self) }
        return try withChild(index, key, body)
    }

    private func date(_ index: Int, _ key: (any CodingKey)?) throws -> Date {
        let word = core.pointee.word(index)
        if core.pointee.hasISO8601Dates, word.kind == .string, !word.flag,
            let date = ISO8601Date.parse(text(index).bytes)
        {
            return date
        }
        if word.isNull { throw null(Date.self, key) }
        switch core.pointee.options.dateDecodingStrategy {
        case .deferredToDate:
            guard let seconds = double(index) else { throw failure(Double.self, index, key) }
            return Date(timeIntervalSinceReferenceDate: seconds)
        case .secondsSince1970:
            guard let seconds = double(index) else { throw failure(Double.self, index, key) }
            return Date(timeIntervalSince1970: seconds)
        case .millisecondsSince1970:
            guard let milliseconds = double(index) else { throw failure(Double.self, index, key) }
            return Date(timeIntervalSince1970: milliseconds / 1000)
        case .iso8601:
            guard let text = string(index) else { throw failure(String.self, index, key) }
            // The reason why the text is not a date does not matter: Foundation's error does not contain it either.
            guard let date = try? Date.ISO8601FormatStyle().parse(text) else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: path(key), debugDescription: "Expected date string to be ISO8601-formatted.")
                )
            }
            return date
        #if canImport(Darwin)
            case .formatted(let formatter):
                guard let text = string(index) else { throw failure(String.self, index, key) }
                guard let date = formatter.date(from: text) else {
                    throw DecodingError.dataCorrupted(
                        .init(
                            codingPath: path(key),
                            debugDescription: "Date string does not match format expected by formatter."
                        )
                    )
                }
                return date
        #endif
        case .custom(let closure):
            return try withDecoder(index, key) { try closure($0) }
        @unknown default:
            return try withDecoder(index, key) { try Date(from: $0) }
        }
    }

    private func data(_ index: Int, _ key: (any CodingKey)?) throws -> Data {
        if core.pointee.word(index).isNull { throw null(Data.self, key) }
        switch core.pointee.options.dataDecodingStrategy {
        case .deferredToData:
            return try withDecoder(index, key) { try Data(from: $0) }
        case .base64:
            guard core.pointee.word(index).kind == .string else { throw mismatch(String.self, index, key) }
            guard let text = string(index) else { throw failure(String.self, index, key) }
            guard let data = Data(base64Encoded: text) else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: path(key), debugDescription: "Encountered Data is not valid Base64.")
                )
            }
            return data
        case .custom(let closure):
            return try withDecoder(index, key) { try closure($0) }
        @unknown default:
            return try withDecoder(index, key) { try Data(from: $0) }
        }
    }

    private func url(_ index: Int, _ key: (any CodingKey)?) throws -> URL {
        if core.pointee.word(index).isNull { throw null(URL.self, key) }
        guard let text = string(index) else { throw failure(String.self, index, key) }
        guard let url = URL(string: text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: path(key), debugDescription: "Invalid URL string."))
        }
        return url
    }

    private func decimal(_ index: Int, _ key: (any CodingKey)?) throws -> Decimal {
        let word = core.pointee.word(index)
        if word.isNull { throw null(Decimal.self, key) }
        if word.kind == .integer { return Decimal(word.integer) }
        guard word.kind == .number else {
            throw DecodingError.typeMismatch(Decimal.self, .init(codingPath: path(key), debugDescription: ""))
        }
        // Decimals are rare, so Foundation decides which values are valid.
        guard let value = try? JSONDecoder().decode(Decimal.self, from: Data(text(index).bytes)) else {
            throw corrupted(index, .numberOutOfRange)
        }
        return value
    }
}
