import CCurl
import LadeCore
import LadeExchange

// MARK: - Bodies in chunks

extension Transfer {
    /// Handles a raw piece of the body, which includes the chunk framing.
    ///
    /// Returns the result for libcurl's callback. When the reader is too far behind, libcurl must keep the piece, of
    /// which a part may be parsed already. libcurl delivers the piece again from the beginning, and that part is then
    /// skipped.
    func received(raw bytes: UnsafeRawBufferPointer, on loop: CurlLoop) -> Int {
        loop.receivedPieces += 1
        guard var parser = chunks.take() else { return received(body: bytes, on: loop) }
        let hadTolerated = parser.hasTolerated
        defer {
            if parser.hasTolerated, !hadTolerated {
                call.record(.malformationTolerated(LoadingError.MalformedResponse(.chunk)))
            }
            chunks = parser
        }
        lastActivity = loop.now
        var rest = UnsafeRawBufferPointer(rebasing: bytes[min(skippedRawBytes, bytes.count)...])
        do {
            while true {
                switch try parser.next(&rest) {
                case .content(let count):
                    let taken = received(body: UnsafeRawBufferPointer(rebasing: rest[..<count]), on: loop)
                    guard taken == count else {
                        skippedRawBytes = bytes.count - rest.count
                        return taken
                    }
                    parser.take(count)
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                case .trailer(let line):
                    guard line.withUnsafeBufferPointer({ received(line: $0, on: loop) }) else { return 0 }
                case .more:
                    skippedRawBytes = 0
                    return bytes.count
                case .end(let surplus):
                    if surplus > 0, case .running(let handle) = phase { handle.forbidReuse() }
                    return bytes.count
                }
            }
        } catch {
            failure = headError(error)
            return 0
        }
    }
}
