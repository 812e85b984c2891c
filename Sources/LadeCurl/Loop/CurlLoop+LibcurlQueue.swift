import CCurl
import LadeCore

// No transfer stays in libcurl's queue, which has neither events nor time-outs: a transfer that libcurl was given and for
// which it neither resolves, connects nor sends when it was called next is taken back into the admission's queue. libcurl
// queues when it counts other than the admission does: while the first connection of a burst may turn out to be one to
// share, when a server lets few streams in, when hosts share a proxy.
extension CurlLoop {
    /// libcurl began to resolve, connect or send for a transfer.
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

    /// libcurl has a connection for a transfer and is about to send its request.
    func noteConnected(_ transfer: Transfer) {
        beginIdling(transfer)
        // Started when the turn settles: this is a callback, from which libcurl must not be called.
        if !transfer.wasReused { admitted += admission.noteConnection(isMade: true, host: transfer.hostNumber) }
    }

    /// Takes back what libcurl has queued; what has ended must have been collected before.
    func takeBackQueued() {
        guard !handedOver.isEmpty else { return }
        // The latest first, as each goes before all others.
        for transfer in handedOver.reversed() {
            guard !transfer.isMoving, case .running(let handle) = transfer.phase else { continue }
            // Alone, it could wait for nothing but libcurl.
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
