#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// A transport without a network: it gives scripted responses and records the requests.
///
/// ```swift
/// let transport = ScriptedTransport()
/// transport.on(.get, "/shows").respond(.json(#"{"shows": []}"#))
/// transport.on(.post, "/shows").respond(.status(503, headers: ["Retry-After": "3"])).then(.status(201))
/// ```
///
/// A request uses the first rule, in the order of definition, that matches it and has a response left. The responses of
/// a rule are used in order, however they were given. The last one is used again and again, unless ``Rule/andNoMore()``
/// is called. A request without a matching rule fails with an error that names the request and the rules.
///
/// Waits use the time of the call, so virtual time controls them. `buffered` responses are collected up to their limit,
/// `streamed` ones are read step by step. The time-out of the whole exchange (`timeouts.whole`) applies in the call's
/// time, also during the body. The connect and idle time-outs are not simulated: script ``ScriptedResponse/timesOut(_:)``
/// for them. Methods may be called from any thread.
public final class ScriptedTransport: Sendable {
    /// A request as it was received, with its body.
    public struct Received: Sendable {
        /// The request.
        public let request: Request
        /// The call of the request.
        public let call: Call
        /// All bytes of its body; empty when it had none.
        public let body: Data
        /// The trailer section of the body.
        public let trailers: Headers

        /// The body as text.
        public var text: String { String(decoding: body, as: UTF8.self) }
        /// The path and the query, as in a request line.
        public var target: String { ScriptedTransport.target(of: request.url) }
    }

    struct State {
        var rules: [RuleState] = []
        var received: [Received] = []
        var unscripted: [Request] = []
        var cancellations = 0
        var inFlight = 0
        var maximumInFlight = 0
    }

    struct RuleState {
        let title: String
        let matches: @Sendable (Request) -> Bool
        var responses: [ScriptedResponse] = []
        var given = 0
        var repeatsLast = true

        mutating func take() -> ScriptedResponse? {
            guard let last = responses.last, given < responses.count || repeatsLast else { return nil }
            defer { given += 1 }
            return given < responses.count ? responses[given] : last
        }
    }

    let state = Watched(State())

    /// Makes a transport without rules.
    public init() {}

    /// Makes a transport with one rule, for any request, that gives these responses in order, and the last one again and again.
    ///
    /// ```swift
    /// let transport = ScriptedTransport(answering: .status(503), .json("[]"))      // 503 once, then the list every time
    /// ```
    ///
    /// For responses that are used once: `ScriptedTransport().onAnyRequest().respond(…).andNoMore()`.
    public convenience init(answering responses: ScriptedResponse...) {
        self.init()
        let rule = onAnyRequest()
        for response in responses { rule.then(response) }
    }

    // MARK: - Scripting

    /// Starts a rule for a method and an address.
    ///
    /// - Parameters:
    ///   - method: The method, or nil for any.
    ///   - address: A path (`/shows`: any host, any query), a path with a query (`/shows?size=2`: exactly that), or a
    ///     whole address with scheme and host.
    /// - Returns: The rule, to which responses can be added.
    @discardableResult
    public func on(_ method: Request.Method?, _ address: String) -> Rule {
        let title = "\(method?.rawValue ?? "any method") \(address)"
        return on(title) { request in
            (method == nil || request.method == method) && Self.matches(request.url, address)
        }
    }

    /// Starts a rule for the requests that satisfy a predicate.
    ///
    /// - Parameters:
    ///   - title: The name of the rule in the error for unscripted requests.
    ///   - predicate: Whether the rule applies to a request.
    /// - Returns: The rule, to which responses can be added.
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

    // MARK: - Inspecting

    /// Every request so far, in order of arrival, including unscripted ones.
    public var received: [Received] { state.read(\.received) }

    /// Every request so far, without bodies.
    public var requests: [Request] { received.map(\.request) }

    /// The requests so far as lines, `GET /shows?size=2`.
    public var lines: [String] { received.map { "\($0.request.method) \($0.target)" } }

    /// The requests to which no rule applied.
    public var unscripted: [Request] { state.read(\.unscripted) }

    /// How many exchanges ended because their task was cancelled or their body was released.
    public var cancellations: Int { state.read(\.cancellations) }

    /// How many calls of `send` are running.
    public var inFlight: Int { state.read(\.inFlight) }

    /// The most calls of `send` that ran at the same time.
    public var maximumInFlight: Int { state.read(\.maximumInFlight) }

    /// Waits until the request with the given number (from 0) has arrived.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    public func request(at index: Int) async throws(LoadingError) -> Received {
        try await state.value { index < $0.received.count ? $0.received[index] : nil }
    }

    /// Waits until a number of exchanges were cancelled.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    public func cancellations(atLeast count: Int) async throws(LoadingError) {
        try await state.value { $0.cancellations >= count ? () : nil }
    }
}
