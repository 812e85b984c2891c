#if SwiftTracing
    import InMemoryTracing
    import Lade
    import LadeTesting
    import LadeTracing
    import Testing
    import Tracing

    @Suite("Spans of swift-distributed-tracing", .timeLimit(.minutes(5)))
    struct SpansTests {
        private let tracer = InMemoryTracer()
        private let transport = ScriptedTransport()
        private let time = VirtualTime()

        private func loader(_ change: (inout Service.Settings) -> Void = { _ in }) -> Loader {
            var settings = Service.Settings()
            settings.time = time
            settings.retries.limit = 0
            settings.tracing = Lade.Tracing()
            settings.addSpans(by: tracer)
            change(&settings)
            return Service(settings, transport: transport).anonymous.makeLoader()
        }

        private func span(_ kind: SpanKind) throws -> FinishedInMemorySpan {
            try #require(tracer.finishedSpans.first { $0.kind == kind })
        }

        private func text(_ span: FinishedInMemorySpan, _ name: String) -> String? {
            switch span.attributes.get(name) {
            case .string(let text): text
            case .int64(let number): "\(number)"
            default: nil
            }
        }

        /// All attributes that may be in a span.
        private static let names: Set<String> = [
            "error.type", "http.request.body.size", "http.request.method", "http.request.method_original",
            "http.request.resend_count", "http.response.body.size", "http.response.status_code", "lade.body.outcome",
            "lade.operation.id", "network.peer.address", "network.peer.port", "network.protocol.version",
            "server.address",
            "server.port", "url.full", "url.scheme", "url.template",
        ]

        @Test("bridges BR-40 a call has a span, and each exchange a child that names the server")
        func tree() async throws {
            transport.onAnyRequest().respond(.text("ok"))
            let outer = tracer.startSpan("incoming", ofKind: .server)
            var request = try Request(
                .post,
                "https://api.example.com/shows/7?access_token=hunter2-secret",
                body: .text("x")
            )
            request.routeTemplate = "/shows/{id}"

            let loader = loader()
            _ = try await ServiceContext.withValue(outer.context) { [request] in try await loader.load(request) }

            let (call, exchange) = (try span(.internal), try span(.client))
            #expect(call.parentSpanID == outer.spanID && call.traceID == outer.traceID)
            #expect(exchange.parentSpanID == call.spanID)
            #expect(call.operationName == "POST /shows/{id}" && exchange.operationName == "POST /shows/{id}")
            #expect(text(exchange, "server.address") == "api.example.com")
            #expect(text(exchange, "server.port") == "443")
            #expect(text(exchange, "http.response.status_code") == "200")
            #expect(text(exchange, "http.request.resend_count") == nil)
            #expect(exchange.status == nil && call.status == nil)
            for span in tracer.finishedSpans {
                span.attributes.forEach { name, value in
                    #expect(Self.names.contains(name))
                    #expect(!"\(value)".contains("hunter2"))
                }
            }
        }

        @Test("bridges BR-41 a retry is a further child, with its number, and the failed ones are errors")
        func retries() async throws {
            transport.onAnyRequest().respond(.connectionLost()).then(.status(503)).then(.text("ok"))
            let loader = loader { $0.retries.limit = 2 }

            _ = try await time.runAutomatically { try await loader.load(Request("https://api.example.com/")) }

            let exchanges = tracer.finishedSpans.filter { $0.kind == .client }
            #expect(exchanges.map { text($0, "http.request.resend_count") } == [nil, "1", "2"])
            #expect(exchanges.map { text($0, "error.type") } == ["connectionLost", "503", nil])
            #expect(exchanges.map { $0.status?.code } == [.error, .error, nil])
            #expect(try span(.internal).status == nil)
        }

        @Test("bridges BR-42 the tracer writes the fields of each exchange, and the own trace of a request stays")
        func injection() async throws {
            transport.onAnyRequest().respond(.text("ok"))
            let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            var own = try Request("https://api.example.com/")
            own.headers.set("traceparent", parent)

            _ = try await loader().load(Request("https://api.example.com/"))
            let exchange = try span(.client)
            _ = try await loader().load(own)

            let sent = transport.requests.map(\.headers)
            #expect(sent[0][InMemoryTracer.spanIDKey] == exchange.spanID)
            #expect(sent[0][InMemoryTracer.traceIDKey] == exchange.traceID)
            #expect(sent[1].all("traceparent") == [parent])
            #expect(sent[1][InMemoryTracer.spanIDKey] == nil)
        }

        @Test("bridges BR-43 the end of a streamed body ends both spans")
        func bodies() async throws {
            transport.onAnyRequest().respond(.chunks(["a", "b"]))
            var request = try Request("https://api.example.com/")
            request.delivery = .streamed

            let response = try await loader().load(request)
            #expect(tracer.finishedSpans.isEmpty)
            _ = try await response.body.collect()
            #expect(tracer.finishedSpans.map(\.kind) == [.client, .internal])

            tracer.clearFinishedSpans()
            try await loader().load(request).body.cancel()
            #expect(tracer.finishedSpans.map { text($0, "lade.body.outcome") } == ["cancelled", "cancelled"])
            #expect(tracer.finishedSpans.allSatisfy { $0.status == nil })
            #expect(tracer.activeSpans.isEmpty)
        }

        @Test("bridges BR-44 the failure of a call is that of its span; cancelling is none")
        func failures() async throws {
            transport.on(.get, "/lost").respond(.connectionLost())
            transport.on(.get, "/slow").respond(.status(200).stalling(after: 0))
            let loader = loader()

            _ = try? await loader.load(Request("https://api.example.com/lost"))
            let call = try span(.internal)
            #expect(call.status?.code == .error && call.errors.count == 1)
            #expect(text(call, "error.type") == "connectionLost")

            tracer.clearFinishedSpans()
            let task = Task { try await loader.load(Request("https://api.example.com/slow")) }
            _ = try await transport.request(at: 1)
            task.cancel()
            _ = await task.result
            #expect(tracer.finishedSpans.map { text($0, "error.type") } == ["cancelled", "cancelled"])
            #expect(tracer.finishedSpans.allSatisfy { $0.status == nil && $0.errors.isEmpty })
        }
    }
#endif
