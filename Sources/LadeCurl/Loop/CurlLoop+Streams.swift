import CCurl
import LadeCore

// A body of HTTP/2 is complete after END_STREAM (RFC 9113 §8.1). When a connection breaks the rules of HTTP/2, libcurl 7.88
// ends its streams one after the other as if they were complete, and closes it. A body without a length is therefore taken
// for complete only when its connection is still sound, or was going to end because the server has said so (GOAWAY).
extension CurlLoop {
    /// Whether the end of an answer that libcurl takes for complete has to be proven.
    func needsProof(_ transfer: Transfer) -> Bool {
        guard transfer.isHTTP2, let head = transfer.head, head.contentLength == nil else { return false }
        return transfer.request.method != .head && head.status != 204 && head.status != 304
    }

    /// Ends the exchanges whose connections are sound, and fails the others.
    ///
    /// libcurl is made to look at each connection until that ends no other stream of it: on a broken one each look ends a
    /// stream, and the last one closes it.
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

    /// Ends the other streams of a connection on which one was lost.
    ///
    /// libcurl 7.88 ends a stream of a lost connection when it looks at it, and nothing makes it look at the others: without
    /// this they would end by their idle time-out.
    private func endStreams(on socket: Int32) {
        exhaust(socket)
        guard !connections.isOpen(socket) else { return }
        for transfer in running.filter({ $0.sentOn == socket && $0.isHTTP2 && !$0.isUnproven }) {
            ended(transfer, CURLE_RECV_ERROR)
        }
    }

    /// Has libcurl look at a connection until that changes nothing.
    private func exhaust(_ socket: Int32) {
        // As often as there can be streams, and then some.
        for _ in 0..<10_000 {
            let isShared = running.contains { $0.sentOn == socket && !$0.isUnproven }
            guard socket >= 0, isShared, connections.isOpen(socket) else { return }
            let (ended, pieces, all) = (unproven.count, receivedPieces, running.count)
            act(socket, CURL_CSELECT_IN)
            collectEnded()
            if unproven.count == ended, receivedPieces == pieces, running.count == all { return }
        }
    }
}
