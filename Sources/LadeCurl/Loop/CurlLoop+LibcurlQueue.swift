import CCurl
import LadeCore
import LadeExchange

// No exchange stays in libcurl's queue, which has neither events nor time-outs. libcurl may have an exchange and not
// resolve, connect or send for it at its next call. Then the exchange is returned to the admission's queue.
//
// libcurl queues when its count differs from the admission's. That happens while the first connection of a burst may
// turn out to be shareable. It also happens when a server allows few streams, or when hosts share a proxy.
extension CurlLoop {
    /// Records that libcurl resolves, connects or sends for an exchange.
    func noteMoving(_ exchange: Exchange, _ handle: EasyHandle) {
        guard !handle.sending.isMoving else { return }
        handle.sending.isMoving = true
        announce(exchange)
    }

    /// Notifies the sinks that an exchange has started, once.
    func announce(_ exchange: Exchange) {
        exchange.announce(
            skipsCertificates: handleSettings.settings.tls.verification == .unsafelyAcceptEveryCertificate
        )
    }

    /// Records that libcurl has a connection for an exchange and is about to send its request.
    func noteConnected(_ exchange: Exchange, _ handle: EasyHandle) {
        beginIdling(exchange, handle)
        // These are started when the turn settles: this is a callback, in which libcurl must not be called.
        if !exchange.wasReused { admitted += admission.noteConnection(isMade: true, host: exchange.hostNumber) }
    }

    /// Takes back the exchanges that libcurl has queued; ended exchanges must be collected before.
    func takeBackQueued() {
        guard !handedOver.isEmpty else { return }
        // The latest comes first, because each goes to the front of its queue.
        for exchange in handedOver.reversed() {
            guard let handle = exchange.handle, !handle.sending.isMoving else { continue }
            // An exchange that is alone cannot wait for another one.
            guard running.count > 1 else { break }
            detach(exchange, handle)
            let (kind, priority) = (exchange.kind, exchange.request.priority)
            wait(
                exchange,
                in: admission.takeBack(exchange, host: exchange.hostNumber, kind: kind, priority: priority)
            )
        }
        handedOver.removeAll(keepingCapacity: true)
        admitted += admission.startable()
    }
}
