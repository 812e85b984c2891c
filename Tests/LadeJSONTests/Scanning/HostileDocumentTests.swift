#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Testing

@testable import LadeJSON

/// Documents made to cost more than they weigh.
///
/// `Benchmarks/json --hostile` has them at full size.
@Suite("Hostile documents", .timeLimit(.minutes(5)))
struct HostileDocumentTests {
    private static let brackets = Data(repeating: UInt8(ascii: "["), count: 64 << 20)

    @Test("stops at the first bracket that is too deep, and says where it is")
    func brackets() throws {
        let fault = JSONError(
            .nestingTooDeep(limit: 512),
            offset: 512,
            path: JSONPointer(tokens: Array(repeating: "0", count: 512))
        )
        #expect(throws: fault) { try JSONValue(parsing: Self.brackets) }
        let error = #expect(throws: DecodingError.self) {
            try FastJSONDecoder().decode([Int].self, from: Self.brackets)
        }
        guard case .dataCorrupted(let context) = error else { return }
        #expect(context.underlyingError as? JSONError == fault)

        var splitter = JSONSplitter()
        let found = #expect(throws: JSONError.self) { try splitter.consume(Self.brackets) }
        #expect(found?.reason == .nestingTooDeep(limit: 512))
        #expect(found?.offset == 512)
    }

    @Test("takes long strings and numbers in the memory that they need")
    func longTexts() throws {
        let text = Data("\"\(String(repeating: "plain é ", count: 1 << 18))\\n\"".utf8)
        #expect(try JSONValue(parsing: text).string?.utf8.count == text.count - 3)
        let digits = Data(repeating: UInt8(ascii: "7"), count: 1 << 20)
        guard case .number(let number) = try JSONValue(parsing: digits) else {
            Issue.record("not a number")
            return
        }
        #expect(number.text.utf8.count == digits.count)
        #expect(number == number)
        #expect(number.double == .infinity)
        let open = Data("[\"".utf8) + Data(repeating: 0x61, count: 1 << 20)
        #expect(throws: JSONError(.unexpectedEnd, offset: 2 + 1 << 20, column: 3 + 1 << 20, path: ["0"])) {
            try JSONValue(parsing: open)
        }
    }

    @Test("takes members of one name in time that grows with their number")
    func equalNames() throws {
        let members = (0..<100_000).map { "\"a\":\($0)" }.joined(separator: ",")
        let value = try JSONValue(parsing: Data("{\(members)}".utf8))
        #expect(value.object?.count == 1)
        #expect(value["a"] == .integer(99_999))
    }

    @Test("refuses a long document at the line and the column of its last byte")
    func longDocument() throws {
        let lines = Data((0..<200_000).map { "\($0),\n" }.joined().utf8)
        let fault = JSONError(
            .unexpectedByte(UInt8(ascii: "}")),
            offset: Int64(lines.count + 1),
            line: 200_001,
            column: 1,
            path: ["200000"]
        )
        #expect(throws: fault) { try JSONValue(parsing: Data("[".utf8) + lines + Data("}".utf8)) }
    }

    @Test("encodes large objects whose names come twice in time that grows with their number")
    func encodesManyNames() throws {
        let data = try FastJSONEncoder().encode(ManyNames(count: 5_000))
        #expect(try JSONValue(parsing: data).object?.count == 5_050)
    }

    @Test("places the fault of each number that is no integer in time that grows with their number")
    func fractions() throws {
        let numbers = (0..<20_000).map { "\($0).5" }.joined(separator: ",\n")
        let values = try FastJSONDecoder().decode([Number].self, from: Data("[\(numbers)]".utf8))
        #expect(values == (0..<20_000).map { Number(double: Double($0) + 0.5, line: $0 + 1, column: $0 == 0 ? 2 : 1) })
    }
}

/// An integer; of any other number the value, and the place where it stands.
private struct Number: Decodable, Equatable {
    var double: Double
    var line = 0
    var column = 0

    init(double: Double, line: Int, column: Int) { (self.double, self.line, self.column) = (double, line, column) }

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        do {
            double = Double(try value.decode(Int.self))
        } catch DecodingError.dataCorrupted(let context) {
            double = try value.decode(Double.self)
            let fault = try #require(context.underlyingError as? JSONError)
            (line, column) = (fault.line, fault.column)
        }
    }
}
