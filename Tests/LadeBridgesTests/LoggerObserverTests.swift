#if SwiftLog
    import InMemoryLogging
    import Lade
    import LadeLogging
    import LadeTesting
    import Logging
    import Testing

    @Suite("Lines of swift-log", .timeLimit(.minutes(5)))
    struct LoggerObserverTests {
        private let store = InMemoryLogHandler()
        private let transport = ScriptedTransport()
        private let time = VirtualTime()

        private func logger(_ level: Logger.Level = .trace) -> Logger {
            var logger = Logger(label: "http") { _ in store }
            logger.logLevel = level
            return logger
        }

        private func loader(_ change: (inout Service.Settings) -> Void = { _ in }) -> Loader {
            var settings = Service.Settings()
            settings.time = time
            settings.retries.limit = 0
            settings.observers = [LoggerObserver(logger())]
            change(&settings)
            return Service(settings, transport: transport).anonymous.makeLoader()
        }

        @Test("bridges BR-20 writes one line per call, with the keys of the conventions")
        func line() async throws {
            transport.onAnyRequest().respond(.text("hello"))
            var request = try Request(.post, "https://api.example.com/shows?page=2", body: .text("body"))
            request.operationID = "addShow"

            _ = try await loader().load(request)

            let entry = try #require(store.entries.first)
            #expect(store.entries.count == 1)
            #expect(entry.level == .info)
            #expect("\(entry.message)" == "POST https://api.example.com/shows?page=2: 200")
            let keys = Set(entry.metadata.keys)
            #expect(keys.isSubset(of: Set(LoggerObserverTests.keys)), "\(keys)")
            #expect(entry.metadata["http.request.method"] == "POST")
            #expect(entry.metadata["http.response.status_code"] == "200")
            #expect(entry.metadata["http.response.body.size"] == "5")
            #expect(entry.metadata["url.full"] == "https://api.example.com/shows?page=2")
            #expect(entry.metadata["lade.operation.id"] == "addShow")
            #expect(entry.metadata["lade.call.attempts"] == "1")
            #expect(entry.metadata["error.type"] == nil)
        }

        /// All keys that may be in a line.
        private static let keys = [
            "error.type", "http.request.body.size", "http.request.method", "http.request.resend_count",
            "http.response.body.size", "http.response.status_code", "lade.call.attempts", "lade.call.duration",
            "lade.operation.id", "network.protocol.version", "url.full",
        ]

        @Test(
            "bridges BR-21 the level follows the outcome",
            arguments: [
                (ScriptedResponse.text("ok"), Logger.Level.info, nil as String?),
                (.status(404), .warning, "404"), (.connectionLost(), .error, "connectionLost"),
            ]
        )
        func levels(_ answer: ScriptedResponse, _ level: Logger.Level, _ type: String?) async throws {
            transport.onAnyRequest().respond(answer)

            _ = try? await loader().load(Request("https://api.example.com/"))

            #expect(store.entries.map(\.level) == [level])
            #expect(store.entries.first?.metadata["error.type"] == type.map { .string($0) })
        }

        @Test("bridges BR-21 a cancelled call is no error")
        func cancelled() async throws {
            transport.onAnyRequest().respond(.status(200).stalling(after: 0))
            let loader = loader()
            let task = Task { try await loader.load(Request("https://api.example.com/")) }
            _ = try await transport.request(at: 0)

            task.cancel()
            _ = await task.result

            #expect(store.entries.map(\.level) == [.debug])
            #expect(store.entries.first?.metadata["error.type"] == nil)
        }

        @Test("bridges BR-22 no secret is in a line")
        func secrets() async throws {
            transport.onAnyRequest().respond(.status(401, "the token hunter2-secret is wrong"))
            let request = try Request(
                "https://api.example.com/?access_token=hunter2-secret",
                headers: ["Authorization": "Bearer hunter2-secret"]
            )

            _ = try? await loader().load(request)

            #expect(store.entries.count == 1)
            #expect(!"\(store.entries)".contains("hunter2"))
        }

        @Test("bridges BR-23 the logger of the request comes before that of the task, and that before the observer's")
        func loggers() async throws {
            transport.onAnyRequest().respond(.text("ok"))
            let loader = loader()
            var (mine, tasks) = (logger(), logger())
            mine[metadataKey: "of"] = "request"
            tasks[metadataKey: "of"] = "task"
            var request = try Request("https://api.example.com/")

            _ = try await loader.load(request)
            try await LoggerObserver.$current.withValue(tasks) { [request] in
                _ = try await loader.load(request)
                var own = request
                own.logger = mine
                _ = try await loader.load(own)
            }
            request.logger = logger(.error)
            _ = try await loader.load(request)

            #expect(store.entries.map { $0.metadata["of"] } == [nil, "task", "request"])
        }

        @Test("bridges BR-24 a call is observed if its logger writes any of the levels")
        func needed() throws {
            var request = try Request("https://api.example.com/")
            #expect(LoggerObserver(logger(.error)).observes(request))
            let silent = LoggerObserver(logger(.critical))
            #expect(!silent.observes(request))
            LoggerObserver.$current.withValue(logger(.debug)) { #expect(silent.observes(request)) }
            request.logger = logger(.info)
            #expect(silent.observes(request))
        }
    }
#endif
