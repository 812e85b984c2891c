#if OpenAPI
    import Foundation
    import HTTPTypes
    import Lade
    import LadeOpenAPI
    import LadeTesting
    @_spi(Generated) import OpenAPIRuntime
    import Synchronization
    import Testing

    /// The demands of swift-openapi-runtime on a transport.
    @Suite("The transport of swift-openapi-runtime", .timeLimit(.minutes(5)))
    struct LadeTransportTests {
        private let transport = ScriptedTransport()

        private func loader(_ change: (inout Service.Settings) -> Void = { _ in }) -> Loader {
            var settings = Service.Settings()
            settings.time = VirtualTime()
            settings.retries.limit = 0
            change(&settings)
            return Service(settings, transport: transport).anonymous.makeLoader()
        }

        private static let base = (try? Request("https://api.example.com/v1"))?.url ?? URL(fileURLWithPath: "/")

        private func send(
            _ method: HTTPRequest.Method = .get,
            _ path: String? = "/shows",
            _ fields: HTTPFields = [:],
            body: HTTPBody? = nil,
            base: URL = LadeTransportTests.base,
            by loader: Loader? = nil
        ) async throws -> (HTTPResponse, HTTPBody?) {
            let request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: fields)
            return try await LadeTransport(loader ?? self.loader())
                .send(request, body: body, baseURL: base, operationID: "listShows")
        }

        @Test(
            "bridges BR-50 the path of an operation follows that of the base",
            arguments: [
                ("https://api.example.com", "/shows", "https://api.example.com/shows"),
                ("https://api.example.com/", "/shows?a=b%20c", "https://api.example.com/shows?a=b%20c"),
                ("https://api.example.com/v1", "/shows", "https://api.example.com/v1/shows"),
                ("https://api.example.com/v1/", "/shows/", "https://api.example.com/v1/shows/"),
                ("https://api.example.com/v1", nil, "https://api.example.com/v1"),
                ("https://api.example.com", "", "https://api.example.com"),
            ] as [(String, String?, String)]
        )
        func addresses(_ base: String, _ path: String?, _ url: String) async throws {
            transport.onAnyRequest().respond(.text("ok"))

            _ = try await send(.get, path, base: #require(URL(string: base)))

            #expect(transport.requests.map(\.url.absoluteString) == [url])
        }

        @Test("bridges BR-50 a base with a query or a fragment is refused", arguments: ["?a", "#b"])
        func bases(_ rest: String) async throws {
            let base = try #require(URL(string: "https://api.example.com/" + rest))
            await #expect(throws: LoadingError.self) { try await send(base: base) }
        }

        @Test("bridges BR-51 method, fields, body and operation are those of the request")
        func requests() async throws {
            transport.onAnyRequest().respond(.status(201, headers: ["X-A": "1"], "made"))

            let (response, body) = try await send(.post, "/shows", [.contentType: "a/b"], body: HTTPBody("content"))

            let received = try await transport.request(at: 0)
            #expect(received.request.method == .post)
            #expect(received.request.headers["Content-Type"] == "a/b")
            #expect(received.text == "content")
            #expect(received.request.body?.length == 7)
            #expect(received.request.operationID == "listShows")
            #expect(response.status.code == 201)
            #expect(response.headerFields.first { $0.name.canonicalName == "x-a" }?.value == "1")
            #expect(try await String(collecting: #require(body), upTo: 100) == "made")
        }

        @Test("bridges BR-52 every status is returned, and retried before where the policy says so")
        func statuses() async throws {
            transport.onAnyRequest().respond(.status(503)).then(.status(404, "none"))
            let time = VirtualTime()
            let loader = loader {
                $0.time = time
                $0.retries.limit = 1
            }

            let status = try await time.runAutomatically { try await send(by: loader).0.status.code }

            #expect(status == 404)
            #expect(transport.requests.count == 2)
        }

        @Test("bridges BR-53 a body that iterates several times is sent again, and one that does not is sent once")
        func replays() async throws {
            transport.onAnyRequest().respond(.connectionLost()).then(.text("ok"))
            let time = VirtualTime()
            let loader = loader {
                $0.time = time
                $0.retries.limit = 1
            }
            let chunks = AsyncStream<ArraySlice<UInt8>> { continuation in
                continuation.yield([1, 2])
                continuation.finish()
            }

            let several = try await time.runAutomatically { try await send(.put, body: HTTPBody("abc"), by: loader).0 }
            #expect(several.status.code == 200)
            #expect(transport.received.map(\.text) == ["abc", "abc"])

            let other = ScriptedTransport()
            other.onAnyRequest().respond(.connectionLost()).then(.text("ok"))
            var settings = Service.Settings()
            settings.time = time
            let single = Service(settings, transport: other).anonymous.makeLoader()
            let body = HTTPBody(chunks, length: .unknown)
            let error = await #expect(throws: LoadingError.self) {
                try await time.runAutomatically { _ = try await send(.put, body: body, by: single) }
            }
            guard case .connectionLost? = error?.kind else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(other.requests.count == 1)
            #expect(other.requests.first?.body?.isReplayable == false)
            #expect(other.requests.first?.body?.length == nil)
        }

        @Test("bridges BR-54 a response has a body and a length as HTTP says")
        func bodies() async throws {
            transport.on(.get, "/v1/known").respond(.chunks(["ab", "c"], headers: ["Content-Length": "3"]))
            transport.on(.get, "/v1/unknown").respond(.chunks(["ab", "c"]))
            transport.on(.head, "/v1/known").respond(.status(200, headers: ["Content-Length": "3"]))
            transport.on(.get, "/v1/none").respond(.status(204))

            let known = try #require(await send(.get, "/known").1)
            let unknown = try #require(await send(.get, "/unknown").1)

            #expect(known.length == .known(3) && known.iterationBehavior == .single)
            #expect(unknown.length == .unknown)
            #expect(try await String(collecting: known, upTo: 3) == "abc")
            #expect(try await String(collecting: unknown, upTo: 3) == "abc")
            #expect(try await send(.head, "/known").1 == nil)
            #expect(try await send(.get, "/none").1 == nil)
        }

        @Test(
            "bridges BR-51 the method of an operation is that of the request",
            arguments: [.get, .head, .post, .put, .patch, .delete, .options, .trace] as [HTTPRequest.Method]
        )
        func methods(_ method: HTTPRequest.Method) async throws {
            transport.onAnyRequest().respond(.status(200))

            _ = try await send(method)

            #expect(transport.requests.map(\.method.rawValue) == [method.rawValue])
        }

        /// A body of an operation, and what the request must say about it.
        struct BodyRow: Sendable, CustomTestStringConvertible {
            let name: String
            let body: HTTPBody?
            let length: Int64?
            let isReplayable: Bool
            let text: String

            var testDescription: String { name }

            static let all = [
                BodyRow(name: "empty", body: HTTPBody(), length: 0, isReplayable: true, text: ""),
                BodyRow(name: "text", body: "abc", length: 3, isReplayable: true, text: "abc"),
                BodyRow(name: "bytes", body: HTTPBody([97, 98]), length: 2, isReplayable: true, text: "ab"),
                BodyRow(
                    name: "stream of a length",
                    body: HTTPBody(stream, length: .known(2), iterationBehavior: .single),
                    length: 2,
                    isReplayable: false,
                    text: "ab"
                ),
                BodyRow(
                    name: "stream",
                    body: HTTPBody(stream, length: .unknown, iterationBehavior: .single),
                    length: nil,
                    isReplayable: false,
                    text: "ab"
                ),
                BodyRow(
                    name: "stream that can be read again",
                    body: HTTPBody(stream, length: .unknown, iterationBehavior: .multiple),
                    length: nil,
                    isReplayable: true,
                    text: "ab"
                ),
                BodyRow(name: "none", body: nil, length: nil, isReplayable: true, text: ""),
            ]

            private static var stream: AsyncStream<ArraySlice<UInt8>> {
                AsyncStream { continuation in
                    continuation.yield([97])
                    // An empty chunk is no end of a chunked body.
                    continuation.yield([])
                    continuation.yield([98])
                    continuation.finish()
                }
            }
        }

        @Test("bridges BR-53 the length of a body and whether it can be sent again are kept", arguments: BodyRow.all)
        func requestBodies(_ row: BodyRow) async throws {
            transport.onAnyRequest().respond(.status(200))

            _ = try await send(.put, body: row.body)

            let received = try await transport.request(at: 0)
            #expect((received.request.body == nil) == (row.body == nil))
            #expect(received.request.body?.length == row.length)
            #expect((received.request.body?.isReplayable ?? true) == row.isReplayable)
            #expect(received.text == row.text)
        }

        @Test(
            "bridges BR-54 every status has its body, and no body where HTTP has none",
            arguments: [
                (.get, 200, "3", .known(3), "abc"), (.get, 200, nil, .unknown, "abc"),
                (.get, 404, "3", .known(3), "abc"),
                (.get, 500, nil, .unknown, "abc"), (.get, 200, "0", .known(0), ""), (.post, 201, "3", .known(3), "abc"),
                (.head, 200, "3", nil, ""), (.head, 404, nil, nil, ""), (.get, 204, nil, nil, ""),
                (.get, 304, "3", nil, ""),
            ] as [(HTTPRequest.Method, Int, String?, HTTPBody.Length?, String)]
        )
        func responses(
            _ method: HTTPRequest.Method,
            _ status: Int,
            _ announced: String?,
            _ length: HTTPBody.Length?,
            _ text: String
        ) async throws {
            let headers: Headers = announced.map { ["Content-Length": $0] } ?? [:]
            let loader = Service(
                transport: Answering { (request) throws(LoadingError) in
                    let source = TextSource(text)
                    return Response(
                        status: Response.Status(status),
                        headers: headers,
                        body: Response.Body(streaming: source),
                        request: request
                    )
                }
            )
            .anonymous.makeLoader()

            let (response, body) = try await send(method, by: loader)

            #expect(response.status.code == status)
            #expect(body?.length == length)
            if let body { #expect(try await String(collecting: body, upTo: 100) == text) }
        }

        /// Text as one chunk.
        private final class TextSource: Response.Body.Source {
            private let left: Locked<String>

            init(_ text: String) { left = Locked(text) }

            func next() async throws(LoadingError) -> Data? {
                left.withLock { left in
                    defer { left = "" }
                    return left.isEmpty ? nil : Data(left.utf8)
                }
            }
            func cancel() {}
            var trailers: Headers { Headers() }
            var metrics: Response.Metrics { Response.Metrics() }
        }

        /// Counts what is taken of it.
        private final class CountedSource: Response.Body.Source {
            let taken = Atomic(0)
            let isOver = Atomic(false)

            func next() async throws(LoadingError) -> Data? {
                guard !isOver.load(ordering: .acquiring) else { throw LoadingError(.cancelled) }
                return Data([UInt8(truncatingIfNeeded: taken.add(1, ordering: .relaxed).newValue)])
            }
            func cancel() { isOver.store(true, ordering: .releasing) }
            var trailers: Headers { Headers() }
            var metrics: Response.Metrics { Response.Metrics() }
        }

        /// Responds with a closure.
        private struct Answering: Transport {
            let answer: @Sendable (Request) async throws(LoadingError) -> Response

            func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
                try await answer(request)
            }
        }

        @Test("bridges BR-55 nothing is read ahead of the reader, and releasing the body ends the exchange")
        func downloads() async throws {
            let source = CountedSource()
            let loader = Service(
                transport: Answering { (request) throws(LoadingError) in
                    Response(status: 200, body: Response.Body(streaming: source), request: request)
                }
            )
            .anonymous.makeLoader()

            do {
                let body = try #require(await send(by: loader).1)
                var iterator = body.makeAsyncIterator()
                #expect(try await iterator.next() == [1])
                #expect(try await iterator.next() == [2])
                let taken = source.taken.load(ordering: .relaxed)
                #expect(taken == 2)
                let isOver = source.isOver.load(ordering: .acquiring)
                #expect(!isOver)
            }

            let isOver = source.isOver.load(ordering: .acquiring)
            #expect(isOver)
        }

        @Test("bridges BR-55 a chunk is made when the one before it was taken")
        func uploads() async throws {
            let made = Counted()
            let steps = Counted()
            let body = HTTPBody(made, length: .known(4), iterationBehavior: .single)
            let loader = Service(
                transport: Answering { (request) throws(LoadingError) in
                    guard case .stream(let write)? = request.body?.content else {
                        throw LoadingError(.requestBodyFailed)
                    }
                    do {
                        try await write { (_) throws(LoadingError) in
                            let number = steps.number.add(1, ordering: .relaxed).newValue
                            if made.number.load(ordering: .relaxed) != number { throw LoadingError(.decoding) }
                        }
                    } catch {
                        throw LoadingError(.requestBodyFailed, underlyingError: error)
                    }
                    return Response(status: 200, request: request)
                }
            )
            .anonymous.makeLoader()

            let response = try await send(.post, body: body, by: loader).0

            #expect(response.status.code == 200)
            let number = steps.number.load(ordering: .relaxed)
            #expect(number == 4)
        }

        /// Four chunks of a byte, counted when they are made.
        private final class Counted: AsyncSequence, Sendable {
            let number = Atomic(0)

            struct Iterator: AsyncIteratorProtocol {
                let owner: Counted
                mutating func next() async throws -> ArraySlice<UInt8>? {
                    guard owner.number.load(ordering: .relaxed) < 4 else { return nil }
                    return [UInt8(owner.number.add(1, ordering: .relaxed).newValue)]
                }
            }

            func makeAsyncIterator() -> Iterator { Iterator(owner: self) }
        }

        private struct Broken: Error {}

        @Test("bridges BR-56 errors say what failed, with the error of the body as the cause")
        func errors() async throws {
            transport.on(.get, "/v1/shows").respond(.connectionLost())
            transport.on(.put, "/v1/shows").respond(.text("ok"))
            let broken = AsyncThrowingStream<ArraySlice<UInt8>, any Error> { $0.finish(throwing: Broken()) }

            let lost = await #expect(throws: LoadingError.self) { try await send() }
            let failed = await #expect(throws: LoadingError.self) {
                try await send(.put, body: HTTPBody(broken, length: .unknown))
            }

            guard case .connectionLost? = lost?.kind else {
                Issue.record("\(String(describing: lost))")
                return
            }
            #expect(failed?.kind == .requestBodyFailed)
            #expect(failed?.underlyingError is Broken)
        }

        @Test("bridges BR-57 cancelling the task ends the exchange")
        func cancelling() async throws {
            transport.onAnyRequest().respond(.text("ok").after(.seconds(60)))
            let task = Task { try await send() }
            _ = try await transport.request(at: 0)

            task.cancel()

            let error = await #expect(throws: LoadingError.self) { try await task.value }
            #expect(error?.isCancellation == true)
            try await transport.cancellations(atLeast: 1)
        }
    }
#endif
