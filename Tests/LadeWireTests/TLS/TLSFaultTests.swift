import COpenSSL
import LadeCore
import Testing

@testable import LadeWire

@Suite("Faults of TLS as errors", .timeLimit(.minutes(5)))
struct TLSFaultTests {
    private func trust(_ fault: TLSFault) -> LoadingError.TrustCause.Cause? {
        guard case .untrustedServer(let cause) = fault.kind(host: "h") else { return nil }
        #expect(cause.host == "h")
        return cause.cause
    }

    @Test("wire WR-25 each verification result has a cause, an unusual one OpenSSL's name")
    func verification() throws {
        let expected: [CInt: LoadingError.TrustCause.Cause] = [
            X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid, X509_V_ERR_CRL_NOT_YET_VALID: .notYetValid,
            X509_V_ERR_CERT_HAS_EXPIRED: .expired, X509_V_ERR_CRL_HAS_EXPIRED: .expired,
            X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .selfSigned, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: .untrustedRoot,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT: .untrustedRoot,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY: .untrustedRoot,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE: .untrustedRoot, X509_V_ERR_CERT_UNTRUSTED: .untrustedRoot,
            X509_V_ERR_INVALID_CA: .untrustedRoot, X509_V_ERR_PATH_LENGTH_EXCEEDED: .untrustedRoot,
            X509_V_ERR_CERT_REVOKED: .revoked, X509_V_ERR_HOSTNAME_MISMATCH: .wrongHost,
            X509_V_ERR_IP_ADDRESS_MISMATCH: .wrongHost, X509_V_ERR_EE_KEY_TOO_SMALL: .weakKey,
            X509_V_ERR_CA_KEY_TOO_SMALL: .weakKey, X509_V_ERR_CA_MD_TOO_WEAK: .weakKey,
            X509_V_ERR_UNABLE_TO_GET_CRL: .other("UNABLE_TO_GET_CRL"),
            X509_V_ERR_CERT_CHAIN_TOO_LONG: .other("CERT_CHAIN_TOO_LONG"),
        ]
        for (result, cause) in expected { #expect(trust(.verification(Int(result))) == cause, "\(result)") }
        for result in 1...94 {
            let cause = try #require(trust(.verification(result)))
            guard case .other(let name) = cause else {
                #expect(expected[CInt(result)] == cause, "\(result)")
                continue
            }
            #expect(!name.contains(" "), "\(result): \(name)")
        }
        #expect(trust(.verification(9_999)) == .other("verification error 9999"))
    }

    @Test("wire WR-25 each alert has an error")
    func alerts() {
        let certificate: Set = [41, 42, 43, 44, 45, 46, 48, 49, 111, 113, 114, 116]
        let other: Set = [10, 20, 21, 22, 30, 47, 50, 51, 60, 71, 80, 86, 90, 100, 109, 110, 112, 115, 120, 255]
        for wasAsked in [true, false] {
            for alert in certificate {
                #expect(TLSFault.alert(alert, wasAsked: wasAsked).kind(host: "h") == .clientCertificateRequired)
                #expect(TLSFault.alert(alert, wasAsked: wasAsked).isAboutClientCertificate)
            }
            for alert in other {
                let fault = TLSFault.alert(alert, wasAsked: wasAsked)
                #expect(fault.kind(host: "h") == .cannotConnect(host: "h", reason: .handshakeFailed), "\(alert)")
                #expect(!fault.isAboutClientCertificate)
            }
            #expect(trust(.alert(70, wasAsked: wasAsked)) == .protocolVersion)
        }
        #expect(TLSFault.alert(40, wasAsked: true).kind(host: "h") == .clientCertificateRequired)
        let refused = TLSFault.alert(40, wasAsked: false).kind(host: "h")
        #expect(refused == .cannotConnect(host: "h", reason: .handshakeFailed))
    }

    @Test("wire WR-25 each other fault has an error")
    func others() {
        let expected: [CInt: LoadingError.TrustCause.Cause] = [
            SSL_R_UNSUPPORTED_PROTOCOL: .protocolVersion, SSL_R_WRONG_SSL_VERSION: .protocolVersion,
            SSL_R_VERSION_TOO_LOW: .protocolVersion, SSL_R_WRONG_VERSION_NUMBER: .notTLS,
            SSL_R_DH_KEY_TOO_SMALL: .weakKey, SSL_R_EE_KEY_TOO_SMALL: .weakKey, SSL_R_CA_KEY_TOO_SMALL: .weakKey,
            SSL_R_CA_MD_TOO_WEAK: .weakKey,
        ]
        for (reason, cause) in expected { #expect(trust(.refused(Int(reason))) == cause, "\(reason)") }
        for fault in [TLSFault.refused(0), .refused(Int(SSL_R_BAD_EXTENSION)), .ended] {
            #expect(fault.kind(host: "h") == .cannotConnect(host: "h", reason: .handshakeFailed))
        }
        #expect(trust(.notTLS) == .notTLS)
        #expect(TLSFault.pinMismatch.kind(host: "h") == .pinMismatch(host: "h"))
    }
}
