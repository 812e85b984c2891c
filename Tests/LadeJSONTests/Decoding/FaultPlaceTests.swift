import FoundationEssentials
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
                #expect(place.fault(.invalidNumber) == JSONFault(.invalidNumber, offset: offset, in: bytes))
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
