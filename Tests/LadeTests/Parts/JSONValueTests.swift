#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import Testing

@Suite("JSON values", .timeLimit(.minutes(1)))
struct JSONValueTests {
    @Test("finding FP-29 names are compared by code units")
    func names() throws {
        let value = try JSONValue(parsing: Data("{\"\u{E9}\":1,\"e\u{301}\":2}".utf8))

        #expect(value.object?.count == 2)
        #expect(value["\u{E9}"] == .integer(1) && value["e\u{301}"] == .integer(2))
        #expect(value != .object(["\u{E9}": .integer(2), "e\u{301}": .integer(1)]))
    }

    @Test(
        "parses what RFC 8259 allows",
        arguments: [
            ("null", .null), (" true ", .bool(true)), ("-0", .integer(0)), ("12", .integer(12)),
            ("1.5e3", .number(1500)),
            ("9223372036854775808", .number(9_223_372_036_854_775_808)),
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
            ("", 0), ("nul", 0), ("01", 1), ("1.", 2), ("[1,]", 3), ("{\"a\":1,}", 7), ("{a:1}", 1), ("\"a", 2),
            ("\"\u{1}\"", 1),
            (#""\x""#, 3), (#""\ud800""#, 7), ("1 2", 2), ("[1", 2), ("1e999", 5), ("+1", 0), ("{\"a\" 1}", 5),
        ]
    )
    func bad(_ text: String, _ offset: Int) {
        #expect { try JSONValue(parsing: Data(text.utf8)) } throws: { ($0 as? JSONFault)?.offset == offset }
    }

    @Test("does not follow nesting without end")
    func depth() {
        let deep = { (count: Int) in
            Data((String(repeating: "[", count: count) + String(repeating: "]", count: count)).utf8)
        }
        #expect(throws: Never.self) { try JSONValue(parsing: deep(JSONValue.depthLimit)) }
        #expect(throws: JSONFault.self) { try JSONValue(parsing: deep(100_000)) }
    }

    @Test("agrees with Foundation's parser on what it takes for a number")
    func numbers() throws {
        for text in ["0", "-1", "1e5", "123456789012345678", "0.1", "-2.5E-3"] {
            let ours = try JSONValue(parsing: Data(text.utf8)).number
            #expect(try ours == JSONDecoder().decode(Double.self, from: Data(text.utf8)))
        }
    }
}
