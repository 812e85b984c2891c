#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// What a server says in the body of an answer that is not written to a file.
enum ServerMessage {
    /// More than this is a page for browsers rather than a message.
    private static let lineLimit = 20
    private static let limit = 4 << 10

    /// Shows the beginning of a body on the standard error, when it is a text.
    static func show(_ response: Response, _ bytes: Data, on console: Console) {
        let message = text(of: bytes, contentType: response.headers["Content-Type"])
        if !message.isEmpty { console.talk.write(message) }
    }

    /// The text that is shown for the beginning of a body; empty for what is no text.
    static func text(of bytes: Data, contentType: String?) -> String {
        let charset = TextCharset(contentType: contentType)
        guard !bytes.isEmpty, charset.hasZeroBytes || !bytes.contains(0) else { return "" }
        var text = TerminalText(TerminalText.Kind(contentType: contentType, isColoured: false), charset)
        let all = text.text(of: bytes) + text.end()
        let lines = all.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        let rest = lines.count > lineLimit || bytes.count >= limit ? "...\n" : ""
        return lines.prefix(lineLimit).map { $0.prefix(500) + "\n" }.joined() + rest
    }
}
