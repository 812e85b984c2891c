#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import COpenSSL
import LadeCore

/// The SHA-256 of the public key of a certificate (RFC 7469 §2.4), 32 bytes.
struct KeyDigest: Hashable, Sendable {
    let bytes: Data

    init(bytes: Data) {
        self.bytes = bytes
    }

    /// The digest of a certificate's key; nil without memory.
    init?(certificate: OpaquePointer) {
        var bytes = Data(count: 32)
        let result = bytes.withUnsafeMutableBytes {
            lade_key_digest(certificate, $0.bindMemory(to: UInt8.self).baseAddress)
        }
        guard result == 1 else { return nil }
        self.bytes = bytes
    }
}

/// The pinned keys: one of them must be in the certificates of a host.
struct Pins: Equatable {
    private let accepted: Set<KeyDigest>
    private let scope: TransportSettings.TLS.PinScope

    /// The pins of a host; nil when it has none.
    init?(_ settings: TransportSettings.TLS, host: String) {
        guard let pins = settings.pins.pins(for: host) else { return nil }
        accepted = Set(pins.compactMap { Data(base64Encoded: $0).map(KeyDigest.init(bytes:)) })
        // Without verification there is no chain of trust: anyone can add a certificate to what the server sends.
        scope = settings.verification == .full ? settings.pinScope : .leaf
    }

    /// Whether the keys of a verified chain, the server's first, include a pinned one.
    func accept(_ chain: [KeyDigest]) -> Bool {
        switch scope {
        case .leaf: chain.first.map(accepted.contains) ?? false
        case .chain: chain.contains(where: accepted.contains)
        }
    }
}
