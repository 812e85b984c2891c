import CCurl
import LadeCore

// What arrives on an HTTP/1 connection when no request is in flight is the answer to none: a connection on which anything
// waits before a request is sent carries no request any more. libcurl 7.88 would take such bytes for the beginning of the
// next answer, whichever account's call that is.
extension CurlLoop {
    /// Whether a request may go out on the connection that libcurl has chosen for it.
    ///
    /// Asked before the first byte of the request is sent. When not, nothing was sent, and the exchange is sent over a new
    /// connection, whatever its method.
    func maySend(_ transfer: Transfer, on ends: ConnectionEnds) -> Bool {
        guard case .running(let handle) = transfer.phase else { return false }
        let session = transfer.isSecure ? TLSSession(handle) : nil
        let isUnix = if case .unixSocket = transfer.request.destination { true } else { false }
        transfer.isHTTP2 =
            transfer.isSecure ? session?.isHTTP2 == true : transfer.request.version == .http2PriorKnowledge
        transfer.sentOn = isUnix ? nil : transfer.wasReused ? connections.socket(ends) : connections.name(ends)
        // The frames of HTTP/2 may arrive at any time, and say what they belong to.
        guard !transfer.isHTTP2 else {
            handle.watchForGoAwayOnceSent()
            return true
        }
        guard transfer.wasReused else {
            // Over TLS 1.3 tickets of the session may have arrived, which look like an answer from outside.
            guard !transfer.isSecure, let socket = transfer.sentOn, Arrivals(socket) == .bytes else { return true }
            transfer.failure = .malformedResponse(MalformedResponse(.beforeRequest), transfer.context)
            return false
        }
        let arrivals = isUnix ? connections.unixArrivals : transfer.sentOn.map { Arrivals($0) } ?? .unknown
        let isClean = arrivals == .nothing && (!transfer.isSecure || session?.hasPending == false)
        transfer.needsOtherConnection = !isClean
        return isClean
    }
}
