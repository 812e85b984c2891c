#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CCurl
import LadeCore
import LadeExchange

// MARK: - What libcurl reports

extension Transfer {
    /// Handles one line of a head or trailer section.
    ///
    /// Returns whether the exchange continues.
    func received(line: UnsafeBufferPointer<UInt8>, on loop: CurlLoop) -> Bool {
        lastActivity = loop.now
        loop.receivedPieces += 1
        if let heads, head == nil {
            heads.append(line)
            // The head of a proxy's response to CONNECT, which libcurl checks; it is delivered for the record alone.
            if sendings == 0 { return true }
        }
        let finding: HeadVetting.Finding
        do {
            finding = try vetting.take(line)
        } catch {
            failure = headError(error)
            return false
        }
        switch finding {
        case .more:
            if EasyHandle.keepsFreedField, case .running(let handle) = phase {
                if vetting.awaitsFirstField {
                    handle.watch(for: .firstField)
                } else {
                    handle.stopWatching(for: .firstField)
                }
            }
            return true
        case .interim(let status, let headers):
            call.record(.interimResponse(status: status, headers: headers))
            return true
        case .final(let head): return received(head: head, on: loop)
        }
    }

    /// Stops the exchange because of a folded line that does not follow a field.
    func refuse(foldedLine line: UnsafeRawBufferPointer) {
        let excerpt = String(decoding: line.prefix(200), as: UTF8.self)
        failure = LoadingError(
            .malformedResponse(LoadingError.MalformedResponse(.foldedField, excerpt: excerpt)),
            context
        )
        pauses |= CURLPAUSE_RECV
    }

    /// The error for a fault in a head, a trailer section or the chunks.
    func headError(_ fault: HeadVetting.Fault) -> LoadingError {
        switch fault {
        case .malformed(let fault): LoadingError(.malformedResponse(fault), context)
        case .tooLarge(let limit): LoadingError(.headTooLarge(limit), context)
        }
    }

    private func received(head: HeadVetting.Head, on loop: CurlLoop) -> Bool {
        self.head = head
        for fault in vetting.tolerated { call.record(.malformationTolerated(fault)) }
        call.record(.headReceived(status: head.status, headers: head.headers, version: head.version))
        loop.learned(head.version, transfer: self)
        if head.status == 407, !isSecure, let proxy = proxy(of: loop.handleSettings), proxy.kind == .http,
            case .running(let handle) = phase, handle.long(CURLINFO_PRIMARY_PORT) == proxy.port
        {
            failure = LoadingError(.proxy(.authenticationRequired(proxy: "\(proxy.host):\(proxy.port)")), context)
            return false
        }
        let hasBody = request.method != .head && head.status != 204 && head.status != 304
        if case .running(let handle) = phase { prepareForBody(head, hasBody, handle, on: loop) }
        if isDecoding, hasBody, let field = head.contentEncoding {
            decoder = ContentDecoder(field: field, pool: loop.decoders)
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
                return false
            }
        case .streamed: startStream(head, on: loop)
        }
        // libcurl sends a body with HEAD only as an upload, and would then wait for the body of the response.
        let sendsBody = request.body.map { $0.length != 0 || $0.trailers != nil } ?? false
        isCompleteAtHead = request.method == .head && sendsBody
        return !isCompleteAtHead
    }

    /// Prepares the detection of the response's end, and of bytes after it.
    private func prepareForBody(_ head: HeadVetting.Head, _ hasBody: Bool, _ handle: EasyHandle, on loop: CurlLoop) {
        guard head.version <= .http1_1 else { return }
        if !hasBody || head.contentLength == 0 {
            handle.watch(for: .surplus)
        } else if head.isChunked {
            let settings = loop.handleSettings.settings
            chunks = ChunkParser(tolerances: settings.tolerances, limits: settings.limits)
        } else if isSecure, head.contentLength == nil {
            ending = .unannounced
            handle.watchForCloseNotify()
        }
    }

    private func startStream(_ head: HeadVetting.Head, on loop: CurlLoop) {
        guard let continuation else { return }
        self.continuation = nil
        let stream = BodyStream(
            highWater: loop.handleSettings.settings.limits.streamHighWater,
            pool: loop.pool,
            cancellation: LoadingError(.cancelled, context),
            cancel: { [inbox = loop.inbox] in inbox.post(.cancel(self)) },
            resume: { [inbox = loop.inbox] in inbox.post(.resume(self, .download)) }
        )
        self.stream = stream
        outcome = .success(response(head, ResponseBody(streaming: stream)))
        settle(continuation, on: loop)
    }

    /// Handles a piece of the body.
    ///
    /// Returns the result for libcurl's callback.
    func received(body bytes: UnsafeRawBufferPointer, on loop: CurlLoop) -> Int {
        lastActivity = loop.now
        guard failure == nil, !isCancelled else { return 0 }
        if let decoder { return received(coded: bytes, by: decoder, on: loop) }
        bodyBytes += Int64(bytes.count)
        guard case .buffered(let limit) = request.delivery else { return received(streamed: bytes, on: loop) }
        guard bodyBytes <= Int64(limit) else {
            failure = LoadingError(.bodyTooLarge(limit: limit, announced: nil), context)
            return 0
        }
        if body == nil, isWholeBody(bytes) {
            wholeBody = Data(bytes)
            return bytes.count
        }
        if body == nil {
            if let whole = wholeBody {
                // The body is longer than its announced length.
                body = PooledBytes(pool: loop.pool, capacity: whole.count + bytes.count)
                whole.withUnsafeBytes { body?.append($0) }
                wholeBody = nil
                body?.append(bytes)
                return bytes.count
            }
            // The announced length is used up to 1 MiB; beyond that, the buffer grows with the received bytes.
            let announced = Int(min(head?.contentLength ?? 0, 1 << 20))
            body = PooledBytes(pool: loop.pool, capacity: max(announced, bytes.count))
        }
        body?.append(bytes)
        return bytes.count
    }

    private func isWholeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count <= BufferPool.smallest && bodyBytes == Int64(bytes.count) && head?.contentLength == bodyBytes
    }

    private func received(streamed bytes: UnsafeRawBufferPointer, on loop: CurlLoop) -> Int {
        guard let stream else { return 0 }
        guard stream.append(bytes) else {
            bodyBytes -= Int64(bytes.count)
            pauses |= CURLPAUSE_RECV
            return Int(LADE_WRITE_PAUSE)
        }
        loop.markUnpublished(self)
        return bytes.count
    }

    /// Supplies bytes of the request's body to libcurl.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, on loop: CurlLoop) -> Int {
        lastActivity = loop.now
        if case .bytes(let data) = request.body?.content {
            let count = min(buffer.count, data.count - sentBytes)
            data.withUnsafeBytes { source in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[sentBytes..<(sentBytes + count)]))
            }
            sentBytes += count
            return count
        }
        guard let pipe else { return 0 }
        switch pipe.read(into: buffer) {
        case .bytes(let count):
            sentBytes += count
            return count
        case .end: return 0
        case .nothingYet:
            pauses |= CURLPAUSE_SEND
            return Int(LADE_READ_PAUSE)
        case .failed:
            failure = pipe.failure
            return Int(LADE_READ_ABORT)
        }
    }

    /// Records that the connection is made, and that no further response of a proxy follows.
    func endTunnelWatch() {
        if tunnelBytes > 0, case .running(let handle) = phase { handle.set(CURLOPT_NOPROGRESS, true) }
    }

    /// Whether libcurl was stopped when it wanted to send the request again.
    var wasStopped: Bool { sendings > 1 }

    /// Whether libcurl may open a socket for the request; it may not when it would send the request again.
    func mayConnect() -> Bool {
        guard sendings > 0 else { return true }
        sendings += 1
        return false
    }

    /// Records that libcurl is about to send the request over a connection.
    ///
    /// Returns whether libcurl may send it.
    ///
    /// libcurl itself sends a request again, POST included, when a reused connection is lost before any byte of the
    /// response, and after a 417. Only the first sending is allowed; the loop decides what follows.
    func mayBeSent() -> Bool {
        sendings += 1
        guard !wasStopped, case .running(let handle) = phase else { return false }
        wasReused = handle.long(CURLINFO_NUM_CONNECTS) == 0
        return true
    }
}
