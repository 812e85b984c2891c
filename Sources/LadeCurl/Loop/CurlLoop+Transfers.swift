import CCurl
import LadeCore
import LadeExchange

// An exchange in the loop: its start, its ending, its time-outs.
extension CurlLoop {
    func start(_ transfer: Transfer) {
        if case .finished = transfer.phase {
            // The transfer was cancelled in the turn in which it received a connection, which goes to the next waiter.
            admitted += admission.end(host: transfer.hostNumber, kind: transfer.kind)
            return
        }
        if case .waiting = transfer.phase { endWait(transfer) }
        guard let handle = idleHandles.popLast() ?? EasyHandle(share: share) else {
            let error = LoadingError(.transport(code: Int(CURLE_OUT_OF_MEMORY.rawValue), message: ""), transfer.context)
            transfer.finish(error, metrics: Response.Metrics(), on: self)
            admitted += admission.end(host: transfer.hostNumber, kind: transfer.kind)
            return
        }
        transfer.phase = .running(handle)
        transfer.started = now
        transfer.lastActivity = now
        transfer.index = running.count
        running.append(transfer)
        if transfer.isStreamed, transfer.isSecure { streamsByHost[transfer.hostNumber, default: 0] += 1 }
        send(transfer, handle)
    }

    private func send(_ transfer: Transfer, _ handle: EasyHandle) {
        transfer.prepareForSending()
        handle.carry(transfer, on: self)
        handle.prepare(plan(transfer), handleSettings)
        let result = curl_multi_add_handle(rawMulti, handle.raw)
        guard result == CURLM_OK else {
            let message = String(cString: curl_multi_strerror(result))
            return end(
                transfer,
                handle,
                LoadingError(.transport(code: Int(result.rawValue), message: message), transfer.context)
            )
        }
        handedOver.append(transfer)
        startPump(transfer)
        nextExpiry = min(nextExpiry, expiry(transfer))
    }

    /// Sends a request again with the same handle.
    private func sendAgain(_ transfer: Transfer, _ handle: EasyHandle, isFresh: Bool) {
        curl_multi_remove_handle(rawMulti, handle.raw)
        releaseSocket(of: transfer)
        transfer.needsFreshConnection = isFresh
        send(transfer, handle)
    }

    private func plan(_ transfer: Transfer) -> EasyHandle.Plan {
        let request = transfer.request
        var plan = EasyHandle.Plan(
            transfer: transfer,
            bodyLength: nil,
            hasBody: false,
            isFresh: transfer.needsFreshConnection || transfer.isUsedOnce || needsOwnConnection(transfer),
            awaitsSharing: transfer.isSecure && !transfer.isStreamed && request.version == .automatic
                && admission.awaitsSharing(host: transfer.hostNumber)
        )
        guard transfer.hasBody || request.method != .get else { return plan }
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

    /// Whether a transfer needs a new connection of its own.
    ///
    /// libcurl 7.88 opens 32 MiB windows and buffers paused HTTP/2 streams itself, so a stream gets a connection of its
    /// own. It is an idle connection of its kind when no stream to that host is in flight, otherwise a new one.
    private func needsOwnConnection(_ transfer: Transfer) -> Bool {
        transfer.isStreamed && streamsByHost[transfer.hostNumber, default: 0] > 1
    }

    private func startPump(_ transfer: Transfer) {
        guard transfer.hasBody, transfer.pipe == nil, let body = transfer.request.body, !body.isEmptyStream else {
            return
        }
        let write: @Sendable (RequestBody.ChunkWriter) async throws -> Void
        switch body.content {
        case .bytes: return
        case .file(let path, let offset):
            // Read in a task and not on the loop, so that a slow disk delays no other transfer.
            let context = transfer.context
            write = { write in
                let source = try FileSource(path: path, offset: offset, context: context)
                // If the file has grown since, no more than the announced length may be sent.
                var remaining = body.length ?? .max
                while remaining > 0, let chunk = try await source.next() {
                    try await write(chunk.prefix(Int(clamping: remaining)))
                    remaining -= Int64(chunk.count)
                }
            }
        case .stream(let writer): write = writer
        }
        let pipe = UploadPipe(declaredLength: body.length, context: transfer.context) { [inbox] in
            inbox.post(.resume(transfer, .upload))
        }
        transfer.pipe = pipe
        // Owned by the transfer, which cancels the task when it ends.
        transfer.pump = Task {
            do {
                try await write { chunk throws(LoadingError) in try await pipe.write(chunk) }
                pipe.end(nil)
            } catch {
                pipe.end(error)
            }
        }
    }

    // MARK: - Sockets

    /// Handles libcurl's request for events of a socket on behalf of a transfer, which therefore uses the socket.
    func noteUse(of socket: Int32, by easy: UnsafeMutableRawPointer?) {
        var context: UnsafeMutableRawPointer?
        // A handle that libcurl made for itself has no context.
        guard let easy, lade_easy_get_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK, context != nil else {
            return
        }
        EasyHandle.with(context) { _, transfer, _ in noteUse(of: socket, by: transfer) }
    }

    /// Records that a transfer uses a socket, and no other.
    func noteUse(of socket: Int32, by transfer: Transfer) {
        if let use = transfer.socket, use.socket == socket, poller.isCurrent(use) { return }
        guard let use = poller.use(socket) else { return }
        releaseSocket(of: transfer)
        transfer.socket = use
    }

    private func releaseSocket(of transfer: Transfer) {
        guard let use = transfer.socket.take() else { return }
        poller.release(use, now: now, isMultiplexed: transfer.isHTTP2)
    }

    // MARK: - Endings

    /// Records the version of a response, which determines how many calls a connection to the host can carry.
    func learned(_ version: HTTPVersion, transfer: Transfer) {
        guard transfer.isSecure, !transfer.isDowngraded else { return }
        // These are started when the turn settles: this is a callback, in which libcurl must not be called.
        admitted += admission.learn(version >= .http2 ? .streams : .none, host: transfer.hostNumber)
    }

    func ended(_ transfer: Transfer, _ code: CURLcode) {
        guard case .running(let handle) = transfer.phase else { return }
        if transfer.needsOtherConnection {
            // Nothing was sent, so any method can be sent again.
            return sendAgain(transfer, handle, isFresh: true)
        }
        if transfer.isCompleteAtHead { return end(transfer, handle, nil) }
        if transfer.isUnproven { return }
        if let failure = transfer.failure { return end(transfer, handle, failure) }
        // libcurl 7.88 ends an exchange without an error when the connection is closed within the head.
        let isCutInHead = code == CURLE_OK && transfer.head == nil && !transfer.isHTTP2
        if code == CURLE_OK, !isCutInHead {
            guard needsProof(transfer) else { return end(transfer, handle, shortfall(transfer, handle)) }
            transfer.isUnproven = true
            return unproven.append(transfer)
        }
        let wasStopped = transfer.wasStopped
        // nghttp2's message about a server that violates HTTP/2. On a reused connection, libcurl wants to send again
        // then too, and ends the exchange with the result of that attempt.
        let isBrokenHTTP2 = transfer.isHTTP2 && handle.message.contains("mem_recv()")
        // A refused socket and a refused sending end differently; neither result says why libcurl wanted to send again.
        let code =
            isCutInHead
            ? CURLE_GOT_NOTHING : !wasStopped ? code : isBrokenHTTP2 ? CURLE_RECV_ERROR : CURLE_ABORTED_BY_CALLBACK
        if wasStopped, !isBrokenHTTP2 { handle.forgetMessage() }
        // After a 417, libcurl wanted to send the request again; the response was complete.
        if wasStopped, transfer.head != nil { return end(transfer, handle, nil) }
        if transfer.mustUseHTTP1 {
            guard transfer.canDowngrade else {
                let error = LoadingError(.connectionLost(transfer.progress, isSafeToRepeat: false), transfer.context)
                return end(transfer, handle, error)
            }
            transfer.isDowngraded = true
            transfer.call.record(.exchangeRepeated(onFreshConnection: true))
            return sendAgain(transfer, handle, isFresh: true)
        }
        // The rest of the request could not be sent, because the server has answered and does not read it.
        if code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR, isAnswered(transfer, handle) {
            return end(transfer, handle, nil)
        }
        // The message for a stream that the server reset contains an error number; that for a lost connection does not.
        let isLostHTTP2 =
            (code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_PARTIAL_FILE)
            && !handle.message.contains("(err ")
        let isDead =
            wasStopped || code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR
            || isLostHTTP2
        if isDead, transfer.isHTTP2, let socket = transfer.sentOn, !brokenSockets.contains(socket) {
            brokenSockets.append(socket)
        }
        let canRepeat = transfer.isRepeatable && !transfer.wasRepeated
        if isDead, !isBrokenHTTP2, transfer.wasReused, transfer.progress == .nothing, canRepeat {
            transfer.wasRepeated = true
            transfer.call.record(.exchangeRepeated(onFreshConnection: true))
            // libcurl does not use this HTTP/2 connection again; its streams share the next one.
            return sendAgain(transfer, handle, isFresh: !transfer.isHTTP2)
        }
        // On a connection that was not reused, libcurl sends again for one reason only: REFUSED_STREAM.
        if wasStopped, !transfer.wasReused {
            return end(
                transfer,
                handle,
                LoadingError(.connectionLost(.nothing, isSafeToRepeat: true), transfer.context)
            )
        }
        end(transfer, handle, failure(transfer, handle, code).loadingError(transfer.context))
    }

    /// The error of an incomplete response that libcurl reports as complete; nil when it is complete.
    private func shortfall(_ transfer: Transfer, _ handle: EasyHandle) -> LoadingError? {
        var isComplete = transfer.chunks?.isComplete ?? true
        if transfer.ending == .unannounced {
            if handleSettings.settings.tolerances.contains(.missingCloseNotify) {
                transfer.call.record(.malformationTolerated(LoadingError.MalformedResponse(.closeNotify)))
            } else {
                isComplete = false
            }
        }
        return isComplete ? nil : incomplete(transfer, handle)
    }

    func incomplete(_ transfer: Transfer, _ handle: EasyHandle) -> LoadingError {
        LoadingError(
            .incompleteBody(received: handle.offset(CURLINFO_SIZE_DOWNLOAD_T), expected: nil),
            transfer.context
        )
    }

    /// Whether the response is complete by its own framing, whatever happened to the request.
    private func isAnswered(_ transfer: Transfer, _ handle: EasyHandle) -> Bool {
        guard let head = transfer.head, transfer.hasBody, !transfer.isHTTP2 else { return false }
        if transfer.request.method == .head || head.status == 204 || head.status == 304 { return true }
        if let chunks = transfer.chunks { return chunks.isComplete }
        return head.contentLength.map { $0 == handle.offset(CURLINFO_SIZE_DOWNLOAD_T) } ?? false
    }

    /// Records that the server has announced that it will end a connection.
    func noteGoAway(_ socket: Int32) {
        for transfer in running where transfer.sentOn == socket { transfer.wasEndingConnection = true }
        for transfer in unproven where transfer.sentOn == socket { transfer.wasEndingConnection = true }
    }

    private func failure(_ transfer: Transfer, _ handle: EasyHandle, _ code: CURLcode) -> CurlFailure {
        var failure = CurlFailure(code: code, message: handle.message, host: transfer.host, progress: transfer.progress)
        failure.verifyResult = handle.long(CURLINFO_SSL_VERIFYRESULT)
        failure.systemError = Int32(truncatingIfNeeded: handle.long(CURLINFO_OS_ERRNO))
        if failure.systemError == 0 { failure.systemError = transfer.socketError }
        failure.proxyCode = handle.long(CURLINFO_PROXY_ERROR)
        failure.connectStatus = handle.long(CURLINFO_HTTP_CONNECTCODE)
        failure.proxy = transfer.proxyName(of: handleSettings)
        failure.received = handle.offset(CURLINFO_SIZE_DOWNLOAD_T)
        failure.expected = transfer.head?.contentLength
        failure.headLines = transfer.vetting.lines
        failure.wasSent = transfer.sendings > 0
        failure.isHTTP2 = transfer.isHTTP2
        failure.lacksDescriptors = failure.mayLackDescriptors && CurlFailure.isShortOfDescriptors
        return failure
    }

    /// The error for a proxy's response to CONNECT that is too long.
    func tunnelFailure(_ transfer: Transfer, _ handle: EasyHandle, limit: Int) -> LoadingError {
        let failure = failure(transfer, handle, CURLE_RECV_ERROR)
        return failure.tunnelRefusal(transfer.context) ?? LoadingError(.headTooLarge(.bytes(limit)), transfer.context)
    }

    func end(_ transfer: Transfer, _ handle: EasyHandle, _ error: LoadingError?) {
        announce(transfer)
        let metrics = transfer.metrics(handle)
        let isConnectFailure = error?.isCancellation == false && transfer.isMoving && transfer.sendings == 0
        detach(transfer, handle)
        transfer.finish(error, metrics: metrics, on: self)
        if isConnectFailure { admitted += admission.noteConnection(isMade: false, host: transfer.hostNumber) }
        admitted += admission.end(host: transfer.hostNumber, kind: transfer.kind)
        nextExpiry = min(nextExpiry, now + idleLife)
    }

    /// Ends the exchanges that a callback stopped.
    func endBroken() {
        guard !broken.isEmpty else { return }
        for transfer in broken {
            guard case .running(let handle) = transfer.phase else { continue }
            end(transfer, handle, transfer.failure)
        }
        broken.removeAll(keepingCapacity: true)
    }

    /// Removes a transfer and its handle from libcurl.
    func detach(_ transfer: Transfer, _ handle: EasyHandle) {
        curl_multi_remove_handle(rawMulti, handle.raw)
        releaseSocket(of: transfer)
        handle.putDown()
        // libcurl 7.88 keeps the state of sent trailers through a reset. The next chunked upload of the handle would
        // then write its first chunk's size before the start of the buffer.
        let isReusable = !transfer.hasBody || transfer.request.body?.trailers == nil
        if idleHandles.count < 256, isReusable { idleHandles.append(handle) }
        let last = running.removeLast()
        if last !== transfer {
            running[transfer.index] = last
            last.index = transfer.index
        }
        if transfer.isStreamed, transfer.isSecure {
            let left = streamsByHost[transfer.hostNumber, default: 1] - 1
            streamsByHost[transfer.hostNumber] = left > 0 ? left : nil
        }
    }
}
