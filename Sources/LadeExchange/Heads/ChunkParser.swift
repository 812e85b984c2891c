package import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The chunks of an HTTP/1.1 body (RFC 9112 §7.1), parsed strictly.
///
/// With `LadeCurl`: libcurl 7.88 accepts sizes followed by other characters, bare LF, and data that does not end with its chunk. With
/// its decoding off, it delivers the raw bytes and finds the end of the body itself. libcurl parses everything that
/// this parser accepts in the same way. A value: raw bytes go in, pieces of them come out.
package struct ChunkParser: Sendable {
    /// The next piece of the raw bytes.
    package enum Piece: Equatable {
        /// A number of content bytes at the front; ``ChunkParser/take(_:)`` removes them.
        case content(Int)
        /// A line of the trailer section with its line end, including the empty line that ends the section.
        case trailer([UInt8])
        /// More raw bytes are needed.
        case more
        /// The body has ended, and this number of bytes follows it.
        case end(surplus: Int)
    }

    /// The largest number of bytes in a line with a chunk's size and extensions.
    package static let longestLine = 4096

    private enum State {
        case size
        case content(UInt64)
        case contentEnd
        case trailers
        case ended
    }

    private var state = State.size
    /// The beginning of an incomplete line.
    private var line: [UInt8] = []
    private let acceptsBareLineFeed: Bool
    private let longestTrailer: Int
    /// Whether a bare LF was accepted.
    package private(set) var hasTolerated = false

    package init(tolerances: TransportSettings.Tolerances, limits: TransportSettings.ResponseLimits) {
        acceptsBareLineFeed = tolerances.contains(.bareLineFeed)
        longestTrailer = limits.headBytes
    }

    /// Whether the body has ended.
    package var isComplete: Bool { if case .ended = state { true } else { false } }

    /// The number of parsed bytes of a line that is not complete, or is malformed.
    package var pendingBytes: Int { line.count }

    /// Parses the front of the raw bytes, and removes bytes that are not content.
    package mutating func next(_ bytes: inout UnsafeRawBufferPointer) throws(HeadVetting.Fault) -> Piece {
        while true {
            switch state {
            case .ended: return .end(surplus: bytes.count)
            case .content(let left):
                guard !bytes.isEmpty else { return .more }
                return .content(Int(min(left, UInt64(bytes.count))))
            case .contentEnd:
                // This reads at most two bytes: any others are an error before a line end arrives.
                guard try takeLine(&bytes, atMost: 2) else { return .more }
                _ = try contentOfLine(isEmpty: true)
                line.removeAll(keepingCapacity: true)
                state = .size
            case .size:
                guard try takeLine(&bytes, atMost: Self.longestLine) else { return .more }
                let size = try chunkSize(inFirst: try contentOfLine(isEmpty: false))
                line.removeAll(keepingCapacity: true)
                state = size == 0 ? .trailers : .content(size)
            case .trailers:
                guard try takeTrailer(&bytes) else { return .more }
                defer { line.removeAll(keepingCapacity: true) }
                if line.count <= 2, line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) { state = .ended }
                return .trailer(line)
            }
        }
    }

    /// Records that content bytes were taken from the raw bytes.
    package mutating func take(_ count: Int) {
        guard case .content(let left) = state else { preconditionFailure("content was taken outside of a chunk") }
        state = left == UInt64(count) ? .contentEnd : .content(left - UInt64(count))
    }

    // MARK: - Lines

    /// Moves bytes into ``line`` until it is complete; false when more are needed.
    private mutating func takeLine(
        _ bytes: inout UnsafeRawBufferPointer,
        atMost most: Int
    ) throws(HeadVetting.Fault) -> Bool {
        let isWhole = moveLine(&bytes)
        // A sequence that cannot become a valid line is refused before its end, which may never arrive.
        guard line.count <= most, most == 2 || line.first?.isHexDigit != false else { throw malformed() }
        if most == 2, let first = line.first, first != 0x0D, first != 0x0A { throw malformed() }
        return isWhole
    }

    /// Moves bytes up to the first line end into ``line``; false when there is none.
    private mutating func moveLine(_ bytes: inout UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress else { return false }
        let feed = memchr(start, 0x0A, bytes.count)
        let count = feed.map { UnsafeRawPointer($0) - start + 1 } ?? bytes.count
        line.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
        return feed != nil
    }

    private mutating func takeTrailer(_ bytes: inout UnsafeRawBufferPointer) throws(HeadVetting.Fault) -> Bool {
        let isWhole = moveLine(&bytes)
        guard line.count <= longestTrailer else { throw .tooLarge(.bytes(longestTrailer)) }
        return isWhole
    }

    /// The length of the complete line without its line end.
    private mutating func contentOfLine(isEmpty: Bool) throws(HeadVetting.Fault) -> Int {
        let hasReturn = line.count >= 2 && line[line.count - 2] == 0x0D
        if !hasReturn {
            guard acceptsBareLineFeed else { throw malformed() }
            hasTolerated = true
        }
        let count = line.count - (hasReturn ? 2 : 1)
        guard (count == 0) == isEmpty else { throw malformed() }
        return count
    }

    /// `chunk-size [ chunk-ext ]`, at the beginning of the line.
    private func chunkSize(inFirst count: Int) throws(HeadVetting.Fault) -> UInt64 {
        let size = line.withUnsafeBufferPointer { bytes -> UInt64? in
            var cursor = LineCursor(bytes: UnsafeBufferPointer(rebasing: bytes[..<count]))
            guard let size = cursor.takeSize(), cursor.skipExtensions() else { return nil }
            return size
        }
        guard let size else { throw malformed() }
        return size
    }

    private func malformed() -> HeadVetting.Fault {
        .malformed(LoadingError.MalformedResponse(.chunk, excerpt: String(decoding: line.prefix(200), as: UTF8.self)))
    }
}

extension UInt8 {
    fileprivate var hexDigit: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }

    fileprivate var isHexDigit: Bool { hexDigit != nil }
}

/// Reads the line of a chunk's size from its beginning.
///
/// Over memory and by index: a line may have a thousand extensions, and each must cost little.
private struct LineCursor {
    let bytes: UnsafeBufferPointer<UInt8>
    private var place = 0

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    /// Takes the size; nil when it is none, or too large.
    mutating func takeSize() -> UInt64? {
        var size: UInt64 = 0
        while let digit = next?.hexDigit {
            guard size >> 60 == 0 else { return nil }
            size = size << 4 | UInt64(digit)
            place += 1
        }
        // libcurl allows this number of digits, and stores the size in a signed integer.
        return place > 0 && place <= 16 && size < 1 << 63 ? size : nil
    }

    /// `*( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )`; false when that is not all there is.
    mutating func skipExtensions() -> Bool {
        while place < bytes.count {
            skipBlanks()
            guard skip(0x3B) else { return false }
            skipBlanks()
            guard skipToken() else { return false }
            let afterName = place
            skipBlanks()
            guard skip(0x3D) else {
                place = afterName
                continue
            }
            skipBlanks()
            guard skipToken() || skipQuotedString() else { return false }
        }
        return true
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        place += 1
        return true
    }

    private mutating func skipBlanks() {
        while next == 0x20 || next == 0x09 { place += 1 }
    }

    private mutating func skipToken() -> Bool {
        let length = UnsafeBufferPointer(rebasing: bytes[place...]).tokenPrefixLength
        place += length
        return length > 0
    }

    private mutating func skipQuotedString() -> Bool {
        guard skip(0x22) else { return false }
        while let byte = next {
            place += 1
            if byte == 0x22 { return true }
            var text = byte
            if byte == 0x5C {
                guard let quoted = next else { return false }
                text = quoted
                place += 1
            }
            guard text.isFieldContent else { return false }
        }
        return false
    }
}
