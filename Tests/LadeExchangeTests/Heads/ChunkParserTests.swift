import LadeCore
import Testing

@testable import LadeExchange

@Suite("Chunks", .timeLimit(.minutes(5)))
struct ChunkParserTests {
    /// What a parser made of some bytes.
    struct Outcome: Equatable {
        var content = ""
        var trailers: [String] = []
        var surplus = 0
        var isComplete = false
        var fault: LoadingError.MalformedResponse.Rule?
    }

    static func parse(
        _ text: String,
        inPiecesOf size: Int = .max,
        tolerances: TransportSettings.Tolerances = []
    ) -> Outcome {
        var parser = ChunkParser(tolerances: tolerances, limits: TransportSettings.ResponseLimits())
        var outcome = Outcome()
        var left = Array(text.utf8)[...]
        while !left.isEmpty, !outcome.isComplete, outcome.fault == nil {
            let piece = Array(left.prefix(size))
            left = left.dropFirst(size)
            piece.withUnsafeBytes { feed($0, &parser, &outcome) }
        }
        outcome.surplus += left.count
        return outcome
    }

    private static func feed(_ bytes: UnsafeRawBufferPointer, _ parser: inout ChunkParser, _ outcome: inout Outcome) {
        var rest = bytes
        do {
            while true {
                switch try parser.next(&rest) {
                case .content(let count):
                    outcome.content += String(decoding: rest[..<count], as: UTF8.self)
                    parser.take(count)
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                case .trailer(let line): outcome.trailers.append(String(decoding: line, as: UTF8.self))
                case .more: return
                case .end(let surplus):
                    outcome.isComplete = true
                    outcome.surplus = surplus
                    return
                }
            }
        } catch {
            if case .malformed(let fault) = error { outcome.fault = fault.rule }
        }
    }

    static let sound: [(String, Outcome)] = [
        ("0\r\n\r\n", Outcome(trailers: ["\r\n"], isComplete: true)),
        ("2\r\nok\r\n0\r\n\r\n", Outcome(content: "ok", trailers: ["\r\n"], isComplete: true)),
        ("002\r\nok\r\n1\r\n!\r\n000\r\n\r\n", Outcome(content: "ok!", trailers: ["\r\n"], isComplete: true)),
        (
            "B\r\n\r\n0\r\n\r\n567\n\r\n0\r\n\r\n",
            Outcome(content: "\r\n0\r\n\r\n567\n", trailers: ["\r\n"], isComplete: true)
        ),
        ("a;x\r\n0123456789\r\n0;y=z\r\n\r\n", Outcome(content: "0123456789", trailers: ["\r\n"], isComplete: true)),
        ("1 ; x = \"a\\\"b;\"\r\n.\r\n0\r\n\r\n", Outcome(content: ".", trailers: ["\r\n"], isComplete: true)),
        ("0\r\nX: 1\r\nY: 2\r\n\r\n", Outcome(trailers: ["X: 1\r\n", "Y: 2\r\n", "\r\n"], isComplete: true)),
        ("0\r\n\r\nmore", Outcome(trailers: ["\r\n"], surplus: 4, isComplete: true)),
        ("5\r\nhell", Outcome(content: "hell")),
        ("5", Outcome()),
    ]

    @Test("RFC 9112 §7.1: sizes, extensions, trailers, ends, however they are cut", arguments: sound)
    func accepts(_ text: String, _ expected: Outcome) {
        for size in 1...text.utf8.count {
            #expect(Self.parse(text, inPiecesOf: size) == expected, "in pieces of \(size)")
        }
    }

    @Test(
        "finding FH-13 what is no chunk is refused, however it is cut",
        arguments: [
            "\r\n", "x\r\n", "-1\r\n", "+1\r\n", " 1\r\n", "0x1\r\n", "1g\r\n", "1 2\r\n", "1,2\r\n", "1 \r\n",
            "1\n.\r\n", "1\r\r\n",
            "1;\r\n", "1;=\r\n", "1;a=\r\n", "1;a=\"\r\n", "1;a=\"\\\r\n", "1;a b\r\n", "1;\u{1}\r\n",
            "1;a=\"\u{0}\"\r\n",
            "1\r\n..\r\n", "1\r\n.\n0\r\n\r\n", "2\r\n.\r\n0\r\n\r\n", "1\r\n.\r.\r\n", "8000000000000000\r\n",
            "00000000000000001\r\n", "FFFFFFFFFFFFFFFFF\r\n", "1;" + String(repeating: "a", count: 5000),
        ]
    )
    func refuses(_ text: String) {
        for size in [1, 2, 3, .max] {
            #expect(Self.parse(text, inPiecesOf: size).fault == .chunk, "in pieces of \(size)")
        }
    }

    @Test("a bare LF is tolerated by name only")
    func toleratesBareLineFeeds() {
        let text = "2\nok\n0\n\n"
        #expect(Self.parse(text).fault == .chunk)
        let others: TransportSettings.Tolerances = [.foldedFields, .lengthWithChunked, .missingCloseNotify]
        #expect(Self.parse(text, tolerances: others).fault == .chunk)
        let tolerated = Self.parse(text, tolerances: .bareLineFeed)
        #expect(tolerated == Outcome(content: "ok", trailers: ["\n"], isComplete: true))
    }

    @Test("a trailer section above the limit of heads is refused before its end")
    func boundsTrailers() {
        var limits = TransportSettings.ResponseLimits()
        limits.headBytes = 100
        var parser = ChunkParser(tolerances: [], limits: limits)
        let text = Array(("0\r\nX: " + String(repeating: "x", count: 200)).utf8)
        text.withUnsafeBytes { bytes in
            var rest = bytes
            #expect(throws: HeadVetting.Fault.tooLarge(.bytes(100))) { _ = try parser.next(&rest) }
        }
    }
}
