#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

// The members that other programs write otherwise than this library.

extension HAREntry {
    /// Brings an entry of another program to what this library means by its members.
    ///
    /// - Parameters:
    ///   - size: The size of the content that the recording has; nil for none.
    ///   - compression: The bytes that a coding saved; nil where the recording does not say it.
    ///   - isMarked: Whether the recording itself says that the content is a part.
    mutating func understandOtherProgram(size: Int64?, compression: Int64?, isMarked: Bool) {
        understandRequest()
        let isCoded = !responseValues("Content-Encoding").isEmpty
        let announced = isCoded ? nil : responseValues("Content-Length").first.flatMap { Int64($0) }
        let decoded = compression.flatMap { saved in size.map { $0 &+ saved } }
        // The length that the server announced is that of the bytes; programs write other sizes of what they decoded.
        response.content.restoreEncoding(
            announced.map { [$0] } ?? [size, decoded, response.bodyBytes].compactMap(\.self)
        )
        guard !isMarked else { return }
        let known = Int64(response.content.bytes?.count ?? 0)
        // Browsers keep no content of a redirect, and of a request that they ended themselves.
        let hasBody =
            request.method != "HEAD" && request.method != "CONNECT" && response.status >= 200
            && response.status != 204 && !(300..<400).contains(response.status) && facts.fault?.kind != "cancelled"
        var whole = known
        // Programs write the coded length as the size, which is more than that of a short text.
        if hasBody, !isCoded || response.content.bytes == nil {
            let length = responseValues("Content-Length").first.flatMap { Int64($0) }
            whole = max(known, length ?? size ?? 0)
        }
        // A text that was decoded with losses is longer or shorter than what was sent.
        if whole != known, let text = response.content.bytes, text.firstRange(of: Self.replacement) != nil {
            whole = known
        }
        response.content.size = whole
    }

    private static let replacement = Data("\u{FFFD}".utf8)

    private mutating func understandRequest() {
        guard var content = request.content, let length = request.bodyBytes, let bytes = content.bytes else { return }
        content.restoreEncoding([length])
        // A body that is no text, or is coded, cannot be restored, so nothing is known of it but the length.
        if Int64(content.bytes?.count ?? 0) != length, bytes.isEmpty || bytes.firstRange(of: Self.replacement) != nil {
            content.bytes = nil
            content.size = length
        }
        request.content = content
    }
}

extension HAREntry.Content {
    /// Gives a text the bytes that were sent, by the one-byte charset in which it has one of the lengths.
    fileprivate mutating func restoreEncoding(_ lengths: [Int64]) {
        guard let bytes, !lengths.contains(Int64(bytes.count)), bytes.contains(where: { $0 >= 0x80 }),
            let text = String(validating: bytes, as: UTF8.self)
        else { return }
        var coded: [UInt8] = []
        let table = Self.bytes(of: type)
        for scalar in text.unicodeScalars {
            guard let byte = table[scalar] ?? UInt8(exactly: scalar.value) else { return }
            coded.append(byte)
        }
        if lengths.contains(Int64(coded.count)) { self.bytes = Data(coded) }
    }

    /// The bytes of the characters in the charset of a media type; that of browsers where it names none.
    private static func bytes(of type: String) -> [Unicode.Scalar: UInt8] {
        var charset = Charset.windows1252
        for parameter in type.utf8.split(separator: UInt8(ascii: ";")).dropFirst() {
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1)
            let name = parts.first.map { String(decoding: $0.drop { $0 == 0x20 }, as: UTF8.self).asciiLowercased }
            guard name == "charset", parts.count == 2 else { continue }
            let label = String(decoding: parts[1].filter { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
            charset = Charset(label: label) ?? charset
        }
        var table: [Unicode.Scalar: UInt8] = [:]
        for byte in UInt8(0x80)...0xFF {
            let scalars = charset.text(of: [byte]).map(\.unicodeScalars)
            if let scalars, scalars.count == 1, let scalar = scalars.first { table[scalar] = byte }
        }
        return table
    }
}

extension HAREntry.Fault {
    /// The fault for the error of a browser, which names it as `net::ERR_…`; a sentence of any other program.
    init(ofOtherProgram text: String, host: String) {
        let name = text.utf8.starts(with: "net::ERR_".utf8) ? String(Substring(text.utf8.dropFirst(9))) : ""
        let (kind, detail) =
            switch name {
            case "ABORTED": ("cancelled", "")
            case "NAME_NOT_RESOLVED": ("nameNotResolved", host)
            case "CONNECTION_REFUSED", "ADDRESS_UNREACHABLE", "CONNECTION_FAILED": ("cannotConnect", host)
            case "CONNECTION_RESET", "CONNECTION_CLOSED", "EMPTY_RESPONSE", "HTTP2_PROTOCOL_ERROR",
                "QUIC_PROTOCOL_ERROR":
                ("connectionLost", "")
            case "CONNECTION_TIMED_OUT": ("timedOut", LoadingError.TimeoutPhase.connect.rawValue)
            case "TIMED_OUT": ("timedOut", LoadingError.TimeoutPhase.idle.rawValue)
            case "CONTENT_LENGTH_MISMATCH", "INCOMPLETE_CHUNKED_ENCODING": ("incompleteBody", "")
            case "INVALID_HTTP_RESPONSE", "INVALID_CHUNKED_ENCODING": ("malformedResponse", "")
            case _ where name.utf8.starts(with: "CERT_".utf8): ("untrustedServer", host)
            default: ("transport", "")
            }
        self.init(kind: kind, detail: detail, sentence: text)
    }
}
