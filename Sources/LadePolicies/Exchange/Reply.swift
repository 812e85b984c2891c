#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// The demands of a response's head on later calls: the delay that the server requests, and the quota that it announces.
///
/// It is parsed once, where the response arrives (`ExchangeInterceptor`), and travels with the response to the limiter, the
/// addresses and the retries above. An app's interceptor that changes the head takes it away, so that everything above the
/// interceptor reads the changed head.
final class Reply: HeadReading {
    /// The delay that `Retry-After` requests, from the arrival on; nil without one that can be read.
    let delay: Duration?
    /// `Retry-After`, if it is not understood.
    let ignoredDelay: String?
    /// The quotas that the server announces; of several, the strictest counts.
    let quotas: [QuotaReading]
    /// The fields of quotas that are not understood.
    let ignoredQuotas: [QuotaReading.IgnoredField]

    /// Reads a head; nil for one that asks nothing, as most do.
    ///
    /// - Parameters:
    ///   - headers: The fields.
    ///   - now: The time of arrival.
    init?(_ headers: Headers, now: @autoclosure () -> Date) {
        guard headers.containsName(startingWithOneOf: Self.names) else { return nil }
        let now = now()
        delay = headers.requestedDelay(now: now)
        ignoredDelay = delay == nil ? headers.joined("Retry-After") : nil
        (quotas, ignoredQuotas) = QuotaReading.all(in: headers, now: now)
    }

    /// The beginnings of the names that are read.
    private static let names: [StaticString] = ["retry-after", "ratelimit", "x-ratelimit"]
}

extension Response {
    /// The demands of the head on later calls; nil for a head without one.
    ///
    /// An event reports a requested delay that is not understood, where the head is parsed.
    func reply(_ call: Call) -> Reply? {
        if let known = reading as? Reply { return known }
        let reply = Reply(headers, now: call.time.date)
        if status.code >= 400, let text = reply?.ignoredDelay {
            call.record(.valueIgnored(name: "Retry-After", value: text))
        }
        return reply
    }

    /// Whether the server says when to come back, in a way that is understood.
    var requestsDelay: Bool {
        if let known = reading as? Reply { return known.delay != nil }
        // The date matters for the length of the delay alone.
        return headers.requestedDelay(now: Date(timeIntervalSince1970: 0)) != nil
    }
}
