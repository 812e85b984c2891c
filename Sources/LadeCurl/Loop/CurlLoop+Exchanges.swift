import CCurl
import LadeCore
import LadeExchange

// An exchange in the loop: its start, its ending, its time-outs.
extension CurlLoop {
    func start(_ exchange: Exchange) {
        if case .finished = exchange.phase {
            // The exchange was cancelled in the turn in which it received a connection, which goes to the next waiter.
            admitted += admission.end(host: exchange.hostNumber, kind: exchange.kind)
            return
        }
        if case .waiting = exchange.phase { endWait(exchange) }
        guard let handle = idleHandles.popLast() ?? EasyHandle(share: share) else {
            let error = LoadingError(.transport(code: Int(CURLE_OUT_OF_MEMORY.rawValue), message: ""), exchange.context)
            finish(exchange, error, Response.Metrics())
            admitted += admission.end(host: exchange.hostNumber, kind: exchange.kind)
            return
        }
        exchange.phase = .running
        exchange.carrier = handle
        exchange.started = now
        exchange.lastActivity = now
        exchange.index = running.count
        running.append(exchange)
        if exchange.isStreamed, exchange.isSecure { streamsByHost[exchange.hostNumber, default: 0] += 1 }
        send(exchange, handle)
    }

    private func send(_ exchange: Exchange, _ handle: EasyHandle) {
        guard exchange.prepareForSending() else {
            let error = LoadingError(.connectionLost(exchange.progress, isSafeToRepeat: false), exchange.context)
            return end(exchange, handle, error)
        }
        handle.sending = EasyHandle.Sending()
        handle.carry(exchange, on: self)
        handle.prepare(plan(exchange), handleSettings)
        let result = curl_multi_add_handle(rawMulti, handle.raw)
        guard result == CURLM_OK else {
            let message = String(cString: curl_multi_strerror(result))
            return end(
                exchange,
                handle,
                LoadingError(.transport(code: Int(result.rawValue), message: message), exchange.context)
            )
        }
        handedOver.append(exchange)
        exchange.startPump(inbox: inbox)
        nextExpiry = min(nextExpiry, expiry(exchange, handle))
    }

    /// Sends a request again with the same handle.
    private func sendAgain(_ exchange: Exchange, _ handle: EasyHandle, isFresh: Bool) {
        curl_multi_remove_handle(rawMulti, handle.raw)
        releaseSocket(of: exchange, handle)
        exchange.needsFreshConnection = isFresh
        send(exchange, handle)
    }

    private func plan(_ exchange: Exchange) -> EasyHandle.Plan {
        let request = exchange.request
        var plan = EasyHandle.Plan(
            exchange: exchange,
            bodyLength: nil,
            hasBody: false,
            isFresh: exchange.needsFreshConnection || exchange.isUsedOnce || needsOwnConnection(exchange),
            awaitsSharing: exchange.isSecure && !exchange.isStreamed && request.version == .automatic
                && admission.awaitsSharing(host: exchange.hostNumber)
        )
        guard exchange.hasBody || request.method != .get else { return plan }
        plan.hasBody = request.body.map { $0.length != 0 || $0.trailers != nil } ?? false
        plan.bodyLength = request.body?.length
        if request.body == nil {
            // A method that normally has content sends `Content-Length: 0` without it (RFC 9110 §8.6).
            plan.bodyLength = request.method == .post || request.method == .put || request.method == .patch ? 0 : nil
        } else if request.body?.trailers != nil {
            plan.bodyLength = nil
        }
        return plan
    }

    /// Whether an exchange needs a new connection of its own.
    ///
    /// libcurl 7.88 opens 32 MiB windows and buffers paused HTTP/2 streams itself, so a stream gets a connection of its
    /// own. It is an idle connection of its kind when no stream to that host is in flight, otherwise a new one.
    private func needsOwnConnection(_ exchange: Exchange) -> Bool {
        exchange.isStreamed && streamsByHost[exchange.hostNumber, default: 0] > 1
    }

    // MARK: - Sockets

    /// Handles libcurl's request for events of a socket on behalf of an exchange, which therefore uses the socket.
    func noteUse(of socket: Int32, by easy: UnsafeMutableRawPointer?) {
        var context: UnsafeMutableRawPointer?
        // A handle that libcurl made for itself has no context.
        guard let easy, lade_easy_get_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK, context != nil else {
            return
        }
        EasyHandle.with(context) { handle, exchange, _ in noteUse(of: socket, by: handle, exchange) }
    }

    /// Records that an exchange uses a socket, and no other.
    func noteUse(of socket: Int32, by handle: EasyHandle, _ exchange: Exchange) {
        if let use = handle.socket, use.socket == socket, poller.isCurrent(use) { return }
        guard let use = poller.use(socket) else { return }
        releaseSocket(of: exchange, handle)
        handle.socket = use
    }

    private func releaseSocket(of exchange: Exchange, _ handle: EasyHandle) {
        guard let use = handle.socket.take() else { return }
        poller.release(use, now: now, isMultiplexed: exchange.isHTTP2)
    }

    // MARK: - Endings

    /// Records the version of a response, which determines how many calls a connection to the host can carry.
    func learned(_ version: Response.Version, exchange: Exchange) {
        guard exchange.isSecure, !exchange.isDowngraded else { return }
        // These are started when the turn settles: this is a callback, in which libcurl must not be called.
        admitted += admission.learn(version >= .http2 ? .streams : .none, host: exchange.hostNumber)
    }

    func ended(_ exchange: Exchange, _ code: CURLcode) {
        guard let handle = exchange.handle else { return }
        if handle.sending.needsOtherConnection {
            // Nothing was sent, so any method can be sent again.
            return sendAgain(exchange, handle, isFresh: true)
        }
        if handle.sending.isCompleteAtHead { return end(exchange, handle, nil) }
        if handle.sending.isUnproven { return }
        if let failure = exchange.failure { return end(exchange, handle, failure) }
        // libcurl 7.88 ends an exchange without an error when the connection is closed within the head.
        let isCutInHead = code == CURLE_OK && !exchange.hasHead && !exchange.isHTTP2
        if code == CURLE_OK, !isCutInHead {
            guard needsProof(exchange) else { return end(exchange, handle, shortfall(exchange, handle)) }
            handle.sending.isUnproven = true
            return unproven.append(exchange)
        }
        let wasStopped = handle.sending.wasStopped
        // nghttp2's message about a server that violates HTTP/2. On a reused connection, libcurl wants to send again
        // then too, and ends the exchange with the result of that attempt.
        let isBrokenHTTP2 = exchange.isHTTP2 && handle.message.contains("mem_recv()")
        // A refused socket and a refused sending end differently; neither result says why libcurl wanted to send again.
        let code =
            isCutInHead
            ? CURLE_GOT_NOTHING : !wasStopped ? code : isBrokenHTTP2 ? CURLE_RECV_ERROR : CURLE_ABORTED_BY_CALLBACK
        if wasStopped, !isBrokenHTTP2 { handle.forgetMessage() }
        // After a 417, libcurl wanted to send the request again; the response was complete.
        if wasStopped, exchange.hasHead { return end(exchange, handle, nil) }
        if handle.sending.mustUseHTTP1 {
            guard exchange.canDowngrade else {
                let error = LoadingError(.connectionLost(exchange.progress, isSafeToRepeat: false), exchange.context)
                return end(exchange, handle, error)
            }
            exchange.isDowngraded = true
            exchange.call.record(.exchangeRepeated(onFreshConnection: true))
            return sendAgain(exchange, handle, isFresh: true)
        }
        // The rest of the request could not be sent, because the server has responded and does not read it.
        if code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR, hasResponse(exchange, handle) {
            return end(exchange, handle, nil)
        }
        // The message for a stream that the server reset contains an error number; that for a lost connection does not.
        let isLostHTTP2 =
            (code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_PARTIAL_FILE)
            && !handle.message.contains("(err ")
        let isDead =
            wasStopped || code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR
            || isLostHTTP2
        if isDead, exchange.isHTTP2, let socket = handle.sending.sentOn, !brokenSockets.contains(socket) {
            brokenSockets.append(socket)
        }
        let canRepeat = exchange.isRepeatable && !exchange.wasRepeated
        if isDead, !isBrokenHTTP2, exchange.wasReused, exchange.progress == .nothing, canRepeat {
            exchange.wasRepeated = true
            exchange.call.record(.exchangeRepeated(onFreshConnection: true))
            // libcurl does not use this HTTP/2 connection again; its streams share the next one.
            return sendAgain(exchange, handle, isFresh: !exchange.isHTTP2)
        }
        // On a connection that was not reused, libcurl sends again for one reason only: REFUSED_STREAM.
        if wasStopped, !exchange.wasReused {
            return end(
                exchange,
                handle,
                LoadingError(.connectionLost(.nothing, isSafeToRepeat: true), exchange.context)
            )
        }
        end(exchange, handle, failure(exchange, handle, code).loadingError(exchange.context))
    }

    /// The error of an incomplete response that libcurl reports as complete; nil when it is complete.
    private func shortfall(_ exchange: Exchange, _ handle: EasyHandle) -> LoadingError? {
        var isComplete = handle.sending.chunks?.isComplete ?? true
        if handle.sending.tlsClosure == .unannounced {
            if handleSettings.settings.tolerances.contains(.missingCloseNotify) {
                exchange.call.record(.malformationTolerated(LoadingError.MalformedResponse(.closeNotify)))
            } else {
                isComplete = false
            }
        }
        return isComplete ? nil : incomplete(exchange, handle)
    }

    func incomplete(_ exchange: Exchange, _ handle: EasyHandle) -> LoadingError {
        LoadingError(
            .incompleteBody(received: handle.offset(CURLINFO_SIZE_DOWNLOAD_T), expected: nil),
            exchange.context
        )
    }

    /// Whether the response is complete by its own framing, whatever happened to the request.
    private func hasResponse(_ exchange: Exchange, _ handle: EasyHandle) -> Bool {
        guard let head = exchange.head, exchange.hasBody, !exchange.isHTTP2 else { return false }
        guard exchange.expectsBody(head) else { return true }
        if let chunks = handle.sending.chunks { return chunks.isComplete }
        return head.contentLength.map { $0 == handle.offset(CURLINFO_SIZE_DOWNLOAD_T) } ?? false
    }

    /// Records that the server has announced that it will end a connection.
    func noteGoAway(_ socket: Int32) {
        for exchange in running where exchange.handle?.sending.sentOn == socket {
            exchange.handle?.sending.wasEndingConnection = true
        }
    }

    private func failure(_ exchange: Exchange, _ handle: EasyHandle, _ code: CURLcode) -> CurlFailure {
        var failure = CurlFailure(code: code, message: handle.message, host: exchange.host, progress: exchange.progress)
        failure.verifyResult = handle.long(CURLINFO_SSL_VERIFYRESULT)
        failure.systemError = Int32(truncatingIfNeeded: handle.long(CURLINFO_OS_ERRNO))
        if failure.systemError == 0 { failure.systemError = handle.sending.socketError }
        failure.proxyCode = handle.long(CURLINFO_PROXY_ERROR)
        failure.connectStatus = handle.long(CURLINFO_HTTP_CONNECTCODE)
        failure.proxy = exchange.proxyName(of: handleSettings)
        failure.received = handle.offset(CURLINFO_SIZE_DOWNLOAD_T)
        failure.expected = exchange.head?.contentLength
        failure.headLines = exchange.headLines
        failure.wasSent = handle.sending.sendings > 0
        failure.isHTTP2 = exchange.isHTTP2
        failure.lacksDescriptors = failure.mayLackDescriptors && CurlFailure.isShortOfDescriptors
        return failure
    }

    /// The error for a proxy's response to CONNECT that is too long.
    func tunnelFailure(_ exchange: Exchange, _ handle: EasyHandle, limit: Int) -> LoadingError {
        let failure = failure(exchange, handle, CURLE_RECV_ERROR)
        return failure.tunnelRefusal(exchange.context) ?? LoadingError(.headTooLarge(.bytes(limit)), exchange.context)
    }

    func end(_ exchange: Exchange, _ handle: EasyHandle, _ error: LoadingError?) {
        announce(exchange)
        let metrics = exchange.metrics(handle)
        let isConnectFailure = error?.isCancellation == false && handle.sending.isMoving && handle.sending.sendings == 0
        detach(exchange, handle)
        finish(exchange, error, metrics)
        if isConnectFailure { admitted += admission.noteConnection(isMade: false, host: exchange.hostNumber) }
        admitted += admission.end(host: exchange.hostNumber, kind: exchange.kind)
        nextExpiry = min(nextExpiry, now + idleLife)
    }

    /// Ends an exchange with an outcome, and resumes its tasks at the end of this turn.
    func finish(_ exchange: Exchange, _ error: LoadingError?, _ metrics: Response.Metrics) {
        let wakening = exchange.finish(error, metrics: metrics)
        if let reader = wakening.reader { resume(reader, .direct) }
        if let caller = wakening.caller { resume(caller, exchange.lane) }
    }

    /// Ends the exchanges that a callback stopped.
    func endBroken() {
        guard !broken.isEmpty else { return }
        for exchange in broken {
            guard let handle = exchange.handle else { continue }
            end(exchange, handle, exchange.failure)
        }
        broken.removeAll(keepingCapacity: true)
    }

    /// Removes an exchange and its handle from libcurl.
    func detach(_ exchange: Exchange, _ handle: EasyHandle) {
        curl_multi_remove_handle(rawMulti, handle.raw)
        releaseSocket(of: exchange, handle)
        exchange.carrier = nil
        handle.putDown()
        // libcurl 7.88 keeps the state of sent trailers through a reset. The next chunked upload of the handle would
        // then write its first chunk's size before the start of the buffer.
        let isReusable = !exchange.hasBody || exchange.request.body?.trailers == nil
        if idleHandles.count < 256, isReusable { idleHandles.append(handle) }
        let last = running.removeLast()
        if last !== exchange {
            running[exchange.index] = last
            last.index = exchange.index
        }
        if exchange.isStreamed, exchange.isSecure {
            let left = streamsByHost[exchange.hostNumber, default: 1] - 1
            streamsByHost[exchange.hostNumber] = left > 0 ? left : nil
        }
    }
}
