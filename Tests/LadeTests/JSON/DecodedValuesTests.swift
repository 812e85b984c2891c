#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import Synchronization
import Testing

@Suite("Values decoded from a body while it arrives", .timeLimit(.minutes(5)))
struct DecodedValuesTests {
    private struct Show: Decodable, Equatable {
        var id: Int
        var title = ""

        enum CodingKeys: CodingKey { case id }
    }

    /// Chunks of a text, and what was asked for.
    private final class Chunks: Response.Body.Source {
        private let chunks: [Data]
        private let failure: LoadingError?
        private let taken = Atomic(0)
        private let cancelled = Atomic(false)
        var isCancelled: Bool { cancelled.load(ordering: .relaxed) }
        var takenCount: Int { taken.load(ordering: .relaxed) }

        init(_ text: String, size: Int, failure: LoadingError? = nil) {
            let bytes = Data(text.utf8)
            chunks = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
            self.failure = failure
        }

        func next() async throws(LoadingError) -> Data? {
            let index = taken.add(1, ordering: .relaxed).oldValue
            if index < chunks.count { return chunks[index] }
            if let failure { throw failure }
            return nil
        }

        func cancel() { cancelled.store(true, ordering: .relaxed) }
        var trailers: Headers { Headers() }
        var metrics: Response.Metrics { Response.Metrics() }
    }

    private func ids(
        _ text: String,
        _ framing: Response.Body.JSONFraming = .automatic,
        size: Int = 3,
        limit: Int = 1000
    ) async -> (ids: [Int], error: LoadingError?) {
        var ids: [Int] = []
        do throws(LoadingError) {
            let body = Response.Body(streaming: Chunks(text, size: size))
            for try await show in body.decoded(Show.self, from: framing, valueLimit: limit) { ids.append(show.id) }
            return (ids, nil)
        } catch {
            return (ids, error)
        }
    }

    @Test(
        "gives the values of lines and of arrays, in whatever chunks",
        arguments: [
            ("{\"id\":1}\n{\"id\":2}\n", Response.Body.JSONFraming.automatic),
            ("{\"id\":1}\r\n\n  \n{\"id\":2}", .automatic),
            ("\u{FEFF} \n [{\"id\":1} ,\n {\"id\":2}] ", .automatic), ("\u{FEFF}{\"id\":1}\n{\"id\":2}", .automatic),
            ("  {\"id\":1}\n{\"id\":2}", .lines), ("{\"id\":1}\n\t\n\r\n\r\t\n{\"id\":2}", .lines),
            ("{\"a\":{\"list\":[{\"id\":1},{\"id\":2}]},\"b\":[{\"id\":3}]}", .array(["a", "list"])),
        ]
    )
    func givesValues(_ text: String, _ framing: Response.Body.JSONFraming) async {
        for size in 1...text.utf8.count {
            let found = await ids(text, framing, size: size)
            #expect(found.ids == [1, 2] && found.error == nil, "in chunks of \(size)")
        }
    }

    @Test("gives nothing of a body without values", arguments: ["", "  \n\n ", "[]", " [ ] ", "\u{FEFF}"])
    func empty(_ text: String) async {
        let found = await ids(text)
        #expect(found.ids.isEmpty && found.error == nil)
    }

    @Test("gives the values before an error, which names the position of the value")
    func failures() async throws {
        for text in [
            "{\"id\":1}\n{\"id\":2}\n{\"id\":\"x\"}\n{\"id\":4}", "[{\"id\":1},{\"id\":2},{\"id\":\"x\"},{\"id\":4}]",
        ] {
            let found = await ids(text, size: 100)
            guard case .typeMismatch(_, let context)? = found.error?.underlyingError as? DecodingError else {
                Issue.record("\(String(describing: found.error))")
                continue
            }
            #expect(found.ids == [1, 2] && context.codingPath.map(\.stringValue) == ["Index 2", "id"])
        }
    }

    @Test("gives the values before a malformed one, and says where that is")
    func malformed() async throws {
        let found = await ids("[{\"id\":1},{\"id\":2},\n{\"id\":tru}]", size: 100)
        guard case .decoding = found.error?.kind, let fault = found.error?.underlyingError as? JSONError else {
            Issue.record("\(String(describing: found.error))")
            return
        }
        #expect(found.ids == [1, 2] && [fault.line, fault.column] == [2, 10] && fault.path == ["2"])
    }

    @Test(
        "refuses a value one byte above the limit in whatever chunks, after the values before it",
        arguments: [
            "{\"id\":1}\n{\"id\":234}\n{\"id\":5}\n", "{\"id\":1}\n{\"id\":234}",
            "[{\"id\":1},{\"id\":234},{\"id\":5}]",
        ]
    )
    func tooLarge(_ text: String) async {
        for size in 1...text.utf8.count {
            let (found, whole) = (await ids(text, size: size, limit: 9), await ids(text, size: size, limit: 10))
            let fault = found.error?.underlyingError as? JSONError
            #expect(found.ids == [1] && fault?.reason == .itemTooLarge(limit: 9), "in chunks of \(size)")
            #expect(whole.error == nil && whole.ids.starts(with: [1, 234]), "in chunks of \(size)")
        }
    }

    @Test("refuses documents that are cut off, whose list is missing, or whose values are too large")
    func refusals() async throws {
        let rows: [(String, Response.Body.JSONFraming, String, [Int])] = [
            ("[{\"id\":1},{\"id\"", .automatic, "ends too early", [1]),
            ("{\"id\":1}\n{\"id\":", .automatic, "not valid JSON", [1]),
            ("{\"list\":{}}", .array(["list"]), "The value at /list is not a list", []),
            ("{}", .array(["list"]), "There is nothing at /list", []),
            ("[{\"id\":1},{\"id\":\(String(repeating: "1", count: 60))}]", .automatic, "larger than 50 bytes", [1]),
            ("{\"id\":1}\n{\"id\":\(String(repeating: "1", count: 60))}", .automatic, "larger than 50 bytes", [1]),
            ("[{\"id\":1}] x", .automatic, "something follows", [1]),
        ]
        for (text, framing, reason, before) in rows {
            let found = await ids(text, framing, limit: 50)
            guard case .decoding = found.error?.kind, let error = found.error?.underlyingError else {
                Issue.record("\(text): \(String(describing: found.error))")
                continue
            }
            let shown = "\(error)"
            #expect(shown.contains(reason) && found.ids == before, "\(text): \(shown)")
        }
    }

    @Test("takes a value of exactly the limit, and says where a larger one ends", arguments: [9, 8])
    func largestLine(limit: Int) async throws {
        let found = await ids("{\"id\":1}\n{\"id\":12}", .lines, size: 100, limit: limit)

        #expect(found.ids == (limit == 9 ? [1, 12] : [1]))
        guard case .decoding? = found.error?.kind, let fault = found.error?.underlyingError as? JSONError else {
            #expect(limit == 9 && found.error == nil)
            return
        }
        #expect(fault.offset == 18)
    }

    @Test("takes a byte order mark at the beginning alone", arguments: ["   ", "\n  \n  "])
    func laterMark(space: String) async throws {
        let found = await ids(space + "\u{FEFF}[{\"id\":1}]")

        #expect(found.ids.isEmpty && found.error != nil)
    }

    @Test("passes on what breaks the body, after the values before it")
    func brokenBody() async throws {
        var ids: [Int] = []
        let chunks = Chunks("[{\"id\":1},{", size: 4, failure: LoadingError(.cancelled))
        var iterator = Response.Body(streaming: chunks).decoded(Show.self).makeAsyncIterator()
        let error = await #expect(throws: LoadingError.self) {
            while let show = try await iterator.next() { ids.append(show.id) }
        }
        let taken = chunks.takenCount
        #expect(try await iterator.next() == nil && chunks.takenCount == taken && chunks.isCancelled)
        guard case .cancelled = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(ids == [1])
    }

    @Test("asks for no more chunks than it needs, and ends the exchange when the loop is left or an error is thrown")
    func holdsBack() async throws {
        let text = "[" + (0..<100).map { "{\"id\":\($0)}" }.joined(separator: ",") + "]"
        let left = Chunks(text, size: 30)
        for try await show in Response.Body(streaming: left).decoded(Show.self) where show.id == 1 { break }
        #expect(left.takenCount == 1 && left.isCancelled)

        let failing = Chunks("[{\"id\":1},7," + text, size: 30)
        var iterator = Response.Body(streaming: failing).decoded(Show.self).makeAsyncIterator()
        #expect(try await iterator.next()?.id == 1)
        await #expect(throws: LoadingError.self) { try await iterator.next() }
        #expect(failing.isCancelled)
        #expect(try await iterator.next() == nil)
    }

    @Test("decodes with Foundation's decoder when it is given, and complete bodies any number of times")
    func otherDecoders() async throws {
        let body = Response.Body(Data("{\"id\":1}\n{\"id\":2}".utf8))
        for _ in 0..<2 {
            var ids: [Int] = []
            for try await show in body.decoded(Show.self, decoder: JSONDecoder()) { ids.append(show.id) }
            #expect(ids == [1, 2])
        }
    }
}
