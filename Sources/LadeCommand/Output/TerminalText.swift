#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeFields

/// Turns the bytes of a body into text for a terminal.
///
/// A piece may end in the middle of a character. Invalid UTF-8 becomes U+FFFD. Characters that control the terminal or
/// the direction of writing are never passed on.
struct TerminalText {
    /// How the body is shown.
    enum Kind: Equatable {
        /// As plain text.
        case plain
        /// Formatted, with optional colours.
        case json(isColoured: Bool)

        /// The kind for a content type.
        init(contentType: String?, isColoured: Bool) {
            // A content type that cannot be parsed is not JSON.
            let type = contentType.flatMap { try? MediaType($0) }
            self = type?.isJSON == true ? .json(isColoured: isColoured) : .plain
        }
    }

    private var printer: JSONPrinter?
    private var decoder: CharsetDecoder
    private var unfinished: [UInt8] = []
    // Used for plain text only.
    private var last: Unicode.Scalar?

    /// Starts a text.
    init(_ kind: Kind, _ charset: Charset = .utf8) {
        decoder = CharsetDecoder(charset)
        if case .json(let isColoured) = kind {
            printer = JSONPrinter(isColoured: isColoured, escaping: \.rewritesDisplay)
        }
    }

    /// The text of the next piece.
    mutating func text(of chunk: Data) -> String {
        take(decoder.decode(chunk))
    }

    private mutating func take(_ chunk: [UInt8]) -> String {
        let bytes = unfinished + chunk
        let end = Self.endOfWholeCharacters(bytes)
        unfinished = Array(bytes[end...])
        return shown(String(decoding: bytes[..<end], as: UTF8.self))
    }

    /// The remaining text, with a line end if the last line has none.
    mutating func end() -> String {
        var result = take(decoder.end())
        if !unfinished.isEmpty { result += shown("\u{FFFD}") }
        unfinished = []
        if let last, last != "\n" { result += "\n" }
        printer?.end(&result)
        return result
    }

    private mutating func shown(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            if printer != nil {
                printer?.write(scalar, to: &result)
            } else {
                writePlain(scalar, to: &result)
            }
        }
        return result
    }

    /// Writes a character of plain text.
    ///
    /// CR LF is a line end like LF. A lone CR would let a server overwrite text that is already shown.
    private mutating func writePlain(_ scalar: Unicode.Scalar, to result: inout String) {
        if last == "\r", scalar != "\n" { result += "\\x0D" }
        last = scalar
        if scalar == "\r" { return }
        if scalar == "\n" || scalar == "\t" || !scalar.rewritesDisplay {
            result.unicodeScalars.append(scalar)
        } else {
            result += String(scalar).escapedForDisplay()
        }
    }

    /// Where an incomplete last character starts, which the next piece may complete; the end if there is none.
    private static func endOfWholeCharacters(_ bytes: [UInt8]) -> Int {
        for distance in 1...3 where distance <= bytes.count {
            let byte = bytes[bytes.count - distance]
            if byte & 0xC0 == 0x80 { continue }
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return length > distance ? bytes.count - distance : bytes.count
        }
        return bytes.count
    }
}
