#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The decoder that an initialiser receives, for one value at a time.
///
/// There is one scope for each nesting depth, reused for consecutive values; a part to which the program keeps a reference is replaced. It computes
/// its coding path on demand, from its parent scope and the key of its value.
///
/// The frequently used state is in memory behind one constant pointer, because Swift would check each access to class
/// properties for exclusivity.
final class Scope {
    struct State {
        let core: UnsafeMutablePointer<Document.Core>
        /// The index of the value's word.
        var index = 0
        /// Whether the members were prepared for a keyed container.
        var isPrepared = false
        /// The kinds of requests that the initialiser has made since the scope was entered; see ``Uses``.
        var uses: UInt8 = 0
        /// The index of the next expected name and the end of the members; equal when names are not compared byte by
        /// byte.
        var cursor = 0
        var end = 0
        /// The cursor for names in snake case.
        var snakeCursor = 0
        /// The names before the cursor.
        var passed = NameSummary()
        /// All names in the object, if `isSummarised` is set.
        var summary = NameSummary()
        var isSummarised = false
        /// How many requested names were missing.
        var absences = 0
        /// The members by converted name; nil until they are needed.
        var members: [String: Int]?

        /// Holds the document if the scope was kept.
        var document: Document?
        /// The scope around the value while it is on the stack.
        var parent: Unmanaged<Scope>?
        /// The key of the value in the parent scope.
        var key: any CodingKey = ElementKey(0)
        /// The coding path of a scope whose parent has ended.
        var path: [any CodingKey] = []
        /// The scope for nested values.
        var child: Scope?
    }

    enum Uses {
        static let container: UInt8 = 1
        static let string: UInt8 = 2
        static let other: UInt8 = 4
    }

    let state: UnsafeMutablePointer<State>
    private let unownedDocument: Unmanaged<Document>

    /// Makes a scope; a scope that is kept holds the document.
    init(_ document: Document, isKept: Bool) {
        unownedDocument = .passUnretained(document)
        state = .allocate(capacity: 1)
        state.initialize(to: State(core: document.core, document: isKept ? document : nil))
    }

    deinit {
        state.deinitialize(count: 1)
        state.deallocate()
    }

    @inline(__always)
    var core: UnsafeMutablePointer<Document.Core> { state.pointee.core }

    @inline(__always)
    var word: IndexWord { core.pointee.word(state.pointee.index) }

    // MARK: - Entering and leaving

    /// Moves the scope to another value.
    @inline(__always)
    func enter(_ index: Int) {
        state.pointee.index = index
        state.pointee.isPrepared = false
        state.pointee.uses = 0
    }

    /// Releases everything that belongs to the caller.
    func reset() {
        state.pointee.members = nil
        state.pointee.key = ElementKey(0)
        state.pointee.child?.reset()
    }

    /// Makes the scope independent of the stack when something else refers to it.
    func keep() {
        state.pointee.path = path
        state.pointee.parent = nil
        state.pointee.document = unownedDocument.takeUnretainedValue()
    }

    /// Enters the scope for a nested value; leave it with ``leaveChild()``.
    @inline(__always)
    func enterChild(_ index: Int) -> Unmanaged<Scope> {
        if state.pointee.child == nil { makeChild() }
        guard let child = state.pointee.child else { preconditionFailure("A scope was not made") }
        child.enter(index)
        return .passUnretained(child)
    }

    /// Calls a closure with the scope for a nested value.
    func withChild<R>(_ index: Int, _ key: some CodingKey, _ body: (Scope) throws -> R) rethrows -> R {
        let child = enterChild(index)
        defer { leaveChild() }
        return try child._withUnsafeGuaranteedRef {
            $0.state.pointee.key = key
            return try body($0)
        }
    }

    @inline(never)
    private func makeChild() {
        let child = Scope(unownedDocument.takeUnretainedValue(), isKept: false)
        child.state.pointee.parent = .passUnretained(self)
        state.pointee.child = child
    }

    @inline(__always)
    func leaveChild() {
        if !isKnownUniquelyReferenced(&state.pointee.child) { dropChild() }
    }

    @inline(never)
    private func dropChild() {
        state.pointee.child?.keep()
        state.pointee.child = nil
    }

    /// Makes an independent scope for a nested value.
    func makeIndependent(_ index: Int, _ key: (any CodingKey)?) -> Scope {
        let scope = Scope(unownedDocument.takeUnretainedValue(), isKept: true)
        scope.state.pointee.path = path
        if let key { scope.state.pointee.path.append(key) }
        scope.enter(index)
        return scope
    }

    // MARK: - Path

    /// The coding path of the value.
    var path: [any CodingKey] {
        guard let parent = state.pointee.parent else { return state.pointee.path }
        var keys: [any CodingKey] = []
        var scope = parent
        keys.append(`public`(state.pointee.key))
        while true {
            let state = scope._withUnsafeGuaranteedRef { $0.state }
            guard let next = state.pointee.parent else {
                return state.pointee.path + keys.reversed()
            }
            keys.append(`public`(state.pointee.key))
            scope = next
        }
    }

    func path(_ key: (any CodingKey)?) -> [any CodingKey] {
        key.map { path + [`public`($0)] } ?? path
    }

    /// The key in its public form: with a key strategy, Foundation's dictionaries have different keys.
    private func `public`(_ key: any CodingKey) -> any CodingKey {
        guard core.pointee.keyMode == .plain, let member = key as? MemberKey else { return key }
        return member.dictionaryKey
    }

    // MARK: - Scalars

    @inline(__always)
    func text(_ index: Int) -> JSONText {
        JSONText(base: core.pointee.base, words: core.pointee.words, index: index)
    }

    /// The string at an index; nil for a value that is not a valid string.
    @inline(__always)
    func string(_ index: Int) -> String? {
        core.pointee.word(index).kind == .string ? text(index).string() : nil
    }

    @inline(__always)
    func bool(_ index: Int) -> Bool? {
        switch core.pointee.word(index).kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// The integer at an index; nil for a value that is not an integer or does not fit.
    @inline(__always)
    func integer<T: FixedWidthInteger>(_ index: Int, as type: T.Type) -> T? {
        let word = core.pointee.word(index)
        if word.kind == .integer { return T(exactly: word.integer) }
        guard word.kind == .number else { return nil }
        return IntegerParser.integer(text(index).bytes, isDecimal: word.flag, as: type)
    }

    @inline(__always)
    func double(_ index: Int) -> Double? {
        let word = core.pointee.word(index)
        if word.kind == .integer { return Double(word.integer) }
        guard word.kind == .number else { return nonConforming(index, Double.self) }
        let bytes = text(index).bytes
        let value = DecimalParser.double(bytes)
        if value != 0, value.isFinite { return value }
        return value == 0 && Self.isZero(bytes) ? value : nil
    }

    func float(_ index: Int) -> Float? {
        let word = core.pointee.word(index)
        if word.kind == .integer { return Float(word.integer) }
        guard word.kind == .number else { return nonConforming(index, Float.self) }
        let bytes = text(index).bytes
        // Rounding a `Double` a second time would not always give the nearest `Float`.
        guard let value = Float(String(decoding: bytes, as: UTF8.self)), value.isFinite else { return nil }
        return value != 0 || Self.isZero(bytes) ? value : nil
    }

    /// Whether a number that was rounded to zero is exactly zero.
    private static func isZero(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        for byte in bytes {
            if byte | 0x20 == UInt8(ascii: "e") { return true }
            if (0x31...0x39).contains(byte) { return false }
        }
        return true
    }

    @inline(never)
    private func nonConforming<T: BinaryFloatingPoint>(_ index: Int, _ type: T.Type) -> T? {
        guard
            case .convertFromString(positiveInfinity: let positive, negativeInfinity: let negative, nan: let nan) =
                core.pointee.options.nonConformingFloatDecodingStrategy
        else { return nil }
        let word = core.pointee.word(index)
        // As in Foundation, a text with escapes never matches these three.
        guard word.kind == .string, !word.flag else { return nil }
        let bytes = text(index).bytes
        if bytes.elementsEqual(positive.utf8) { return .infinity }
        if bytes.elementsEqual(negative.utf8) { return -.infinity }
        return bytes.elementsEqual(nan.utf8) ? .nan : nil
    }
}

extension Scope: Decoder {
    var codingPath: [any CodingKey] {
        state.pointee.uses |= Uses.other
        return path
    }

    var userInfo: [CodingUserInfoKey: Any] {
        state.pointee.uses |= Uses.other
        if let known = core.pointee.userInfo { return known }
        let made = core.pointee.options.userInfo as [CodingUserInfoKey: Any]
        core.pointee.userInfo = made
        return made
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try prepareMembers()
        return core.pointee.containers.container(keyedBy: type, of: self)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        state.pointee.uses |= Uses.other
        guard word.kind == .array else { throw containerFailure([Any].self, "unkeyed") }
        return UnkeyedContainer(scope: self)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        state.pointee.uses |= Uses.container
        return self
    }
}
