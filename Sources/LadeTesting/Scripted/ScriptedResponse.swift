#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// The response of a ``ScriptedTransport`` to one request.
///
/// Start with a factory method and refine the result: every refinement returns a changed copy.
///
/// ```swift
/// let responses: [ScriptedResponse] = [
///     .json(#"{"title": "One"}"#),
///     .status(503, headers: ["Retry-After": "3"]),
///     .text("hello").after(.seconds(2)),
///     .bytes(data).inPieces(of: 1024, every: .milliseconds(10)).breaking(after: 5000),
///     .fails(LoadingError(.timedOut(.connect))),
///     .stalls,
/// ]
/// ```
public struct ScriptedResponse: Sendable {
    /// One step of a body.
    public enum Step: Sendable {
        /// Delivers these bytes as one chunk.
        case bytes(Data)
        /// Waits in the call's time.
        case wait(Duration)
        /// Waits for a signal of the test.
        case signal(Signal)
        /// Stops forever: only cancelling ends it.
        case stall
        /// Fails the body; the error gets the request's context when it has none.
        case fail(LoadingError)
    }

    enum Kind: Sendable {
        case response(Response.Status)
        case failure(LoadingError)
        case stall
        case computed(@Sendable (Request, Call) async throws(LoadingError) -> ScriptedResponse)
    }

    enum Wait: Sendable {
        case duration(Duration)
        case signal(Signal)
    }

    var kind: Kind
    var waits: [Wait] = []
    var interim: [(Response.Status, Headers)] = []
    var steps: [Step] = []
    /// The fields of the header section.
    public var headers = Headers()
    /// The fields of the trailer section.
    public var trailers = Headers()
    /// The protocol version that the response reports; HTTP/1.1 by default.
    public var version = Response.Version.http1_1

    init(_ kind: Kind) {
        self.kind = kind
    }

    // MARK: - Factory methods

    /// A response with a status and, if given, a text body.
    public static func status(_ status: Response.Status, headers: Headers = Headers(), _ text: String = "")
        -> ScriptedResponse
    {
        bytes(Data(text.utf8), status: status, headers: headers)
    }

    /// A response with a JSON text and its content type.
    public static func json(
        _ text: String,
        status: Response.Status = 200,
        headers: Headers = Headers()
    ) -> ScriptedResponse {
        bytes(Data(text.utf8), type: "application/json", status: status, headers: headers)
    }

    /// A response with a text and its content type.
    public static func text(
        _ text: String,
        status: Response.Status = 200,
        headers: Headers = Headers()
    ) -> ScriptedResponse {
        bytes(Data(text.utf8), type: "text/plain; charset=utf-8", status: status, headers: headers)
    }

    /// A response with bytes as one chunk; `Content-Length` is added unless it is among the headers.
    public static func bytes(
        _ bytes: Data,
        type: String? = nil,
        status: Response.Status = 200,
        headers: Headers = Headers()
    ) -> ScriptedResponse {
        var response = ScriptedResponse(.response(status))
        response.headers = headers
        if let type, !headers.contains("Content-Type") { response.headers.add("Content-Type", type) }
        if !headers.contains("Content-Length"), !headers.contains("Transfer-Encoding") {
            response.headers.add("Content-Length", String(bytes.count))
        }
        if !bytes.isEmpty { response.steps = [.bytes(bytes)] }
        return response
    }

    /// A response whose body follows the given steps.
    public static func steps(
        _ steps: [Step],
        status: Response.Status = 200,
        headers: Headers = Headers()
    ) -> ScriptedResponse {
        var response = ScriptedResponse(.response(status))
        response.headers = headers
        response.steps = steps
        return response
    }

    /// A response whose body has these chunks, with a wait in the call's time before each but the first.
    public static func chunks(
        _ chunks: [String],
        every interval: Duration? = nil,
        status: Response.Status = 200,
        headers: Headers = Headers()
    ) -> ScriptedResponse {
        var steps: [Step] = []
        for chunk in chunks {
            if let interval, !steps.isEmpty { steps.append(.wait(interval)) }
            steps.append(.bytes(Data(chunk.utf8)))
        }
        return .steps(steps, status: status, headers: headers)
    }

    /// An error instead of a response; it gets the request's context when it has none.
    public static func fails(_ error: LoadingError) -> ScriptedResponse {
        ScriptedResponse(.failure(error))
    }

    /// A connection that is lost before any byte of the response.
    public static func connectionLost(isSafeToRepeat: Bool = false) -> ScriptedResponse {
        .fails(LoadingError(.connectionLost(.nothing, isSafeToRepeat: isSafeToRepeat)))
    }

    /// An immediate time-out.
    ///
    /// Use `after(_:)` where the time matters. The time-out of the whole exchange needs no script.
    public static func timesOut(_ phase: LoadingError.TimeoutPhase = .idle) -> ScriptedResponse {
        .fails(LoadingError(.timedOut(phase)))
    }

    /// No response at all until the task is cancelled.
    public static var stalls: ScriptedResponse { ScriptedResponse(.stall) }

    /// The response that a closure returns for the request; the request's time-outs do not limit the closure's own waits.
    public static func computed(
        _ make: @escaping @Sendable (Request, Call) async throws(LoadingError) -> ScriptedResponse
    ) -> ScriptedResponse {
        ScriptedResponse(.computed(make))
    }

    // MARK: - Refinements

    /// Waits in the call's time before the response.
    public func after(_ duration: Duration) -> ScriptedResponse {
        with { $0.waits.append(.duration(duration)) }
    }

    /// Waits for a signal of the test before the response.
    public func after(_ signal: Signal) -> ScriptedResponse {
        with { $0.waits.append(.signal(signal)) }
    }

    /// Adds a header field.
    public func adding(_ name: String, _ value: String) -> ScriptedResponse {
        with { $0.headers.add(name, value) }
    }

    /// Sends an interim response (1xx) first, which is reported as an event.
    public func interim(_ status: Response.Status, headers: Headers = Headers()) -> ScriptedResponse {
        with { $0.interim.append((status, headers)) }
    }

    /// Ends the body with a trailer section.
    public func trailers(_ trailers: Headers) -> ScriptedResponse {
        with { $0.trailers = trailers }
    }

    /// Reports another protocol version.
    public func version(_ version: Response.Version) -> ScriptedResponse {
        with { $0.version = version }
    }

    /// Splits the chunks of the body into pieces, with a wait in the call's time before each but the first.
    public func inPieces(of size: Int, every interval: Duration? = nil) -> ScriptedResponse {
        precondition(size > 0, "A piece has at least one byte")
        return with { response in
            var steps: [Step] = []
            for step in response.steps {
                guard case .bytes(let bytes) = step else {
                    steps.append(step)
                    continue
                }
                var rest = bytes[...]
                while !rest.isEmpty {
                    if let interval, !steps.isEmpty { steps.append(.wait(interval)) }
                    steps.append(.bytes(Data(rest.prefix(size))))
                    rest = rest.dropFirst(size)
                }
            }
            response.steps = steps
        }
    }

    /// Fails the body after a number of bytes.
    ///
    /// - Parameters:
    ///   - count: How many bytes are delivered before the failure.
    ///   - error: The error that reading throws then; by default an incomplete body with the right counts.
    /// - Returns: The changed response.
    public func breaking(after count: Int, with error: LoadingError? = nil) -> ScriptedResponse {
        let expected = headers["Content-Length"].flatMap { Int64($0) }
        let fault = error ?? LoadingError(.incompleteBody(received: Int64(count), expected: expected))
        return with { $0.steps = Self.cut($0.steps, after: count) + [.fail(fault)] }
    }

    /// Stops the body after a number of bytes, forever.
    public func stalling(after count: Int) -> ScriptedResponse {
        with { $0.steps = Self.cut($0.steps, after: count) + [.stall] }
    }

    private static func cut(_ steps: [Step], after count: Int) -> [Step] {
        var left = count
        var result: [Step] = []
        for step in steps {
            guard left > 0 else { break }
            guard case .bytes(let bytes) = step else {
                result.append(step)
                continue
            }
            result.append(.bytes(Data(bytes.prefix(left))))
            left -= min(left, bytes.count)
        }
        return result
    }

    private func with(_ change: (inout ScriptedResponse) -> Void) -> ScriptedResponse {
        var copy = self
        change(&copy)
        return copy
    }
}
