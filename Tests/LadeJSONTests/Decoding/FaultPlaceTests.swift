#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Testing

@testable import LadeJSON

@Suite("Places of faults", .timeLimit(.minutes(5)))
struct FaultPlaceTests {
    @Test("counts lines and columns from the latest fault, in either direction")
    func places() {
        var random = Seeded(3)
        let text = (0..<2_000).map { _ in random.next(below: 9) == 0 ? UInt8(ascii: "\n") : UInt8(ascii: "x") }
        text.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            var place = JSONPiece.Place()
            for _ in 0..<2_000 {
                let offset = random.next(below: text.count + 1)
                place.move(to: offset, in: base)
                #expect(place.fault(.invalidNumber) == JSONError(.invalidNumber, offset: offset, in: bytes))
            }
        }
    }

    @Test("finds the paths of values and names in any order")
    func paths() throws {
        var random = Seeded(4)
        for _ in 0..<40 {
            let text = Self.document(depth: 0, &random)
            try text.utf8.withContiguousStorageIfAvailable { bytes in
                let base = try #require(bytes.baseAddress)
                var index = JSONIndex()
                defer { index.deallocate() }
                try JSONScanner.scan(bytes, into: &index, allowsTrailingCommas: false)
                var places: [(index: Int, path: String)] = []
                Self.collect(0, "", index.words, base, &places)
                var cursor = PathCursor()
                for (position, path) in places + places.shuffled(using: &random) {
                    let found = cursor.path(to: position, UnsafePointer(index.words), base)
                    #expect(
                        found.map { "/" + ($0.intValue.map(String.init) ?? $0.stringValue) }.joined() == path,
                        "\(text)"
                    )
                }
                #expect(cursor.path(to: index.count, UnsafePointer(index.words), base).isEmpty)
            }
        }
    }

    /// A value of any shape, in which every number must be from 0 to 255.
    private struct SmallNumbers: Decodable {
        init(from decoder: any Decoder) throws {
            if let members = try? decoder.container(keyedBy: AnyKey.self) {
                for key in members.allKeys { _ = try members.decode(SmallNumbers.self, forKey: key) }
            } else if var elements = try? decoder.unkeyedContainer() {
                while !elements.isAtEnd { _ = try elements.decode(SmallNumbers.self) }
            } else {
                let value = try decoder.singleValueContainer()
                guard !value.decodeNil(), (try? value.decode(Bool.self)) == nil else { return }
                do {
                    _ = try value.decode(String.self)
                } catch DecodingError.typeMismatch {
                    _ = try value.decode(UInt8.self)
                }
            }
        }
    }

    private static func fault(_ body: () throws -> Void) throws -> JSONError {
        let error = #expect(throws: DecodingError.self, performing: body)
        guard case .dataCorrupted(let context) = error else { throw try #require(error) }
        return try #require(context.underlyingError as? JSONError)
    }

    private static let numbersOutOfRange = [
        ("300", ""), (" \n300 ", ""), ("[300]", "/0"), ("[1,\n 300]", "/1"), ("[[],{},[[ ]] , 300]", "/3"),
        ("[null,true, false,300.0]", "/3"), (#"{"a":{"b":1},"é":[0, 300 ]}"#, "/é/1"),
        (#"["x],\"2",-0,{"[]":"\\"},[1.0e0],"",300]"#, "/5"),
        ("[\"\(String(repeating: "x", count: 300_000))\",300]", "/1"),
    ]

    @Test("a number that does not fit has its line, column and path", arguments: numbersOutOfRange)
    func numberOutOfRange(text: String, path: String) throws {
        let offset = text[..<(try #require(text.firstRange(of: "300")).lowerBound)].utf8.count
        let bytes = Array(text.utf8)
        let pointer = try JSONPointer(path)
        let expected = bytes.withUnsafeBufferPointer {
            JSONError(.numberOutOfRange, offset: offset, in: $0, path: pointer)
        }

        let found = try Self.fault { _ = try FastJSONDecoder().decode(SmallNumbers.self, from: Data(bytes)) }
        #expect(found == expected)
        let marked = Data([0xEF, 0xBB, 0xBF] + bytes)
        let behindMark = try Self.fault { _ = try FastJSONDecoder().decode(SmallNumbers.self, from: marked) }
        #expect(behindMark == expected.moved(3))
    }

    @Test("an invalid text behind a byte order mark has the offset in the whole document")
    func behindMark() throws {
        let data = Data("\u{FEFF}[\"\\udc00\"]".utf8)
        let expected = JSONError(.loneSurrogate, offset: 5, path: ["0"])

        #expect(try Self.fault { _ = try FastJSONDecoder().decode([String].self, from: data) } == expected)
        #expect(try Self.fault { _ = try FastJSONDecoder().decode([JSONValue].self, from: data) } == expected)
        let within = JSONError(.loneSurrogate, offset: 7, path: ["0"])
        let text = Data("\u{FEFF}[\"ab\\udc00\"]".utf8)
        #expect(try Self.fault { _ = try FastJSONDecoder().decode([String].self, from: text) } == within)
        let number = JSONError(.invalidNumber, offset: 5, path: ["0"])
        #expect(
            try Self.fault { _ = try FastJSONDecoder().decode([Int].self, from: Data("\u{FEFF}[01]".utf8)) } == number
        )
        let member = Data("\u{FEFF}{\"a\":\n\"\\udc00\"}".utf8)
        let second = JSONError(.loneSurrogate, offset: 10, line: 2, column: 2, path: ["a"])
        #expect(try Self.fault { _ = try FastJSONDecoder().decode([String: String].self, from: member) } == second)
    }

    /// The offset of each number that is not from 0 to 255, with its path's only token.
    private struct Offset: Decodable {
        var offset: Int64?

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            do {
                _ = try value.decode(UInt8.self)
            } catch DecodingError.dataCorrupted(let context) {
                offset = (context.underlyingError as? JSONError)?.offset
            }
        }
    }

    @Test("finds the offsets of many numbers that do not fit, in any order")
    func offsets() throws {
        var random = Seeded(5)
        let spaces = ["", " ", "\n", " \t"]
        var (text, expected) = ("{", [Int64?]())
        for number in 0..<2_000 {
            text +=
                (number == 0 ? "" : ",") + spaces[random.next(below: 4)] + "\"\(number)\":"
                + spaces[random.next(below: 4)]
            let value = random.next(below: 600)
            expected.append(value > 255 ? Int64(text.utf8.count) : nil)
            text += "\(value)" + spaces[random.next(below: 4)]
        }
        let data = Data("\(text)}".utf8)

        let found = try FastJSONDecoder().decode([String: Offset].self, from: data)
        #expect((0..<2_000).map { found["\($0)"]?.offset } == expected)
        let backwards = try FastJSONDecoder().decode(Backwards.self, from: data)
        #expect(backwards.offsets == expected)
    }

    /// The same members, asked for from the last to the first.
    private struct Backwards: Decodable {
        var offsets: [Int64?] = []

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: AnyKey.self)
            offsets = try (0..<2_000).reversed().map { try members.decode(Offset.self, forKey: AnyKey("\($0)")).offset }
                .reversed()
        }
    }

    /// A random value, with the names a, b and so on.
    private static func document(depth: Int, _ random: inout Seeded) -> String {
        let count = random.next(below: 6)
        switch random.next(below: depth == 0 ? 2 : depth < 5 ? 4 : 2) + (depth < 5 ? 0 : 2) {
        case 0:
            return "[" + (0..<count).map { _ in document(depth: depth + 1, &random) }.joined(separator: ",") + "]"
        case 1:
            let names = ["a", "b", "c", "d", "e", "f"]
            return "{"
                + names.prefix(count).map { "\"\($0)\":" + document(depth: depth + 1, &random) }.joined(separator: ",")
                + "}"
        case 2: return String(random.next(below: 1_000))
        default: return "\"text\""
        }
    }

    /// Lists the path of each value, and of each name that of its object, by walking through the whole document.
    private static func collect(
        _ index: Int,
        _ path: String,
        _ words: UnsafeMutablePointer<UInt64>,
        _ base: UnsafePointer<UInt8>,
        _ places: inout [(index: Int, path: String)]
    ) {
        places.append((index, path))
        let word = IndexWord(bits: words[index])
        var (position, count) = (index + 1, 0)
        switch word.kind {
        case .array:
            while position < index + word.width {
                collect(position, "\(path)/\(count)", words, base, &places)
                position += IndexWord(bits: words[position]).width
                count += 1
            }
        case .object:
            while position < index + word.width {
                places.append((position, path))
                let name = JSONText(base: base, words: words, index: position).string() ?? ""
                position += IndexWord(bits: words[position]).width
                collect(position, "\(path)/\(name)", words, base, &places)
                position += IndexWord(bits: words[position]).width
            }
        default: break
        }
    }
}
