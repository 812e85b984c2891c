#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeExchange

// Connections that speak HTTP/2: this file carries out the findings of their sessions.
extension WireLoop {
    /// How many bytes of a connection are unsent when more are made.
    private static let mostUnsent = 64 << 10
    private static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    // MARK: - Opening

    /// Speaks HTTP/2 on an open connection that has a session, with all exchanges that wait for it.
    func beginStreams(_ streams: Streams, _ connection: Connection) {
        pool.negotiated.note(.http2, connection.key, at: now)
        let waiting = streams.waiting
        streams.waiting = []
        pool.multiplexes(connection, key: connection.key)
        for exchange in waiting { exchange.carrier = nil }
        for exchange in waiting {
            guard streams.session.life.canOpen else {
                place(exchange)
                continue
            }
            openStream(exchange, streams, connection)
        }
        streams.wasUsed = true
        markDirty(connection)
        connection.meter = OverheadMeter(at: now)
        if !streams.frames.isEmpty { markBacklogged(connection) }
        // The layer of TLS may have bytes that the poller does not report.
        if connection.tls != nil { markBacklogged(connection) }
    }

    /// Opens a stream for an exchange; the bytes leave when the turn settles.
    func openStream(_ exchange: Exchange, _ streams: Streams, _ connection: Connection) {
        let session = streams.session
        let framing = RequestFraming(exchange.request)
        let waits = expectsContinue(exchange)
        guard let number = session.open(exchange, framing: framing, awaitsContinue: waits, at: now) else {
            return end(exchange, exchange.error(.lost(.nothing, wasSent: false)))
        }
        exchange.carrier = connection
        exchange.streamNumber = number
        exchange.isHTTP2 = true
        exchange.lastActivity = now
        let carried = CarriedStream(exchange, number: number)
        carried.carriage.started(head: session.stream(number)?.headBytes ?? 0, at: now)
        carried.carriage.hasSent = true
        if waits { carried.carriage.awaitContinue(from: now) }
        if session.stream(number)?.sending == .done { exchange.noteRequestSent(at: now) }
        streams.carried[number] = carried
        markDirty(connection)
    }

    // MARK: - Receiving

    /// Handles a report of the poller.
    func noteStreams(_ ready: ReadySocket, _ streams: Streams, _ connection: Connection, _ budget: TurnBudget) {
        if ready.isWritable, connection.writes { markDirty(connection) }
        if ready.isReadable { serveStreams(streams, connection, budget) }
    }

    /// Serves a connection in its share of a turn; bytes held from earlier turns come first.
    ///
    /// More is received although streams have bytes that are not decoded: their windows bound the held bytes, and the other
    /// streams continue.
    func serveStreams(_ streams: Streams, _ connection: Connection, _ budget: TurnBudget) {
        streams.decodable = TurnBudget.decoded
        let numbers = streams.yielded
        streams.yielded = []
        for (index, number) in numbers.enumerated() {
            guard streams.decodable > 0, work.left > 0 else {
                // Before those that have had a part of this share.
                streams.yielded.insert(contentsOf: numbers[index...], at: 0)
                markBacklogged(connection)
                break
            }
            guard let carried = streams.carried[number] else { continue }
            carried.carriage.isYielded = false
            deliverHeld(carried, streams, connection)
        }
        receiveStreams(streams, connection, budget)
    }

    func receiveStreams(_ streams: Streams, _ connection: Connection, _ budget: TurnBudget) {
        var budget = budget
        connection.isDrained = false
        defer { settleLayer(connection) }
        while connection.isStreaming {
            guard !connection.isIgnored else { return closeIfDone(streams, connection) }
            if streams.frames.isEmpty {
                let most = max(1, min(budget.receivable, TurnBudget.piece))
                let result = receive(from: connection, into: UnsafeMutableRawBufferPointer(rebasing: scratch[..<most]))
                budget.received(connection.intake)
                connection.intake = 0
                work.use(1)
                switch result {
                case .bytes(let count): take(UnsafeRawBufferPointer(rebasing: scratch[..<count]), streams, connection)
                case .wouldBlock where work.left <= 0: break
                case .wouldBlock: return connection.wasReset ? streamsEnded(streams, connection) : markDirty(connection)
                case .ended, .failed: return streamsEnded(streams, connection)
                }
            } else {
                let frames = streams.frames
                streams.frames = []
                frames.withUnsafeBytes { take($0, streams, connection) }
            }
            if let overhead = connection.meter.fault(at: now, limit: overheadLimit) {
                streams.session.refuse(overhead)
                carryOut(streams, connection, Self.nothing)
            }
            guard budget.receivable > 0, work.left > 0, hasTime() else { return continueLater(connection) }
        }
    }

    /// Takes received bytes, and keeps those that the connection has no units for.
    private func take(_ bytes: UnsafeRawBufferPointer, _ streams: Streams, _ connection: Connection) {
        var units = work.left
        let (count, content) = streams.session.receive(bytes, at: now, units: &units)
        work.use(work.left - units)
        connection.meter.content(content)
        if count < bytes.count { streams.frames = Array(bytes[count...]) }
        carryOut(streams, connection, bytes)
    }

    /// Serves a connection again in the next turn.
    private func continueLater(_ connection: Connection) {
        guard connection.isStreaming else { return }
        markDirty(connection)
        markBacklogged(connection)
    }

    /// Handles the end of the connection, which is closed when no reader is behind.
    private func streamsEnded(_ streams: Streams, _ connection: Connection) {
        streams.session.ended()
        carryOut(streams, connection, Self.nothing)
    }

    /// Carries out the findings of a connection's session; the connection may be closed afterwards.
    private func carryOut(_ streams: Streams, _ connection: Connection, _ bytes: UnsafeRawBufferPointer) {
        let session = streams.session
        while let finding = session.next() {
            switch finding {
            case .allowed(let count): allow(count, streams, on: connection)
            case .draining: pool.drains(connection, key: connection.key)
            case .interim(let number, let status, let headers): interim(number, status, headers, streams)
            case .final(let number, let head): begin(head, number, streams)
            case .content(let number, let range):
                guard let carried = streams.carried[number] else { continue }
                note(carried)
                carried.carriage.took(range.count)
                deliver(UnsafeRawBufferPointer(rebasing: bytes[range]), carried, streams, connection)
            case .trailers(let number): if let carried = streams.carried[number] { copyVetting(carried, streams) }
            case .ended(let number, let ending): streamEnded(number, ending, streams)
            case .failed: pool.drains(connection, key: connection.key)
            }
        }
        if session.life.state != .ready, session.life.state != .opening { closeIfDone(streams, connection) }
    }

    private func allow(_ count: Int, _ streams: Streams, on connection: Connection) {
        pool.negotiated.note(streams: count, connection.key)
        guard let exchange = streams.carried.values.first?.exchange else { return }
        // Where no stream is allowed calls start nevertheless, and end by their limits of connecting.
        let (all, overflow) = max(count, 1).multipliedReportingOverflow(by: settings.connections.perHost)
        admitted += admission.allow(overflow ? nil : all, host: exchange.hostNumber)
        // Not before the settings: the server would refuse what exceeds them.
        noteConnection(of: exchange, .streams)
    }

    private func note(_ carried: CarriedStream) {
        carried.exchange.lastActivity = now
        carried.carriage.heard(at: now)
    }

    private func copyVetting(_ carried: CarriedStream, _ streams: Streams) {
        guard let stream = streams.session.stream(carried.number) else { return }
        note(carried)
        try? carried.exchange.withVetting { vetting throws(HeadVetting.Fault) in vetting = stream.vetting }
    }

    private func interim(_ number: Int32, _ status: Response.Status, _ headers: Headers, _ streams: Streams) {
        guard let carried = streams.carried[number] else { return }
        copyVetting(carried, streams)
        if streams.session.stream(number)?.sending != .awaitingContinue { carried.carriage.continueDue = .max }
        carried.exchange.heads?.append(status, headers, .http2)
        carried.exchange.call.record(.interimResponse(status: status, headers: headers))
    }

    private func begin(_ head: HeadVetting.Head, _ number: Int32, _ streams: Streams) {
        guard let carried = streams.carried[number] else { return }
        let exchange = carried.exchange
        copyVetting(carried, streams)
        carried.carriage.continueDue = .max
        exchange.heads?.append(head.status, head.headers, .http2)
        exchange.noteHead(head)
        let (continues, caller) = exchange.beginBody(
            head,
            window: Int(StreamWindow.size(highWater: rules.limits.streamHighWater)),
            pool: buffers,
            decoders: decoders,
            inbox: inbox
        )
        if let caller { resume(caller, exchange.lane) }
        guard continues else { return end(exchange, exchange.failure) }
        if streams.session.stream(number)?.sending == .stopped {
            exchange.noteRequestSent(at: now)
            exchange.pipe?.close()
        }
    }

    /// Gives content to the reader of a stream, and holds the bytes that the reader does not take, within the window.
    private func deliver(
        _ bytes: UnsafeRawBufferPointer,
        _ carried: CarriedStream,
        _ streams: Streams,
        _ connection: Connection
    ) {
        guard !carried.carriage.isBehind else { return carried.carriage.held.append(contentsOf: bytes) }
        let exchange = carried.exchange
        // A coded block may be dear although it gives nothing.
        let share = exchange.isCoded ? min(bytes.count, max(work.left, 1) << 6) : bytes.count
        if exchange.isCoded { work.use(share >> 6) }
        var rest = UnsafeRawBufferPointer(rebasing: bytes[..<share])
        let after = bytes[share...]
        let before = exchange.bodyBytes
        let intake = exchange.take(&rest, pool: buffers, decodingAtMost: streams.decodable)
        if exchange.isCoded { streams.decodable -= Int(exchange.bodyBytes - before) }
        if exchange.isStreamed { publications.mark(exchange) }
        switch intake {
        case .taken:
            rest = Self.nothing
            if !after.isEmpty {
                carried.carriage.held = Array(after)
                yield(carried, streams, connection)
            }
        case .paused, .yielded:
            carried.carriage.held = Array(rest) + after
            if intake == .paused { carried.carriage.isPaused = true } else { yield(carried, streams, connection) }
        case .failed: return end(exchange, exchange.failure)
        }
        // The reader of a body without codings reports the bytes that it takes itself.
        if exchange.isCoded || !exchange.isStreamed {
            streams.session.taken(share - rest.count, by: carried.number)
        }
    }

    /// Offers the held bytes of a stream again.
    private func deliverHeld(_ carried: CarriedStream, _ streams: Streams, _ connection: Connection) {
        carried.exchange.lastActivity = now
        let held = carried.carriage.held
        carried.carriage.held = []
        held.withUnsafeBytes { deliver($0, carried, streams, connection) }
        if carried.carriage.isComplete, !carried.carriage.isBehind { end(carried.exchange, nil) }
    }

    /// Offers the held bytes of a stream again when the connection has its next share of a turn.
    private func yield(_ carried: CarriedStream, _ streams: Streams, _ connection: Connection) {
        carried.carriage.isYielded = true
        streams.yielded.append(carried.number)
        markBacklogged(connection)
    }

    // MARK: - Readers and producers

    func resumeUploadOfStream(_ exchange: Exchange) {
        guard let connection = exchange.connection else { return }
        connection.streams?.session.resume(exchange.streamNumber)
        exchange.lastActivity = now
        markDirty(connection)
    }

    func resumeDownloadOfStream(_ exchange: Exchange) {
        guard let connection = exchange.connection, let streams = connection.streams,
            let carried = streams.carried[exchange.streamNumber]
        else { return }
        exchange.lastActivity = now
        let taken = exchange.stream?.takeReport() ?? 0
        if !exchange.isCoded { streams.session.taken(taken, by: carried.number) }
        if carried.carriage.isPaused, exchange.stream?.isPaused != true {
            carried.carriage.isPaused = false
            yield(carried, streams, connection)
        }
        markDirty(connection)
    }

    /// Whether the server waits for the reader or the producer of an exchange.
    func isHeldBack(_ exchange: Exchange, _ streams: Streams) -> Bool {
        guard let carried = streams.carried[exchange.streamNumber] else { return false }
        guard let stream = streams.session.stream(carried.number) else { return carried.carriage.isBehind }
        let size = Int(StreamWindow.size(highWater: rules.limits.streamHighWater))
        return carried.carriage.isBehind || 2 * stream.window.held >= size
            || (stream.isDeferred && stream.sending == .body)
    }

    // MARK: - Sending

    /// Sends as much as the socket and the budget of the turn allow.
    func flushStreams(_ streams: Streams, _ connection: Connection) {
        guard !connection.isIgnored else { return closeIfDone(streams, connection) }
        guard !connection.wasReset else { return updateDue(connection) }
        var budget = TurnBudget(readyConnections: 1)
        while connection.isStreaming {
            streams.session.produce(into: &connection.output, upTo: Self.mostUnsent, at: now) { number, space in
                portion(number, space, streams)
            }
            carryOut(streams, connection, Self.nothing)
            guard connection.isStreaming, !connection.output.isEmpty else { break }
            guard budget.sendable > 0 else { return watch(connection, reads: true, writes: true) }
            switch connection.output.withUnsent({ send(to: connection, $0) }) {
            case .bytes(let count):
                connection.output.consume(count)
                streams.accepted += count
                budget.sent(count)
                work.use(count >> 10)
                connection.meter.sent(count)
            case .wouldBlock: return blocked(connection)
            case .ended, .failed: return sendingFailed(streams, connection)
            }
        }
        guard connection.isStreaming else { return }
        switch pushCiphertext(connection) {
        case nil: watch(connection, reads: true, writes: false)
        case .wouldBlock: return blocked(connection)
        default: return sendingFailed(streams, connection)
        }
        updateDue(connection)
    }

    private func blocked(_ connection: Connection) {
        watch(connection, reads: true, writes: true)
        updateDue(connection)
    }

    /// Reads the bytes that have arrived to their end: complete responses count.
    private func sendingFailed(_ streams: Streams, _ connection: Connection) {
        noteReset(connection)
        pool.drains(connection, key: connection.key)
        watch(connection, reads: true, writes: false)
        receiveStreams(streams, connection, TurnBudget(readyConnections: 1))
    }

    /// Writes the next bytes of a request's body.
    private func portion(
        _ number: Int32,
        _ space: UnsafeMutableRawBufferPointer,
        _ streams: Streams
    ) -> HTTP2Session.Portion {
        guard let carried = streams.carried[number], let body = carried.exchange.request.body else {
            return .nothingYet
        }
        let exchange = carried.exchange
        var count = 0
        var isLast = false
        if case .bytes(let data) = body.content {
            let left = data.count - exchange.sentBytes
            guard left > 0 else {
                exchange.noteRequestSent(at: now)
                return .end(trailers: body.trailers?() ?? Headers())
            }
            count = min(left, space.count)
            isLast = count == left && body.trailers == nil
            data.withUnsafeBytes { bytes in
                space.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[exchange.sentBytes...].prefix(count)))
            }
        } else {
            exchange.startPump(inbox: inbox)
            switch exchange.pipe?.read(into: space) ?? .end {
            case .bytes(let read): count = read
            case .nothingYet: return .nothingYet
            case .end:
                exchange.noteRequestSent(at: now)
                return .end(trailers: body.trailers?() ?? Headers())
            case .failed: return .failed
            }
        }
        if isLast { exchange.noteRequestSent(at: now) }
        exchange.sentBytes += count
        exchange.lastActivity = now
        carried.carriage.sent += Int64(count)
        return .bytes(count, isLast: isLast)
    }

    // MARK: - Endings

    private func streamEnded(_ number: Int32, _ ending: HTTP2Stream.Ending, _ streams: Streams) {
        guard let carried = streams.carried[number] else { return }
        let exchange = carried.exchange
        if ending == .complete, carried.carriage.isBehind {
            carried.carriage.isComplete = true
            return
        }
        let stream = streams.session.stream(number)
        let start = stream?.start
        var facts = StreamDecision.Facts()
        facts.progress = exchange.hasHead ? .body(received: carried.carriage.received) : exchange.progress
        // A head that the connection closed with.
        if facts.progress == .nothing, stream?.hasBegun == true { facts.progress = .head }
        facts.expected = exchange.head?.contentLength
        facts.wasSent = start.map { $0 < streams.accepted } ?? false
        facts.wasReused = exchange.wasReused
        facts.isRepeatable = exchange.isRepeatable
        facts.canSendBodyAgain = exchange.canSendBodyAgain || exchange.pipe == nil
        facts.moves = exchange.moves
        facts.wasRepeated = exchange.wasRepeated
        facts.isDowngraded = exchange.isDowngraded
        switch StreamDecision(ending, facts) {
        case .complete: end(exchange, nil)
        case .fail(let fault): end(exchange, exchange.error(fault))
        case .refuse(let fault): end(exchange, exchange.headError(fault))
        case .failUpload: end(exchange, exchange.pipe?.failure)
        case .move:
            exchange.moves += 1
            moveOn(exchange, isFresh: false)
        case .sendAgain:
            exchange.wasRepeated = true
            exchange.call.record(.exchangeRepeated(onFreshConnection: true))
            moveOn(exchange, isFresh: true)
        case .downgrade:
            exchange.isDowngraded = true
            exchange.call.record(.exchangeRepeated(onFreshConnection: true))
            moveOn(exchange, isFresh: true)
        }
    }

    /// Sends a request again on another connection when the turn settles: until then the bytes that are handled stay.
    private func moveOn(_ exchange: Exchange, isFresh: Bool) {
        leaveStream(exchange)
        exchange.needsFreshConnection = isFresh
        moving.append(exchange)
    }

    /// Removes an exchange from its connection, and ends its stream if it is open.
    func leaveStream(_ exchange: Exchange) {
        guard let connection = exchange.connection, let streams = connection.streams else { return }
        streams.session.cancel(exchange.streamNumber)
        let carried = streams.carried.removeValue(forKey: exchange.streamNumber)
        if let carried, carried.carriage.isYielded { streams.yielded.removeAll { $0 == carried.number } }
        exchange.streamNumber = 0
        exchange.carrier = nil
        if streams.carried.isEmpty { streams.idleSince = now }
        markDirty(connection)
    }

    /// Closes a connection that takes no new stream, when its last one has ended.
    ///
    /// After the end of the connection there are responses whose reader is behind; they are complete, and stay.
    private func closeIfDone(_ streams: Streams, _ connection: Connection) {
        guard connection.isStreaming else { return }
        let session = streams.session
        let hasFailed = session.life.state == .closed
        guard hasFailed || streams.carried.isEmpty else { return }
        if !connection.isIgnored {
            // GOAWAY, which says why.
            session.produce(into: &connection.output, upTo: Self.mostUnsent, at: now) { _, _ in .nothingYet }
            while session.next() != nil {}
            if !connection.output.isEmpty { _ = connection.output.withUnsent { send(to: connection, $0) } }
            connection.output.removeAll()
            guard streams.carried.isEmpty else {
                system.ignore(connection.socket)
                connection.isIgnored = true
                return updateDue(connection)
            }
        }
        guard streams.carried.isEmpty else { return updateDue(connection) }
        close(connection)
    }

    /// Ends the exchanges of a connection that is closed next.
    func endStreams(_ streams: Streams, _ connection: Connection) {
        streams.session.ended()
        // Nothing is placed on the connection again.
        pool.drains(connection, key: connection.key)
        while let finding = streams.session.next() {
            if case .ended(let number, let ending) = finding { streamEnded(number, ending, streams) }
        }
        for carried in streams.carried.values {
            end(carried.exchange, carried.exchange.error(.lost(carried.exchange.progress, wasSent: true)))
        }
        connection.output.removeAll()
    }

    // MARK: - Due times

    func due(of streams: Streams, _ connection: Connection) -> Int64 {
        var due = streams.session.life.due
        due = min(due, connection.evictionDue)
        for carried in streams.carried.values {
            due = min(due, carried.carriage.continueDue, firstBound(of: carried.exchange, connection).at)
        }
        return due
    }

    func expireStreams(_ streams: Streams, _ connection: Connection) {
        let session = streams.session
        if pool.evicts(connection, at: now) { return close(connection) }
        for carried in Array(streams.carried.values) {
            let exchange = carried.exchange
            if carried.carriage.continueDue <= now {
                carried.carriage.continueDue = .max
                session.continueAnyway(carried.number)
            }
            let (at, bound) = firstBound(of: exchange, connection)
            guard at <= now else { continue }
            guard case .timeout(.idle) = bound, session.stream(carried.number)?.receiving == .ended else {
                end(exchange, error(of: exchange, bound))
                continue
            }
            // The response is complete, and the server does not read the rest of the request. The exchange ends here and not
            // with its reset, which the socket may not take either.
            exchange.noteRequestSent(at: now)
            end(exchange, nil)
        }
        session.expire(at: now)
        carryOut(streams, connection, Self.nothing)
        if connection.isStreaming { markDirty(connection) }
    }
}
