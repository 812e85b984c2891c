import CCurl
import LadeCore
import LadeExchange

/// An easy handle of libcurl with the memory that it needs: error text and lists.
///
/// Used only by the loop thread.
///
/// Handles are pooled and reset, so that no option of one exchange can leak into the next. A plain GET that follows a
/// plain GET to the same host needs no reset: the two differ only in address and headers.
final class EasyHandle {
    let curl: OpaquePointer
    /// The exchange of the callbacks and the loop that they run on; both outlive these references.
    var carried: Unmanaged<Exchange>?
    var loop: Unmanaged<CurlLoop>?
    /// The setup of the current options; nil when they cannot be reused.
    var setup: Setup?
    /// The signs to look for in libcurl's log.
    @exclusivity(unchecked) var watches: Watches = []
    /// Whether libcurl reports progress, which shows when an HTTP/2 request has been written.
    @exclusivity(unchecked) var awaitsSending = false
    /// The state of the present sending.
    @exclusivity(unchecked) var sending = Sending()
    /// The socket that carries the exchange; nil until libcurl has chosen one.
    @exclusivity(unchecked) var socket: Poller.Use?
    private let errorText: UnsafeMutablePointer<CChar>
    /// The parsed address for libcurl, and the text that it was made from.
    private let parsed: OpaquePointer
    private var address = ""
    /// The fields that the list of header lines was made from.
    @exclusivity(unchecked) var headers = Headers()
    // Used by one thread at a time, and never while it changes.
    @exclusivity(unchecked) private var lists: [(option: CURLoption, list: UnsafeMutablePointer<curl_slist>)] = []

    /// Makes a handle; the share handle survives every reset.
    init?(share: OpaquePointer?) {
        guard let curl = curl_easy_init() else { return nil }
        guard let parsed = curl_url() else {
            curl_easy_cleanup(curl)
            return nil
        }
        self.parsed = parsed
        if let share { lade_easy_set_pointer(curl, CURLOPT_SHARE, UnsafeRawPointer(share)) }
        self.curl = OpaquePointer(curl)
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(to: 0)
    }

    deinit {
        curl_easy_cleanup(raw)
        curl_url_cleanup(parsed)
        freeLists()
        errorText.deallocate()
    }

    /// The handle as the type that libcurl's functions take.
    var raw: UnsafeMutableRawPointer { UnsafeMutableRawPointer(curl) }

    /// The message of libcurl about the last failure; libcurl clears it when the handle is added to a multi handle.
    var message: String { String(cString: errorText) }

    /// Sets the address, and parses it only when it has changed.
    ///
    /// Parsing takes a sixth of the time that libcurl spends on a small exchange.
    func set(address: String) {
        if !address.isSpelled(like: self.address) {
            // An address that libcurl cannot parse is passed as text, so that libcurl reports the reason.
            let code = curl_url_set(parsed, CURLUPART_URL, address, UInt32(CURLU_PATH_AS_IS))
            self.address = code == CURLUE_OK ? address : ""
            guard code == CURLUE_OK else {
                set(pointer: CURLOPT_CURLU, nil)
                return set(CURLOPT_URL, address)
            }
        }
        set(pointer: CURLOPT_CURLU, UnsafeRawPointer(parsed))
    }

    /// Resets all options and lists of the last exchange.
    func reset() {
        curl_easy_reset(raw)
        watches = []
        awaitsSending = false
        freeLists()
        errorText.pointee = 0
        lade_easy_set_pointer(raw, CURLOPT_ERRORBUFFER, errorText)
    }

    func set(_ option: CURLoption, _ value: Int) {
        lade_easy_set_long(raw, option, value)
    }

    func set(_ option: CURLoption, _ value: Bool) {
        lade_easy_set_long(raw, option, value ? 1 : 0)
    }

    func set(_ option: CURLoption, _ value: String?) {
        lade_easy_set_text(raw, option, value)
    }

    func set(offset option: CURLoption, _ value: Int64) {
        lade_easy_set_offset(raw, option, curl_off_t(value))
    }

    func set(pointer option: CURLoption, _ value: UnsafeRawPointer?) {
        lade_easy_set_pointer(raw, option, value)
    }

    /// Sets a list option.
    ///
    /// The list is valid until the next reset, or until the option is set again.
    ///
    /// - Parameters:
    ///   - option: The option.
    ///   - values: The strings of the list.
    ///   - octets: Further strings, which are not UTF-8 and contain no zero byte.
    func set(list option: CURLoption, _ values: [String], octets: [[UInt8]] = []) {
        var list: UnsafeMutablePointer<curl_slist>?
        for value in values {
            // Appending fails only when memory is exhausted; the strings appended so far stay valid.
            if let longer = curl_slist_append(list, value) { list = longer }
        }
        for value in octets {
            let text = value.map { CChar(bitPattern: $0) } + [0]
            if let longer = curl_slist_append(list, text) { list = longer }
        }
        lade_easy_set_list(raw, option, list)
        if let old = lists.firstIndex(where: { $0.option == option }) {
            curl_slist_free_all(lists.remove(at: old).list)
        }
        if let list { lists.append((option, list)) }
    }

    /// Clears the failure message of the last exchange, and keeps the options.
    func forgetMessage() {
        errorText.pointee = 0
    }

    /// Releases the exchange after the exchange.
    func putDown() {
        carried = nil
        stopWatching(for: watches)
        endAwaitingSending()
    }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        lade_easy_get_long(raw, info, &value)
        return value
    }

    func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        lade_easy_get_offset(raw, info, &value)
        return Int64(value)
    }

    func text(_ info: CURLINFO) -> String? {
        var value: UnsafePointer<CChar>?
        lade_easy_get_text(raw, info, &value)
        return value.map { String(cString: $0) }
    }

    private func freeLists() {
        for (_, list) in lists { curl_slist_free_all(list) }
        lists.removeAll(keepingCapacity: true)
    }
}
