import FoundationEssentials
import LadeJSON

/// Documents made to cost more than they weigh, at full size: the time and the response of each.
enum Hostile {
    static func run() {
        let brackets = Data(repeating: UInt8(ascii: "["), count: 1 << 30)
        report("1 GB of [, decoded") { try FastJSONDecoder().decode([Int].self, from: brackets).count }
        report("1 GB of [, parsed") { try JSONValue(parsing: brackets).array?.count ?? 0 }
        report("1 GB of [, split") {
            var splitter = JSONSplitter()
            try splitter.consume(brackets)
            return splitter.itemCount
        }
        let text = Data("\"".utf8) + Data(repeating: UInt8(ascii: "x"), count: 100 << 20) + Data("\"".utf8)
        report("a string of 100 MB, decoded") { try FastJSONDecoder().decode(String.self, from: text).utf8.count }
        report("a string of 100 MB, parsed") { try JSONValue(parsing: text).string?.utf8.count ?? 0 }
        report("a string of 100 MB without its end") { try JSONValue(parsing: text.dropLast()).string?.utf8.count ?? 0 }
        for count in [500_000, 1_000_000] {
            let members = Data("{\((0..<count).map { "\"a\":\($0)" }.joined(separator: ","))}".utf8)
            report("\(count) members of one name, decoded") {
                try FastJSONDecoder().decode([String: Int].self, from: members).count
            }
            report("\(count) members of one name, to a struct") {
                try FastJSONDecoder().decode(Small.self, from: members).id
            }
            report("\(count) members of one name, parsed") { try JSONValue(parsing: members).object?.count ?? 0 }
        }
        for count in [100_000, 200_000] {
            let numbers = Data("[\((0..<count).map { "\($0).5" }.joined(separator: ","))]".utf8)
            report("\(count) fractions, to a union of Int and Double") {
                try FastJSONDecoder().decode([Union].self, from: numbers).count
            }
            report("\(count) fractions, to a readable type that reads Int, then Double") {
                try FastJSONDecoder().decode([ReadUnion].self, from: numbers).count
            }
        }
    }

    private static func report(_ name: String, _ body: () throws -> Int) {
        let start = cpuTime()
        var answer: String
        do {
            answer = String(try body())
        } catch DecodingError.dataCorrupted(let context) {
            answer = "\(context.underlyingError.map { "\($0)" } ?? context.debugDescription)"
        } catch {
            answer = "\(error)"
        }
        if answer.utf8.count > 120 { answer = answer.prefix(120) + "…" }
        print("| \(name) | \(Int((cpuTime() - start) / 1e6)) ms | \(answer) |")
    }
}

private struct Union: Decodable {
    var number: Double

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let integer = try? value.decode(Int.self) {
            number = Double(integer)
        } else {
            number = try value.decode(Double.self)
        }
    }
}

private struct ReadUnion: FastJSONDecoder.Readable {
    var number: Double

    init(from decoder: any Decoder) throws { number = try Union(from: decoder).number }

    init(from reader: inout FastJSONDecoder.Reader) throws {
        if let integer = try? reader.read(Int.self) {
            number = Double(integer)
        } else {
            number = try reader.read(Double.self)
        }
    }
}
