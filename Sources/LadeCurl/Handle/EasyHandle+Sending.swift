import LadeExchange

extension EasyHandle {
    /// The end of TLS on a connection whose end also ends the body.
    enum TLSClosure {
        /// The framing ends the body, or the connection does not use TLS.
        case irrelevant
        /// close_notify has not been received.
        case unannounced
        /// The server has sent close_notify.
        case announced
    }

    /// One sending of a request by libcurl, and its response.
    struct Sending {
        /// The sockets that were opened for this sending; those that did not become its connection may be closed.
        var opened: [Int32] = []
        var connectStarted: Int64?
        /// Why the last socket could not be opened; 0 when it could.
        ///
        /// libcurl does not keep this error number.
        var socketError: Int32 = 0
        var pauses: Int32 = 0
        /// How many times libcurl was about to send the request, or to connect for sending it again.
        var sendings = 0
        /// The number of bytes of the proxy's response to CONNECT that libcurl has read.
        var tunnelBytes = 0
        /// Whether libcurl resolves, connects or sends for the exchange, which is then not in libcurl's queue.
        var isMoving = false
        /// Whether unexpected bytes were pending on the chosen connection, so that the request was not sent.
        var needsOtherConnection = false
        /// The socket that the request was sent on; nil when it is not known.
        var sentOn: Int32?
        /// Whether libcurl reports the response as complete and the loop has not checked it; see
        /// ``CurlLoop/proveStreams()``.
        var isUnproven = false
        /// Whether the server has announced that it will end the connection.
        var wasEndingConnection = false
        /// Whether the server has reset the stream because it requires HTTP/1.1 (HTTP_1_1_REQUIRED, RFC 9113 §7).
        var mustUseHTTP1 = false
        /// The parser of the chunks; nil for a body without chunks.
        var chunks: ChunkParser?
        /// The number of bytes at the start of the next raw piece that are parsed already: libcurl delivers a refused
        /// piece again from its beginning.
        var skippedRawBytes = 0
        /// The number of bytes at the start of the next piece of the body that are decoded already.
        var skippedCodedBytes = 0
        /// Whether the response is complete after its head, although libcurl would continue.
        var isCompleteAtHead = false
        /// The end of TLS, for a body that ends with its connection.
        var tlsClosure = TLSClosure.irrelevant

        /// Whether libcurl was stopped when it wanted to send the request again.
        var wasStopped: Bool { sendings > 1 }
    }
}

extension Exchange {
    /// The handle that carries the exchange; nil while libcurl does not have it.
    var handle: EasyHandle? {
        guard let carrier else { return nil }
        return unsafeDowncast(carrier, to: EasyHandle.self)
    }
}
