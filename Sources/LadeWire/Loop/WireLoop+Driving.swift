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
        switch connection.stage {
        case .closed: break
        case .opening(let opening):
            switch opening.step {
            case .resolving: break
            case .racing: attemptEnded(ready.number, connection)
            case .tunnelling: continueTunnel(connection)
            case .securing: noteSecuring(ready, on: connection)
            }
        case .streaming(let streams): noteStreams(ready, streams, connection, budget)
        case .idle: rest(connection)
        case .busy(let carried): note(ready, carried, connection, budget)
        }
    }

    private func note(
        _ ready: ReadySocket,
        _ carried: CarriedExchange,
        _ connection: Connection,
        _ budget: TurnBudget
    ) {
        if ready.isWritable, connection.writes { markDirty(connection) }
        guard ready.isReadable else { return }
        guard carried.carriage.isPaused else {
            carried.decodable = TurnBudget.decoded
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
        switch connection.stage {
        case .streaming(let streams): serveStreams(streams, connection, budget)
        case .busy(let carried): if !carried.carriage.isPaused { serve(carried, connection, budget) }
        case .opening(let opening):
            switch opening.step {
            case .resolving, .racing: break
            case .tunnelling: continueTunnel(connection)
            case .securing: lookAtHandshake(connection)
            }
        case .idle, .closed: break
        }
    }

    private func serve(_ carried: CarriedExchange, _ connection: Connection, _ budget: TurnBudget) {
        carried.decodable = TurnBudget.decoded
        if !carried.carriage.held.isEmpty {
            let held = carried.carriage.held
            carried.carriage.held = []
            held.withUnsafeBytes { process($0, carried, connection) }
            guard connection.carried === carried, !carried.carriage.isPaused, carried.carriage.held.isEmpty else {
                return
            }
        }
        watch(connection, reads: true, writes: connection.writes)
        receive(connection, budget)
    }

    /// Sets the events that the poller reports.
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

    private func pause(_ carried: CarriedExchange, _ connection: Connection) {
        carried.carriage.isPaused = true
        updateDue(connection)
    }

    // MARK: - Receiving

    private func receive(_ connection: Connection, _ budget: TurnBudget) {
        var budget = budget
        connection.isDrained = false
        defer { settleLayer(connection) }
        while let carried = connection.carried, !carried.carriage.isPaused, carried.carriage.held.isEmpty {
            let result = receiveOnce(carried, connection, atMost: budget.receivable)
            budget.received(connection.intake)
            connection.intake = 0
            work.use(1)
            if connection.carried === carried, let overhead = connection.meter.fault(at: now, limit: overheadLimit) {
                let exchange = carried.exchange
                return end(exchange, exchange.headError(.malformed(LoadingError.MalformedResponse(overhead))))
            }
            switch result {
            case .bytes,
                .wouldBlock where work.left <= 0:
                // There may be more, which waits for the next turn like the rest of the bytes.
                guard budget.receivable > 0, work.left > 0, hasTime() else { return continueLater(connection) }
            case .wouldBlock: return
            case .ended: return peerEnded(connection, wasReset: false)
            case .failed: return peerEnded(connection, wasReset: true)
            }
        }
    }

    /// Serves a connection again in the next turn, unless it has ended its exchange.
    private func continueLater(_ connection: Connection) {
        if connection.isBusy { markBacklogged(connection) }
    }

    /// Receives with one call.
    private func receiveOnce(_ carried: CarriedExchange, _ connection: Connection, atMost most: Int) -> IOResult {
        let exchange = carried.exchange
        guard let left = carried.http.directContent, !exchange.isCoded else {
            // A reader that is at the mark is waited for, whether the server has more or not.
            if exchange.isStreamed, exchange.stream?.pausesIfFull() == true {
                pause(carried, connection)
                return .wouldBlock
            }
            let piece = carried.http.receiving == .head ? TurnBudget.headPiece : TurnBudget.piece
            let room = UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(most, piece)])
            let result = receive(from: connection, into: room)
            if case .bytes(let count) = result {
                noteReceived(carried)
                process(UnsafeRawBufferPointer(rebasing: scratch[..<count]), carried, connection)
            }
            return result
        }
        var result = IOResult.wouldBlock
        let count = exchange.receive(atMost: Int(min(Int64(most), left)), pool: buffers) { space in
            result = receive(from: connection, into: space)
            return if case .bytes(let count) = result { count } else { 0 }
        }
        guard let count else {
            pause(carried, connection)
            return .wouldBlock
        }
        if count > 0 {
            noteReceived(carried)
            took(count, carried, connection)
            if exchange.isStreamed { publications.mark(exchange) }
            if carried.http.receiving == .done { complete(carried, connection) } else { updateDue(connection) }
        }
        return result
    }

    private func noteReceived(_ carried: CarriedExchange) {
        carried.exchange.lastActivity = now
        carried.carriage.heard(at: now)
    }

    /// Records that content was taken from the bytes that have arrived.
    private func took(_ count: Int, _ carried: CarriedExchange, _ connection: Connection) {
        connection.meter.content(count)
        carried.http.took(count)
        carried.carriage.took(count)
    }

    /// Handles received bytes; the exchange may have ended afterwards.
    private func process(_ bytes: UnsafeRawBufferPointer, _ carried: CarriedExchange, _ connection: Connection) {
        let exchange = carried.exchange
        var rest = bytes
        let hadTolerated = carried.http.hasToleratedChunks
        let spent = work.spent
        defer {
            if !hadTolerated, carried.http.hasToleratedChunks {
                exchange.call.record(.malformationTolerated(LoadingError.MalformedResponse(.chunk)))
            }
        }
        do throws(HeadVetting.Fault) {
            while true {
                // Bytes behind a complete response are noticed in the same step.
                let isLong = work.spent - spent >= TurnWork.perReading
                guard rest.isEmpty || carried.http.receiving == .done || (work.left > 0 && (!isLong || hasTime()))
                else {
                    carried.carriage.held = Array(rest)
                    markBacklogged(connection)
                    return updateDue(connection)
                }
                let heads = !exchange.hasHead ? exchange.heads : nil
                var finding = HTTP1Exchange.Finding.more
                let before = rest.count
                try exchange.withVetting { vetting throws(HeadVetting.Fault) in
                    finding = try carried.http.next(&rest, &vetting, heads)
                }
                work.use(1 + (before - rest.count) >> 5)
                switch finding {
                case .more: return updateDue(connection)
                case .interim(let status, let headers):
                    exchange.call.record(.interimResponse(status: status, headers: headers))
                    guard carried.carriage.continueDue < .max, carried.http.sending == .body else { continue }
                    carried.carriage.continueDue = .max
                    markDirty(connection)
                case .final(let head): guard begin(head, carried, connection) else { return }
                case .content(let count): guard take(count, &rest, carried, connection) else { return }
                case .complete: return complete(carried, connection)
                }
            }
        } catch {
            end(exchange, exchange.headError(error).at(carried.http.lineStart))
        }
    }

    /// Handles the final head; false when the exchange has ended.
    private func begin(_ head: HeadVetting.Head, _ carried: CarriedExchange, _ connection: Connection) -> Bool {
        let exchange = carried.exchange
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
        if carried.http.sending == .stopped { stopUpload(carried, connection) }
        return true
    }

    /// Takes content from the front of the bytes; false when the exchange has ended, is paused or has had its share.
    private func take(
        _ count: Int,
        _ rest: inout UnsafeRawBufferPointer,
        _ carried: CarriedExchange,
        _ connection: Connection
    ) -> Bool {
        let exchange = carried.exchange
        // A coded block may be dear although it gives nothing.
        let count = exchange.isCoded ? min(count, max(work.left, 1) << 6) : count
        if exchange.isCoded { work.use(count >> 6) }
        // The decoder has a byte already whose output it could not pass on.
        var piece = UnsafeRawBufferPointer(rebasing: rest[carried.carriage.decoded..<count])
        carried.carriage.decoded = 0
        let before = exchange.bodyBytes
        let intake = exchange.take(&piece, pool: buffers, decodingAtMost: carried.decodable)
        if exchange.isCoded { carried.decodable -= Int(exchange.bodyBytes - before) }
        if exchange.isStreamed { publications.mark(exchange) }
        switch intake {
        case .taken:
            took(count, carried, connection)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            return true
        case .paused, .yielded:
            // The last byte stays, so that the body is not complete before its output is.
            let isDecoded = piece.isEmpty
            let taken = count - max(piece.count, 1)
            if isDecoded { carried.carriage.decoded = 1 }
            took(taken, carried, connection)
            carried.carriage.held = Array(rest[taken...])
            if intake == .paused { pause(carried, connection) } else { markBacklogged(connection) }
            updateDue(connection)
            return false
        case .failed:
            end(exchange, exchange.failure?.at(carried.http.position))
            return false
        }
    }

    /// Handles the end of the peer's direction, or an error of the socket.
    private func peerEnded(_ connection: Connection, wasReset: Bool) {
        guard let carried = connection.carried else { return close(connection) }
        let exchange = carried.exchange
        let wasReset = wasReset || connection.wasReset
        let hadPart = carried.http.hasPartOfLine
        let isUntilClose = carried.http.receiving == .untilClose
        if connection.tlsFault?.isAboutClientCertificate == true {
            return end(exchange, LoadingError(.clientCertificateRequired, exchange.context))
        }
        let received = carried.carriage.received
        switch carried.http.ended() {
        case .complete where !(wasReset && isUntilClose):
            // Without the announcement of TLS, the body may have been truncated (RFC 9112 §9.8).
            if isUntilClose, connection.tls != nil, !connection.wasEndAnnounced {
                guard rules.tolerances.contains(.missingCloseNotify) else {
                    return end(exchange, exchange.error(.incomplete(received: received, expected: nil)))
                }
                exchange.call.record(.malformationTolerated(LoadingError.MalformedResponse(.closeNotify)))
            }
            carried.http.stopSending()
            complete(carried, connection)
        case .incomplete(let expected) where !wasReset:
            end(exchange, exchange.error(.incomplete(received: received, expected: expected)))
        case .notHTTP: end(exchange, exchange.error(.notHTTP).at(carried.http.lineStart))
        case .complete, .incomplete: lose(carried, connection, exchange.progress)
        case .lost:
            let progress = exchange.progress
            lose(carried, connection, progress == .nothing && hadPart ? .head : progress)
        }
    }

    /// Ends an exchange whose connection was lost, or sends its request again (WR-46, WR-47).
    private func lose(
        _ carried: CarriedExchange,
        _ connection: Connection,
        _ progress: LoadingError.ResponseProgress
    ) {
        let exchange = carried.exchange
        guard exchange.wasReused, progress == .nothing else {
            return end(exchange, exchange.error(.lost(progress, wasSent: carried.carriage.hasSent)))
        }
        guard carried.carriage.hasSent else { return sendAgain(exchange, connection, isFresh: false) }
        guard exchange.isRepeatable, !exchange.wasRepeated else {
            return end(exchange, exchange.error(.lost(progress, wasSent: true)))
        }
        exchange.wasRepeated = true
        exchange.call.record(.exchangeRepeated(onFreshConnection: true))
        sendAgain(exchange, connection, isFresh: true)
    }

    // MARK: - Sending

    /// Begins to send the request of an exchange; the bytes leave when the turn settles.
    func send(_ carried: CarriedExchange, _ connection: Connection) {
        let exchange = carried.exchange
        let before = connection.output.count
        connection.output.append { bytes in
            RequestHead.append(of: exchange, framing: carried.http.framing, through: connection.forwarder, to: &bytes)
        }
        carried.carriage.started(head: connection.output.count - before, at: now)
        if case .bytes(let data) = exchange.request.body?.content, case .length = carried.http.framing,
            data.count <= Self.smallBody, !expectsContinue(exchange)
        {
            connection.output.append(contentsOf: data)
            exchange.sentBytes = data.count
            carried.carriage.sent = Int64(data.count)
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
        switch connection.stage {
        case .streaming(let streams): flushStreams(streams, connection)
        case .busy(let carried) where connection.wasReset:
            if !carried.http.sending.hasEnded { sendingFailed(carried, connection) }
        case .busy: flushExchange(connection)
        case .opening, .idle, .closed: flushLayer(connection)
        }
    }

    private func flushExchange(_ connection: Connection) {
        var budget = TurnBudget(readyConnections: 1)
        while let carried = connection.carried {
            guard budget.sendable > 0 else { return watch(connection, reads: connection.reads, writes: true) }
            if !connection.output.isEmpty {
                let result = connection.output.withUnsent { send(to: connection, $0) }
                guard let count = accepted(result, carried, connection) else { return }
                connection.output.consume(count)
                budget.sent(count)
                work.use(count >> 10)
                continue
            }
            if let stop = pushCiphertext(connection) {
                guard accepted(stop, carried, connection) != nil else { return }
            }
            switch carried.http.sending {
            case .head: headAccepted(carried, connection)
            case .body: guard produce(carried, connection, &budget) else { return }
            case .awaitingContinue: return watch(connection, reads: connection.reads, writes: false)
            case .done, .stopped:
                carried.exchange.noteRequestSent(at: now)
                watch(connection, reads: connection.reads, writes: false)
                if carried.http.receiving == .done { complete(carried, connection) }
                return
            }
        }
    }

    /// The number of bytes that the socket has accepted; nil when sending cannot continue now.
    private func accepted(_ result: IOResult, _ carried: CarriedExchange, _ connection: Connection) -> Int? {
        switch result {
        case .bytes(let count):
            carried.carriage.hasSent = true
            carried.exchange.lastActivity = now
            updateDue(connection)
            return count
        case .wouldBlock: watch(connection, reads: connection.reads, writes: true)
        case .ended, .failed: sendingFailed(carried, connection)
        }
        return nil
    }

    private func headAccepted(_ carried: CarriedExchange, _ connection: Connection) {
        let exchange = carried.exchange
        let bodyFollows =
            switch carried.http.framing {
            case .none: false
            case .length(let length): length > Int64(exchange.sentBytes)
            case .chunked: true
            }
        let awaitsContinue = bodyFollows && expectsContinue(exchange)
        carried.http.headSent(bodyFollows: bodyFollows, awaitsContinue: awaitsContinue)
        guard carried.http.sending == .awaitingContinue else { return }
        carried.carriage.awaitContinue(from: now)
        updateDue(connection)
    }

    /// Sends or prepares the next bytes of the body; false when there are none now, or the exchange has ended.
    private func produce(_ carried: CarriedExchange, _ connection: Connection, _ budget: inout TurnBudget) -> Bool {
        let exchange = carried.exchange
        if case .bytes(let data) = exchange.request.body?.content, carried.http.framing != .chunked {
            guard exchange.sentBytes < data.count else {
                carried.http.bodySent()
                return true
            }
            // From where the bytes lie, without a copy.
            let end = min(data.count, exchange.sentBytes + budget.sendable)
            let result = data.withUnsafeBytes { bytes in
                send(to: connection, UnsafeRawBufferPointer(rebasing: bytes[exchange.sentBytes..<end]))
            }
            guard let count = accepted(result, carried, connection) else { return false }
            note(sent: count, carried)
            budget.sent(count)
            work.use(count >> 10)
            return true
        }
        carried.carriage.awaitsProducer = false
        switch nextPortion(exchange) {
        case .bytes(let count):
            append(UnsafeRawBufferPointer(rebasing: scratch[..<count]), carried, connection)
            note(sent: count, carried)
            return true
        case .end:
            // A server of HTTP/1.0 knows no trailers.
            let trailers = exchange.version == .http1_0 ? nil : exchange.request.body?.trailers?()
            if let fault = trailers?.fault {
                end(exchange, LoadingError(.invalidRequest(.header(fault)), exchange.context))
                return false
            }
            if carried.http.framing == .chunked { appendLastChunk(trailers ?? Headers(), to: connection) }
            carried.http.bodySent()
            return true
        case .nothingYet:
            carried.carriage.awaitsProducer = true
            updateDue(connection)
            watch(connection, reads: connection.reads, writes: false)
            return false
        case .failed:
            end(exchange, exchange.pipe?.failure)
            return false
        }
    }

    private func note(sent count: Int, _ carried: CarriedExchange) {
        carried.exchange.sentBytes += count
        carried.carriage.sent += Int64(count)
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

    private func append(_ bytes: UnsafeRawBufferPointer, _ carried: CarriedExchange, _ connection: Connection) {
        guard carried.http.framing == .chunked else { return connection.output.append(contentsOf: bytes) }
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
    func stopUpload(_ carried: CarriedExchange, _ connection: Connection) {
        carried.http.stopSending()
        carried.exchange.noteRequestSent(at: now)
        connection.output.removeAll()
        carried.carriage.continueDue = .max
        carried.carriage.awaitsProducer = false
        carried.exchange.pipe?.close()
        updateDue(connection)
    }

    private func sendingFailed(_ carried: CarriedExchange, _ connection: Connection) {
        guard carried.carriage.hasSent || !carried.exchange.wasReused || carried.carriage.firstByte > 0 else {
            return sendAgain(carried.exchange, connection, isFresh: false)
        }
        // The bytes that have arrived are read first: a complete response counts.
        noteReset(connection)
        stopUpload(carried, connection)
        watch(connection, reads: true, writes: false)
        guard carried.http.receiving != .done else { return complete(carried, connection) }
        receive(connection, TurnBudget(readyConnections: 1))
    }
}
