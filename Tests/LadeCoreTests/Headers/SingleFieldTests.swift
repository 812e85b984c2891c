import Foundation
import LadeCore
import Testing

/// What the lines of a field with one value mean together, for each such field.
@Suite("finding LX-10 Fields of one value", .timeLimit(.minutes(5)))
struct SingleFieldTests {
    /// A field with two values, and how it differs from most.
    struct Row: Sendable, CustomTestStringConvertible {
        let field: SingleField
        let values: [String]
        /// Whether a comma belongs to a value.
        var isText = false
        /// Whether an empty value counts as one.
        var countsEmpty = false
        /// Whether the first of different values counts.
        var prefersFirst = false

        var testDescription: String { field.name }
    }

    private static let dates = ["Sun, 06 Nov 1994 08:49:37 GMT", "Monday, 07-Nov-94 08:49:37 GMT"]

    static let rows = [
        Row(field: .age, values: ["5", "6"], prefersFirst: true),
        Row(field: .contentDisposition, values: ["attachment; filename=a,b", "inline"], isText: true),
        Row(field: .contentLength, values: ["5", "6"], countsEmpty: true),
        Row(field: .contentLocation, values: ["/a,b", "/c"], isText: true),
        Row(field: .contentRange, values: ["bytes 0-1/2", "bytes 0-1/3"]),
        Row(field: .contentType, values: ["text/html; a=\"b,c\"", "text/plain"]),
        Row(field: .date, values: dates),
        Row(field: .entityTag, values: ["\"a,b\"", "W/\"a,b\""]),
        Row(field: .expires, values: dates, countsEmpty: true),
        Row(field: .lastModified, values: ["Sun Nov  6 08:49:37 1994", dates[0]]),
        Row(field: .location, values: ["/a,b", "/c"], isText: true, countsEmpty: true),
        Row(field: .retryAfter, values: ["120", dates[0]]),
        Row(field: SingleField(number: "X-RateLimit-Remaining"), values: ["1", "2"]),
        Row(field: SingleField(date: "X-RateLimit-Reset"), values: ["1", dates[0]]),
        Row(field: SingleField(text: "X-Next-Page"), values: ["1,2", "2"], isText: true),
    ]

    /// Fields as a program adds them, and as they are received.
    private static func sections(_ fields: [(String, String)]) -> [Headers] {
        var builder = HeaderBlock.Builder()
        for (name, value) in fields {
            let line = Array("\(name):\(value)".utf8)
            line.withUnsafeBufferPointer {
                builder.append($0, name: name.utf8.count, value: (name.utf8.count + 1)..<$0.count)
            }
        }
        return [Headers(fields), Headers(checked: builder.block)]
    }

    private static func expect(
        _ row: Row,
        _ lines: [String],
        _ values: [String],
        _ place: SourceLocation = #_sourceLocation
    ) {
        let names = [row.field.name, row.field.name.lowercased(), row.field.name.uppercased()]
        let fields = [("Server", "x")] + lines.enumerated().map { (names[$0 % 3], $1) } + [("X-Other", "y")]
        for headers in sections(fields) {
            let found: [String]
            switch headers.reading(row.field) {
            case .none: found = []
            case .one(let field): found = [field.value]
            case .contradiction(let fields): found = fields.map(\.value)
            }
            #expect(found == values, "\(row.field.name): \(lines)", sourceLocation: place)
            let value = values.count == 1 || row.prefersFirst ? values.first : nil
            #expect(headers.value(row.field) == value, "\(row.field.name): \(lines)", sourceLocation: place)
        }
    }

    @Test("no line and one line", arguments: rows)
    func few(row: Row) {
        Self.expect(row, [], [])
        for value in row.values { Self.expect(row, [value], [value]) }
    }

    @Test("equal lines are one value", arguments: rows)
    func equal(row: Row) {
        for value in row.values { Self.expect(row, [value, value, value], [value]) }
    }

    @Test("different lines contradict each other, in their order", arguments: rows)
    func different(row: Row) {
        let (first, second) = (row.values[0], row.values[1])
        Self.expect(row, [first, second], [first, second])
        Self.expect(row, [second, first, second], [second, first])
        Self.expect(row, [first, "what cannot be read"], [first, "what cannot be read"])
    }

    @Test(
        "a list in one line means the same as its values in lines, unless commas belong to the value",
        arguments: rows
    )
    func list(row: Row) {
        let (first, second) = (row.values[0], row.values[1])
        for gap in [",", ", ", " ,\t"] {
            for values in [[first, first], [first, second], [second, first, first]] {
                let line = values.joined(separator: gap)
                let distinct = values.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
                Self.expect(row, [line], row.isText ? [line] : distinct)
                Self.expect(
                    row,
                    [first, line],
                    row.isText ? [first, line] : distinct == [second, first] ? [first, second] : distinct
                )
            }
        }
    }

    @Test("an empty value says nothing, unless the field gives it a meaning", arguments: rows)
    func empty(row: Row) {
        let first = row.values[0]
        Self.expect(row, [""], row.countsEmpty ? [""] : [])
        Self.expect(row, ["", first], row.countsEmpty ? ["", first] : [first])
        guard !row.isText else { return }
        Self.expect(row, ["\(first),"], row.countsEmpty ? [first, ""] : [first])
        Self.expect(row, [",\(first)"], row.countsEmpty ? ["", first] : [first])
    }

    @Test("white space around a value does not count")
    func space() {
        for row in Self.rows {
            let headers = Headers([(row.field.name, " \t\(row.values[0])\t "), (row.field.name, row.values[0])])
            #expect(headers.value(row.field) == row.values[0])
        }
    }

    @Test("octets that are no UTF-8 are compared as they were received")
    func octets() {
        var builder = HeaderBlock.Builder()
        for value: [UInt8] in [[0xE4], [0xC3, 0xA4]] {
            let line = Array("ETag:".utf8) + value
            line.withUnsafeBufferPointer { builder.append($0, name: 4, value: 5..<$0.count) }
        }
        let headers = Headers(checked: builder.block)
        guard case .contradiction(let fields) = headers.reading(.entityTag) else {
            Issue.record("The values are different octets")
            return
        }
        #expect(fields.map(\.octets) == [[0xE4], [0xC3, 0xA4]])
    }

    @Test(
        "Content-Length is a number that fits, or nothing",
        arguments: [
            (["5"], 5), (["5", "5"], 5), (["5, 5"], 5), (["5", "6"], nil), (["5, 6"], nil), (["+5"], nil), ([""], nil),
            (["5,"], nil), (["99999999999999999999"], nil), ([], nil),
        ] as [([String], Int64?)]
    )
    func length(lines: [String], length: Int64?) {
        #expect(Headers(lines.map { ("Content-Length", $0) }).contentLength == length)
    }

    @Test(
        "of several delays the longest is requested, and what cannot be read requests nothing",
        arguments: [
            ([], nil), (["120"], 120), (["120", "120"], 120), (["5", "120"], 120), (["120, 5"], nil), (["1,000"], nil),
            (["1,000", "5"], 5), (["5, 5"], 5), (["soon"], nil),
            (["soon", "5"], 5), (["", "5"], 5), ([""], nil), (["0"], 0),
            ([dates[0]], 10), (["5", dates[0]], 10), (["\(dates[0]), 20"], nil), (["\(dates[0]), \(dates[0])"], 10),
        ] as [([String], Int64?)]
    )
    func delay(lines: [String], seconds: Int64?) {
        var headers = Headers(lines.map { ("Retry-After", $0) })
        headers.add("Date", "Sun, 06 Nov 1994 08:49:27 GMT")
        #expect(headers.requestedDelay(now: Date(timeIntervalSince1970: 0)) == seconds.map { .seconds($0) })
    }

    @Test("the codings of all lines are one list in order, without identity")
    func codings() {
        let headers = Headers([("Content-Encoding", "GZip"), ("Content-Encoding", " br ,, identity")])
        #expect(headers.contentCodings == ["gzip", "br"])
        #expect(Headers().contentCodings == [])
    }
}
