import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

/// Pieces that are ready without a wait, after which the body waits for a signal; it does not look at its task before.
final class ReadyPieces: Response.Body.Source {
    private let pieces: Locked<ArraySlice<Data>>
    private let gate: Signal
    private let ends = Locked(0)

    init(_ pieces: [String], then gate: Signal = Signal()) {
        self.pieces = Locked(pieces.map { Data($0.utf8) }[...])
        self.gate = gate
    }

    var isCancelled: Bool { ends.withLock { $0 > 0 } }

    func next() async throws(LoadingError) -> Data? {
        if let piece = pieces.withLock({ $0.popFirst() }) { return piece }
        try await gate.wait()
        return nil
    }

    func cancel() { ends.withLock { $0 += 1 } }
    var trailers: Headers { Headers() }
    var metrics: Response.Metrics { Response.Metrics() }
}

/// A wrapper of a user that passes on neither the cancellation of its task nor ``cancel()``.
private final class CarelessWrapper: Response.Body.Source {
    private let source: any Response.Body.Source

    init(_ source: any Response.Body.Source) { self.source = source }

    func next() async throws(LoadingError) -> Data? { try await source.next() }
    func cancel() {}
    var trailers: Headers { source.trailers }
    var metrics: Response.Metrics { source.metrics }
}

/// One kind of sequence: `ready` elements without a wait, then a wait for the signal.
struct SequenceSubject: Sendable, CustomTestStringConvertible {
    let name: String
    /// Reads so many elements, calls the closure, and reads two more.
    let read:
        @Sendable (_ ready: Int, _ gate: Signal, _ count: Int, _ then: () -> Void) async throws -> [SequenceReading]

    var testDescription: String { name }

    init<Elements: AsyncSequence & SendableMetatype>(
        _ name: String,
        _ make: @escaping @Sendable (_ ready: Int, _ gate: Signal) async throws -> Elements
    ) where Elements.AsyncIterator: SendableMetatype {
        self.name = name
        read = { ready, gate, count, then in
            var iterator = try await make(ready, gate).makeAsyncIterator()
            for _ in 0..<count {
                let reading = await SequenceReading.next(of: &iterator)
                #expect(reading == .element)
            }
            then()
            return [await SequenceReading.next(of: &iterator), await SequenceReading.next(of: &iterator)]
        }
    }

    private static func body(_ pieces: [String], _ gate: Signal) -> Response.Body {
        Response.Body(streaming: ReadyPieces(pieces, then: gate))
    }

    /// A body whose elements are all in one piece.
    private static func body(_ count: Int, _ element: (Int) -> String, _ gate: Signal) -> Response.Body {
        body(count == 0 ? [] : [(0..<count).map(element).joined()], gate)
    }

    private static func loader(_ type: String, _ pieces: [String], _ gate: Signal) -> Loader {
        let transport = ClosureTransport { (request, _) throws(LoadingError) in
            let headers: Headers = ["Content-Type": type]
            return Response(status: 200, headers: headers, body: body(pieces, gate), request: request)
        }
        return Service(.init(), transport: transport).anonymous.makeLoader()
    }

    private static func pages(_ ready: Int, _ gate: Signal, size: Int = 1, prefetch: Int) throws
        -> Pages.Sequence<
            Numbers
        >
    {
        let source = PagedSource { asked in
            let page = asked["p"] ?? 0
            let answer = ScriptedResponse.json(
                PagedSource.body(page * size..<(page + 1) * size, next: "/list?p=\(page + 1)")
            )
            return page < ready ? answer : answer.after(gate)
        }
        return source.loader.pages(of: try .numbers(), prefetch: prefetch)
    }

    static let all: [SequenceSubject] = [
        SequenceSubject("chunks") { body((0..<$0).map(String.init), $1) },
        SequenceSubject("chunks of a careless wrapper") { ready, gate in
            body((0..<ready).map(String.init), gate).wrapped { CarelessWrapper($0) }
        },
        SequenceSubject("chunks by a loader") { ready, gate in
            var request = try Request("https://svc.example.com/")
            request.delivery = .streamed
            let loader = loader("text/plain", (0..<ready).map(String.init), gate)
            let response = try await loader.load(request)
            return Response.Body(streaming: HeldSource(BodySource(response.body), loader))
        },
        SequenceSubject("lines") { body($0, { "\($0)\n" }, $1).lines },
        SequenceSubject("events of a body") { body($0, { "data: \($0)\n\n" }, $1).serverSentEvents },
        SequenceSubject("events of a loader") { ready, gate in
            let text = (0..<ready).map { "data: \($0)\n\n" }.joined()
            let request = try Request("https://svc.example.com/")
            return loader("text/event-stream", ready == 0 ? [] : [text], gate).events(from: request)
        },
        SequenceSubject("values of lines") { body($0, { "\($0)\n" }, $1).decoded(Int.self, from: .lines) },
        SequenceSubject("values of a list") {
            body([$0 == 0 ? "[" : "[" + (0..<$0).map { "\($0)," }.joined()], $1).decoded(Int.self)
        },
        SequenceSubject("pages") { try pages($0, $1, prefetch: 0) },
        SequenceSubject("pages loaded ahead") { try pages($0, $1, prefetch: 3) },
        SequenceSubject("items") { try pages(($0 + 2) / 3, $1, size: 3, prefetch: 0).items(\.items) },
        SequenceSubject("different items loaded ahead") {
            try pages(($0 + 2) / 3, $1, size: 3, prefetch: 2).items(\.items).unique { $0 }
        },
    ]

    /// Those that can wait after any number of elements.
    static let precise = all.filter { !$0.name.contains("items") }
}

/// Reads a body for a body around it.
private final class BodySource: Response.Body.Source {
    private let body: Response.Body
    private let iterator: Locked<Response.Body.Iterator>

    init(_ body: Response.Body) {
        self.body = body
        iterator = Locked(body.makeAsyncIterator())
    }

    func next() async throws(LoadingError) -> Data? {
        var reading = iterator.withLock { $0 }
        return try await reading.next(isolation: nil)
    }

    func cancel() { body.cancel() }
    var trailers: Headers { body.trailers }
    var metrics: Response.Metrics { body.metrics }
}

/// Keeps an object as long as a source.
private final class HeldSource: Response.Body.Source {
    private let source: any Response.Body.Source
    private let held: any Sendable

    init(_ source: any Response.Body.Source, _ held: any Sendable) { (self.source, self.held) = (source, held) }

    func next() async throws(LoadingError) -> Data? { try await source.next() }
    func cancel() { source.cancel() }
    var trailers: Headers { source.trailers }
    var metrics: Response.Metrics { source.metrics }
}

/// How reading one element ended.
enum SequenceReading: Equatable {
    case element, end, cancelled
    case failure(String)

    static func next<Iterator: AsyncIteratorProtocol>(of iterator: inout Iterator) async -> SequenceReading {
        do {
            return try await iterator.next(isolation: #isolation) == nil ? .end : .element
        } catch {
            return SequenceReading(error)
        }
    }

    init(_ error: any Error) {
        let isCancellation =
            (error as? LoadingError)?.isCancellation ?? (error as? PageError)?.isCancellation ?? false
        self = isCancellation ? .cancelled : .failure("\(error)")
    }
}

@Suite("Sequences in a cancelled task", .timeLimit(.minutes(5)))
struct CancelledSequencesTests {
    @Test(
        "finding UF-1 no sequence delivers an element that is asked for in a cancelled task, before and between elements",
        arguments: SequenceSubject.all,
        0..<5
    )
    func beforeAndBetween(_ subject: SequenceSubject, count: Int) async throws {
        let readings = try await Task {
            try await subject.read(8, Signal(), count) { withUnsafeCurrentTask { $0?.cancel() } }
        }.value

        #expect(readings[0] == .cancelled)
        #expect(readings[1] == .cancelled || readings[1] == .end)
    }

    @Test("finding UF-1 a sequence that waits ends with its task", arguments: SequenceSubject.precise, 0..<4)
    func during(_ subject: SequenceSubject, count: Int) async throws {
        let gate = Signal()
        let task = Task { try await subject.read(count, gate, count) {} }
        try await gate.arrivals(atLeast: 1)
        task.cancel()

        #expect(try await task.value.first == .cancelled)
    }

    @Test("finding UF-1 the exchange ends while its body is kept, and no other task can read on")
    func endsTheExchange() async throws {
        let source = ReadyPieces(["a", "b", "c"])
        let body = Response.Body(streaming: source)
        let outcome = await Task {
            var chunks = body.makeAsyncIterator()
            _ = try? await chunks.next()
            withUnsafeCurrentTask { $0?.cancel() }
            let inTask = await SequenceReading.next(of: &chunks)
            return (inTask, source.isCancelled, kept: Locked(chunks))
        }.value
        var chunks = outcome.kept.withLock { $0 }

        #expect(outcome.0 == .cancelled && outcome.1)
        #expect(await SequenceReading.next(of: &chunks) == .cancelled)
    }

    @Test("finding UF-1 a complete body is not read in a cancelled task either")
    func completeBody() async {
        let readings = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let body = Response.Body(Data("1\n2\n".utf8))
            var (chunks, lines) = (body.makeAsyncIterator(), body.lines.makeAsyncIterator())
            var readings = [
                await SequenceReading.next(of: &chunks), await SequenceReading.next(of: &lines),
            ]
            do { _ = try await body.collect() } catch { readings.append(SequenceReading(error)) }
            return readings
        }.value

        #expect(readings == [.cancelled, .cancelled, .cancelled])
    }

    @Test("finding UF-1 a file is not read in a cancelled task, as a body or by its source")
    func file() async throws {
        let path = NSTemporaryDirectory() + "lade-test-" + UUID().uuidString
        try Data(count: 1 << 20).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        var request = Request(URL(fileURLWithPath: path))
        request.delivery = .streamed
        let readings = try await Task { [request] in
            let response = try await LocalTransport().send(request, call: Call())
            var chunks = response.body.makeAsyncIterator()
            let first = await SequenceReading.next(of: &chunks)
            withUnsafeCurrentTask { $0?.cancel() }
            return [first, await SequenceReading.next(of: &chunks)]
        }.value

        #expect(readings == [.element, .cancelled])
    }

    @Test("finding UF-1 the error of a loader's body names its request")
    func namesItsRequest() async throws {
        let transport = ClosureTransport { (request, _) throws(LoadingError) in
            Response(status: 200, body: Response.Body(streaming: ReadyPieces(["a", "b"])), request: request)
        }
        let loader = Service(.init(), transport: transport).anonymous.makeLoader()
        let error = await Task {
            do {
                return try await loader.withResponse(to: Request("https://svc.example.com/a")) { response in
                    withUnsafeCurrentTask { $0?.cancel() }
                    for try await _ in response.body {}
                    return nil as LoadingError?
                }
            } catch {
                return error as? LoadingError
            }
        }.value

        #expect(error?.isCancellation == true)
        #expect(error?.context.url == "https://svc.example.com/a")
    }

    @Test("finding UF-1 a download of bytes that are ready ends with its task, and keeps what can be resumed")
    func download() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let transport = ClosureTransport { (request, _) throws(LoadingError) in
            let headers: Headers = ["ETag": "\"1\"", "Content-Length": "100"]
            let body = Response.Body(streaming: ReadyPieces((0..<100).map { "\($0 % 10)" }))
            return Response(status: 200, headers: headers, body: body, request: request)
        }
        let loader = Service(.init(), transport: transport).anonymous.makeLoader()
        let kept = Locked<Int64?>(nil)
        var options = Download.Options()
        options.onPiece = { count, _ in if count == 3 { withUnsafeCurrentTask { $0?.cancel() } } }
        options.kept = { count in kept.withLock { $0 = count } }
        let task = Task { [options] in
            try await loader.download(Request("https://svc.example.com/a"), to: folder.file("a"), options: options)
        }

        await #expect(throws: LoadingError.self) { try await task.value }
        #expect(kept.withLock(\.self) == 3)
        #expect(!FileManager.default.fileExists(atPath: folder.file("a")))
    }
}
