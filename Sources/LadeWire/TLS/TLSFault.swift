import LadeCore

/// Why a TLS connection failed, as facts; the tables below are the only place that makes errors of them.
enum TLSFault: Error, Equatable {
    /// The certificate was refused, with the verification result of OpenSSL (`X509_V_ERR_…`).
    case verification(Int)
    /// The peer sent a fatal alert (RFC 8446 §6.2).
    ///
    /// `wasAsked` says whether it had asked for a client certificate.
    case alert(Int, wasAsked: Bool)
    /// OpenSSL refused the peer's bytes, with its reason (`SSL_R_…`).
    case refused(Int)
    /// The first bytes of the peer are no record of TLS.
    case notTLS
    /// The connection ended within the handshake.
    case ended
    /// No certificate has a pinned key.
    case pinMismatch

    /// The error when the handshake failed.
    func kind(host: String) -> LoadingError.Kind {
        switch self {
        case .verification(let result): Self.untrusted(host, Self.cause(verification: result))
        case .alert(let alert, let wasAsked):
            switch Self.meaning(alert: alert, wasAsked: wasAsked) {
            case .clientCertificate: .clientCertificateRequired
            case .version: Self.untrusted(host, .protocolVersion)
            case .handshake: .cannotConnect(host: host, reason: .handshakeFailed)
            }
        case .refused(let reason):
            Self.causes[reason].map { Self.untrusted(host, $0) } ?? .cannotConnect(host: host, reason: .handshakeFailed)
        case .notTLS: Self.untrusted(host, .notTLS)
        case .ended: .cannotConnect(host: host, reason: .handshakeFailed)
        case .pinMismatch: .pinMismatch(host: host)
        }
    }

    /// Whether the peer ended an open connection because of the client's certificate, or its absence.
    ///
    /// With TLS 1.3 the server checks it after the client has finished the handshake.
    var isAboutClientCertificate: Bool {
        guard case .alert(let alert, let wasAsked) = self else { return false }
        return Self.meaning(alert: alert, wasAsked: wasAsked) == .clientCertificate
    }

    /// The fact, for the detail of an error.
    var detail: String {
        switch self {
        case .verification(let result): "verification result \(result) of OpenSSL"
        case .alert(let alert, _): "the server sent the alert \(alert)"
        case .refused(Self.excessiveMessage): "the server's certificates are longer than the limit of them"
        case .refused(let reason): "reason \(reason) of OpenSSL"
        case .notTLS: "the first bytes are no record of TLS"
        case .ended: "the connection ended within the handshake"
        case .pinMismatch: "no certificate has a pinned key"
        }
    }

    private static func untrusted(_ host: String, _ cause: LoadingError.TrustCause.Cause) -> LoadingError.Kind {
        .untrustedServer(LoadingError.TrustCause(host: host, cause: cause))
    }

    /// EXCESSIVE_MESSAGE_SIZE: certificates above `TransportSettings.ResponseLimits.certificateBytes`.
    private static let excessiveMessage = 152

    // MARK: - Alerts

    private enum Meaning {
        case clientCertificate
        case version
        case handshake
    }

    private static func meaning(alert: Int, wasAsked: Bool) -> Meaning {
        switch alert {
        // no_certificate, bad_certificate, unsupported_, revoked, expired, unknown; unknown_ca, access_denied;
        // certificate_unobtainable, bad_certificate_status_response, bad_certificate_hash_value, certificate_required.
        case 41...46, 48, 49, 111, 113, 114, 116: .clientCertificate
        // handshake_failure: before TLS 1.3, a peer also sends it when a client certificate is missing.
        case 40: wasAsked ? .clientCertificate : .handshake
        case 70: .version
        default: .handshake
        }
    }

    // MARK: - Reasons

    /// The reasons of OpenSSL (`sslerr.h`) that are about trust; any other one is a failed handshake.
    private static let causes: [Int: LoadingError.TrustCause.Cause] = [
        // UNSUPPORTED_PROTOCOL, WRONG_SSL_VERSION, VERSION_TOO_LOW.
        258: .protocolVersion, 266: .protocolVersion, 396: .protocolVersion,
        // WRONG_VERSION_NUMBER.
        267: .notTLS,
        // DH_KEY_TOO_SMALL, CA_KEY_TOO_SMALL, CA_MD_TOO_WEAK, EE_KEY_TOO_SMALL.
        394: .weakKey, 397: .weakKey, 398: .weakKey, 399: .weakKey,
    ]

    // MARK: - Verification results

    /// The cause of a verification result.
    static func cause(verification result: Int) -> LoadingError.TrustCause.Cause {
        verificationCauses[result] ?? .other("verification error \(result)")
    }

    /// OpenSSL's numbers and names (`x509_vfy.h`), which are part of its public interface.
    private static let verificationCauses: [Int: LoadingError.TrustCause.Cause] = [
        1: .other("UNSPECIFIED"),
        2: .untrustedRoot,
        3: .other("UNABLE_TO_GET_CRL"),
        4: .other("UNABLE_TO_DECRYPT_CERT_SIGNATURE"),
        5: .other("UNABLE_TO_DECRYPT_CRL_SIGNATURE"),
        6: .other("UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY"),
        7: .other("CERT_SIGNATURE_FAILURE"),
        8: .other("CRL_SIGNATURE_FAILURE"),
        9: .notYetValid,
        10: .expired,
        11: .notYetValid,
        12: .expired,
        13: .other("ERROR_IN_CERT_NOT_BEFORE_FIELD"),
        14: .other("ERROR_IN_CERT_NOT_AFTER_FIELD"),
        15: .other("ERROR_IN_CRL_LAST_UPDATE_FIELD"),
        16: .other("ERROR_IN_CRL_NEXT_UPDATE_FIELD"),
        17: .other("OUT_OF_MEM"),
        18: .selfSigned,
        19: .untrustedRoot,
        20: .untrustedRoot,
        21: .untrustedRoot,
        22: .other("CERT_CHAIN_TOO_LONG"),
        23: .revoked,
        24: .other("NO_ISSUER_PUBLIC_KEY"),
        25: .untrustedRoot,
        26: .other("INVALID_PURPOSE"),
        27: .untrustedRoot,
        28: .other("CERT_REJECTED"),
        29: .other("SUBJECT_ISSUER_MISMATCH"),
        30: .other("AKID_SKID_MISMATCH"),
        31: .other("AKID_ISSUER_SERIAL_MISMATCH"),
        32: .other("KEYUSAGE_NO_CERTSIGN"),
        33: .other("UNABLE_TO_GET_CRL_ISSUER"),
        34: .other("UNHANDLED_CRITICAL_EXTENSION"),
        35: .other("KEYUSAGE_NO_CRL_SIGN"),
        36: .other("UNHANDLED_CRITICAL_CRL_EXTENSION"),
        37: .other("INVALID_NON_CA"),
        38: .other("PROXY_PATH_LENGTH_EXCEEDED"),
        39: .other("KEYUSAGE_NO_DIGITAL_SIGNATURE"),
        40: .other("PROXY_CERTIFICATES_NOT_ALLOWED"),
        41: .other("INVALID_EXTENSION"),
        42: .other("INVALID_POLICY_EXTENSION"),
        43: .other("NO_EXPLICIT_POLICY"),
        44: .other("DIFFERENT_CRL_SCOPE"),
        45: .other("UNSUPPORTED_EXTENSION_FEATURE"),
        46: .other("UNNESTED_RESOURCE"),
        47: .other("PERMITTED_VIOLATION"),
        48: .other("EXCLUDED_VIOLATION"),
        49: .other("SUBTREE_MINMAX"),
        // `lade_tls_verify` refuses a key of more than 8,192 bits.
        50: .other("KEY_TOO_LARGE"),
        51: .other("UNSUPPORTED_CONSTRAINT_TYPE"),
        52: .other("UNSUPPORTED_CONSTRAINT_SYNTAX"),
        53: .other("UNSUPPORTED_NAME_SYNTAX"),
        54: .other("CRL_PATH_VALIDATION_ERROR"),
        55: .other("PATH_LOOP"),
        56: .other("SUITE_B_INVALID_VERSION"),
        57: .other("SUITE_B_INVALID_ALGORITHM"),
        58: .other("SUITE_B_INVALID_CURVE"),
        59: .other("SUITE_B_INVALID_SIGNATURE_ALGORITHM"),
        60: .other("SUITE_B_LOS_NOT_ALLOWED"),
        61: .other("SUITE_B_CANNOT_SIGN_P_384_WITH_P_256"),
        62: .wrongHost,
        63: .other("EMAIL_MISMATCH"),
        64: .wrongHost,
        65: .other("DANE_NO_MATCH"),
        66: .weakKey,
        67: .weakKey,
        68: .weakKey,
        69: .other("INVALID_CALL"),
        70: .other("STORE_LOOKUP"),
        71: .other("NO_VALID_SCTS"),
        72: .other("PROXY_SUBJECT_NAME_VIOLATION"),
        73: .other("OCSP_VERIFY_NEEDED"),
        74: .other("OCSP_VERIFY_FAILED"),
        75: .other("OCSP_CERT_UNKNOWN"),
        76: .other("UNSUPPORTED_SIGNATURE_ALGORITHM"),
        77: .other("SIGNATURE_ALGORITHM_MISMATCH"),
        78: .other("SIGNATURE_ALGORITHM_INCONSISTENCY"),
        79: .untrustedRoot,
        80: .other("PATHLEN_INVALID_FOR_NON_CA"),
        81: .other("PATHLEN_WITHOUT_KU_KEY_CERT_SIGN"),
        82: .other("KU_KEY_CERT_SIGN_INVALID_FOR_NON_CA"),
        83: .other("ISSUER_NAME_EMPTY"),
        84: .other("SUBJECT_NAME_EMPTY"),
        85: .other("MISSING_AUTHORITY_KEY_IDENTIFIER"),
        86: .other("MISSING_SUBJECT_KEY_IDENTIFIER"),
        87: .other("EMPTY_SUBJECT_ALT_NAME"),
        88: .other("EMPTY_SUBJECT_SAN_NOT_CRITICAL"),
        89: .other("CA_BCONS_NOT_CRITICAL"),
        90: .other("AUTHORITY_KEY_IDENTIFIER_CRITICAL"),
        91: .other("SUBJECT_KEY_IDENTIFIER_CRITICAL"),
        92: .other("CA_CERT_MISSING_KEY_USAGE"),
        93: .other("EXTENSIONS_REQUIRE_VERSION_3"),
        94: .other("EC_KEY_EXPLICIT_PARAMS"),
    ]
}
