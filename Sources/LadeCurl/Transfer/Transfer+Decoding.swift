import CCurl
import LadeCore
import LadeExchange

// MARK: - Bodies with a content coding

extension Transfer {
    /// The largest number of bytes that are decoded before the limits are checked again.
    private static let step = 256 << 10

    /// Decodes a piece of the body directly into the memory of the response.
    ///
    /// Returns the number of handled bytes as the result for libcurl's callback. When the reader is too far behind,
    /// libcurl must keep the piece, of which a part may be decoded already. libcurl delivers the piece again from the
    /// beginning, and that part is then skipped.
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
            // Coded text is about a quarter of its decoded size. The announced length is used up to 256 KiB, which is 1
            // MiB decoded.
            let announced = Int(min(head?.contentLength ?? 0, 256 << 10))
            body = PooledBytes(pool: loop.pool, capacity: max(4 * announced, 4 * rest.count))
        }
        while true {
            // One byte above the limit is enough to detect that the body is too large.
            let left = limit - Int(bodyBytes)
            let most = left < Self.step ? left + 1 : Self.step
            var room = 0
            let count = try body?.append(atMost: most) { space throws(CodingFault) in
                room = space.count
                return try decoder.decode(&rest, into: space)
            }
            bodyBytes += Int64(count ?? 0)
            guard bodyBytes <= Int64(limit) else {
                failure = LoadingError(.bodyTooLarge(limit: limit, announced: nil), context)
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

    /// Whether the decoded body is too large for the bytes received; the announced length does not count.
    private func isBomb(_ decoder: ContentDecoder, _ waiting: Int, _ limits: TransportSettings.ResponseLimits) -> Bool {
        let most = decoder.mostBytes
        guard most > Int64(limits.decompressionFloor),
            most / max(decoder.consumedBytes + Int64(waiting), 1) >= Int64(limits.decompressionRatio)
        else { return false }
        failure = LoadingError(.decompressionRatioExceeded(limit: limits.decompressionRatio), context)
        return true
    }

    private func codingError(_ fault: CodingFault) -> LoadingError {
        var context = context
        context.detail = fault.description
        guard case .unknown(let name) = fault else {
            return LoadingError(.malformedResponse(LoadingError.MalformedResponse(.contentCoding)), context)
        }
        return LoadingError(.malformedResponse(.contentCoding(name)), context)
    }

    /// The error of a body that its framing completes and its coding does not; nil when both are complete.
    ///
    /// An empty body is complete when its length is 0, and for a redirect, which often names a coding without having a
    /// body.
    var codingShortfall: LoadingError? {
        guard let decoder, let head, !decoder.isComplete else { return nil }
        if decoder.consumedBytes == 0, head.contentLength == 0 || head.status.statusClass == .redirection { return nil }
        var context = context
        context.detail = "the coded body (\(head.contentEncoding ?? "")) has no end"
        return LoadingError(.incompleteBody(received: decoder.consumedBytes, expected: nil), context)
    }

    /// Whether the body is passed on decoded.
    var isDecoded: Bool { decoder?.isDecoding ?? false }
}

extension LoadingError.MalformedResponse {
    /// The fault of a `Content-Encoding` that names what is no content coding known here.
    static func contentCoding(_ name: String) -> LoadingError.MalformedResponse {
        LoadingError.MalformedResponse(.contentCoding, excerpt: "Content-Encoding: \(name)")
    }
}
