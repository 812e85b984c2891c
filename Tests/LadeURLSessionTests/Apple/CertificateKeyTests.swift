import Foundation
import Testing

@testable import LadeURLSession

@Suite(.timeLimit(.minutes(5)))
struct CertificateKeyTests {
    /// Self-signed certificates and the SubjectPublicKeyInfo of each, as `openssl x509 -pubkey` gives it.
    static let certificates: [(String, String)] = [
        (
            """
            -----BEGIN CERTIFICATE-----
            MIIBaDCCAQ6gAwIBAgIBATAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAdlYy50ZXN0
            MCAXDTI2MTEyMTA1NTAwOVoYDzIxMjYxMDI4MDU1MDA5WjASMRAwDgYDVQQDDAdl
            Yy50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEDMLsxZc9f1N71YIqU6Fh
            jfFLIqumGDw5M6Ibk6apdCn/cstvgoa9x4bTr2JbM11OUZ4vHxVFpeLkOsJmOw3B
            nKNTMFEwHQYDVR0OBBYEFODDvVu7zEIry1nYi8L9qJe5gaISMB8GA1UdIwQYMBaA
            FODDvVu7zEIry1nYi8L9qJe5gaISMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0E
            AwIDSAAwRQIhANkRlkPQwggYWY7prbXMsY02uO3Xnv7Q8lFWy1ex0w2qAiBIHy81
            Dle4/J5D4+8DboVXgJaiKIw2YDOktf2pCuooqg==
            -----END CERTIFICATE-----
            """,
            "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEDMLsxZc9f1N71YIqU6FhjfFLIqumGDw5M6Ibk6apdCn/cstvgoa9x4"
                + "bTr2JbM11OUZ4vHxVFpeLkOsJmOw3BnA=="
        ),
        (
            """
            -----BEGIN CERTIFICATE-----
            MIICBDCCAW2gAwIBAgIUcfP27zA6wAqzDnCo60MWWhZr54EwDQYJKoZIhvcNAQEL
            BQAwEzERMA8GA1UEAwwIcnNhLnRlc3QwIBcNMjYxMTIxMDU1MDA5WhgPMjEyNjEw
            MjgwNTUwMDlaMBMxETAPBgNVBAMMCHJzYS50ZXN0MIGfMA0GCSqGSIb3DQEBAQUA
            A4GNADCBiQKBgQDRxS95GwmZe94At27KGi1+rz5bLqz7eE0WLJcPtZEut7ocV8fP
            vhekyepeOdJXWLYRuF294JKPZfFRMrLYiAiI1CV12z5fPFiLUu5Kx0L9tct+LdZ+
            cVMfWGm05RRdBdRWHhHPWQQGAzcNBa8qPh7UI9r1E7DRiSGMd+ngML1D/QIDAQAB
            o1MwUTAdBgNVHQ4EFgQUa8hT6AT/203S5ncbAz/7uZeKMAowHwYDVR0jBBgwFoAU
            a8hT6AT/203S5ncbAz/7uZeKMAowDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0B
            AQsFAAOBgQAIMycgOv3IRfNcsT+SgHN7UHH+bRLf/5XEQELvBCR5ErtRgxiwdjG3
            tXJmK9bvqxt/efYSRxN8pPCGSEIDZyKaH+aWAKnDrmYqqdk9srfZ7Y0l9vKOy6cd
            1gkvp1PyXS5D1h54UpLe24fd92H5RDbY+7Z6nCba3MluwGRmQnYX+A==
            -----END CERTIFICATE-----
            """,
            "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDRxS95GwmZe94At27KGi1+rz5bLqz7eE0WLJcPtZEut7ocV8fPvh"
                + "ekyepeOdJXWLYRuF294JKPZfFRMrLYiAiI1CV12z5fPFiLUu5Kx0L9tct+LdZ+cVMfWGm05RRdBdRWHhHPWQQGAzcN"
                + "Ba8qPh7UI9r1E7DRiSGMd+ngML1D/QIDAQAB"
        ),
        (
            """
            -----BEGIN CERTIFICATE-----
            MIIBOjCB7aADAgECAhQ6754TizcK5yBhUGwTwt/eEvTmXTAFBgMrZXAwEjEQMA4G
            A1UEAwwHZWQudGVzdDAgFw0yNjExMjEwNTUwMDlaGA8yMTI2MTAyODA1NTAwOVow
            EjEQMA4GA1UEAwwHZWQudGVzdDAqMAUGAytlcAMhACBMF7Kij66l16JttKn+HeE4
            QC2chnPONrIXL1DEn/mro1MwUTAdBgNVHQ4EFgQUZjGRtwpr/PoVHaLOU/eWdJp5
            JWYwHwYDVR0jBBgwFoAUZjGRtwpr/PoVHaLOU/eWdJp5JWYwDwYDVR0TAQH/BAUw
            AwEB/zAFBgMrZXADQQBosbYdT8N0Zx6KycOioc72YtndxhTJaCtYHrKzyQaky9D/
            2rq4KcTgZ/tQCC35SkhLpnL4q4kFGYMLSqHQ85UD
            -----END CERTIFICATE-----
            """,
            "MCowBQYDK2VwAyEAIEwXsqKPrqXXom20qf4d4ThALZyGc842shcvUMSf+as="
        ),
    ]

    @Test("the public key's info is cut out of certificates of every kind of key", arguments: certificates)
    func publicKeyInfo(_ pem: String, _ expected: String) throws {
        let certificate = try #require(CertificateKey.certificates(inPEM: pem).first)
        let info = try #require(CertificateKey.publicKeyInfo(ofCertificate: certificate))
        #expect(info.base64EncodedString() == expected)
    }

    @Test("bytes that are no certificate have no key, wherever they are cut")
    func garbage() throws {
        let certificate = try #require(CertificateKey.certificates(inPEM: Self.certificates[0].0).first)
        for length in 0..<certificate.count {
            #expect(CertificateKey.publicKeyInfo(ofCertificate: certificate.prefix(length)) == nil)
        }
        #expect(CertificateKey.publicKeyInfo(ofCertificate: Data(repeating: 0x30, count: 100)) == nil)
        #expect(CertificateKey.publicKeyInfo(ofCertificate: Data([0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])) == nil)
    }

    @Test("a text may hold several certificates and other things")
    func severalCertificates() {
        let text = "# ours\n" + Self.certificates[0].0 + "\nnoise\n" + Self.certificates[1].0
        #expect(CertificateKey.certificates(inPEM: text).count == 2)
        #expect(CertificateKey.certificates(inPEM: "no certificate").isEmpty)
    }
}
