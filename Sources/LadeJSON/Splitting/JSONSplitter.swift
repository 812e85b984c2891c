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

    /// What to look for, and the limits.
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
    static let stride = 16

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

    /// What may come next, or the token that a piece ended in.
    enum State: UInt8 {
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

    /// A pointer on its way through the document.
    struct Watch {
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
    public internal(set) var itemCount = 0
    /// What was found in the place of the list.
    public internal(set) var listState = ListState.missing
    /// How many bytes of the document were consumed.
    public var consumedBytes: Int64 { place.offset }
    private var place = JSONPiece.Place()
    /// A checksum of the identity of each item since they were taken last; nil for an item without.
    var identities: [UInt64?] = []
    var identifiedItems = 0

    // Everything that is not public belongs to the files of this type alone.
    let settings: Settings
    var values: [JSONScalar?]
    private var fault: JSONFault?

    var state = State.value
    var string = JSONStringScanner()
    var number = JSONNumberScanner()
    var isName = false
    /// The rest of a literal, first byte lowest.
    var literal: UInt32 = 0
    var markLength = 0

    /// Whether each open container is an array, outermost first.
    let isArray: UnsafeMutablePointer<Bool>
    var depth = 0
    var listDepth = Int.max
    var isInItem = false
    var itemStart = 0

    var watches: [Watch] = []
    /// The deepest container that lies on the path of any watch.
    var watchDepth = 0
    /// The index of the element to come in each open array, as far down as a watch may want to know.
    var elements: [Int]
    /// Whether any watch has its `isHit` set.
    var hasHit = true
    /// The lengths of the names on the paths of all watches: bit n for n bytes, the last for 63 and more.
    let wantedLengths: UInt64
    var isCapturing = false
    var capture: [UInt8] = []

    var output: UnsafeMutablePointer<UInt8>
    private var outputCapacity: Int
    var outputCount = 0
    var completeCount = 0

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
    /// - Throws: ``JSONFault`` at the first byte that breaks a rule or a limit, and from then on at each call.
    public mutating func consume(_ bytes: Data) throws(JSONFault) {
        // A closure of `withUnsafeBytes` cannot throw typed errors, so the fault is left in its place.
        bytes.withUnsafeBytes { buffer in
            do throws(JSONFault) { try consume(buffer) } catch { fault = error }
        }
        if let fault { throw fault }
    }

    /// Takes the next bytes of the document.
    ///
    /// - Throws: ``JSONFault`` at the first byte that breaks a rule or a limit, and from then on at each call.
    public mutating func consume(_ bytes: UnsafeRawBufferPointer) throws(JSONFault) {
        if let fault { throw fault }
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        // What comes out is never longer than what went in: a line feed stands for a comma or a bracket.
        reserve(bytes.count + 1 + Self.stride)
        let start = base.assumingMemoryBound(to: UInt8.self)
        do {
            try scan(JSONPiece(start: start, end: start + bytes.count, place: place))
            place.pass(start, bytes.count)
        } catch {
            let located = error.located(at: path)
            fault = located
            throw located
        }
    }

    /// Says that the document has ended.
    ///
    /// - Throws: ``JSONFault`` when it is not complete.
    public mutating func finish() throws(JSONFault) {
        if let fault { throw fault }
        // Only a number has no end of its own.
        if state == .number, depth == 0, number.isComplete {
            finishCapture()
            state = .done
        }
        guard state == .done else {
            let error = place.fault(.unexpectedEnd, path: path)
            fault = error
            throw error
        }
    }

    /// The item that is being read; the document elsewhere.
    private var path: JSONPointer {
        guard isInItem, let list = settings.list else { return [] }
        return JSONPointer(tokens: list.tokens + [String(itemCount)])
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
    package mutating func takeIdentities() -> [UInt64?] {
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
}
