import CCurl
import LadeCore
import LadeExchange

// The loop implements all time-outs. `nextExpiry` is never later than the first of them. A check that finds no expired
// time-out sets it again.
extension CurlLoop {
    /// The reason for ending an exchange that takes too long.
    private enum Bound {
        case timeout(LoadingError.TimeoutPhase)
        case deadline
    }

    /// The time of the first time-out of an exchange, and its reason.
    private func firstBound(of exchange: Exchange, _ handle: EasyHandle) -> (at: Int64, bound: Bound) {
        let limits = exchange.limits
        var next = (at: Int64.max, bound: Bound.deadline)
        func consider(_ limit: Int64, since start: Int64, _ bound: Bound) {
            let (at, overflow) = start.addingReportingOverflow(limit)
            if !overflow, at < next.at { next = (at, bound) }
        }
        consider(limits.deadline, since: exchange.submitted, .deadline)
        consider(limits.whole, since: exchange.started, .timeout(.whole))
        if handle.sending.sendings == 0 {
            consider(limits.connect, since: handle.sending.connectStarted ?? exchange.started, .timeout(.connect))
        } else if handle.sending.pauses & CURLPAUSE_RECV == 0 {
            consider(limits.idle, since: exchange.lastActivity, .timeout(.idle))
        }
        return next
    }

    /// The time of the first time-out of an exchange.
    func expiry(_ exchange: Exchange, _ handle: EasyHandle) -> Int64 { firstBound(of: exchange, handle).at }

    /// Starts the idle time-out of an exchange that has just received its connection, or continues after a pause.
    ///
    /// The previous expiry, such as the end of the connect time-out, may be much later than this one.
    func beginIdling(_ exchange: Exchange, _ handle: EasyHandle) {
        exchange.lastActivity = now
        nextExpiry = min(nextExpiry, expiry(exchange, handle))
    }

    func expire() {
        nextExpiry = poller.shutIdle(before: now - idleLife).map { $0 + idleLife } ?? .max
        while let exchange = deadlines.popFirst(until: now) { leaveQueue(exchange, exchange.deadlineExceeded) }
        nextExpiry = min(nextExpiry, deadlines.first ?? .max)
        for exchange in running {
            guard let handle = exchange.handle, !handle.sending.isUnproven else { continue }
            let (at, bound) = firstBound(of: exchange, handle)
            guard at <= now else {
                nextExpiry = min(nextExpiry, at)
                continue
            }
            end(exchange, handle, error(bound, exchange, handle))
        }
    }

    private func error(_ bound: Bound, _ exchange: Exchange, _ handle: EasyHandle) -> LoadingError {
        guard case .timeout(let phase) = bound else { return exchange.deadlineExceeded }
        let isLookingUp = phase == .connect && handle.offset(CURLINFO_NAMELOOKUP_TIME_T) == 0
        return LoadingError(.timedOut(isLookingUp ? .nameLookup : phase), exchange.context)
    }
}
