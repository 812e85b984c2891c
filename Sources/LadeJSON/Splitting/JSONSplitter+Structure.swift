#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

// The document's structure: which tokens may follow, and where an item begins and ends.
extension JSONSplitter {
    // One flat loop over tokens, with a state for what may come next, and one for each token that a piece can end in.
    mutating func scan(_ piece: JSONPiece) throws(JSONError) {
        var position = piece.start
        // The first byte of the item, or of its part in this piece, that has not been copied to the output.
        var run = position
        if markLength >= 0 { position = try skipMark(piece) }
        var captured = position
        while position < piece.end {
            switch state {
            case .string:
                guard let next = try string.scan(position, piece) else {
                    position = piece.end
                    continue
                }
                position = next
                if isName {
                    state = .colon
                    if isCapturing { try finishName(captured, position, piece) }
                    // A colon nearly always follows directly, which saves an iteration.
                    if position < piece.end, position.pointee == UInt8(ascii: ":") {
                        position += 1
                        state = .value
                    }
                } else {
                    if isCapturing { append(captured, position) }
                    try endScalar(&run, position, piece)
                }
                continue
            case .number:
                guard let next = try number.scan(position, piece) else {
                    position = piece.end
                    continue
                }
                position = next
                if isCapturing { append(captured, position) }
                try endScalar(&run, position, piece)
                continue
            case .literal:
                guard UInt32(position.pointee) == literal & 0xFF else { throw piece.unexpected(position) }
                literal >>= 8
                position += 1
                if literal == 0 {
                    if isCapturing { append(captured, position) }
                    try endScalar(&run, position, piece)
                }
                continue
            default: break
            }

            if depth > 0, depth != listDepth, !hasHit {
                let next = try scanOrdinary(position, &run, piece)
                guard next == position else {
                    position = next
                    continue
                }
            }
            let byte = position.pointee
            if byte <= 0x20 {
                guard Bytes.isSpace(byte) else { throw piece.unexpected(position) }
                if isInItem { flush(run, position, piece) }
                position = piece.skipSpace(position + 1)
                run = position
                continue
            }
            switch state {
            case .comma:
                if byte == UInt8(ascii: ",") {
                    position += 1
                    if isArray[depth] {
                        state = .value
                    } else if position < piece.end, position.pointee == UInt8(ascii: "\"") {
                        position += 1
                        beginName(&captured, position)
                    } else {
                        state = .name
                    }
                } else if byte == (isArray[depth] ? UInt8(ascii: "]") : UInt8(ascii: "}")) {
                    position += 1
                    try close(&run, position, piece)
                } else {
                    throw piece.unexpected(position)
                }
            case .colon:
                guard byte == UInt8(ascii: ":") else { throw piece.unexpected(position) }
                state = .value
                position += 1
            case .name, .nameOrEnd:
                if byte == UInt8(ascii: "\"") {
                    position += 1
                    beginName(&captured, position)
                } else if byte == UInt8(ascii: "}"), state == .nameOrEnd {
                    position += 1
                    try close(&run, position, piece)
                } else {
                    throw piece.unexpected(position)
                }
            case .value, .valueOrEnd:
                if byte == UInt8(ascii: "]"), state == .valueOrEnd {
                    position += 1
                    try close(&run, position, piece)
                    continue
                }
                if depth == listDepth || depth <= watchDepth && (hasHit || isArray[depth]) {
                    try beginWatchedValue(byte, position, piece)
                    if isInItem, depth == listDepth { run = position }
                    captured = position
                }
                switch byte {
                case UInt8(ascii: "\""):
                    isName = false
                    state = .string
                case UInt8(ascii: "{"): try open(isArray: false, position, piece)
                case UInt8(ascii: "["): try open(isArray: true, position, piece)
                case UInt8(ascii: "-"): beginNumber(.minus)
                case UInt8(ascii: "0"): beginNumber(.zero)
                case UInt8(ascii: "1")...UInt8(ascii: "9"): beginNumber(.integer)
                case UInt8(ascii: "t"): beginLiteral(0x65_75_72)
                case UInt8(ascii: "f"): beginLiteral(0x65_73_6C_61)
                case UInt8(ascii: "n"): beginLiteral(0x6C_6C_75)
                default: throw piece.unexpected(position)
                }
                position += 1
            case .done: throw piece.fault(.trailingContent, position)
            case .string, .number, .literal: break
            }
        }
        if isCapturing { append(captured, piece.end) }
        if isInItem {
            flush(run, piece.end, piece)
            try checkItemSize(piece.end, piece)
        }
        if capture.count > settings.valueLimit {
            throw piece.fault(.valueTooLarge(limit: settings.valueLimit), piece.end)
        }
    }

    private mutating func skipMark(_ piece: JSONPiece) throws(JSONError) -> UnsafePointer<UInt8> {
        let mark: (UInt8, UInt8, UInt8) = (0xEF, 0xBB, 0xBF)
        var position = piece.start
        while markLength >= 0, position < piece.end {
            let expected = markLength == 0 ? mark.0 : markLength == 1 ? mark.1 : mark.2
            if position.pointee == expected {
                position += 1
                markLength = markLength == 2 ? -1 : markLength + 1
            } else {
                guard markLength == 0 else { throw piece.unexpected(position) }
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
        string.hasEscape = false
        state = .string
        guard depth <= watchDepth else { return }
        isCapturing = true
        capture.removeAll(keepingCapacity: true)
        captured = position
    }

    @inline(__always)
    private mutating func beginNumber(_ first: JSONNumberScanner.Part) {
        number.begin(first)
        state = .number
    }

    @inline(__always)
    private mutating func beginLiteral(_ rest: UInt32) {
        literal = rest
        state = .literal
    }

    @inline(__always)
    private mutating func endScalar(
        _ run: inout UnsafePointer<UInt8>,
        _ position: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) {
        if isCapturing {
            if capture.count > settings.valueLimit {
                throw piece.fault(.valueTooLarge(limit: settings.valueLimit), position)
            }
            finishCapture()
        }
        try endValue(&run, position, piece)
    }

    @inline(__always)
    private mutating func endValue(
        _ run: inout UnsafePointer<UInt8>,
        _ position: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) {
        state = depth == 0 ? .done : .comma
        if depth == listDepth, isInItem { try endItem(run, position, piece) }
    }

    private mutating func endItem(
        _ run: UnsafePointer<UInt8>,
        _ position: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) {
        flush(run, position, piece)
        try checkItemSize(position, piece)
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
        _ piece: JSONPiece
    ) throws(JSONError) {
        guard outputCount - itemStart > settings.itemLimit else { return }
        throw piece.fault(.itemTooLarge(limit: settings.itemLimit), position)
    }

    @inline(__always)
    private mutating func open(
        isArray kind: Bool,
        _ position: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) throws(JSONError) {
        guard depth < settings.nestingLimit else {
            throw piece.fault(.nestingTooDeep(limit: settings.nestingLimit), position)
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
        _ piece: JSONPiece
    ) throws(JSONError) {
        if depth == listDepth { listDepth = .max }
        depth -= 1
        if watchDepth > depth { leaveWatchedContainer() }
        try endValue(&run, position, piece)
    }

    /// Copies the bytes of the item to the output.
    @inline(__always)
    mutating func flush(
        _ from: UnsafePointer<UInt8>,
        _ to: UnsafePointer<UInt8>,
        _ piece: JSONPiece
    ) {
        let count = to - from
        guard count > 0 else { return }
        let target = UnsafeMutableRawPointer(output + outputCount)
        let source = UnsafeRawPointer(from)
        outputCount += count
        // The pieces between white space are short; copying a few extra bytes is cheaper than a call.
        guard piece.end - from >= count + Self.stride, count <= 64 else {
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
}
