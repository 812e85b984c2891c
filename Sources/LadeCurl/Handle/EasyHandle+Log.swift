import CCurl
import LadeCore
import LadeExchange

// Facts that only libcurl's log contains. Writing the log costs time, so it is enabled only while a fact is needed.
extension EasyHandle {
    /// The signs to look for in libcurl's log.
    struct Watches: OptionSet {
        let rawValue: UInt8

        /// Bytes after a response without a body, which libcurl discards in order to reuse the connection.
        static let surplus = Watches(rawValue: 1)
        /// GOAWAY or HTTP_1_1_REQUIRED on the connection of an HTTP/2 exchange.
        static let goAway = Watches(rawValue: 2)
        /// A folded line where the first field of a head is expected.
        static let firstField = Watches(rawValue: 4)
    }

    /// Whether libcurl keeps a pointer to the last field of a handle's previous response, which was freed (curl issue
    /// 11101).
    ///
    /// libcurl appends a folded line right after the next status line to that field, before the header callback.
    /// libcurl 8.2 and later do not.
    static let keepsFreedField = (curl_version_info(CURLVERSION_FIRST)?.pointee.version_num ?? 0) < 0x08_02_00

    /// Starts looking for a sign in the log.
    func watch(for sign: Watches) {
        if watches.isEmpty { set(CURLOPT_VERBOSE, true) }
        watches.formUnion(sign)
    }

    /// Starts looking for GOAWAY when the request has been written; called immediately before the writing.
    ///
    /// Writing an HTTP/2 request fills a page of the log, so the log is enabled after it. libcurl may read the response
    /// in the same call, but reports progress between the two.
    func watchForGoAwayOnceSent() {
        awaitsSending = true
        set(CURLOPT_NOPROGRESS, false)
    }

    /// Ends libcurl's progress reports.
    func endAwaitingSending() {
        guard awaitsSending else { return }
        awaitsSending = false
        set(CURLOPT_NOPROGRESS, true)
    }

    /// Stops looking for signs in the log.
    func stopWatching(for signs: Watches) {
        guard !watches.isDisjoint(with: signs) else { return }
        watches.subtract(signs)
        if watches.isEmpty { set(CURLOPT_VERBOSE, false) }
    }

    /// Sets the callback that reads the log; needed after each reset.
    func setLogReader() {
        set(pointer: CURLOPT_DEBUGDATA, UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
        lade_easy_set_debug(raw) { _, kind, text, count, context in
            guard kind == CURLINFO_TEXT || kind == CURLINFO_HEADER_IN, let text else { return 0 }
            let line = UnsafeRawBufferPointer(start: text, count: count)
            EasyHandle.with(context) { handle, exchange, loop in
                guard exchange.isCarried else { return }
                if kind == CURLINFO_HEADER_IN {
                    handle.read(headerLine: line, of: exchange, on: loop)
                } else {
                    handle.read(remark: line, of: exchange, on: loop)
                }
            }
            return 0
        }
    }

    /// Checks a header line that libcurl has not handled yet.
    private func read(headerLine line: UnsafeRawBufferPointer, of exchange: Exchange, on loop: CurlLoop) {
        guard watches.contains(.firstField), line.first == 0x20 || line.first == 0x09 else { return }
        // Reading is paused and never continued: libcurl stores further bytes without parsing them.
        exchange.refuse(foldedLine: line)
        sending.pauses |= CURLPAUSE_RECV
        curl_easy_pause(raw, sending.pauses)
        loop.broken.append(exchange)
    }

    private func read(remark line: UnsafeRawBufferPointer, of exchange: Exchange, on loop: CurlLoop) {
        if watches.contains(.surplus), line.starts(with: "Excess found".utf8) { forbidReuse() }
        guard watches.contains(.goAway) else { return }
        // libcurl's line about a stream that the server has reset ends with the name of the error and its number.
        if line.starts(with: "HTTP/2 stream ".utf8), String(decoding: line, as: UTF8.self).contains("HTTP_1_1_REQUIRED")
        {
            sending.mustUseHTTP1 = true
        }
        guard let socket = sending.sentOn else { return }
        // libcurl 7.88 misspells this word.
        let isGoAway =
            line.starts(with: "recveived GOAWAY, error=0,".utf8) || line.starts(with: "received GOAWAY, error=0,".utf8)
        if isGoAway { loop.noteGoAway(socket) }
    }
}
