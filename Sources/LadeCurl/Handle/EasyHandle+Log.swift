import CCurl
import LadeCore

// What only libcurl's log tells. Writing it costs time, so it is on only while something is looked for in it.
extension EasyHandle {
    /// What is looked for in libcurl's log.
    struct Watches: OptionSet {
        let rawValue: UInt8

        /// Bytes after an answer without a body, which libcurl throws away to use the connection again (TR-19).
        static let surplus = Watches(rawValue: 1)
        /// GOAWAY on the connection of an exchange over HTTP/2.
        static let goAway = Watches(rawValue: 2)
        /// A folded line where the first field of a head is expected.
        static let firstField = Watches(rawValue: 4)
    }

    /// Whether libcurl keeps a pointer to the last field of a handle's previous answer, which is freed (curl issue 11101).
    ///
    /// A folded line right after the status line of the next answer is appended there, before the header callback is
    /// called. Since 8.2 for certain libcurl does not.
    static let keepsFreedField = (curl_version_info(CURLVERSION_FIRST)?.pointee.version_num ?? 0) < 0x08_02_00

    /// Begins to look for something in the log.
    func watch(for sign: Watches) {
        if watches.isEmpty { set(CURLOPT_VERBOSE, true) }
        watches.formUnion(sign)
    }

    /// Begins to look for GOAWAY as soon as the request has been written; called immediately before that.
    ///
    /// Writing a request over HTTP/2 fills a page of the log, and its answer may be read in the same call into libcurl.
    /// Between the two libcurl reports progress.
    func watchForGoAwayOnceSent() {
        awaitsSending = true
        set(CURLOPT_NOPROGRESS, false)
    }

    /// Has libcurl report no progress any more.
    func endAwaitingSending() {
        guard awaitsSending else { return }
        awaitsSending = false
        set(CURLOPT_NOPROGRESS, true)
    }

    /// Looks for something no longer.
    func stopWatching(for signs: Watches) {
        guard !watches.isDisjoint(with: signs) else { return }
        watches.subtract(signs)
        if watches.isEmpty { set(CURLOPT_VERBOSE, false) }
    }

    /// Connects the reader of the log to this handle; needed after each reset.
    func setLogReader() {
        set(pointer: CURLOPT_DEBUGDATA, UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
        lade_easy_set_debug(raw) { _, kind, text, count, context in
            guard kind == CURLINFO_TEXT || kind == CURLINFO_HEADER_IN, let text else { return 0 }
            let line = UnsafeRawBufferPointer(start: text, count: count)
            EasyHandle.with(context) { transfer, loop in
                guard case .running(let handle) = transfer.phase else { return }
                if kind == CURLINFO_HEADER_IN {
                    handle.read(headerLine: line, of: transfer, on: loop)
                } else {
                    handle.read(remark: line, of: transfer, on: loop)
                }
            }
            return 0
        }
    }

    /// Looks at a header line that libcurl has not handled yet.
    private func read(headerLine line: UnsafeRawBufferPointer, of transfer: Transfer, on loop: CurlLoop) {
        guard watches.contains(.firstField), line.first == 0x20 || line.first == 0x09 else { return }
        // Reading is paused and never continued: libcurl stores what comes now without looking at it.
        transfer.refuse(foldedLine: line)
        curl_easy_pause(raw, transfer.pauses)
        loop.broken.append(transfer)
    }

    private func read(remark line: UnsafeRawBufferPointer, of transfer: Transfer, on loop: CurlLoop) {
        if watches.contains(.surplus), line.starts(with: "Excess found".utf8) { forbidReuse() }
        guard watches.contains(.goAway), let socket = transfer.sentOn else { return }
        // The misspelling is libcurl 7.88's.
        let isGoAway =
            line.starts(with: "recveived GOAWAY, error=0,".utf8) || line.starts(with: "received GOAWAY, error=0,".utf8)
        if isGoAway { loop.noteGoAway(socket) }
    }
}
