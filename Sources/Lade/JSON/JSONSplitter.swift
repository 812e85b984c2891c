#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Cuts the list in a JSON document into lines, one item each, while the document arrives.
///
/// Every byte of an item is kept but white space between its tokens: numbers, the order of members, escapes and unknown
/// members come out as they went in. Nothing is decoded but the few scalars that are asked for by pointer.
///
/// ```swift
/// var splitter = JSONSplitter(.init(list: ["items"], values: [["next"]]))
/// try splitter.consume(Data(#"{"items": [{"id": 1}, {"id": 2}], "next": "/2"}"#.utf8))
/// try splitter.finish()
/// splitter.takeLines()   // {"id":1}⏎{"id":2}⏎
/// splitter.value(at: 0)  // "/2"
/// ```
///
/// The whole document is checked against RFC 8259, items and all the rest: its grammar, control characters and escapes
/// in strings, UTF-8 as Unicode's table 3-7 has it. A byte order mark in front is passed over (§8.1). An escaped half of
/// a surrogate pair is grammatical (§8.2) and passes. Repeated names pass; of a value asked for the last one counts, and a
/// second list is refused. What was already cut when a fault is found stays available.
public struct JSONSplitter: ~Copyable, @unchecked Sendable {
    // Sendable: the memory behind the two pointers belongs to this value alone, which cannot be copied.

    /// What to look for and how much to bear.
    public struct Settings: Sendable, Hashable {
        /// Where the list is; the document itself by default, nil for no list at all.
        public var list: JSONPointer?
        /// Where the scalars are that are wanted.
        public var values: [JSONPointer]
        /// Where in each item its identity is; nil for none.
        public var identity: JSONPointer?
        /// How many arrays and objects may stand within one another; 512 by default.
        public var nestingLimit = 512
        /// How many bytes an item may have without its white space; 16 MiB by default.
        public var itemLimit = 16 << 20
        /// How many bytes a wanted scalar, or a name on the way to it, may have; 64 KiB by default.
        public var valueLimit = 64 << 10

        /// Makes settings.
        public init(list: JSONPointer? = [], values: [JSONPointer] = [], identity: JSONPointer? = nil) {
            self.list = list
            self.values = values
            self.identity = identity
        }
    }

    /// How many bytes are copied at once.
    private static let stride = 16

    /// What was found in the place of the list.
    public enum ListState: Sendable, Hashable {
        /// Nothing, or nothing yet.
        case missing
        /// A list, perhaps not at its end yet.
        case array
        /// Null.
        case null
        /// Something else.
        case other
    }

    private enum State: UInt8 {
        case value
        case valueOrEnd
        case name
        case nameOrEnd
        case colon
        case comma
        case done
        case string
        case number
        case literal
    }

    private enum StringState: UInt8 {
        case plain
        case escape
        case hexadecimal
        case continuation
    }

    private enum NumberState: UInt8 {
        case minus
        case zero
        case integer
        case point
        case fraction
        case exponent
        case sign
        case power

        var isComplete: Bool { self == .zero || self == .integer || self == .fraction || self == .power }
    }

    /// A pointer on its way through the document.
    private struct Watch {
        enum Role {
            case list
            case value(Int)
            case identity
        }

        let role: Role
        let names: [[UInt8]]
        let indices: [Int?]
        /// How many containers are open around what the pointer starts from.
        var base = 0
        /// How many of the open containers lie on its path.
        var matched = 0
        /// Whether the value to come lies on its path.
        var isHit = false
        /// Whether the scalar being read is what it points to.
        var isTarget = false
    }

    /// How many items were cut so far.
    public private(set) var itemCount = 0
    /// What was found in the place of the list.
    public private(set) var listState = ListState.missing
    /// How many bytes of the document were consumed.
    public private(set) var consumedBytes: Int64 = 0
    /// A checksum of the identity of each item since they were taken last; nil for an item without.
    private(set) var identities: [UInt64?] = []
    private var identifiedItems = 0

    private let settings: Settings
    private var values: [JSONScalar?]
    private var fault: JSONSyntaxFault?

    private var state = State.value
    private var stringState = StringState.plain
    private var numberState = NumberState.minus
    private var isName = false
    private var hasEscape = false
    /// Hexadecimal digits or continuation bytes that are still to come.
    private var remaining = 0
    private var lowest: UInt8 = 0
    private var highest: UInt8 = 0
    /// The rest of a literal, first byte lowest.
    private var literal: UInt32 = 0
    private var markLength = 0

    /// Whether each open container is an array, outermost first.
    private let isArray: UnsafeMutablePointer<Bool>
    private var depth = 0
    private var listDepth = Int.max
    private var isInItem = false
    private var itemStart = 0

    private var watches: [Watch] = []
    /// The deepest container that lies on the path of any watch.
    private var watchDepth = 0
    /// The index of the element to come in each open array, as far down as a watch may want to know.
    private var elements: [Int]
    /// Whether any watch has its `isHit` set.
    private var hasHit = true
    /// The lengths of the names on the paths of all watches: bit n for n bytes, the last for 63 and more.
    private let wantedLengths: UInt64
    private var isCapturing = false
    private var capture: [UInt8] = []

    private var output: UnsafeMutablePointer<UInt8>
    private var outputCapacity: Int
    private var outputCount = 0
    private var completeCount = 0

    /// Makes a splitter for one document.
    public init(_ settings: Settings = Settings()) {
        self.settings = settings
        values = Array(repeating: nil, count: settings.values.count)
        isArray = .allocate(capacity: max(settings.nestingLimit, 0) + 1)
        outputCapacity = 16 << 10
        output = .allocate(capacity: outputCapacity)
        if let list = settings.list { watches.append(Self.watch(list, .list)) }
        for (index, pointer) in settings.values.enumerated() { watches.append(Self.watch(pointer, .value(index))) }
        for index in watches.indices { watches[index].isHit = true }
        if let identity = settings.identity { watches.append(Self.watch(identity, .identity)) }
        elements = Array(repeating: 0, count: max(settings.nestingLimit, 0) + 1)
        wantedLengths = watches.reduce(0) { lengths, watch in
            watch.names.reduce(lengths) { $0 | 1 << UInt64(min($1.count, 63)) }
        }
    }

    deinit {
        isArray.deallocate()
        output.deallocate()
    }

    private static func watch(_ pointer: JSONPointer, _ role: Watch.Role) -> Watch {
        Watch(
            role: role,
            names: pointer.tokens.map { Array($0.utf8) },
            indices: pointer.tokens.map(JSONPointer.index)
        )
    }

    // MARK: - Feeding

    /// Takes the next bytes of the document.
    ///
    /// - Throws: ``JSONSyntaxFault`` at the first byte that breaks a rule or a limit, and ever after.
    public mutating func consume(_ bytes: Data) throws(JSONSyntaxFault) {
        // A closure of `withUnsafeBytes` cannot throw typed errors, so the fault is left in its place.
        bytes.withUnsafeBytes { buffer in
            do throws(JSONSyntaxFault) { try consume(buffer) } catch { fault = error }
        }
        if let fault { throw fault }
    }

    /// Takes the next bytes of the document.
    ///
    /// - Throws: ``JSONSyntaxFault`` at the first byte that breaks a rule or a limit, and ever after.
    public mutating func consume(_ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxFault) {
        if let fault { throw fault }
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        // What comes out is never longer than what went in: a line feed stands for a comma or a bracket.
        reserve(bytes.count + 1 + Self.stride)
        let start = base.assumingMemoryBound(to: UInt8.self)
        do {
            try scan(start, start + bytes.count)
            consumedBytes += Int64(bytes.count)
        } catch {
            fault = error
            throw error
        }
    }

    /// Says that the document has ended.
    ///
    /// - Throws: ``JSONSyntaxFault`` when it is not complete.
    public mutating func finish() throws(JSONSyntaxFault) {
        if let fault { throw fault }
        // Only a number has no end of its own.
        if state == .number, depth == 0, numberState.isComplete {
            finishCapture()
            state = .done
        }
        guard state == .done else {
            let error = JSONSyntaxFault(.unexpectedEnd, offset: consumedBytes)
            fault = error
            throw error
        }
    }

    // MARK: - Taking

    /// How many bytes of whole lines are ready.
    public var readyBytes: Int { completeCount }

    /// Removes the whole lines that are ready, each with its line feed, and returns them.
    public mutating func takeLines() -> Data {
        let lines = Data(bytes: output, count: completeCount)
        discardLines()
        return lines
    }

    /// Removes the whole lines that are ready and adds them to a buffer.
    mutating func takeLines(into buffer: inout [UInt8]) {
        buffer.append(contentsOf: UnsafeBufferPointer(start: output, count: completeCount))
        discardLines()
    }

    /// Removes the whole lines that are ready.
    public mutating func discardLines() {
        let rest = outputCount - completeCount
        if rest > 0 { memmove(output, output + completeCount, rest) }
        itemStart -= completeCount
        outputCount = rest
        completeCount = 0
    }

    /// Removes the checksums of the identities since they were taken last, and returns them.
    mutating func takeIdentities() -> [UInt64?] {
        // The identity of the item that is not complete yet stays.
        let taken = Array(identities.prefix(identifiedItems))
        identities.removeFirst(identifiedItems)
        identifiedItems = 0
        return taken
    }

    /// The scalar at one of the pointers of ``Settings/values``, by its position there.
    ///
    /// nil when there is none so far, or an array or object in its place.
    public func value(at index: Int) -> JSONScalar? { values[index] }

    private mutating func reserve(_ count: Int) {
        guard outputCapacity - outputCount < count else { return }
        let capacity = max(outputCapacity * 2, outputCount + count)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        memcpy(larger, output, outputCount)
        output.deallocate()
        output = larger
        outputCapacity = capacity
    }

    // MARK: - Scanning

    // One flat loop over tokens: a state for whatever may come next, and one for each token that a piece can end in.
    private mutating func scan(
        _ start: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) {
        var position = start
        // The first byte of the item, or of its part in this piece, that is not in the output yet.
        var run = start
        if markLength >= 0 { position = try skipMark(start, end) }
        var captured = position
        while position < end {
            switch state {
            case .string:
                position = try scanString(position, end, start)
                guard state != .string else { continue }
                if isName {
                    if isCapturing { finishName(captured, position) }
                    // Nearly always the colon is next, and one turn of the loop is saved.
                    if position < end, position.pointee == UInt8(ascii: ":") {
                        position += 1
                        state = .value
                    }
                } else {
                    if isCapturing { append(captured, position) }
                    try endScalar(&run, position, start, end)
                }
                continue
            case .number:
                position = try scanNumber(position, end, start)
                guard state != .number else { continue }
                if isCapturing { append(captured, position) }
                try endScalar(&run, position, start, end)
                continue
            case .literal:
                guard UInt32(position.pointee) == literal & 0xFF else { throw unexpected(position, start) }
                literal >>= 8
                position += 1
                if literal == 0 {
                    if isCapturing { append(captured, position) }
                    try endScalar(&run, position, start, end)
                }
                continue
            default: break
            }

            let byte = position.pointee
            if byte <= 0x20 {
                guard Self.isSpace(byte) else { throw unexpected(position, start) }
                if isInItem { flush(run, position, end) }
                position = Self.skipSpace(position + 1, end)
                run = position
                continue
            }
            switch state {
            case .comma:
                if byte == UInt8(ascii: ",") {
                    position += 1
                    if isArray[depth] {
                        state = .value
                    } else if position < end, position.pointee == UInt8(ascii: "\"") {
                        position += 1
                        beginName(&captured, position)
                    } else {
                        state = .name
                    }
                } else if byte == (isArray[depth] ? UInt8(ascii: "]") : UInt8(ascii: "}")) {
                    position += 1
                    try close(&run, position, start, end)
                } else {
                    throw unexpected(position, start)
                }
            case .colon:
                guard byte == UInt8(ascii: ":") else { throw unexpected(position, start) }
                state = .value
                position += 1
            case .name, .nameOrEnd:
                if byte == UInt8(ascii: "\"") {
                    position += 1
                    beginName(&captured, position)
                } else if byte == UInt8(ascii: "}"), state == .nameOrEnd {
                    position += 1
                    try close(&run, position, start, end)
                } else {
                    throw unexpected(position, start)
                }
            case .value, .valueOrEnd:
                if byte == UInt8(ascii: "]"), state == .valueOrEnd {
                    position += 1
                    try close(&run, position, start, end)
                    continue
                }
                if depth == listDepth || depth <= watchDepth && (hasHit || isArray[depth]) {
                    try beginWatchedValue(byte, position, start)
                    if isInItem, depth == listDepth { run = position }
                    captured = position
                }
                switch byte {
                case UInt8(ascii: "\""):
                    position += 1
                    isName = false
                    state = .string
                case UInt8(ascii: "{"):
                    try open(isArray: false, position, start)
                    position += 1
                case UInt8(ascii: "["):
                    try open(isArray: true, position, start)
                    position += 1
                case UInt8(ascii: "-"):
                    numberState = .minus
                    state = .number
                    position += 1
                case UInt8(ascii: "0"):
                    numberState = .zero
                    state = .number
                    position += 1
                case UInt8(ascii: "1")...UInt8(ascii: "9"):
                    numberState = .integer
                    state = .number
                    position += 1
                case UInt8(ascii: "t"):
                    literal = 0x65_75_72
                    state = .literal
                    position += 1
                case UInt8(ascii: "f"):
                    literal = 0x65_73_6C_61
                    state = .literal
                    position += 1
                case UInt8(ascii: "n"):
                    literal = 0x6C_6C_75
                    state = .literal
                    position += 1
                default: throw unexpected(position, start)
                }
            case .done: throw JSONSyntaxFault(.trailingContent, offset: offset(position, start))
            case .string, .number, .literal: break
            }
        }
        if isCapturing { append(captured, end) }
        if isInItem {
            flush(run, end, end)
            try checkItemSize(end, start)
        }
        if capture.count > settings.valueLimit {
            throw JSONSyntaxFault(.valueTooLarge(limit: settings.valueLimit), offset: offset(end, start))
        }
    }

    private mutating func skipMark(
        _ start: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) -> UnsafePointer<UInt8> {
        let mark: (UInt8, UInt8, UInt8) = (0xEF, 0xBB, 0xBF)
        var position = start
        while markLength >= 0, position < end {
            let expected = markLength == 0 ? mark.0 : markLength == 1 ? mark.1 : mark.2
            if position.pointee == expected {
                position += 1
                markLength = markLength == 2 ? -1 : markLength + 1
            } else {
                guard markLength == 0 else { throw unexpected(position, start) }
                markLength = -1
            }
        }
        return position
    }

    @inline(__always)
    private mutating func beginName(
        _ captured: inout UnsafePointer<UInt8>,
        _ position: UnsafePointer<UInt8>
    ) {
        isName = true
        hasEscape = false
        state = .string
        guard depth <= watchDepth else { return }
        isCapturing = true
        capture.removeAll(keepingCapacity: true)
        captured = position
    }

    @inline(__always)
    private mutating func endScalar(
        _ run: inout UnsafePointer<UInt8>,
        _ position: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) {
        if isCapturing {
            if capture.count > settings.valueLimit {
                throw JSONSyntaxFault(.valueTooLarge(limit: settings.valueLimit), offset: offset(position, start))
            }
            finishCapture()
        }
        try endValue(&run, position, start, end)
    }

    @inline(__always)
    private mutating func endValue(
        _ run: inout UnsafePointer<UInt8>,
        _ position: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) {
        state = depth == 0 ? .done : .comma
        if depth == listDepth, isInItem { try endItem(run, position, start, end) }
    }

    private mutating func endItem(
        _ run: UnsafePointer<UInt8>,
        _ position: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) {
        flush(run, position, end)
        try checkItemSize(position, start)
        output[outputCount] = 0x0A
        outputCount += 1
        completeCount = outputCount
        itemCount += 1
        isInItem = false
        if settings.identity != nil {
            if identities.count == identifiedItems { identities.append(nil) }
            identifiedItems = identities.count
        }
    }

    private func checkItemSize(
        _ position: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) {
        guard outputCount - itemStart > settings.itemLimit else { return }
        throw JSONSyntaxFault(.itemTooLarge(limit: settings.itemLimit), offset: offset(position, start))
    }

    @inline(__always)
    private mutating func open(
        isArray kind: Bool,
        _ position: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) {
        guard depth < settings.nestingLimit else {
            throw JSONSyntaxFault(.nestingTooDeep(limit: settings.nestingLimit), offset: offset(position, start))
        }
        depth += 1
        isArray[depth] = kind
        state = kind ? .valueOrEnd : .nameOrEnd
        if depth <= watchDepth { elements[depth] = 0 }
    }

    @inline(__always)
    private mutating func close(
        _ run: inout UnsafePointer<UInt8>,
        _ position: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) {
        if depth == listDepth { listDepth = .max }
        depth -= 1
        if watchDepth > depth { leaveWatchedContainer() }
        try endValue(&run, position, start, end)
    }

    // MARK: - Watching

    private mutating func leaveWatchedContainer() {
        watchDepth = 0
        for index in watches.indices {
            watches[index].matched = min(watches[index].matched, depth)
            watchDepth = max(watchDepth, watches[index].matched)
        }
    }

    /// Looks whether the value that begins here is an item or lies on the path of a watch.
    private mutating func beginWatchedValue(
        _ byte: UInt8,
        _ position: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) {
        if depth > 0, isArray[depth], depth <= watchDepth {
            for index in watches.indices where watches[index].matched == depth && depth > watches[index].base {
                watches[index].isHit = watches[index].indices[depth - 1 - watches[index].base] == elements[depth]
            }
            elements[depth] += 1
        }
        hasHit = false
        let isItem = depth == listDepth
        if isItem {
            isInItem = true
            itemStart = outputCount
        }
        isCapturing = false
        let isContainer = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
        for index in watches.indices {
            if isItem, case .identity = watches[index].role {
                watches[index].base = depth
                watches[index].isHit = true
            }
            guard watches[index].isHit else { continue }
            watches[index].isHit = false
            if watches[index].names.count > depth - watches[index].base {
                guard isContainer else { continue }
                watches[index].matched = depth + 1
                watchDepth = max(watchDepth, depth + 1)
                continue
            }
            switch watches[index].role {
            case .list:
                try beginList(byte, position, start)
            case .value(let number):
                values[number] = nil
                fallthrough
            case .identity:
                guard !isContainer else { continue }
                watches[index].isTarget = true
                if !isCapturing {
                    isCapturing = true
                    capture.removeAll(keepingCapacity: true)
                }
            }
        }
    }

    private mutating func beginList(
        _ byte: UInt8,
        _ position: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) {
        guard listState != .array else { throw JSONSyntaxFault(.repeatedList, offset: offset(position, start)) }
        switch byte {
        case UInt8(ascii: "["):
            listState = .array
            listDepth = depth + 1
        case UInt8(ascii: "n"): listState = .null
        default: listState = .other
        }
    }

    /// Compares the name that ends here with those wanted in this object.
    @inline(__always)
    private mutating func finishName(_ captured: UnsafePointer<UInt8>, _ position: UnsafePointer<UInt8>) {
        isCapturing = false
        // Without the closing quotation mark.
        let count = position - captured - 1
        if capture.isEmpty, !hasEscape, count >= 0 {
            // Most names are of another length than any wanted.
            if wantedLengths & 1 << UInt64(min(count, 63)) != 0 {
                match(UnsafeBufferPointer(start: captured, count: count))
            }
            return
        }
        append(captured, position)
        capture.removeLast()
        let name = hasEscape ? Array(JSONScalar.unescaped(capture[...]).utf8) : capture
        capture.removeAll(keepingCapacity: true)
        name.withUnsafeBufferPointer { match($0) }
    }

    private mutating func match(_ name: UnsafeBufferPointer<UInt8>) {
        for index in watches.indices {
            let base = watches[index].base
            guard watches[index].matched == depth, depth > base else { continue }
            watches[index].isHit = watches[index].names[depth - 1 - base].elementsEqual(name)
            if watches[index].isHit { hasHit = true }
        }
    }

    private mutating func append(_ from: UnsafePointer<UInt8>, _ to: UnsafePointer<UInt8>) {
        capture.append(contentsOf: UnsafeBufferPointer(start: from, count: to - from))
    }

    private mutating func finishCapture() {
        guard isCapturing else { return }
        isCapturing = false
        for index in watches.indices where watches[index].isTarget {
            watches[index].isTarget = false
            switch watches[index].role {
            case .value(let number): values[number] = JSONScalar(validated: capture)
            case .identity: if identities.count == identifiedItems { identities.append(CRC64.checksum(capture)) }
            case .list: break
            }
        }
        capture.removeAll(keepingCapacity: true)
    }

    // MARK: - Tokens

    @inline(__always)
    private mutating func flush(
        _ from: UnsafePointer<UInt8>,
        _ to: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>
    ) {
        let count = to - from
        guard count > 0 else { return }
        let target = UnsafeMutableRawPointer(output + outputCount)
        let source = UnsafeRawPointer(from)
        outputCount += count
        // The pieces between white space are short, and a call costs more than copying some bytes too many.
        guard end - from >= count + Self.stride, count <= 64 else {
            memcpy(target, source, count)
            return
        }
        var copied = 0
        while copied < count {
            let bytes = source.loadUnaligned(fromByteOffset: copied, as: SIMD16<UInt8>.self)
            target.storeBytes(of: bytes, toByteOffset: copied, as: SIMD16<UInt8>.self)
            copied += Self.stride
        }
    }

    @inline(__always)
    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    @inline(__always)
    private static func skipSpace(
        _ start: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>
    ) -> UnsafePointer<UInt8> {
        var position = start
        while end - position >= 8, word(position) == 0x2020_2020_2020_2020 { position += 8 }
        while position < end, isSpace(position.pointee) { position += 1 }
        return position
    }

    @inline(__always)
    private static func word(_ position: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(position).loadUnaligned(as: UInt64.self))
    }

    /// The highest bit of the first byte that is a quotation mark, a backslash, a control character or not ASCII.
    ///
    /// Bits above the lowest one set may be wrong, for a subtraction borrows; nobody looks at them.
    @inline(__always)
    private static func special(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        let control = (word &- (ones &* 0x20)) & ~word
        return (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | control | word) & (ones &* 0x80)
    }

    /// Goes on within a string; `state` tells whether its end was met.
    @inline(__always)
    private mutating func scanString(
        _ from: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) -> UnsafePointer<UInt8> {
        var position = from
        while true {
            if stringState != .plain { position = try scanSpecial(position, end, start) }
            while end - position >= 8 {
                let mask = Self.special(Self.word(position))
                guard mask == 0 else {
                    position += mask.trailingZeroBitCount >> 3
                    break
                }
                position += 8
            }
            while position < end, Self.isPlain(position.pointee) { position += 1 }
            guard position < end else { return position }
            let byte = position.pointee
            position += 1
            if byte == UInt8(ascii: "\"") {
                state = isName ? .colon : .comma
                return position
            }
            if byte == UInt8(ascii: "\\") {
                hasEscape = true
                stringState = .escape
            } else if byte < 0x20 {
                throw JSONSyntaxFault(.controlCharacter, offset: offset(position - 1, start))
            } else {
                try beginSequence(byte, position - 1, start)
            }
        }
    }

    @inline(__always)
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Starts a character outside ASCII: Unicode 15 table 3-7, well-formed UTF-8 byte sequences.
    private mutating func beginSequence(
        _ lead: UInt8,
        _ position: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) {
        lowest = 0x80
        highest = 0xBF
        switch lead {
        case 0xC2...0xDF: remaining = 1
        case 0xE0...0xEF:
            remaining = 2
            if lead == 0xE0 { lowest = 0xA0 }
            if lead == 0xED { highest = 0x9F }
        case 0xF0...0xF4:
            remaining = 3
            if lead == 0xF0 { lowest = 0x90 }
            if lead == 0xF4 { highest = 0x8F }
        default: throw JSONSyntaxFault(.invalidUTF8, offset: offset(position, start))
        }
        stringState = .continuation
    }

    /// Goes on within an escape or a character outside ASCII, as far as the piece goes.
    private mutating func scanSpecial(
        _ from: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) -> UnsafePointer<UInt8> {
        var position = from
        while position < end, stringState != .plain {
            let byte = position.pointee
            switch stringState {
            case .plain: break
            case .escape:
                switch byte {
                case UInt8(ascii: "u"):
                    stringState = .hexadecimal
                    remaining = 4
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
                    UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                    stringState = .plain
                default: throw JSONSyntaxFault(.invalidEscape, offset: offset(position, start))
                }
            case .hexadecimal:
                let letter = byte | 0x20
                guard (0x30...0x39).contains(byte) || (0x61...0x66).contains(letter) else {
                    throw JSONSyntaxFault(.invalidEscape, offset: offset(position, start))
                }
                remaining -= 1
                if remaining == 0 { stringState = .plain }
            case .continuation:
                guard byte >= lowest, byte <= highest else {
                    throw JSONSyntaxFault(.invalidUTF8, offset: offset(position, start))
                }
                lowest = 0x80
                highest = 0xBF
                remaining -= 1
                if remaining == 0 { stringState = .plain }
            }
            position += 1
        }
        return position
    }

    /// Goes on within a number; `state` tells whether its end was met, which is the byte at the position returned.
    @inline(__always)
    private mutating func scanNumber(
        _ from: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>,
        _ start: UnsafePointer<UInt8>
    ) throws(JSONSyntaxFault) -> UnsafePointer<UInt8> {
        var position = from
        var part = numberState
        while position < end {
            let byte = position.pointee
            let isDigit = byte &- 0x30 <= 9
            switch part {
            case .integer, .fraction, .power:
                if isDigit { break }
                if byte == UInt8(ascii: "."), part == .integer {
                    part = .point
                } else if byte | 0x20 == UInt8(ascii: "e"), part != .power {
                    part = .exponent
                } else {
                    state = .comma
                    return position
                }
            case .zero:
                if byte == UInt8(ascii: ".") {
                    part = .point
                } else if byte | 0x20 == UInt8(ascii: "e") {
                    part = .exponent
                } else {
                    guard !isDigit else { throw JSONSyntaxFault(.invalidNumber, offset: offset(position, start)) }
                    state = .comma
                    return position
                }
            case .minus:
                guard isDigit else { throw JSONSyntaxFault(.invalidNumber, offset: offset(position, start)) }
                part = byte == UInt8(ascii: "0") ? .zero : .integer
            case .point:
                guard isDigit else { throw JSONSyntaxFault(.invalidNumber, offset: offset(position, start)) }
                part = .fraction
            case .exponent:
                if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") {
                    part = .sign
                    break
                }
                fallthrough
            case .sign:
                guard isDigit else { throw JSONSyntaxFault(.invalidNumber, offset: offset(position, start)) }
                part = .power
            }
            position += 1
        }
        numberState = part
        return position
    }

    private func offset(_ position: UnsafePointer<UInt8>, _ start: UnsafePointer<UInt8>) -> Int64 {
        consumedBytes + Int64(position - start)
    }

    private func unexpected(_ position: UnsafePointer<UInt8>, _ start: UnsafePointer<UInt8>) -> JSONSyntaxFault {
        JSONSyntaxFault(.unexpectedByte(position.pointee), offset: offset(position, start))
    }
}
