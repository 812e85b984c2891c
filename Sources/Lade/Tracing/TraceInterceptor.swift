/// The identification of exchanges in the traces of servers (W3C Trace Context).
public struct Tracing: Sendable {
    /// The sampled flag, which says that the traces are recorded; true by default.
    public var isSampled = true
    /// The value of `tracestate`; nil for none.
    public var state: String?

    /// Makes the default settings.
    public init() {}
}

/// Gives each exchange a `traceparent`: one trace per call, one parent per exchange.
///
/// A request with its own `traceparent` keeps it.
package struct TraceInterceptor: Interceptor {
    private let tracing: Tracing

    /// Makes the interceptor.
    package init(_ tracing: Tracing) {
        self.tracing = tracing
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// The fields of the trace.
    package var changedFields: [String]? { ["traceparent", "tracestate"] }

    /// Adds the fields.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        guard request.isHTTP, !request.headers.contains("traceparent") else { return try await next(request) }
        var traced = request
        let trace = (request[TraceID.self] ?? TraceID(next.call.random)).text
        let parent = "00-\(trace)-\(identifier(next.call))-\(tracing.isSampled ? "01" : "00")"
        traced.headers.add("traceparent", parent)
        if let state = tracing.state { traced.headers.set("tracestate", state) }
        return try await next(traced)
    }

    /// Sixteen hexadecimal digits that are not all zero.
    private func identifier(_ call: Call) -> String {
        TraceID.digits(call.random.next() | 1)
    }
}

/// The trace of a call, the same for all of its exchanges.
struct TraceID: Request.Tag {
    static var defaultValue: TraceID? { nil }

    let text: String

    /// Makes a trace of 128 random bits.
    init(_ random: any RandomSource) {
        text = Self.digits(random.next()) + Self.digits(random.next() | 1)
    }

    /// Sixteen hexadecimal digits.
    static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
