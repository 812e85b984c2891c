#if canImport(Security)
    import Foundation
    import LadeCore
    import Security

    /// Checks a server's certificates according to ``LadeCore/TransportSettings/TLS``.
    ///
    /// This file is for Apple platforms; Linux builds do not compile it.
    struct ServerTrust: @unchecked Sendable {
        // Sendable: certificates are immutable.
        private let settings: TransportSettings.TLS
        private let anchors: [SecCertificate]

        enum Verdict {
            case asThePlatformDoes
            case accepted
            case acceptedUnchecked
            case pinMismatch
            case refused(LoadingError.TrustCause)
        }

        /// Reads the authorities.
        ///
        /// - Throws: ``LoadingError/Kind/invalidSetting(name:reason:)`` when one cannot be read.
        init(_ settings: TransportSettings.TLS) throws(LoadingError) {
            self.settings = settings
            var anchors: [SecCertificate] = []
            for source in settings.authorities {
                let pem: Data?
                let name: String
                switch source {
                case .file(let path):
                    // A file that cannot be read has no certificate.
                    (pem, name) = (try? FileContents.read(path, limit: 64 << 20, kind: "PEM"), path)
                case .pem(let bytes): (pem, name) = (bytes, "the PEM bytes")
                }
                let certificates = CertificateKey.certificates(inPEM: String(decoding: pem ?? Data(), as: UTF8.self))
                let read = certificates.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
                guard !read.isEmpty, read.count == certificates.count else {
                    throw LoadingError(
                        .invalidSetting(
                            name: "tls.authorities",
                            reason: "\(name): no readable certificate"
                        )
                    )
                }
                anchors += read
            }
            self.anchors = anchors
        }

        /// Checks the certificates of a server.
        ///
        /// It may wait for the network, for example to check a revocation.
        func evaluate(_ trust: SecTrust, host: String) -> Verdict {
            let pins: [String]?
            switch TrustDecision(settings, host: host, hasAuthorities: !anchors.isEmpty) {
            case .asThePlatformDoes: return .asThePlatformDoes
            case .unchecked: return .acceptedUnchecked
            case .chain(let anchored, let pinned):
                if let anchored {
                    SecTrustSetAnchorCertificates(trust, anchors as CFArray)
                    SecTrustSetAnchorCertificatesOnly(trust, anchored == .ownAuthorities)
                }
                pins = pinned
            }
            SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, host as CFString))
            var error: CFError?
            // Pins are checked in addition to a valid chain, never instead of it.
            guard SecTrustEvaluateWithError(trust, &error) else {
                return .refused(LoadingError.TrustCause(host: host, cause: Self.cause(of: error)))
            }
            guard let pins else { return .accepted }
            let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []
            let certificates = chain.map { SecCertificateCopyData($0) as Data }
            return TrustDecision.isPinned(certificates, scope: settings.pinScope, pins) ? .accepted : .pinMismatch
        }

        private static func cause(of error: CFError?) -> LoadingError.TrustCause.Cause {
            guard let error else { return .other("the certificate could not be verified") }
            switch OSStatus(truncatingIfNeeded: CFErrorGetCode(error)) {
            case errSecCertificateExpired: return .expired
            case errSecCertificateNotValidYet: return .notYetValid
            case errSecHostNameMismatch: return .wrongHost
            case errSecNotTrusted, errSecCreateChainFailed: return .untrustedRoot
            case errSecCertificateRevoked: return .revoked
            case errSecUnsupportedKeySize, errSecInvalidDigestAlgorithm: return .weakKey
            default: return .other(CFErrorCopyDescription(error) as String? ?? "the certificate could not be verified")
            }
        }
    }
#endif
