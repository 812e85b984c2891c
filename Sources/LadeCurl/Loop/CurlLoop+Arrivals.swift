import CCurl
import LadeCore

// Bytes that arrive on an HTTP/1 connection while no request is in flight belong to no request. libcurl 7.88 would read
// them as the beginning of the next response, even when that is for another account. A connection with pending input
// before a request is sent is therefore not used for a request. The poller shuts down an idle socket on which input
// arrives; the check below finds what arrives with the end of a response, and in OpenSSL's buffers.
extension CurlLoop {
    /// Whether a request may be sent on the connection that libcurl has chosen for it.
    ///
    /// Called before the first byte of the request is sent. When the result is false, nothing was sent, and the
    /// exchange uses a new connection, whatever its method.
    func maySend(_ transfer: Transfer, on ends: ConnectionEnds) -> Bool {
        guard case .running(let handle) = transfer.phase else { return false }
        let session = transfer.isSecure ? TLSSession(handle) : nil
        let isUnix = if case .unixSocket = transfer.request.destination { true } else { false }
        transfer.isHTTP2 =
            transfer.isSecure ? session?.isHTTP2 == true : transfer.request.version == .http2PriorKnowledge
        if transfer.wasReused {
            transfer.sentOn = isUnix ? nil : connections.socket(ends)
        } else if let socket = isUnix ? transfer.opened.last : connections.name(ends, among: transfer.opened) {
            poller.connected(socket, isUnix: isUnix)
            if isUnix { connections.addUnix(socket) } else { transfer.sentOn = socket }
        }
        // libcurl does not report the socket of a transfer that is paused in the call that sends its request.
        if let socket = transfer.sentOn { noteUse(of: socket, by: transfer) }
        // HTTP/2 frames may arrive at any time; each names its stream.
        guard !transfer.isHTTP2 else {
            handle.watchForGoAwayOnceSent()
            return true
        }
        guard transfer.wasReused else {
            // With TLS 1.3, session tickets may have arrived, which cannot be distinguished from a response at the
            // socket.
            guard !transfer.isSecure, let socket = transfer.sentOn, Arrivals(socket) == .bytes else { return true }
            transfer.failure = LoadingError(
                .malformedResponse(LoadingError.MalformedResponse(.beforeRequest)),
                transfer.context
            )
            return false
        }
        let arrivals = isUnix ? connections.unixArrivals : transfer.sentOn.map { Arrivals($0) } ?? .unknown
        let isClean = arrivals == .nothing && (!transfer.isSecure || session?.hasPending == false)
        transfer.needsOtherConnection = !isClean
        return isClean
    }
}
