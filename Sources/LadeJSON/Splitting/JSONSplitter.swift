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

/// Splits the list in a JSON document into lines, one for each item, while the document arrives.
///
/// Only white space between the tokens of an item is removed: numbers, the order of members, escapes and unknown
/// members are unchanged. Nothing is decoded except the scalars requested by pointers.
///
/// ```swift
/// var splitter = JSONSplitter(.init(list: ["items"], values: [["next"]]))
/// try splitter.consume(Data(#"{"items": [{"id": 1}, {"id": 2}], "next": "/2"}"#.utf8))
/// try splitter.finish()
/// let lines = splitter.takeLines()  // {"id":1}⏎{"id":2}⏎
/// let next = splitter.value(at: 0)  // "/2"
/// ```
///
/// The whole document is validated against RFC 8259: its grammar, and the control characters and escapes in strings.
/// UTF-8 is validated by table 3-7 of the Unicode Standard. A byte order mark at the beginning is skipped (§8.1). An
/// escaped half of a surrogate pair is allowed (§8.2). Repeated names are allowed: the last of a requested value
/// counts, but a second list is an error. Items that were complete before a fault stay available.
public struct JSONSplitter: ~Copyable, @unchecked Sendable {
    // Sendable: only this value, which cannot be copied, refers to the memory behind the two pointers.

    /// The values to find, and the limits.
    public struct Settings: Sendable, Hashable {
        /// The pointer to the list; the whole document by default, nil for no list.
        public var list: JSONPointer?
        /// The pointers to the requested scalars; the token `-` stands for the last element of an array.
        public var values: [JSONPointer]
        /// The pointer to the identity within each item; nil for none.
        public var identity: JSONPointer?
        /// The maximum nesting of arrays and objects; 512 by default.
        public var nestingLimit = 512
        /// The maximum size of an item in bytes without its white space; 16 MiB by default.
        public var itemLimit = 16 << 20
        /// The maximum size in bytes of a requested scalar, or of a name on the path to it; 64 KiB by default.
        public var valueLimit = 64 << 10

        /// Makes settings.
        public init(list: JSONPointer? = [], values: [JSONPointer] = [], identity: JSONPointer? = nil) {
            self.list = list
            self.values = values
            self.identity = identity
        }
    }

    /// How many bytes are copied at a time.
    static let stride = 16

    /// The kind of value at the pointer to the list.
    package enum ListState: Sendable, Hashable {
        /// There is no value, or none so far.
        case missing
        /// A list, possibly incomplete.
        case array
        /// Null.
        case null
        /// Any other value.
        case other
    }

    /// The state of the grammar: what may come next, or the token at the end of a piece.
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

    /// A pointer that is matched against the document.
    struct Watch {
        enum Role {
            case list
            case value(Int)
            case identity
        }

        /// The index that stands for each element, so that the last one counts.
        static let everyElement = -1

        let role: Role
        let names: [[UInt8]]
        let indices: [Int?]
        /// How many containers are open around the value where the pointer starts.
        var base = 0
        /// How many of the open containers lie on the pointer's path.
        var matched = 0
        /// Whether the next value lies on the pointer's path.
        var isHit = false
        /// Whether the scalar being read is the pointer's target.
        var isTarget = false
    }

    /// The number of items so far.
    public internal(set) var itemCount = 0
    /// The kind of value at the pointer to the list.
    package internal(set) var listState = ListState.missing
    /// The number of bytes consumed so far.
    public var consumedBytes: Int64 { place.offset }
    private var place = JSONPiece.Place()
    /// The checksums of the items' identities since the last call to take them; nil for an item without an identity.
    var identities: [UInt64?] = []
    var identifiedItems = 0

    // Everything that is not public is used only by the files of this type.
    let settings: Settings
    var values: [JSONSplitter.Scalar?]
    /// Whether the value at each of the pointers is an array or object.
    var containers: [Bool]
    private var fault: JSONError?

    var state = State.value
    var string = JSONStringScanner()
    var number = JSONNumberScanner()
    var isName = false
    /// The remaining bytes of a literal, the next as the lowest.
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
    /// The index of the next element in each open array, down to the depth that a watch may need.
    var elements: [Int]
    /// Whether `isHit` is set for any watch.
    var hasHit = true
    /// The lengths of all names in the pointers: bit n for n bytes, the last bit for 63 and more.
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
        containers = Array(repeating: false, count: settings.values.count)
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
        let isValue = if case .value = role { true } else { false }
        return Watch(
            role: role,
            names: pointer.tokens.map { Array($0.utf8) },
            indices: pointer.tokens.map { isValue && $0 == "-" ? Watch.everyElement : JSONPointer.index($0) }
        )
    }

    // MARK: - Feeding

    /// Consumes the next bytes of the document.
    ///
    /// - Throws: ``JSONError`` at the first byte that violates a rule or a limit, and in every later call.
    public mutating func consume(_ bytes: Data) throws(JSONError) {
        // A closure of `withUnsafeBytes` cannot throw typed errors, so it returns the fault.
        bytes.withUnsafeBytes { buffer in
            do throws(JSONError) { try consume(buffer) } catch { fault = error }
        }
        if let fault { throw fault }
    }

    /// Consumes the next bytes of the document.
    ///
    /// - Throws: ``JSONError`` at the first byte that violates a rule or a limit, and in every later call.
    public mutating func consume(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
        if let fault { throw fault }
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        // The output is never longer than the input: a line feed replaces a comma or a bracket.
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

    /// Ends the document.
    ///
    /// - Throws: ``JSONError`` when the document is incomplete.
    public mutating func finish() throws(JSONError) {
        if let fault { throw fault }
        // Only a number has no terminator of its own.
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

    /// The path to the current item; elsewhere the path of the document.
    private var path: JSONPointer {
        guard isInItem, let list = settings.list else { return [] }
        return JSONPointer(tokens: list.tokens + [String(itemCount)])
    }

    // MARK: - Taking

    /// The number of bytes in complete lines.
    public var readyBytes: Int { completeCount }

    /// Removes and returns the complete lines, each with its line feed.
    public mutating func takeLines() -> Data {
        let lines = Data(bytes: output, count: completeCount)
        discardLines()
        return lines
    }

    /// Moves the complete lines to the end of a buffer.
    mutating func takeLines(into buffer: inout [UInt8]) {
        buffer.append(contentsOf: UnsafeBufferPointer(start: output, count: completeCount))
        discardLines()
    }

    /// Removes the complete lines.
    public mutating func discardLines() {
        let rest = outputCount - completeCount
        if rest > 0 { memmove(output, output + completeCount, rest) }
        itemStart -= completeCount
        outputCount = rest
        completeCount = 0
    }

    /// Removes and returns the checksums of the identities since the last call.
    package mutating func takeIdentities() -> [UInt64?] {
        // The identity of an incomplete item stays.
        let taken = Array(identities.prefix(identifiedItems))
        identities.removeFirst(identifiedItems)
        identifiedItems = 0
        return taken
    }

    /// The scalar for one of the pointers in ``Settings/values``, by the pointer's index.
    ///
    /// It is nil when no value was found so far, and for an array or object.
    public func value(at index: Int) -> JSONSplitter.Scalar? { values[index] }

    /// Whether one of the pointers in ``Settings/values`` leads to an array or object.
    package func isContainer(at index: Int) -> Bool { containers[index] }

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
