import CCurl
import LadeCore
import LadeExchange

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension EasyHandle {
    /// Sets the exchange and the loop that the callbacks use; called before each sending.
    func carry(_ exchange: Exchange, on loop: CurlLoop) {
        exchange.carrier = self
        carried = Unmanaged.passUnretained(exchange)
        self.loop = Unmanaged.passUnretained(loop)
    }

    /// Runs `body` with the handle and the exchange that this callback is about.
    ///
    /// The loop keeps the handle, the exchange and itself alive until the handle is removed from the multi handle. No
    /// callback comes after that.
    static func with<Result>(
        _ context: UnsafeMutableRawPointer?,
        _ body: (EasyHandle, Exchange, CurlLoop) -> Result
    ) -> Result {
        guard let context else { preconditionFailure("libcurl lost the context of an exchange") }
        return Unmanaged<EasyHandle>.fromOpaque(context)._withUnsafeGuaranteedRef { handle in
            guard let exchange = handle.carried, let loop = handle.loop else {
                preconditionFailure("a callback came for a handle that carries nothing")
            }
            return exchange._withUnsafeGuaranteedRef { exchange in
                loop._withUnsafeGuaranteedRef { body(handle, exchange, $0) }
            }
        }
    }

    /// Connects libcurl's callbacks to this handle; needed after each reset.
    func setCallbacks() {
        let context = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        set(pointer: CURLOPT_PRIVATE, context)
        set(pointer: CURLOPT_HEADERDATA, context)
        set(pointer: CURLOPT_WRITEDATA, context)
        set(pointer: CURLOPT_PREREQDATA, context)
        set(pointer: CURLOPT_OPENSOCKETDATA, context)
        set(pointer: CURLOPT_RESOLVER_START_DATA, context)
        setLogReader()
        // Connections outlive exchanges and handles, so the loop receives the close callback.
        if let loop { set(pointer: CURLOPT_CLOSESOCKETDATA, UnsafeRawPointer(loop.toOpaque())) }
        lade_easy_set_bytes_callback(raw, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            EasyHandle.with(context) { handle, exchange, loop in
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count).bindMemory(to: UInt8.self)
                return exchange.received(line: line, handle, on: loop) ? size * count : 0
            }
        }
        lade_easy_set_bytes_callback(raw, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            EasyHandle.with(context) { handle, exchange, loop in
                exchange.received(raw: UnsafeRawBufferPointer(start: bytes, count: size * count), handle, on: loop)
            }
        }
        lade_easy_set_prereq(raw) { context, remote, local, remotePort, localPort in
            EasyHandle.with(context) { handle, exchange, loop in
                loop.noteMoving(exchange, handle)
                handle.endTunnelWatch()
                guard exchange.mayBeSent(handle), let remote, let local,
                    loop.maySend(
                        exchange,
                        handle,
                        on: ConnectionEnds(remote: remote, local: local, remotePort: remotePort, localPort: localPort)
                    )
                else { return CURL_PREREQFUNC_ABORT }
                loop.noteConnected(exchange, handle)
                return CURL_PREREQFUNC_OK
            }
        }
        set(pointer: CURLOPT_XFERINFODATA, context)
        lade_easy_set_progress(raw) { context, _, _, _, _ in
            EasyHandle.with(context) { handle, exchange, loop in handle.progressed(exchange, loop) ? 0 : 1 }
        }
        if let loop { TLSReadLimit.set(self, loop) }
        lade_easy_set_open(raw) { context, _, address in
            EasyHandle.with(context) { handle, exchange, loop in loop.openSocket(address, for: exchange, handle) }
        }
        lade_easy_set_close(raw) { context, socket in
            CurlLoop.from(context).closeSocket(socket)
        }
        lade_easy_set_resolver_start(raw) { _, _, context in
            EasyHandle.with(context) { handle, exchange, loop in
                loop.noteMoving(exchange, handle)
                handle.sending.connectStarted = handle.sending.connectStarted ?? loop.now
                return 0
            }
        }
    }

    /// The connection is closed after the exchange.
    func forbidReuse() {
        setup = nil
        set(CURLOPT_FORBID_REUSE, true)
    }

    /// The largest number of bytes of a proxy's response to CONNECT.
    private static let tunnelHeadLimit = 64 << 10

    /// Records that the connection is made, and that no further response of a proxy follows.
    func endTunnelWatch() {
        if sending.tunnelBytes > 0 { set(CURLOPT_NOPROGRESS, true) }
    }

    /// Whether libcurl may open a socket for the request; it may not when it would send the request again.
    func mayConnect() -> Bool {
        guard sending.sendings > 0 else { return true }
        sending.sendings += 1
        return false
    }

    /// Makes libcurl report each byte of a proxy's response to CONNECT.
    ///
    /// libcurl has no limit for the body of a refusal or for the length of the head.
    func watchTunnel() {
        set(CURLOPT_NOPROGRESS, false)
    }

    /// Checks that TLS announced the end of a connection that ends a body (RFC 9112 §9.8).
    ///
    /// libcurl 7.88 treats the end of TCP as the end of TLS. It reports progress after each read, including the last.
    func watchForCloseNotify() {
        setup = nil
        set(CURLOPT_NOPROGRESS, false)
    }

    /// Handles a progress report of libcurl.
    ///
    /// Returns whether the exchange continues.
    private func progressed(_ exchange: Exchange, _ loop: CurlLoop) -> Bool {
        guard exchange.isCarried else { return true }
        guard sending.sendings > 0 else {
            sending.tunnelBytes += 1
            guard sending.tunnelBytes > Self.tunnelHeadLimit else { return true }
            exchange.failure = loop.tunnelFailure(exchange, self, limit: Self.tunnelHeadLimit)
            return false
        }
        if awaitsSending {
            endAwaitingSending()
            watch(for: .goAway)
        }
        if sending.tlsClosure == .unannounced, TLSSession(self)?.hasEnded == true { sending.tlsClosure = .announced }
        return true
    }

    /// Connects the callbacks of a request body.
    func setBodyCallbacks(_ body: Request.Body) {
        let context = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        set(pointer: CURLOPT_READDATA, context)
        lade_easy_set_bytes_callback(raw, CURLOPT_READFUNCTION) { bytes, size, count, context in
            EasyHandle.with(context) { handle, exchange, loop in
                exchange.fill(UnsafeMutableRawBufferPointer(start: bytes, count: size * count), handle, on: loop)
            }
        }
        // When libcurl 7.88 wants to send a body again, it keeps a note to rewind it, through a reset too. The loop refuses
        // that sending, and the next one of the handle begins with the first byte of its own body.
        lade_easy_accept_rewinding(raw)
        guard body.trailers != nil else { return }
        set(pointer: CURLOPT_TRAILERDATA, context)
        lade_easy_set_trailer(raw) { list, context in
            EasyHandle.with(context) { _, exchange, _ in
                for field in exchange.request.body?.trailers?() ?? Headers() {
                    guard let longer = curl_slist_append(list?.pointee, field.name + ": " + field.value) else { break }
                    list?.pointee = longer
                }
                return Int32(CURL_TRAILERFUNC_OK)
            }
        }
    }
}

extension CurlLoop {
    fileprivate func openSocket(
        _ address: UnsafeMutablePointer<curl_sockaddr>?,
        for exchange: Exchange,
        _ handle: EasyHandle
    ) -> curl_socket_t {
        noteMoving(exchange, handle)
        guard handle.mayConnect() else { return CURL_SOCKET_BAD }
        handle.sending.connectStarted = handle.sending.connectStarted ?? now
        guard let address = address?.pointee else { return CURL_SOCKET_BAD }
        #if canImport(Glibc)
            let type = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
        #elseif canImport(Musl)
            let type = address.socktype | SOCK_CLOEXEC
        #else
            let type = address.socktype
        #endif
        let descriptor = socket(address.family, type, address.`protocol`)
        handle.sending.socketError = descriptor < 0 ? errno : 0
        if descriptor >= 0 {
            poller.opened(descriptor)
            handle.sending.opened.append(descriptor)
        }
        return descriptor
    }

    fileprivate func closeSocket(_ descriptor: curl_socket_t) -> Int32 {
        poller.closing(descriptor)
        connections.closing(descriptor)
        return close(descriptor)
    }
}
