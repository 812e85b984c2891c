@testable import Lade
import Testing

@Suite("Content-Range", .timeLimit(.minutes(5)))
struct ContentRangeTests {
    @Test(
        "reads ranges of bytes",
        arguments: [
            ("bytes 5-10/11", 5, 10, 11), ("bytes 0-0/1", 0, 0, 1), ("BYTES 2-3/*", 2, 3, nil),
            ("bytes  1-1/9", 1, 1, 9),
        ] as [(String, Int64, Int64, Int64?)]
    )
    func reads(_ field: String, _ first: Int64, _ last: Int64, _ whole: Int64?) throws {
        let range = try #require(ContentRange(field))

        #expect(range.first == first)
        #expect(range.last == last)
        #expect(range.whole == whole)
    }

    @Test(
        "reads nothing from an invalid or impossible range",
        arguments: [
            "", "bytes", "bytes */11", "items 5-10/11", "bytes 5-10", "bytes 10-5/11", "bytes 5-11/11",
            "bytes -5-10/11",
            "bytes +5-10/11", "bytes 5-/11", "bytes -10/11", "bytes 5-10/", "bytes 5-10/x", "bytes 5 - 10/11",
            "bytes 5-10/11/12", "bytes 5-99999999999999999999/*",
        ]
    )
    func refuses(_ field: String) {
        #expect(ContentRange(field) == nil)
    }
}
