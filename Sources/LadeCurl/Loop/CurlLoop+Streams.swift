import CCurl
import LadeCore
import LadeExchange

// An HTTP/2 body is complete after END_STREAM (RFC 9113 §8.1). When a connection violates HTTP/2, libcurl 7.88 ends its
// streams one after the other as if they were complete, and closes it. A body without a length is therefore complete
// only when its connection is still intact, or when the server had announced its end (GOAWAY).
extension CurlLoop {
    /// Whether the loop must check the end of a response that libcurl reports as complete.
    func needsProof(_ transfer: Transfer) -> Bool {
        guard transfer.isHTTP2, let head = transfer.head, head.contentLength == nil else { return false }
        return transfer.request.method != .head && head.status != 204 && head.status != 304
    }

    /// Ends the exchanges whose connections are intact, and fails the others.
    ///
    /// The loop makes libcurl process each connection until no other stream of it ends. On a broken connection each
    /// call ends one stream, and the last call closes the connection.
    func proveStreams() {
        while let socket = brokenSockets.popLast() { endStreams(on: socket) }
        while let socket = unproven.first?.sentOn ?? unproven.first.map({ _ in -1 }) {
            exhaust(socket)
            let isSound = socket >= 0 && connections.isOpen(socket)
            let proven = unproven.filter { ($0.sentOn ?? -1) == socket }
            unproven.removeAll { ($0.sentOn ?? -1) == socket }
            for transfer in proven {
                guard case .running(let handle) = transfer.phase else { continue }
                let isComplete = isSound || transfer.wasEndingConnection
                end(transfer, handle, isComplete ? nil : incomplete(transfer, handle))
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
        for transfer in running.filter({ $0.sentOn == socket && $0.isHTTP2 && !$0.isUnproven }) {
            ended(transfer, CURLE_RECV_ERROR)
        }
    }

    /// Makes libcurl process a connection until nothing changes.
    private func exhaust(_ socket: Int32) {
        // More than the number of streams that a connection can have.
        for _ in 0..<10_000 {
            let isShared = running.contains { $0.sentOn == socket && !$0.isUnproven }
            guard socket >= 0, isShared, connections.isOpen(socket) else { return }
            let (ends, pieces) = (reportedEnds, receivedPieces)
            act(socket, CURL_CSELECT_IN)
            collectEnded()
            // Every end counts: an exchange that is sent again leaves the connection, too.
            if reportedEnds == ends, receivedPieces == pieces { return }
        }
    }
}
