#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON
import Testing

@Suite("Types that read themselves", .timeLimit(.minutes(5)))
struct JSONReaderTests {
    struct Show: Codable, FastJSONDecoder.Readable, Equatable {
        enum CodingKeys: String, CodingKey, CaseIterable { case id, title, date, tags, parts, tint, ratio, isNew, next }
        private static let keys = FastJSONDecoder.Reader.Keys<CodingKeys>()

        var id: Int
        var title: String?
        var date: Date?
        var tags: [String]?
        var parts: [Part]?
        var tint: Tint?
        var ratio: Double?
        var isNew: Bool?
        var next: [Part?]?

        init(from reader: inout FastJSONDecoder.Reader) throws {
            var id: Int?
            var (title, date, tags, parts) = (String?.none, Date?.none, [String]?.none, [Part]?.none)
            var (tint, ratio, isNew, next) = (Tint?.none, Double?.none, Bool?.none, [Part?]?.none)
            try reader.readMembers(Self.keys) { key, reader in
                switch key {
                case .id: id = try reader.read(Int.self)
                case .title: title = try reader.readIfPresent(String.self)
                case .date: date = try reader.readIfPresent(Date.self)
                case .tags: tags = try reader.readIfPresent([String].self)
                case .parts: parts = reader.isNull ? nil : try reader.read([Part].self)
                case .tint: tint = try reader.readIfPresent(Tint.self)
                case .ratio: ratio = reader.isNull ? nil : try reader.read(Double.self)
                case .isNew: isNew = reader.isNull ? nil : try reader.read(Bool.self)
                case .next: next = try reader.readIfPresent([Part?].self)
                }
            }
            guard let id else { throw reader.missing(CodingKeys.id) }
            (self.id, self.title, self.date, self.tags, self.parts) = (id, title, date, tags, parts)
            (self.tint, self.ratio, self.isNew, self.next) = (tint, ratio, isNew, next)
        }
    }

    struct Part: Codable, FastJSONDecoder.Readable, Equatable {
        enum CodingKeys: String, CodingKey, CaseIterable { case small, 名前 }
        private static let keys = FastJSONDecoder.Reader.Keys<CodingKeys>()

        var small: UInt8
        var 名前: String

        init(from reader: inout FastJSONDecoder.Reader) throws {
            var small: UInt8?
            var name: String?
            try reader.readMembers(Self.keys) { key, reader in
                switch key {
                case .small: small = try reader.read(UInt8.self)
                case .名前: name = try reader.read(String.self)
                }
            }
            guard let small else { throw reader.missing(CodingKeys.small) }
            guard let name else { throw reader.missing(CodingKeys.名前) }
            (self.small, 名前) = (small, name)
        }
    }

    /// A type of the usual kind around one that reads itself.
    struct Page: Decodable { var shows: [String: [Show?]] }

    private static let good = [
        #"{"id":1}"#, #"{"tags":["a","é\n"],"id":2,"title":"x","unknown":[{"id":9}],"date":"2023-04-02T19:30:00Z"}"#,
        #"{"id":3,"parts":[{"small":255,"名前":"a"},{"\u540d前":"b","small":0}],"tint":"red","ratio":1e3,"isNew":false}"#,
        #"{"id":4,"title":null,"date":null,"tags":[],"parts":null,"tint":null,"ratio":null,"isNew":null,"next":[null]}"#,
        #"{"id":5,"id":6,"tags":[],"title":"first","title":"second","next":[{"small":1,"名前":""},null]}"#,
    ]

    private static let bad = [
        "[]", "null", "7", "{}", #"{"id":"1"}"#, #"{"id":null}"#, #"{"id":1.5}"#, #"{"id":1,"title":2}"#,
        #"{"id":1,"date":"yesterday"}"#, #"{"id":1,"tags":["a",1]}"#, #"{"id":1,"tags":{"a":1}}"#,
        #"{"id":1,"parts":[{"small":1,"名前":"x"},{"small":256,"名前":"x"}]}"#, #"{"id":1,"parts":[{"small":1}]}"#,
        #"{"id":1,"parts":[null]}"#, #"{"id":1,"parts":{}}"#, #"{"id":1,"tint":"blue"}"#, #"{"id":1,"tint":3}"#,
        #"{"id":1,"next":[null,{"small":-1,"名前":""}]}"#, #"{"id":1,"ratio":"x"}"#, #"{"id":1,"isNew":null,"title":[]}"#,
        #"{"id":1,"title":"\ud800"}"#, #"{"id":1,"\ud800":2}"#, #"{"id":1,"id":x}"#, #"{"id":1,"parts":[-3,-3]}"#,
    ]

    /// The kind and the path of an error, or the value.
    static func outcome<T>(_ body: () throws -> T) -> String {
        let path = { (context: DecodingError.Context) in
            context.codingPath.map { $0.intValue.map { String($0) } ?? $0.stringValue }.joined(separator: "/")
        }
        do {
            return Outcome.describe(try body())
        } catch DecodingError.typeMismatch(let type, let context) {
            return "mismatch \(type) \(path(context)) \(context.debugDescription)"
        } catch DecodingError.valueNotFound(let type, let context) {
            return "null \(type) \(path(context)) \(context.debugDescription)"
        } catch DecodingError.keyNotFound(let key, let context) {
            return "missing \(key.stringValue) \(path(context)) \(context.debugDescription)"
        } catch DecodingError.dataCorrupted(let context) {
            // Foundation leaves the key of a date out of its path.
            return
                "corrupted \(context.debugDescription.contains("ISO8601") ? "" : path(context)) \(context.debugDescription)"
        } catch {
            return "\(error)"
        }
    }

    @Test("reads what Foundation decodes, and throws its errors with the same paths")
    func answersAsFoundationDoes() {
        var fast = FastJSONDecoder()
        fast.dateDecodingStrategy = .iso8601
        let foundation = JSONDecoder()
        foundation.dateDecodingStrategy = .iso8601
        for text in Self.good + Self.bad {
            let (show, page) = (Data(text.utf8), Data("{\"shows\":{\"all\":[null,\(text)]}}".utf8))
            #expect(
                Self.outcome { try fast.decode(Show.self, from: show) }
                    == Self.outcome { try foundation.decode(Show.self, from: show) },
                "\(text)"
            )
            #expect(
                Self.outcome { try fast.decode(Page.self, from: page) }
                    == Self.outcome { try foundation.decode(Page.self, from: page) },
                "\(text) in a page"
            )
        }
        for text in Self.good { #expect((try? fast.decode(Show.self, from: Data(text.utf8))) != nil, "\(text)") }
    }

    @Test("leaves strategies for names to Decodable")
    func strategies() throws {
        var decoder = FastJSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(try decoder.decode(Show.self, from: Data(#"{"id":1,"is_new":true}"#.utf8)).isNew == true)
    }

    private struct Lists: FastJSONDecoder.Readable {
        var sums: [Int]

        init(from reader: inout FastJSONDecoder.Reader) throws {
            var sums: [Int] = []
            try reader.readElements { reader in
                var sum = 0
                try reader.readElements { sum += try $0.read(Int.self) }
                guard sum < 100 else { throw reader.corrupted("too much") }
                sums.append(sum)
            }
            self.sums = sums
        }

        init(from decoder: any Decoder) throws { sums = [] }
    }

    @Test("reads arrays by a closure, and gives its errors the path of the value")
    func elements() throws {
        #expect(try FastJSONDecoder().decode(Lists.self, from: Data("[[1,2],[],[3]]".utf8)).sums == [3, 0, 3])
        let found = Self.outcome {
            try FastJSONDecoder().decode([String: Lists].self, from: Data(#"{"a":[[1],[99,1]]}"#.utf8))
        }
        #expect(found == "corrupted a/1 too much")
    }

    /// Names of lengths around the words in which they are compared, and pairs that differ in one byte.
    private struct Name: CodingKey, CaseIterable, Sendable {
        static let allCases: [Name] =
            ["", "名", "a", "b", "ab", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefgi", "abcdefghi", "xbcdefghi"].map(
                Name.init
            )
            + (15...18).flatMap { length in
                ["x", "y"].map { Name(stringValue: String(repeating: "k", count: length - 1) + $0) }
            }
            + (0..<24).map { place in
                Name(stringValue: String((0..<24).map { $0 == place ? "-" : "m" }))
            }
            + (0..<60).map { Name(stringValue: "n\($0)") }

        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// The members of an object with any of the names.
    private struct Named: FastJSONDecoder.Readable {
        private static let keys = FastJSONDecoder.Reader.Keys<Name>()
        var values: [String: Int] = [:]

        init(from reader: inout FastJSONDecoder.Reader) throws {
            try reader.readMembers(Self.keys) { key, reader in
                guard values.updateValue(try reader.read(Int.self), forKey: key.stringValue) == nil else {
                    throw reader.corrupted("twice")
                }
            }
        }

        init(from decoder: any Decoder) throws {}
    }

    private static func document(_ names: [String]) -> Data {
        Data("{\(names.enumerated().map { "\"\($0.element)\":\($0.offset)" }.joined(separator: ","))}".utf8)
    }

    @Test("finds names of every length, in every order, and only the first of equal ones", arguments: 1...40)
    func names(seed: UInt64) throws {
        var random = Seeded(seed)
        let known = Name.allCases.map(\.stringValue)
        // Names that a comparison of words could take for one of the keys.
        let unknown = known.flatMap { [$0 + "x", "x" + $0] }
            .filter { !known.contains($0) }
        var names = known.filter { _ in seed == 1 || random.next(below: 4) > 0 }
        if seed > 2 {
            names +=
                unknown.filter { _ in random.next(below: 8) == 0 } + known.filter { _ in random.next(below: 8) == 0 }
            names.shuffle(using: &random)
        }
        let escaped = names.map { random.next(below: 10) == 0 ? $0.replacing("a", with: "\\u0061") : $0 }
        let first = Dictionary(names.enumerated().map { ($0.element, $0.offset) }) { first, _ in first }

        let read = try FastJSONDecoder().decode(Named.self, from: Self.document(escaped))

        #expect(read.values == first.filter { known.contains($0.key) }, "seed \(seed)")
    }

    /// A value with as many texts as fill the table of known values; `n7` is 7.
    private struct Digit: RawRepresentable, Codable {
        var value: Int
        var rawValue: String { "n\(value)" }

        init(_ value: Int) { self.value = value }

        init?(rawValue: String) {
            guard let value = Int(rawValue.dropFirst()) else { return nil }
            self.value = value
        }
    }

    private enum Other: Codable {
        case seven, nine

        init(from decoder: any Decoder) throws {
            self = try decoder.singleValueContainer().decode(String.self) == "n7" ? .seven : .nine
        }

        func encode(to encoder: any Encoder) throws {}
    }

    /// Types that share their texts.
    private struct Digits: FastJSONDecoder.Readable, Codable {
        enum CodingKeys: String, CodingKey, CaseIterable { case digit, other }
        private static let keys = FastJSONDecoder.Reader.Keys<CodingKeys>()
        var digit = Digit(0)
        var other = Other.nine

        init(from reader: inout FastJSONDecoder.Reader) throws {
            try reader.readMembers(Self.keys) { key, reader in
                switch key {
                case .digit: digit = try reader.read(Digit.self)
                case .other: other = try reader.read(Other.self)
                }
            }
        }
    }

    @Test(
        "names the element that is of another type, whatever it is",
        arguments: ["-3", "3", "true", "0.5", "[]"]
    )
    func pathsOfElements(element: String) {
        let error = #expect(throws: DecodingError.self) {
            try FastJSONDecoder().decode([Part].self, from: Data("[\(element),\(element)]".utf8))
        }
        guard case .typeMismatch(_, let context) = error else {
            Issue.record("another error: \(String(describing: error))")
            return
        }
        #expect(context.codingPath.map(\.intValue) == [0])
    }

    @Test("reads the value of each text, however often and of however many types", arguments: 1...10)
    func enumerations(seed: UInt64) throws {
        var random = Seeded(seed)
        let texts = (0..<600).map { _ in "n\(random.next(below: 200))" }
        let document = Data(
            "[\(texts.map { "{\"digit\":\"\($0)\",\"other\":\"\($0)\"}" }.joined(separator: ","))]".utf8
        )

        let read = try FastJSONDecoder().decode([Digits].self, from: document)

        #expect(read.map(\.digit.rawValue) == texts)
        #expect(read.map { $0.other == .seven } == texts.map { $0 == "n7" })
    }
}
