import CCurl
import LadeCore

// No transfer stays in libcurl's queue, which has neither events nor time-outs. When libcurl has a transfer and does
// not resolve, connect or send for it at its next call, the transfer is returned to the admission's queue. libcurl
// queues when its count differs from the admission's: while the first connection of a burst may turn out to be
// shareable, when a server allows few streams, or when hosts share a proxy.
extension CurlLoop {
    /// Records that libcurl resolves, connects or sends for a transfer.
    func noteMoving(_ transfer: Transfer) {
        guard !transfer.isMoving else { return }
        transfer.isMoving = true
        announce(transfer)
    }

    /// Notifies the sinks that an exchange has started, once.
    func announce(_ transfer: Transfer) {
        guard !transfer.isAnnounced else { return }
        transfer.isAnnounced = true
        transfer.call.record(
            .exchangeStarted(
                method: transfer.request.method,
                url: transfer.request.url.redacted(secretQueryNames: transfer.request.secretQueryNames)
            )
        )
        if transfer.isSecure, handleSettings.settings.tls.verification == .unsafelyAcceptEveryCertificate {
            transfer.call.record(.certificateCheckSkipped(host: transfer.host))
        }
    }

    /// Records that libcurl has a connection for a transfer and is about to send its request.
    func noteConnected(_ transfer: Transfer) {
        beginIdling(transfer)
        // These are started when the turn settles: this is a callback, in which libcurl must not be called.
        if !transfer.wasReused { admitted += admission.noteConnection(isMade: true, host: transfer.hostNumber) }
    }

    /// Takes back the transfers that libcurl has queued; ended transfers must be collected before.
    func takeBackQueued() {
        guard !handedOver.isEmpty else { return }
        // The latest comes first, because each goes to the front of its queue.
        for transfer in handedOver.reversed() {
            guard !transfer.isMoving, case .running(let handle) = transfer.phase else { continue }
            // A transfer that is alone cannot wait for another one.
            guard running.count > 1 else { break }
            detach(transfer, handle)
            let (kind, priority) = (transfer.kind, transfer.request.priority)
            wait(
                transfer,
                in: admission.takeBack(transfer, host: transfer.hostNumber, kind: kind, priority: priority)
            )
        }
        handedOver.removeAll(keepingCapacity: true)
        admitted += admission.startable()
    }
}
