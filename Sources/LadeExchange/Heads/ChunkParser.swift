package import LadeCore

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
                let size = try chunkSize(try contentOfLine(isEmpty: false))
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
        let end = bytes.firstIndex(of: 0x0A)
        line.append(contentsOf: bytes[..<(end.map { $0 + 1 } ?? bytes.endIndex)])
        bytes = UnsafeRawBufferPointer(rebasing: bytes[(end.map { $0 + 1 } ?? bytes.endIndex)...])
        // A sequence that cannot become a valid line is refused before its end, which may never arrive.
        guard line.count <= most, most == 2 || line.first?.isHexDigit != false else { throw malformed() }
        if most == 2, let first = line.first, first != 0x0D, first != 0x0A { throw malformed() }
        return end != nil
    }

    private mutating func takeTrailer(_ bytes: inout UnsafeRawBufferPointer) throws(HeadVetting.Fault) -> Bool {
        let end = bytes.firstIndex(of: 0x0A)
        line.append(contentsOf: bytes[..<(end.map { $0 + 1 } ?? bytes.endIndex)])
        bytes = UnsafeRawBufferPointer(rebasing: bytes[(end.map { $0 + 1 } ?? bytes.endIndex)...])
        guard line.count <= longestTrailer else { throw .tooLarge(.bytes(longestTrailer)) }
        return end != nil
    }

    /// The complete line without its line end.
    private mutating func contentOfLine(isEmpty: Bool) throws(HeadVetting.Fault) -> ArraySlice<UInt8> {
        let content: ArraySlice<UInt8>
        if line.count >= 2, line[line.count - 2] == 0x0D {
            content = line.dropLast(2)
        } else {
            guard acceptsBareLineFeed else { throw malformed() }
            hasTolerated = true
            content = line.dropLast()
        }
        guard content.isEmpty == isEmpty else { throw malformed() }
        return content
    }

    /// `chunk-size [ chunk-ext ]`.
    private func chunkSize(_ content: ArraySlice<UInt8>) throws(HeadVetting.Fault) -> UInt64 {
        var size: UInt64 = 0
        var rest = content
        while let digit = rest.first?.hexDigit {
            guard size >> 60 == 0 else { throw malformed() }
            size = size << 4 | UInt64(digit)
            rest.removeFirst()
        }
        // libcurl allows this number of digits, and stores the size in a signed integer.
        guard rest.startIndex > content.startIndex, rest.startIndex - content.startIndex <= 16, size < 1 << 63 else {
            throw malformed()
        }
        try checkExtensions(rest)
        return size
    }

    /// `*( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )`; the extensions are checked and ignored.
    private func checkExtensions(_ extensions: ArraySlice<UInt8>) throws(HeadVetting.Fault) {
        var rest = extensions
        while !rest.isEmpty {
            rest.skipBlanks()
            guard rest.popFirst() == 0x3B else { throw malformed() }
            rest.skipBlanks()
            guard rest.skipToken() else { throw malformed() }
            let afterName = rest
            rest.skipBlanks()
            guard rest.first == 0x3D else {
                rest = afterName
                continue
            }
            rest.removeFirst()
            rest.skipBlanks()
            guard rest.skipToken() || rest.skipQuotedString() else { throw malformed() }
        }
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

extension ArraySlice<UInt8> {
    fileprivate mutating func skipBlanks() {
        self = drop { $0 == 0x20 || $0 == 0x09 }
    }

    fileprivate mutating func skipToken() -> Bool {
        let length = withUnsafeBufferPointer(\.tokenPrefixLength)
        removeFirst(length)
        return length > 0
    }

    fileprivate mutating func skipQuotedString() -> Bool {
        guard popFirst() == 0x22 else { return false }
        while let byte = popFirst() {
            if byte == 0x22 { return true }
            guard byte != 0x5C || !isEmpty else { return false }
            let text = byte == 0x5C ? removeFirst() : byte
            guard text.isFieldContent else { return false }
        }
        return false
    }
}
