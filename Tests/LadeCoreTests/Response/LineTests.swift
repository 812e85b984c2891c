import Foundation
import Testing

@testable import LadeCore

@Suite("Lines and events of a body", .timeLimit(.minutes(5)))
struct LineTests {
    /// A body that comes in these chunks.
    private final class Chunks: Response.Body.Source {
        private let rest: Locked<[Data]>
        init(_ chunks: [Data]) { rest = Locked(chunks) }
        func next() async throws(LoadingError) -> Data? { rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
        func cancel() {}
        var trailers: Headers { Headers() }
        var metrics: Response.Metrics { Response.Metrics() }
    }

    /// The text in chunks of so many bytes.
    private func body(_ text: String, _ size: Int) -> Response.Body {
        let bytes = Array(text.utf8)
        return Response.Body(
            streaming: Chunks(stride(from: 0, to: bytes.count, by: size).map { Data(bytes[$0...].prefix(size)) })
        )
    }

    private static let texts: [(String, [String])] = [
        ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]), ("a\rb", ["a", "b"]),
        ("\n\n", ["", ""]), ("\r\n\r\n", ["", ""]), ("\r\r\n\n", ["", "", ""]), ("a\n\r\nb", ["a", "", "b"]),
        ("ä\u{1F600}\nz", ["ä\u{1F600}", "z"]), ("\r", [""]), ("x\r", ["x"]),
    ]

    @Test("lines end with LF, CRLF or CR, wherever the chunks end", arguments: texts)
    func splits(text: String, lines: [String]) async throws {
        for size in 1...6 {
            var found: [String] = []
            for try await line in body(text, size).lines { found.append(line) }
            #expect(found == lines, "chunks of \(size)")
        }
        var whole: [String] = []
        for try await line in Response.Body(Data(text.utf8)).lines { whole.append(line) }
        #expect(whole == lines)
    }

    @Test("a line may be as long as the limit, and no longer, with or without an end")
    func bounds() async throws {
        for size in 1...5 {
            var found: [String] = []
            for try await line in body("abcd\nabcd", size).lines(limit: 4) { found.append(line) }
            #expect(found == ["abcd", "abcd"])
            for text in ["abcde\n", "abcde", "a\nabcde"] {
                await #expect(throws: LoadingError.self) {
                    for try await _ in body(text, size).lines(limit: 4) {}
                }
            }
        }
    }

    @Test("octets that are not UTF-8 are replaced")
    func repairs() async throws {
        var found: [String] = []
        for try await line in Response.Body(Data([0x61, 0xFF, 0x0A, 0xC3])).lines { found.append(line) }
        #expect(found == ["a\u{FFFD}", "\u{FFFD}"])
    }

    private func events(_ text: String, size: Int = 3) async throws -> [Response.ServerSentEvent] {
        var found: [Response.ServerSentEvent] = []
        for try await event in body(text, size).serverSentEvents { found.append(event) }
        return found
    }

    // The first four are the examples of WHATWG HTML §9.2.6.
    private static let streams: [(String, [Response.ServerSentEvent])] = [
        (
            "data: YHOO\ndata: +2\ndata: 10\n\n",
            [Response.ServerSentEvent(data: "YHOO\n+2\n10")]
        ),
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
            [
                Response.ServerSentEvent(data: "first event", lastEventID: "1"),
                Response.ServerSentEvent(data: "second event"),
            ]
        ),
        ("data\n\ndata\ndata\n\ndata:", [Response.ServerSentEvent(data: ""), Response.ServerSentEvent(data: "\n")]),
        (
            "data:test\n\ndata: test\n\n",
            [Response.ServerSentEvent(data: "test"), Response.ServerSentEvent(data: "test")]
        ),
        ("\u{FEFF}event: add\r\ndata: 1\r\n\r\n", [Response.ServerSentEvent(type: "add", data: "1")]),
        ("event: add\n\ndata: 1\n\n", [Response.ServerSentEvent(data: "1")]),
        ("id: a\0b\ndata: 1\n\n", [Response.ServerSentEvent(data: "1")]),
        ("id: 1\n\ndata: 2\n\n", [Response.ServerSentEvent(data: "2", lastEventID: "1")]),
        ("Data: 1\nunknown: 2\ndata : 3\n\n", []), ("data: cut off\n", []),
        ("data: a:b\n\n", [Response.ServerSentEvent(data: "a:b")]),
    ]

    @Test("events are those of the WHATWG specification", arguments: streams)
    func parses(text: String, expected: [Response.ServerSentEvent]) async throws {
        for size in 1...4 { #expect(try await events(text, size: size) == expected) }
    }

    private static let retries: [(String, Int64?)] = [
        ("retry: 1500", 1500), ("retry:0", 0), ("retry: +1", nil), ("retry: 1s", nil), ("retry:", nil),
        ("retry: ٣", nil),
        ("retry: 99999999999999999999", 3_600_000),
    ]

    @Test("the delay before a reconnection is digits alone, and an hour at most", arguments: retries)
    func delays(line: String, milliseconds: Int64?) throws {
        var parser = ServerSentEventParser(limit: 100)
        _ = try parser.take(line)
        #expect(parser.delay == milliseconds.map { .milliseconds($0) })
    }

    @Test("a byte order mark is left out before the first line and belongs to every other line")
    func byteOrderMarks() throws {
        var parser = ServerSentEventParser(limit: 100)
        for line in ["\u{FEFF}data: a", "\u{FEFF}data: b", "data: c"] { #expect(try parser.take(line) == nil) }

        #expect(try parser.take("")?.data == "a\nc")
    }

    @Test("an event is no larger than the limit, however many lines it has")
    func boundsEvents() async throws {
        let endless = String(repeating: "data: 1234\n", count: 100) + "\n"
        await #expect(throws: LoadingError.self) {
            for try await _ in body(endless, 50).serverSentEvents(limit: 100) {}
        }
        var count = 0
        for try await _ in body("data: 1234\n\ndata: 1234\n\n", 5).serverSentEvents(limit: 10) { count += 1 }
        #expect(count == 2)
    }
}
