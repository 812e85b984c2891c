#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Turns the bytes of a body into the text that a terminal is given (CM-02).
///
/// Bytes come in pieces that may end in the middle of a character. What is no UTF-8 becomes U+FFFD; characters that
/// control a terminal or the direction of writing are never passed on.
struct TerminalText {
    /// What the body is taken for.
    enum Kind: Equatable {
        /// Shown as it is.
        case plain
        /// Laid out, and coloured if that is wanted.
        case json(isColoured: Bool)

        /// The kind that a content type asks for.
        init(contentType: String?, isColoured: Bool) {
            // A type that cannot be read is no JSON.
            let type = contentType.flatMap { try? MediaType($0) }
            self = type?.isJSON == true ? .json(isColoured: isColoured) : .plain
        }
    }

    private var printer: JSONPrinter?
    private var decoder: CharsetDecoder
    private var unfinished: [UInt8] = []
    // Of plain text only.
    private var last: Unicode.Scalar?

    /// Starts a text.
    init(_ kind: Kind, _ charset: TextCharset = .utf8) {
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

    /// The text of what is left, and a line end if the last line has none.
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

    /// CR LF is a line end like LF; a CR alone would let a server write over what is already there.
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

    /// Where the last character starts that the next piece may complete; the end if there is none.
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
