import Foundation
import LadeCore
import LadeTesting
import LadeURLSession
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transport against the scripted server.
///
/// `ConformanceTests` checks what every transport must do; these tests are specific to this transport.
@Suite(.timeLimit(.minutes(5)))
struct URLSessionTransportTests {
    private let transport: URLSessionTransport

    init() throws {
        transport = try URLSessionTransport()
    }

    private func send(_ request: Request, events: EventRecorder? = nil) async throws -> Response {
        try await transport.send(request, call: Call(events: events.map { [$0] } ?? []))
    }

    private func failure(_ request: Request, call: Call = Call()) async throws -> LoadingError {
        try #require(
            await #expect(throws: LoadingError.self) {
                let response = try await transport.send(request, call: call)
                _ = try await response.body.collect()
            }
        )
    }

    private func answer(_ answer: String, _ delivery: Request.Delivery = .streamed) async throws -> Response {
        let server = try LoopbackServer(answering: answer)
        let response = try await send(server.request(.get, "/", delivery: delivery))
        return response
    }

    // MARK: - Answers

    @Test("a small answer arrives whole, with its story and what it cost")
    func small() async throws {
        let server = try LoopbackServer { _ in .text("hello", [ServerField("X-A", "1")]) }
        let events = EventRecorder()

        let response = try await send(server.request(.get, "/a?b=%20&b="), events: events)

        #expect(response.status == 200)
        #expect(response.headers["X-A"] == "1")
        #expect(response.body.bytes == Data("hello".utf8))
        #expect(response.metrics.decodedBodyBytes == 5)
        #expect(response.metrics.responseBodyBytes == 5)
        #expect(response.metrics.total != nil)
        #expect(server.requests.first?.target == "/a?b=%20&b=")
        #expect(
            events.story.map { $0.split(separator: " ").prefix(2).joined(separator: " ") } == [
                "exchange started", "head 200", "exchange finished",
            ]
        )
    }

    @Test(
        "every status is delivered, whatever fields come with it",
        arguments: [
            "200 OK", "300 Multiple Choices\r\nLocation: /b", "301 Moved\r\nLocation: /b",
            "302 Found\r\nLocation: mailto:a@b",
            "307 Temporary\r\nLocation: http://127.0.0.1:1/", "400 Bad", "401 No", "401 No\r\nWWW-Authenticate: Bearer",
            "401 No\r\nWWW-Authenticate: Basic realm=\"x\"",
            "401 No\r\nWWW-Authenticate: Digest realm=\"x\", nonce=\"y\"",
            "403 No", "404 Not Found", "407 No\r\nProxy-Authenticate: Basic realm=\"x\"", "500 Broken", "999 Strange",
        ]
    )
    func everyStatus(_ line: String) async throws {
        for delivery in [Request.Delivery.streamed, .buffered(limit: 100)] {
            let response = try await answer("HTTP/1.1 \(line)\r\nContent-Length: 4\r\n\r\nbody", delivery)
            #expect(String(response.status.code) == line.prefix(3))
            #expect(try await response.body.collect() == Data("body".utf8))
        }
    }

    @Test("cookies stay apart and are not kept")
    func cookies() async throws {
        let server = try LoopbackServer { _ in
            .text("", [ServerField("Set-Cookie", "a=1; Path=/"), ServerField("Set-Cookie", "b=2")])
        }
        let response = try await send(server.request(.get, "/"))
        #expect(response.headers.all("Set-Cookie") == ["a=1; Path=/", "b=2"])
        _ = try await send(server.request(.get, "/"))
        #expect(server.requests.allSatisfy { $0["Cookie"] == nil })
    }

    @Test("a decoded answer has neither the coding nor the length of the coded bytes, which are in its metrics")
    func decoded() async throws {
        let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA0tMxA8AdxexyiAAAAA="))
        let server = try LoopbackServer { _ in .bytes(coded, [ServerField("Content-Encoding", "gzip")]) }
        let response = try await send(server.request())
        #expect(response.body.bytes == Data(repeating: UInt8(ascii: "a"), count: 32))
        #expect(response.headers["Content-Encoding"] == nil)
        #expect(response.headers["Content-Length"] == nil)
        #expect(response.metrics.contentEncoding == "gzip")
        #expect(response.metrics.responseBodyBytes == Int64(coded.count))
    }

    @Test("nothing is cached")
    func uncached() async throws {
        let server = try LoopbackServer { _ in .text("a", [ServerField("Cache-Control", "max-age=1000")]) }
        for _ in 0..<2 { _ = try await send(server.request(.get, "/")) }
        #expect(server.requestCount == 2)
    }

    // MARK: - Bodies of requests

    @Test(
        "bytes, files, parts of files and written bodies arrive as they are",
        arguments: ["POST", "PUT", "PATCH", "X"]
    )
    func uploads(_ method: String) async throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("lade-upload-\(UUID().uuidString)")
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        try content.write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        let server = try LoopbackServer { _ in .status(200) }

        let bodies: [(Request.Body, Data)] = [
            (.bytes(content), content), (.bytes(Data()), Data()), (try .file(url.path), content),
            (try .file(url.path, offset: 299_990), content.suffix(10)),
            (
                .writer { write in
                    for start in stride(from: 0, to: 300_000, by: 1_000) {
                        try await write(content[start..<start + 1_000])
                    }
                }, content
            ),
        ]
        for (body, expected) in bodies {
            let request = try server.request(Request.Method(method), "/", body: body)
            #expect(try await send(request).status == 200)
            let seen = try #require(server.requests.last)
            #expect(seen.method == method)
            #expect(seen.body == expected)
            #expect(seen["Content-Length"] == String(expected.count))
            #expect(seen["Content-Type"] == nil)
            #expect(seen["Expect"] == nil)
        }
    }

    @Test("a body that fails ends the exchange before anything is sent")
    func failingBody() async throws {
        struct Broken: Error {}
        let server = try LoopbackServer { _ in .status(200) }
        let error = try await failure(server.request(.post, "/", body: .writer { _ in throw Broken() }))
        guard case .requestBodyFailed = error.kind, let cause = error.underlyingError else {
            Issue.record(error)
            return
        }
        #expect(cause is Broken)
        #expect(server.requestCount == 0)
    }

    // MARK: - Never twice

    #if canImport(FoundationNetworking)
        /// The first request of a connection is answered, the second is read and the connection closed.
        private func dying() throws -> LoopbackServer {
            try LoopbackServer(script: [.readRequest, .respond(.text("ok")), .readRequest, .close])
        }

        @Test("transport TR-91 a POST is never sent on a used connection, so the platform cannot send it again")
        func postOnce() async throws {
            let server = try dying()
            for _ in 0..<3 {
                #expect(try await send(server.request(.post, "/", body: .bytes(Data([1])))).status == 200)
            }
            #expect(server.requestCount == 3)
            #expect(server.acceptedCount == 3)
        }

        @Test("transport TR-91 a PUT with a body is not left hanging by a dead connection")
        func putOnce() async throws {
            let server = try dying()
            _ = try await send(server.request(.get, "/"))
            #expect(try await send(server.request(.put, "/", body: .bytes(Data([1])))).status == 200)
            #expect(server.requestCount == 2)
        }

        @Test("transport TR-83 requests on connections of their own keep the limit per host too")
        func freshConnectionLimit() async throws {
            var settings = TransportSettings()
            settings.connections.perHost = 2
            let limited = try URLSessionTransport(settings: settings)
            let gate = Signal()
            let server = try LoopbackServer(script: [.readRequest, .wait(for: gate), .respond(.text("ok"))])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let request = try server.request(.post, "/", body: .bytes(Data([1])))
                        #expect(try await limited.send(request, call: Call()).status == 200)
                    }
                }
                try await gate.arrivals(atLeast: 2)
                gate.raise()
                try await group.waitForAll()
            }
            #expect(server.maximumOpenCount <= 4, "two in use and at most two that are just closing")
            #expect(server.acceptedCount == 8)
        }
    #endif

    // MARK: - Ends

    @Test("a transport that goes ends its exchanges as cancelled")
    func dropTransport() async throws {
        let server = try LoopbackServer(
            script: [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234"), .stall]
        )
        var transport: URLSessionTransport? = try URLSessionTransport()
        let request = try server.request(.get, "/", delivery: .streamed)
        let response = try #require(try await transport?.send(request, call: Call()))
        transport = nil
        let error = await #expect(throws: LoadingError.self) { try await response.body.collect() }
        #expect(error?.isCancellation == true)
        try await server.connectionClosed(at: 0)
    }

    // MARK: - Time

    @Test("transport TR-80 the idle time-out ends a call that stalls, in the call's own time")
    func idle() async throws {
        let server = try LoopbackServer(script: [.readRequest, .stall])
        let time = VirtualTime()
        var request = try server.request(.get, "/")
        request.timeouts.idle = .seconds(7)
        let task = Task { [request] in try await transport.send(request, call: Call(time: time)) }
        try await server.requests(atLeast: 1)
        let sleeper = try await time.nextSleeper()
        #expect(sleeper.remaining == .seconds(7))
        time.advance(by: .seconds(7))
        let error = await #expect(throws: LoadingError.self) { try await task.value }
        guard case .timedOut(.idle) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await server.connectionClosed(at: 0)
    }

    @Test("transport TR-80 the whole time-out counts a body that is still being written")
    func whole() async throws {
        let server = try LoopbackServer { _ in .status(200) }
        let time = VirtualTime()
        let never = Signal()
        var request = try server.request(.post, "/", body: .writer { _ in try await never.wait() })
        request.timeouts.idle = nil
        request.timeouts.whole = .seconds(5)
        let task = Task { [request] in try await transport.send(request, call: Call(time: time)) }
        try await never.arrivals(atLeast: 1)
        #expect(try await time.nextSleeper().remaining == .seconds(5))
        time.advance(by: .seconds(5))
        let error = await #expect(throws: LoadingError.self) { try await task.value }
        guard case .timedOut(.whole) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    // MARK: - Addresses

    @Test("transport TR-61 local addresses are answered, and can be switched off")
    func localAddresses() async throws {
        #expect(try await send(Request("data:,a%20b")).body.bytes == Data("a b".utf8))
        var settings = TransportSettings()
        settings.allowsLocalAddresses = false
        let strict = try URLSessionTransport(settings: settings)
        let error = await #expect(throws: LoadingError.self) {
            try await strict.send(Request("data:,a"), call: Call())
        }
        guard case .invalidRequest(.unsupportedScheme("data")) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("a request that cannot be sent is refused before anything is")
    func invalid() async throws {
        var request = try Request("http://127.0.0.1:1/")
        request.headers.add("X\r\nY", "1")
        guard case .invalidRequest(.header) = try await failure(request).kind else {
            Issue.record("a broken field was let through")
            return
        }
        let file = try #require(URL(string: "ftp://127.0.0.1/"))
        guard case .invalidRequest(.unsupportedScheme("ftp")) = try await failure(Request(file)).kind else {
            Issue.record("another scheme was let through")
            return
        }
    }

    @Test("a host without a listener is distinguished from one without an address")
    func noListener() async throws {
        guard case .cannotConnect("127.0.0.1", .refused) = try await failure(Request("http://127.0.0.1:1/")).kind else {
            Issue.record("no refusal")
            return
        }
        let error = try await failure(Request("http://lade.invalid/"))
        guard case .nameNotResolved("lade.invalid") = error.kind else {
            Issue.record(error)
            return
        }
    }
}
