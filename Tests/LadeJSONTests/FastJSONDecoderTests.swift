import FoundationEssentials
import LadeJSON
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
        (#"{"a":[1,{"b":01}]}"#, JSONFault.Reason.invalidNumber, 1, 15, "/a/1/b"),
        ("[1,\n2,\n  tru]", .unexpectedByte(UInt8(ascii: "]")), 3, 6, "/2"),
        ("[1] x", .trailingContent, 1, 5, ""),
        ("{\"a\":\"\u{1}\"}", .controlCharacter, 1, 7, "/a"),
        (#"["\x"]"#, .invalidEscape, 1, 4, "/0"),
        ("[[[", .unexpectedEnd, 1, 4, "/0/0/0"),
    ])
    func saysWhereATextIsNotJSON(_ text: String, _ reason: JSONFault.Reason, _ line: Int, _ column: Int, _ path: String)
    {
        let error = #expect(throws: DecodingError.self) {
            try FastJSONDecoder().decode([Int].self, from: Data(text.utf8))
        }
        guard case .dataCorrupted(let context) = error, let fault = context.underlyingError as? JSONFault else {
            Issue.record("not a fault: \(String(describing: error))")
            return
        }
        #expect(fault.reason == reason)
        #expect([fault.line, fault.column] == [line, column])
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

    /// A document in memory that is unmapped when it is released.
    private static func unmapped(_ text: String, size: Int) throws -> Data {
        let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
        let bytes = try #require(memory != MAP_FAILED ? memory : nil)
        memset(bytes, 0x20, size)
        bytes.copyMemory(from: Array(text.utf8), byteCount: text.utf8.count)
        return Data(bytesNoCopy: bytes, count: size, deallocator: .unmap)
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
