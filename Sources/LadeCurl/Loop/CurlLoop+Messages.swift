import CCurl
import LadeCore
import LadeExchange

// Messages from other threads: start an exchange, end one, continue one that libcurl has paused.
extension CurlLoop {
    func submit(_ transfer: Transfer) {
        transfer.submitted = now
        guard !transfer.isCancelled else {
            return transfer.finish(LoadingError(.cancelled, transfer.context), metrics: Response.Metrics(), on: self)
        }
        guard transfer.limits.deadline > 0 else {
            return transfer.finish(transfer.deadlineExceeded, metrics: Response.Metrics(), on: self)
        }
        transfer.hostNumber =
            transfer.request.destination == nil
            ? admission.host(of: transfer.address, upTo: transfer.parts.authorityEnd) { transfer.hostKey }
            : admission.host(transfer.hostKey)
        transfer.hostIdentity = admission.identity(host: transfer.hostNumber)
        let (kind, priority) = (transfer.kind, transfer.request.priority)
        switch admission.request(transfer, host: transfer.hostNumber, kind: kind, priority: priority) {
        case .start: start(transfer)
        case .wait(let place): wait(transfer, in: place)
        }
    }

    /// Records that a transfer waits for a connection, at most until the deadline of its call.
    func wait(_ transfer: Transfer, in place: Admission<Transfer>.Place) {
        transfer.phase = .waiting(place)
        transfer.waitStarted = now
        transfer.call.record(.waitStarted(.connection(host: transfer.host)))
        let (deadline, overflow) = transfer.submitted.addingReportingOverflow(transfer.limits.deadline)
        guard !overflow else { return }
        deadlines.insert(transfer, at: deadline)
        nextExpiry = min(nextExpiry, deadline)
    }

    func cancel(_ transfer: Transfer) {
        transfer.isCancelled = true
        let error = LoadingError(.cancelled, transfer.context)
        switch transfer.phase {
        case .new, .finished: break
        case .waiting: leaveQueue(transfer, error)
        case .running(let handle): end(transfer, handle, error)
        }
    }

    /// Ends a transfer that waits for a connection.
    func leaveQueue(_ transfer: Transfer, _ error: LoadingError) {
        guard case .waiting(let place) = transfer.phase else { return }
        admission.withdraw(from: place, host: transfer.hostNumber)
        endWait(transfer)
        transfer.finish(error, metrics: Response.Metrics(), on: self)
    }

    /// Records that a transfer no longer waits for a connection.
    func endWait(_ transfer: Transfer) {
        transfer.call.record(
            .waitEnded(.connection(host: transfer.host), after: .nanoseconds(now - transfer.waitStarted))
        )
        deadlines.noteDeparture { if case .waiting = $0.phase { true } else { false } }
    }

    func resume(_ transfer: Transfer, _ direction: LoopMessage.Direction) {
        guard case .running(let handle) = transfer.phase else { return }
        let bit = direction == .upload ? CURLPAUSE_SEND : CURLPAUSE_RECV
        guard transfer.pauses & bit != 0 else { return }
        transfer.pauses &= ~bit
        beginIdling(transfer)
        // This may call the write callback with the refused piece before it returns. An error that the callback records
        // is returned here, and nowhere else.
        let code = curl_easy_pause(handle.raw, transfer.pauses)
        if code != CURLE_OK { ended(transfer, code) }
    }
}
