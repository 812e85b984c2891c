#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON
import Testing

@Suite("JSON values", .timeLimit(.minutes(5)))
struct JSONValueTests {
    @Test("finding FP-29 names are compared by code units")
    func names() throws {
        let value = try JSONValue(parsing: Data("{\"\u{E9}\":1,\"e\u{301}\":2}".utf8))

        #expect(value.object?.count == 2)
        #expect(value["\u{E9}"] == .integer(1))
        #expect(value["e\u{301}"] == .integer(2))
        #expect(value != .object(["\u{E9}": .integer(2), "e\u{301}": .integer(1)]))
    }

    @Test(
        "parses what RFC 8259 allows",
        arguments: [
            ("null", .null), (" true ", .bool(true)), ("-0", .number(0)), ("12", .integer(12)),
            ("1.5e3", .number(1500)),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .number(JSONValue.Number("9223372036854775808")!)),
            ("1e999", .number(JSONValue.Number("1e999")!)),
            ("0.10000000000000000555", .number(JSONValue.Number("10000000000000000555e-20")!)),
            (#""a\n\u00e4\ud83d\ude00\/""#, .string("a\nä😀/")),
            ("[]", .array([])), ("[1 , [2]]", .array([.integer(1), .array([.integer(2)])])), ("{}", .object([:])),
            (#"{"a":{"b":null},"a":2}"#, .object(["a": .integer(2)])), ("\u{FEFF}1", .integer(1)),
        ] as [(String, JSONValue)]
    )
    func good(_ text: String, _ value: JSONValue) throws {
        #expect(try JSONValue(parsing: Data(text.utf8)) == value)
    }

    @Test(
        "refuses everything else, and says where",
        arguments: [
            ("", 0), ("nul", 3), ("01", 1), ("1.", 2), ("[1,]", 3), ("{\"a\":1,}", 7), ("{a:1}", 1), ("\"a", 2),
            ("\"\u{1}\"", 1),
            (#""\x""#, 2), (#""\ud800""#, 1), ("1 2", 2), ("[1", 2), ("1e", 2), ("+1", 0), ("{\"a\" 1}", 5),
        ]
    )
    func bad(_ text: String, _ offset: Int) {
        #expect { try JSONValue(parsing: Data(text.utf8)) } throws: { ($0 as? JSONError)?.offset == Int64(offset) }
    }

    @Test("does not follow nesting without end")
    func depth() {
        let deep = { (count: Int) in
            Data((String(repeating: "[", count: count) + String(repeating: "]", count: count)).utf8)
        }
        #expect(throws: Never.self) { try JSONValue(parsing: deep(JSONValue.depthLimit)) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: deep(100_000)) }
    }

    @Test(
        "says the line, the column and the path of a string that is not valid",
        arguments: [
            (
                "[1,\n{\"a\":\"x\\ud800\"}]",
                JSONError(.loneSurrogate, offset: 11, line: 2, column: 8, path: ["1", "a"])
            ),
            ("[\"\\ud800\\u0041\"]", JSONError(.loneSurrogate, offset: 2, path: ["0"])),
            ("[\"\\ud83d\\ude00\\ud800\"]", JSONError(.loneSurrogate, offset: 14, path: ["0"])),
            ("\u{FEFF}[01]", JSONError(.invalidNumber, offset: 5, path: ["0"])),
            ("\u{FEFF}[\"\\udc00\"]", JSONError(.loneSurrogate, offset: 5, path: ["0"])),
            ("\u{FEFF}", JSONError(.unexpectedEnd, offset: 3)),
        ]
    )
    func locates(_ text: String, _ fault: JSONError) {
        #expect(throws: fault) { try JSONValue(parsing: Data(text.utf8)) }
    }

    @Test("refuses strings that are not UTF-8, at the first byte of the sequence")
    func badUTF8() {
        let text = Data(#"{"é\n":""#.utf8) + [0x61, 0xE2, 0x82, 0x22, 0x7D]
        #expect(throws: JSONError(.invalidUTF8, offset: 10, path: ["é\n"])) { try JSONValue(parsing: text) }
    }

    @Test(
        "takes numbers for equal that have the same value",
        arguments: [
            ("1.50", "15e-1", true), ("1e3", "1000.0", true), ("0.0", "-0", true), ("1e400", "10e399", true),
            ("1.0000000000000000001", "1", false), ("-1.5", "1.5", false), ("1e400", "1e401", false),
            ("1e99999999999999999999", "1e-99999999999999999999", false), ("0e99999999999999999999", "0", true),
            ("-0.0", "0", true), ("-0e5", "0.00", true),
        ]
    )
    func equality(_ left: String, _ right: String, _ isEqual: Bool) throws {
        let numbers = try (#require(JSONValue.Number(left)), #require(JSONValue.Number(right)))
        #expect((numbers.0 == numbers.1) == isEqual)
        #expect(!isEqual || numbers.0.hashValue == numbers.1.hashValue)
    }

    @Test(
        "makes numbers of nothing but numbers",
        arguments: ["", "-", "01", "1.", ".5", "1e", "1 ", "inf", "1x", "--1"]
    )
    func badNumbers(_ text: String) {
        #expect(JSONValue.Number(text) == nil)
    }

    @Test("gives exact numbers as integers and doubles where they fit")
    func conversions() throws {
        #expect(JSONValue.Number("34.0")?.integer(as: Int.self) == 34)
        #expect(JSONValue.Number("1e3")?.integer(as: UInt8.self) == nil)
        #expect(JSONValue.Number("18446744073709551615")?.integer(as: UInt64.self) == .max)
        #expect(JSONValue.Number("170141183460469231731687303715884105727")?.integer(as: Int128.self) == .max)
        #expect(
            JSONValue.Number(finite: 0.1)?.text == "0.1" && JSONValue.Number(finite: 3)?.text == "3"
                && JSONValue.Number(finite: .nan) == nil
        )
        #expect(try JSONValue(parsing: Data("1e999".utf8)).number == nil)
        #expect(try JSONValue(parsing: Data("-0".utf8)).number?.sign == .minus)
    }

    @Test("finds values by pointer")
    func pointers() throws {
        let value = try JSONValue(parsing: Data(#"{"a/b":[{"":1},2]}"#.utf8))
        #expect(value[["a/b", "0", ""] as JSONPointer] == .integer(1))
        #expect(value[["a/b", "2"] as JSONPointer] == nil)
        #expect(value[["a/b", "01"] as JSONPointer] == nil)
        #expect(value[[] as JSONPointer] == value)
        #expect(value["a/b"]?[0] != nil && value["a/b"]?[-1] == nil && value["a/b"]?[2] == nil)
        #expect(value[["a/b", "+1"] as JSONPointer] == nil)
        #expect(value[["a/b", "-1"] as JSONPointer] == nil)
    }

    @Test("a scalar is a count when it is a number from 0, and a text unless it is empty")
    func scalars() {
        let counts: [JSONSplitter.Scalar] = [
            .number("12"), .string("12"), .number("0"), .number("-1"), .number("1.5"), .null,
        ]
        #expect(counts.map(\.count) == [12, 12, 0, nil, nil, nil])
        let texts: [JSONSplitter.Scalar] = [.string("a"), .string(""), .number("1.50"), .boolean(true), .null]
        #expect(texts.map(\.text) == ["a", nil, "1.50", nil, nil])
    }

    @Test("agrees with Foundation's parser on what it takes for a number")
    func numbers() throws {
        for text in ["0", "-1", "1e5", "123456789012345678", "0.1", "-2.5E-3"] {
            let ours = try JSONValue(parsing: Data(text.utf8)).number
            #expect(try ours == JSONDecoder().decode(Double.self, from: Data(text.utf8)))
        }
    }
}
