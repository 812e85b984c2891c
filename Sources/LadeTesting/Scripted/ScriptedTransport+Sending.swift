#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

extension ScriptedTransport: Transport {
    /// Responds according to the script.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        try await call.inTask { [self] (call) async throws(LoadingError) in try await response(request, call) }
    }

    /// True, as with the library's own transports.
    public var observesScope: Bool { true }
    /// True: the body of a buffered response is complete when it is returned.
    public var collectsBodies: Bool { true }

    private func response(_ request: Request, _ call: Call) async throws(LoadingError) -> Response {
        try request.validate()
        state.change { state in
            state.inFlight += 1
            state.maximumInFlight = max(state.maximumInFlight, state.inFlight)
        }
        defer { state.change { $0.inFlight -= 1 } }
        let start = call.time.now
        guard !Task.isCancelled else {
            countCancellation()
            throw LoadingError(.cancelled, LoadingError.Context(request))
        }
        let (body, trailers) = try await Self.collect(request)
        let received = Received(request: request, call: call, body: body, trailers: trailers)
        // The predicates are the caller's code: they must not run under the lock.
        let rules = state.change { state in
            state.received.append(received)
            return state.rules
        }
        let matching = rules.indices.filter { rules[$0].matches(request) }
        let response = state.change { state -> ScriptedResponse? in
            for index in matching {
                if let response = state.rules[index].take() { return response }
            }
            state.unscripted.append(request)
            return nil
        }
        guard let response else { throw unscriptedError(request, rules.map(\.title)) }
        call.record(.exchangeStarted(method: request.method, url: LoadingError.Context(request).url ?? ""))
        var metrics = Response.Metrics()
        metrics.requestBodyBytes = Int64(body.count)
        metrics.requestHeadBytes = Self.headSize("\(request.method) \(received.target) HTTP/1.1", request.headers)
        do throws(Failure) {
            return try await perform(response, request, call, start, metrics)
        } catch {
            // A body that has begun records and counts its own end.
            if !error.isFromBody {
                call.record(.exchangeFailed(error.error, metrics))
                if error.error.isCancellation { countCancellation() }
            }
            throw error.error
        }
    }

    private func perform(
        _ scripted: ScriptedResponse,
        _ request: Request,
        _ call: Call,
        _ start: Instant,
        _ begun: Response.Metrics
    ) async throws(Failure) -> Response {
        var response = scripted
        while true {
            for scriptedWait in response.waits { try await wait(scriptedWait, request, call, start) }
            guard case .computed(let make) = response.kind else { break }
            do throws(LoadingError) {
                response = try await make(request, call)
            } catch {
                throw Failure(error: error.completed(with: request))
            }
        }
        switch response.kind {
        case .failure(let error):
            throw Failure(error: error.completed(with: request))
        case .response(let status):
            return try await respond(response, status, request, call, start, begun)
        case .stall, .computed:
            try await wait(.signal(Signal()), request, call, start)
            throw Failure(error: LoadingError(.cancelled, LoadingError.Context(request)))
        }
    }

    private func respond(
        _ scripted: ScriptedResponse,
        _ status: Response.Status,
        _ request: Request,
        _ call: Call,
        _ start: Instant,
        _ begun: Response.Metrics
    ) async throws(Failure) -> Response {
        for (status, headers) in scripted.interim { call.record(.interimResponse(status: status, headers: headers)) }
        var metrics = begun
        metrics.version = scripted.version
        metrics.responseHeadBytes = Self.headSize("\(scripted.version.rawValue) \(status)", scripted.headers)
        metrics.firstByte = start.duration(to: call.time.now)
        call.record(.headReceived(status: status, headers: scripted.headers, version: scripted.version))
        var delivered = scripted
        if request.method == .head || status == 204 || status == 304 { delivered.steps = [] }
        let source = ScriptedBody(
            delivered,
            request: request,
            call: call,
            metrics: metrics,
            limit: Self.limit(request, start)
        ) { [weak self] in
            self?.countCancellation()
        }
        let streaming = Response.Body(streaming: source)
        var response = Response(
            status: status,
            headers: scripted.headers,
            body: streaming,
            request: request,
            version: scripted.version
        )
        guard case .buffered(let limit) = request.delivery else { return response }
        do throws(LoadingError) {
            let bytes = try await collect(streaming, limit, response.headers, request)
            response.body = Response.Body(bytes, trailers: source.trailers, metrics: source.metrics)
            return response
        } catch {
            var failure = error
            failure.context.status = status
            failure.context.headers = response.headers
            throw Failure(error: failure, isFromBody: true)
        }
    }

    private func collect(
        _ body: Response.Body,
        _ limit: Int,
        _ headers: Headers,
        _ request: Request
    ) async throws(LoadingError) -> Data {
        let announced = headers["Content-Length"].flatMap { Int64($0) }
        if let announced, announced > Int64(limit), request.method != .head {
            throw LoadingError(.bodyTooLarge(limit: limit, announced: announced), LoadingError.Context(request))
        }
        do throws(LoadingError) {
            return try await body.collect(limit: limit)
        } catch {
            throw error.completed(with: request)
        }
    }

    /// An error, and whether the body has recorded it already.
    private struct Failure: Error {
        let error: LoadingError
        var isFromBody = false
    }

    private func wait(
        _ scriptedWait: ScriptedResponse.Wait,
        _ request: Request,
        _ call: Call,
        _ start: Instant
    ) async throws(Failure) {
        let outcome: TimedWait.Ending
        let limit = Self.limit(request, start)
        switch scriptedWait {
        case .duration(let duration): outcome = await TimedWait.sleep(for: duration, limit, call.time)
        case .signal(let signal):
            outcome = await TimedWait.run(limit, call.time) { () async throws(LoadingError) in try await signal.wait() }
        }
        switch outcome {
        case .done: break
        case .timedOut: throw Failure(error: LoadingError(.timedOut(.whole), LoadingError.Context(request)))
        case .cancelled: throw Failure(error: LoadingError(.cancelled, LoadingError.Context(request)))
        }
    }

    /// When the exchange must have ended.
    private static func limit(_ request: Request, _ start: Instant) -> Instant? {
        request.timeouts.whole.map { start.advanced(by: $0) }
    }

    private func countCancellation() {
        state.change { $0.cancellations += 1 }
    }

    private func unscriptedError(_ request: Request, _ titles: [String]) -> LoadingError {
        let rules =
            titles.isEmpty
            ? "there is no rule"
            : "the rules are for " + titles.map { "“\($0)”" }.joined(separator: ", ")
        return LoadingError(
            .transport(
                code: 0,
                message: "No response is scripted for \(request.method) \(Self.target(of: request.url)); \(rules)"
            ),
            LoadingError.Context(request)
        )
    }
}
