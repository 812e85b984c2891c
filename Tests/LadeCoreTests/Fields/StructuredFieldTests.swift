import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@testable import LadeCore
@testable import LadeFields

private typealias Item = StructuredField.Item
private typealias List = StructuredField.List
private typealias Bare = StructuredField.BareItem

/// A wrong number of thousandths gives another type and fails the comparison.
private func decimal(_ thousandths: Int64) -> StructuredField.BareItem {
    StructuredField.Decimal(thousandths: thousandths).map { .decimal($0) } ?? .integer(thousandths)
}

private let brokenItems: [(rule: String, text: String, offset: Int)] = [
    ("§4.2 empty", "", 0), ("blanks", "   ", 3), ("tab in front", "\t1", 0), ("tab behind", "1\t", 1),
    ("two items", "1 2", 2), ("a list", "1, 2", 1), ("inner list", "(1)", 0),
    ("§4.2.4 sign alone", "-", 1), ("plus", "+1", 0), ("two signs", "--1", 1),
    ("16 digits", "1000000000000000", 0), ("16 zeros", "0000000000000000", 0),
    ("13 digits before the point", "1234567890123.0", 0), ("4 after it", "1.2345", 0),
    ("none after it", "1.", 2), ("none before it", ".5", 0), ("two points", "1.5.5", 3), ("letters", "1a", 1),
    ("§4.2.5 open", #""a"#, 2), ("bad escape", #""\a""#, 2), ("open escape", #""\"#, 2),
    ("beyond ASCII", #""ü""#, 1), ("tab", "\"\t\"", 1), ("DEL", "\"\u{7F}\"", 1), ("single quotes", "'a'", 0),
    ("§4.2.6 token", "!a", 0), ("token", "a(b", 1), ("beyond ASCII", "aü", 1),
    ("§4.2.7 open", ":aGVs", 5), ("blank", ":aG Vs:", 3), ("alphabet", ":aG-s:", 3),
    ("padding inside", ":a=Vs:", 3),
    ("one digit", ":a:", 1), ("one digit padded", ":a===:", 1), ("too much padding", ":aGVs=:", 1),
    ("§4.2.8", "?", 1), ("true", "?true", 1), ("2", "?2", 1), ("tail", "?11", 2),
    ("§4.2.9", "@", 1), ("decimal date", "@1.5", 1), ("text date", "@a", 1),
    ("16 digits", "@1000000000000000", 1),
    ("§4.2.10 no quote", "%a", 1), ("open", #"%"a"#, 3), ("upper case", #"%"%C3%BC""#, 3),
    ("one digit", #"%"%c""#, 4),
    ("no digit", #"%"%"#, 3), ("broken UTF-8", #"%"%c3%28""#, 1), ("surrogate", #"%"%ed%a0%80""#, 1),
    ("overlong", #"%"%c0%af""#, 1), ("raw", #"%"ü""#, 2), ("tab", "%\"\t\"", 2),
    ("§4.2.3.2 no key", "1;", 2), ("upper-case key", "1;A", 2), ("digit key", "1;1", 2),
    ("no value", "1;a=", 4),
    ("blank before =", "1;a =1", 4), ("blank before ;", "1 ;a", 2), ("tab after ;", "1;\ta", 2),
]

@Suite("Structured fields", .timeLimit(.minutes(5)))
struct StructuredFieldTests {
    @Test(
        "Bare items of each type are read, and written in their one form (RFC 9651 §4.2.3.1, §4.1.3.1)",
        arguments: [
            ("§3.3.1", "42", .integer(42), "42"), ("§3.3.1", "-42", .integer(-42), "-42"),
            ("§3.3.1 zeros", "0042", .integer(42), "42"), ("§3.3.1 minus zero", "-0", .integer(0), "0"),
            ("§3.3.1 largest", "999999999999999", .integer(999_999_999_999_999), "999999999999999"),
            ("§3.3.1 smallest", "-999999999999999", .integer(-999_999_999_999_999), "-999999999999999"),
            ("§3.3.2", "4.5", decimal(4_500), "4.5"), ("§3.3.2", "-1.0", decimal(-1_000), "-1.0"),
            ("§3.3.2 minus and no whole", "-0.125", decimal(-125), "-0.125"),
            ("§3.3.2 zeros", "0001.500", decimal(1_500), "1.5"), ("§3.3.2", "1.050", decimal(1_050), "1.05"),
            ("§3.3.2 largest", "999999999999.999", decimal(999_999_999_999_999), "999999999999.999"),
            ("§3.3.3", #""hello world""#, .string("hello world"), #""hello world""#),
            ("§3.3.3 empty", #""""#, .string(""), #""""#),
            ("§3.3.3 escapes", #""a\"b\\c""#, .string(#"a"b\c"#), #""a\"b\\c""#),
            ("§3.3.4", "foo123/456", .token("foo123/456"), "foo123/456"),
            ("§3.3.4 star, colon", "*a:b", .token("*a:b"), "*a:b"), ("§3.3.4 case", "A", .token("A"), "A"),
            ("§3.3.4 all", "a!#$%&'*+-.^_`|~:/", .token("a!#$%&'*+-.^_`|~:/"), "a!#$%&'*+-.^_`|~:/"),
            ("§3.3.5", ":aGVsbG8=:", .byteSequence(Array("hello".utf8)), ":aGVsbG8=:"),
            ("§3.3.5 empty", "::", .byteSequence([]), "::"),
            ("§4.2.7 no padding", ":aGVsbG8:", .byteSequence(Array("hello".utf8)), ":aGVsbG8=:"),
            ("§4.2.7 loose bits", ":iZ==:", .byteSequence([0x89]), ":iQ==:"),
            ("§3.3.5 alphabet", ":+/+/:", .byteSequence([0xFB, 0xFF, 0xBF]), ":+/+/:"),
            ("§3.3.6", "?1", .boolean(true), "?1"), ("§3.3.6", "?0", .boolean(false), "?0"),
            ("§3.3.7", "@1659578233", .date(Date(timeIntervalSince1970: 1_659_578_233)), "@1659578233"),
            ("§3.3.7 before 1970", "@-1", .date(Date(timeIntervalSince1970: -1)), "@-1"),
            (
                "§3.3.7 largest", "@999999999999999", .date(Date(timeIntervalSince1970: 999_999_999_999_999)),
                "@999999999999999"
            ),
            (
                "§3.3.8", #"%"This is intended for display to %c3%bcsers.""#,
                .displayString("This is intended for display to üsers."),
                #"%"This is intended for display to %c3%bcsers.""#
            ),
            ("§3.3.8 quote, percent", #"%"%22%25\""#, .displayString(#""%\"#), #"%"%22%25\""#),
            ("§3.3.8 needless escape", #"%"%41%00""#, .displayString("A\0"), #"%"A%00""#),
            ("§3.3.8 four bytes", #"%"%f0%9f%8e%88""#, .displayString("🎈"), #"%"%f0%9f%8e%88""#),
            ("§4.2 blanks around", "  42  ", .integer(42), "42"),
        ] as [(String, String, StructuredField.BareItem, String)]
    )
    func bareItems(rule: String, text: String, value: StructuredField.BareItem, canonical: String) throws {
        let item = try StructuredField.Item(parsing: [text])

        #expect(item == StructuredField.Item(value), "\(rule)")
        #expect(try item.serialised() == canonical, "\(rule)")
    }

    @Test(
        "A text that is not an item is an error at the first invalid byte",
        arguments: brokenItems
    )
    func rejectsItems(rule: String, text: String, offset: Int) throws {
        let error = try #require(throws: Headers.FieldError.self, "\(rule)") {
            try StructuredField.Item(parsing: [text])
        }
        #expect(error.offset == offset, "\(rule)")
        #expect(error.field == "structured field")
    }

    @Test("Parameters are read in order; the last of equal keys counts, in the place of the first (§4.2.3.2)")
    func parameters() throws {
        let item = try Item(parsing: ["text/html;charset=utf-8;  q=0.5;a;*k_-.1=?0;q=1"])

        #expect(
            item
                == Item(
                    .token("text/html"),
                    parameters: [
                        "charset": .token("utf-8"), "q": .integer(1), "a": .boolean(true), "*k_-.1": .boolean(false),
                    ]
                )
        )
        #expect(item.parameters["q"]?.number == 1)
        #expect(item.parameters["charset"]?.text == "utf-8")
        #expect(item.parameters["none"] == nil)
        #expect(try item.serialised() == "text/html;charset=utf-8;q=1;a;*k_-.1=?0")
    }

    @Test("Several lines are not an item")
    func itemLines() {
        #expect(throws: Headers.FieldError.self) { try Item(parsing: ["1", "2"]) }
        #expect(throws: Headers.FieldError.self) { try Item(parsing: []) }
    }

    @Test(
        "Lists are read and written (§4.2.1, §4.1.1)",
        arguments: [
            ("§3.1", ["sugar, tea, rum"], "sugar, tea, rum", 3),
            ("§3.1 lines", ["sugar, tea", "rum"], "sugar, tea, rum", 3),
            ("§3.1 tight", ["sugar,tea\t,\t rum"], "sugar, tea, rum", 3),
            ("§4.2 empty", [""], "", 0), ("no line", [], "", 0), ("blanks", ["  "], "", 0),
            (
                "§3.1.1", [#"("foo" "bar"), ("baz"), ("bat" "one"), ()"#],
                #"("foo" "bar"), ("baz"), ("bat" "one"), ()"#, 4
            ),
            (
                "§3.1.1 parameters", [#"("foo"; a=1;b=2);lvl=5, ("bar" "baz");lvl=1"#],
                #"("foo";a=1;b=2);lvl=5, ("bar" "baz");lvl=1"#, 2
            ),
            ("§3.1.1 blanks", ["(  a   b  )"], "(a b)", 1),
            (
                "§3.1.2", ["abc;a=1;b=2; cde_456, (ghi;jk=4 l);q=\"9\";r=w"],
                "abc;a=1;b=2;cde_456, (ghi;jk=4 l);q=\"9\";r=w", 2
            ),
            (
                "all types", [#"1, 2.5, "s", t, :YQ==:, ?1, @0, %"%c3%bc""#],
                #"1, 2.5, "s", t, :YQ==:, ?1, @0, %"%c3%bc""#, 8
            ),
        ]
    )
    func lists(rule: String, lines: [String], canonical: String, count: Int) throws {
        let list = try StructuredField.List(parsing: lines)

        #expect(list.members.count == count, "\(rule)")
        #expect(try list.serialised() == canonical, "\(rule)")
    }

    @Test(
        "A fault anywhere in a list spoils all of it (§4.2)",
        arguments: [
            (["a,"], 2), (["a, "], 3), ([",a"], 0), (["a,,b"], 2), (["a b"], 2), (["a", "", "b"], 3), (["a", ""], 3),
            (["(a"], 2), (["(a,b)"], 2), (["(a b"], 4), (["a)"], 1), (["(a(b))"], 2), (["((a))"], 1), (["(\"a\"b)"], 4),
            (["(a\tb)"], 2), (["(a) b"], 4), (["(a;)"], 3), (["\"a", "b\""], 6), (["a\u{0}"], 1), (["ü"], 0),
        ]
    )
    func rejectsLists(lines: [String], offset: Int) throws {
        // A string that continues on a second line is joined by the comma between them (§4.2), and is valid.
        if lines == ["\"a", "b\""] {
            #expect(try StructuredField.List(parsing: lines).serialised() == #""a, b""#)
            return
        }
        let error = try #require(throws: Headers.FieldError.self) { try StructuredField.List(parsing: lines) }
        #expect(error.offset == offset)
    }

    @Test(
        "Dictionaries are read and written (§4.2.2, §4.1.2)",
        arguments: [
            (
                "§3.2", [#"en="Applepie", da=:w4ZibGV0w6ZydGU=:"#], #"en="Applepie", da=:w4ZibGV0w6ZydGU=:"#,
                ["en", "da"]
            ),
            ("§3.2 booleans", ["a=?0, b, c; foo=bar"], "a=?0, b, c;foo=bar", ["a", "b", "c"]),
            (
                "§3.2 inner lists", ["rating=1.5, feelings=(joy sadness)"], "rating=1.5, feelings=(joy sadness)",
                ["rating", "feelings"]
            ),
            (
                "§3.2 mixed", ["a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid"], "a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid",
                ["a", "b", "c", "d"]
            ),
            ("§3.2 lines", ["foo=1, bar=2", "baz=3"], "foo=1, bar=2, baz=3", ["foo", "bar", "baz"]),
            ("§4.2.2 last of equal keys", ["a=1, b=2, a=3;x"], "a=3;x, b=2", ["a", "b"]),
            ("§4.1.2 true", ["a=?1;x=?1;y=1, b=?1"], "a;x;y=1, b", ["a", "b"]),
            ("empty", [" "], "", []),
            ("RateLimit", ["default;r=50;t=30"], "default;r=50;t=30", ["default"]),
        ]
    )
    func dictionaries(rule: String, lines: [String], canonical: String, keys: [String]) throws {
        let dictionary = try StructuredField.Dictionary(parsing: lines)

        #expect(dictionary.map(\.key) == keys, "\(rule)")
        #expect(try dictionary.serialised() == canonical, "\(rule)")
    }

    @Test(
        "A fault anywhere in a dictionary spoils all of it (§4.2)",
        arguments: [
            ("a=1,", 4), ("a=1,,b=2", 4), ("=1", 0), ("A=1", 0), ("a =1", 2), ("a= 1", 2), ("a=", 2), ("\"a\"=1", 0),
            ("a=1 b=2", 4), ("a=1, 2", 5), ("1", 0), ("a=(1", 4), ("a;x=;y", 4),
        ]
    )
    func rejectsDictionaries(text: String, offset: Int) throws {
        let error = try #require(throws: Headers.FieldError.self) { try StructuredField.Dictionary(parsing: [text]) }
        #expect(error.offset == offset)
    }

    @Test("policies PL-23 quota fields are read as they are sent")
    func rateLimit() throws {
        let policies = try List(parsing: [#""burst";q=100;w=60, "daily";q=1000;w=86400"#])

        #expect(policies.members.map { $0.item?.value.text } == ["burst", "daily"])
        #expect(policies.members.map { $0.parameters["q"]?.number } == [100, 1_000])
    }

    @Test(
        "What the format cannot hold is refused (§4.1)",
        arguments: [
            .init(.integer(1_000_000_000_000_000)), .init(.integer(.min)), .init(.string("ü")), .init(.string("\n")),
            .init(.token("")), .init(.token("1a")), .init(.token("a b")), .init(.token("ü")),
            .init(.date(.init(timeIntervalSince1970: 1e15))),
            .init(.boolean(true), parameters: ["A": .boolean(true)]),
            .init(.boolean(true), parameters: ["": .integer(1)]),
            .init(.boolean(true), parameters: ["a": .string("\u{7F}")]),
        ] as [StructuredField.Item]
    )
    func refuses(item: StructuredField.Item) throws {
        let error = try #require(throws: Headers.FieldError.self) { try item.serialised() }
        guard case .notWritable = error.reason else {
            Issue.record("\(error)")
            return
        }
        #expect(throws: Headers.FieldError.self) { try List([.item(item)]).serialised() }
        #expect(throws: Headers.FieldError.self) { try List([.innerList(.init([item]))]).serialised() }
        #expect(throws: Headers.FieldError.self) { try (["a": .item(item)] as StructuredField.Dictionary).serialised() }
    }

    @Test("A date that is not an integer is refused")
    func noDate() {
        #expect(throws: Headers.FieldError.self) { try Item(.date(Date(timeIntervalSince1970: .nan))).serialised() }
    }

    @Test(
        "Decimals are rounded to three places, halves to the even one (§4.1.5)",
        arguments: [
            (0.0015, "0.002"), (0.0025, "0.002"), (-0.0015, "-0.002"), (-0.0025, "-0.002"), (9.9995, "10.0"),
            (1, "1.0"),
            (0, "0.0"), (0.1, "0.1"), (123.456, "123.456"), (999_999_999_999.999, "999999999999.999"),
        ]
    )
    func decimals(value: Double, text: String) throws {
        #expect(try #require(StructuredField.Decimal(value)).description == text)
    }

    @Test("A number too large for a decimal makes none", arguments: [1e12, -1e12, .infinity, -.infinity, .nan, 1e300])
    func largeDecimals(value: Double) {
        #expect(StructuredField.Decimal(value) == nil)
    }

    @Test("A number of thousandths too large for a decimal makes none")
    func largeThousandths() {
        #expect(StructuredField.Decimal(thousandths: .min) == nil)
        #expect(StructuredField.Decimal(thousandths: 1_000_000_000_000_000) == nil)
        #expect(StructuredField.Decimal(thousandths: -999_999_999_999_999)?.doubleValue == -999_999_999_999.999)
    }

    @Test("Members past a limit are refused, by default past what each parser must support")
    func limits() throws {
        func list(_ count: Int) -> String { Array(repeating: "a", count: count).joined(separator: ",") }
        func keys(_ count: Int, _ separator: String) -> String {
            (0..<count).map { "k\($0)" }.joined(separator: separator)
        }
        func inner(_ count: Int) -> String { "(" + Array(repeating: "a", count: count).joined(separator: " ") + ")" }

        #expect(try List(parsing: [list(1_024)]).members.count == 1_024)
        #expect(try StructuredField.Dictionary(parsing: [keys(1_024, ",")]).count == 1_024)
        #expect(try Item(parsing: ["a;" + keys(256, ";")]).parameters.count == 256)
        #expect(try List(parsing: [inner(256)]).members.count == 1)

        #expect(throws: Headers.FieldError.self) { try List(parsing: [list(1_025)]) }
        #expect(throws: Headers.FieldError.self) { try StructuredField.Dictionary(parsing: [keys(1_025, ",")]) }
        #expect(throws: Headers.FieldError.self) { try Item(parsing: ["a;" + keys(257, ";")]) }
        #expect(throws: Headers.FieldError.self) { try List(parsing: [inner(257)]) }

        var limits = StructuredField.Limits()
        limits.members = 2
        let error = try #require(throws: Headers.FieldError.self) { try List(parsing: ["a, b, c"], limits: limits) }
        #expect(error == Headers.FieldError(field: "structured field", reason: .limitExceeded(2), offset: 6))
        #expect(try StructuredField.Dictionary(parsing: ["a, b, a=1"], limits: limits).count == 2)
    }

    @Test("Values by key keep the place of a key that is set again")
    func keyedValues() {
        var values: StructuredField.Parameters = ["a": .integer(1), "b": .integer(2), "a": .integer(3)]
        #expect(values.map(\.key) == ["a", "b"])
        #expect(values["a"] == .integer(3))

        values["a"] = .integer(4)
        values["c"] = .boolean(true)
        values["b"] = nil
        values["none"] = nil
        #expect(values.map(\.key) == ["a", "c"])
        #expect(values != ["c": .boolean(true), "a": .integer(4)])
    }

    @Test("Lists and dictionaries survive writing and reading")
    func roundTrip() throws {
        var samples = FieldSamples()
        for _ in 0..<1_000 {
            let list = StructuredField.List(samples.array(0...4) { $0.member() })
            #expect(try StructuredField.List(parsing: [list.serialised()]) == list, samples.note)

            var dictionary: StructuredField.Dictionary = [:]
            for _ in 0..<samples.int(0...4) { dictionary[samples.key()] = samples.member() }
            #expect(try StructuredField.Dictionary(parsing: [dictionary.serialised()]) == dictionary, samples.note)
        }
    }

    @Test("Random bytes end in a value that survives, or in an error")
    func randomBytes() throws {
        var samples = FieldSamples()
        for _ in 0..<5_000 {
            let bytes = samples.fieldBytes(0...40)
            guard let list = try? StructuredField.List(bytes: [bytes]) else { continue }
            #expect(try StructuredField.List(parsing: [list.serialised()]) == list, samples.note)
        }
    }

    @Test("Long hostile values end, without limits too", arguments: hostileFields.indices)
    func hostile(index: Int) {
        let value = hostileFields[index].value
        var limits = StructuredField.Limits()
        (limits.members, limits.innerListItems, limits.parameters) = (.max, .max, .max)

        for text in [value, "a\(value)", "\"\(value)", "(\(value)", ":\(value):"] {
            if let item = try? Item(parsing: [text], limits: limits) { _ = try? item.serialised() }
            if let list = try? List(parsing: [text], limits: limits) { _ = try? list.serialised() }
            if let dictionary = try? StructuredField.Dictionary(parsing: [text], limits: limits) {
                _ = try? dictionary.serialised()
            }
        }
    }

    @Test("A hundred thousand different keys are read in linear time")
    func manyKeys() throws {
        var limits = StructuredField.Limits()
        limits.members = .max
        let text = (0..<100_000).map { "k\($0)" }.joined(separator: ",")
        #expect(try StructuredField.Dictionary(parsing: [text + "," + text], limits: limits).count == 100_000)
    }
}

extension FieldSamples {
    fileprivate mutating func key() -> String { text("abc*", 1...1) + text("az09_-.*", 0...6) }

    fileprivate mutating func bareItem() -> StructuredField.BareItem {
        switch int(0...7) {
        case 0: .integer(int64(-999_999_999_999_999...999_999_999_999_999))
        case 1: decimal(int64(-999_999_999_999_999...999_999_999_999_999))
        case 2: .string(text(#"ab "\,;=()"#, 0...10))
        case 3: .token(text("abXY*", 1...1) + text("ab09:/!~", 0...8))
        case 4: .byteSequence(bytes(0...12))
        case 5: .boolean(bool())
        case 6: .date(Date(timeIntervalSince1970: Double(int64(-999_999_999_999_999...999_999_999_999_999))))
        default: .displayString(text("ab\"%\\\0\nü漢🎈", 0...10))
        }
    }

    fileprivate mutating func parameters() -> StructuredField.Parameters {
        var parameters: StructuredField.Parameters = [:]
        for _ in 0..<int(0...2) { parameters[key()] = bareItem() }
        return parameters
    }

    fileprivate mutating func item() -> StructuredField.Item { .init(bareItem(), parameters: parameters()) }

    fileprivate mutating func member() -> StructuredField.Member {
        bool() ? .item(item()) : .innerList(.init(array(0...3) { $0.item() }, parameters: parameters()))
    }
}
