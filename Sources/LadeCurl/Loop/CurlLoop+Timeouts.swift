import CCurl
import LadeCore
import LadeExchange

// The loop implements all time-outs. `nextExpiry` is never later than the first of them. A check that finds no expired
// time-out sets it again.
extension CurlLoop {
    /// The reason for ending a transfer that takes too long.
    private enum Bound {
        case timeout(LoadingError.TimeoutPhase)
        case deadline
    }

    /// The time of the first time-out of a transfer, and its reason.
    private func firstBound(of transfer: Transfer) -> (at: Int64, bound: Bound) {
        let limits = transfer.limits
        var next = (at: Int64.max, bound: Bound.deadline)
        func consider(_ limit: Int64, since start: Int64, _ bound: Bound) {
            let (at, overflow) = start.addingReportingOverflow(limit)
            if !overflow, at < next.at { next = (at, bound) }
        }
        consider(limits.deadline, since: transfer.submitted, .deadline)
        consider(limits.whole, since: transfer.started, .timeout(.whole))
        if transfer.sendings == 0 {
            consider(limits.connect, since: transfer.connectStarted ?? transfer.started, .timeout(.connect))
        } else if transfer.pauses & CURLPAUSE_RECV == 0 {
            consider(limits.idle, since: transfer.lastActivity, .timeout(.idle))
        }
        return next
    }

    /// The time of the first time-out of a transfer.
    func expiry(_ transfer: Transfer) -> Int64 { firstBound(of: transfer).at }

    /// Starts the idle time-out of a transfer that has just received its connection, or continues after a pause.
    ///
    /// The previous expiry, such as that of the connect time-out, may be much later than this one.
    func beginIdling(_ transfer: Transfer) {
        transfer.lastActivity = now
        nextExpiry = min(nextExpiry, expiry(transfer))
    }

    func expire() {
        nextExpiry = poller.shutIdle(before: now - idleLife).map { $0 + idleLife } ?? .max
        while let transfer = deadlines.popFirst(until: now) { leaveQueue(transfer, transfer.deadlineExceeded) }
        nextExpiry = min(nextExpiry, deadlines.first ?? .max)
        for transfer in running {
            guard case .running(let handle) = transfer.phase, !transfer.isUnproven else { continue }
            let (at, bound) = firstBound(of: transfer)
            guard at <= now else {
                nextExpiry = min(nextExpiry, at)
                continue
            }
            end(transfer, handle, error(bound, transfer, handle))
        }
    }

    private func error(_ bound: Bound, _ transfer: Transfer, _ handle: EasyHandle) -> LoadingError {
        guard case .timeout(let phase) = bound else { return transfer.deadlineExceeded }
        let isLookingUp = phase == .connect && handle.offset(CURLINFO_NAMELOOKUP_TIME_T) == 0
        return LoadingError(.timedOut(isLookingUp ? .nameLookup : phase), transfer.context)
    }
}
