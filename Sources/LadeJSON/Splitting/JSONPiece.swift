/// A piece of the document that a splitter processes.
struct JSONPiece {
    /// The position where a piece of the document begins, for the lines and columns of faults.
    struct Place {
        /// The number of bytes before the piece.
        var offset: Int64 = 0
        /// The number of line ends before the piece.
        var lines = 0
        /// The offset of the current line's first byte.
        var lineStart: Int64 = 0

        /// Advances past some bytes of the document.
        mutating func pass(_ start: UnsafePointer<UInt8>, _ count: Int) {
            let found = Bytes.count(of: 0x0A, start, count)
            lines += found
            // Only the start of the current line matters, so the search runs backwards.
            if found > 0 {
                var last = count - 1
                while start[last] != 0x0A { last -= 1 }
                lineStart = offset + Int64(last) + 1
            }
            offset += Int64(count)
        }

        /// Moves to an offset before or after the current one; takes time proportional to the distance.
        ///
        /// - Parameters:
        ///   - target: The offset in the document.
        ///   - base: The document's first byte.
        mutating func move(to target: Int, in base: UnsafePointer<UInt8>) {
            let current = Int(offset)
            guard target < current else { return pass(base + current, target - current) }
            let passed = Bytes.count(of: 0x0A, base + target, current - target)
            lines -= passed
            if passed > 0 {
                var start = target
                while start > 0, base[start - 1] != 0x0A { start -= 1 }
                lineStart = Int64(start)
            }
            offset = Int64(target)
        }

        func fault(_ reason: JSONError.Reason, path: JSONPointer = []) -> JSONError {
            JSONError(
                reason,
                offset: offset,
                line: lines + 1,
                column: Int(clamping: offset - lineStart) + 1,
                path: path
            )
        }
    }

    let start: UnsafePointer<UInt8>
    let end: UnsafePointer<UInt8>
    let place: Place

    /// The fault at a position in this piece.
    func fault(_ reason: JSONError.Reason, _ position: UnsafePointer<UInt8>) -> JSONError {
        var place = place
        place.pass(start, position - start)
        return place.fault(reason)
    }

    /// The fault for a byte that is not allowed at its position.
    func unexpected(_ position: UnsafePointer<UInt8>) -> JSONError {
        fault(.unexpectedByte(position.pointee), position)
    }

    /// The first byte from a position on that is not white space.
    @inline(__always)
    func skipSpace(_ from: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
        var position = from
        while end - position >= 8, Bytes.word(position) == 0x2020_2020_2020_2020 { position += 8 }
        while position < end, Bytes.isSpace(position.pointee) { position += 1 }
        return position
    }
}
