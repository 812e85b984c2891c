#if SwiftMetrics
    import CoreMetrics
    import Lade
    import LadeMetrics
    import LadeTesting
    import MetricsTestKit
    import Testing

    @Suite("Metrics of swift-metrics", .timeLimit(.minutes(5)))
    struct MetricsObserverTests {
        private let metrics = TestMetrics()
        private let transport = ScriptedTransport()
        private let time = VirtualTime()

        private func loader(_ change: (inout Service.Settings) -> Void = { _ in }) -> Loader {
            var settings = Service.Settings()
            settings.time = time
            settings.retries.limit = 0
            settings.observers = [MetricsObserver(factory: metrics)]
            change(&settings)
            return Service(settings, transport: transport).anonymous.makeLoader()
        }

        /// The dimensions of every metric, which the conventions or the documentation name.
        private static let names: Set<String> = [
            "http.request.method", "server.address", "server.port", "url.scheme", "url.template",
            "http.response.status_code", "network.protocol.version", "error.type", "lade.wait.reason",
            "lade.cache.result",
            "lade.retry.rule",
        ]

        private func dictionary(_ dimensions: [(String, String)]) -> [String: String] {
            Dictionary(dimensions) { first, _ in first }
        }

        @Test("bridges BR-30 an exchange is timed and counted, with few values in its dimensions")
        func exchange() async throws {
            transport.onAnyRequest().respond(.text("hello"))
            var request = try Request(Request.Method("PURGE"), "https://api.example.com:8443/shows/7")
            request.routeTemplate = "/shows/{id}"

            _ = try await loader().load(request)

            let timer = try #require(metrics.timers.first { $0.label == "http.client.request.duration" })
            let labels = dictionary(timer.dimensions)
            #expect(labels["http.request.method"] == "_OTHER")
            #expect(labels["server.address"] == "api.example.com")
            #expect(labels["server.port"] == "8443")
            #expect(labels["url.scheme"] == "https")
            #expect(labels["url.template"] == "/shows/{id}")
            #expect(labels["http.response.status_code"] == "200")
            #expect(labels["error.type"] == nil)
            #expect(timer.values.count == 1)
            #expect(timer.displayUnit == .seconds)
            let all = metrics.timers.map(\.dimensions) + metrics.recorders.map(\.dimensions)
            let names = Set((all + metrics.meters.map(\.dimensions)).joined().map(\.0))
            #expect(names.isSubset(of: Self.names), "\(names)")
            #expect(!"\(all)".contains("/shows/7"))
            #expect(metrics.recorders.map(\.label) == ["http.client.response.body.size"])
        }

        @Test("bridges BR-31 active requests return to zero, also after failures, and retries are counted")
        func active() async throws {
            transport.onAnyRequest().respond(.connectionLost()).then(.status(503)).then(.text("ok"))

            let loader = loader { $0.retries.limit = 2 }
            _ = try await time.runAutomatically { try await loader.load(Request("https://api.example.com/")) }

            let meter = try #require(metrics.meters.first { $0.label == "http.client.active_requests" })
            #expect(meter.values == [1, 0, 1, 0, 1, 0])
            let types = metrics.timers.filter { $0.label == "http.client.request.duration" }
                .map { dictionary($0.dimensions)["error.type"] ?? "none" }
            #expect(Set(types) == ["connectionLost", "503", "none"])
            let retries = metrics.counters.filter { $0.label == "lade.client.retries" }
            #expect(retries.reduce(0) { $0 + $1.totalValue } == 2)
            let waits = metrics.timers.filter { $0.label == "lade.client.wait.duration" }
            #expect(waits.map { dictionary($0.dimensions) } == [["lade.wait.reason": "backoff"]])
            let waiting = metrics.meters.filter { $0.label == "lade.client.waiting" }
            #expect(waiting.map(\.values) == [[1, 0, 1, 0]])
        }

        @Test("bridges BR-33 nothing is observed without a back end")
        func noBackEnd() throws {
            let request = try Request("https://api.example.com/")
            #expect(!MetricsObserver(factory: NOOPMetricsHandler.instance).observes(request))
            #expect(MetricsObserver(factory: metrics).observes(request))
        }

        @Test("bridges BR-32 the advised buckets are those of the conventions")
        func buckets() {
            #expect(
                MetricsObserver.durationBuckets == [
                    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
                ]
            )
        }
    }
#endif
