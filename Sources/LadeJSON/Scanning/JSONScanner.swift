/// Validates a whole document and writes its index, in one pass.
///
/// The scanner checks the grammar of RFC 8259, including numbers, escapes and control characters. UTF-8 and surrogate
/// pairs are checked when a string is read. There is no recursion: nesting uses memory of fixed size.
struct JSONScanner {
    static let depthLimit = 512

    private struct Container {
        var word: Int
        var count: Int
        var isObject: Bool
        var isComplex: Bool
    }

    private let start: UnsafePointer<UInt8>
    private let end: UnsafePointer<UInt8>
    private let allowsTrailingCommas: Bool
    private let stack: UnsafeMutablePointer<Container>
    private var depth = 0
    private var index: JSONIndex

    private struct Stop: Error {
        var reason: JSONError.Reason
        var offset: Int
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>, _ base: UnsafePointer<UInt8>, _ commas: Bool, _ index: JSONIndex)
    {
        start = base
        end = base + bytes.count
        allowsTrailingCommas = commas
        stack = .allocate(capacity: Self.depthLimit + 1)
        // Marks the level below which nesting is deep: the first container there replaces it, at no cost for others.
        stack[StackSpace.shallow] = Container(word: -1, count: 0, isObject: false, isComplex: false)
        self.index = index
    }

    /// Replaces the contents of an index with the words of a document.
    ///
    /// - Parameters:
    ///   - bytes: The document without its byte order mark.
    ///   - index: The index to write.
    ///   - allowsTrailingCommas: Whether a comma is allowed before a closing bracket or brace.
    ///   - markLength: The length of the byte order mark before the bytes, for the offsets of faults.
    /// - Throws: The first violation, with its position.
    static func scan(
        _ bytes: UnsafeBufferPointer<UInt8>,
        into index: inout JSONIndex,
        allowsTrailingCommas: Bool,
        markLength: Int = 0
    ) throws(JSONError) {
        index.count = 0
        guard let base = bytes.baseAddress, !bytes.isEmpty else {
            throw JSONError(.unexpectedEnd, offset: Int64(markLength))
        }
        // Most documents have one word per 8 to 20 bytes.
        index.reserve(bytes.count / 12 + 16)
        var scanner = JSONScanner(bytes, base, allowsTrailingCommas, index)
        defer {
            index = scanner.index
            index.isDeep = scanner.stack[StackSpace.shallow].word >= 0
            scanner.stack.deallocate()
        }
        do throws(Stop) {
            try scanner.document()
        } catch {
            throw JSONError(error.reason, offset: error.offset, in: bytes, path: scanner.path()).moved(markLength)
        }
    }

    /// The path to the value where the scan stopped.
    private func path() -> JSONPointer {
        var tokens: [String] = []
        for level in 0..<depth {
            let container = stack[level]
            guard container.isObject else {
                tokens.append(String(container.count))
                continue
            }
            // Finds the name of the last member by skipping the values before it.
            var position = container.word + 1
            var name: Int?
            while position < index.count {
                name = position
                position += IndexWord(bits: index.words[position]).width
                guard position < index.count else { break }
                // The span of an open container is not known yet, and it is the last value.
                if level + 1 < depth, stack[level + 1].word == position { break }
                position += IndexWord(bits: index.words[position]).width
            }
            guard let name else { continue }
            let text = JSONText(base: start, words: index.words, index: name)
            tokens.append(text.string() ?? String(decoding: text.bytes, as: UTF8.self))
        }
        return JSONPointer(tokens: tokens)
    }

    @inline(__always)
    private mutating func push(_ word: IndexWord) {
        if index.count == index.capacity { index.grow() }
        index.words[index.count] = word.bits
        index.count &+= 1
    }

    private func stop(_ reason: JSONError.Reason, _ position: UnsafePointer<UInt8>) -> Stop {
        Stop(reason: reason, offset: position - start)
    }

    private func stop(_ position: UnsafePointer<UInt8>) -> Stop {
        position < end
            ? stop(.unexpectedByte(position.pointee), position) : stop(.unexpectedEnd, end)
    }

    /// The first byte from a position on that is not white space.
    @inline(__always)
    private func skipSpace(_ from: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
        if from < end, from.pointee > 0x20 { return from }
        return skipSomeSpace(from)
    }

    private func skipSomeSpace(_ from: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
        var position = from
        while position < end {
            let byte = position.pointee
            guard Bytes.isSpace(byte) else { return position }
            position += 1
            // A line end is usually followed by spaces.
            while end - position >= 8 {
                let others = Bytes.word(position) ^ 0x2020_2020_2020_2020
                guard others == 0 else {
                    position += others.trailingZeroBitCount >> 3
                    break
                }
                position += 8
            }
        }
        return position
    }

    private mutating func document() throws(Stop) {
        var position = skipSpace(start)
        values: while true {
            guard position < end else { throw stop(end) }
            switch position.pointee {
            case UInt8(ascii: "\""):
                position = try string(position, isName: false)
            case UInt8(ascii: "{"):
                try open(isObject: true, position)
                position = skipSpace(position + 1)
                guard position < end, position.pointee == UInt8(ascii: "}") else {
                    position = try name(position)
                    continue values
                }
                close()
                position += 1
            case UInt8(ascii: "["):
                try open(isObject: false, position)
                position = skipSpace(position + 1)
                guard position < end, position.pointee == UInt8(ascii: "]") else {
                    continue values
                }
                close()
                position += 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                position = try number(position)
            case UInt8(ascii: "t"):
                position = try literal(position, "true", .true)
            case UInt8(ascii: "f"):
                position = try literal(position, "false", .false)
            case UInt8(ascii: "n"):
                position = try literal(position, "null", .null)
            default: throw stop(position)
            }
            // A value has ended, and perhaps the containers around it.
            while true {
                position = skipSpace(position)
                guard depth > 0 else {
                    if position < end { throw stop(.trailingContent, position) }
                    return
                }
                guard position < end else { throw stop(end) }
                let top = stack + (depth &- 1)
                top.pointee.count &+= 1
                let closing = top.pointee.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
                let byte = position.pointee
                if byte == UInt8(ascii: ",") {
                    position = skipSpace(position + 1)
                    if !(allowsTrailingCommas && position < end && position.pointee == closing) {
                        if top.pointee.isObject { position = try name(position) }
                        continue values
                    }
                } else if byte != closing {
                    throw stop(position)
                }
                close()
                position += 1
            }
        }
    }

    @inline(__always)
    private mutating func open(isObject: Bool, _ position: UnsafePointer<UInt8>) throws(Stop) {
        guard depth < Self.depthLimit else {
            throw stop(.nestingTooDeep(limit: Self.depthLimit), position)
        }
        stack[depth] = Container(word: index.count, count: 0, isObject: isObject, isComplex: false)
        depth &+= 1
        push(IndexWord(isObject ? .object : .array))
    }

    @inline(__always)
    private mutating func close() {
        depth &-= 1
        let container = stack[depth]
        index.words[container.word] =
            IndexWord(
                container: container.isObject ? .object : .array,
                count: container.count,
                span: index.count &- container.word,
                isComplex: container.isComplex
            ).bits
    }

    /// Scans a name and its colon; returns the position of the value.
    @inline(__always)
    private mutating func name(_ from: UnsafePointer<UInt8>) throws(Stop) -> UnsafePointer<UInt8> {
        guard from < end, from.pointee == UInt8(ascii: "\"") else { throw stop(from) }
        var position = try string(from, isName: true)
        if position == end || position.pointee != UInt8(ascii: ":") {
            position = skipSpace(position)
            guard position < end, position.pointee == UInt8(ascii: ":") else { throw stop(position) }
        }
        return skipSpace(position + 1)
    }

    @inline(__always)
    private mutating func literal(
        _ position: UnsafePointer<UInt8>,
        _ text: StaticString,
        _ kind: IndexWord.Kind
    ) throws(Stop) -> UnsafePointer<UInt8> {
        let count = text.utf8CodeUnitCount
        if end - position >= count, Bytes.areEqual(position, text.utf8Start, count) {
            push(IndexWord(kind))
            return position + count
        }
        var wrong = position
        while wrong < end, wrong.pointee == text.utf8Start[wrong - position] { wrong += 1 }
        throw stop(wrong)
    }

    /// Scans a string from its opening quotation mark; returns the position after its closing one.
    @inline(__always)
    private mutating func string(_ from: UnsafePointer<UInt8>, isName: Bool) throws(Stop) -> UnsafePointer<UInt8> {
        let first = from + 1
        // Most strings are plain ASCII.
        var position = Bytes.endOfASCIIText(first, end)
        var seen: UInt64 = 0
        var flags: UInt64 = 0
        while position == end || position.pointee != UInt8(ascii: "\"") {
            if end - position >= 8 {
                let word = Bytes.word(position)
                let mask = Bytes.endOfPlainText(word)
                guard mask != 0 else {
                    seen |= word
                    position += 8
                    continue
                }
                let bit = UInt64(mask.trailingZeroBitCount) &- 7
                seen |= word & ((1 << bit) &- 1)
                position += Int(bit >> 3)
            } else {
                while position < end {
                    let byte = position.pointee
                    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
                    seen |= UInt64(byte)
                    position += 1
                }
                guard position < end else { throw stop(end) }
            }
            let byte = position.pointee
            if byte == UInt8(ascii: "\"") { break }
            guard byte == UInt8(ascii: "\\") else { throw stop(.controlCharacter, position) }
            flags = 1
            position = try escape(position + 1)
        }
        if seen & Bytes.highBits != 0 { flags |= 2 }
        let length = position - first
        if length < IndexWord.longLength {
            push(IndexWord(.string, offset: first - start, length: length, flags: flags))
            if isName, flags != 0 { stack[depth &- 1].isComplex = true }
        } else {
            push(IndexWord(.string, offset: first - start, length: IndexWord.longLength, flags: flags))
            push(IndexWord(bits: UInt64(length)))
            if isName { stack[depth &- 1].isComplex = true }
        }
        return position + 1
    }

    /// Scans an escape after its backslash; returns the position after it.
    @inline(__always)
    private func escape(_ position: UnsafePointer<UInt8>) throws(Stop) -> UnsafePointer<UInt8> {
        guard position < end else { throw stop(end) }
        switch position.pointee {
        case UInt8(ascii: "u"):
            for place in 1...4 {
                guard position + place < end else { throw stop(end) }
                guard JSONText.hexadecimal(position[place]) < 16 else {
                    throw stop(.invalidEscape, position + place)
                }
            }
            return position + 5
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return position + 1
        default: throw stop(.invalidEscape, position)
        }
    }

    /// The position after a run of digits.
    @inline(__always)
    private func skipDigits(_ from: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
        var position = from
        while end - position >= 8, Bytes.areDigits(Bytes.word(position)) { position += 8 }
        while position < end, Bytes.isDigit(position.pointee) { position += 1 }
        return position
    }

    private mutating func number(_ from: UnsafePointer<UInt8>) throws(Stop) -> UnsafePointer<UInt8> {
        var position = from
        let isNegative = position.pointee == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let digits = position
        guard position < end, Bytes.isDigit(position.pointee) else {
            throw position < end ? stop(.invalidNumber, position) : stop(end)
        }
        var magnitude: UInt64 = 0
        while position < end, Bytes.isDigit(position.pointee) {
            // The value overflows only beyond 18 digits, and then it is not used.
            magnitude = magnitude &* 10 &+ UInt64(position.pointee &- 0x30)
            position += 1
        }
        let length = position - digits
        if length > 1, digits.pointee == UInt8(ascii: "0") {
            throw stop(.invalidNumber, digits + 1)
        }
        var flags: UInt64 = 0
        if position < end, position.pointee == UInt8(ascii: ".") {
            flags = 1
            let fraction = position + 1
            position = skipDigits(fraction)
            guard position > fraction else {
                throw position < end ? stop(.invalidNumber, position) : stop(end)
            }
        }
        if position < end, position.pointee | 0x20 == UInt8(ascii: "e") {
            flags = 1
            position += 1
            if position < end, position.pointee == UInt8(ascii: "+") || position.pointee == UInt8(ascii: "-") {
                position += 1
            }
            let exponent = position
            position = skipDigits(exponent)
            guard position > exponent else {
                throw position < end ? stop(.invalidNumber, position) : stop(end)
            }
        }
        // −0 is kept as a text, because its floating-point value has a sign.
        if flags == 0, length <= 17, !(isNegative && magnitude == 0) {
            push(IndexWord(integer: isNegative ? -Int64(magnitude) : Int64(magnitude)))
            return position
        }
        let whole = position - from
        if whole < IndexWord.longLength {
            push(IndexWord(.number, offset: from - start, length: whole, flags: flags))
        } else {
            push(IndexWord(.number, offset: from - start, length: IndexWord.longLength, flags: flags))
            push(IndexWord(bits: UInt64(whole)))
        }
        return position
    }
}
