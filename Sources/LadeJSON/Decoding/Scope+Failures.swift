// The errors, with the same texts and paths as Foundation's.
extension Scope {
    /// The error for a value that cannot be decoded as a type.
    ///
    /// - Parameters:
    ///   - type: The requested type.
    ///   - index: The index of the value; −1 when a member is missing.
    ///   - key: The key of the value in this scope; nil for the scope's own value.
    /// - Returns: The error that Foundation would throw.
    @inline(never)
    func failure(_ type: Any.Type, _ index: Int, _ key: (any CodingKey)?) -> any Error {
        if index < 0, let key { return missing(key) }
        let word = core.pointee.word(index)
        if word.isNull, type != Bool.self { return null(type, key) }
        switch word.kind {
        case .string where type == String.self:
            return corrupted(index, key: key)
        case .integer, .number:
            guard type != Bool.self, type != String.self else { break }
            if type is any FixedWidthInteger.Type || type is any BinaryFloatingPoint.Type {
                return corrupted(index, .numberOutOfRange, key: key)
            }
        default: break
        }
        return mismatch(type, index, key)
    }

    func mismatch(_ type: Any.Type, _ index: Int, _ key: (any CodingKey)?) -> any Error {
        DecodingError.typeMismatch(
            type,
            .init(
                codingPath: path(key),
                debugDescription: mismatchText(type, index)
            )
        )
    }

    /// The description of a mismatch, cached because unions that try several types need the same ones repeatedly.
    private func mismatchText(_ type: Any.Type, _ index: Int) -> String {
        let key = Document.Mismatch(type: ObjectIdentifier(type), kind: core.pointee.word(index).kind)
        if let known = core.pointee.mismatchTexts[key] { return known }
        let text = "Expected to decode \(type) but found \(description(index)) instead."
        if core.pointee.mismatchTexts.count < 256 { core.pointee.mismatchTexts[key] = text }
        return text
    }

    func missing(_ key: any CodingKey) -> any Error {
        DecodingError.keyNotFound(
            key,
            .init(
                codingPath: path,
                debugDescription: "No value associated with key \(key) (\"\(key.stringValue)\")."
            )
        )
    }

    func null(_ type: Any.Type, _ key: (any CodingKey)?) -> any Error {
        DecodingError.valueNotFound(
            type,
            .init(
                codingPath: path(key),
                debugDescription: "Cannot get value of type \(type) -- found null value instead"
            )
        )
    }

    /// The error for a value or a name whose own text is invalid.
    @inline(never)
    func corrupted(_ index: Int, _ reason: JSONFault.Reason? = nil, key: (any CodingKey)? = nil) -> any Error {
        let word = core.pointee.word(index)
        let bytes = UnsafeBufferPointer(start: core.pointee.base, count: core.pointee.count)
        guard word.kind == .string || word.kind == .number else {
            // The word of a short integer has no offset.
            return DecodingError.dataCorrupted(.invalidDocument(JSONFault(reason ?? .invalidNumber, offset: 0)))
        }
        let found = reason.map { (reason: $0, offset: 0) } ?? text(index).fault()
        let known = path(key)
        let keys = known.contains { $0 is ReaderKey } ? core.pointee.path(to: index) : known
        let fault = JSONFault(
            found.reason,
            offset: word.offset + found.offset,
            in: bytes,
            path: JSONPointer(tokens: keys.map { $0.intValue.map { String($0) } ?? $0.stringValue })
        )
        return DecodingError.dataCorrupted(.invalidDocument(fault))
    }

    /// The error for a value that is not the requested kind of container.
    func containerFailure(_ type: Any.Type, _ kind: String) -> any Error {
        if word.isNull {
            return DecodingError.valueNotFound(
                type,
                .init(
                    codingPath: path,
                    debugDescription: "Cannot get \(kind) decoding container -- found null value instead"
                )
            )
        }
        return mismatch(type, state.pointee.index, nil)
    }

    private func description(_ index: Int) -> String {
        switch core.pointee.word(index).kind {
        case .null: "null"
        case .true, .false: "bool"
        case .integer, .number: "number"
        case .string: "a string"
        case .array: "an array"
        case .object: "a dictionary"
        }
    }
}

extension Document.Core {
    /// The coding path of a value; of a name, that of its object.
    ///
    /// It does not need the keys of scopes, which a ``JSONReader`` does not set. Computing it takes time proportional to
    /// the part of the document before the value.
    func path(to index: Int) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var container = 0
        while container < index {
            let isObject = word(container).kind == .object
            var position = container + 1
            var count = 0
            var next: Int?
            while position <= index {
                let name = position
                if isObject {
                    guard name < index else { return path }
                    position += word(name).width
                }
                let end = position + word(position).width
                if index < end {
                    // Only a name is a text; the word of an element can be anything.
                    if isObject {
                        path.append(MemberKey(JSONText(base: base, words: words, index: name).string() ?? ""))
                    } else {
                        path.append(ElementKey(count))
                    }
                    next = position
                    break
                }
                position = end
                count += 1
            }
            guard let next else { break }
            container = next
        }
        return path
    }
}
