#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CCurl
import LadeCore
import LadeExchange

// MARK: - What libcurl reports

extension Exchange {
    /// Handles one line of a head or trailer section.
    ///
    /// Returns whether the exchange continues.
    func received(line: UnsafeBufferPointer<UInt8>, _ handle: EasyHandle, on loop: CurlLoop) -> Bool {
        loop.receivedPieces += 1
        if let heads, !hasHead {
            heads.append(line)
            // The head of a proxy's response to CONNECT, which libcurl checks; it is delivered for the record alone.
            if handle.sending.sendings == 0 {
                lastActivity = loop.now
                return true
            }
        }
        switch take(line: line, at: loop.now) {
        case .more:
            if EasyHandle.keepsFreedField, isCarried {
                if awaitsFirstField {
                    handle.watch(for: .firstField)
                } else {
                    handle.stopWatching(for: .firstField)
                }
            }
            return true
        case .interim: return true
        case .final(let head): return received(head: head, handle, on: loop)
        case .failed: return false
        }
    }

    /// Stops the exchange because of a folded line that does not follow a field.
    func refuse(foldedLine line: UnsafeRawBufferPointer) {
        let excerpt = String(decoding: line.prefix(200), as: UTF8.self)
        failure = LoadingError(
            .malformedResponse(LoadingError.MalformedResponse(.foldedField, excerpt: excerpt)),
            context
        )
    }

    private func received(head: HeadVetting.Head, _ handle: EasyHandle, on loop: CurlLoop) -> Bool {
        noteHead(head)
        loop.learned(head.version, exchange: self)
        if head.status == 407, !isSecure, let proxy = proxy(of: loop.handleSettings), proxy.kind == .http,
            isCarried, handle.long(CURLINFO_PRIMARY_PORT) == proxy.port
        {
            failure = LoadingError(.proxy(.authenticationRequired(proxy: "\(proxy.host):\(proxy.port)")), context)
            return false
        }
        if isCarried { prepareForBody(head, handle, on: loop) }
        let (continues, caller) = beginBody(head, pool: loop.pool, decoders: loop.decoders, inbox: loop.inbox)
        if let caller { loop.resume(caller, lane) }
        guard continues else { return false }
        // libcurl sends a body with HEAD only as an upload, and would then wait for the body of the response.
        let sendsBody = request.body.map { $0.length != 0 || $0.trailers != nil } ?? false
        handle.sending.isCompleteAtHead = request.method == .head && sendsBody
        return !handle.sending.isCompleteAtHead
    }

    /// Prepares the detection of the response's end, and of bytes after it.
    private func prepareForBody(_ head: HeadVetting.Head, _ handle: EasyHandle, on loop: CurlLoop) {
        guard head.version <= .http1_1 else { return }
        if !expectsBody(head) || head.contentLength == 0 {
            handle.watch(for: .surplus)
        } else if head.isChunked {
            handle.sending.chunks = ChunkParser(tolerances: rules.tolerances, limits: rules.limits)
        } else if isSecure, head.contentLength == nil {
            handle.sending.tlsClosure = .unannounced
            handle.watchForCloseNotify()
        }
    }

    /// Handles a piece of the body.
    ///
    /// Returns the result for libcurl's callback. When the reader is too far behind, libcurl must keep the piece, of
    /// which a part may be decoded already. libcurl then delivers the piece again from the beginning, and that part is
    /// skipped.
    func received(body bytes: UnsafeRawBufferPointer, _ handle: EasyHandle, on loop: CurlLoop) -> Int {
        lastActivity = loop.now
        guard failure == nil, !isCancelled else { return 0 }
        let skipped = min(handle.sending.skippedCodedBytes, bytes.count)
        var rest = UnsafeRawBufferPointer(rebasing: bytes[skipped...])
        let intake = take(&rest, pool: loop.pool)
        if isStreamed { loop.publications.mark(self) }
        switch intake {
        // Nothing yields, because the pieces of libcurl are small.
        case .taken, .yielded:
            handle.sending.skippedCodedBytes -= skipped
            return bytes.count
        case .paused:
            handle.sending.skippedCodedBytes += bytes.count - rest.count - skipped
            handle.sending.pauses |= CURLPAUSE_RECV
            return Int(LADE_WRITE_PAUSE)
        case .failed: return 0
        }
    }

    /// Handles a raw piece of the body, which includes the chunk framing.
    ///
    /// Returns the result for libcurl's callback. When the reader is too far behind, libcurl must keep the piece, of
    /// which a part may be parsed already. libcurl then delivers the piece again from the beginning, and that part is
    /// skipped.
    func received(raw bytes: UnsafeRawBufferPointer, _ handle: EasyHandle, on loop: CurlLoop) -> Int {
        loop.receivedPieces += 1
        guard var parser = handle.sending.chunks.take() else { return received(body: bytes, handle, on: loop) }
        let hadTolerated = parser.hasTolerated
        defer {
            if parser.hasTolerated, !hadTolerated {
                call.record(.malformationTolerated(LoadingError.MalformedResponse(.chunk)))
            }
            handle.sending.chunks = parser
        }
        lastActivity = loop.now
        var rest = UnsafeRawBufferPointer(rebasing: bytes[min(handle.sending.skippedRawBytes, bytes.count)...])
        do {
            while true {
                switch try parser.next(&rest) {
                case .content(let count):
                    let content = UnsafeRawBufferPointer(rebasing: rest[..<count])
                    let taken = received(body: content, handle, on: loop)
                    guard taken == count else {
                        handle.sending.skippedRawBytes = bytes.count - rest.count
                        return taken
                    }
                    parser.take(count)
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                case .trailer(let line):
                    let isTaken = line.withUnsafeBufferPointer { received(line: $0, handle, on: loop) }
                    guard isTaken else { return 0 }
                case .more:
                    handle.sending.skippedRawBytes = 0
                    return bytes.count
                case .end(let surplus):
                    if surplus > 0, isCarried { handle.forbidReuse() }
                    return bytes.count
                }
            }
        } catch {
            failure = headError(error)
            return 0
        }
    }

    /// Supplies bytes of the request's body to libcurl.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, _ handle: EasyHandle, on loop: CurlLoop) -> Int {
        lastActivity = loop.now
        if case .bytes(let data) = request.body?.content {
            let count = min(buffer.count, data.count - sentBytes)
            data.withUnsafeBytes { source in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[sentBytes..<(sentBytes + count)]))
            }
            sentBytes += count
            if sentBytes == data.count { noteRequestSent(at: loop.now) }
            return count
        }
        guard let pipe else { return 0 }
        switch pipe.read(into: buffer) {
        case .bytes(let count):
            sentBytes += count
            // libcurl does not ask for the end of a body of known length.
            if Int64(sentBytes) == request.body?.length { noteRequestSent(at: loop.now) }
            return count
        case .end:
            noteRequestSent(at: loop.now)
            return 0
        case .nothingYet:
            handle.sending.pauses |= CURLPAUSE_SEND
            return Int(LADE_READ_PAUSE)
        case .failed:
            failure = pipe.failure
            return Int(LADE_READ_ABORT)
        }
    }

    /// Records that libcurl is about to send the request over a connection.
    ///
    /// Returns whether libcurl may send it.
    ///
    /// libcurl itself sends a request again, POST included, when a reused connection is lost before any byte of the
    /// response, and after a 417. Only the first sending is allowed; the loop decides what follows.
    func mayBeSent(_ handle: EasyHandle) -> Bool {
        handle.sending.sendings += 1
        guard !handle.sending.wasStopped, isCarried else { return false }
        wasReused = handle.long(CURLINFO_NUM_CONNECTS) == 0
        return true
    }
}
