/// The part of a document that is being looked at.
struct JSONPiece {
    let start: UnsafePointer<UInt8>
    let end: UnsafePointer<UInt8>
    /// How many bytes of the document came before.
    let offset: Int64

    /// A fault at a place of this piece.
    func fault(_ reason: JSONSyntaxFault.Reason, _ position: UnsafePointer<UInt8>) -> JSONSyntaxFault {
        JSONSyntaxFault(reason, offset: offset + Int64(position - start))
    }

    /// The fault of a byte that cannot stand where it does.
    func unexpected(_ position: UnsafePointer<UInt8>) -> JSONSyntaxFault {
        fault(.unexpectedByte(position.pointee), position)
    }

    /// Eight bytes, the first lowest.
    @inline(__always)
    static func word(_ position: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(position).loadUnaligned(as: UInt64.self))
    }

    @inline(__always)
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// The first byte from there on that is no white space.
    @inline(__always)
    func skipSpace(_ from: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
        var position = from
        while end - position >= 8, Self.word(position) == 0x2020_2020_2020_2020 { position += 8 }
        while position < end, Self.isSpace(position.pointee) { position += 1 }
        return position
    }
}
