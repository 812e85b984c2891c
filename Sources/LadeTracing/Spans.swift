#if SwiftTracing
    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif
    public import Lade
    public import Tracing

    extension Service.Settings {
        /// Makes a span of each call, and a child of it for each exchange, by the OpenTelemetry conventions for HTTP clients.
        ///
        /// The parent is `ServiceContext.current` of the task that starts the call. The tracer writes the context of an exchange
        /// into its fields, and `tracing` of the settings adds nothing then. A request with its own `traceparent` keeps it. A
        /// span ends with the body that it is for.
        ///
        /// - Parameters:
        ///   - tracer: The tracer; nil, the default, for that of the program at the time of the call.
        ///   - fields: The names of the fields that it writes, for the cache.
        public mutating func addSpans(
            by tracer: (any Tracer)? = nil,
            fields: [String] = ["traceparent", "tracestate", "baggage"]
        ) {
            callInterceptors.append(CallSpans(tracer: tracer))
            attemptInterceptors.append(ExchangeSpans(fields: fields))
        }
    }

    /// Makes a span of each call.
    struct CallSpans: Interceptor {
        let tracer: (any Tracer)?

        var observesScope: Bool { true }
        var changedFields: [String] { [] }

        func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
            guard let tracer = currentTracer else { return try await next(request) }
            return try await trace(request, next, tracer)
        }

        /// The tracer that makes spans; nil when none does.
        private var currentTracer: (any Tracer)? {
            // Finding a tracer in an instrument takes a thousand instructions.
            if tracer == nil, InstrumentationSystem.instrument is NoOpInstrument { return nil }
            let tracer = tracer ?? InstrumentationSystem.tracer
            return tracer is NoOpTracer ? nil : tracer
        }

        // A function of its own, so that a call without a tracer has a small frame.
        private func trace(
            _ request: Request,
            _ next: Chain.Next,
            _ tracer: any Tracer
        ) async throws(LoadingError) -> Response {
            let span = tracer.startSpan(Self.name(request), ofKind: .internal)
            let ending = SpanEnd(span)
            if span.isRecording {
                ending.set(.method, Conventions.name(request.method))
                ending.set(.template, request.routeTemplate)
                ending.set(.operation, request.operationID)
                ending.set(.fullURL, Self.address(request))
            }
            var asked = request
            asked[CallSpan.self] = CallSpan(tracer: tracer, context: span.context)
            do throws(LoadingError) {
                let response = try await next(asked)
                let accepted = next.call.acceptableStatuses ?? .successful
                ending.set(.status, Int64(response.status.code))
                if !accepted.contains(response.status) { ending.fail("\(response.status)") }
                return ending.following(response)
            } catch {
                ending.end(error)
                throw error
            }
        }

        static func name(_ request: Request) -> String {
            let method = Conventions.name(request.method)
            let name = method == Conventions.otherMethod ? "HTTP" : method
            return request.routeTemplate.map { "\(name) \($0)" } ?? name
        }

        static func address(_ request: Request) -> String { Redaction(request).address(request.url.absoluteString) }
    }

    /// Makes a span of each exchange, as a child of that of its call, and writes its context into the fields.
    struct ExchangeSpans: Interceptor {
        let fields: [String]

        var observesScope: Bool { true }
        var changedFields: [String] { fields }

        func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
            guard let parent = request[CallSpan.self] else { return try await next(request) }
            return try await trace(request, next, parent)
        }

        private func trace(
            _ request: Request,
            _ next: Chain.Next,
            _ parent: CallSpan
        ) async throws(LoadingError) -> Response {
            let number = parent.exchanges.withLock { count in
                defer { count += 1 }
                return count
            }
            let span = parent.tracer.startSpan(CallSpans.name(request), context: parent.context, ofKind: .client)
            let ending = SpanEnd(span)
            if span.isRecording { Self.describe(request, number, ending) }
            var sent = request
            if !request.headers.contains("traceparent") {
                parent.tracer.inject(span.context, into: &sent.headers, using: FieldInjector())
            }
            do throws(LoadingError) {
                let response = try await next(sent)
                if span.isRecording { Self.describe(response, ending) }
                return ending.following(response)
            } catch {
                if let status = error.context.status { ending.set(.status, Int64(status.code)) }
                ending.end(error)
                throw error
            }
        }

        private static func describe(_ request: Request, _ number: Int, _ span: SpanEnd) {
            let method = Conventions.name(request.method)
            span.set(.method, method)
            if method != request.method.rawValue { span.set(.originalMethod, request.method.rawValue) }
            span.set(.fullURL, CallSpans.address(request))
            span.set(.template, request.routeTemplate)
            if let server = Conventions.Server(request.url.absoluteString) {
                span.set(.scheme, server.scheme)
                span.set(.serverAddress, server.address)
                span.set(.serverPort, Int64(server.port))
            }
            if number > 0 { span.set(.resendCount, Int64(number)) }
        }

        private static func describe(_ response: Response, _ span: SpanEnd) {
            span.set(.status, Int64(response.status.code))
            span.set(.protocolVersion, response.version.map(Conventions.number))
            span.set(.peerAddress, response.metrics.remoteAddress)
            span.set(.peerPort, response.metrics.remotePort.map(Int64.init))
            if response.status.code >= 400 { span.fail("\(response.status)") }
        }
    }

    /// The span of a call, for its exchanges.
    struct CallSpan: Request.Tag {
        static var defaultValue: CallSpan? { nil }

        let tracer: any Tracer
        let context: ServiceContext
        /// How many exchanges have begun.
        let exchanges = Locked(0)
    }

    private struct FieldInjector: Injector {
        func inject(_ value: String, forKey key: String, into carrier: inout Headers) { carrier.set(key, value) }
    }

    /// Completes and ends a span.
    private struct SpanEnd: Sendable {
        private let span: any Span

        init(_ span: any Span) { self.span = span }

        func set(_ key: Conventions.Key, _ value: String?) {
            if let value { span.attributes.set(key.rawValue, value: .string(value)) }
        }

        func set(_ key: Conventions.Key, _ value: Int64?) {
            if let value { span.attributes.set(key.rawValue, value: .int64(value)) }
        }

        func fail(_ type: String) {
            set(.errorType, type)
            span.setStatus(SpanStatus(code: .error))
        }

        /// Ends the span with an error; cancellation is an outcome, and not an error.
        func end(_ error: LoadingError) {
            set(.errorType, error.typeName)
            if !error.isCancellation {
                span.recordError(error)
                span.setStatus(SpanStatus(code: .error, message: error.description))
            }
            span.end()
        }

        /// Ends the span with the body of the response: now for a complete one, and later for a stream.
        func following(_ response: Response) -> Response {
            guard response.body.bytes == nil else {
                complete(response.metrics)
                span.end()
                return response
            }
            var response = response
            response.body = response.body.wrapped { source in
                ObservedBody(source) { end in
                    complete(source.metrics)
                    switch end {
                    case .whole: break
                    case .failed(let error): return self.end(error)
                    case .cancelled: set(.outcome, "cancelled")
                    case .abandoned: set(.outcome, "released")
                    }
                    span.end()
                }
            }
            return response
        }

        private func complete(_ metrics: Response.Metrics) {
            guard span.isRecording else { return }
            if metrics.requestBodyBytes > 0 { set(.requestBodySize, metrics.requestBodyBytes) }
            set(.responseBodySize, metrics.responseBodyBytes)
        }
    }
#else
    public import Lade

    extension Service.Settings {
        /// Makes spans of calls with swift-distributed-tracing; exists with the trait `SwiftTracing` alone.
        @available(
            *,
            unavailable,
            message: "Add traits: [\"SwiftTracing\"] to the dependency on the package lade, which is off by default."
        )
        public mutating func addSpans() {}
    }
#endif
