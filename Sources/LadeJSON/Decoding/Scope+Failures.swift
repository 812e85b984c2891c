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
    func corrupted(_ index: Int, _ reason: JSONError.Reason? = nil, key: (any CodingKey)? = nil) -> any Error {
        let found = reason.map { (reason: $0, offset: 0) } ?? text(index).fault()
        let known = path(key)
        let keys = known.contains { $0 is ReaderKey } ? core.path(to: index) : known
        core.pointee.place.move(to: core.offset(of: index) + found.offset, in: core.pointee.base)
        let path = JSONPointer(tokens: keys.map { $0.intValue.map { String($0) } ?? $0.stringValue })
        let fault = core.pointee.place.fault(found.reason, path: path).moved(core.pointee.markLength)
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

/// Finds the coding paths of values: a stack of the containers around the latest one.
///
/// The next path is found from the latest one. So the paths of all values in the document's order together take time
/// proportional to its length.
struct PathCursor {
    private struct Step {
        let container: Int
        let isObject: Bool
        let end: Int
        /// The index of the current element, or of the current member's name.
        var position: Int
        /// The number of elements or members before it.
        var count = 0
    }

    private var steps: [Step] = []

    /// The coding path of a value; for a name, the coding path of its object.
    ///
    /// - Parameters:
    ///   - index: The index of the value or name.
    ///   - words: The index of the document.
    ///   - base: The document's first byte.
    /// - Returns: The keys from the root.
    mutating func path(
        to index: Int,
        _ words: UnsafePointer<UInt64>,
        _ base: UnsafePointer<UInt8>
    ) -> [any CodingKey] {
        let depth = move(to: index, words)
        return steps.prefix(depth).map { step in
            guard step.isObject else { return ElementKey(step.count) }
            return MemberKey(JSONText(base: base, words: words, index: step.position).string() ?? "")
        }
    }

    /// Moves to a value or name, and returns the number of steps that lead to it.
    private mutating func move(to index: Int, _ words: UnsafePointer<UInt64>) -> Int {
        func width(_ index: Int) -> Int { IndexWord(bits: words[index]).width }
        // The null that represents missing values is behind the document.
        guard index > 0, index < width(0) else { return 0 }
        while let last = steps.last, index <= last.container || index >= last.end { steps.removeLast() }
        if steps.isEmpty { enter(0, words) }
        while true {
            let last = steps.count - 1
            if index < steps[last].position {
                (steps[last].position, steps[last].count) = (steps[last].container + 1, 0)
            }
            while true {
                let position = steps[last].position
                let value = steps[last].isObject ? position + width(position) : position
                if index < value { return last }
                if index == value { return steps.count }
                let end = value + width(value)
                if index < end {
                    enter(value, words)
                    break
                }
                (steps[last].position, steps[last].count) = (end, steps[last].count + 1)
            }
        }
    }

    private mutating func enter(_ container: Int, _ words: UnsafePointer<UInt64>) {
        let word = IndexWord(bits: words[container])
        steps.append(
            Step(
                container: container,
                isObject: word.kind == .object,
                end: container + word.width,
                position: container + 1
            )
        )
    }
}

/// Finds the offsets of values whose words have no offset, such as short integers.
///
/// The next offset is found from the latest one. So the offsets of all values in the document's order together take
/// time proportional to its length.
struct OffsetCursor {
    private var index = 0
    private var offset = 0

    /// The offset of a value's first byte.
    ///
    /// - Parameters:
    ///   - wanted: The index of the value.
    ///   - words: The index of the document.
    ///   - bytes: The document, which a scanner has validated.
    /// - Returns: The offset in the document without its byte order mark.
    mutating func offset(
        of wanted: Int,
        _ words: UnsafePointer<UInt64>,
        _ bytes: UnsafeBufferPointer<UInt8>
    ) -> Int {
        if index == 0 || wanted < index { (index, offset) = (0, Self.skipSeparators(0, bytes)) }
        while index < wanted {
            let word = IndexWord(bits: words[index])
            switch word.kind {
            case .string, .number:
                let length = word.shortLength == IndexWord.longLength ? Int(words[index + 1]) : word.shortLength
                // The offset of a string is the offset of its contents.
                offset = word.offset + length + (word.kind == .string ? 1 : 0)
                index += word.width
            case .array, .object:
                offset += 1
                index += 1
            default:
                while offset < bytes.count, !Self.isSeparator(bytes[offset]) { offset += 1 }
                index += 1
            }
            offset = Self.skipSeparators(offset, bytes)
        }
        return offset
    }

    private static func skipSeparators(_ from: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        bytes[from...].firstIndex { !isSeparator($0) } ?? bytes.count
    }

    /// Whether a byte can be between the beginnings of two values.
    private static func isSeparator(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "]"), UInt8(ascii: "}"): true
        default: Bytes.isSpace(byte)
        }
    }
}

extension UnsafeMutablePointer<Document.Core> {
    /// The offset of a number's first byte, or of the contents of a string.
    func offset(of index: Int) -> Int {
        let word = pointee.word(index)
        if word.kind == .string || word.kind == .number { return word.offset }
        let bytes = UnsafeBufferPointer(start: pointee.base, count: pointee.count)
        return pointee.offsets.offset(of: index, pointee.words, bytes)
    }

    /// The coding path of a value; for a name, the coding path of its object.
    ///
    /// It does not need the keys of scopes, which a ``FastJSONDecoder/Reader`` does not set.
    func path(to index: Int) -> [any CodingKey] {
        pointee.cursor.path(to: index, pointee.words, pointee.base)
    }
}
