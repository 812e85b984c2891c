#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeFields

extension Response {
    /// The SHA-256 that the server announced for the whole file, and the field that contains it.
    ///
    /// `Repr-Digest` and the older `Digest` describe the whole representation; `Content-Digest` describes the content
    /// of this response (RFC 9530 §2, §3; RFC 3230 §4.3.2).
    var fileDigest: (field: String, hash: Data)? {
        if let hash = Self.digest(inDictionary: headers.all("Repr-Digest")) { return ("Repr-Digest", hash) }
        if status != 206, let hash = Self.digest(inDictionary: headers.all("Content-Digest")) {
            return ("Content-Digest", hash)
        }
        for entry in headers.all("Digest").flatMap({ $0.parts(at: ",", omitsEmpty: true) }) {
            guard let (name, value) = entry.cut(at: "="), name.trimmedOfSpace.asciiLowercased == "sha-256" else {
                continue
            }
            if let hash = Data(base64Encoded: value.replacingEach(" ", with: "")) { return ("Digest", hash) }
        }
        return nil
    }

    private static func digest(inDictionary lines: [String]) -> Data? {
        // A malformed field is ignored (RFC 9530 §2).
        guard !lines.isEmpty, let members = try? StructuredField.Dictionary(parsing: lines) else { return nil }
        guard case .byteSequence(let hash) = members["sha-256"]?.item?.value else { return nil }
        return Data(hash)
    }
}
