#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON
import Testing

extension CodingUserInfoKey {
    fileprivate static var names: CodingUserInfoKey {
        get throws { try #require(CodingUserInfoKey(rawValue: "names")) }
    }
}

@Suite("Members looked up by name", .timeLimit(.minutes(5)))
struct JSONMembersTests {
    /// The integers of the members that the decoder's settings name, in their order.
    private struct Named: FastJSONDecoder.Readable {
        var values: [String: Int] = [:]
        var present: Set<String> = []

        init(from reader: inout FastJSONDecoder.Reader) throws {
            try reader.lookUpMembers { members in
                let names = try #require(members.userInfo[try .names] as? [String])
                for name in names {
                    if var value = members.reader(name) { values[name] = try value.read(Int.self) }
                    if members.contains(name) { present.insert(name) }
                }
            }
        }

        init(from decoder: any Decoder) throws {}
    }

    @Test("finds members in every order, and only the first of equal ones", arguments: 1...40)
    func names(seed: UInt64) throws {
        var random = Seeded(seed)
        // Few plain names are compared in the document's order; others are looked up in a dictionary.
        let isPlain = seed.isMultiple(of: 2)
        let unusual = isPlain ? [] : ["", "é", "名前"] + (20..<60).map { "n\($0)" }
        let known = ["a", "description", "imageCopyrightOfTheImage"] + (0..<20).map { "n\($0)" } + unusual
        var written = known.filter { _ in seed == 1 || random.next(below: 3) > 0 }
        var asked = known
        if seed > 2 {
            written += known.filter { _ in random.next(below: 2) == 0 } + ["x", "n", "n600", "descriptiom"]
            written.shuffle(using: &random)
        }
        if seed > 20 { asked.shuffle(using: &random) }
        let escaped = written.map { !isPlain && random.next(below: 20) == 0 ? $0.replacing("n", with: "\\u006e") : $0 }
        let members = escaped.enumerated().map { "\"\($0.element)\":\($0.offset)" }.joined(separator: ",")
        let first = Dictionary(written.enumerated().map { ($0.element, $0.offset) }) { first, _ in first }
            .filter { known.contains($0.key) }
        var decoder = FastJSONDecoder()
        decoder.userInfo[try .names] = asked

        let read = try decoder.decode([Named].self, from: Data("[{\(members)},{\(members)}]".utf8))

        #expect(read.map(\.values) == [first, first], "seed \(seed)")
        #expect(read.map(\.present) == [Set(first.keys), Set(first.keys)], "seed \(seed)")
    }

    /// A type that reads itself in two parts, and contains itself and types of the usual kind.
    private struct Tree: Codable, FastJSONDecoder.Readable {
        var name: String
        var children: [Tree]?
        var plain: Plain?

        init(from reader: inout FastJSONDecoder.Reader) throws {
            var (name, children, plain) = (String?.none, [Tree]?.none, Plain?.none)
            try reader.lookUpMembers { members in
                guard var value = members.reader("name") else {
                    throw DecodingError.keyNotFound(
                        CodingKeys.name,
                        .init(
                            codingPath: members.path,
                            debugDescription: "No value associated with key \(CodingKeys.name) (\"name\")."
                        )
                    )
                }
                name = try value.read(String.self)
                if var value = members.reader("children"), !value.isNull { children = try value.read([Tree].self) }
                if var value = members.reader("plain"), !value.isNull { plain = try value.read(Plain.self) }
            }
            self.name = try #require(name)
            (self.children, self.plain) = (children, plain)
        }
    }

    private struct Plain: Codable {
        var date: Date
        var trees: [String: Tree]
    }

    /// The same members, by a type that cannot read itself.
    private struct Twin: Decodable {
        var name: String
        var children: [Twin]?
        var plain: PlainTwin?
    }

    private struct PlainTwin: Decodable {
        var date: Date
        var trees: [String: Twin]
    }

    private static let bad = [
        "[]", "7", "{}", #"{"name":1}"#, #"{"name":null}"#, #"{"name":"","children":{}}"#,
        #"{"name":"","children":[{"name":""},{"name":"","children":[{}]}]}"#,
        #"{"name":"","children":[null]}"#, #"{"children":[{}],"name":"","plain":[]}"#,
        #"{"name":"","children":[{"name":"","plain":{"date":"2023-04-02T19:30:00Z","trees":{"a":{"name":[]}}}}]}"#,
        #"{"name":"","children":[{"name":"","plain":{"trees":{}}}]}"#,
        #"{"name":"","plain":{"date":"2023-04-02T19:30:00Z","trees":{"a":{"name":"","children":[{"name":2}]}}}}"#,
    ]

    @Test("throws Foundation's errors with the same paths, at any depth", arguments: bad)
    func errors(text: String) {
        var fast = FastJSONDecoder()
        fast.dateDecodingStrategy = .iso8601
        let foundation = JSONDecoder()
        foundation.dateDecodingStrategy = .iso8601
        for text in [text, "{\"name\":\"\",\"children\":[{\"name\":\"\"},\(text)]}"] {
            let data = Data(text.utf8)
            let expected = JSONReaderTests.outcome { try foundation.decode(Twin.self, from: data) }
            let names = expected.replacing("Twin", with: "Tree")

            #expect(JSONReaderTests.outcome { try fast.decode(Tree.self, from: data) } == names)
        }
    }

    /// The path of a fault in the text of a value or a name.
    private static func faultPath<Value: Decodable>(_ type: Value.Type, _ data: Data) throws -> String {
        let error = #expect(throws: DecodingError.self) { try FastJSONDecoder().decode(type, from: data) }
        guard case .dataCorrupted(let context) = error else { return "another error" }
        return try #require(context.underlyingError as? JSONError).path.description
    }

    @Test("the path of an invalid text is complete, whether its type reads itself or not")
    func faultPaths() throws {
        let invalid = #""\ud800""#
        let value = Data("{\"name\":\"\",\"children\":[{\"name\":\"\"},{\"name\":\(invalid)}]}".utf8)
        let name = Data("{\"name\":\"\",\"children\":[{\"name\":\"\"},{\"name\":\"\",\(invalid):1}]}".utf8)

        #expect(try Self.faultPath(Tree.self, value) == "/children/1/name")
        #expect(try Self.faultPath(Twin.self, value) == "/children/1/name")
        #expect(try Self.faultPath(Tree.self, name) == "/children/1")
        #expect(try Self.faultPath(Twin.self, name) == "/children/1")
    }

    /// A type that knows which of its initialisers made it.
    private struct Marked: FastJSONDecoder.Readable {
        var isRead: Bool

        init(from reader: inout FastJSONDecoder.Reader) throws { isRead = true }
        init(from decoder: any Decoder) throws { isRead = false }
    }

    /// Ordinary types around one that reads itself.
    private struct Envelope: Decodable {
        var one: Marked
        var optional: Marked?
        var list: [Marked]
        var optionalList: [Marked?]?
        var lists: [[Marked]]
        var byName: [String: Marked]
        var choice: Choice
        var nested: Inner

        struct Inner: Decodable {
            var list: [Marked]

            init(from decoder: any Decoder) throws {
                var elements = try decoder.unkeyedContainer()
                list = [try elements.decode(Marked.self)]
                while let marked = try elements.decodeIfPresent(Marked.self) { list.append(marked) }
            }
        }

        enum Choice: Decodable {
            case marked(Marked)

            init(from decoder: any Decoder) throws {
                self = .marked(try decoder.singleValueContainer().decode(Marked.self))
            }
        }

        var all: [Marked?] {
            let chosen =
                switch choice {
                case .marked(let marked): marked
                }
            var all = [one, optional, chosen]
            all += list
            all += optionalList ?? []
            for list in lists + [Array(byName.values), nested.list] { all += list }
            return all
        }
    }

    private static let envelope = Data(
        #"""
        {"one":1,"optional":2,"list":[3,4],"optionalList":[5],"lists":[[6],[7]],"byName":{"a":8},"choice":9,
        "nested":[10,11,null]}
        """#.utf8
    )

    @Test("a type reads itself within ordinary types, too, but not when names are converted")
    func ordinaryTypes() throws {
        let read = try FastJSONDecoder().decode(Envelope.self, from: Self.envelope)
        #expect(read.all.map { $0?.isRead } == Array(repeating: true, count: 11))
        #expect(try FastJSONDecoder().decode(Marked.self, from: Data("1".utf8)).isRead)
        #expect(try FastJSONDecoder().decode(Marked?.self, from: Data("1".utf8))?.isRead == true)

        var converting = FastJSONDecoder()
        converting.keyDecodingStrategy = .convertFromSnakeCase
        let decoded = try converting.decode(Envelope.self, from: Self.envelope)
        #expect(decoded.all.map { $0?.isRead } == Array(repeating: false, count: 11))
    }
}
