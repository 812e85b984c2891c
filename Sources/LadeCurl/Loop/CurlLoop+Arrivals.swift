import CCurl
import LadeCore
import LadeExchange

// Bytes that arrive on an HTTP/1 connection while no request is in flight belong to no request. libcurl 7.88 would read
// them as the beginning of the next response, even when that is for another account. A connection with pending input
// before a request is sent is therefore not used for a request. The poller shuts down an idle socket on which input
// arrives. The check below finds bytes that arrive with the end of a response, and in OpenSSL's buffers.
extension CurlLoop {
    /// Whether a request may be sent on the connection that libcurl has chosen for it.
    ///
    /// Called before the first byte of the request is sent. When the result is false, nothing was sent, and the
    /// exchange uses a new connection, whatever its method.
    func maySend(_ exchange: Exchange, _ handle: EasyHandle, on ends: ConnectionEnds) -> Bool {
        let session = exchange.isSecure ? TLSSession(handle) : nil
        let isUnix = if case .unixSocket = exchange.request.destination { true } else { false }
        exchange.isHTTP2 =
            exchange.isSecure ? session?.isHTTP2 == true : exchange.request.version == .http2PriorKnowledge
        if exchange.wasReused {
            handle.sending.sentOn = isUnix ? nil : connections.socket(ends)
        } else if let socket = isUnix
            ? handle.sending.opened.last : connections.name(ends, among: handle.sending.opened)
        {
            poller.connected(socket, isUnix: isUnix)
            if isUnix { connections.addUnix(socket) } else { handle.sending.sentOn = socket }
        }
        // libcurl does not report the socket of an exchange that is paused in the call that sends its request.
        if let socket = handle.sending.sentOn { noteUse(of: socket, by: handle, exchange) }
        // HTTP/2 frames may arrive at any time; each names its stream.
        guard !exchange.isHTTP2 else {
            handle.watchForGoAwayOnceSent()
            return true
        }
        guard exchange.wasReused else {
            // With TLS 1.3, session tickets may have arrived, which cannot be distinguished from a response at the
            // socket.
            guard !exchange.isSecure, let socket = handle.sending.sentOn, Arrivals(socket) == .bytes else {
                return true
            }
            exchange.failure = LoadingError(
                .malformedResponse(LoadingError.MalformedResponse(.beforeRequest)),
                exchange.context
            )
            return false
        }
        let arrivals = isUnix ? connections.unixArrivals : handle.sending.sentOn.map { Arrivals($0) } ?? .unknown
        let isClean = arrivals == .nothing && (!exchange.isSecure || session?.hasPending == false)
        handle.sending.needsOtherConnection = !isClean
        return isClean
    }
}
