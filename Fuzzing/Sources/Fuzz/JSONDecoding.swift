import LadeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Target {
    /// Any bytes, decoded to several types: what this module accepts, Foundation accepts with the same value.
    static let jsonDecoder = Target(name: "json-decoder") { bytes in
        let data = Data(bytes)
        compare(data, [String: Double].self)
        compare(data, [String].self)
        compare(data, [Double].self)
        compare(data, Members.self)
        compare(data, [Members].self)
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

    private static func compare<T: Decodable & Equatable>(_ data: Data, _ type: T.Type) {
        var fast = FastJSONDecoder()
        fast.dateDecodingStrategy = .iso8601
        guard let value = try? fast.decode(type, from: data) else { return }
        let foundation = JSONDecoder()
        foundation.dateDecodingStrategy = .iso8601
        let expected = try? foundation.decode(type, from: data)
        expect(expected == value, "\(value) instead of \(String(describing: expected))")
    }
}
