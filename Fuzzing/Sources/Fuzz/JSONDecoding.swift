import LadeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Target {
    /// Any bytes, decoded to several types: what this module accepts, Foundation accepts with the same value.
    ///
    /// A type that reads itself has the same values, and a `JSONValue` is the one that is parsed and encoded.
    static let jsonDecoder = Target(name: "json-decoder") { bytes in
        let data = Data(bytes)
        compare(data, [String: Double].self)
        compare(data, [String].self)
        compare(data, [Double].self)
        compare(data, Members.self)
        compare(data, [Members].self)
        compareReading(data)
        compareValues(data)
    }

    private struct Members: Codable, Equatable {
        enum Colour: String, Codable { case red, green }

        var a: Int?
        var b: String?
        var c: Double?
        var d: Bool?
        var e: Date?
        var f: [Int]?
        var g: [String: Int?]?
        var i: Colour?
    }

    /// The same members, read without containers.
    private struct ReadMembers: FastJSONDecoder.Readable {
        enum CodingKeys: String, CodingKey, CaseIterable { case a, b, c, d, e, f, g, i }
        private static let keys = FastJSONDecoder.Reader.Keys<CodingKeys>()

        var members = Members()

        init(from reader: inout FastJSONDecoder.Reader) throws {
            try reader.readMembers(Self.keys) { key, reader in
                switch key {
                case .a: members.a = try reader.readIfPresent(Int.self)
                case .b: members.b = try reader.readIfPresent(String.self)
                case .c: members.c = try reader.readIfPresent(Double.self)
                case .d: members.d = try reader.readIfPresent(Bool.self)
                case .e: members.e = try reader.readIfPresent(Date.self)
                case .f: members.f = try reader.readIfPresent([Int].self)
                case .g: members.g = try reader.readIfPresent([String: Int?].self)
                case .i: members.i = try reader.readIfPresent(Members.Colour.self)
                }
            }
        }

        init(from decoder: any Decoder) throws { members = try Members(from: decoder) }
    }

    private static func compareReading(_ data: Data) {
        var decoder = FastJSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let expected = try? decoder.decode([Members].self, from: data)
        let read = try? decoder.decode([ReadMembers].self, from: data)
        expect(
            expected == read?.map(\.members),
            "\(String(describing: read)) instead of \(String(describing: expected))"
        )
    }

    private static func compareValues(_ data: Data) {
        guard let value = try? JSONValue(parsing: data) else { return }
        let decoded = try? FastJSONDecoder().decode(
            [JSONValue].self,
            from: Data("[".utf8) + data.withoutMark + Data("]".utf8)
        )
        expect(decoded == [value], "\(String(describing: decoded)) instead of \(value)")
        // The encoder has one level less than the parser.
        guard let encoded = try? FastJSONEncoder().encode(value) else { return }
        expect((try? JSONValue(parsing: encoded)) == value, "\(String(decoding: encoded, as: UTF8.self)) from \(value)")
    }

    private static func compare<T: Decodable & Equatable>(_ data: Data, _ type: T.Type) {
        var fast = FastJSONDecoder()
        fast.dateDecodingStrategy = .iso8601
        guard let value = try? fast.decode(type, from: data) else { return }
        let foundation = JSONDecoder()
        foundation.dateDecodingStrategy = .iso8601
        let expected = try? foundation.decode(type, from: data)
        // Foundation refuses the floating-point numbers `0e1` to `0e9`, which the grammar has.
        if expected == nil, hasZeroTimesPower(data) { return }
        expect(expected == value, "\(value) instead of \(String(describing: expected))")
    }

    private static func hasZeroTimesPower(_ data: Data) -> Bool {
        let bytes = Array(data)
        return bytes.indices.dropFirst().contains { bytes[$0] | 0x20 == 0x65 && bytes[$0 - 1] == 0x30 }
    }
}

extension Data {
    /// The document without its byte order mark.
    fileprivate var withoutMark: Data { starts(with: [0xEF, 0xBB, 0xBF]) ? dropFirst(3) : self }
}
