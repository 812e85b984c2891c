package import LadeCore

/// The identification of exchanges in the traces of servers (W3C Trace Context).
public struct Tracing: Sendable {
    /// The sampled flag, which says that the traces are recorded; true by default.
    public var isSampled = true
    /// The value of `tracestate`; nil for none.
    public var state: String?

    /// Makes the default settings.
    public init() {}
}

extension Tracing {
    /// Gives an exchange its `traceparent`: one trace per call, one parent per exchange.
    ///
    /// A request with its own `traceparent` keeps it.
    func add(to request: inout Request, _ call: Call) {
        guard request.isHTTP, !request.headers.contains("traceparent") else { return }
        let trace = (request[TraceID.self] ?? TraceID(call.random)).text
        // Sixteen hexadecimal digits that are not all zero.
        let parent = TraceID.digits(call.random.next() | 1)
        request.headers.add("traceparent", "00-\(trace)-\(parent)-\(isSampled ? "01" : "00")")
        if let state { request.headers.set("tracestate", state) }
    }
}

/// The trace of a call, the same for all of its exchanges.
package struct TraceID: Request.Tag {
    package static var defaultValue: TraceID? { nil }

    let text: String

    /// Makes a trace of 128 random bits.
    package init(_ random: any RandomSource) {
        text = Self.digits(random.next()) + Self.digits(random.next() | 1)
    }

    /// Sixteen hexadecimal digits.
    static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
