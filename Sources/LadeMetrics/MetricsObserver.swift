#if SwiftMetrics
    public import CoreMetrics
    public import Lade

    /// Counts and times the exchanges of calls with swift-metrics, by the OpenTelemetry conventions for HTTP clients.
    ///
    /// ```swift
    /// var settings = Service.Settings()
    /// settings.observers = [MetricsObserver()]
    /// ```
    ///
    /// | metric | kind | what it is |
    /// | --- | --- | --- |
    /// | `http.client.request.duration` | timer, shown in seconds | an exchange, from its start to the end of its body |
    /// | `http.client.active_requests` | meter | exchanges in progress |
    /// | `http.client.request.body.size` | recorder, bytes | the body as it was sent |
    /// | `http.client.response.body.size` | recorder, bytes | the body as it was received |
    /// | `lade.client.retries` | counter | further attempts, by rule |
    /// | `lade.client.wait.duration` | timer, shown in seconds | waits, by reason |
    /// | `lade.client.waiting` | meter | calls that wait now, by reason: for the rate, for a place, for a connection |
    /// | `lade.client.cache.requests` | counter | questions to the cache, by result |
    ///
    /// Dimensions have few values: a path is never among them. `Request.routeTemplate` becomes `url.template`. One observer is for
    /// one service.
    public final class MetricsObserver: Call.Observer {
        /// The bounds of the buckets that the conventions advise for durations, in seconds, for back ends that need them.
        public static let durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
        /// The names of the metrics.
        static let duration = "http.client.request.duration"
        static let active = "http.client.active_requests"
        static let requestSize = "http.client.request.body.size"
        static let responseSize = "http.client.response.body.size"
        static let retries = "lade.client.retries"
        static let waits = "lade.client.wait.duration"
        static let waiting = "lade.client.waiting"
        static let cacheUse = "lade.client.cache.requests"

        private struct Exchange: Hashable {
            let call: Call.ID
            let hedge: Int
        }

        private struct Record {
            let target: Labels
            let template: String?
            let start: Instant
            var status: Response.Status?
            var version: Response.Version?
        }

        private struct State {
            var templates: [Call.ID: String] = [:]
            var records: [Exchange: Record] = [:]
            var timers: [Labels: Timer] = [:]
            var meters: [Labels: Meter] = [:]
            var recorders: [Labels: Recorder] = [:]
            var counters: [Labels: Counter] = [:]
        }

        private let factory: any MetricsFactory
        // Guarded by its lock. The metrics are kept, as swift-metrics advises; their labels have few values.
        private let state = Locked(State())

        /// Makes an observer.
        ///
        /// - Parameter factory: The back end; that of the program by default.
        public init(factory: any MetricsFactory = MetricsSystem.factory) {
            self.factory = factory
        }

        /// Whether there is a back end.
        public func observes(_ request: Request) -> Bool { !(factory is NOOPMetricsHandler) }

        /// Records one event.
        public func record(_ event: Call.Event, of call: Call) {
            switch event {
            case .callStarted:
                if let template = call.routeTemplate { state.withLock { $0.templates[call.id] = template } }
            case .exchangeStarted(let method, let url): begin(method, url, call)
            case .headReceived(let status, _, let version):
                let exchange = Exchange(call: call.id, hedge: call.hedge)
                state.withLock { state in
                    guard var record = state.records[exchange] else { return }
                    (record.status, record.version) = (status, version)
                    state.records[exchange] = record
                }
            case .exchangeFinished(let metrics): end(metrics, nil, call)
            case .exchangeFailed(let error, let metrics): end(metrics, error, call)
            case .retryScheduled(let record):
                counter(Labels(Self.retries, [(.rule, record.rule.name)])).increment()
            case .waitStarted(let reason): waitMeter(reason).increment()
            case .waitEnded(let reason, let duration):
                waitMeter(reason).decrement()
                timer(Labels(Self.waits, [(.waitReason, Self.name(reason))])).recordNanoseconds(
                    duration.wholeNanoseconds
                )
            case .cacheServed: countCacheUse("served")
            case .cacheMissed: countCacheUse("missed")
            case .cacheValidated: countCacheUse("validated")
            case .cacheJoined: countCacheUse("joined")
            case .bodyFinished, .callFailed: state.withLock { _ = $0.templates.removeValue(forKey: call.id) }
            default: break
            }
        }

        private func begin(_ method: Request.Method, _ url: String, _ call: Call) {
            var pairs: [(Conventions.Key, String)] = [(.method, Conventions.name(method))]
            if let server = Conventions.Server(url) {
                pairs += [(.serverAddress, server.address), (.serverPort, "\(server.port)"), (.scheme, server.scheme)]
            }
            let target = Labels(Self.active, pairs)
            let start = call.time.now
            state.withLock { state in
                let template = state.templates[call.id]
                let record = Record(target: target, template: template, start: start)
                state.records[Exchange(call: call.id, hedge: call.hedge)] = record
            }
            meter(target).increment()
        }

        private func end(_ metrics: Response.Metrics, _ error: LoadingError?, _ call: Call) {
            let exchange = Exchange(call: call.id, hedge: call.hedge)
            guard let record = state.withLock({ $0.records.removeValue(forKey: exchange) }) else { return }
            meter(record.target).decrement()
            var pairs = record.target.pairs
            if let status = record.status { pairs.append((.status, "\(status)")) }
            if let version = record.version { pairs.append((.protocolVersion, Conventions.number(version))) }
            if let error {
                pairs.append((.errorType, error.typeName))
            } else if let status = record.status, status.code >= 400 {
                pairs.append((.errorType, "\(status)"))
            }
            if let template = record.template { pairs.append((.template, template)) }
            let duration = record.start.duration(to: call.time.now)
            timer(Labels(Self.duration, pairs)).recordNanoseconds(duration.wholeNanoseconds)
            if metrics.requestBodyBytes > 0 {
                recorder(Labels(Self.requestSize, pairs)).record(metrics.requestBodyBytes)
            }
            recorder(Labels(Self.responseSize, pairs)).record(metrics.responseBodyBytes)
        }

        private func waitMeter(_ reason: Call.WaitReason) -> Meter {
            meter(Labels(Self.waiting, [(.waitReason, Self.name(reason))]))
        }

        private func countCacheUse(_ result: String) {
            counter(Labels(Self.cacheUse, [(.cacheResult, result)])).increment()
        }

        private static func name(_ reason: Call.WaitReason) -> String {
            switch reason {
            case .connection: "connection"
            case .connectivity: "connectivity"
            case .rateLimit: "rateLimit"
            case .fleet: "fleet"
            case .gate: "gate"
            case .concurrency: "concurrency"
            case .backoff: "backoff"
            case .coalescing: "coalescing"
            case .anotherProcess: "anotherProcess"
            case .authorisation: "authorisation"
            case .probe: "probe"
            }
        }

        // MARK: - Metrics

        /// A name and dimensions.
        private struct Labels: Hashable {
            let name: String
            let dimensions: [Dimension]

            struct Dimension: Hashable {
                let key: Conventions.Key
                let value: String
            }

            init(_ name: String, _ pairs: [(Conventions.Key, String)]) {
                self.name = name
                dimensions = pairs.map { Dimension(key: $0, value: $1) }
            }

            var pairs: [(Conventions.Key, String)] { dimensions.map { ($0.key, $0.value) } }
            var texts: [(String, String)] { dimensions.map { ($0.key.rawValue, $0.value) } }
        }

        // A metric is made outside the lock: the factory is code of the app. Two threads may make the same one, and one of the two is kept.
        private func kept<Metric>(
            _ path: WritableKeyPath<State, [Labels: Metric]>,
            _ labels: Labels,
            _ make: () -> Metric
        ) -> Metric where Metric: Sendable {
            if let known = state.withLock({ $0[keyPath: path][labels] }) { return known }
            let made = make()
            return state.withLock { state in
                if let known = state[keyPath: path][labels] { return known }
                state[keyPath: path][labels] = made
                return made
            }
        }

        private func timer(_ labels: Labels) -> Timer {
            kept(\.timers, labels) {
                Timer(label: labels.name, dimensions: labels.texts, preferredDisplayUnit: .seconds, factory: factory)
            }
        }

        private func meter(_ labels: Labels) -> Meter {
            kept(\.meters, labels) { Meter(label: labels.name, dimensions: labels.texts, factory: factory) }
        }

        private func recorder(_ labels: Labels) -> Recorder {
            kept(\.recorders, labels) {
                Recorder(label: labels.name, dimensions: labels.texts, aggregate: true, factory: factory)
            }
        }

        private func counter(_ labels: Labels) -> Counter {
            kept(\.counters, labels) { Counter(label: labels.name, dimensions: labels.texts, factory: factory) }
        }
    }
#else
    /// Counts and times exchanges with swift-metrics; exists with the trait `SwiftMetrics` alone.
    @available(
        *,
        unavailable,
        message: "Add traits: [\"SwiftMetrics\"] to the dependency on the package lade, which is off by default."
    )
    public enum MetricsObserver {}
#endif
