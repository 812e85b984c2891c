#pragma once
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

// What OpenSSL has as macros, which have no form in Swift.

static inline void lade_tls_set_mode(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

// Offers no key exchange over finite fields (RFC 9325 §4.2), for which the server chooses the size: the cipher suites that
// are enabled without these, and four curves.
static inline int lade_tls_limit_exchanges(SSL_CTX *context) {
    char text[8192] = "";
    size_t used = 0;
    STACK_OF(SSL_CIPHER) *list = SSL_CTX_get_ciphers(context);
    for (int index = 0; index < sk_SSL_CIPHER_num(list); index++) {
        const SSL_CIPHER *cipher = sk_SSL_CIPHER_value(list, index);
        int exchange = SSL_CIPHER_get_kx_nid(cipher);
        const char *name = SSL_CIPHER_get_name(cipher);
        size_t size = strlen(name);
        // Those of TLS 1.3 are in a list of their own.
        if (exchange == NID_kx_dhe || exchange == NID_kx_dhe_psk || exchange == NID_kx_any) continue;
        if (used + size + 2 > sizeof text) return 0;
        if (used > 0) text[used++] = ':';
        memcpy(text + used, name, size + 1);
        used += size;
    }
    if (used > 0 && !SSL_CTX_set_cipher_list(context, text)) return 0;
    // Where a policy of the system forbids the first one.
    return SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384:P-521")
        || SSL_CTX_set1_groups_list(context, "P-256:P-384:P-521");
}

// The longest list of certificates that is read.
static inline void lade_tls_limit_certificates(SSL_CTX *context, long bytes) {
    SSL_CTX_set_max_cert_list(context, bytes);
}

// Whether a key is so large that computing with it is an attack: more than 8,192 bits, or an exponent of more than 64.
static inline int lade_key_is_excessive(EVP_PKEY *key) {
    if (!key) return 0;
    if (EVP_PKEY_get_bits(key) > 8192) return 1;
    BIGNUM *exponent = NULL;
    if (!EVP_PKEY_is_a(key, "RSA") && !EVP_PKEY_is_a(key, "RSA-PSS")) return 0;
    if (!EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent)) return 0;
    int bits = BN_num_bits(exponent);
    BN_free(exponent);
    return bits > 64;
}

// Verifies the certificates of a server, and refuses excessive keys before anything is computed with them.
static inline int lade_tls_verify(X509_STORE_CTX *store, void *skips_chain) {
    STACK_OF(X509) *chain = X509_STORE_CTX_get0_untrusted(store);
    for (int index = 0; index < sk_X509_num(chain); index++) {
        if (!lade_key_is_excessive(X509_get0_pubkey(sk_X509_value(chain, index)))) continue;
        X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
        return 0;
    }
    return skips_chain ? 1 : X509_verify_cert(store);
}

static inline void lade_tls_set_verification(SSL_CTX *context, int checks_chain) {
    // Also where every certificate is accepted: the keys are checked.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_cert_verify_callback(context, lade_tls_verify, checks_chain ? NULL : (void *)1);
}

static inline int lade_tls_set_versions(SSL_CTX *context, int least, int most) {
    return SSL_CTX_set_min_proto_version(context, least) && SSL_CTX_set_max_proto_version(context, most);
}

// Sessions are reported by the callback and kept by the caller.
static inline void lade_tls_report_sessions(SSL_CTX *context, int (*callback)(SSL *, SSL_SESSION *)) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, callback);
}

static inline int lade_tls_set_server_name(SSL *session, const char *name) {
    return (int)SSL_set_tlsext_host_name(session, name);
}

static inline int lade_tls_set_store(SSL *session, X509_STORE *store) {
    return (int)SSL_set1_verify_cert_store(session, store);
}

static inline int lade_chain_count(const STACK_OF(X509) *chain) { return chain ? sk_X509_num(chain) : 0; }

static inline X509 *lade_chain_item(const STACK_OF(X509) *chain, int index) { return sk_X509_value(chain, index); }

// The SHA-256 of the SubjectPublicKeyInfo of a certificate, 32 bytes; 0 when there is not enough memory.
static inline int lade_key_digest(X509 *certificate, unsigned char *digest) {
    unsigned char *bytes = NULL;
    int count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes);
    if (count < 0) return 0;
    int result = EVP_Digest(bytes, (size_t)count, digest, NULL, EVP_sha256(), NULL);
    OPENSSL_free(bytes);
    return result;
}

// Text that needs a pass phrase is damaged: without this, OpenSSL would ask for one at the terminal.
static inline int lade_no_passphrase(char *buffer, int room, int writes, void *context) {
    (void)buffer;
    (void)room;
    (void)writes;
    (void)context;
    return -1;
}

// Adds the certificates and revocation lists of a PEM text to a store: how many there were, -1 for a damaged text.
static inline int lade_store_add_pem(X509_STORE *store, const void *bytes, int count) {
    BIO *text = BIO_new_mem_buf(bytes, count);
    STACK_OF(X509_INFO) *list = text ? PEM_X509_INFO_read_bio(text, NULL, lade_no_passphrase, NULL) : NULL;
    BIO_free(text);
    if (!list) return -1;
    int found = 0;
    for (int index = 0; index < sk_X509_INFO_num(list); index++) {
        X509_INFO *item = sk_X509_INFO_value(list, index);
        // An element that is in the store already is no error.
        if (item->x509) found += X509_STORE_add_cert(store, item->x509);
        if (item->crl) found += X509_STORE_add_crl(store, item->crl);
    }
    sk_X509_INFO_pop_free(list, X509_INFO_free);
    return found;
}
