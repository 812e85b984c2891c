import Foundation
import LadeCore
import LadeTesting
import Testing

@testable import LadeCurl

/// Heads that end early or have a line that is no field, and codings that are none.
@Suite("Faulty heads", .timeLimit(.minutes(5)))
struct FaultyHeadsTests {
    private let transport: CurlTransport

    init() throws {
        var settings = TransportSettings()
        settings.proxy = .direct
        transport = try CurlTransport(settings: settings)
    }

    private func send(_ script: [ServerStep]) async throws -> (Response?, LoadingError?, EventRecorder) {
        let server = try LoopbackServer(script: script)
        let recorder = EventRecorder()
        do throws(LoadingError) {
            let response = try await transport.send(server.request(), call: Call(id: Call.ID(1), events: [recorder]))
            return (response, nil, recorder)
        } catch {
            return (nil, error, recorder)
        }
    }

    @Test(
        "finding HF-13 an end within a head is a lost connection, by FIN and by RST",
        arguments: [
            ("HTTP/1.1 200 OK\r\n", LoadingError.ResponseProgress.head), ("HTTP/1.1 200 OK\r\nX-A: 1\r\n", .head),
            ("HTTP/1.1 200 OK\r\nX-A: 1\r\nX-", .head), ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", .head),
            ("HTTP/1.1 100 Continue\r\n\r\n", .head), ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", .head),
            ("HTTP/1.1 20", .nothing), ("HT", .nothing), ("", .nothing),
        ] as [(String, LoadingError.ResponseProgress)],
        [false, true]
    )
    func cutHead(head: (text: String, progress: LoadingError.ResponseProgress), isReset: Bool) async throws {
        let (response, error, _) = try await send([.readRequest, .send(head.text), isReset ? .reset : .close])

        #expect(response == nil)
        guard case .connectionLost(let progress, isSafeToRepeat: false) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        // What a reset follows immediately may not be readable any more.
        if !isReset { #expect(progress == head.progress) }
        await transport.shutDown()
    }

    @Test(
        "finding HF-13 bytes that cannot begin a status line are malformed",
        arguments: ["garbage", "SSH-2.0-x\r\n", "\u{15}\u{3}\u{1}", "HTPP/1.1 200 OK\r\n\r\n"]
    )
    func noHead(text: String) async throws {
        let (_, error, _) = try await send([.readRequest, .send(text), .close])

        guard case .malformedResponse = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        await transport.shutDown()
    }

    @Test(
        "finding LF-19 a line of a head without a colon is named by its place",
        arguments: [
            ("HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 2\r\n\r\nok", 2),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nnonsense\r\n\r\nok", 3),
            ("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\nno sense\r\n\r\n", 3),
        ] as [(String, Int)]
    )
    func lineWithoutColon(head: (text: String, line: Int)) async throws {
        let (_, error, _) = try await send([.readRequest, .send(head.text), .close])

        guard case .malformedResponse(let fault) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fault.rule == .fieldName)
        #expect("\(fault)".contains("line \(head.line) of the head"))
        await transport.shutDown()
    }

    @Test(
        "finding LF-13 a value that is no content coding is ignored with an event",
        arguments: ["utf-8", "UTF8", "none", "binary", "7bit", "8bit", "aws-chunked", "iso-8859-1", "identity, none"]
    )
    func noCoding(value: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(value)\r\nContent-Length: 2\r\n\r\n"
        let (response, error, recorder) = try await send([.readRequest, .send(head + "ok"), .close])

        #expect(error == nil)
        #expect(response?.body.bytes == Data("ok".utf8))
        #expect(response?.headers["Content-Encoding"] == value)
        let tolerated = recorder.events.compactMap { event in
            if case .malformationTolerated(let fault) = event { fault } else { nil }
        }
        #expect(tolerated.map(\.rule) == [.contentCoding])
        await transport.shutDown()
    }

    @Test(
        "finding LF-13 an unknown content coding fails with its name",
        arguments: ["rot13", "none, rot13", "compress"]
    )
    func unknownCoding(value: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(value)\r\nContent-Length: 2\r\n\r\n"
        let (_, error, _) = try await send([.readRequest, .send(head + "ok"), .close])

        guard case .malformedResponse(let fault) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        let name = value.split(separator: " ").last ?? ""
        #expect(fault.rule == .contentCoding)
        #expect("\(fault)".contains("Content-Encoding: \(name)"))
        await transport.shutDown()
    }

    private struct WriterError: Error {}

    @Test("finding LF-17 a writer of an empty body is run: bytes and errors fail the call, and nothing is sent")
    func emptyWriter() async throws {
        let server = try LoopbackServer { .text("\($0.bodyLength)") }
        let transport = transport
        let send = { (body: Request.Body) async throws(LoadingError) in
            try await transport.send(Request(.put, server.address(), body: body), call: Call())
        }
        let excess = await #expect(throws: LoadingError.self) {
            try await send(.writer(length: 0) { write in try await write(Data(count: 3)) })
        }
        let swallowed = await #expect(throws: LoadingError.self) {
            try await send(.writer(length: 0) { write in try? await write(Data(count: 3)) })
        }
        let thrown = await #expect(throws: LoadingError.self) {
            try await send(.writer(length: 0) { _ in throw WriterError() })
        }
        let sent = server.requestCount
        let response = try await send(.writer(length: 0) { write in try await write(Data()) })

        for error in [excess, swallowed] {
            guard case .invalidRequest(.contentLength(written: "0", actual: 3)) = error?.kind else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        if case .requestBodyFailed = thrown?.kind, let cause = thrown?.underlyingError {
            #expect(cause is WriterError)
        } else {
            Issue.record("\(String(describing: thrown))")
        }
        #expect(sent == 0)
        #expect(response.body.bytes == Data("0".utf8))
        await transport.shutDown()
    }

    @Test(
        "finding QF-1 a body with trailers is not sent again when its reused connection is closed, one without is",
        arguments: [true, false]
    )
    func trailersAreNotSentAgain(hasTrailers: Bool) async throws {
        let server = try LoopbackServer(scripts: { index in
            index == 0
                ? [.readRequest, .respond(.text("ok")), .readRequest, .close] : [.readRequest, .respond(.text("ok"))]
        })
        _ = try await transport.send(server.request(), call: Call())
        var body = Request.Body.bytes(Data("bytes".utf8))
        if hasTrailers { body.trailers = { ["X-Sum": "5"] } }
        let request = try server.request(.put, "/", body: body)
        var response: Response?
        var failure: LoadingError?
        do throws(LoadingError) { response = try await transport.send(request, call: Call()) } catch { failure = error }

        if hasTrailers {
            guard case .connectionLost(.nothing, isSafeToRepeat: false) = failure?.kind else {
                Issue.record("\(String(describing: failure)) \(String(describing: response))")
                return
            }
            #expect(server.requestCount == 2)
        } else {
            #expect(failure == nil)
            #expect(response?.status == 200)
            #expect(server.requestCount == 3)
        }
        await transport.shutDown()
    }

    @Test(
        "finding FH-13 a bare LF that is tolerated between chunks is reported once",
        arguments: [("2\nab\r\n2\ncd\n0\r\n\r\n", 1), ("2\r\nab\r\n0\r\n\r\n", 0)]
    )
    func reportsToleratedLineFeeds(body: String, count: Int) async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let server = try LoopbackServer(script: [.readRequest, .send(head), .send(body), .stall])
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.tolerances = .bareLineFeed
        let transport = try CurlTransport(settings: settings)
        let events = EventRecorder()

        _ = try await transport.send(server.request(), call: Call(events: [events]))

        let rules = events.events.compactMap { event -> LoadingError.MalformedResponse.Rule? in
            if case .malformationTolerated(let fault) = event { fault.rule } else { nil }
        }
        #expect(rules == Array(repeating: .chunk, count: count))
        await transport.shutDown()
    }
}
