import Testing

@testable import CatalogueBrowser

@Suite("Lines of the screens", .timeLimit(.minutes(1)))
struct ViewTests {
    @Test("keeps the selected row within the list and visible")
    func cursor() {
        var cursor = ListCursor()
        func place() -> [Int] { [cursor.selection, cursor.top] }

        cursor.move(by: -1, count: 10, height: 4)
        #expect(place() == [0, 0])
        cursor.move(by: 4, count: 10, height: 4)
        #expect(place() == [4, 1])
        cursor.move(by: .max, count: 10, height: 4)
        #expect(place() == [9, 6])
        // The window grows, then the list shrinks, then there is none.
        cursor.fit(count: 10, height: 8)
        #expect(place() == [9, 2])
        cursor.fit(count: 3, height: 8)
        #expect(place() == [2, 0])
        cursor.fit(count: 0, height: 8)
        #expect(place() == [0, 0])
        cursor.move(by: .min, count: 10, height: 4)
        #expect(place() == [0, 0])
    }

    @Test("asks for the next page two screens before the end")
    func nearEnd() {
        var cursor = ListCursor()
        #expect(!cursor.isNearEnd(of: 25, height: 10))
        cursor.move(by: 15, count: 25, height: 10)
        #expect(cursor.isNearEnd(of: 25, height: 10))
        #expect(ListCursor().isNearEnd(of: 8, height: 10))
    }

    private func list(_ status: ListView.Status) -> ListView {
        ListView(
            count: 2,
            rows: [.init(title: "Le lac", facts: "5:00"), .init(title: "東京の物語とその続きの続き", facts: "1:05:00")],
            selection: 1,
            status: status
        )
    }

    private func texts(_ lines: [Line]) -> [String] {
        lines.map { line in String(line.text.reversed().drop { $0 == " " }.reversed()) }
    }

    @Test("shows rows with their facts at the right, and marks the selected one")
    func rows() {
        let lines = list(.loaded(hasMore: true)).lines(in: Size(columns: 40, rows: 4))

        #expect(
            texts(lines) == [
                "  Le lac                            5:00", "› 東京の物語とその続きの続き     1:05:00", "", "  2 loaded",
            ]
        )
        #expect(lines[1].encoded.hasPrefix("\u{1B}[7m›"))
        #expect(lines.allSatisfy { $0.text.columnCount <= 40 })
    }

    @Test("leaves out the facts, and shortens titles, where there is no room")
    func narrow() {
        let lines = list(.loaded(hasMore: false)).lines(in: Size(columns: 24, rows: 3))

        #expect(texts(lines) == ["  Le lac            5:00", "› 東京の物語とその続き…", "  2 loaded, that is all"])
        #expect(lines.allSatisfy { $0.text.columnCount <= 24 })
    }

    @Test("says what happens to the list")
    func status() {
        let size = Size(columns: 40, rows: 5)
        func shown(_ status: ListView.Status) -> [String] { texts(list(status).lines(in: size)).filter { !$0.isEmpty } }

        #expect(shown(.loading) == ["                Loading…"])
        #expect(shown(.empty) == ["             Nothing found."])
        #expect(shown(.failed("It is out."))[1].contains("Press r to try again."))
        #expect(shown(.loadingMore).last == "  2 loaded, loading more…")
        #expect(shown(.refreshing).count == 3)
        #expect(shown(.moreFailed("It is out.")).last == "  Press r to try again: It is out.")
    }

    @Test("shows a media with its parts and streams")
    func detail() {
        var view = DetailView(
            title: "Le lac au printemps",
            facts: [("Date", "2023-12-30"), ("URN", "urn:1")],
            texts: ["A long text that does not fit"],
            playback: .loading
        )
        #expect(
            texts(view.lines(in: 24)) == [
                "", "  Le lac au printemps", "", "  Date  2023-12-30", "  URN   urn:1", "", "  A long text that",
                "  does not fit", "", "  Loading the streams…",
            ]
        )
        view.playback = .failed("It is out.")
        #expect(texts(view.lines(in: 40)).suffix(3) == ["  It is out.", "", "  Press r to try again."])
        view.playback = .loaded(streams: ["HLS"], parts: [])
        #expect(texts(view.lines(in: 40)).suffix(3) == ["  Streams", "    HLS", ""])
    }

    @Test("writes only the lines that differ")
    func changes() {
        let size = Size(columns: 10, rows: 3)
        let first = Frame(size, [Line("a"), Line("b"), Line("c"), Line("not shown")])
        let second = Frame(size, [Line("a"), Line("b", .bold)])

        #expect(first.lines.count == 3)
        #expect(first.changes(from: nil).hasPrefix("\u{1B}[2J\u{1B}[1;1Ha\u{1B}[K"))
        #expect(second.changes(from: first) == "\u{1B}[2;1H\u{1B}[1mb\u{1B}[0m\u{1B}[K\u{1B}[3;1H\u{1B}[K")
        #expect(second.changes(from: second) == "")
        #expect(Frame(Size(columns: 11, rows: 3), first.lines).changes(from: first).hasPrefix("\u{1B}[2J"))
    }

    @Test(
        "divides texts into lines",
        arguments: [
            ("", 5, []), ("ab cd", 5, ["ab cd"]), ("ab cde", 5, ["ab", "cde"]), ("abcdefgh", 3, ["abc", "def", "gh"]),
            ("a abcdefg", 3, ["a", "abc", "def", "g"]), ("東京都", 4, ["東京", "都"]), ("東", 1, ["東"]), ("a", 0, []),
        ]
    )
    func wrapping(text: String, columns: Int, lines: [String]) {
        #expect(text.wrapped(in: columns) == lines)
    }

    @Test("lets no text of a server control the terminal")
    func hostile() {
        #expect("a\u{1B}[2J\n\u{202E}b\u{9B}é".shown == "a·[2J··b·é")
    }
}
