import Foundation
import Testing

@testable import LadeJSON

@Suite("The JSON splitter", .timeLimit(.minutes(5)))
struct JSONSplitterTests {
    /// What a splitter makes of a document given in pieces.
    struct Outcome: Equatable {
        var lines: String
        var values: [JSONSplitter.Scalar?]
        var state: JSONSplitter.ListState
        var fault: JSONError?
    }

    static func run(
        _ document: [UInt8],
        _ settings: JSONSplitter.Settings = .init(),
        pieces: Int = .max
    ) -> Outcome {
        var splitter = JSONSplitter(settings)
        var lines: [UInt8] = []
        var fault: JSONError?
        var offset = 0
        do throws(JSONError) {
            while offset < document.count {
                let count = min(pieces, document.count - offset)
                try splitter.consume(Data(document[offset..<(offset + count)]))
                splitter.takeLines(into: &lines)
                offset += count
            }
            try splitter.finish()
        } catch {
            fault = error
            splitter.takeLines(into: &lines)
        }
        return Outcome(
            lines: String(decoding: lines, as: UTF8.self),
            values: settings.values.indices.map { splitter.value(at: $0) },
            state: splitter.listState,
            fault: fault
        )
    }

    static func run(_ document: String, _ settings: JSONSplitter.Settings = .init()) -> Outcome {
        run(Array(document.utf8), settings)
    }

    @Test("cuts the document itself when it is an array")
    func cutsAnArray() {
        let outcome = Self.run(" [ 1 , -0.5e+10, \"a b\" , { \"b\" : [ ] , \"a\" : null } , true,[false] ] ")

        #expect(outcome.lines == "1\n-0.5e+10\n\"a b\"\n{\"b\":[],\"a\":null}\ntrue\n[false]\n")
        #expect(outcome.fault == nil)
    }

    @Test("keeps numbers, the order of members, escapes and unknown members as they are")
    func keepsBytes() {
        let item = #"{"z":1.10000000000000000000000000001,"a":1e9999,"é":"\u00e9\/\ud83d\ude00\uD800","a":2}"#

        #expect(Self.run("[\n  \(item)\n]").lines == item + "\n")
    }

    @Test("finds the list and scalars by pointer, before and after the list, and through escapes")
    func findsByPointer() throws {
        let document = #"{"total":12,"a/b":{"m~n":[{"x":[1]},{"\u006cist":[{"k":1},{"k":2}]}]},"next":"\/p?a=\"1\""}"#
        let settings = JSONSplitter.Settings(
            list: try JSONPointer("/a~1b/m~0n/1/list"),
            values: [["next"], ["total"], ["none"], ["a/b", "m~n", "0", "x", "0"], ["a/b"]]
        )
        for size in 1...document.utf8.count {
            let outcome = Self.run(Array(document.utf8), settings, pieces: size)
            #expect(outcome.lines == "{\"k\":1}\n{\"k\":2}\n", "in pieces of \(size)")
            #expect(outcome.values == [.string("/p?a=\"1\""), .number("12"), nil, .number("1"), nil])
            #expect(outcome.fault == nil)
        }
    }

    @Test(
        "says what stands in the place of the list",
        arguments: [
            ("{}", JSONSplitter.ListState.missing), (#"{"l":null}"#, .null), (#"{"l":{}}"#, .other),
            (#"{"l":[]}"#, .array),
            (#"{"m":{"l":[1]}}"#, .missing), ("[1]", .missing), ("7", .missing),
        ]
    )
    func tellsTheList(document: String, state: JSONSplitter.ListState) {
        let outcome = Self.run(document, .init(list: ["l"]))
        #expect(outcome.state == state)
        #expect(outcome.lines.isEmpty)
        #expect(outcome.fault == nil)
    }

    @Test("passes over a byte order mark")
    func passesTheMark() {
        for size in 1...4 {
            #expect(Self.run([0xEF, 0xBB, 0xBF] + Array("[1]".utf8), pieces: size).lines == "1\n")
        }
        #expect(Self.run([0xEF, 0xBB, 0x31]).fault?.offset == 2)
    }

    @Test(
        "names the rule and the byte where it is broken",
        arguments: [
            ("", JSONError.Reason.unexpectedEnd, 0), ("[1", .unexpectedEnd, 2),
            ("[1,]", .unexpectedByte(0x5D), 3),
            ("[1 2]", .unexpectedByte(0x32), 3), ("{\"a\" 1}", .unexpectedByte(0x31), 5), ("[01]", .invalidNumber, 2),
            ("[1.]", .invalidNumber, 3), ("[-]", .invalidNumber, 2), ("[1e+]", .invalidNumber, 4),
            ("[.5]", .unexpectedByte(0x2E), 1), ("[\"\u{1}\"]", .controlCharacter, 2), ("[\"\\x\"]", .invalidEscape, 3),
            ("[\"\\u12g4\"]", .invalidEscape, 6), ("[1]]", .trailingContent, 3), ("[tru]", .unexpectedByte(0x5D), 4),
            ("{,}", .unexpectedByte(0x2C), 1), ("{\"a\":1,}", .unexpectedByte(0x7D), 7),
            ("[}", .unexpectedByte(0x7D), 1),
            ("'a'", .unexpectedByte(0x27), 0), ("[\u{00A0}1]", .unexpectedByte(0xC2), 1), ("-", .unexpectedEnd, 1),
        ]
    )
    func namesFaults(document: String, reason: JSONError.Reason, offset: Int) {
        for size in 1...max(document.utf8.count, 1) {
            let fault = Self.run(Array(document.utf8), pieces: size).fault
            #expect(fault?.reason == reason, "in pieces of \(size)")
            #expect(fault?.offset == Int64(offset), "in pieces of \(size)")
        }
    }

    /// Members of an item, far from its beginning and end: correct ones, and one of each kind of violation.
    private static let members = [
        #""a":1"#, #""a":"b""#, #""a":"""#, #""":"b""#, #""a": "b""#, #""a" :"b""#, #""a":"b" "#, #" "a":"b""#,
        "\"a\":\n\t[ ]",
        #""a":"été""#, #""été":"b""#, #""a":"\u00e9\n""#, #""\u0069d":"b""#, #""id":"b""#, #""id":12"#, #""i":"b""#,
        #""id":{"id":1}"#, #""a":{"id":"x"}"#, #""a":{}"#, #""a":[]"#, #""a":[[],{},[{}]]"#, #""a":[1,"b",{"c":"d"}]"#,
        #""a":{"b":"c","d":"e"}"#, #""a":[{"b":"c"},{"b":"c"}]"#, #""a":{"b":[{"c":"d"}]}"#, #""a":[[[[[[1]]]]]]"#,
        #""a":true"#, #""a":false"#, #""a":null"#, #""a":[true,false,null]"#, #""a":0"#, #""a":-0"#, #""a":-1.50e+10"#,
        #""a":1E-2"#, #""a":10.0"#, #""a":123456789012345678901234567890"#, #""a":[0,-1,2.5,1e9]"#,
        #""a":"a text that is longer than sixteen bytes, and than thirty-two""#,
        #""a name that is longer than sixteen bytes, and than thirty-two":"b""#,
        // Violations.
        #""a":"#, #""a""#, #""a":,"#, #""a":"b","#, #""a":"b",,"c":1"#, #""a":"b" "c":1"#, #""a":"b"]"#, #""a":1]"#,
        #""a":}"#,
        #""a":]"#, #""a":[}"#, #""a":[1}"#, #""a":[,1]"#, #""a":[1,]"#, #""a":{]"#, #""a":{"b":1]"#, #""a":{,}"#,
        #""a":{"b"}"#,
        #""a":{"b":1,}"#, #""a":01"#, #""a":-"#, #""a":-a"#, #""a":1."#, #""a":1.e5"#, #""a":.5"#, #""a":1e"#,
        #""a":1e+"#,
        #""a":+1"#, #""a":00"#, #""a":-01"#, #""a":1x"#, #""a":tru"#, #""a":truE"#, #""a":trueq"#, #""a":fals"#,
        #""a":nul"#,
        #""a":nulL"#, #""a":'b'"#, #"a:"b""#, #""a"="b""#, #""a";"b""#, "\"a\":\"\u{1}\"", "\"\u{1}\":\"b\"",
        "\"a\"\u{1}:1",
        #""a":"\x""#, #""\x":1"#, #""a":"\u12g4""#, #""a":[[[[[[[1]]]]]]]"#,
        #""a":{"b":{"c":{"d":{"e":{"f":{"g":1}}}}}}"#,
    ]

    @Test("gives the same for a whole document, where most tokens are scanned in one step, and for single bytes")
    func givesTheSameInOneStep() {
        var (accepted, refused) = (0, 0)
        for member in Self.members {
            for padding in ["", "                    "] {
                let item = #"{"first":"0","id":"7",\#(member),"last":"and some more text","id":3}"#
                let document = Array(#"{"n":[0,1],"a":[\#(item),\#(item)\#(padding)],"n2":"x"}\#(padding)"#.utf8)
                for identity in [nil, ["id"], ["a", "id"], ["a", "0"]] as [JSONPointer?] {
                    var settings = JSONSplitter.Settings(
                        list: ["a"],
                        values: [["n", "1"], ["n2"]],
                        identity: identity
                    )
                    settings.nestingLimit = 8
                    let whole = Self.run(document, settings)
                    #expect(whole == Self.run(document, settings, pieces: 1), "\(member)")
                    #expect(Self.identities(document, settings) == Self.identities(document, settings, pieces: 1))
                    if whole.fault == nil { accepted += 1 } else { refused += 1 }
                    settings.list = ["a", "0"]
                    #expect(Self.run(document, settings) == Self.run(document, settings, pieces: 1), "\(member)")
                }
            }
        }
        #expect(accepted == 38 * 8)
        #expect(refused == (Self.members.count - 38) * 8)
    }

    /// The checksums of the items' identities up to the first fault.
    private static func identities(
        _ document: [UInt8],
        _ settings: JSONSplitter.Settings,
        pieces: Int = .max
    ) -> [UInt64?] {
        var splitter = JSONSplitter(settings)
        var offset = 0
        do throws(JSONError) {
            while offset < document.count {
                let count = min(pieces, document.count - offset)
                try splitter.consume(Data(document[offset..<(offset + count)]))
                offset += count
            }
        } catch {
            // The items before the fault count.
        }
        return splitter.takeIdentities()
    }

    @Test("says the line, the column and the item of a fault, in whatever pieces")
    func locatesFaults() {
        let document = Array("{\"page\": 1,\r\n \"items\": [\n{\"a\": 1},\n\n  {\"b\": tru} ] }".utf8)
        for size in 1...document.count {
            let fault = Self.run(document, .init(list: ["items"]), pieces: size).fault
            #expect(
                fault
                    == JSONError(.unexpectedByte(0x7D), offset: 47, line: 5, column: 12, path: ["items", "1"]),
                "in pieces of \(size)"
            )
        }
        #expect(Self.run("[1,\n2").fault == JSONError(.unexpectedEnd, offset: 5, line: 2, column: 2, path: ["1"]))
        #expect(Self.run("{\n1").fault == JSONError(.unexpectedByte(0x31), offset: 2, line: 2, column: 1))
    }

    @Test("counts line ends in blocks of any length")
    func countsLines() {
        for length in [0, 1, 31, 32, 33, 300, 255 * 32, 256 * 32 + 7, 20_000] {
            let bytes = (0..<length).map { UInt8($0 % 3 == 0 ? 0x0A : 0x20) }
            let count = bytes.withUnsafeBufferPointer { buffer in
                buffer.baseAddress.map { Bytes.count(of: 0x0A, $0, buffer.count) } ?? 0
            }
            #expect(count == bytes.filter { $0 == 0x0A }.count)
        }
        let all = [UInt8](repeating: 0x0A, count: 32 * 600)
        #expect(all.withUnsafeBufferPointer { Bytes.count(of: 0x0A, $0.baseAddress!, $0.count) } == all.count)
    }

    @Test(
        "refuses what is not UTF-8",
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82], [0xFF], [0xC3, 0x28],
        ] as [[UInt8]]
    )
    func refusesBadUTF8(bytes: [UInt8]) {
        for size in 1...4 {
            #expect(Self.run([0x5B, 0x22] + bytes + [0x22, 0x5D], pieces: size).fault?.reason == .invalidUTF8)
        }
    }

    @Test("bears no deeper nesting, no larger item and no longer value than allowed")
    func observesLimits() {
        var settings = JSONSplitter.Settings(values: [["0"]])
        settings.nestingLimit = 3
        #expect(Self.run("[[[1]]]", settings).fault == nil)
        #expect(Self.run("[[[[1]]]]", settings).fault == JSONError(.nestingTooDeep(limit: 3), offset: 3, path: ["0"]))
        settings.itemLimit = 5
        #expect(Self.run("[\"123\",    12345]", settings).lines == "\"123\"\n12345\n")
        #expect(Self.run("[1,\"1234\"]", settings).fault?.reason == .itemTooLarge(limit: 5))
        settings.valueLimit = 4
        #expect(Self.run("[\"123\"]", settings).fault?.reason == .valueTooLarge(limit: 4))
        let deep = String(repeating: "[", count: 513) + String(repeating: "]", count: 513)
        #expect(Self.run(deep).fault?.reason == .nestingTooDeep(limit: 512))
    }

    /// What a splitter throws for some pieces, after each of which its lines are taken; nil when it accepts them.
    private static func fault(_ pieces: [String], _ settings: JSONSplitter.Settings) -> JSONError? {
        var splitter = JSONSplitter(settings)
        do throws(JSONError) {
            for piece in pieces {
                try splitter.consume(Data(piece.utf8))
                _ = splitter.takeLines()
            }
        } catch {
            return error
        }
        return nil
    }

    @Test("an item and a value are refused as soon as they are too large, before they end, and not at the limit")
    func refusesWithoutTheEnd() {
        var settings = JSONSplitter.Settings(list: ["l"], values: [["v"]])
        settings.itemLimit = 8
        settings.valueLimit = 4
        #expect(Self.fault(["{\"l\":[\"123456", "\"]}"], settings) == nil)
        #expect(Self.fault(["{\"l\":[\"1234567", "8"], settings)?.reason == .itemTooLarge(limit: 8))
        // The lines before the item are taken while it is incomplete.
        #expect(Self.fault(["{\"l\":[\"1234\",\"12", "3456\""], settings) == nil)
        #expect(Self.fault(["{\"l\":[\"1234\",\"12", "345678"], settings)?.reason == .itemTooLarge(limit: 8))
        #expect(Self.fault(["{\"v\":\"12\"}"], settings) == nil)
        #expect(Self.fault(["{\"v\":1234}"], settings) == nil)
        #expect(Self.fault(["{\"v\":\"1", "234"], settings)?.reason == .valueTooLarge(limit: 4))
        #expect(Self.fault(["{\"v\":1234", "5"], settings)?.reason == .valueTooLarge(limit: 4))
    }

    @Test("a fault is thrown again by every later call")
    func faultsStay() {
        let fault = JSONError(.unexpectedByte(0x7D), offset: 1, path: ["0"])
        var splitter = JSONSplitter()
        #expect(throws: fault) { try splitter.consume(Data("[}".utf8)) }
        #expect(throws: fault) { try splitter.consume(Data("]".utf8)) }
        #expect(throws: fault) { try splitter.finish() }

        var raw = JSONSplitter()
        let bytes = Array("[}".utf8)
        #expect(throws: fault) { try bytes.withUnsafeBytes { try raw.consume($0) } }
        #expect(throws: fault) { try bytes.withUnsafeBytes { try raw.consume($0) } }

        let end = JSONError(.unexpectedEnd, offset: 1)
        var incomplete = JSONSplitter()
        #expect(throws: Never.self) { try incomplete.consume(Data("[".utf8)) }
        #expect(throws: end) { try incomplete.finish() }
        #expect(throws: end) { try incomplete.consume(Data("]".utf8)) }
    }

    @Test(
        "a pointer leads through the containers on its path alone, and of repeated ones through the last",
        arguments: [
            (#"{"a":{"x":1},"c":{"b":2}}"#, ["a", "b"], nil), (#"{"a":{"b":1},"c":{"b":2}}"#, ["a", "b"], "1"),
            (#"{"a":[1],"a":[2,3]}"#, ["a", "0"], "2"), (#"{"a":[1,2],"b":[3,4],"c":5}"#, ["b", "1"], "4"),
            (#"{"a":1,"a":{}}"#, ["a"], nil), (#"{"a":1,"a":[2]}"#, ["a"], nil), ("12", [], "12"),
            ("-0.5e1 ", [], "-0.5e1"),
            (#"[[1,2],[3,4]]"#, ["1", "0"], "3"), (#"{"a":[[1],[2,3]]}"#, ["a", "1", "1"], "3"),
            (#"{"a":{"a":{"a":1}},"b":2}"#, ["a", "a"], nil), (#"{"+1":1,"1":2}"#, ["1"], "2"), ("[1,2]", ["+1"], nil),
        ] as [(String, [String], String?)]
    )
    func pathsOfPointers(document: String, tokens: [String], number: String?) {
        let settings = JSONSplitter.Settings(list: nil, values: [JSONPointer(tokens: tokens)])
        for size in 1...document.utf8.count {
            let outcome = Self.run(Array(document.utf8), settings, pieces: size)
            #expect(outcome.fault == nil, "in pieces of \(size)")
            #expect(outcome.values == [number.map { .number($0) }], "in pieces of \(size)")
        }
    }

    @Test("finds names of any length", arguments: [1, 7, 62, 63, 64, 65, 127, 128, 200])
    func longNames(length: Int) {
        let name = String(repeating: "n", count: length)
        let settings = JSONSplitter.Settings(list: nil, values: [[name]])
        let other = String(repeating: "n", count: length + 64)
        let document = Array("{\"x\":\"text\",\"\(other)\":1,\"\(name)\":2,\"y\":\"some more text\"}".utf8)
        for size in [1, 10, document.count] {
            #expect(Self.run(document, settings, pieces: size).values == [.number("2")])
        }
    }

    @Test("of repeated identities in an item the first counts, and the other items keep theirs")
    func repeatedIdentities() throws {
        var splitter = JSONSplitter(.init(identity: ["id"]))
        try splitter.consume(Data(#"[{"id":1,"id":2},{"id":3},{"id":1}]"#.utf8))

        let found = splitter.takeIdentities()
        #expect(found == [1, 3, 1].map { CRC64.checksum(Array("\($0)".utf8)) })
    }

    @Test(
        "a name that is too long where a pointer looks is refused, in whatever pieces",
        arguments: [#""abcde":1,"v":2"#, #""v":2,"abcde":1"#, #""w":"x","abcde":"y","v":2"#, #""\u0061":1"#]
    )
    func refusesLongNames(members: String) {
        var settings = JSONSplitter.Settings(list: nil, values: [["v"]])
        settings.valueLimit = 4
        let document = Array("{\(members)}                ".utf8)
        for size in 1...document.count {
            let fault = Self.run(document, settings, pieces: size).fault
            #expect(fault?.reason == .valueTooLarge(limit: 4), "in pieces of \(size)")
        }
        let deeper = Array(#"{"abcd":{"abcdefgh":1},"v":2}"#.utf8)
        for size in 1...deeper.count {
            let outcome = Self.run(deeper, settings, pieces: size)
            #expect(outcome.fault == nil, "in pieces of \(size)")
            #expect(outcome.values == [.number("2")], "in pieces of \(size)")
        }
    }

    @Test("refuses a second list, and takes the last of repeated values")
    func repeatedNames() {
        let settings = JSONSplitter.Settings(list: ["l"], values: [["v"]])
        #expect(Self.run(#"{"l":[1],"l":[2]}"#, settings).fault?.reason == .repeatedList)
        #expect(Self.run(#"{"v":1,"v":2}"#, settings).values == [.number("2")])
    }

    @Test("gives the identity of each item, and none for items without")
    func givesIdentities() throws {
        let document = Array(
            #"[{"id":1,"in":{"id":2}},{"x":{"id":1}},{"in":[],"id":1},{"id":"1"},{"id":{"id":1}},3]"#.utf8
        )
        for size in 1...document.count {
            var splitter = JSONSplitter(.init(identity: ["id"]))
            var found: [UInt64?] = []
            var offset = 0
            while offset < document.count {
                let end = min(offset + size, document.count)
                try splitter.consume(Data(document[offset..<end]))
                found += splitter.takeIdentities()
                offset = end
            }
            try splitter.finish()
            #expect(found.count == 6)
            #expect(found[0] != nil && found[0] == found[2] && found[0] != found[3] && found[3] != nil)
            #expect(found[1] == nil && found[4] == nil && found[5] == nil)
        }
    }

    @Test("writes and reads pointers as RFC 6901 does")
    func pointers() throws {
        #expect(try JSONPointer("").tokens.isEmpty)
        #expect(try JSONPointer("/").tokens == [""])
        #expect(try JSONPointer("/a~1b/m~0n/").tokens == ["a/b", "m~n", ""])
        #expect(try JSONPointer("/a~1b/m~0n/").description == "/a~1b/m~0n/")
        #expect(throws: JSONError(.invalidPointer, offset: 0)) { try JSONPointer("a") }
        #expect(throws: JSONError(.invalidPointer, offset: 1)) { try JSONPointer("/~2") }
        #expect(throws: JSONError(.invalidPointer, offset: 3)) { try JSONPointer("/a/~") }
    }

    @Test("computes CRC-64/XZ, in whatever pieces")
    func checksums() {
        #expect(CRC64.checksum(Array("123456789".utf8)) == 0x995D_C9BB_DF19_39FA)
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for cut in [0, 1, 7, 8, 9, 500, 999] {
            var crc = CRC64(resuming: CRC64.checksum(Array(bytes[..<cut])))
            Array(bytes[cut...]).withUnsafeBytes { crc.update($0) }
            #expect(crc.value == CRC64.checksum(bytes))
        }
    }

    @Test(
        "finding HF-18 a body of only a byte order mark is as an empty one: no JSON",
        arguments: [[], [0xEF, 0xBB, 0xBF]]
    )
    func onlyAMark(bytes: [UInt8]) {
        #expect(throws: (any Error).self) { try FastJSONDecoder().decode(Int.self, from: Data(bytes)) }
        var splitter = JSONSplitter()
        #expect(throws: JSONError.self) {
            try splitter.consume(Data(bytes))
            try splitter.finish()
        }
    }
}

/// The last element of an array.
@Suite("The last element", .timeLimit(.minutes(5)))
struct LastElementTests {
    @Test(
        "finding RF-4 a pointer with a dash finds the value in the last element of an array",
        arguments: [
            (#"{"a":[{"id":1},{"id":2}]}"#, JSONSplitter.Scalar.number("2")), (#"{"a":[{"id":1},{"x":2}]}"#, nil),
            (#"{"a":[]}"#, nil), (#"{"a":[{"id":1},{"id":"z","b":[1,2]}],"c":[{"id":9}]}"#, .string("z")),
            (#"{"a":[{"id":1},3]}"#, nil), (#"{"a":{"-":{"id":4}}}"#, .number("4")),
        ] as [(String, JSONSplitter.Scalar?)]
    )
    func last(document: String, expected: JSONSplitter.Scalar?) throws {
        for list in [["a"], ["c"], nil] as [JSONPointer?] {
            var splitter = JSONSplitter(.init(list: list, values: [["a", "-", "id"]]))
            try splitter.consume(Data(document.utf8))
            let found = splitter.value(at: 0)
            #expect(found == expected)
        }
    }
}
