#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension JSONValue {
    /// The nesting limit: 512 arrays and objects.
    public static let depthLimit = JSONScanner.depthLimit

    /// Parses a text in UTF-8, with an optional byte order mark.
    ///
    /// The text must match the grammar of RFC 8259. Time and memory grow linearly with its size.
    ///
    /// - Parameter text: The document.
    /// - Throws: ``JSONError`` with the position of the first violation.
    public init(parsing text: Data) throws(JSONError) {
        // A closure of `withUnsafeBytes` cannot throw typed errors.
        self = try text.withUnsafeBytes { buffer in
            Result { () throws(JSONError) in try JSONValue.parsed(buffer.bindMemory(to: UInt8.self)) }
        }.get()
    }

    /// Parses a text in which an escaped half of a surrogate pair is allowed, which becomes U+FFFD; nil without JSON.
    ///
    /// It is for texts of servers in which only some members matter. RFC 8259 §8.2 allows a string of this kind, and a
    /// program that does not use it must not lose the rest.
    package init?(tolerant text: Data) {
        let value = text.withUnsafeBytes { buffer in
            Result { () throws(JSONError) in
                try JSONValue.parsed(buffer.bindMemory(to: UInt8.self), replacesLoneSurrogates: true)
            }
        }
        guard case .success(let value) = value else { return nil }
        self = value
    }

    private static func parsed(
        _ bytes: UnsafeBufferPointer<UInt8>,
        replacesLoneSurrogates: Bool = false
    ) throws(JSONError) -> JSONValue {
        let markLength = TextEncoding.hasUTF8Mark(bytes) ? 3 : 0
        let text = UnsafeBufferPointer(rebasing: bytes[markLength...])
        var index = JSONIndex()
        defer { index.deallocate() }
        try JSONScanner.scan(text, into: &index, allowsTrailingCommas: false, markLength: markLength)
        guard let base = text.baseAddress else { throw JSONError(.unexpectedEnd, offset: 0) }
        let builder = ValueBuilder(
            base: base,
            words: UnsafePointer(index.words),
            replacesLoneSurrogates: replacesLoneSurrogates
        )
        // 512 levels of a debug build do not fit into the stack of every thread. The closure throws nothing.
        let built = index.isDeep ? (try? StackSpace.withEnough { builder.whole }) ?? builder.whole : builder.whole
        switch built {
        case .success(let value): return value
        case .failure(let error):
            throw JSONError(
                error.reason,
                offset: error.offset + markLength,
                in: bytes,
                path: JSONPointer(tokens: error.path.reversed())
            )
        }
    }

    /// Whether a text is a JSON document (RFC 8259); an escaped half of a surrogate pair is allowed.
    package static func isValid(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var index = JSONIndex()
            defer { index.deallocate() }
            // The kind of fault does not matter here.
            return (try? JSONScanner.scan(bytes, into: &index, allowsTrailingCommas: false)) != nil
        }
    }
}

/// Builds values from the index of a scanned document.
struct ValueBuilder {
    /// The reason why a string is invalid, with the path collected from the inside outwards.
    struct Stop: Error {
        var reason: JSONError.Reason
        var offset: Int
        var path: [String] = []
    }

    let base: UnsafePointer<UInt8>
    let words: UnsafePointer<UInt64>
    var replacesLoneSurrogates = false

    /// The value of the document.
    var whole: Result<JSONValue, Stop> {
        var position = 0
        do throws(Stop) {
            return .success(try value(&position))
        } catch {
            return .failure(error)
        }
    }

    /// The value at a position, which moves past it.
    func value(_ position: inout Int) throws(Stop) -> JSONValue {
        let word = IndexWord(bits: words[position])
        switch word.kind {
        case .null, .false, .true, .integer:
            position += 1
            switch word.kind {
            case .null: return .null
            case .integer: return .integer(word.integer)
            default: return .bool(word.kind == .true)
            }
        case .number: return number(&position)
        case .string: return .string(try string(&position))
        case .array: return .array(try elements(word, &position))
        case .object: return .object(try members(word, &position))
        }
    }

    private func text(_ position: inout Int) -> JSONText {
        let text = JSONText(base: base, words: words, index: position)
        position += IndexWord(bits: words[position]).width
        return text
    }

    private func string(_ position: inout Int) throws(Stop) -> String {
        let text = text(&position)
        if let string = text.string() { return string }
        let fault = text.fault()
        if replacesLoneSurrogates, fault.reason == .loneSurrogate {
            return JSONText.replacingLoneSurrogates(ArraySlice(text.bytes))
        }
        throw Stop(reason: fault.reason, offset: (text.bytes.baseAddress.map { $0 - base } ?? 0) + fault.offset)
    }

    private func number(_ position: inout Int) -> JSONValue {
        let isDecimal = IndexWord(bits: words[position]).flag
        let bytes = text(&position).bytes
        // An integer of 17 to 19 digits may fit into 64 bits, but not into the index word. −0 is not an integer.
        if !isDecimal, let integer = IntegerParser.integer(bytes, isDecimal: false, as: Int64.self), integer != 0 {
            return .integer(integer)
        }
        return .number(JSONValue.Number(scanned: String(decoding: bytes, as: UTF8.self)))
    }

    private func elements(_ word: IndexWord, _ position: inout Int) throws(Stop) -> [JSONValue] {
        let end = position + word.span
        position += 1
        var elements: [JSONValue] = []
        elements.reserveCapacity(word.count)
        while position < end {
            do throws(Stop) {
                elements.append(try value(&position))
            } catch {
                throw error.within(String(elements.count))
            }
        }
        return elements
    }

    private func members(_ word: IndexWord, _ position: inout Int) throws(Stop) -> JSONValue.Object {
        let end = position + word.span
        position += 1
        var members = JSONValue.Object()
        members.reserveCapacity(min(word.count, 1 << 10))
        while position < end {
            let name = try string(&position)
            do throws(Stop) {
                members[name] = try value(&position)
            } catch {
                throw error.within(name)
            }
        }
        return members
    }
}

extension ValueBuilder.Stop {
    /// The stop with the token of the enclosing container added to its path.
    func within(_ token: String) -> Self {
        var outer = self
        outer.path.append(token)
        return outer
    }
}
