import COpenSSL
import CWire

/// The protocols that can be negotiated for an exchange over TLS (RFC 7301).
enum ApplicationProtocol: String, Sendable {
    case http1_1 = "http/1.1"
    case http2 = "h2"
}

/// The destination of a TLS connection: the name that its certificates must have, and the sessions that it may resume.
struct TLSPeer: Equatable {
    /// The name or numeric address that the certificate must have, in its normal form.
    var host: String
    /// Whether the host is a numeric address, which has no server name indication (RFC 6066 §3).
    var isAddress: Bool
    /// The key of what may share connections and sessions.
    var sessionKey: String
    /// Whether it is a proxy, which the client's identity is not shown to.
    var isProxy = false
}

/// A session that can be resumed, with the keys of the certificates that its first handshake verified.
final class TLSSession {
    let raw: OpaquePointer
    let keys: [KeyDigest]
    /// The store that the certificates were verified with.
    let trust: TrustStore.Parsed?
    /// Whether it must be offered once only, so that connections cannot be linked (RFC 8446 §C.4).
    let isSingleUse: Bool

    /// Takes ownership of a session.
    init(_ raw: OpaquePointer, keys: [KeyDigest], trust: TrustStore.Parsed?) {
        self.raw = raw
        self.keys = keys
        self.trust = trust
        isSingleUse = SSL_SESSION_get_protocol_version(raw) >= TLS1_3_VERSION
    }

    deinit {
        SSL_SESSION_free(raw)
    }
}

/// One side of a TLS connection without I/O: ciphertext and plaintext go in and come out.
///
/// It never sees a socket, so a second one around the first is a tunnel through a proxy. One thread at a time uses the layer,
/// which justifies `@unchecked Sendable`. The loop hands it to another thread for a step of the handshake, and takes it back
/// with the message of the step's end.
final class TLSLayer: @unchecked Sendable {
    /// The result of a step of the handshake.
    enum Handshake: Equatable {
        /// More ciphertext is needed.
        case wantsInput
        case done
        case failed(TLSFault)
    }

    /// The result of a read.
    enum Read: Equatable {
        /// A number of bytes, greater than 0.
        case bytes(Int)
        /// All ciphertext was read, and more is needed.
        case wantsInput
        /// The peer has announced its end by close_notify.
        case ended
        case failed(TLSFault)
    }

    private enum State: Equatable {
        case handshaking
        case open
        case peerClosed
        case failed(TLSFault)
    }

    private let ssl: OpaquePointer
    /// The outer layer, such as a proxy's; its plaintext is the ciphertext of this layer.
    private let lower: TLSLayer?
    private let io: UnsafeMutablePointer<lade_tls_bytes>
    private let pins: Pins?
    private let trust: TrustStore.Parsed?
    private var state = State.handshaking
    /// How many bytes of the peer's first record were checked.
    private var checkedBytes = 0
    /// Whether the layer that this one is within gives no more ciphertext.
    private var isCutOff = false
    /// Ciphertext that was received and not read before its memory was used again.
    private var held: [UInt8] = []
    /// The keys of the verified chain, the peer's first.
    private var keys: [KeyDigest] = []
    private let offered: TLSSession?
    private var newSessions: [OpaquePointer] = []
    /// Whether the peer has asked for a client certificate.
    private var wasAskedForCertificate = false

    /// Makes a layer around a connection of OpenSSL, which it owns.
    ///
    /// - Parameters:
    ///   - ssl: The connection, in the state of a client or a server.
    ///   - pins: The pinned keys; the peer must have one of them.
    ///   - trust: The store that certificates are verified with.
    ///   - session: The session that it offers.
    ///   - lower: The open layer that it is within; nil when it is the only one.
    init?(
        _ ssl: OpaquePointer,
        pins: Pins? = nil,
        trust: TrustStore.Parsed? = nil,
        session: TLSSession? = nil,
        within lower: TLSLayer? = nil
    ) {
        io = .allocate(capacity: 1)
        io.initialize(to: lade_tls_bytes())
        self.ssl = ssl
        self.lower = lower
        self.pins = pins
        self.trust = trust
        offered = session
        guard let bio = lade_tls_bio(io) else { return nil }
        SSL_set_bio(ssl, bio, bio)
        SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        SSL_set_cert_cb(
            ssl,
            { _, layer in
                if let layer {
                    Unmanaged<TLSLayer>.fromOpaque(layer).takeUnretainedValue().wasAskedForCertificate = true
                }
                return 1
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        if let session { SSL_set_session(ssl, session.raw) }
    }

    deinit {
        for session in newSessions { SSL_SESSION_free(session) }
        // Without it, OpenSSL takes the connection for a broken one and its sessions for unusable.
        if case .failed = state {} else { SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN) }
        SSL_free(ssl)
        lade_tls_release(io)
        io.deallocate()
    }

    // MARK: - Ciphertext

    /// Takes received ciphertext, which must stay where it is until ``keepInput()``.
    func feed(_ bytes: UnsafeRawBufferPointer) {
        if let lower { return lower.feed(bytes) }
        // More arrived before the rest was read.
        keepInput()
        guard held.isEmpty else { return held.append(contentsOf: bytes) }
        io.pointee.input = bytes.bindMemory(to: UInt8.self).baseAddress
        io.pointee.input_count = bytes.count
    }

    /// Takes the plaintext that the outer layer has for this one.
    private func pull(_ units: inout Int) {
        guard let lower, !isCutOff else { return }
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
            while true {
                switch lower.read(into: buffer, units: &units) {
                case .bytes(let count):
                    held.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                    continue
                case .wantsInput: break
                case .ended, .failed: isCutOff = true
                }
                break
            }
        }
    }

    /// Takes ciphertext that arrived before the layer was made.
    func hold(_ bytes: [UInt8]) { held += bytes }

    /// Copies the unread part of the received ciphertext, because its memory is used for something else.
    func keepInput() {
        lower?.keepInput()
        guard io.pointee.input_count > 0 else { return }
        held = Array(UnsafeBufferPointer(start: io.pointee.input, count: io.pointee.input_count))
        io.pointee.input_count = 0
    }

    /// Whether a read would give something other than a wish for more: ciphertext, plaintext, the peer's end or a fault.
    var hasInput: Bool {
        io.pointee.input_count > 0 || !held.isEmpty || SSL_pending(ssl) > 0 || state != .open
            || (!isCutOff && lower?.hasInput == true)
    }

    /// Whether ciphertext has arrived that was not read.
    var hasPendingInput: Bool { io.pointee.input_count > 0 || !held.isEmpty || lower?.hasInput == true }

    /// Whether the beginning of a record has arrived, and its end has not.
    var hasPartialRecord: Bool { SSL_has_pending(ssl) == 1 || lower?.hasPartialRecord == true }

    /// The number of bytes of ciphertext to send.
    var outputCount: Int { lower?.outputCount ?? ownOutput.count }

    private var ownOutput: UnsafeRawBufferPointer {
        let count = io.pointee.output_end - io.pointee.output_start
        return UnsafeRawBufferPointer(start: io.pointee.output.map { $0 + io.pointee.output_start }, count: count)
    }

    /// Encrypts this layer's ciphertext by the layer that it is within; called after each step that may have made ciphertext.
    private func passDown() {
        guard let lower, !ownOutput.isEmpty else { return }
        // When it has failed, its owner learns that from its next read.
        _ = lower.write(ownOutput)
        lade_tls_consume(io, ownOutput.count)
    }

    /// Calls a closure with the ciphertext to send.
    func withOutput<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        lower?.withOutput(body) ?? body(ownOutput)
    }

    /// Removes ciphertext that was sent.
    func consumeOutput(_ count: Int) {
        if let lower { lower.consumeOutput(count) } else { lade_tls_consume(io, count) }
    }

    /// Removes all ciphertext, which can never be sent.
    func dropOutput() { consumeOutput(outputCount) }

    /// Calls a closure that lets OpenSSL read, with the bytes that were held before.
    private func reading<Result>(_ body: () -> Result) -> Result {
        defer { passDown() }
        guard io.pointee.input_count == 0, !held.isEmpty else { return body() }
        let bytes = held
        held = []
        return bytes.withUnsafeBufferPointer { bytes in
            io.pointee.input = bytes.baseAddress
            io.pointee.input_count = bytes.count
            defer { keepInput() }
            return body()
        }
    }

    // MARK: - The handshake

    /// The result of the latest ``advance()``.
    private(set) var advanced = Handshake.wantsInput

    /// Continues the handshake, and keeps the result.
    func advance() { advanced = handshake() }

    /// Continues the handshake with the ciphertext that has arrived.
    func handshake() -> Handshake {
        switch state {
        case .handshaking: break
        case .open: return .done
        case .peerClosed: return .failed(.ended)
        case .failed(let fault): return .failed(fault)
        }
        var units = Int.max
        pull(&units)
        io.pointee.units = .max
        return reading {
            guard firstBytesAreTLS else { return .failed(fail(.notTLS)) }
            ERR_clear_error()
            let result = SSL_do_handshake(ssl)
            guard result == 1 else {
                let error = SSL_get_error(ssl, result)
                guard error == SSL_ERROR_WANT_READ else { return .failed(fail(fault(error))) }
                return isCutOff ? .failed(fail(.ended)) : .wantsInput
            }
            noteKeys()
            if let pins, !pins.accept(keys) { return .failed(fail(.pinMismatch)) }
            state = .open
            lade_tls_count_messages(ssl, io)
            return .done
        }
    }

    /// Whether the first bytes begin a record with a handshake message or an alert, as far as they have arrived.
    ///
    /// OpenSSL names the difference only once a whole header has arrived, which of a text may never happen.
    private var firstBytesAreTLS: Bool {
        var index = 0
        while checkedBytes < 2, index < io.pointee.input_count {
            let byte = io.pointee.input[index]
            guard checkedBytes == 0 ? byte == 0x15 || byte == 0x16 : byte == 0x03 else { return false }
            index += 1
            checkedBytes += 1
        }
        return true
    }

    private func noteKeys() {
        // A resumed handshake verifies no chain; the session knows the one that was verified for it.
        guard SSL_session_reused(ssl) == 0 else {
            keys = offered?.keys ?? []
            return
        }
        if let chain = SSL_get0_verified_chain(ssl), lade_chain_count(chain) > 0 {
            keys = (0..<lade_chain_count(chain)).compactMap { index in
                lade_chain_item(chain, index).flatMap(KeyDigest.init(certificate:))
            }
        } else if let certificate = SSL_get1_peer_certificate(ssl) {
            keys = KeyDigest(certificate: certificate).map { [$0] } ?? []
            X509_free(certificate)
        }
    }

    /// The negotiated protocol; HTTP/1.1 when the peer chose none.
    var applicationProtocol: ApplicationProtocol {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &length)
        let text = String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
        return ApplicationProtocol(rawValue: text) ?? .http1_1
    }

    /// The version, for example `TLSv1.3`.
    var version: String { String(cString: SSL_get_version(ssl)) }

    /// Whether the handshake resumed a session.
    var isResumed: Bool { SSL_session_reused(ssl) != 0 }

    /// Whether the peer has refused the session that was offered.
    var wasSessionRefused: Bool { offered != nil && state == .open && !isResumed }

    /// The sessions that the peer has given since the last call.
    func takeSessions() -> [TLSSession] {
        guard !newSessions.isEmpty, state == .open || state == .peerClosed else { return [] }
        defer { newSessions = [] }
        return newSessions.map { TLSSession($0, keys: keys, trust: trust) }
    }

    /// Takes a session that the peer has given; called by OpenSSL.
    static let sessionCallback: @convention(c) (OpaquePointer?, OpaquePointer?) -> CInt = { ssl, session in
        guard let ssl, let session, let layer = SSL_get_ex_data(ssl, 0) else { return 0 }
        let this = Unmanaged<TLSLayer>.fromOpaque(layer).takeUnretainedValue()
        // A peer that sends tickets without end is not stored without end.
        if this.newSessions.count >= 4 { SSL_SESSION_free(this.newSessions.removeFirst()) }
        this.newSessions.append(session)
        return 1
    }

    // MARK: - Plaintext

    /// Reads as much plaintext as has arrived and fits.
    ///
    /// - Parameters:
    ///   - buffer: Receives it.
    ///   - units: The units of work that reading may still cost. Without any left, `wantsInput` may mean that more units are
    ///     needed.
    /// - Returns: The result of the read.
    func read(into buffer: UnsafeMutableRawBufferPointer, units: inout Int) -> Read {
        if lower != nil {
            // Each layer has half of them.
            let share = max(units / 2, 1)
            var left = share
            pull(&left)
            units -= share - left
        }
        let before = Int32(clamping: units)
        io.pointee.units = before
        defer { units -= Int(before) - Int(io.pointee.units) }
        return reading {
            var filled = 0
            while filled < buffer.count {
                switch state {
                case .open: break
                case .peerClosed: return filled > 0 ? .bytes(filled) : .ended
                case .failed(let fault): return filled > 0 ? .bytes(filled) : .failed(fault)
                case .handshaking: return .wantsInput
                }
                ERR_clear_error()
                var count = 0
                let result = SSL_read_ex(ssl, buffer.baseAddress.map { $0 + filled }, buffer.count - filled, &count)
                guard result != 1 else {
                    filled += count
                    continue
                }
                switch SSL_get_error(ssl, result) {
                case SSL_ERROR_WANT_READ where isCutOff && io.pointee.input_count == 0: fail(.ended)
                case SSL_ERROR_WANT_READ: return filled > 0 ? .bytes(filled) : .wantsInput
                case SSL_ERROR_ZERO_RETURN: state = .peerClosed
                case let error: fail(fault(error))
                }
            }
            return .bytes(filled)
        }
    }

    /// The messages of TLS that the peer has sent since the last call, after the handshake.
    func takeMessages() -> (keyUpdates: Int, others: Int) {
        defer { (io.pointee.key_updates, io.pointee.other_messages) = (0, 0) }
        let below = lower?.takeMessages() ?? (keyUpdates: 0, others: 0)
        return (below.keyUpdates + Int(io.pointee.key_updates), below.others + Int(io.pointee.other_messages))
    }

    /// Encrypts plaintext; false when the connection has failed.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes
        defer { passDown() }
        while !rest.isEmpty {
            guard state == .open || state == .peerClosed else { return false }
            ERR_clear_error()
            var count = 0
            let result = SSL_write_ex(ssl, rest.baseAddress, rest.count, &count)
            guard result == 1 else {
                fail(fault(SSL_get_error(ssl, result)))
                return false
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    /// Announces the end of this side by close_notify (RFC 8446 §6.1), if the handshake is complete.
    func close() {
        guard state == .open || state == .peerClosed else { return }
        ERR_clear_error()
        SSL_shutdown(ssl)
        passDown()
        lower?.close()
    }

    /// Releases memory that an idle connection does not need.
    func rest() {
        keepInput()
        lower?.rest()
        guard ownOutput.isEmpty, held.isEmpty else { return }
        lade_tls_release(io)
        SSL_free_buffers(ssl)
    }

    // MARK: - Faults

    @discardableResult
    private func fail(_ fault: TLSFault) -> TLSFault {
        state = .failed(fault)
        return fault
    }

    /// The fault that OpenSSL has reported.
    private func fault(_ error: CInt) -> TLSFault {
        // The last one: before it, the queue may have those of other parts, such as of a wrong signature.
        let code = ERR_peek_last_error()
        guard error == SSL_ERROR_SSL, ERR_GET_LIB(code) == ERR_LIB_SSL else { return .refused(0) }
        let reason = Int(ERR_GET_REASON(code))
        if reason == SSL_R_CERTIFICATE_VERIFY_FAILED { return .verification(SSL_get_verify_result(ssl)) }
        // A received alert is reported as its number above this one (`SSL_AD_REASON_OFFSET`).
        return reason >= 1_000 ? .alert(reason - 1_000, wasAsked: wasAskedForCertificate) : .refused(reason)
    }
}
