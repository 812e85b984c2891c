#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import COpenSSL
import LadeCore
import LadeExchange

/// The transport's settings for TLS in OpenSSL's form, checked once when the transport is made.
///
/// OpenSSL's context is not changed after that. This justifies `@unchecked Sendable`.
final class TLSContext: @unchecked Sendable {
    private let raw: OpaquePointer
    private let settings: TransportSettings.TLS
    private let trust: TrustStore
    /// The longest chain below an anchor.
    private static let depth: CInt = 8

    /// Checks the settings, and reads authorities, lists and the client's identity.
    ///
    /// - Parameters:
    ///   - settings: The settings.
    ///   - limits: Those of responses.
    ///   - now: The time of the loop's clock.
    /// - Throws: `LoadingError.Kind.invalidSetting` naming the setting.
    init(
        _ settings: TransportSettings.TLS,
        limits: TransportSettings.ResponseLimits = TransportSettings.ResponseLimits(),
        now: Int64
    ) throws(LoadingError) {
        Self.initialise
        self.settings = settings
        trust = try TrustStore.shared(TrustStore.Sources(settings), now: now)
        guard let raw = SSL_CTX_new(TLS_client_method()) else {
            throw LoadingError(.transport(code: 0, message: "OpenSSL made no context"))
        }
        self.raw = raw
        lade_tls_set_mode(raw)
        // Whatever the system's configuration says.
        let least = settings.minimumVersion == .tls1_3 ? TLS1_3_VERSION : TLS1_2_VERSION
        _ = lade_tls_set_versions(raw, least, 0)
        guard lade_tls_limit_exchanges(raw) == 1 else {
            throw LoadingError(.transport(code: 0, message: "OpenSSL has no key exchange on curves"))
        }
        lade_tls_limit_certificates(raw, max(1, limits.certificateBytes))
        SSL_CTX_set_security_level(raw, max(2, SSL_CTX_get_security_level(raw)))
        SSL_CTX_set_verify_depth(raw, Self.depth)
        lade_tls_report_sessions(raw, TLSLayer.sessionCallback)
        lade_tls_set_verification(raw, settings.verification == .full ? 1 : 0)
        // Any given certificate is an anchor, also when another one has issued it.
        var flags = UInt(X509_V_FLAG_PARTIAL_CHAIN)
        if !settings.revocationLists.isEmpty { flags |= UInt(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) }
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(raw), flags)
        // Without this, OpenSSL would ask for the pass phrase at the terminal.
        SSL_CTX_set_default_passwd_cb(raw, Self.passphrase)
        if let identity = settings.clientIdentity { try load(identity) }
    }

    deinit {
        SSL_CTX_free(raw)
    }

    /// Without OpenSSL's handler at the exit of the process: a loop may still run then.
    private static let initialise: Void = {
        OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }()

    /// Releases what OpenSSL keeps for the calling thread, which must end now.
    static func endThread() { OPENSSL_thread_stop() }

    /// Reads the system's authorities if no transport has done so; blocks meanwhile.
    func load() { trust.load() }

    // MARK: - The client's identity

    private static let passphrase:
        @convention(c) (UnsafeMutablePointer<CChar>?, CInt, CInt, UnsafeMutableRawPointer?)
            -> CInt = { buffer, room, _, text in
                guard let buffer, let text else { return -1 }
                let length = strlen(text.assumingMemoryBound(to: CChar.self))
                guard length <= Int(room) else { return -1 }
                memcpy(buffer, text, length)
                return CInt(length)
            }

    private func load(_ identity: TransportSettings.TLS.ClientIdentity) throws(LoadingError) {
        let keyFile = identity.keyFile ?? identity.certificateFile
        try SettingsCheck.pem(identity.certificateFile, "CERTIFICATE", setting: "client certificate")
        try SettingsCheck.pem(keyFile, "PRIVATE KEY", setting: "client key")
        func fail(_ setting: String, _ reason: String) -> LoadingError {
            LoadingError(.invalidSetting(name: setting, reason: reason))
        }
        ERR_clear_error()
        guard SSL_CTX_use_certificate_chain_file(raw, identity.certificateFile) == 1 else {
            throw fail(
                "client certificate",
                "the CERTIFICATE in the file \(identity.certificateFile) is damaged or weak"
            )
        }
        let isLoaded = (identity.passphrase?.reveal() ?? "").withCString { text in
            SSL_CTX_set_default_passwd_cb_userdata(
                raw,
                identity.passphrase == nil ? nil : UnsafeMutableRawPointer(mutating: text)
            )
            defer { SSL_CTX_set_default_passwd_cb_userdata(raw, nil) }
            return SSL_CTX_use_PrivateKey_file(raw, keyFile, SSL_FILETYPE_PEM) == 1
        }
        if isLoaded, SSL_CTX_check_private_key(raw) == 1 { return }
        let code = ERR_peek_error()
        let isMismatch =
            Int(ERR_GET_REASON(code)) == X509_R_KEY_VALUES_MISMATCH
            || Int(ERR_GET_REASON(code)) == X509_R_KEY_TYPE_MISMATCH
        throw fail(
            "client key",
            isMismatch
                ? "the key in the file \(keyFile) is not that of the certificate"
                : identity.passphrase == nil
                    ? "the PRIVATE KEY in the file \(keyFile) is damaged, or needs a pass phrase"
                    : "the PRIVATE KEY in the file \(keyFile) is damaged, or the pass phrase is wrong"
        )
    }

    // MARK: - Connections

    /// Makes the layer of a new connection.
    ///
    /// - Parameters:
    ///   - peer: Where it leads.
    ///   - protocols: The offered protocols, the preferred one first.
    ///   - session: The session to resume.
    ///   - lower: The open layer of a proxy that the connection is within.
    ///   - now: The time of the loop's clock.
    /// - Returns: The layer; nil without memory.
    func makeLayer(
        _ peer: TLSPeer,
        protocols: [ApplicationProtocol],
        session: TLSSession?,
        within lower: TLSLayer? = nil,
        now: Int64
    ) -> TLSLayer? {
        ERR_clear_error()
        // An empty name would not be checked.
        guard !peer.host.isEmpty, let store = trust.current(at: now), let ssl = SSL_new(raw) else { return nil }
        // A session that was verified with other authorities or lists must be verified again.
        let session = session?.trust === store ? session : nil
        let pins = Pins(settings, host: peer.host)
        guard let layer = TLSLayer(ssl, pins: pins, trust: store, session: session, within: lower) else { return nil }
        SSL_set_connect_state(ssl)
        if peer.isProxy { SSL_certs_clear(ssl) }
        guard lade_tls_set_store(ssl, store.raw) == 1 else { return nil }
        if !peer.isAddress { _ = lade_tls_set_server_name(ssl, peer.host) }
        if settings.verification == .full { guard check(peer, of: ssl) else { return nil } }
        let list = protocols.flatMap { [UInt8($0.rawValue.utf8.count)] + Array($0.rawValue.utf8) }
        SSL_set_alpn_protos(ssl, list, UInt32(list.count))
        return layer
    }

    /// Sets which name or address the certificate must have (RFC 9110 §4.3.4); never its common name.
    private func check(_ peer: TLSPeer, of ssl: OpaquePointer) -> Bool {
        let parameters = SSL_get0_param(ssl)
        if peer.isAddress { return X509_VERIFY_PARAM_set1_ip_asc(parameters, peer.host) == 1 }
        X509_VERIFY_PARAM_set_hostflags(
            parameters,
            UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)
        )
        return X509_VERIFY_PARAM_set1_host(parameters, peer.host, 0) == 1
    }
}
