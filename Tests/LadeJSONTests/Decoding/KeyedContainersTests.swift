import Foundation
import LadeJSON
import Testing

@Suite("Keyed containers of many types", .timeLimit(.minutes(5)))
struct KeyedContainersTests {
    private protocol Number { static var number: Int { get } }
    private enum Zero: Number { static var number: Int { 0 } }
    private enum Next<Previous: Number>: Number { static var number: Int { Previous.number + 1 } }

    /// An object whose type of keys is of its own for each number.
    private struct Numbered<N: Number>: Decodable {
        struct Key: CodingKey {
            var stringValue: String { "member\(N.number)" }
            var intValue: Int? { nil }

            init() {}
            init?(stringValue: String) { return nil }
            init?(intValue: Int) { return nil }
        }

        var value: Int

        init(from decoder: any Decoder) throws {
            value = try decoder.container(keyedBy: Key.self).decode(Int.self, forKey: Key())
        }
    }

    /// Decodes an object with the keys of each number from this one to the last, and this one's again.
    private func decodeAll<N: Number>(_ type: N.Type, last: Int, _ data: Data) throws {
        #expect(try FastJSONDecoder().decode(Numbered<N>.self, from: data).value == N.number * 10)
        if N.number < last { try decodeAll(Next<N>.self, last: last, data) }
        #expect(try FastJSONDecoder().decode(Numbered<N>.self, from: data).value == N.number * 10)
    }

    @Test("finds the members of 400 types of keys, more than a document keeps containers for")
    func manyTypes() throws {
        let members = (0...400).map { "\"member\($0)\":\($0 * 10)" }
        try decodeAll(Zero.self, last: 400, Data("{\(members.joined(separator: ","))}".utf8))
    }
}
