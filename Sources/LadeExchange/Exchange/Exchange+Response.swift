#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

// MARK: - The response as it arrives

extension Exchange {
    /// The use that was made of a piece of the body.
    package enum Intake: Sendable {
        /// All of it was taken.
        case taken
        /// The reader is too far behind: the rest must be offered again, once the reader has asked for more.
        case paused
        /// As much was decoded as may be now: the rest must be offered again, although it may be empty.
        case yielded
        /// The exchange must end with its ``Exchange/failure``.
        case failed
    }

    /// The largest number of bytes that are decoded before the limits are checked again.
    private static let step = 256 << 10

    /// The error for a fault in a head, a trailer section or the chunks.
    package func headError(_ fault: HeadVetting.Fault) -> LoadingError {
        switch fault {
        case .malformed(let fault): LoadingError(.malformedResponse(fault), context)
        case .tooLarge(let limit): LoadingError(.headTooLarge(limit), context)
        }
    }

    /// The finding after a line of a head or trailer section.
    package enum LineFinding: Sendable {
        case more
        /// An interim head, which the sinks were notified of.
        case interim
        case final(HeadVetting.Head)
        /// The exchange must end with its ``Exchange/failure``.
        case failed
    }

    /// Takes one line of a head or trailer section with its line end.
    package func take(line: UnsafeBufferPointer<UInt8>, at now: Int64) -> LineFinding {
        state.lastActivity = now
        let finding: HeadVetting.Finding
        do {
            finding = try vetting.take(line)
        } catch {
            failure = headError(error)
            return .failed
        }
        switch finding {
        case .more: return .more
        case .interim(let status, let headers):
            call.record(.interimResponse(status: status, headers: headers))
            return .interim
        case .final(let head): return .final(head)
        }
    }

    /// Whether the next line is the first after a status line.
    package var awaitsFirstField: Bool { vetting.awaitsFirstField }

    /// Calls a closure that takes lines itself.
    package func withVetting(
        _ body: (inout HeadVetting) throws(HeadVetting.Fault) -> Void
    ) throws(HeadVetting.Fault) {
        try body(&vetting)
    }

    /// Stores the final head and notifies the sinks of it.
    package func noteHead(_ head: HeadVetting.Head) {
        finalHead = head
        for fault in vetting.tolerated { call.record(.malformationTolerated(fault)) }
        call.record(.headReceived(status: head.status, headers: head.headers, version: head.version))
    }

    /// Whether a final head is followed by a body (RFC 9112 §6.3).
    package func expectsBody(_ head: HeadVetting.Head) -> Bool {
        request.method != .head && head.status != 204 && head.status != 304
    }

    /// Prepares for the body of a final head: its decoder, its limit, its stream.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - window: The number of bytes that the sender may send ahead of the reader, where windows hold it back; nil
    ///     elsewhere.
    ///   - pool: Gives the memory.
    ///   - decoders: Gives decoders.
    ///   - inbox: Receives the messages of the reader.
    /// - Returns: Whether the exchange continues; if not, it has a ``failure``. Beside it, the caller of a
    ///   streamed response, which is resumed now.
    package func beginBody(
        _ head: HeadVetting.Head,
        window: Int? = nil,
        pool: BufferPool,
        decoders: DecoderPool,
        inbox: Inbox
    ) -> (continues: Bool, caller: LoopWaiter?) {
        let hasBody = expectsBody(head)
        if isDecoding, hasBody, let field = head.contentEncoding {
            decoder = ContentDecoder(field: field, pool: decoders)
            for name in ContentCoding.namesOfNoCoding(in: field) {
                call.record(.malformationTolerated(.contentCoding(name)))
            }
        }
        switch request.delivery {
        case .buffered(let limit):
            // The coded length does not determine the decoded one.
            let announced = decoder == nil ? head.contentLength : nil
            if hasBody, let announced, announced > Int64(limit) {
                failure = LoadingError(.bodyTooLarge(limit: limit, announced: announced), context)
                return (false, nil)
            }
            return (true, nil)
        case .streamed: return (true, startStream(head, window, pool, inbox))
        }
    }

    private func startStream(
        _ head: HeadVetting.Head,
        _ window: Int?,
        _ pool: BufferPool,
        _ inbox: Inbox
    ) -> LoopWaiter? {
        guard isAwaited else { return nil }
        let stream = BodyStream(
            // The window holds as many bytes again that the reader has no room for.
            highWater: window == nil ? rules.limits.streamHighWater : max(rules.limits.streamHighWater / 2, 1),
            reportSize: window.map { max($0 / 4, 1) } ?? .max,
            pool: pool,
            cancellation: LoadingError(.cancelled, context),
            cancel: { [inbox] in inbox.post(.cancel(self)) },
            resume: { [inbox] in inbox.post(.resume(self, .download)) }
        )
        bodyStream = stream
        return settle(response(head, Response.Body(streaming: stream)))
    }

    /// Takes a piece of the body, without its framing, from the front of `rest`.
    ///
    /// - Parameters:
    ///   - rest: The bytes; the taken ones are removed.
    ///   - pool: Gives the memory.
    ///   - most: How many bytes are decoded at most.
    /// - Returns: The use that was made of them.
    package func take(_ rest: inout UnsafeRawBufferPointer, pool: BufferPool, decodingAtMost most: Int = .max) -> Intake
    {
        if let decoder { return take(coded: &rest, by: decoder, pool: pool, most) }
        state.bodyBytes += Int64(rest.count)
        let intake: Intake
        switch request.delivery {
        case .buffered(let limit): intake = collect(rest, limit: limit, pool: pool)
        case .streamed:
            guard let stream = bodyStream else { return .failed }
            guard stream.append(rest) else {
                state.bodyBytes -= Int64(rest.count)
                return .paused
            }
            intake = .taken
        }
        rest = UnsafeRawBufferPointer(rebasing: rest[rest.endIndex...])
        return intake
    }

    /// Receives bytes of a body without codings directly into the memory of the response.
    ///
    /// - Parameters:
    ///   - most: The largest number of bytes; no more than the announced length leaves.
    ///   - pool: Gives the memory.
    ///   - read: Writes bytes to the memory and returns their number.
    /// - Returns: The result of `read`; nil when the reader is too far behind, and `read` was not called.
    package func receive(
        atMost most: Int,
        pool: BufferPool,
        _ read: (UnsafeMutableRawBufferPointer) -> Int
    ) -> Int? {
        let count: Int
        if let stream = bodyStream {
            guard let taken = stream.append(atMost: most, read) else { return nil }
            count = taken
        } else {
            if body == nil {
                let announced = Int(min(finalHead?.contentLength ?? 0, 1 << 20))
                body = PooledBytes(pool: pool, capacity: max(announced, 1))
            }
            count = body?.append(atMost: most, read) ?? 0
        }
        state.bodyBytes += Int64(count)
        return count
    }

    private func collect(_ bytes: UnsafeRawBufferPointer, limit: Int, pool: BufferPool) -> Intake {
        guard state.bodyBytes <= Int64(limit) else {
            failure = LoadingError(.bodyTooLarge(limit: limit, announced: nil), context)
            return .failed
        }
        if body == nil, isWholeBody(bytes) {
            wholeBody = Data(bytes)
            return .taken
        }
        if body == nil {
            if let whole = wholeBody {
                // The body is longer than its announced length.
                body = PooledBytes(pool: pool, capacity: whole.count + bytes.count)
                whole.withUnsafeBytes { body?.append($0) }
                wholeBody = nil
                body?.append(bytes)
                return .taken
            }
            // The announced length is used up to 1 MiB; beyond that, the buffer grows with the received bytes.
            let announced = Int(min(finalHead?.contentLength ?? 0, 1 << 20))
            body = PooledBytes(pool: pool, capacity: max(announced, bytes.count))
        }
        body?.append(bytes)
        return .taken
    }

    private func isWholeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count <= BufferPool.smallest && state.bodyBytes == Int64(bytes.count)
            && finalHead?.contentLength == state.bodyBytes
    }

    /// Makes the response from a head and a body.
    func response(_ head: HeadVetting.Head, _ body: Response.Body) -> Response {
        var headers = head.headers
        if isDecoded {
            // These fields describe the coded bytes, which are not passed on; the metrics keep their values.
            headers.remove("Content-Encoding")
            headers.remove("Content-Length")
        }
        return Response(
            status: head.status,
            headers: headers,
            body: body,
            request: request,
            version: head.version
        )
    }

    // MARK: - Content codings

    /// Decodes a piece of the body directly into the memory of the response.
    private func take(
        coded rest: inout UnsafeRawBufferPointer,
        by decoder: ContentDecoder,
        pool: BufferPool,
        _ most: Int
    ) -> Intake {
        do {
            switch request.delivery {
            case .buffered(let limit): return try collect(&rest, by: decoder, limit: limit, pool: pool, most)
            case .streamed: return try stream(&rest, by: decoder, most)
            }
        } catch {
            failure = codingError(error)
            return .failed
        }
    }

    private func collect(
        _ rest: inout UnsafeRawBufferPointer,
        by decoder: ContentDecoder,
        limit: Int,
        pool: BufferPool,
        _ share: Int
    ) throws(CodingFault) -> Intake {
        if body == nil {
            // Coded text is about a quarter of its decoded size. The announced length is used up to 256 KiB, which is 1
            // MiB decoded.
            let announced = Int(min(finalHead?.contentLength ?? 0, 256 << 10))
            body = PooledBytes(pool: pool, capacity: max(4 * announced, 4 * rest.count))
        }
        var decoded = 0
        while true {
            guard decoded < share else { return .yielded }
            // One byte above the limit is enough to detect that the body is too large.
            let left = limit - Int(state.bodyBytes)
            let most = min(left < Self.step ? left + 1 : Self.step, share - decoded)
            var room = 0
            let count = try body?.append(atMost: most) { space throws(CodingFault) in
                room = space.count
                return try decoder.decode(&rest, into: space, isBounded: share < .max)
            }
            state.bodyBytes += Int64(count ?? 0)
            decoded += count ?? 0
            guard state.bodyBytes <= Int64(limit) else {
                failure = LoadingError(.bodyTooLarge(limit: limit, announced: nil), context)
                return .failed
            }
            if isBomb(decoder, rest.count) { return .failed }
            if (count ?? 0) < room { return decoder.isInterrupted ? .yielded : .taken }
        }
    }

    private func stream(
        _ rest: inout UnsafeRawBufferPointer,
        by decoder: ContentDecoder,
        _ share: Int
    ) throws(CodingFault) -> Intake {
        guard let stream = bodyStream else { return .failed }
        var decoded = 0
        while true {
            guard decoded < share else { return .yielded }
            var room = 0
            let count = try stream.append(atMost: share - decoded) { space throws(CodingFault) in
                room = space.count
                return try decoder.decode(&rest, into: space, isBounded: share < .max)
            }
            guard let count else { return .paused }
            state.bodyBytes += Int64(count)
            decoded += count
            if isBomb(decoder, rest.count) { return .failed }
            if count < room { return decoder.isInterrupted ? .yielded : .taken }
        }
    }

    /// Whether the decoded body is too large for the bytes received; the announced length does not count.
    private func isBomb(_ decoder: ContentDecoder, _ waiting: Int) -> Bool {
        let limits = rules.limits
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
        guard let decoder, let head = finalHead, !decoder.isComplete else { return nil }
        if decoder.consumedBytes == 0, head.contentLength == 0 || head.status.statusClass == .redirection { return nil }
        var context = context
        context.detail = "the coded body (\(head.contentEncoding ?? "")) has no end"
        return LoadingError(.incompleteBody(received: decoder.consumedBytes, expected: nil), context)
    }

    /// Whether the body is passed on decoded.
    package var isDecoded: Bool { decoder?.isDecoding ?? false }
}

extension LoadingError.MalformedResponse {
    /// The fault of a `Content-Encoding` that names an unknown content coding.
    fileprivate static func contentCoding(_ name: String) -> LoadingError.MalformedResponse {
        LoadingError.MalformedResponse(.contentCoding, excerpt: "Content-Encoding: \(name)")
    }
}
