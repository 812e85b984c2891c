import Foundation
import LadeCore

/// Extracts the public key of a certificate, in the form that pins are made from.
///
/// The platform returns a key without its algorithm, but a pin covers both (RFC 7469 §2.4). So the SubjectPublicKeyInfo
/// is extracted from the certificate's own bytes.
enum CertificateKey {
    /// The SubjectPublicKeyInfo of a certificate (RFC 5280 §4.1); nil when the bytes are not a certificate.
    static func publicKeyInfo(ofCertificate der: Data) -> Data? {
        var outer = Reader(der[...])
        guard var certificate = outer.enter(0x30), var fields = certificate.enter(0x30) else { return nil }
        // The version is the only field that may be missing, and the only one with the tag [0].
        if fields.tag == 0xA0 { fields.skip() }
        // serialNumber, signature, issuer, validity, subject.
        for _ in 0..<5 { fields.skip() }
        guard fields.tag == 0x30 else { return nil }
        return fields.next()
    }

    /// The pin of a certificate: SHA-256 of its SubjectPublicKeyInfo in base64 (RFC 7469 §2.4).
    static func pin(ofCertificate der: Data) -> String? {
        publicKeyInfo(ofCertificate: der).map { Data(SHA256.hash($0)).base64EncodedString() }
    }

    /// Reads the elements of DER data (X.690 §8.1).
    private struct Reader {
        private var rest: Data

        init(_ bytes: Data) {
            rest = bytes
        }

        var tag: UInt8? { rest.first }

        /// The content of the next element, if it has the given tag.
        mutating func enter(_ tag: UInt8) -> Reader? {
            guard self.tag == tag, let (header, whole) = measure() else { return nil }
            let content = rest.prefix(whole).dropFirst(header)
            rest = rest.dropFirst(whole)
            return Reader(content)
        }

        mutating func skip() {
            _ = next()
        }

        /// The whole next element; nil when it is truncated, and from then on.
        mutating func next() -> Data? {
            guard let (_, whole) = measure() else {
                rest = Data()
                return nil
            }
            defer { rest = rest.dropFirst(whole) }
            return Data(rest.prefix(whole))
        }

        /// The lengths of the next element's header and of the element with it.
        private func measure() -> (header: Int, whole: Int)? {
            let bytes = Array(rest.prefix(6))
            guard bytes.count >= 2 else { return nil }
            var header = 2
            var length = Int(bytes[1])
            if length >= 0x80 {
                // The long form: this many bytes of length, in big-endian order. Four are enough for any certificate.
                let count = length & 0x7F
                guard (1...4).contains(count), bytes.count >= 2 + count else { return nil }
                length = bytes[2..<2 + count].reduce(0) { $0 << 8 | Int($1) }
                header += count
            }
            guard header + length <= rest.count else { return nil }
            return (header, header + length)
        }
    }

    /// The certificates of a text in PEM form (RFC 7468 §5), in order.
    static func certificates(inPEM text: String) -> [Data] {
        text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst().compactMap { part in
            guard let end = part.range(of: "-----END CERTIFICATE-----") else { return nil }
            return Data(base64Encoded: String(part[..<end.lowerBound]), options: .ignoreUnknownCharacters)
        }
    }
}
