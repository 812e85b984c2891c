import COpenSSL
import Foundation
import Testing

/// A key with a certificate, made for a test.
final class Identity {
    let key: OpaquePointer
    let certificate: OpaquePointer

    enum Kind {
        case ed25519
        /// Too weak for the security level that the transport demands.
        case rsa1024
    }

    /// Makes a certificate.
    ///
    /// - Parameters:
    ///   - name: Its common name.
    ///   - names: Its subject alternative names, for example `DNS:example.com,IP:127.0.0.1`; nil for none.
    ///   - issuer: Who signs it; itself without.
    ///   - isAuthority: Whether it may sign others.
    ///   - days: When it begins and ends, from now.
    ///   - kind: The kind of its key.
    ///   - publicKey: The key that the certificate has in place of its own.
    /// - Throws: When OpenSSL refuses a part.
    init(
        _ name: String,
        names: String? = nil,
        issuer: Identity? = nil,
        isAuthority: Bool = false,
        days: ClosedRange<Int> = -1...10,
        kind: Kind = .ed25519,
        publicKey: OpaquePointer? = nil
    ) throws {
        let context = EVP_PKEY_CTX_new_id(kind == .ed25519 ? EVP_PKEY_ED25519 : EVP_PKEY_RSA, nil)
        defer { EVP_PKEY_CTX_free(context) }
        try #require(EVP_PKEY_keygen_init(context) == 1)
        if kind == .rsa1024 { EVP_PKEY_CTX_set_rsa_keygen_bits(context, 1_024) }
        var made: OpaquePointer?
        try #require(EVP_PKEY_keygen(context, &made) == 1)
        key = try #require(made)
        certificate = try #require(X509_new())
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...1_000_000))
        X509_gmtime_adj(X509_getm_notBefore(certificate), days.lowerBound * 86_400)
        X509_gmtime_adj(X509_getm_notAfter(certificate), days.upperBound * 86_400)
        X509_set_pubkey(certificate, publicKey ?? key)
        let subject = X509_get_subject_name(certificate)
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC_UTF8, Array(name.utf8), CInt(name.utf8.count), -1, 0)
        X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0.certificate) } ?? subject)
        try add(NID_basic_constraints, isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE")
        if isAuthority { try add(NID_key_usage, "critical,keyCertSign,cRLSign") }
        if let names { try add(NID_subject_alt_name, names) }
        let signer = issuer ?? self
        let digest = EVP_PKEY_get_id(signer.key) == EVP_PKEY_ED25519 ? nil : EVP_sha256()
        try #require(X509_sign(certificate, signer.key, digest) > 0)
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    private func add(_ kind: CInt, _ value: String) throws {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, certificate, certificate, nil, nil, 0)
        let made = try #require(X509V3_EXT_conf_nid(nil, &context, kind, value))
        X509_add_ext(certificate, made, -1)
        X509_EXTENSION_free(made)
    }

    /// The certificate in PEM form.
    var pem: Data { Self.text { PEM_write_bio_X509($0, certificate) } }

    /// The private key in PEM form, encrypted when there is a pass phrase.
    func keyPEM(passphrase: String? = nil) -> Data {
        let bytes = Array((passphrase ?? "").utf8)
        return Self.text {
            PEM_write_bio_PKCS8PrivateKey(
                $0,
                key,
                passphrase == nil ? nil : EVP_aes_128_cbc(),
                bytes.map(CChar.init(bitPattern:)),
                CInt(bytes.count),
                nil,
                nil
            )
        }
    }

    /// The pin of its key.
    var pin: String {
        var digest = [UInt8](repeating: 0, count: 32)
        _ = lade_key_digest(certificate, &digest)
        return Data(digest).base64EncodedString()
    }

    /// The revocation list of an authority, in PEM form.
    func revocationList(revoking revoked: [Identity]) throws -> Data {
        let list = try #require(X509_CRL_new())
        defer { X509_CRL_free(list) }
        X509_CRL_set_version(list, 1)
        X509_CRL_set_issuer_name(list, X509_get_subject_name(certificate))
        let time = X509_gmtime_adj(nil, -3_600)
        defer { ASN1_STRING_free(time) }
        X509_CRL_set1_lastUpdate(list, time)
        X509_gmtime_adj(time, 86_400)
        X509_CRL_set1_nextUpdate(list, time)
        for identity in revoked {
            let entry = X509_REVOKED_new()
            X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(identity.certificate))
            X509_REVOKED_set_revocationDate(entry, time)
            X509_CRL_add0_revoked(list, entry)
        }
        X509_CRL_sort(list)
        try #require(X509_CRL_sign(list, key, nil) > 0)
        return Self.text { PEM_write_bio_X509_CRL($0, list) }
    }

    private static func text(_ write: (OpaquePointer?) -> CInt) -> Data {
        let memory = BIO_new(BIO_s_mem())
        defer { BIO_free(memory) }
        _ = write(memory)
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = BIO_read(memory, &bytes, CInt(bytes.count))
        return Data(bytes[..<Int(max(0, count))])
    }
}

/// `MBSTRING_ASC` is a macro that Swift does not import: text in UTF-8.
private let MBSTRING_ASC_UTF8: CInt = 0x1000
