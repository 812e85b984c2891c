#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeExchange

// Bytes of an open connection, in both directions.
extension WireLoop {
    /// A body of this size at most is sent with the head.
    private static let smallBody = 64 << 10

    // MARK: - Sockets

    /// Handles a report of the poller.
    func note(_ ready: ReadySocket, on connection: Connection, _ budget: TurnBudget) {
        switch connection.life {
        case .resolving, .closed: return
        case .racing: return attemptEnded(ready.number, connection)
        case .tunnelling: return continueTunnel(connection)
        case .securing: return noteSecuring(ready, on: connection)
        case .streaming: return noteStreams(ready, on: connection, budget)
        case .idle: return rest(connection)
        case .busy: break
        }
        if ready.isWritable, connection.writes { markDirty(connection) }
        guard ready.isReadable else { return }
        guard connection.carriage.isPaused else {
            connection.decodable = TurnBudget.decoded
            return receive(connection, budget)
        }
        if ready.isBroken {
            // Reported whether it is asked for or not.
            system.ignore(connection.socket)
            connection.isIgnored = true
        } else {
            watch(connection, reads: false, writes: connection.writes)
        }
    }

    /// Serves a connection that has bytes of an earlier turn, or whose reader asks for more.
    func serve(_ connection: Connection, _ budget: TurnBudget) {
        if connection.life == .streaming { return serveStreams(connection, budget) }
        if connection.life == .tunnelling { return continueTunnel(connection) }
        if connection.life == .securing { return lookAtHandshake(connection) }
        guard connection.life == .busy, let exchange = connection.exchange, !connection.carriage.isPaused else {
            return
        }
        connection.decodable = TurnBudget.decoded
        if !connection.carriage.held.isEmpty {
            let held = connection.carriage.held
            connection.carriage.held = []
            held.withUnsafeBytes { process($0, exchange, connection) }
            guard connection.exchange === exchange, !connection.carriage.isPaused, connection.carriage.held.isEmpty
            else {
                return
            }
        }
        watch(connection, reads: true, writes: connection.writes)
        receive(connection, budget)
    }

    /// Sets what the poller reports.
    func watch(_ connection: Connection, reads: Bool, writes: Bool) {
        guard connection.reads != reads || connection.writes != writes || connection.isIgnored else { return }
        system.watch(
            connection.socket,
            number: connection.number,
            reads: reads,
            writes: writes,
            isNew: connection.isIgnored
        )
        connection.isIgnored = false
        connection.reads = reads
        connection.writes = writes
    }

    private func pause(_ connection: Connection) {
        connection.carriage.isPaused = true
        updateDue(connection)
    }

    // MARK: - Receiving

    private func receive(_ connection: Connection, _ budget: TurnBudget) {
        var budget = budget
        connection.isDrained = false
        defer { settleLayer(connection) }
        while connection.life == .busy, let exchange = connection.exchange, !connection.carriage.isPaused,
            connection.carriage.held.isEmpty
        {
            let result = receiveOnce(exchange, connection, atMost: budget.receivable)
            budget.received(connection.intake)
            connection.intake = 0
            work.use(1)
            if connection.exchange === exchange, let overhead = connection.meter.fault(at: now, limit: overheadLimit) {
                return end(exchange, exchange.headError(.malformed(LoadingError.MalformedResponse(overhead))))
            }
            switch result {
            case .bytes,
                .wouldBlock where work.left <= 0:
                // There may be more, which waits for the next turn like what is left of the bytes.
                guard budget.receivable > 0, work.left > 0, hasTime() else { return continueLater(connection) }
            case .wouldBlock: return
            case .ended: return peerEnded(connection, wasReset: false)
            case .failed: return peerEnded(connection, wasReset: true)
            }
        }
    }

    /// Serves a connection again in the next turn, unless it has ended its exchange.
    private func continueLater(_ connection: Connection) {
        if connection.life == .busy { markBacklogged(connection) }
    }

    /// Receives with one call.
    private func receiveOnce(_ exchange: Exchange, _ connection: Connection, atMost most: Int) -> IOResult {
        guard let left = connection.http.directContent, !exchange.isCoded else {
            // A reader that is at the mark is waited for, whether the server has more or not.
            if exchange.isStreamed, exchange.stream?.pausesIfFull() == true {
                pause(connection)
                return .wouldBlock
            }
            let piece = connection.http.receiving == .head ? TurnBudget.headPiece : TurnBudget.piece
            let room = UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(most, piece)])
            let result = receive(from: connection, into: room)
            if case .bytes(let count) = result {
                noteReceived(exchange, connection)
                process(UnsafeRawBufferPointer(rebasing: scratch[..<count]), exchange, connection)
            }
            return result
        }
        var result = IOResult.wouldBlock
        let count = exchange.receive(atMost: Int(min(Int64(most), left)), pool: buffers) { space in
            result = receive(from: connection, into: space)
            return if case .bytes(let count) = result { count } else { 0 }
        }
        guard let count else {
            pause(connection)
            return .wouldBlock
        }
        if count > 0 {
            noteReceived(exchange, connection)
            took(count, connection)
            if exchange.isStreamed { publications.mark(exchange) }
            if connection.http.receiving == .done { complete(connection) } else { updateDue(connection) }
        }
        return result
    }

    private func noteReceived(_ exchange: Exchange, _ connection: Connection) {
        exchange.lastActivity = now
        connection.carriage.heard(at: now)
    }

    /// Records that content was taken of what has arrived.
    private func took(_ count: Int, _ connection: Connection) {
        connection.meter.content(count)
        connection.http.took(count)
        connection.carriage.took(count)
    }

    /// Handles received bytes; the exchange may have ended afterwards.
    private func process(_ bytes: UnsafeRawBufferPointer, _ exchange: Exchange, _ connection: Connection) {
        var rest = bytes
        let hadTolerated = connection.http.hasToleratedChunks
        let spent = work.spent
        defer {
            if !hadTolerated, connection.http.hasToleratedChunks {
                exchange.call.record(.malformationTolerated(LoadingError.MalformedResponse(.chunk)))
            }
        }
        do throws(HeadVetting.Fault) {
            while true {
                // Bytes behind a complete response are noticed in the same step.
                let isLong = work.spent - spent >= TurnWork.perReading
                guard rest.isEmpty || connection.http.receiving == .done || (work.left > 0 && (!isLong || hasTime()))
                else {
                    connection.carriage.held = Array(rest)
                    markBacklogged(connection)
                    return updateDue(connection)
                }
                let heads = !exchange.hasHead ? exchange.heads : nil
                var finding = HTTP1Exchange.Finding.more
                let before = rest.count
                try exchange.withVetting { vetting throws(HeadVetting.Fault) in
                    finding = try connection.http.next(&rest, &vetting, heads)
                }
                work.use(1 + (before - rest.count) >> 5)
                switch finding {
                case .more: return updateDue(connection)
                case .interim(let status, let headers):
                    exchange.call.record(.interimResponse(status: status, headers: headers))
                    guard connection.carriage.continueDue < .max, connection.http.sending == .body else { continue }
                    connection.carriage.continueDue = .max
                    markDirty(connection)
                case .final(let head): guard begin(head, exchange, connection) else { return }
                case .content(let count): guard take(count, &rest, exchange, connection) else { return }
                case .complete: return complete(connection)
                }
            }
        } catch {
            end(exchange, exchange.headError(error).at(connection.http.lineStart))
        }
    }

    /// Handles the final head; false when the exchange has ended.
    private func begin(_ head: HeadVetting.Head, _ exchange: Exchange, _ connection: Connection) -> Bool {
        exchange.noteHead(head)
        if head.status == 407, let proxy = connection.forwarder {
            end(exchange, exchange.error(.tunnel(.credentials, proxy: proxy.name, host: exchange.host)))
            return false
        }
        let (continues, caller) = exchange.beginBody(head, pool: buffers, decoders: decoders, inbox: inbox)
        if let caller { resume(caller, exchange.lane) }
        guard continues else {
            end(exchange, exchange.failure)
            return false
        }
        if connection.http.sending == .stopped { stopUpload(exchange, connection) }
        return true
    }

    /// Takes content from the front of the bytes; false when the exchange has ended, is paused or has had its share.
    private func take(
        _ count: Int,
        _ rest: inout UnsafeRawBufferPointer,
        _ exchange: Exchange,
        _ connection: Connection
    ) -> Bool {
        // A coded block may be dear although it gives nothing.
        let count = exchange.isCoded ? min(count, max(work.left, 1) << 6) : count
        if exchange.isCoded { work.use(count >> 6) }
        // The decoder has a byte already whose output it could not pass on.
        var piece = UnsafeRawBufferPointer(rebasing: rest[connection.carriage.decoded..<count])
        connection.carriage.decoded = 0
        let before = exchange.bodyBytes
        let intake = exchange.take(&piece, pool: buffers, decodingAtMost: connection.decodable)
        if exchange.isCoded { connection.decodable -= Int(exchange.bodyBytes - before) }
        if exchange.isStreamed { publications.mark(exchange) }
        switch intake {
        case .taken:
            took(count, connection)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            return true
        case .paused, .yielded:
            // The last byte stays, so that the body is not complete before its output is.
            let isDecoded = piece.isEmpty
            let taken = count - max(piece.count, 1)
            if isDecoded { connection.carriage.decoded = 1 }
            took(taken, connection)
            connection.carriage.held = Array(rest[taken...])
            if intake == .paused { pause(connection) } else { markBacklogged(connection) }
            updateDue(connection)
            return false
        case .failed:
            end(exchange, exchange.failure?.at(connection.http.position))
            return false
        }
    }

    /// Handles the end of the peer's direction, or an error of the socket.
    private func peerEnded(_ connection: Connection, wasReset: Bool) {
        guard let exchange = connection.exchange else { return close(connection) }
        let wasReset = wasReset || connection.wasReset
        let hadPart = connection.http.hasPartOfLine
        let isUntilClose = connection.http.receiving == .untilClose
        if connection.tlsFault?.isAboutClientCertificate == true {
            return end(exchange, LoadingError(.clientCertificateRequired, exchange.context))
        }
        let received = connection.carriage.received
        switch connection.http.ended() {
        case .complete where !(wasReset && isUntilClose):
            // Without the announcement of TLS, the body may have been truncated (RFC 9112 §9.8).
            if isUntilClose, connection.tls != nil, !connection.wasEndAnnounced {
                guard rules.tolerances.contains(.missingCloseNotify) else {
                    return end(exchange, exchange.error(.incomplete(received: received, expected: nil)))
                }
                exchange.call.record(.malformationTolerated(LoadingError.MalformedResponse(.closeNotify)))
            }
            connection.http.stopSending()
            complete(connection)
        case .incomplete(let expected) where !wasReset:
            end(exchange, exchange.error(.incomplete(received: received, expected: expected)))
        case .notHTTP: end(exchange, exchange.error(.notHTTP).at(connection.http.lineStart))
        case .complete, .incomplete: lose(exchange, connection, exchange.progress)
        case .lost:
            let progress = exchange.progress
            lose(exchange, connection, progress == .nothing && hadPart ? .head : progress)
        }
    }

    /// Ends an exchange whose connection was lost, or sends its request again (WR-46, WR-47).
    private func lose(
        _ exchange: Exchange,
        _ connection: Connection,
        _ progress: LoadingError.ResponseProgress
    ) {
        guard exchange.wasReused, progress == .nothing else {
            return end(exchange, exchange.error(.lost(progress, wasSent: connection.carriage.hasSent)))
        }
        guard connection.carriage.hasSent else { return sendAgain(exchange, connection, isFresh: false) }
        guard exchange.isRepeatable, !exchange.wasRepeated else {
            return end(exchange, exchange.error(.lost(progress, wasSent: true)))
        }
        exchange.wasRepeated = true
        exchange.call.record(.exchangeRepeated(onFreshConnection: true))
        sendAgain(exchange, connection, isFresh: true)
    }

    // MARK: - Sending

    /// Begins to send the request of an exchange; the bytes leave when the turn settles.
    func send(_ exchange: Exchange, on connection: Connection) {
        let head = RequestHead.bytes(of: exchange, framing: connection.http.framing, through: connection.forwarder)
        connection.carriage.started(head: head.count, at: now)
        connection.output.append(contentsOf: head)
        if case .bytes(let data) = exchange.request.body?.content, case .length = connection.http.framing,
            data.count <= Self.smallBody, !expectsContinue(exchange)
        {
            connection.output.append(contentsOf: data)
            exchange.sentBytes = data.count
            connection.carriage.sent = Int64(data.count)
        }
        exchange.lastActivity = now
        updateDue(connection)
        markDirty(connection)
    }

    func expectsContinue(_ exchange: Exchange) -> Bool {
        exchange.request.headers["Expect"]?.equalsIgnoringASCIICase("100-continue") ?? false
    }

    /// Sends as much as the socket and the budget of the turn allow.
    func flush(_ connection: Connection) {
        if connection.life == .streaming { return flushStreams(connection) }
        guard connection.life == .busy else { return flushLayer(connection) }
        if connection.wasReset {
            guard let exchange = connection.exchange, !connection.http.sending.hasEnded else { return }
            return sendingFailed(exchange, connection)
        }
        var budget = TurnBudget(readyConnections: 1)
        while connection.life == .busy, let exchange = connection.exchange {
            guard budget.sendable > 0 else { return watch(connection, reads: connection.reads, writes: true) }
            if !connection.output.isEmpty {
                let result = connection.output.withUnsent { send(to: connection, $0) }
                guard let count = accepted(result, exchange, connection) else { return }
                connection.output.consume(count)
                budget.sent(count)
                work.use(count >> 10)
                continue
            }
            if let stop = pushCiphertext(connection) {
                guard accepted(stop, exchange, connection) != nil else { return }
            }
            switch connection.http.sending {
            case .head: headAccepted(exchange, connection)
            case .body: guard produce(exchange, connection, &budget) else { return }
            case .awaitingContinue: return watch(connection, reads: connection.reads, writes: false)
            case .done, .stopped:
                exchange.noteRequestSent(at: now)
                watch(connection, reads: connection.reads, writes: false)
                if connection.http.receiving == .done { complete(connection) }
                return
            }
        }
    }

    /// The number of bytes that the socket has accepted; nil when sending cannot continue now.
    private func accepted(_ result: IOResult, _ exchange: Exchange, _ connection: Connection) -> Int? {
        switch result {
        case .bytes(let count):
            connection.carriage.hasSent = true
            exchange.lastActivity = now
            updateDue(connection)
            return count
        case .wouldBlock: watch(connection, reads: connection.reads, writes: true)
        case .ended, .failed: sendingFailed(exchange, connection)
        }
        return nil
    }

    private func headAccepted(_ exchange: Exchange, _ connection: Connection) {
        let bodyFollows =
            switch connection.http.framing {
            case .none: false
            case .length(let length): length > Int64(exchange.sentBytes)
            case .chunked: true
            }
        let awaitsContinue = bodyFollows && expectsContinue(exchange)
        connection.http.headSent(bodyFollows: bodyFollows, awaitsContinue: awaitsContinue)
        guard connection.http.sending == .awaitingContinue else { return }
        connection.carriage.awaitContinue(from: now)
        updateDue(connection)
    }

    /// Sends or prepares the next bytes of the body; false when there are none now, or the exchange has ended.
    private func produce(_ exchange: Exchange, _ connection: Connection, _ budget: inout TurnBudget) -> Bool {
        if case .bytes(let data) = exchange.request.body?.content, connection.http.framing != .chunked {
            guard exchange.sentBytes < data.count else {
                connection.http.bodySent()
                return true
            }
            // From where the bytes lie, without a copy.
            let end = min(data.count, exchange.sentBytes + budget.sendable)
            let result = data.withUnsafeBytes { bytes in
                send(to: connection, UnsafeRawBufferPointer(rebasing: bytes[exchange.sentBytes..<end]))
            }
            guard let count = accepted(result, exchange, connection) else { return false }
            note(sent: count, exchange, connection)
            budget.sent(count)
            work.use(count >> 10)
            return true
        }
        connection.carriage.awaitsProducer = false
        switch nextPortion(exchange) {
        case .bytes(let count):
            append(UnsafeRawBufferPointer(rebasing: scratch[..<count]), to: connection)
            note(sent: count, exchange, connection)
            return true
        case .end:
            // A server of HTTP/1.0 knows no trailers.
            let trailers = exchange.version == .http1_0 ? nil : exchange.request.body?.trailers?()
            if let fault = trailers?.fault {
                end(exchange, LoadingError(.invalidRequest(.header(fault)), exchange.context))
                return false
            }
            if connection.http.framing == .chunked { appendLastChunk(trailers ?? Headers(), to: connection) }
            connection.http.bodySent()
            return true
        case .nothingYet:
            connection.carriage.awaitsProducer = true
            updateDue(connection)
            watch(connection, reads: connection.reads, writes: false)
            return false
        case .failed:
            end(exchange, exchange.pipe?.failure)
            return false
        }
    }

    private func note(sent count: Int, _ exchange: Exchange, _ connection: Connection) {
        exchange.sentBytes += count
        connection.carriage.sent += Int64(count)
    }

    /// Reads the next bytes of the body into the scratch buffer.
    private func nextPortion(_ exchange: Exchange) -> UploadPipe.Portion {
        if case .bytes(let data) = exchange.request.body?.content {
            let count = min(data.count - exchange.sentBytes, scratch.count)
            guard count > 0 else { return .end }
            data.withUnsafeBytes { bytes in
                scratch.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[exchange.sentBytes...].prefix(count)))
            }
            return .bytes(count)
        }
        exchange.startPump(inbox: inbox)
        return exchange.pipe?.read(into: scratch) ?? .end
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to connection: Connection) {
        guard connection.http.framing == .chunked else { return connection.output.append(contentsOf: bytes) }
        connection.output.append(contentsOf: "\(String(bytes.count, radix: 16))\r\n".utf8)
        connection.output.append(contentsOf: bytes)
        connection.output.append(contentsOf: "\r\n".utf8)
    }

    /// The fields that frame a message or route it do not belong in trailers (RFC 9110 §6.5.1).
    private static func isFraming(_ name: String) -> Bool {
        ["Content-Length", "Transfer-Encoding", "Host", "Connection", "Trailer", "TE", "Upgrade"].contains {
            name.equalsIgnoringASCIICase($0)
        }
    }

    private func appendLastChunk(_ trailers: Headers, to connection: Connection) {
        connection.output.append(contentsOf: "0\r\n".utf8)
        for field in trailers where !Self.isFraming(field.name) {
            connection.output.append(contentsOf: "\(field.name): ".utf8)
            connection.output.append(contentsOf: field.octets)
            connection.output.append(contentsOf: "\r\n".utf8)
        }
        connection.output.append(contentsOf: "\r\n".utf8)
    }

    /// Stops the upload; the next write of the producer throws.
    func stopUpload(_ exchange: Exchange, _ connection: Connection) {
        connection.http.stopSending()
        exchange.noteRequestSent(at: now)
        connection.output.removeAll()
        connection.carriage.continueDue = .max
        connection.carriage.awaitsProducer = false
        exchange.pipe?.close()
        updateDue(connection)
    }

    private func sendingFailed(_ exchange: Exchange, _ connection: Connection) {
        guard connection.carriage.hasSent || !exchange.wasReused || connection.carriage.firstByte > 0 else {
            return sendAgain(exchange, connection, isFresh: false)
        }
        // The bytes that have arrived are read first: a complete response counts.
        noteReset(connection)
        stopUpload(exchange, connection)
        watch(connection, reads: true, writes: false)
        guard connection.http.receiving != .done else { return complete(connection) }
        receive(connection, TurnBudget(readyConnections: 1))
    }
}
