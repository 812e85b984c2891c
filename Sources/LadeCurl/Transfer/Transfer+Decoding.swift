import CCurl
import LadeCore

// MARK: - Bodies with a content coding

extension Transfer {
    /// The most that is decoded before the limits are looked at again.
    private static let step = 256 << 10

    /// Decodes a piece of the body, straight into the memory that is handed on.
    ///
    /// Returns how much of the piece was taken, in libcurl's terms. When the reader is too far behind, libcurl is to keep
    /// the piece, of which a part may be decoded already: it delivers the piece again from the beginning, and that part is
    /// then skipped.
    func received(coded bytes: UnsafeRawBufferPointer, by decoder: ContentDecoder, on loop: CurlLoop) -> Int {
        let skipped = min(decoder.skippedBytes, bytes.count)
        var rest = UnsafeRawBufferPointer(rebasing: bytes[skipped...])
        let isTaken: Bool
        do {
            switch request.delivery {
            case .buffered(let limit): isTaken = try collect(&rest, by: decoder, limit: limit, on: loop)
            case .streamed: isTaken = try stream(&rest, by: decoder, on: loop)
            }
        } catch {
            failure = codingError(error)
            return 0
        }
        if isTaken {
            decoder.skippedBytes -= skipped
            return bytes.count
        }
        guard failure == nil else { return 0 }
        decoder.skippedBytes += bytes.count - rest.count - skipped
        pauses |= CURLPAUSE_RECV
        return Int(LADE_WRITE_PAUSE)
    }

    private func collect(
        _ rest: inout UnsafeRawBufferPointer,
        by decoder: ContentDecoder,
        limit: Int,
        on loop: CurlLoop
    ) throws(CodingFault) -> Bool {
        if body == nil {
            // Text shrinks to a quarter or so. What a server announces is believed up to 1 MiB.
            let announced = Int(min(head?.contentLength ?? 0, 256 << 10))
            body = PooledBytes(pool: loop.pool, capacity: max(4 * announced, 4 * rest.count))
        }
        while true {
            // One byte above the limit shows that there is more than is wanted.
            let left = limit - Int(bodyBytes)
            let most = left < Self.step ? left + 1 : Self.step
            var room = 0
            let count = try body?.append(atMost: most) { space throws(CodingFault) in
                room = space.count
                return try decoder.decode(&rest, into: space)
            }
            bodyBytes += Int64(count ?? 0)
            guard bodyBytes <= Int64(limit) else {
                failure = .bodyTooLarge(limit: limit, announced: nil, context)
                return false
            }
            if isBomb(decoder, rest.count, loop.handleSettings.settings.limits) { return false }
            if (count ?? 0) < room { return true }
        }
    }

    private func stream(
        _ rest: inout UnsafeRawBufferPointer,
        by decoder: ContentDecoder,
        on loop: CurlLoop
    ) throws(CodingFault) -> Bool {
        guard let stream else { return false }
        while true {
            var room = 0
            let count = try stream.append { space throws(CodingFault) in
                room = space.count
                return try decoder.decode(&rest, into: space)
            }
            guard let count else { return false }
            bodyBytes += Int64(count)
            if count > 0 { loop.markUnpublished(self) }
            if isBomb(decoder, rest.count, loop.handleSettings.settings.limits) { return false }
            if count < room { return true }
        }
    }

    /// Whether the body grows too much; only bytes that were received count, and not what the head announces.
    private func isBomb(_ decoder: ContentDecoder, _ waiting: Int, _ limits: TransportSettings.ResponseLimits) -> Bool {
        let most = decoder.mostBytes
        guard most > Int64(limits.decompressionFloor),
            most / max(decoder.consumedBytes + Int64(waiting), 1) >= Int64(limits.decompressionRatio)
        else { return false }
        failure = .decompressionRatioExceeded(limit: limits.decompressionRatio, context)
        return true
    }

    private func codingError(_ fault: CodingFault) -> LoadingError {
        var context = context
        context.detail = fault.description
        return .malformedResponse(MalformedResponse(.contentCoding), context)
    }

    /// What is wrong with a body whose framing has ended well: a coded one must be at the end of its coding too.
    ///
    /// A body without a byte is an empty one where its length says so, and for a redirect, which often names a coding for
    /// the body that it does not have.
    var codingShortfall: LoadingError? {
        guard let decoder, let head, !decoder.isComplete else { return nil }
        if decoder.consumedBytes == 0, head.contentLength == 0 || head.status.statusClass == .redirection { return nil }
        var context = context
        context.detail = "the coded body (\(head.contentEncoding ?? "")) has no end"
        return .incompleteBody(received: decoder.consumedBytes, expected: nil, context)
    }

    /// Whether the body is handed on decoded.
    var isDecoded: Bool { decoder?.isDecoding ?? false }
}
