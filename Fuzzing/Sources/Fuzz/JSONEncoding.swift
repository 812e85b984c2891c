import LadeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Target {
    /// Any bytes, read as a description of a value: it is encoded to the same bytes as by Foundation, or with the same error.
    static let jsonEncoder = Target(name: "json-encoder") { bytes in
        let value = Described(bytes)
        var fast = FastJSONEncoder()
        fast.outputFormatting = [.sortedKeys]
        if bytes.first.map({ $0 & 1 == 1 }) == true { fast.outputFormatting.insert(.prettyPrinted) }
        if bytes.first.map({ $0 & 2 == 2 }) == true { fast.outputFormatting.insert(.withoutEscapingSlashes) }
        if bytes.first.map({ $0 & 4 == 4 }) == true { fast.keyEncodingStrategy = .convertToSnakeCase }
        fast.dateEncodingStrategy = bytes.first.map { $0 & 8 == 8 } == true ? .iso8601 : .secondsSince1970
        let foundation = JSONEncoder()
        foundation.outputFormatting = fast.outputFormatting
        foundation.keyEncodingStrategy = fast.keyEncodingStrategy
        foundation.dateEncodingStrategy = fast.dateEncodingStrategy
        let expected = try? foundation.encode(value)
        let found = try? fast.encode(value)
        expect(expected == found, "\(text(found)) instead of \(text(expected))")
        // What was written is JSON, and means the same to the parser whatever its layout.
        guard let found else { return }
        expect((try? JSONValue(parsing: found)) != nil, "not JSON: \(text(found))")
    }

    private static func text(_ data: Data?) -> String { data.map { String(decoding: $0, as: UTF8.self) } ?? "an error" }

    /// A value that bytes describe: one byte says what comes, the next ones what is in it.
    private struct Described: Encodable {
        enum Node {
            case null
            case bool(Bool)
            case integer(Int64)
            case double(Double)
            case float(Float)
            case text(String)
            case date(Date)
            case data(Data)
            case array([Described])
            case members([(name: String, value: Described)])
            case dictionary([String: Described])
        }

        struct Name: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(_ name: String) { stringValue = name }
            init?(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        let node: Node

        init(_ bytes: [UInt8]) {
            var rest = bytes.dropFirst()
            self.init(&rest, depth: 0)
        }

        private init(_ rest: inout ArraySlice<UInt8>, depth: Int) {
            guard let kind = rest.popFirst() else {
                node = .null
                return
            }
            let count = Int(kind >> 4)
            switch kind & 15 {
            case 0: node = .null
            case 1: node = .bool(count & 1 == 1)
            case 2: node = .integer(Int64(truncatingIfNeeded: Self.word(&rest)) >> Int64(count * 4))
            case 3: node = .double(Double(bitPattern: Self.word(&rest)))
            case 4: node = .float(Float(bitPattern: UInt32(truncatingIfNeeded: Self.word(&rest))))
            case 5, 6, 7: node = .text(Self.text(&rest, count * 2))
            case 8: node = .date(Date(timeIntervalSince1970: Double(Int64(truncatingIfNeeded: Self.word(&rest)) >> 24)))
            case 9:
                node = .data(Data(rest.prefix(count)))
                rest = rest.dropFirst(count)
            case 10,
                11 where depth < 20:
                node = .array((0..<count).map { _ in Described(&rest, depth: depth + 1) })
            case 12,
                13 where depth < 20:
                node = .members(
                    (0..<count).map { _ in (Self.text(&rest, 3), Described(&rest, depth: depth + 1)) }
                )
            case 14 where depth < 20:
                let members = (0..<count).map { _ in (Self.text(&rest, 3), Described(&rest, depth: depth + 1)) }
                node = .dictionary(Dictionary(members) { _, last in last })
            default: node = .integer(Int64(count))
            }
        }

        private static func word(_ rest: inout ArraySlice<UInt8>) -> UInt64 {
            let word = rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(8)
            return word
        }

        /// Names that differ in normalisation alone are distinguished here alone, so there are only characters of ASCII
        /// and a few more.
        private static func text(_ rest: inout ArraySlice<UInt8>, _ count: Int) -> String {
            let letters = rest.prefix(count)
            rest = rest.dropFirst(count)
            return String(String.UnicodeScalarView(letters.map { Unicode.Scalar($0) }))
        }

        func encode(to encoder: any Encoder) throws {
            switch node {
            case .array(let elements):
                var container = encoder.unkeyedContainer()
                for element in elements { try container.encode(element) }
            case .members(let members):
                var container = encoder.container(keyedBy: Name.self)
                for member in members { try container.encode(member.value, forKey: Name(member.name)) }
            default:
                var container = encoder.singleValueContainer()
                switch node {
                case .bool(let value): try container.encode(value)
                case .integer(let value): try container.encode(value)
                case .double(let value): try container.encode(value)
                case .float(let value): try container.encode(value)
                case .text(let value): try container.encode(value)
                case .date(let value): try container.encode(value)
                case .data(let value): try container.encode(value)
                case .dictionary(let value): try container.encode(value)
                default: try container.encodeNil()
                }
            }
        }
    }
}
