import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// OpenSSL's object for the connection of the current callback.
///
/// libcurl provides the object only within its callbacks, and it must not outlive them. OpenSSL's functions are looked
/// up at run time, in the libraries that libcurl has loaded. So a libcurl with another TLS library works without
/// OpenSSL. There is no session then, and facts that only a session has count as unknown.
struct TLSSession {
    private typealias Question = @convention(c) (UnsafeMutableRawPointer) -> CInt
    private typealias ProtocolQuestion =
        @convention(c) (
            UnsafeMutableRawPointer, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<CUnsignedInt>
        ) -> Void

    private struct Functions: Sendable {
        let hasPending: Question
        let shutdownState: Question
        let selectedProtocol: ProtocolQuestion

        init?() {
            guard let hasPending = dlsym(nil, "SSL_has_pending"), let shutdownState = dlsym(nil, "SSL_get_shutdown"),
                let selectedProtocol = dlsym(nil, "SSL_get0_alpn_selected")
            else { return nil }
            // The types are those of OpenSSL's documentation since its version 1.1.0.
            self.hasPending = unsafeBitCast(hasPending, to: Question.self)
            self.shutdownState = unsafeBitCast(shutdownState, to: Question.self)
            self.selectedProtocol = unsafeBitCast(selectedProtocol, to: ProtocolQuestion.self)
        }
    }

    private static let functions = Functions()

    private let session: UnsafeMutableRawPointer
    private let functions: Functions

    /// The session of the connection that the handle uses; nil when it is not known.
    init?(_ handle: EasyHandle) {
        var found: UnsafeMutableRawPointer?
        guard lade_easy_get_pointer(handle.raw, CURLINFO_TLS_SSL_PTR, &found) == CURLE_OK, let found,
            let functions = Self.functions
        else { return nil }
        let info = found.assumingMemoryBound(to: curl_tlssessioninfo.self).pointee
        guard info.backend == CURLSSLBACKEND_OPENSSL, let session = info.internals else { return nil }
        self.session = session
        self.functions = functions
    }

    /// Whether OpenSSL's buffers contain bytes of the peer, decrypted or not.
    var hasPending: Bool { functions.hasPending(session) != 0 }

    /// Whether the peer has sent close_notify.
    var hasEnded: Bool {
        // SSL_RECEIVED_SHUTDOWN
        functions.shutdownState(session) & 2 != 0
    }

    /// Whether the peers have agreed on HTTP/2.
    var isHTTP2: Bool {
        var name: UnsafePointer<UInt8>?
        var count: CUnsignedInt = 0
        functions.selectedProtocol(session, &name, &count)
        guard let name, count == 2 else { return false }
        return name[0] == UInt8(ascii: "h") && name[1] == UInt8(ascii: "2")
    }
}
