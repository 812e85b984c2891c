import LadeCore

/// A content coding that can be decoded (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
package enum ContentCoding: String, CaseIterable {
    case gzip
    case deflate
    case brotli = "br"
    case zstd

    /// The largest number of codings in one field, the same as libcurl's.
    package static let most = 5

    /// The coding with this name, in any case; nil for one that cannot be decoded.
    package init?(name: some StringProtocol) {
        let name = name.asciiLowercased
        if name == "x-gzip" {
            self = .gzip
        } else if let coding = ContentCoding(rawValue: name) {
            self = coding
        } else {
            return nil
        }
    }

    /// Parses the value of a `Content-Encoding` field.
    ///
    /// - Returns: The codings in the order in which they were applied, without `identity`, which changes nothing, and
    ///   without names that are no codings.
    /// - Throws: `CodingFault.unknown` for a coding that is not in the list, `CodingFault.tooMany` above ``most``.
    package static func list(_ field: String) throws(CodingFault) -> [ContentCoding] {
        var codings: [ContentCoding] = []
        for name in names(in: field) where name.asciiLowercased != "identity" && !isNoCoding(name) {
            guard codings.count < most else { throw .tooMany(limit: most) }
            guard let coding = ContentCoding(name: name) else { throw .unknown(String(name)) }
            codings.append(coding)
        }
        return codings
    }

    /// The names in the value of a `Content-Encoding` field that are no codings, and that servers send with bodies as
    /// they are.
    package static func namesOfNoCoding(in field: String) -> [String] {
        names(in: field).filter(isNoCoding).map(String.init)
    }

    /// Charsets, MIME transfer encodings that change nothing, the chunks of an upload that a store repeats with the
    /// download, and words for "none".
    private static let noCodings: Set<String> = [
        "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "windows-1252", "7bit", "8bit", "binary", "aws-chunked",
        "none", "null", "no", "plain", "text", "raw",
    ]

    private static func isNoCoding(_ name: some StringProtocol) -> Bool { noCodings.contains(name.asciiLowercased) }

    private static func names(in field: String) -> [Substring] {
        field.utf8.split(separator: UInt8(ascii: ",")).compactMap { part in
            let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            var name = part.drop(while: isBlank)
            while let last = name.last, isBlank(last) { name.removeLast() }
            return name.isEmpty ? nil : Substring(name)
        }
    }
}

/// Why the decoder refuses the coded bytes of a body.
package enum CodingFault: Error, Hashable {
    /// The coding is not one that can be decoded.
    case unknown(String)
    /// One field lists more codings than ``ContentCoding/most``.
    case tooMany(limit: Int)
    /// The bytes are not of the named coding, or are damaged; with the message of the library.
    case damaged(ContentCoding, String)
    /// Bytes follow the end of the coded stream.
    case surplus(ContentCoding)
    /// A mebibyte of the body decodes to nothing.
    case barren
}

extension CodingFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknown(let name): "the content coding “\(name.escapedForDisplay(limit: 40))” is unknown"
        case .tooMany(let limit): "there are more than \(limit) content codings"
        case .damaged(let coding, let detail): "\(coding.rawValue): \(detail)"
        case .surplus(let coding): "\(coding.rawValue): bytes follow the end of the stream"
        case .barren: "1 MiB of the coded body decodes to nothing"
        }
    }
}
