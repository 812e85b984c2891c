@testable import LadeExchange

extension Target {
    /// The body of a response in the codings that its first byte chooses: the same whole and in pieces of any size, into
    /// much room and into little.
    static let contentCoding = Target(name: "content-coding") { bytes in
        guard let first = bytes.first else { return }
        let field = fields[Int(first >> 4) % fields.count]
        let body = Array(bytes.dropFirst())
        let pieces = Int(first & 0x0F) + 1
        let whole = decode(field, body, pieces: max(body.count, 1), room: 64 << 10)
        let parts = decode(field, body, pieces: pieces, room: 1 + pieces % 5)
        // Zstandard 1.5 compares the announced size of a frame with an empty last block only when it has the frame whole.
        if field.contains("zstd"), whole.isRefused != parts.isRefused { return }
        expect(whole.isRefused == parts.isRefused, "\(field): refused whole or in pieces, but not both")
        expect(whole.isComplete == parts.isComplete, "\(field): complete whole or in pieces, but not both")
        // What comes before a fault depends on how much room there was; above the limit it is not compared.
        let common = min(whole.output.count, parts.output.count)
        expect(whole.output[..<common] == parts.output[..<common], "\(field): other bytes in pieces")
        if !whole.isRefused { expect(whole.output == parts.output, "\(field): more or fewer bytes in pieces") }
    }

    private static let fields = [
        "gzip", "deflate", "br", "zstd", "gzip, gzip", "br, gzip", "gzip, br", "zstd, deflate",
        "deflate, deflate, gzip",
    ]

    private static let limit = 1 << 20

    private struct Outcome {
        var output: [UInt8] = []
        var isRefused = false
        var isComplete = false
    }

    private static func decode(_ field: String, _ body: [UInt8], pieces: Int, room: Int) -> Outcome {
        guard let decoder = ContentDecoder(field: field, pool: DecoderPool()) else {
            fatalError("\(field) is no coding")
        }
        var outcome = Outcome()
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
        defer { space.deallocate() }
        var start = 0
        while start < body.count {
            let end = min(start + pieces, body.count)
            body[start..<end].withUnsafeBytes { piece in
                var input = piece
                do {
                    while outcome.output.count < limit {
                        let count = try decoder.decode(&input, into: space)
                        outcome.output += space[..<count]
                        if count < room { break }
                    }
                    if outcome.output.count >= limit { outcome.isRefused = true }
                } catch {
                    outcome.isRefused = true
                }
                expect(outcome.isRefused || input.isEmpty, "\(field): input is left although there was room")
            }
            if outcome.isRefused { break }
            start = end
        }
        expect(decoder.consumedBytes <= body.count, "\(field): more was decoded than there is")
        outcome.isComplete = !outcome.isRefused && decoder.isComplete
        return outcome
    }
}
