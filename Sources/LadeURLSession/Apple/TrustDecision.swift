import Foundation
import LadeCore

/// Decides what is checked about the certificates of a server, without the platform's types.
enum TrustDecision: Hashable {
    /// The platform checks them as it does without settings.
    case asThePlatformDoes
    /// Every certificate is accepted.
    case unchecked
    /// The chain is validated, with other anchors than the system's where some are named, and compared with pins where there
    /// are some.
    case chain(Anchors?, pins: [String]?)

    /// The authorities that a chain may end at.
    enum Anchors: Hashable {
        case ownAuthorities
        case ownAndSystemAuthorities
    }

    /// Decides by the settings.
    init(_ settings: TransportSettings.TLS, host: String, hasAuthorities: Bool) {
        if settings.verification == .unsafelyAcceptEveryCertificate {
            self = .unchecked
            return
        }
        let pins = settings.pins.pins(for: host)
        let anchors: Anchors? =
            !settings.trustsSystemAuthorities ? .ownAuthorities : hasAuthorities ? .ownAndSystemAuthorities : nil
        self = pins == nil && anchors == nil ? .asThePlatformDoes : .chain(anchors, pins: pins)
    }

    /// Whether a pin matches the server's own certificate, the first of the chain, or in a wider scope any certificate of the
    /// chain.
    ///
    /// A certificate without a readable key has no pin.
    static func isPinned(_ chain: [Data], scope: TransportSettings.TLS.PinScope, _ pins: [String]) -> Bool {
        let certificates = scope == .chain ? chain[...] : chain.prefix(1)
        return certificates.contains { certificate in
            CertificateKey.pin(ofCertificate: certificate).map(pins.contains) ?? false
        }
    }
}
