import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A limit on the bytes that OpenSSL reads within one call into libcurl.
///
/// OpenSSL continues to read while a server sends messages that it ignores, such as HelloRequest in a handshake.
/// libcurl does the same while a server sends HTTP/2 control frames. Meanwhile no time-out is checked and no other host
/// is served. At the limit, the read callback reports that no more bytes have arrived. The poller then reports the
/// socket again.
///
/// The functions are looked up at run time, as for ``TLSSession``. With another TLS library there is no limit.
enum TLSReadLimit {
    /// Reading this many 4-byte messages, the most expensive ones, takes about 15 ms.
    static let bytesPerCall = 256 << 10

    // OpenSSL's callbacks for messages and for reads; the loop is their last or stored argument.
    private typealias MessageCallback =
        @convention(c) (CInt, CInt, CInt, UnsafeRawPointer?, Int, OpaquePointer?, UnsafeMutableRawPointer?) -> Void
    private typealias ReadCallback =
        @convention(c) (
            OpaquePointer?, CInt, UnsafePointer<CChar>?, Int, CInt, CLong, CInt, UnsafeMutablePointer<Int>?
        ) -> CLong

    private struct Functions: Sendable {
        let setContextCallback: @convention(c) (OpaquePointer, MessageCallback?) -> Void
        let control: @convention(c) (OpaquePointer, CInt, CLong, UnsafeMutableRawPointer?) -> CLong
        let setCallback: @convention(c) (OpaquePointer, MessageCallback?) -> Void
        let reader: @convention(c) (OpaquePointer) -> OpaquePointer?
        let setReadCallback: @convention(c) (OpaquePointer, ReadCallback?) -> Void
        let setContext: @convention(c) (OpaquePointer, UnsafeMutableRawPointer?) -> Void
        let context: @convention(c) (OpaquePointer) -> UnsafeMutableRawPointer?
        let setFlags: @convention(c) (OpaquePointer, CInt) -> Void

        init?() {
            guard let library = curl_version_info(CURLVERSION_FIRST)?.pointee.ssl_version,
                strncmp(library, "OpenSSL/", 8) == 0,
                let setContextCallback = dlsym(nil, "SSL_CTX_set_msg_callback"),
                let control = dlsym(nil, "SSL_CTX_ctrl"),
                let setCallback = dlsym(nil, "SSL_set_msg_callback"),
                let reader = dlsym(nil, "SSL_get_rbio"),
                let setReadCallback = dlsym(nil, "BIO_set_callback_ex"),
                let setContext = dlsym(nil, "BIO_set_callback_arg"),
                let context = dlsym(nil, "BIO_get_callback_arg"),
                let setFlags = dlsym(nil, "BIO_set_flags")
            else { return nil }
            // The types are those of OpenSSL's documentation since its version 1.1.1.
            self.setContextCallback = unsafeBitCast(setContextCallback, to: type(of: self.setContextCallback))
            self.control = unsafeBitCast(control, to: type(of: self.control))
            self.setCallback = unsafeBitCast(setCallback, to: type(of: self.setCallback))
            self.reader = unsafeBitCast(reader, to: type(of: self.reader))
            self.setReadCallback = unsafeBitCast(setReadCallback, to: type(of: self.setReadCallback))
            self.setContext = unsafeBitCast(setContext, to: type(of: self.setContext))
            self.context = unsafeBitCast(context, to: type(of: self.context))
            self.setFlags = unsafeBitCast(setFlags, to: type(of: self.setFlags))
        }
    }

    private static let functions = Functions()

    /// Limits the reads of connections that libcurl makes for a handle from now on; needed after each reset.
    static func set(_ handle: EasyHandle, _ loop: Unmanaged<CurlLoop>) {
        guard functions != nil else { return }
        handle.set(pointer: CURLOPT_SSL_CTX_DATA, UnsafeRawPointer(loop.toOpaque()))
        lade_easy_set_tls_context(handle.raw) { _, context, loop in
            guard let functions = TLSReadLimit.functions, let context else { return CURLE_OK }
            // The callback's argument is SSL_CTRL_SET_MSG_CALLBACK_ARG, 16.
            _ = functions.control(OpaquePointer(context), 16, 0, loop)
            functions.setContextCallback(OpaquePointer(context), TLSReadLimit.started)
            return CURLE_OK
        }
    }

    /// The client sends the first message of a connection before it reads anything.
    private static let started: MessageCallback = { _, _, _, _, _, session, loop in
        guard let functions = TLSReadLimit.functions, let session, let reader = functions.reader(session) else {
            return
        }
        functions.setCallback(session, nil)
        // The loop closes every connection before it is released.
        functions.setContext(reader, loop)
        functions.setReadCallback(reader, TLSReadLimit.read)
    }

    // OpenSSL calls it before and after each operation; most of them are no reads, and must cost next to nothing.
    private static let read: ReadCallback = { reader, operation, _, _, _, _, result, count in
        // BIO_CB_READ, and BIO_CB_RETURN with it.
        guard operation & 0x7F == 0x02, let functions = TLSReadLimit.functions, let reader,
            let context = functions.context(reader)
        else { return CLong(result) }
        let loop = CurlLoop.from(context)
        if operation & 0x80 != 0 {
            loop.readableBytes -= count?.pointee ?? 0
        } else if loop.readableBytes <= 0 {
            // BIO_FLAGS_READ and BIO_FLAGS_SHOULD_RETRY.
            functions.setFlags(reader, 0x01 | 0x08)
            return -1
        }
        return CLong(result)
    }
}
