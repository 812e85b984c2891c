#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension FastJSONDecoder {
    /// A type that can be read from JSON without the containers of `Decodable`, for types with very many values.
    ///
    /// ``FastJSONDecoder`` calls ``init(from:)-(FastJSONDecoder.Reader)`` for every value of the type, even inside types that are only
    /// `Decodable`. It calls `init(from: any Decoder)` when a key strategy is set, as all other decoders do.
    ///
    /// ```swift
    /// struct Show: Codable, FastJSONDecoder.Readable {
    ///     enum CodingKeys: String, CodingKey, CaseIterable { case id, title, date, tags }
    ///     private static let keys = FastJSONDecoder.Reader.Keys<CodingKeys>()
    ///
    ///     var id: Int
    ///     var title: String
    ///     var date: Date?
    ///     var tags: [String]
    ///
    ///     init(from reader: inout FastJSONDecoder.Reader) throws {
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
    public protocol Readable: Decodable {
        /// Reads a value.
        ///
        /// - Parameter reader: A reader positioned at the value.
        /// - Throws: An error of the reader, or an error of the type's own.
        init(from reader: inout FastJSONDecoder.Reader) throws
    }
}

extension FastJSONDecoder.Reader {
    /// The names of an object's members, prepared for ``FastJSONDecoder/Reader/readMembers(_:_:)``; make one for each type.
    public final class Keys<Key: CodingKey & CaseIterable & Sendable>: Sendable {
        @usableFromInline let names: KeyNames
        // Written only by the initialiser.
        @usableFromInline nonisolated(unsafe) let keys: UnsafeMutablePointer<Key>

        /// Prepares the names of all keys.
        public init() {
            let all = Array(Key.allCases)
            names = KeyNames(all.map { Array($0.stringValue.utf8) })
            keys = .allocate(capacity: all.count)
            keys.initialize(from: all, count: all.count)
        }

        deinit {
            keys.deinitialize(count: names.count)
            keys.deallocate()
            names.deallocate()
        }
    }
}

extension FastJSONDecoder {
    /// Reads one value in a document, for the initialiser of a ``FastJSONDecoder/Readable`` type.
    ///
    /// A reader cannot be copied or kept. Each of its methods reads a whole value; elements and members that a closure does
    /// not read are skipped. Errors are `DecodingError`s with complete coding paths. An initialiser of a type that is only
    /// `Decodable` sees a path relative to the value being read.
    public struct Reader: ~Copyable {
        let scope: Unmanaged<Scope>
        private let core: UnsafeMutablePointer<Document.Core>
        // The document and its index stay where they are while a reader exists.
        @usableFromInline let base: UnsafePointer<UInt8>
        @usableFromInline let words: UnsafePointer<UInt64>
        @usableFromInline var index: Int

        init(_ scope: Unmanaged<Scope>, _ index: Int) {
            self.scope = scope
            core = scope._withUnsafeGuaranteedRef { $0.core }
            base = core.pointee.base
            words = UnsafePointer(core.pointee.words)
            self.index = index
        }

        @inlinable @inline(__always)
        var word: IndexWord { IndexWord(bits: words[index]) }

        private var text: JSONText { JSONText(base: base, words: words, index: index) }

        // MARK: - Scalars

        /// Whether the value is null; does not consume the value.
        @inlinable public var isNull: Bool { word.isNull }

        /// Reads a string.
        public mutating func read(_ type: String.Type) throws -> String {
            guard word.kind == .string, let value = text.string() else { throw failure(type) }
            return value
        }

        /// Reads a Boolean value.
        @inlinable
        public mutating func read(_ type: Bool.Type) throws -> Bool {
            switch word.kind {
            case .true: return true
            case .false: return false
            default: throw failure(type)
            }
        }

        /// Reads a floating-point number.
        public mutating func read(_ type: Double.Type) throws -> Double {
            guard let value = scope._withUnsafeGuaranteedRef({ $0.double(index) }) else { throw failure(type) }
            return value
        }

        /// Reads an integer.
        @inlinable
        public mutating func read(_ type: Int.Type) throws -> Int {
            let word = word
            return word.kind == .integer ? Int(truncatingIfNeeded: word.integer) : try readInteger(type)
        }

        /// Reads an integer of any width.
        public mutating func read<T: FixedWidthInteger & Decodable>(_ type: T.Type) throws -> T {
            try readInteger(type)
        }

        @usableFromInline
        func readInteger<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
            guard let value = scope._withUnsafeGuaranteedRef({ $0.integer(index, as: type) }) else {
                throw failure(type)
            }
            return value
        }

        /// Reads a date, with the decoder's strategy.
        public mutating func read(_ type: Date.Type) throws -> Date {
            if core.pointee.hasISO8601Dates, word.kind == .string, !word.flag, let date = ISO8601Date.parse(text.bytes)
            {
                return date
            }
            return try decode(type)
        }

        // MARK: - Types

        // The generic functions are inlinable so that they are specialised for the caller's types. The functions of this
        // module that they call are not generic, except for the slow paths.

        /// Reads a value of a type that is ``FastJSONDecoder/Readable``.
        @inlinable
        public mutating func read<T: FastJSONDecoder.Readable>(_ type: T.Type) throws -> T { try T(from: &self) }

        /// Reads an array of a type that is ``FastJSONDecoder/Readable``.
        @inlinable
        public mutating func read<T: FastJSONDecoder.Readable>(_ type: [T].Type) throws -> [T] {
            var elements: [T] = []
            let word = word
            if word.kind == .array { elements.reserveCapacity(min(word.count, 1 << 16)) }
            try readElements { elements.append(try T(from: &$0)) }
            return elements
        }

        /// Reads a value of any type, with the options of the decoder.
        @inlinable
        public mutating func read<T: Decodable>(_ type: T.Type) throws -> T {
            // Enumerations are such types; others never have a known value.
            if _isPOD(type), MemoryLayout<T>.size <= 8, let known = knownValue(of: ObjectIdentifier(type)) {
                return known.load(as: type)
            }
            return try decode(type)
        }

        /// The enumeration case that the same text gave before in this document; nil if there is none.
        @usableFromInline
        func knownValue(of type: ObjectIdentifier) -> UnsafeRawPointer? {
            let word = word
            guard word.kind == .string, !word.flag, word.shortLength <= 16 else { return nil }
            return core.pointee.kinds.knownValue(type, text.bytes)
        }

        @usableFromInline @inline(never)
        func decode<T: Decodable>(_ type: T.Type) throws -> T {
            do {
                return try scope._withUnsafeGuaranteedRef { try $0.value(type, index, ReaderKey()) }
            } catch let error as DecodingError {
                throw located(error)
            }
        }

        /// Reads a value that may be null.
        @inlinable
        public mutating func readIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
            word.isNull ? nil : try read(type)
        }

        /// Reads a value that may be null, of a type that is ``FastJSONDecoder/Readable``.
        @inlinable
        public mutating func readIfPresent<T: FastJSONDecoder.Readable>(_ type: T.Type) throws -> T? {
            word.isNull ? nil : try read(type)
        }

        /// Reads an array that may be null, of a type that is ``FastJSONDecoder/Readable``.
        @inlinable
        public mutating func readIfPresent<T: FastJSONDecoder.Readable>(_ type: [T].Type) throws -> [T]? {
            word.isNull ? nil : try read(type)
        }

        /// Reads a string that may be null.
        @inlinable
        public mutating func readIfPresent(_ type: String.Type) throws -> String? {
            word.isNull ? nil : try read(type)
        }

        /// Reads an integer that may be null.
        @inlinable
        public mutating func readIfPresent(_ type: Int.Type) throws -> Int? {
            word.isNull ? nil : try read(type)
        }

        /// Reads a floating-point number that may be null.
        @inlinable
        public mutating func readIfPresent(_ type: Double.Type) throws -> Double? {
            word.isNull ? nil : try read(type)
        }

        /// Reads a Boolean value that may be null.
        @inlinable
        public mutating func readIfPresent(_ type: Bool.Type) throws -> Bool? {
            word.isNull ? nil : try read(type)
        }

        /// Reads a date that may be null.
        @inlinable
        public mutating func readIfPresent(_ type: Date.Type) throws -> Date? {
            word.isNull ? nil : try read(type)
        }

        // MARK: - Containers

        /// Reads an object.
        ///
        /// - Parameters:
        ///   - keys: The names to read; other members are skipped. The first of several members with the same name is read.
        ///   - body: Receives each member's key and the reader positioned at its value.
        /// - Throws: `DecodingError` when the value is not an object; also any error of the closure.
        @inlinable
        public mutating func readMembers<Key>(
            _ keys: Reader.Keys<Key>,
            _ body: (_ key: Key, _ reader: inout Reader) throws -> Void
        ) throws {
            let start = index
            let object = word
            guard object.kind == .object else { throw objectFailure() }
            defer { index = start }
            let end = start &+ object.span
            var position = start &+ 1
            var expected = 0
            var seen = SeenKeys()
            while position < end {
                let name = IndexWord(bits: words[position])
                var found = expected
                if found >= keys.names.count || !keys.names.matches(found, name, base + name.offset) {
                    found = try find(position, keys.names, after: expected)
                }
                index = position &+ name.width
                position = index &+ word.width
                guard found >= 0, seen.insert(found) else { continue }
                expected = found &+ 1
                try body(keys.keys[found], &self)
            }
        }

        /// The position of the key of a name, searched after the expected key first; −1 when there is none.
        @usableFromInline
        func find(_ name: Int, _ keys: KeyNames, after expected: Int) throws -> Int {
            let word = IndexWord(bits: words[name])
            if word.isPlain, word.shortLength < IndexWord.longLength {
                return keys.find(word, base + word.offset, after: expected)
            }
            let text = JSONText(base: base, words: words, index: name)
            guard var string = text.string() else {
                throw scope._withUnsafeGuaranteedRef { $0.corrupted(name, key: ReaderKey()) }
            }
            return string.withUTF8 { keys.find($0) }
        }

        /// Reads an array.
        ///
        /// - Parameter body: Receives the reader positioned at each element.
        /// - Throws: `DecodingError` when the value is not an array; also any error of the closure.
        @inlinable
        public mutating func readElements(_ body: (_ reader: inout Reader) throws -> Void) throws {
            let start = index
            let array = word
            guard array.kind == .array else { throw arrayFailure() }
            defer { index = start }
            let end = start &+ array.span
            var position = start &+ 1
            while position < end {
                index = position
                position = position &+ word.width
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
        public var path: [any CodingKey] { core.path(to: index) }

        @usableFromInline @inline(never)
        func failure(_ type: Any.Type) -> any Error {
            let error = scope._withUnsafeGuaranteedRef { $0.failure(type, index, ReaderKey()) }
            guard let error = error as? DecodingError else { return error }
            return located(error)
        }

        @usableFromInline @inline(never)
        func objectFailure() -> any Error { containerFailure([String: Any].self, "keyed") }

        @usableFromInline @inline(never)
        func arrayFailure() -> any Error { containerFailure([Any].self, "unkeyed") }

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
                guard context.codingPath.count >= known, context.codingPath[known - 1] is ReaderKey else {
                    return context
                }
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
}

/// Represents the value that a reader passes on, in the coding paths of a scope.
struct ReaderKey: CodingKey {
    init() {}
    init?(intValue: Int) { nil }
    init?(stringValue: String) { nil }

    var intValue: Int? { nil }
    var stringValue: String { "value" }
}

extension FastJSONDecoder.Readable {
    /// Reads a value into memory for a value of this type.
    static func read(_ scope: Scope, _ index: Int, into memory: UnsafeMutableRawPointer) throws {
        var reader = FastJSONDecoder.Reader(.passUnretained(scope), index)
        memory.initializeMemory(as: Self.self, to: try Self(from: &reader))
    }
}
