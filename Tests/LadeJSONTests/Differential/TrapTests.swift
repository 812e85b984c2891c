#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON
import Testing

/// Cases that decoders get wrong easily, each by its name: the expected result, and the same as Foundation's.
@Suite("Traps of decoding", .timeLimit(.minutes(5)))
struct TrapTests {
    struct Trap: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var subject: Subject
        /// Not `Data`, the constants of which the leak checker reports.
        var document: [UInt8]
        /// A part of the outcome's text.
        var outcome: String
        var setting: Int

        init<T: Decodable & SendableMetatype>(
            _ name: String,
            _ type: T.Type,
            _ document: some TrapDocument,
            _ outcome: String,
            setting: Int = 0
        ) {
            testDescription = name
            subject = Subject(type)
            self.document = document.documentBytes
            self.outcome = outcome
            self.setting = setting
        }
    }

    /// Asks for the decoder of a superclass under a name of its own.
    private struct NamedParent: Decodable {
        var present: Int
        var path: String
        var isMissingNull: Bool

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: AnyKey.self)
            let missing = try container.superDecoder(forKey: AnyKey("z"))
            let parent = try container.superDecoder(forKey: AnyKey("p"))
            present = try parent.singleValueContainer().decode(Int.self)
            path = Outcome.path(parent.codingPath)
            isMissingNull = try missing.singleValueContainer().decodeNil()
        }
    }

    /// Has one key that is not ASCII, in its last bytes.
    private struct Degrees: Decodable {
        enum CodingKeys: String, CodingKey { case degrees = "degrees \u{212A}" }

        var degrees: Int?
    }

    private static func some(_ value: Int) -> String { "Optional(\(value))" }
    private static func text(_ text: String) -> String { Outcome.describe(text) }
    private static let (iso8601, snakeCase, closures) = (1, 2, 3)

    private static let names: [Trap] = [
        Trap("a name that repeats", Member.self, #"{"a":1,"a":2,"b":"x","b":"y"}"#, "a:1"),
        Trap("a name that repeats, of no key", Member.self, #"{"z":1,"a":1,"z":2,"b":"x"}"#, "a:1"),
        Trap("an escaped name", Member.self, #"{"\u0061":1,"b":"x"}"#, "a:1"),
        Trap("an escaped name that repeats", Member.self, #"{"\u0061":1,"a":2,"b":"x"}"#, "a:1"),
        Trap("a name that repeats escaped", Member.self, #"{"a":1,"\u0061":2,"b":"x"}"#, "a:1"),
        Trap("a name in another normalisation", Strange.self, "{\"e\u{301}\":1}", "accent:" + some(1)),
        Trap("the same name in two normalisations", Strange.self, "{\"e\u{301}\":1,\"é\":2}", "accent:" + some(1)),
        Trap("an ASCII name that equals one that is not", Strange.self, #"{"K":1}"#, "kelvin:" + some(1)),
        Trap("a longer one that equals one that is not", Degrees.self, #"{"degrees K":1}"#, "degrees:" + some(1)),
        Trap(
            "a name that is not UTF-8",
            Member.self,
            Data(#"{"a":1,"b":"x",""#.utf8) + [0xFF] + Data("\":1}".utf8),
            "dataC"
        ),
        Trap("a name with NUL", Strange.self, #"{"a\u0000b":1}"#, "nul:" + some(1)),
        Trap("an empty name", Strange.self, #"{"":1}"#, "empty:" + some(1)),
        Trap(
            "all keys in snake case",
            AllKeys.self,
            #"{"one_two":1}"#,
            text("oneTwo") + " value:1",
            setting: snakeCase
        ),
        Trap("all keys by a closure", AllKeys.self, #"{"X":1,"x":2}"#, text("a") + " value:2", setting: closures),
        Trap("a leading underscore", Snake.self, #"{"_one_two":1}"#, "_oneTwo:" + some(1), setting: snakeCase),
        Trap("a trailing underscore", Snake.self, #"{"one_two_":1}"#, "oneTwo_:" + some(1), setting: snakeCase),
        Trap("a double underscore", Snake.self, #"{"one__two":1}"#, "oneTwo:" + some(1), setting: snakeCase),
        Trap("only underscores", [String: Int].self, #"{"___":1}"#, text("___"), setting: snakeCase),
        Trap(
            "two names that convert to one",
            Snake.self,
            #"{"oneTwo":1,"one_two":2}"#,
            ":" + some(1),
            setting: snakeCase
        ),
        Trap("a dictionary of integers", [Int: String].self, #"{"1":"x","-2":"y"}"#, "value"),
        Trap("a dictionary of integers with another name", [Int: String].self, #"{"x":"y"}"#, "Int"),
    ]

    private static let containers: [Trap] = [
        Trap("super", Sub.self, #"{"super":{"a":5},"b":"x"}"#, text("key super -")),
        Trap("super, missing", Sub.self, #"{"b":"x"}"#, "valueNotFound"),
        Trap("super with a name", NamedParent.self, #"{"p":5}"#, "present:5 path:" + text("AnyKey p -")),
        Trap("nested containers out of order", Nested.self, #"{"f":[1],"h":{"b":"z"}}"#, "first:" + some(1)),
        Trap("members out of order, some more than once", OutOfOrder.self, #"{"c":1,"h":2,"e":3,"b":4}"#, "value"),
        Trap("two key types", TwoKeyTypes.self, #"{"c":1.5,"b":"x","a":1}"#, "a:" + some(1)),
        Trap("two key types, backwards", TwoKeyTypes.self, #"{"a":1,"b":"x","c":1.5}"#, "a:" + some(1)),
        Trap("null for a Boolean value", Bool.self, "null", "typeMismatch Bool"),
        Trap("null in Boolean values", [Bool].self, "[true,null]", "typeMismatch Bool [key Index 1 1]"),
        Trap(
            "a missing member",
            [Member].self,
            #"[{"a":1,"b":"x"},{"a":2}]"#,
            "keyNotFound CodingKeys b - [key Index 1 1]"
        ),
        Trap(
            "a nested value of another type",
            Tree.self,
            #"{"a":[{"b":"x"}]}"#,
            "[CodingKeys a -, key Index 0 0, CodingKeys b -]"
        ),
        Trap("alternatives by try?", [Union].self, #"[1,true,"x",[1],{"a":1,"b":"y"}]"#, "value"),
    ]

    private static let scalars: [Trap] = [
        Trap("minus zero", Double.self, "-0", "value -0.0"),
        Trap("minus zero as an integer", Int.self, "-0", "value 0"),
        Trap("an integer with a point", Int.self, "34.0", "value 34"),
        Trap("an integer with a fraction", Int.self, "34.5", "dataCorrupted"),
        Trap("2⁵³ − 1", Int.self, "9007199254740991", "value 9007199254740991"),
        Trap("2⁵³ + 1", Int.self, "9007199254740993", "value 9007199254740993"),
        Trap("2⁵³ + 1 as a floating-point number", Double.self, "9007199254740993", "value 9007199254740992.0"),
        Trap("2⁶⁴ − 1", UInt64.self, "18446744073709551615", "value 18446744073709551615"),
        Trap("2⁶⁴", UInt64.self, "18446744073709551616", "dataCorrupted"),
        Trap("2⁶⁴ in 128 bits", Int128.self, "18446744073709551616", "value 18446744073709551616"),
        Trap("2¹²⁷", Int128.self, "170141183460469231731687303715884105728", "dataCorrupted"),
        Trap("a decimal number", Decimal.self, "0.1", "decimal 0.1"),
        Trap("1e-400", Double.self, "1e-400", "dataCorrupted"),
        Trap("1e400", Double.self, "1e400", "dataCorrupted"),
        Trap("20 digits", Double.self, "0.12345678901234567890", "value 0.12345678901234568"),
        Trap(
            "halfway between two floating-point numbers",
            Double.self,
            "1.00000000000000011102230246251565",
            "value 1.0"
        ),
        Trap("half of a surrogate pair", String.self, #""\ud83d""#, "dataCorrupted"),
        Trap("halves of a surrogate pair in the wrong order", String.self, #""\ude00\ud83d""#, "dataCorrupted"),
        Trap("two second halves of surrogate pairs", String.self, #""\ude00\ude00""#, "dataCorrupted"),
        Trap("an escaped surrogate pair", String.self, #""\ud83d\ude00""#, text("😀")),
        Trap("an escaped NUL", String.self, #""a\u0000b""#, text("a\u{0}b")),
        Trap("a fragment", Int.self, " 7 ", "value 7"),
    ]

    private static let documents: [Trap] =
        [
            Trap("a byte order mark", Int.self, "\u{FEFF}7", "value 7"),
            Trap("a comma at the end of an array", [Int].self, "[1,]", "value"),
            Trap("a comma at the end of an object", Member.self, #"{"a":1,"b":"x",}"#, "a:1"),
            Trap("two commas at the end", [Int].self, "[1,,]", Outcome.invalid),
            Trap("depth 512", Int.self, nested(512), "typeMismatch"),
            Trap("depth 513", Int.self, nested(513), Outcome.invalid),
        ]
        + [String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian, .utf32BigEndian].flatMap {
            encoding in
            ["", "\u{FEFF}"].map { mark in
                Trap(
                    "\(encoding) \(mark.isEmpty ? "without" : "with") a mark",
                    [String].self,
                    (mark + #"["é😀"]"#).data(using: encoding) ?? Data(),
                    // Foundation takes this mark for that of UTF-16.
                    encoding == .utf32LittleEndian && !mark.isEmpty ? Outcome.invalid : text("é😀")
                )
            }
        }

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    private static let dates: [Trap] = [
        Trap("an offset", Date.self, #""2001-01-01T02:30:00+02:30""#, "value date 0", setting: iso8601),
        Trap("a negative offset", Date.self, #""2000-12-31T21:30:00-02:30""#, "value date 0", setting: iso8601),
        Trap("second 60", Date.self, #""2000-12-31T23:59:60Z""#, "", setting: iso8601),
        Trap("a year before 1583", Date.self, #""1582-10-04T00:00:00Z""#, "", setting: iso8601),
        Trap("the first day of the Gregorian calendar", Date.self, #""1582-10-15T00:00:00Z""#, "", setting: iso8601),
        Trap("the year 1", Date.self, #""0001-01-01T00:00:00Z""#, "", setting: iso8601),
        Trap("a fraction of a second", Date.self, #""2001-01-01T00:00:00.5Z""#, "", setting: iso8601),
        Trap("a day that does not exist", Date.self, #""2023-02-29T00:00:00Z""#, "", setting: iso8601),
        Trap("a closure that reads its path", [Date].self, "[1,2]", "value", setting: closures),
        Trap("a closure that reads its path, nested", [String: [Date]].self, #"{"x":[1]}"#, "value", setting: closures),
        Trap("a closure that reads the path of data", [Data].self, #"["a"]"#, "value", setting: closures),
    ]

    private static let all = names + containers + scalars + documents + dates

    @Test("gives the expected result, which is Foundation's", arguments: all)
    func givesTheSame(_ trap: Trap) {
        let (foundation, fast) = DifferentialTests.Setting.all[trap.setting].decoders
        let document = Data(trap.document)
        let found = trap.subject.fast(fast, document)
        let expected = trap.subject.foundation(foundation, document)

        #expect(found.contains(trap.outcome))
        #expect(found == expected || Difference.known(trap.subject.name, document, expected, found) != nil)
    }

    @Test("each trap has a name of its own")
    func haveNames() {
        #expect(Set(Self.all.map(\.testDescription)).count == Self.all.count)
    }
}

/// What the document of a case is written as.
protocol TrapDocument {
    var documentBytes: [UInt8] { get }
}

extension String: TrapDocument {
    var documentBytes: [UInt8] { Array(utf8) }
}

extension Data: TrapDocument {
    var documentBytes: [UInt8] { Array(self) }
}
