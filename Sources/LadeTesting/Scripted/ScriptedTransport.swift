#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// A transport without a network: it answers as it was told and remembers what it was asked.
///
/// ```swift
/// let transport = ScriptedTransport()
/// transport.on(.get, "/shows").respond(.json(#"{"shows": []}"#))
/// transport.on(.post, "/shows").respond(.status(503, headers: ["Retry-After": "3"])).then(.status(201))
/// ```
///
/// A request goes to the first rule, in the order they were written, that matches it and has an answer left. The answers
/// of a rule are given in order; the last one is given again and again unless ``Rule/andNoMore()`` says otherwise. A
/// request no rule answers fails with an error that names the request and the rules.
///
/// Waits are in the time of the call, so virtual time moves them. Delivery is honoured: `buffered` answers are collected
/// up to their limit, `streamed` ones are read step by step. The time-out of the whole exchange (`timeouts.whole`) is kept
/// in the call's time, in the body too; those of connecting and idling are not simulated, so script
/// ``ScriptedAnswer/timesOut(_:)`` for them. Methods may be called from any thread.
public final class ScriptedTransport: Transport {
    /// A request as it was received, with its body.
    public struct Received: Sendable {
        /// The request.
        public let request: Request
        /// The call it belonged to.
        public let call: Call
        /// All bytes of its body; empty when it had none.
        public let body: Data
        /// The trailer section that the body made.
        public let trailers: Headers

        /// The body as text.
        public var text: String { String(decoding: body, as: UTF8.self) }
        /// The path and the query, as in a request line.
        public var target: String { ScriptedTransport.target(of: request.url) }
    }

    private struct State {
        var rules: [RuleState] = []
        var received: [Received] = []
        var unscripted: [Request] = []
        var cancellations = 0
        var inFlight = 0
        var maximumInFlight = 0
    }

    fileprivate struct RuleState {
        let title: String
        let matches: @Sendable (Request) -> Bool
        var answers: [ScriptedAnswer] = []
        var given = 0
        var repeatsLast = true

        mutating func take() -> ScriptedAnswer? {
            guard let last = answers.last, given < answers.count || repeatsLast else { return nil }
            defer { given += 1 }
            return given < answers.count ? answers[given] : last
        }
    }

    private let state = Watched(State())

    /// Makes a transport that answers nothing yet.
    public init() {}

    /// Makes a transport that gives these answers in order, whatever is asked, and then no more.
    public convenience init(answering answers: ScriptedAnswer...) {
        self.init()
        let rule = onAnyRequest()
        for answer in answers { rule.then(answer) }
        rule.andNoMore()
    }

    // MARK: - Scripting

    /// Starts a rule for a method and an address.
    ///
    /// - Parameters:
    ///   - method: The method, or nil for any.
    ///   - address: A path (`/shows`: any host, any query), a path with a query (`/shows?size=2`: exactly that), or a
    ///     whole address with scheme and host.
    /// - Returns: The rule, to be given answers.
    @discardableResult
    public func on(_ method: Method?, _ address: String) -> Rule {
        let title = "\(method?.rawValue ?? "any method") \(address)"
        return on(title) { request in
            (method == nil || request.method == method) && Self.matches(request.url, address)
        }
    }

    /// Starts a rule for the requests that satisfy a predicate.
    ///
    /// - Parameters:
    ///   - title: What the rule is called in the error for unscripted requests.
    ///   - predicate: Whether the rule answers a request.
    /// - Returns: The rule, to be given answers.
    @discardableResult
    public func on(_ title: String, where predicate: @escaping @Sendable (Request) -> Bool) -> Rule {
        let index = state.change { state in
            state.rules.append(RuleState(title: title, matches: predicate))
            return state.rules.count - 1
        }
        return Rule(transport: self, index: index)
    }

    /// Starts a rule for every request.
    @discardableResult
    public func onAnyRequest() -> Rule {
        on("any request") { _ in true }
    }

    /// A rule under construction: which requests it answers is fixed, its answers are added.
    public struct Rule: Sendable {
        fileprivate let transport: ScriptedTransport
        fileprivate let index: Int

        /// Adds the first answer; the same as ``then(_:)``, for reading.
        @discardableResult
        public func respond(_ answer: ScriptedAnswer) -> Rule {
            then(answer)
        }

        /// Adds the next answer.
        @discardableResult
        public func then(_ answer: ScriptedAnswer) -> Rule {
            transport.state.change { $0.rules[index].answers.append(answer) }
            return self
        }

        /// Adds the next answer, to be given so many times.
        @discardableResult
        public func then(_ answer: ScriptedAnswer, times: Int) -> Rule {
            for _ in 0..<times { then(answer) }
            return self
        }

        /// Does not repeat the last answer: later requests go to later rules, or are unscripted.
        @discardableResult
        public func andNoMore() -> Rule {
            transport.state.change { $0.rules[index].repeatsLast = false }
            return self
        }

        /// How many answers the rule has given.
        public var givenCount: Int { transport.state.read { $0.rules[index].given } }
    }

    // MARK: - Looking

    /// Every request so far, in order of arrival, unscripted ones too.
    public var received: [Received] { state.read(\.received) }

    /// Every request so far, without bodies.
    public var requests: [Request] { received.map(\.request) }

    /// The requests so far as lines, `GET /shows?size=2`.
    public var lines: [String] { received.map { "\($0.request.method) \($0.target)" } }

    /// The requests that no rule answered.
    public var unscripted: [Request] { state.read(\.unscripted) }

    /// How many exchanges ended because their task was cancelled or their body was dropped.
    public var cancellations: Int { state.read(\.cancellations) }

    /// How many calls of `send` run now.
    public var inFlight: Int { state.read(\.inFlight) }

    /// The most calls of `send` that ever ran at once.
    public var maximumInFlight: Int { state.read(\.maximumInFlight) }

    /// Waits until the request of that number (from 0) has arrived.
    ///
    /// - Throws: `LoadingError.cancelled` when the task is cancelled.
    public func request(at index: Int) async throws(LoadingError) -> Received {
        try await state.value { index < $0.received.count ? $0.received[index] : nil }
    }

    /// Waits until so many exchanges have been cancelled.
    ///
    /// - Throws: `LoadingError.cancelled` when the task is cancelled.
    public func cancellations(atLeast count: Int) async throws(LoadingError) {
        try await state.value { $0.cancellations >= count ? () : nil }
    }

    // MARK: - Transport

    /// Answers as scripted.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        try await call.inTask { [self] (call) async throws(LoadingError) in try await answer(request, call) }
    }

    /// True, as with the library's own transports.
    public var observesScope: Bool { true }

    private func answer(_ request: Request, _ call: Call) async throws(LoadingError) -> Response {
        try request.validate()
        state.change { state in
            state.inFlight += 1
            state.maximumInFlight = max(state.maximumInFlight, state.inFlight)
        }
        defer { state.change { $0.inFlight -= 1 } }
        let start = call.time.now
        guard !Task.isCancelled else {
            countCancellation()
            throw .cancelled(ErrorContext(request))
        }
        let (body, trailers) = try await Self.collect(request)
        let received = Received(request: request, call: call, body: body, trailers: trailers)
        // The predicates are the caller's: they must not run under the lock.
        let rules = state.change { state in
            state.received.append(received)
            return state.rules
        }
        let matching = rules.indices.filter { rules[$0].matches(request) }
        let answer = state.change { state -> ScriptedAnswer? in
            for index in matching {
                if let answer = state.rules[index].take() { return answer }
            }
            state.unscripted.append(request)
            return nil
        }
        guard let answer else { throw unscriptedError(request, rules.map(\.title)) }
        call.record(.exchangeStarted(method: request.method, url: ErrorContext(request).url ?? ""))
        var metrics = Metrics()
        metrics.requestBodyBytes = Int64(body.count)
        metrics.requestHeadBytes = Self.headSize("\(request.method) \(received.target) HTTP/1.1", request.headers)
        do throws(Ending) {
            return try await perform(answer, request, call, start, metrics)
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
        _ scripted: ScriptedAnswer,
        _ request: Request,
        _ call: Call,
        _ start: Instant,
        _ begun: Metrics
    ) async throws(Ending) -> Response {
        var answer = scripted
        while true {
            for pause in answer.pauses { try await wait(pause, request, call, start) }
            guard case .computed(let make) = answer.outcome else { break }
            do throws(LoadingError) {
                answer = try await make(request, call)
            } catch {
                throw Ending(error: error.withContext(of: request))
            }
        }
        switch answer.outcome {
        case .failure(let error):
            throw Ending(error: error.withContext(of: request))
        case .response(let status):
            return try await respond(answer, status, request, call, start, begun)
        case .stall, .computed:
            try await wait(.signal(Signal()), request, call, start)
            throw Ending(error: .cancelled(ErrorContext(request)))
        }
    }

    private func respond(
        _ answer: ScriptedAnswer,
        _ status: Status,
        _ request: Request,
        _ call: Call,
        _ start: Instant,
        _ begun: Metrics
    ) async throws(Ending) -> Response {
        for (status, headers) in answer.interim { call.record(.interimResponse(status: status, headers: headers)) }
        var metrics = begun
        metrics.version = answer.version
        metrics.responseHeadBytes = Self.headSize("\(answer.version.rawValue) \(status)", answer.headers)
        metrics.firstByte = start.duration(to: call.time.now)
        call.record(.headReceived(status: status, headers: answer.headers, version: answer.version))
        var delivered = answer
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
        let streaming = ResponseBody(streaming: source)
        var response = Response(
            status: status,
            headers: answer.headers,
            body: streaming,
            request: request,
            version: answer.version
        )
        guard case .buffered(let limit) = request.delivery else { return response }
        do throws(LoadingError) {
            let bytes = try await collect(streaming, limit, answer.headers, request)
            response.body = ResponseBody(bytes, trailers: source.trailers, metrics: source.metrics)
            return response
        } catch {
            var failure = error
            failure.context.status = status
            failure.context.headers = answer.headers
            throw Ending(error: failure, isFromBody: true)
        }
    }

    private func collect(
        _ body: ResponseBody,
        _ limit: Int,
        _ headers: Headers,
        _ request: Request
    ) async throws(LoadingError) -> Data {
        let announced = headers["Content-Length"].flatMap { Int64($0) }
        if let announced, announced > Int64(limit), request.method != .head {
            throw .bodyTooLarge(limit: limit, announced: announced, ErrorContext(request))
        }
        do throws(LoadingError) {
            return try await body.collect(limit: limit)
        } catch {
            throw error.withContext(of: request)
        }
    }

    /// An error, and whether the body has recorded it already.
    private struct Ending: Error {
        let error: LoadingError
        var isFromBody = false
    }

    private func wait(
        _ pause: ScriptedAnswer.Pause,
        _ request: Request,
        _ call: Call,
        _ start: Instant
    ) async throws(Ending) {
        let outcome: TimedWait.Outcome
        let limit = Self.limit(request, start)
        switch pause {
        case .duration(let duration): outcome = await TimedWait.sleep(for: duration, limit, call.time)
        case .signal(let signal):
            outcome = await TimedWait.run(limit, call.time) { () async throws(LoadingError) in try await signal.wait() }
        }
        switch outcome {
        case .done: break
        case .timedOut: throw Ending(error: .timedOut(.whole, ErrorContext(request)))
        case .cancelled: throw Ending(error: .cancelled(ErrorContext(request)))
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
        let rules = titles.isEmpty ? "nothing is" : titles.map { "“\($0)”" }.joined(separator: ", ") + " are"
        return .transport(
            code: 0,
            message: "No answer is scripted for \(request.method) \(Self.target(of: request.url)); \(rules) scripted",
            ErrorContext(request)
        )
    }
}

// MARK: - Reading requests

extension ScriptedTransport {
    /// The path and the query of an address, as in a request line.
    static func target(of url: URL) -> String {
        let path = url.path(percentEncoded: true)
        let query = url.query(percentEncoded: true).map { "?" + $0 } ?? ""
        return (path.isEmpty ? "/" : path) + query
    }

    /// The bytes of a head as HTTP/1.1 writes it.
    private static func headSize(_ line: String, _ headers: Headers) -> Int64 {
        headers.reduce(Int64(line.utf8.count + 4)) { $0 + Int64($1.name.utf8.count + $1.value.utf8.count + 4) }
    }

    private static func matches(_ url: URL, _ address: String) -> Bool {
        let query = url.query(percentEncoded: true)
        let mustMatchQuery = address.contains("?")
        if address.hasPrefix("/") {
            let target = Self.target(of: url)
            return mustMatchQuery ? target == address : target.prefix { $0 != "?" } == address
        }
        let whole = url.absoluteString.prefix { $0 != "#" }
        return mustMatchQuery || query == nil ? whole == address : whole.prefix { $0 != "?" } == address
    }

    private static func collect(_ request: Request) async throws(LoadingError) -> (Data, Headers) {
        guard let body = request.body else { return (Data(), Headers()) }
        let bytes: Data
        switch body.content {
        case .bytes(let all):
            bytes = all
        case .file(let path, let offset):
            do {
                bytes = try Data(contentsOf: URL(filePath: path)).dropFirst(Int(offset))
            } catch {
                let fault = FileFault(path: path, operation: .read, reason: "no such readable file")
                throw .file(fault, ErrorContext(request))
            }
        case .stream(let write):
            let collected = Locked(Data())
            do {
                try await write { (chunk) throws(LoadingError) in
                    guard !Task.isCancelled else { throw .cancelled(ErrorContext(request)) }
                    collected.withLock { $0.append(chunk) }
                }
            } catch {
                if Task.isCancelled { throw .cancelled(ErrorContext(request)) }
                throw .requestBodyFailed(error, ErrorContext(request))
            }
            bytes = collected.withLock { $0 }
        }
        return (Data(bytes), body.trailers?() ?? Headers())
    }
}
