/// A type that can be read from JSON without the containers of `Decodable`, for types with very many values.
///
/// ``FastJSONDecoder`` calls ``init(from:)-(JSONReader)`` for every value of the type, even inside types that are only
/// `Decodable`. It calls `init(from: any Decoder)` when a key strategy is set, as all other decoders do.
///
/// ```swift
/// struct Show: Codable, JSONReadable {
///     enum CodingKeys: String, CodingKey, CaseIterable { case id, title, date, tags }
///     private static let keys = JSONKeys<CodingKeys>()
///
///     var id: Int
///     var title: String
///     var date: Date?
///     var tags: [String]
///
///     init(from reader: inout JSONReader) throws {
///         var id: Int?
///         var title = ""
///         var date: Date?
///         var tags: [String] = []
///         try reader.readMembers(Self.keys) { key, reader in
///             switch key {
///             case .id: id = try reader.read(Int.self)
///             case .title: title = try reader.read(String.self)
///             case .date: date = try reader.readIfPresent(Date.self)
///             case .tags: tags = try reader.read([String].self)
///             }
///         }
///         guard let id else { throw reader.missing(CodingKeys.id) }
///         (self.id, self.title, self.date, self.tags) = (id, title, date, tags)
///     }
/// }
/// ```
public protocol JSONReadable: Decodable {
    /// Reads a value.
    ///
    /// - Parameter reader: A reader positioned at the value.
    /// - Throws: An error of the reader, or an error of the type's own.
    init(from reader: inout JSONReader) throws
}

/// The names of an object's members, prepared for ``JSONReader/readMembers(_:_:)``; make one for each type.
public final class JSONKeys<Key: CodingKey & CaseIterable & Sendable>: Sendable {
    private let keys: [Key]
    private let names: [[UInt8]]

    /// Prepares the names of all keys.
    public init() {
        keys = Array(Key.allCases)
        names = keys.map { Array($0.stringValue.utf8) }
    }

    /// The key for a name; the search starts after the previous match.
    @inline(__always)
    func find(_ name: UnsafeBufferPointer<UInt8>, after last: Int) -> Int? {
        let next = last &+ 1
        if next < names.count, isEqual(next, name) { return next }
        for position in names.indices where isEqual(position, name) { return position }
        return nil
    }

    @inline(__always)
    private func isEqual(_ position: Int, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        names[position].withUnsafeBufferPointer { wanted in
            guard wanted.count == name.count, let left = wanted.baseAddress, let right = name.baseAddress else {
                return wanted.isEmpty && name.isEmpty
            }
            return Bytes.areEqual(left, right, wanted.count)
        }
    }

    @inline(__always)
    func key(_ position: Int) -> Key { keys[position] }
}

/// Reads one value in a document, for the initialiser of a ``JSONReadable`` type.
///
/// A reader cannot be copied or kept. Each of its methods reads a whole value; elements and members that a closure does
/// not read are skipped. Errors are `DecodingError`s with complete coding paths. An initialiser of a type that is only
/// `Decodable` sees a path relative to the value being read.
public struct JSONReader: ~Copyable {
    private let scope: Unmanaged<Scope>
    private let core: UnsafeMutablePointer<Document.Core>
    private var index: Int

    init(_ scope: Scope, _ index: Int) {
        self.scope = .passUnretained(scope)
        core = scope.core
        self.index = index
    }

    @inline(__always)
    private var word: IndexWord { core.pointee.word(index) }

    // MARK: - Scalars

    /// Whether the value is null; does not consume the value.
    public var isNull: Bool { word.isNull }

    /// Reads a string.
    public mutating func read(_ type: String.Type) throws -> String {
        guard let value = scope._withUnsafeGuaranteedRef({ $0.string(index) }) else { throw failure(type) }
        return value
    }

    /// Reads a Boolean value.
    public mutating func read(_ type: Bool.Type) throws -> Bool {
        guard let value = scope._withUnsafeGuaranteedRef({ $0.bool(index) }) else { throw failure(type) }
        return value
    }

    /// Reads a floating-point number.
    public mutating func read(_ type: Double.Type) throws -> Double {
        guard let value = scope._withUnsafeGuaranteedRef({ $0.double(index) }) else { throw failure(type) }
        return value
    }

    /// Reads an integer.
    public mutating func read(_ type: Int.Type) throws -> Int {
        if word.kind == .integer { return Int(truncatingIfNeeded: word.integer) }
        return try readInteger(type)
    }

    /// Reads an integer of any width.
    public mutating func read<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
        try readInteger(type)
    }

    private func readInteger<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        guard let value = scope._withUnsafeGuaranteedRef({ $0.integer(index, as: type) }) else { throw failure(type) }
        return value
    }

    // MARK: - Types

    /// Reads a value of a type that is ``JSONReadable``.
    public mutating func read<T: JSONReadable>(_ type: T.Type) throws -> T {
        let start = index
        defer { index = start }
        return try T(from: &self)
    }

    /// Reads an array of a type that is ``JSONReadable``.
    public mutating func read<T: JSONReadable>(_ type: [T].Type) throws -> [T] {
        var elements: [T] = []
        if word.kind == .array { elements.reserveCapacity(min(word.count, 1 << 16)) }
        try readElements { elements.append(try T(from: &$0)) }
        return elements
    }

    /// Reads a value of any type, with the options of the decoder.
    public mutating func read<T: Decodable>(_ type: T.Type) throws -> T {
        do {
            return try scope._withUnsafeGuaranteedRef { try $0.value(type, index, ReaderKey()) }
        } catch let error as DecodingError {
            throw located(error)
        }
    }

    /// Reads a value that may be null.
    public mutating func readIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
        word.isNull ? nil : try read(type)
    }

    /// Reads a string that may be null.
    public mutating func readIfPresent(_ type: String.Type) throws -> String? {
        word.isNull ? nil : try read(type)
    }

    /// Reads an integer that may be null.
    public mutating func readIfPresent(_ type: Int.Type) throws -> Int? {
        word.isNull ? nil : try read(type)
    }

    // MARK: - Containers

    /// Reads an object.
    ///
    /// - Parameters:
    ///   - keys: The names to read; other members are skipped. Of members with the same name only the first is read.
    ///   - body: Receives each member's key and the reader positioned at its value.
    /// - Throws: `DecodingError` when the value is not an object; also any error of the closure.
    public mutating func readMembers<Key>(
        _ keys: JSONKeys<Key>,
        _ body: (_ key: Key, _ reader: inout JSONReader) throws -> Void
    ) throws {
        let start = index
        guard word.kind == .object else { throw containerFailure([String: Any].self, "keyed") }
        defer { index = start }
        let end = start &+ word.span
        let isUnusual = word.flag
        var position = start &+ 1
        var last = -1
        var seen: UInt64 = 0
        var seenBeyond: Set<Int> = []
        while position < end {
            let name = position
            index = name &+ core.pointee.word(name).width
            position = index &+ core.pointee.word(index).width
            guard let found = try find(name, isUnusual, keys, last) else { continue }
            if found < 64 {
                guard seen & 1 << UInt64(found) == 0 else { continue }
                seen |= 1 << UInt64(found)
            } else {
                guard seenBeyond.insert(found).inserted else { continue }
            }
            last = found
            try body(keys.key(found), &self)
        }
    }

    @inline(__always)
    private func find<Key>(_ name: Int, _ isUnusual: Bool, _ keys: JSONKeys<Key>, _ last: Int) throws -> Int? {
        let text = JSONText(base: core.pointee.base, words: core.pointee.words, index: name)
        guard isUnusual, text.isEscaped || !text.isASCII else { return keys.find(text.bytes, after: last) }
        guard var string = text.string() else { throw scope._withUnsafeGuaranteedRef { $0.corrupted(name) } }
        return string.withUTF8 { keys.find($0, after: last) }
    }

    /// Reads an array.
    ///
    /// - Parameter body: Receives the reader positioned at each element.
    /// - Throws: `DecodingError` when the value is not an array; also any error of the closure.
    public mutating func readElements(_ body: (_ reader: inout JSONReader) throws -> Void) throws {
        let start = index
        guard word.kind == .array else { throw containerFailure([Any].self, "unkeyed") }
        defer { index = start }
        let end = start &+ word.span
        var position = start &+ 1
        while position < end {
            index = position
            position = position &+ core.pointee.word(position).width
            try body(&self)
        }
    }

    // MARK: - Errors

    /// The error for a missing member of the object.
    public func missing(_ key: some CodingKey) -> any Error {
        DecodingError.keyNotFound(
            key,
            .init(
                codingPath: path,
                debugDescription: "No value associated with key \(key) (\"\(key.stringValue)\")."
            )
        )
    }

    /// The error for a value with invalid content.
    public func corrupted(_ description: String) -> any Error {
        DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: description))
    }

    /// The coding path of the value; computing it takes time proportional to the part of the document before it.
    public var path: [any CodingKey] {
        var path: [any CodingKey] = []
        var container = 0
        while container < index {
            let word = core.pointee.word(container)
            var position = container + 1
            var count = 0
            var next: Int?
            while position <= index {
                let name = position
                if word.kind == .object { position += core.pointee.word(position).width }
                let end = position + core.pointee.word(position).width
                if index < end {
                    let text = JSONText(base: core.pointee.base, words: core.pointee.words, index: name)
                    path.append(word.kind == .object ? MemberKey(text.string() ?? "") : ElementKey(count))
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

    @inline(never)
    private func failure(_ type: Any.Type) -> any Error {
        let error = scope._withUnsafeGuaranteedRef { $0.failure(type, index, ReaderKey()) }
        guard let error = error as? DecodingError else { return error }
        return located(error)
    }

    private func containerFailure(_ type: Any.Type, _ kind: String) -> any Error {
        guard word.isNull else { return failure(type) }
        return DecodingError.valueNotFound(
            type,
            .init(
                codingPath: path,
                debugDescription: "Cannot get \(kind) decoding container -- found null value instead"
            )
        )
    }

    /// The error with its complete path; the scope knows only the path up to the value where the reader began.
    private func located(_ error: DecodingError) -> DecodingError {
        let known = scope._withUnsafeGuaranteedRef { $0.path.count } + 1
        let path = path
        func moved(_ context: DecodingError.Context) -> DecodingError.Context {
            // Errors in the JSON text have no path, and errors of a reader within this value already have the complete
            // one.
            guard context.codingPath.count >= known, context.codingPath[known - 1] is ReaderKey else { return context }
            return .init(
                codingPath: path + context.codingPath.dropFirst(known),
                debugDescription: context.debugDescription,
                underlyingError: context.underlyingError
            )
        }
        return switch error {
        case .typeMismatch(let type, let context): .typeMismatch(type, moved(context))
        case .valueNotFound(let type, let context): .valueNotFound(type, moved(context))
        case .keyNotFound(let key, let context): .keyNotFound(key, moved(context))
        case .dataCorrupted(let context): .dataCorrupted(moved(context))
        @unknown default: error
        }
    }
}

/// Represents the value that a reader passes on, in the coding paths of a scope.
private struct ReaderKey: CodingKey {
    init() {}
    init?(intValue: Int) { nil }
    init?(stringValue: String) { nil }

    var intValue: Int? { nil }
    var stringValue: String { "value" }
}

extension JSONReadable {
    /// Reads a value into memory for a value of this type.
    static func read(_ scope: Scope, _ index: Int, into memory: UnsafeMutableRawPointer) throws {
        var reader = JSONReader(scope, index)
        memory.initializeMemory(as: Self.self, to: try Self(from: &reader))
    }
}
