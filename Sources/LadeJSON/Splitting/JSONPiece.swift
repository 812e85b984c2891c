/// The part of a document that a splitter looks at.
struct JSONPiece {
    /// Where a piece of the document begins, for the lines and columns of faults.
    struct Place {
        /// How many bytes of the document came before.
        var offset: Int64 = 0
        /// How many line ends came before.
        var lines = 0
        /// The offset of the first byte of the line.
        var lineStart: Int64 = 0

        /// Moves behind some bytes of the document.
        mutating func pass(_ start: UnsafePointer<UInt8>, _ count: Int) {
            let found = Bytes.count(of: 0x0A, start, count)
            lines += found
            // Only the line that is open matters, and it is looked for from behind.
            if found > 0 {
                var last = count - 1
                while start[last] != 0x0A { last -= 1 }
                lineStart = offset + Int64(last) + 1
            }
            offset += Int64(count)
        }

        func fault(_ reason: JSONFault.Reason, path: JSONPointer = []) -> JSONFault {
            JSONFault(
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

    /// A fault at a position in this piece.
    func fault(_ reason: JSONFault.Reason, _ position: UnsafePointer<UInt8>) -> JSONFault {
        var place = place
        place.pass(start, position - start)
        return place.fault(reason)
    }

    /// The fault of a byte that is not allowed at its position.
    func unexpected(_ position: UnsafePointer<UInt8>) -> JSONFault {
        fault(.unexpectedByte(position.pointee), position)
    }

    /// The first byte from there on that is not white space.
    @inline(__always)
    func skipSpace(_ from: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
        var position = from
        while end - position >= 8, Bytes.word(position) == 0x2020_2020_2020_2020 { position += 8 }
        while position < end, Bytes.isSpace(position.pointee) { position += 1 }
        return position
    }
}
