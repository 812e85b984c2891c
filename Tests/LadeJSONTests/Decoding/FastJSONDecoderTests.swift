#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite(.timeLimit(.minutes(5))) struct FastJSONDecoderTests {
    private struct Kept: Decodable {
        let decoder: any Decoder

        init(from decoder: any Decoder) throws { self.decoder = decoder }
    }

    private struct KeptContainer: Decodable {
        let container: KeyedDecodingContainer<AnyKey>

        init(from decoder: any Decoder) throws { container = try decoder.container(keyedBy: AnyKey.self) }
    }

    @Test func keepsTheValuesOfDecodersThatAreKept() throws {
        var kept: [Kept] = []
        do {
            let data = Data(#"[{"a":1,"b":"first"},{"a":2,"b":"second"},{"a":3,"b":"third"}]"#.utf8)
            kept = try FastJSONDecoder().decode([Kept].self, from: data)
        }
        _ = try FastJSONDecoder().decode([Int].self, from: Data("[9,9,9,9,9,9,9]".utf8))

        let members = try kept.map { try Member(from: $0.decoder) }

        #expect(members.map(\.a) == [1, 2, 3])
        #expect(members.map(\.b) == ["first", "second", "third"])
        #expect(
            kept.map { Outcome.path($0.decoder.codingPath) } == ["key Index 0 0", "key Index 1 1", "key Index 2 2"]
        )
    }

    @Test func keepsTheValuesOfContainersThatAreKept() throws {
        var kept: [String: KeptContainer] = [:]
        do {
            let text = #"{"x":{"a":1,"c":"é"},"y":{"a":2,"c":"ü"}}"#
            kept = try FastJSONDecoder().decode([String: KeptContainer].self, from: #require(text.data(using: .utf16)))
        }
        _ = try FastJSONDecoder().decode([Int].self, from: Data("[9,9,9,9,9,9,9]".utf8))

        #expect(try kept["x"]?.container.decode(Int.self, forKey: AnyKey("a")) == 1)
        #expect(try kept["y"]?.container.decode(String.self, forKey: AnyKey("c")) == "ü")
        #expect(kept["y"].map { Outcome.path($0.container.codingPath) } == "key y -")
    }

    @Test func sameDecoderServesManyTasks() async throws {
        let decoder = FastJSONDecoder()
        let sums = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<16 {
                group.addTask {
                    let data = Data(
                        "[\((0..<500).map { "{\"a\":\($0 + task),\"b\":\"text number \($0)\"}" }.joined(separator: ","))]"
                            .utf8
                    )
                    return try decoder.decode([Member].self, from: data).reduce(0) { $0 + $1.a }
                }
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }.sorted()
        }
        #expect(sums == (0..<16).map { 124_750 + 500 * $0 })
    }

    @Test(arguments: [
        (#"{"a":[1,{"b":01}]}"#, JSONError.Reason.invalidNumber, 1, 15, "/a/1/b"),
        ("[1,\n2,\n  tru]", .unexpectedByte(UInt8(ascii: "]")), 3, 6, "/2"),
        ("[1] x", .trailingContent, 1, 5, ""),
        ("{\"a\":\"\u{1}\"}", .controlCharacter, 1, 7, "/a"),
        (#"["\x"]"#, .invalidEscape, 1, 4, "/0"),
        ("[[[", .unexpectedEnd, 1, 4, "/0/0/0"),
    ])
    func saysWhereATextIsNotJSON(_ text: String, _ reason: JSONError.Reason, _ line: Int, _ column: Int, _ path: String)
    {
        let error = #expect(throws: DecodingError.self) {
            try FastJSONDecoder().decode([Int].self, from: Data(text.utf8))
        }
        guard case .dataCorrupted(let context) = error, let fault = context.underlyingError as? JSONError else {
            Issue.record("not a fault: \(String(describing: error))")
            return
        }
        #expect(fault.reason == reason)
        #expect(fault.line == line)
        #expect(fault.column == column)
        #expect(fault.path.description == path)
    }

    @Test func refusesNestingBeyondTheLimit() {
        let data = Data(repeating: UInt8(ascii: "["), count: 4 << 20)
        #expect(Outcome.of { try FastJSONDecoder().decode([Int].self, from: data) } == Outcome.invalid)
    }

    @Test func takesTheFirstOfManyMembersWithOneName() throws {
        let members = (0..<50_000).map { "\"a\":\($0)" }.joined(separator: ",")
        let data = Data("{\"b\":\"x\",\(members)}".utf8)
        #expect(try FastJSONDecoder().decode(Member.self, from: data).a == 0)
        #expect(try FastJSONDecoder().decode(AllKeys.self, from: data).names == ["a", "b"])
    }

    @Test func decodesStringsAndNumbersOfAnyLength() throws {
        let text = String(repeating: "é", count: 300_000) + "\\n"
        let digits = String(repeating: "0", count: 300_000)
        let data = Data("{\"a\":1.\(digits),\"b\":\"\(text)\",\"\(text)\":1}".utf8)
        let member = try FastJSONDecoder().decode(Member.self, from: data)
        #expect(member.a == 1)
        #expect(member.b.utf8.count == 600_001)
    }

    @Test func givesJSON5ToFoundation() throws {
        var decoder = FastJSONDecoder()
        decoder.allowsJSON5 = true
        #expect(try decoder.decode(Member.self, from: Data("{a: +0x10, /* b */ 'b': 'x',}".utf8)).a == 16)
        decoder.allowsJSON5 = false
        decoder.assumesTopLevelDictionary = true
        #expect(try decoder.decode(Member.self, from: Data(#""a":1,"b":"x""#.utf8)).a == 1)
    }

    /// A value of each kind that an option concerns.
    private struct Optioned: Decodable, DecodableWithConfiguration, Equatable {
        enum CodingKeys: CodingKey { case oneTwo, date, data, mark }

        var oneTwo: Double
        var date: Date
        var data: Data
        var mark: Int?

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            oneTwo = try members.decode(Double.self, forKey: .oneTwo)
            date = try members.decode(Date.self, forKey: .date)
            data = try members.decode(Data.self, forKey: .data)
            mark = CodingUserInfoKey(rawValue: "mark").flatMap { decoder.userInfo[$0] as? Int }
        }

        init(from decoder: any Decoder, configuration: Int) throws {
            try self.init(from: decoder)
            mark = configuration
        }
    }

    @Test("Foundation's decoder gets every option with a document in JSON5 or without braces")
    func handsOptionsOver() throws {
        var decoder = FastJSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        decoder.dataDecodingStrategy = .deferredToData
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "+",
            negativeInfinity: "-",
            nan: "?"
        )
        decoder.userInfo[try #require(CodingUserInfoKey(rawValue: "mark"))] = 7
        let strict = Data(#"{"one_two":"-","date":60,"data":[1,2]}"#.utf8)
        let expected = try decoder.decode(Optioned.self, from: strict)
        #expect(expected.oneTwo == -.infinity)
        #expect(expected.date == Date(timeIntervalSince1970: 60))
        #expect(expected.data == Data([1, 2]))
        #expect(expected.mark == 7)

        var lenient = decoder
        lenient.allowsJSON5 = true
        let json5 = Data("{one_two:'-',date:+60,data:[1,2,],}".utf8)
        #expect(try lenient.decode(Optioned.self, from: json5) == expected)
        #expect(try lenient.decode(Optioned.self, from: json5, configuration: 8).mark == 8)
        var braceless = decoder
        braceless.assumesTopLevelDictionary = true
        let members = Data(#""one_two":"-","date":60,"data":[1,2]"#.utf8)
        #expect(try braceless.decode(Optioned.self, from: members) == expected)
        #expect(try braceless.decode(Optioned.self, from: members, configuration: 8).mark == 8)
    }

    /// A document in memory that is unmapped when it is released.
    private static func unmapped(_ text: String, size: Int) throws -> Data {
        let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
        let bytes = try #require(memory != MAP_FAILED ? memory : nil)
        memset(bytes, 0x20, size)
        bytes.copyMemory(from: Array(text.utf8), byteCount: text.utf8.count)
        return Data(bytesNoCopy: bytes, count: size, deallocator: .unmap)
    }

    @Test("a decoder that is kept outlives its document, also after one in another encoding")
    func keepsDecodersAfterAnotherEncoding() throws {
        let other = try #require("[1,2,3,4,5,6,7,8,9]".data(using: .utf16LittleEndian))
        // Other tests may decode in between, so one attempt could meet another document.
        for _ in 0..<50 {
            #expect(try FastJSONDecoder().decode([Int].self, from: other).count == 9)
            let kept = try FastJSONDecoder().decode(
                Kept.self,
                from: Self.unmapped(#"{"a":5,"b":"text"}"#, size: 1 << 20)
            )
            let member = try Member(from: kept.decoder)
            #expect(member.a == 5)
            #expect(member.b == "text")
        }
    }

    private final class Token: Sendable {}

    @Test("keeps nothing of the caller after decoding")
    func releasesOptions() throws {
        let key = try #require(CodingUserInfoKey(rawValue: "token"))
        weak var inUserInfo: Token?
        weak var inClosure: Token?
        do {
            let (first, second) = (Token(), Token())
            (inUserInfo, inClosure) = (first, second)
            var decoder = FastJSONDecoder()
            decoder.userInfo[key] = first
            decoder.dateDecodingStrategy = .custom { _ in
                withExtendedLifetime(second) { Date(timeIntervalSince1970: 0) }
            }
            #expect(try decoder.decode([Date].self, from: Data("[1]".utf8)).count == 1)
            #expect(try decoder.decode(UserInfo.self, from: Data("{}".utf8)).found.hasPrefix("token="))
        }
        #expect(inUserInfo == nil)
        #expect(inClosure == nil)
    }

    /// A value with the number of texts that were initialised before it.
    private struct Counted: RawRepresentable, Decodable {
        static let count = Atomic(0)
        var rawValue: String { "" }
        var number: Int32

        init?(rawValue: String) {
            number = Int32(Self.count.add(1, ordering: .relaxed).newValue)
        }
    }

    @Test("an enumeration is initialised once for each text of a document, and again in the next one")
    func initialisesTextsAgain() throws {
        let data = Data(#"["x","x","y"]"#.utf8)
        let first = try FastJSONDecoder().decode([Counted].self, from: data).map(\.number)
        let second = try FastJSONDecoder().decode([Counted].self, from: data).map(\.number)

        #expect(first == [1, 1, 2])
        #expect(second == [3, 3, 4])
    }

    /// A value that is different for each text, and small enough to be cached.
    private struct Digest: RawRepresentable, Decodable, Equatable {
        var rawValue: String { "" }
        var value: Int32

        init(rawValue: String) { value = rawValue.utf8.reduce(7) { $0 &* 31 &+ Int32($1) } }
    }

    /// The same values, which the type reads itself.
    private struct Digests: FastJSONDecoder.Readable {
        var values: [Digest] = []

        init(from reader: inout FastJSONDecoder.Reader) throws {
            try reader.readElements { values.append(try $0.read(Digest.self)) }
        }
        init(from decoder: any Decoder) throws {}
    }

    @Test("texts of enumerations are distinguished by their length and by each byte", arguments: 0...20)
    func distinguishesTexts(length: Int) throws {
        let same = String(repeating: "a", count: length)
        let changed = (0..<length).map { place in String((0..<length).map { $0 == place ? "b" : "a" }) }
        let texts = (0...20).map { String(repeating: "a", count: $0) } + changed + [same] + changed
        let data = Data("[\(texts.map { "\"\($0)\"" }.joined(separator: ","))]".utf8)

        #expect(try FastJSONDecoder().decode([Digest].self, from: data) == texts.map(Digest.init))
        #expect(try FastJSONDecoder().decode(Digests.self, from: data).values == texts.map(Digest.init))
    }

    /// A value that depends on more than its text.
    private struct Placed: RawRepresentable, Decodable {
        var rawValue: String { "" }
        var place: Int32

        init?(rawValue: String) { nil }

        init(from decoder: any Decoder) throws {
            _ = try decoder.singleValueContainer().decode(String.self)
            place = Int32(decoder.codingPath.last?.intValue ?? -1)
        }
    }

    @Test("a value that depends on more than its text is initialised each time")
    func initialisesEachTime() throws {
        let data = Data(#"["x","x","y","x"]"#.utf8)
        #expect(try FastJSONDecoder().decode([Placed].self, from: data).map(\.place) == [0, 1, 2, 3])
    }

    /// What a container says of some names, asked for in order.
    private struct Names: Decodable {
        var all: [String]
        var found: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: AnyKey.self)
            all = container.allKeys.map(\.stringValue)
            found = try ["c", "a", "oneTwo", "a", "b", "oneTwo", "c"].map { name in
                guard container.contains(AnyKey(name)) else { return "-" }
                guard try !container.decodeNil(forKey: AnyKey(name)) else { return "null" }
                return String(try container.decode(Int.self, forKey: AnyKey(name)))
            }
        }
    }

    @Test("members are found however often and in whatever order they are requested, and each name is listed once")
    func findsNamesAgain() throws {
        let data = Data(#"[{"a":1,"b":null,"a":2,"oneTwo":3,"c":4},{"é":0,"a":5,"c":6},{"c":7,"b":8,"a":9}]"#.utf8)
        let expected = [
            ["4", "1", "3", "1", "null", "3", "4"], ["6", "5", "-", "5", "-", "-", "6"],
            ["7", "9", "-", "9", "8", "-", "7"],
        ]
        var snake = FastJSONDecoder()
        snake.keyDecodingStrategy = .convertFromSnakeCase
        for decoder in [FastJSONDecoder(), snake] {
            let names = try decoder.decode([Names].self, from: data)
            #expect(names.map(\.found) == expected)
            #expect(names.map(\.all) == [["a", "b", "oneTwo", "c"], ["é", "a", "c"], ["c", "b", "a"]])
        }
        let converted = Data(#"{"one_two":1,"a":2,"c":3}"#.utf8)
        #expect(try snake.decode(Names.self, from: converted).found == ["3", "2", "1", "2", "-", "1", "3"])
    }

    @Test("a closure for names receives the whole path, in objects and in dictionaries")
    func convertsByPath() throws {
        struct Outer: Decodable {
            struct Inner: Decodable {
                enum CodingKeys: String, CodingKey { case value = "list.0.value" }
                var value: Int
            }

            var list: [Inner]
        }
        var decoder = FastJSONDecoder()
        decoder.keyDecodingStrategy = .custom { path in
            AnyKey(path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "."))
        }
        let outer = try decoder.decode(Outer.self, from: Data(#"{"list":[{"value":7}]}"#.utf8))
        #expect(outer.list.first?.value == 7)
    }

    @Test("a name of any length may come before the members that are requested")
    func passesLongNames() throws {
        let name = String(repeating: "n", count: 300_000)
        let data = Data("{\"\(name)\":1,\"a\":2,\"b\":\"x\"}".utf8)
        #expect(try FastJSONDecoder().decode(Member.self, from: data).a == 2)
    }

    @Test("a text that is not UTF-8 is an error, wherever its wrong byte is", arguments: 0...24)
    func refusesBadUTF8(place: Int) {
        var text = Array(repeating: UInt8(ascii: "x"), count: 25)
        text[place] = 0xFF
        let data = Data([0x5B, 0x22] + text + [0x22, 0x5D])
        let error = #expect(throws: DecodingError.self) { try FastJSONDecoder().decode([String].self, from: data) }
        guard case .dataCorrupted(let context) = error else { return }
        #expect(
            context.underlyingError as? JSONError == JSONError(.invalidUTF8, offset: Int64(2 + place), path: ["0"])
        )
    }

    @Test("two bytes can be a document in UTF-16")
    func decodesTwoBytes() throws {
        #expect(try FastJSONDecoder().decode(Int.self, from: Data([0, 0x37])) == 7)
        #expect(try FastJSONDecoder().decode(Int.self, from: Data([0x37, 0])) == 7)
    }

    @Test("a text in another encoding that is not JSON does not read the document before it")
    func readsNoEarlierDocument() throws {
        // Other tests may decode in between, so one attempt could meet another document.
        for _ in 0..<50 {
            #expect(try FastJSONDecoder().decode(Int.self, from: Self.unmapped("7", size: 1 << 20)) == 7)
            // “+” in UTF-32.
            #expect(
                Outcome.of { try FastJSONDecoder().decode(Int.self, from: Data([0x2B, 0, 0, 0])) } == Outcome.invalid
            )
        }
    }
}
