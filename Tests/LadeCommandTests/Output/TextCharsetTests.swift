import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct TextCharsetTests {
    private func text(_ bytes: [UInt8], _ charset: TextCharset, piece: Int) -> String {
        var decoder = CharsetDecoder(charset)
        var result: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            result += decoder.decode(bytes[start..<min(start + piece, bytes.count)])
        }
        return String(decoding: result + decoder.end(), as: UTF8.self)
    }

    @Test(
        "decodes the charsets of terminals, wherever the pieces end",
        arguments: [
            ([0xE4, 0x80, 0x99], .windows1252, "ä€™"), ([0xE4, 0xA4, 0xBE], .iso8859_15, "ä€Ÿ"),
            ([0x41, 0, 0x3D, 0xD8, 0, 0xDE], .utf16(isBigEndian: false), "A😀"),
            ([0xFE, 0xFF, 0, 0x41], .utf16(isBigEndian: false), "A"),
            ([0xFF, 0xFE, 0x41, 0], .utf16(isBigEndian: false), "A"),
            ([0, 0x41, 0xD8, 0x3D], .utf16(isBigEndian: true), "A\u{FFFD}"),
            ([0xD8, 0x3D, 0, 0x41, 0xDE, 0], .utf16(isBigEndian: true), "\u{FFFD}A\u{FFFD}"),
            ([0x41], .utf16(isBigEndian: true), "\u{FFFD}"), ([0xC3, 0xA4], .utf8, "ä"), ([], .windows1252, ""),
        ] as [([UInt8], TextCharset, String)]
    )
    func decodes(bytes: [UInt8], charset: TextCharset, text expected: String) {
        for piece in 1...4 { #expect(text(bytes, charset, piece: piece) == expected) }
    }

    @Test(
        "finds the charset in the content type",
        arguments: [
            ("text/plain; charset=ISO-8859-1", .windows1252),
            ("text/plain;charset=\"utf-16BE\"", .utf16(isBigEndian: true)),
            ("text/plain", .utf8), (nil, .utf8), ("nonsense", .utf8), ("text/plain; charset=../../x", .utf8),
        ] as [(String?, TextCharset)]
    )
    func names(type: String?, charset: TextCharset) {
        #expect(TextCharset(contentType: type) == charset)
    }
}
