#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeExchange

// Connections that speak HTTP/2: what their sessions find is carried out here.
extension WireLoop {
    /// How many bytes of a connection are unsent when more are made.
    private static let mostUnsent = 64 << 10
    private static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    // MARK: - Opening

    /// Speaks HTTP/2 on an open connection that has a session, with all exchanges that wait for it.
    func beginStreams(_ connection: Connection) {
        negotiated.note(.http2, connection.key, at: now)
        let waiting = [connection.exchange].compactMap(\.self) + takeJoining(of: connection)
        connection.exchange = nil
        connection.idleSince = now
        pool.multiplexes(connection, key: connection.key, at: now)
        for exchange in waiting {
            exchange.carrier = nil
            guard connection.http2?.life.canOpen == true else {
                place(exchange)
                continue
            }
            openStream(exchange, connection)
        }
        connection.wasUsed = true
        markDirty(connection)
        connection.meter = OverheadMeter(at: now)
        // These bytes arrived behind the consent of a proxy.
        connection.frames = connection.surplus
        connection.surplus = []
        if !connection.frames.isEmpty { markBacklogged(connection) }
        // The layer of TLS may have bytes that the poller does not report.
        if connection.tls != nil { markBacklogged(connection) }
    }

    /// Opens a stream for an exchange; the bytes leave when the turn settles.
    func openStream(_ exchange: Exchange, _ connection: Connection) {
        let framing = RequestFraming(exchange.request)
        let waits = expectsContinue(exchange)
        guard
            let number = connection.http2?.open(exchange, framing: framing, awaitsContinue: waits, at: now)
        else { return end(exchange, exchange.error(.lost(.nothing, wasSent: false))) }
        exchange.carrier = connection
        exchange.streamNumber = number
        exchange.isHTTP2 = true
        exchange.lastActivity = now
        let carried = CarriedStream(exchange, number: number)
        carried.carriage.started(head: connection.http2?.stream(number)?.headBytes ?? 0, at: now)
        carried.carriage.hasSent = true
        if waits { carried.carriage.awaitContinue(from: now) }
        if connection.http2?.stream(number)?.sending == .done { exchange.noteRequestSent(at: now) }
        connection.carried[number] = carried
        pool.setIdle(connection, key: connection.key, since: nil)
        markDirty(connection)
    }

    // MARK: - Receiving

    /// Handles a report of the poller.
    func noteStreams(_ ready: ReadySocket, on connection: Connection, _ budget: TurnBudget) {
        if ready.isWritable, connection.writes { markDirty(connection) }
        if ready.isReadable { serveStreams(connection, budget) }
    }

    /// Serves a connection in its share of a turn: what is held of earlier turns comes first.
    ///
    /// More is received although streams have bytes that are not decoded: their windows bound what is held of them, and
    /// the other streams continue.
    func serveStreams(_ connection: Connection, _ budget: TurnBudget) {
        connection.decodable = TurnBudget.decoded
        let numbers = connection.yielded
        connection.yielded = []
        for (index, number) in numbers.enumerated() {
            guard connection.decodable > 0, work.left > 0 else {
                // Before those that have had a part of this share.
                connection.yielded.insert(contentsOf: numbers[index...], at: 0)
                markBacklogged(connection)
                break
            }
            guard let carried = connection.carried[number] else { continue }
            carried.carriage.isYielded = false
            deliverHeld(carried, connection)
        }
        receiveStreams(connection, budget)
    }

    func receiveStreams(_ connection: Connection, _ budget: TurnBudget) {
        var budget = budget
        connection.isDrained = false
        defer { settleLayer(connection) }
        while connection.life == .streaming {
            guard !connection.isIgnored else { return closeIfDone(connection) }
            if connection.frames.isEmpty {
                let most = max(1, min(budget.receivable, TurnBudget.piece))
                let result = receive(from: connection, into: UnsafeMutableRawBufferPointer(rebasing: scratch[..<most]))
                budget.received(connection.intake)
                connection.intake = 0
                work.use(1)
                switch result {
                case .bytes(let count): take(UnsafeRawBufferPointer(rebasing: scratch[..<count]), connection)
                case .wouldBlock where work.left <= 0: break
                case .wouldBlock: return connection.wasReset ? streamsEnded(connection) : markDirty(connection)
                case .ended, .failed: return streamsEnded(connection)
                }
            } else {
                let frames = connection.frames
                connection.frames = []
                frames.withUnsafeBytes { take($0, connection) }
            }
            if let overhead = connection.meter.fault(at: now, limit: overheadLimit) {
                connection.http2?.refuse(overhead)
                carryOut(connection, Self.nothing)
            }
            guard budget.receivable > 0, work.left > 0, hasTime() else { return continueLater(connection) }
        }
    }

    /// Takes received bytes, and keeps those that the connection has no units for.
    private func take(_ bytes: UnsafeRawBufferPointer, _ connection: Connection) {
        guard let session = connection.http2 else { return }
        var units = work.left
        let (count, content) = session.receive(bytes, at: now, units: &units)
        work.use(work.left - units)
        connection.meter.content(content)
        if count < bytes.count { connection.frames = Array(bytes[count...]) }
        carryOut(connection, bytes)
    }

    /// Serves a connection again in the next turn.
    private func continueLater(_ connection: Connection) {
        guard connection.life == .streaming else { return }
        markDirty(connection)
        markBacklogged(connection)
    }

    /// Handles the end of the connection, which is closed when no reader is behind.
    private func streamsEnded(_ connection: Connection) {
        connection.http2?.ended()
        carryOut(connection, Self.nothing)
    }

    /// Carries out what the session of a connection has found; the connection may be closed afterwards.
    private func carryOut(_ connection: Connection, _ bytes: UnsafeRawBufferPointer) {
        guard let session = connection.http2 else { return }
        while let finding = session.next() {
            switch finding {
            case .allowed(let count): allow(count, on: connection)
            case .draining: pool.drains(connection, key: connection.key)
            case .interim(let number, let status, let headers): interim(number, status, headers, connection)
            case .final(let number, let head): begin(head, number, connection)
            case .content(let number, let range):
                guard let carried = connection.carried[number] else { continue }
                note(carried)
                carried.carriage.took(range.count)
                deliver(UnsafeRawBufferPointer(rebasing: bytes[range]), carried, connection)
            case .trailers(let number): copyVetting(number, connection)
            case .ended(let number, let ending): streamEnded(number, ending, connection)
            case .failed: pool.drains(connection, key: connection.key)
            }
        }
        if session.life.state != .ready, session.life.state != .opening { closeIfDone(connection) }
    }

    private func allow(_ count: Int, on connection: Connection) {
        negotiated.note(streams: count, connection.key)
        guard let exchange = connection.carried.values.first?.exchange else { return }
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

    private func copyVetting(_ number: Int32, _ connection: Connection) {
        guard let carried = connection.carried[number], let stream = connection.http2?.stream(number) else { return }
        note(carried)
        try? carried.exchange.withVetting { vetting throws(HeadVetting.Fault) in vetting = stream.vetting }
    }

    private func interim(_ number: Int32, _ status: Response.Status, _ headers: Headers, _ connection: Connection) {
        guard let carried = connection.carried[number] else { return }
        copyVetting(number, connection)
        if connection.http2?.stream(number)?.sending != .awaitingContinue { carried.carriage.continueDue = .max }
        carried.exchange.heads?.append(status, headers, .http2)
        carried.exchange.call.record(.interimResponse(status: status, headers: headers))
    }

    private func begin(_ head: HeadVetting.Head, _ number: Int32, _ connection: Connection) {
        guard let carried = connection.carried[number] else { return }
        let exchange = carried.exchange
        copyVetting(number, connection)
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
        if connection.http2?.stream(number)?.sending == .stopped {
            exchange.noteRequestSent(at: now)
            exchange.pipe?.close()
        }
    }

    /// Gives content to the reader of a stream; what it does not take is held, within the window.
    private func deliver(_ bytes: UnsafeRawBufferPointer, _ carried: CarriedStream, _ connection: Connection) {
        guard !carried.carriage.isBehind else { return carried.carriage.held.append(contentsOf: bytes) }
        let exchange = carried.exchange
        // A coded block may be dear although it gives nothing.
        let share = exchange.isCoded ? min(bytes.count, max(work.left, 1) << 6) : bytes.count
        if exchange.isCoded { work.use(share >> 6) }
        var rest = UnsafeRawBufferPointer(rebasing: bytes[..<share])
        let after = bytes[share...]
        let before = exchange.bodyBytes
        let intake = exchange.take(&rest, pool: buffers, decodingAtMost: connection.decodable)
        if exchange.isCoded { connection.decodable -= Int(exchange.bodyBytes - before) }
        if exchange.isStreamed { publications.mark(exchange) }
        switch intake {
        case .taken:
            rest = Self.nothing
            if !after.isEmpty {
                carried.carriage.held = Array(after)
                yield(carried, connection)
            }
        case .paused, .yielded:
            carried.carriage.held = Array(rest) + after
            if intake == .paused { carried.carriage.isPaused = true } else { yield(carried, connection) }
        case .failed: return end(exchange, exchange.failure)
        }
        // The reader of a body without codings reports what it takes itself.
        if exchange.isCoded || !exchange.isStreamed {
            connection.http2?.taken(share - rest.count, by: carried.number)
        }
    }

    /// Offers what is held of a stream again.
    private func deliverHeld(_ carried: CarriedStream, _ connection: Connection) {
        carried.exchange.lastActivity = now
        let held = carried.carriage.held
        carried.carriage.held = []
        held.withUnsafeBytes { deliver($0, carried, connection) }
        if carried.carriage.isComplete, !carried.carriage.isBehind { end(carried.exchange, nil) }
    }

    /// Offers what is held of a stream again when the connection has its next share of a turn.
    private func yield(_ carried: CarriedStream, _ connection: Connection) {
        carried.carriage.isYielded = true
        connection.yielded.append(carried.number)
        markBacklogged(connection)
    }

    // MARK: - Readers and producers

    func resumeUploadOfStream(_ exchange: Exchange) {
        guard let connection = exchange.connection else { return }
        connection.http2?.resume(exchange.streamNumber)
        exchange.lastActivity = now
        markDirty(connection)
    }

    func resumeDownloadOfStream(_ exchange: Exchange) {
        guard let connection = exchange.connection, let carried = connection.carried[exchange.streamNumber] else {
            return
        }
        exchange.lastActivity = now
        let taken = exchange.stream?.takeReport() ?? 0
        if !exchange.isCoded { connection.http2?.taken(taken, by: carried.number) }
        if carried.carriage.isPaused, exchange.stream?.isPaused != true {
            carried.carriage.isPaused = false
            yield(carried, connection)
        }
        markDirty(connection)
    }

    /// Whether the server waits for the reader or the producer of an exchange.
    func isHeldBack(_ exchange: Exchange, _ connection: Connection) -> Bool {
        guard let carried = connection.carried[exchange.streamNumber] else { return false }
        guard let stream = connection.http2?.stream(carried.number) else { return carried.carriage.isBehind }
        let size = Int(StreamWindow.size(highWater: rules.limits.streamHighWater))
        return carried.carriage.isBehind || 2 * stream.window.held >= size
            || (stream.isDeferred && stream.sending == .body)
    }

    // MARK: - Sending

    /// Sends as much as the socket and the budget of the turn allow.
    func flushStreams(_ connection: Connection) {
        guard !connection.isIgnored else { return closeIfDone(connection) }
        guard !connection.wasReset else { return updateDue(connection) }
        var budget = TurnBudget(readyConnections: 1)
        while connection.life == .streaming, let session = connection.http2 {
            session.produce(into: &connection.output, upTo: Self.mostUnsent, at: now) { number, space in
                portion(number, space, connection)
            }
            carryOut(connection, Self.nothing)
            guard connection.life == .streaming, !connection.output.isEmpty else { break }
            guard budget.sendable > 0 else { return watch(connection, reads: true, writes: true) }
            switch connection.output.withUnsent({ send(to: connection, $0) }) {
            case .bytes(let count):
                connection.output.consume(count)
                connection.accepted += count
                budget.sent(count)
                work.use(count >> 10)
                connection.meter.sent(count)
            case .wouldBlock: return blocked(connection)
            case .ended, .failed: return sendingStreamsFailed(connection)
            }
        }
        guard connection.life == .streaming else { return }
        switch pushCiphertext(connection) {
        case nil: watch(connection, reads: true, writes: false)
        case .wouldBlock: return blocked(connection)
        default: return sendingStreamsFailed(connection)
        }
        updateDue(connection)
    }

    private func blocked(_ connection: Connection) {
        watch(connection, reads: true, writes: true)
        updateDue(connection)
    }

    /// Reads what has arrived to its end: complete responses count.
    private func sendingStreamsFailed(_ connection: Connection) {
        noteReset(connection)
        pool.drains(connection, key: connection.key)
        watch(connection, reads: true, writes: false)
        receiveStreams(connection, TurnBudget(readyConnections: 1))
    }

    /// Writes the next bytes of a request's body.
    private func portion(
        _ number: Int32,
        _ space: UnsafeMutableRawBufferPointer,
        _ connection: Connection
    ) -> HTTP2Session.Portion {
        guard let carried = connection.carried[number], let body = carried.exchange.request.body else {
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

    private func streamEnded(_ number: Int32, _ ending: HTTP2Stream.Ending, _ connection: Connection) {
        guard let carried = connection.carried[number] else { return }
        let exchange = carried.exchange
        if ending == .complete, carried.carriage.isBehind {
            carried.carriage.isComplete = true
            return
        }
        let stream = connection.http2?.stream(number)
        let start = stream?.start
        var facts = StreamOutcome.Facts()
        facts.progress = exchange.hasHead ? .body(received: carried.carriage.received) : exchange.progress
        // A head that the connection closed with.
        if facts.progress == .nothing, stream?.hasBegun == true { facts.progress = .head }
        facts.expected = exchange.head?.contentLength
        facts.wasSent = start.map { $0 < connection.accepted } ?? false
        facts.wasReused = exchange.wasReused
        facts.isRepeatable = exchange.isRepeatable
        facts.canSendBodyAgain = exchange.canSendBodyAgain || exchange.pipe == nil
        facts.moves = exchange.moves
        facts.wasRepeated = exchange.wasRepeated
        facts.isDowngraded = exchange.isDowngraded
        switch StreamOutcome(ending, facts) {
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
        guard let connection = exchange.connection else { return }
        connection.http2?.cancel(exchange.streamNumber)
        let carried = connection.carried.removeValue(forKey: exchange.streamNumber)
        if let carried, carried.carriage.isYielded { connection.yielded.removeAll { $0 == carried.number } }
        exchange.streamNumber = 0
        exchange.carrier = nil
        guard connection.life == .streaming else { return }
        if connection.carried.isEmpty {
            connection.idleSince = now
            pool.setIdle(connection, key: connection.key, since: now)
        }
        markDirty(connection)
    }

    /// Closes a connection that takes no new stream, when its last one has ended.
    ///
    /// After the end of the connection there are responses whose reader is behind; they are complete, and stay.
    private func closeIfDone(_ connection: Connection) {
        guard connection.life == .streaming, let session = connection.http2 else { return }
        let hasFailed = session.life.state == .closed
        guard hasFailed || connection.carried.isEmpty else { return }
        if !connection.isIgnored {
            // GOAWAY, which says why.
            session.produce(into: &connection.output, upTo: Self.mostUnsent, at: now) { _, _ in .nothingYet }
            while session.next() != nil {}
            if !connection.output.isEmpty { _ = connection.output.withUnsent { send(to: connection, $0) } }
            connection.output.removeAll()
            guard connection.carried.isEmpty else {
                system.ignore(connection.socket)
                connection.isIgnored = true
                return updateDue(connection)
            }
        }
        guard connection.carried.isEmpty else { return updateDue(connection) }
        close(connection)
    }

    /// Ends what a closed connection carries.
    func endStreams(of connection: Connection) {
        guard let session = connection.http2 else { return }
        session.ended()
        // Nothing is placed on the connection again.
        pool.drains(connection, key: connection.key)
        carryOutEndings(session, connection)
        connection.http2 = nil
        connection.output.removeAll()
    }

    private func carryOutEndings(_ session: HTTP2Session, _ connection: Connection) {
        while let finding = session.next() {
            if case .ended(let number, let ending) = finding { streamEnded(number, ending, connection) }
        }
        for carried in connection.carried.values {
            end(carried.exchange, carried.exchange.error(.lost(carried.exchange.progress, wasSent: true)))
        }
    }

    // MARK: - Due times

    func dueOfStreams(_ connection: Connection) -> Int64 {
        var due = connection.http2?.life.due ?? .max
        if connection.carried.isEmpty { due = min(due, connection.idleSince + connection.idleLife) }
        for carried in connection.carried.values {
            due = min(due, carried.carriage.continueDue, firstBound(of: carried.exchange, connection).at)
        }
        return due
    }

    func expireStreams(_ connection: Connection) {
        guard let session = connection.http2 else { return }
        if connection.carried.isEmpty, connection.idleSince + connection.idleLife <= now { return close(connection) }
        for carried in Array(connection.carried.values) {
            let exchange = carried.exchange
            if carried.carriage.continueDue <= now {
                carried.carriage.continueDue = .max
                session.continueAnyway(carried.number)
            }
            let (at, bound) = firstBound(of: exchange, connection)
            guard at <= now else { continue }
            switch bound {
            case .deadline: end(exchange, exchange.deadlineExceeded)
            // The response is complete, and the server does not read the rest of the request. The exchange ends here and not
            // with its reset, which the socket may not take either.
            case .timeout(.idle) where session.stream(carried.number)?.receiving == .ended:
                exchange.noteRequestSent(at: now)
                end(exchange, nil)
            case .timeout(let phase): end(exchange, LoadingError(.timedOut(phase), exchange.context))
            }
        }
        session.expire(at: now)
        carryOut(connection, Self.nothing)
        if connection.life == .streaming { markDirty(connection) }
    }
}
