#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON
import Testing

@Suite("Coding of JSON values", .timeLimit(.minutes(5)))
struct JSONValueCodingTests {
    private struct Envelope: Codable, Equatable {
        var name: String
        var content: JSONValue
        var rest: [String: JSONValue]?
    }

    private static let exact = #"""
        {"some_name":[0,-0,1.50,18446744073709551615,123456789012345678901234567890,1e999,9007199254740993.0],
        "é":"a\n\u00e4","é":null,"empty":[{},[],""],"flags":[true,false]}
        """#

    @Test("a value in a struct holds exactly what the document does, under any strategy for names")
    func decodesExactly() throws {
        let content = try JSONValue(parsing: Data(Self.exact.utf8))
        let document = Data("{\"name\":\"n\",\"content\":\(Self.exact),\"rest\":{\"a_b\":\(Self.exact)}}".utf8)
        var decoder = FastJSONDecoder()

        for strategy in [JSONDecoder.KeyDecodingStrategy.useDefaultKeys, .convertFromSnakeCase] {
            decoder.keyDecodingStrategy = strategy
            let read = try decoder.decode(Envelope.self, from: document)
            #expect(read == Envelope(name: "n", content: content, rest: ["a_b": content]))
        }
        #expect(content["some_name"]?[6] == .number(JSONValue.Number("9007199254740993")!))
        #expect(try decoder.decode([JSONValue?].self, from: Data("[null,1]".utf8)) == [nil, .integer(1)])
    }

    @Test("an encoded value has the digits and the names that it was parsed from")
    func encodesExactly() throws {
        var encoder = FastJSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let text =
            #"{"bigName":[-0,1.50,123456789012345678901234567890,1e999],"e":{"é":1,"é":[]},"n":null,"t":[true,"/"]}"#
        let value = try JSONValue(parsing: Data(text.utf8))

        // The members of equal length and prefix are sorted by their bytes.
        let written = String(decoding: try encoder.encode(value), as: UTF8.self)
        #expect(try JSONValue(parsing: Data(written.utf8)) == value)
        #expect(written.hasPrefix(#"{"bigName":[-0,1.50,123456789012345678901234567890,1e999],"e":{"#))
        #expect(written.hasSuffix(#","n":null,"t":[true,"/"]}"#))
        #expect(
            String(decoding: try encoder.encode(Envelope(name: "n", content: .number(0.5))), as: UTF8.self)
                == #"{"content":0.5,"name":"n"}"#
        )
        let scalars: [JSONValue] = [.null, .bool(true), .integer(-7), .string("s"), .array([]), .object([:])]
        #expect(String(decoding: try encoder.encode(scalars), as: UTF8.self) == #"[null,true,-7,"s",[],{}]"#)
        for scalar in scalars {
            #expect(try FastJSONDecoder().decode(JSONValue.self, from: encoder.encode(scalar)) == scalar)
        }
    }

    @Test("a value goes through other coders, with numbers rounded to the nearest Double")
    func otherCoders() throws {
        let text = #"{"a":[0,-5,1.5,18446744073709551615,true,null,"s",{"b":{}},[]]}"#
        let value = try JSONValue(parsing: Data(text.utf8))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys

        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) == value)
        #expect(String(decoding: try encoder.encode(value), as: UTF8.self) == text)
        #expect(throws: EncodingError.self) { try encoder.encode([JSONValue.number(JSONValue.Number("1e999")!)]) }
        let third = Data("[0.33333333333333333333333333333]".utf8)
        #expect(try JSONDecoder().decode(JSONValue.self, from: third)[0]?.number == 1.0 / 3)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([JSONValue].self, from: Data("[[1,]x]".utf8)) }
    }

    @Test("a text in a value that is not valid is an error with line, column and path")
    func faults() throws {
        let document = Data("{\"name\":\"n\",\n\"content\":{\"a\":[1,\"\\ud800\"]}}".utf8)

        let error = #expect(throws: DecodingError.self) {
            try FastJSONDecoder().decode(Envelope.self, from: document)
        }

        guard case .dataCorrupted(let context) = error, let fault = context.underlyingError as? JSONError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.path == ["content", "a", "1"])
        #expect(fault.line == 2)
        #expect(fault.column == 20)
        #expect(fault.reason == .loneSurrogate)
    }

    @Test("any value survives encoding and decoding", arguments: 1...50)
    func roundTrips(seed: UInt64) throws {
        var random = Seeded(seed)
        func value(_ depth: Int) -> JSONValue {
            switch random.next(below: depth > 4 ? 6 : 8) {
            case 0: .null
            case 1: .bool(random.next(below: 2) == 0)
            case 2: .integer(Int64(bitPattern: random.next() >> UInt64(random.next(below: 64))))
            case 3:
                .number(
                    JSONValue.Number("\(Int64(bitPattern: random.next())).\(random.next())e\(random.next(below: 900))")!
                )
            case 4: .string(String(random.next(), radix: 36) + "\u{0}\"\\é😀/")
            case 5: .integer(0)
            case 6: .array((0..<random.next(below: 5)).map { _ in value(depth + 1) })
            default:
                .object(
                    (0..<random.next(below: 5)).reduce(into: JSONValue.Object()) { members, _ in
                        members[String(random.next(below: 99)) + "e\u{301}"] = value(depth + 1)
                    }
                )
            }
        }
        for _ in 0..<20 {
            let value = value(0)
            let bytes = try FastJSONEncoder().encode([value])
            #expect(try FastJSONDecoder().decode([JSONValue].self, from: bytes) == [value], "seed \(seed)")
        }
    }
}
