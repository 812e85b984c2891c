import CCurl
import LadeCore
import LadeExchange

// Messages from other threads: start an exchange, end one, continue one that libcurl has paused.
extension CurlLoop {
    func submit(_ exchange: Exchange) {
        exchange.submitted = now
        guard !exchange.isCancelled else {
            return finish(exchange, LoadingError(.cancelled, exchange.context), Response.Metrics())
        }
        guard exchange.limits.deadline > 0 else {
            return finish(exchange, exchange.deadlineExceeded, Response.Metrics())
        }
        exchange.hostNumber =
            exchange.request.destination == nil
            ? admission.host(of: exchange.address, upTo: exchange.parts.authorityEnd) { exchange.hostKey }
            : admission.host(exchange.hostKey)
        exchange.hostIdentity = admission.identity(host: exchange.hostNumber)
        let (kind, priority) = (exchange.kind, exchange.request.priority)
        switch admission.request(exchange, host: exchange.hostNumber, kind: kind, priority: priority) {
        case .start: start(exchange)
        case .wait(let place): wait(exchange, in: place)
        }
    }

    /// Records that an exchange waits for a connection, at most until the deadline of its call.
    func wait(_ exchange: Exchange, in place: Admission.Place) {
        exchange.phase = .waiting(place)
        exchange.waitStarted = now
        exchange.call.record(.waitStarted(.connection(host: exchange.host)))
        let (deadline, overflow) = exchange.submitted.addingReportingOverflow(exchange.limits.deadline)
        guard !overflow else { return }
        deadlines.insert(exchange, at: deadline)
        nextExpiry = min(nextExpiry, deadline)
    }

    func cancel(_ exchange: Exchange) {
        exchange.isCancelled = true
        let error = LoadingError(.cancelled, exchange.context)
        switch exchange.phase {
        case .new, .finished: break
        case .waiting: leaveQueue(exchange, error)
        case .running: if let handle = exchange.handle { end(exchange, handle, error) }
        }
    }

    /// Ends an exchange that waits for a connection.
    func leaveQueue(_ exchange: Exchange, _ error: LoadingError) {
        guard case .waiting(let place) = exchange.phase else { return }
        admission.withdraw(from: place, host: exchange.hostNumber)
        endWait(exchange)
        finish(exchange, error, Response.Metrics())
    }

    /// Records that an exchange no longer waits for a connection.
    func endWait(_ exchange: Exchange) {
        exchange.call.record(
            .waitEnded(.connection(host: exchange.host), after: .nanoseconds(now - exchange.waitStarted))
        )
        deadlines.noteDeparture { if case .waiting = $0.phase { true } else { false } }
    }

    func resume(_ exchange: Exchange, _ direction: LoopMessage.Direction) {
        guard let handle = exchange.handle else { return }
        let bit = direction == .upload ? CURLPAUSE_SEND : CURLPAUSE_RECV
        guard handle.sending.pauses & bit != 0 else { return }
        handle.sending.pauses &= ~bit
        beginIdling(exchange, handle)
        // This may call the write callback with the refused piece before it returns. An error that the callback records
        // is returned here, and nowhere else.
        let code = curl_easy_pause(handle.raw, handle.sending.pauses)
        if code != CURLE_OK { ended(exchange, code) }
    }
}
