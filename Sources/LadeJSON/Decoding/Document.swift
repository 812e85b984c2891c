#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Synchronization

/// A document being decoded: its bytes, its index, and the state that all its scopes share.
///
/// The caller owns the bytes until decoding ends. If a decoded type keeps a decoder or container, that decoder holds
/// the document, which then copies the bytes (``own()``).
///
/// All state is in memory behind one constant pointer, because Swift would check each access to class properties for
/// exclusivity. Only one thread uses a document at a time, as with Foundation's decoders.
final class Document {
    /// How the names of a document are compared with coding keys.
    enum KeyMode {
        case plain
        case snakeCase
        case custom
    }

    struct Mismatch: Hashable {
        var type: ObjectIdentifier
        var kind: IndexWord.Kind
    }

    struct Core {
        var base: UnsafePointer<UInt8>
        var count = 0
        var index = JSONIndex()
        var words: UnsafeMutablePointer<UInt64>
        /// The index of a null that represents missing values.
        var nullIndex = 0
        var options = FastJSONDecoder()
        var keyMode = KeyMode.plain
        /// Whether dates have the form of ISO 8601.
        var hasISO8601Dates = false
        var userInfo: [CodingUserInfoKey: Any]?
        let kinds = TypeKinds()
        let containers = KeyedContainers()
        var mismatchTexts: [Mismatch: String] = [:]
        /// The place of the latest fault, from which the place of the next fault is counted.
        var place = JSONPiece.Place()
        var cursor = PathCursor()
        var offsets = OffsetCursor()
        /// The length of the byte order mark before the bytes.
        var markLength = 0
        var ownedBytes: UnsafeMutablePointer<UInt8>?

        @inline(__always)
        func word(_ index: Int) -> IndexWord { IndexWord(bits: words[index]) }
    }

    let core: UnsafeMutablePointer<Core>
    private var root: Scope?

    private init() {
        core = .allocate(capacity: 1)
        let index = JSONIndex()
        let nothing: StaticString = ""
        core.initialize(to: Core(base: nothing.utf8Start, index: index, words: index.words))
    }

    deinit {
        core.pointee.index.deallocate()
        core.pointee.kinds.deallocate()
        core.pointee.containers.deallocate()
        core.pointee.ownedBytes?.deallocate()
        core.deinitialize(count: 1)
        core.deallocate()
    }

    // MARK: - Reuse

    /// A document whose memory is reused for the next one.
    ///
    /// It is accessed only by atomic exchanges, so only one thread has it at a time.
    private nonisolated(unsafe) static let spare = Atomic<Unmanaged<Document>?>(nil)
    /// Larger indices, for documents of more than about 2 MB, are released.
    private static let largestSpare = 1 << 17

    @inline(__always)
    static func taken() -> Document {
        spare.exchange(nil, ordering: .acquiring)?.takeRetainedValue() ?? Document()
    }

    static func put(back document: inout Document) {
        // A decoder or container that was kept holds the document.
        guard isKnownUniquelyReferenced(&document) else { return }
        let core = document.core
        guard core.pointee.index.capacity <= largestSpare else { return }
        core.pointee.ownedBytes?.deallocate()
        core.pointee.ownedBytes = nil
        // The options hold objects and closures of the caller.
        core.pointee.options = FastJSONDecoder()
        core.pointee.userInfo = nil
        let previous = spare.exchange(.passRetained(document), ordering: .acquiringAndReleasing)
        previous?.release()
    }

    // MARK: - Decoding

    @inline(__always)
    func decode<T>(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ options: FastJSONDecoder,
        markLength: Int = 0,
        _ body: (Scope) throws -> T
    ) throws -> T {
        try begin(bytes, options, markLength)
        var scope = root ?? Scope(self, isKept: false)
        root = nil
        scope.enter(0)
        defer {
            end(&scope)
        }
        return try core.pointee.index.isDeep ? StackSpace.withEnough { try body(scope) } : body(scope)
    }

    private func begin(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ options: FastJSONDecoder,
        _ markLength: Int
    ) throws(JSONError) {
        // Set before anything can fail: ``own()`` must never copy the bytes of an earlier document.
        if let base = bytes.baseAddress { core.pointee.base = base }
        core.pointee.count = bytes.count
        try JSONScanner.scan(bytes, into: &core.pointee.index, allowsTrailingCommas: true, markLength: markLength)
        if core.pointee.index.count == core.pointee.index.capacity { core.pointee.index.grow() }
        core.pointee.words = core.pointee.index.words
        core.pointee.nullIndex = core.pointee.index.count
        core.pointee.words[core.pointee.nullIndex] = 0
        core.pointee.options = options
        core.pointee.kinds.forgetTexts()
        core.pointee.place = JSONPiece.Place()
        core.pointee.cursor = PathCursor()
        core.pointee.offsets = OffsetCursor()
        core.pointee.markLength = markLength
        if case .iso8601 = options.dateDecodingStrategy {
            core.pointee.hasISO8601Dates = true
        } else {
            core.pointee.hasISO8601Dates = false
        }
        switch options.keyDecodingStrategy {
        case .useDefaultKeys: core.pointee.keyMode = .plain
        case .convertFromSnakeCase: core.pointee.keyMode = .snakeCase
        default: core.pointee.keyMode = .custom
        }
    }

    private func end(_ scope: inout Scope) {
        if isKnownUniquelyReferenced(&scope) {
            scope.reset()
            root = scope
        } else {
            scope.keep()
        }
    }

    func decodeTranscoded<T>(
        _ data: Data,
        _ found: TextEncoding.Found,
        _ options: FastJSONDecoder,
        _ body: (Scope) throws -> T
    ) throws -> T {
        guard var text = String(data: data.dropFirst(found.markLength), encoding: found.encoding) else {
            throw JSONError(.invalidUTF8, offset: 0)
        }
        return try text.withUTF8 { bytes in
            // The bytes are valid only until the end of this scope.
            defer { own() }
            return try decode(bytes, options, body)
        }
    }

    /// Copies the caller's bytes for a decoder or container that was kept.
    func own() {
        guard core.pointee.ownedBytes == nil else { return }
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: max(core.pointee.count, 1))
        copy.update(from: core.pointee.base, count: core.pointee.count)
        core.pointee.ownedBytes = copy
        core.pointee.base = UnsafePointer(copy)
    }
}
