#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The message in the body of a response that is not written to a file.
enum ServerMessage {
    /// A longer body is a page for browsers rather than a message.
    private static let lineLimit = 20
    private static let limit = 4 << 10

    /// Prints the beginning of a body on the standard error if it is text.
    static func show(_ response: Response, _ bytes: Data, on console: Console) {
        let message = text(of: bytes, contentType: response.headers.value(.contentType))
        if !message.isEmpty { console.talk.write(message) }
    }

    /// The text to print for the beginning of a body; empty for a body that is not text.
    static func text(of bytes: Data, contentType: String?) -> String {
        let charset = Charset(shown: contentType)
        guard !bytes.isEmpty, charset.hasZeroBytes || !bytes.contains(0) else { return "" }
        var text = TerminalText(TerminalText.Kind(contentType: contentType, isColoured: false), charset)
        let all = text.text(of: bytes) + text.end()
        let lines = all.parts(at: "\n").dropLast()
        let rest = lines.count > lineLimit || bytes.count >= limit ? "...\n" : ""
        return lines.prefix(lineLimit).map { String($0.unicodeScalars.prefix(500)) + "\n" }.joined() + rest
    }
}
