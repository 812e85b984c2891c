import CCurl
import LadeCore
import LadeExchange

// An HTTP/2 body is complete after END_STREAM (RFC 9113 §8.1). When a connection violates HTTP/2, libcurl 7.88 ends its
// streams one after the other as if they were complete, and closes it. A body without a length is therefore complete
// only when its connection is still intact, or when the server had announced its end (GOAWAY).
extension CurlLoop {
    /// Whether the loop must check the end of a response that libcurl reports as complete.
    func needsProof(_ exchange: Exchange) -> Bool {
        guard exchange.isHTTP2, let head = exchange.head, head.contentLength == nil else { return false }
        return exchange.expectsBody(head)
    }

    /// Ends the exchanges whose connections are intact, and fails the others.
    ///
    /// The loop makes libcurl process each connection until no other stream of it ends. On a broken connection each
    /// call ends one stream, and the last call closes the connection.
    func proveStreams() {
        while let socket = brokenSockets.popLast() { endStreams(on: socket) }
        while let socket = unproven.first.map({ $0.handle?.sending.sentOn ?? -1 }) {
            exhaust(socket)
            let isSound = socket >= 0 && connections.isOpen(socket)
            let proven = unproven.filter { ($0.handle?.sending.sentOn ?? -1) == socket }
            unproven.removeAll { ($0.handle?.sending.sentOn ?? -1) == socket }
            for exchange in proven {
                guard let handle = exchange.handle else { continue }
                let isComplete = isSound || handle.sending.wasEndingConnection
                end(exchange, handle, isComplete ? nil : incomplete(exchange, handle))
            }
        }
    }

    /// Ends the other streams of a connection on which a stream was lost.
    ///
    /// libcurl 7.88 ends a stream of a lost connection only when it processes that stream, and nothing makes it process
    /// the others. Without this function they would end with their idle time-out.
    private func endStreams(on socket: Int32) {
        exhaust(socket)
        guard !connections.isOpen(socket) else { return }
        for exchange in running.filter({ isOpen($0, on: socket) && $0.isHTTP2 }) {
            ended(exchange, CURLE_RECV_ERROR)
        }
    }

    /// Whether libcurl has an exchange on the socket and has not reported its end.
    private func isOpen(_ exchange: Exchange, on socket: Int32) -> Bool {
        guard let handle = exchange.handle else { return false }
        return handle.sending.sentOn == socket && !handle.sending.isUnproven
    }

    /// Makes libcurl process a connection until nothing changes.
    private func exhaust(_ socket: Int32) {
        // More than the number of streams that a connection can have.
        for _ in 0..<10_000 {
            let isShared = running.contains { isOpen($0, on: socket) }
            guard socket >= 0, isShared, connections.isOpen(socket) else { return }
            let (ends, pieces) = (reportedEnds, receivedPieces)
            act(socket, CURL_CSELECT_IN)
            collectEnded()
            // Every end counts: an exchange that is sent again leaves the connection, too.
            if reportedEnds == ends, receivedPieces == pieces { return }
        }
    }
}
