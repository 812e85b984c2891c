import Foundation
import Testing

@testable import LadeCore

@Suite("Charsets", .timeLimit(.minutes(5)))
struct CharsetTests {
    private func text(_ bytes: [UInt8], _ charset: Charset, piece: Int) -> String {
        var decoder = CharsetDecoder(charset)
        var result: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            result += decoder.decode(bytes[start..<min(start + piece, bytes.count)])
        }
        return String(decoding: result + decoder.end(), as: UTF8.self)
    }

    @Test(
        "finding LF-14 decodes charsets wherever the pieces end, and replaces what is invalid",
        arguments: [
            ([0xE4, 0x80, 0x99, 0x81], "windows-1252", "ä€™\u{81}"), ([0xE4, 0xA4, 0xBE], "iso-8859-15", "ä€Ÿ"),
            ([0x41, 0, 0x3D, 0xD8, 0, 0xDE], "utf-16le", "A😀"), ([0xFE, 0xFF, 0, 0x41], "utf-16", "A"),
            ([0xFF, 0xFE, 0x41, 0], "utf-16be", "A"), ([0, 0x41, 0xD8, 0x3D], "utf-16be", "A\u{FFFD}"),
            ([0xD8, 0x3D, 0, 0x41, 0xDE, 0], "utf-16be", "\u{FFFD}A\u{FFFD}"), ([0x41], "utf-16be", "\u{FFFD}"),
            ([0xC3, 0xA4], "utf-8", "ä"), ([], "windows-1252", ""), ([0xEF, 0xBB, 0xBF, 0x41], "gbk", "A"),
            ([0, 1, 0xF6, 0], "utf-32be", "😀"), ([0x93, 0xFA, 0x41, 0x93], "shift_jis", "日A\u{FFFD}"),
            ([0x80, 0xD6, 0xD0], "gbk", "€中"), ([0x80, 0x86], "windows-874", "€\u{86}"),
            ([0x1B, 0x24, 0x42, 0x46, 0x7C, 0x1B, 0x28, 0x42, 0x41], "iso-2022-jp", "日A"),
            ([0xC6, 0xDB], "macintosh", "\u{2206}€"), ([0xFF], "x-mac-cyrillic", "€"),
        ] as [([UInt8], String, String)]
    )
    func decodes(bytes: [UInt8], label: String, expected: String) throws {
        let charset = try #require(Charset(label: label))

        for piece in 1...4 { #expect(text(bytes, charset, piece: piece) == expected) }
        #expect(charset.text(of: bytes) == (expected.contains("\u{FFFD}") ? nil : expected))
    }

    @Test(
        "finding LF-14 labels are those of the Encoding Standard, in any case and with blanks around them",
        arguments: [
            ("ISO-8859-1", "windows-1252"), ("us-ascii", "windows-1252"), (" Latin1\n", "windows-1252"),
            ("iso-8859-9", "windows-1254"), ("UTF-16", "utf-16le"), ("x-sjis", "shift_jis"), ("GB2312", "gbk"),
            ("ks_c_5601-1987", "euc-kr"), ("Big5-HKSCS", "big5"), ("cp866", "ibm866"), ("tis-620", "windows-874"),
            ("x-mac-roman", "macintosh"), ("KOI8-RU", "koi8-u"), ("unicode", "utf-16le"), ("utf8", "utf-8"),
            ("iso-2022-kr", nil), ("utf-7", nil), ("", nil), ("x", nil), ("utf-8\u{301}", nil), ("../../x", nil),
            ("\u{212A}OI8-R", nil), ("UTF-8//TRANSLIT", nil),
        ] as [(String, String?)]
    )
    func labels(label: String, name: String?) {
        #expect(Charset(label: label)?.name == name)
    }

    #if os(Linux)
        /// Every pair of bytes, or every byte, as Python decodes it: a line for each in hexadecimal, empty for an error.
        private static let script = """
            import sys
            name, low = sys.argv[1], int(sys.argv[2])
            for high in range(256):
                for byte in (range(256) if low else [None]):
                    data = bytes([high] if byte is None else [high, byte])
                    try: print(data.decode(name).encode("utf-8").hex())
                    except UnicodeDecodeError: print("-")
            """

        @Test(
            "finding LF-14 what Python decodes is decoded alike",
            arguments: [
                ("ibm866", "cp866", false), ("koi8-r", "koi8_r", false), ("iso-8859-2", "iso8859_2", false),
                ("iso-8859-3", "iso8859_3", false), ("iso-8859-4", "iso8859_4", false),
                ("iso-8859-5", "iso8859_5", false), ("iso-8859-6", "iso8859_6", false),
                ("iso-8859-7", "iso8859_7", false), ("iso-8859-8", "iso8859_8", false),
                ("iso-8859-10", "iso8859_10", false), ("iso-8859-13", "iso8859_13", false),
                ("iso-8859-14", "iso8859_14", false), ("iso-8859-15", "iso8859_15", false),
                ("iso-8859-16", "iso8859_16", false), ("windows-1250", "cp1250", false),
                ("windows-1251", "cp1251", false), ("windows-1252", "cp1252", false),
                ("windows-1253", "cp1253", false), ("windows-1254", "cp1254", false),
                ("windows-1255", "cp1255", false), ("windows-1256", "cp1256", false),
                ("windows-1257", "cp1257", false), ("windows-1258", "cp1258", false), ("windows-874", "cp874", false),
                ("gbk", "gbk", true), ("shift_jis", "cp932", true), ("euc-kr", "cp949", true), ("big5", "big5", true),
            ] as [(String, String, Bool)]
        )
        func python(label: String, codec: String, hasPairs: Bool) async throws {
            let charset = try #require(Charset(label: label))
            // Foundation's own process class must not be used beside tests that start programs.
            let command = "python3 -c '\(Self.script)' \(codec) \(hasPairs ? 1 : 0)"
            let stream = try #require(popen(command, "r"))
            var output: [UInt8] = []
            while case let byte = fgetc(stream), byte >= 0 { output.append(UInt8(byte)) }
            #expect(pclose(stream) == 0)
            let lines = String(decoding: output, as: UTF8.self)
                .split(separator: "\n")
            #expect(lines.count == (hasPairs ? 65_536 : 256))
            var differing: [String] = []
            for (number, line) in lines.enumerated() where line != "-" {
                let bytes = hasPairs ? [UInt8(number >> 8), UInt8(number & 0xFF)] : [UInt8(number)]
                let text = charset.text(of: bytes) ?? "-"
                if text.utf8.map({ String(format: "%02x", $0) }).joined() != line {
                    differing.append("\(bytes): \(text)")
                }
            }
            // Vendors choose between two code points for some tens of characters. Python's cp932 reads the bytes A0 and FD
            // to FF alone, each in some 388 pairs, and its big5 lacks the rows that Hong Kong added.
            let limits = ["shift_jis": 1_600, "big5": 300, "gbk": 200, "euc-kr": 200]
            #expect(differing.count <= limits[label] ?? 0, "\(differing.prefix(20))")
        }
    #endif
}
