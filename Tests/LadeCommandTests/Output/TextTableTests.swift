import Testing

@testable import LadeCommand

@Suite("Tables", .timeLimit(.minutes(5)))
struct TextTableTests {
    @Test(
        "counts the columns that a text takes",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("東京", 4), ("한국", 4), ("\u{1112}\u{1161}\u{11AB}", 2),
            ("ｱ", 1), ("Ａ", 2), ("🎬", 2), ("👩‍🚀", 2), ("🇨🇭", 2), ("❤️", 2), ("❤", 1), ("\u{200B}", 0), ("–…", 2),
        ]
    )
    func columns(text: String, count: Int) {
        #expect(text.columnCount == count)
    }

    @Test(
        "shortens a text to a number of columns, and never cuts a character",
        arguments: [
            ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("abcdef", 1, "…"), ("abcdef", 0, ""),
            ("東京都", 6, "東京都"), ("東京都", 5, "東京…"), ("東京都", 4, "東…"), ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
        ]
    )
    func truncation(text: String, limit: Int, shown: String) {
        #expect(text.truncated(toColumns: limit) == shown)
        #expect(text.truncated(toColumns: limit).columnCount <= limit)
    }

    private let table = TextTable(
        columns: [
            .init(title: "Title", isFlexible: true), .init(title: "Length", isNumeric: true), .init(title: "URN"),
        ],
        rows: [["東京の物語とその続き", "5:00", "urn:1"], ["A", "1:00:00", "urn:22"]]
    )

    @Test("aligns columns by what they take on the terminal")
    func alignment() {
        let widths = table.widths(in: 80)

        #expect(widths == [20, 7, 6])
        #expect(table.heading(widths) == "Title                  Length  URN")
        #expect(
            table.lines(widths) == ["東京の物語とその続き     5:00  urn:1", "A                     1:00:00  urn:22"]
        )
    }

    @Test("shortens flexible columns where the terminal is narrow, but no other ones")
    func narrow() {
        #expect(table.widths(in: 37) == [20, 7, 6])
        #expect(table.widths(in: 36) == [19, 7, 6])
        #expect(table.lines(table.widths(in: 28)) == ["東京の物語…     5:00  urn:1", "A            1:00:00  urn:22"])
        #expect(table.widths(in: 3) == [TextTable.leastWidth, 7, 6])
    }

    @Test("has whole values with tabs between them for a pipe")
    func tabs() {
        #expect(table.tabSeparated == "東京の物語とその続き\t5:00\turn:1\nA\t1:00:00\turn:22\n")
    }
}
