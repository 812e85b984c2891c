package import LadeCore

/// The identification of exchanges in the traces of servers (W3C Trace Context).
///
/// A call continues the trace of its request's ``TraceContext``, and otherwise begins a new one.
public struct Tracing: Sendable {
    /// The sampled flag of new traces, which says that they are recorded; true by default.
    public var isSampled = true
    /// The members that the service adds in front of `tracestate`; nil for none.
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
        let trace = request[CallTrace.self] ?? CallTrace(call.random, continuing: request.continuedTrace)
        // Sixteen hexadecimal digits that are not all zero.
        let parent = CallTrace.digits(call.random.next() | 1)
        let flags = trace.continued?.flags ?? (isSampled ? 1 : 0)
        request.headers.add("traceparent", TraceContext.parent(trace.id, parent, flags))
        let inherited = trace.continued?.state
        if let value = state.map({ TraceContext.state($0, before: inherited) }) ?? inherited {
            request.headers.set("tracestate", value)
        }
    }
}

/// The trace of a call, the same for all of its exchanges.
package struct CallTrace: Request.Tag {
    package static var defaultValue: CallTrace? { nil }

    let id: String
    /// The context that the trace comes from; nil for a new one.
    let continued: TraceContext?

    /// Continues a trace, or makes one of 128 random bits.
    package init(_ random: any RandomSource, continuing context: TraceContext?) {
        continued = context
        id = context?.traceID ?? Self.digits(random.next()) + Self.digits(random.next() | 1)
    }

    /// Sixteen hexadecimal digits.
    static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension Request {
    /// The trace that the request continues: its own, or that of the task.
    package var continuedTrace: TraceContext? { traceContext ?? TraceContext.current }
}
