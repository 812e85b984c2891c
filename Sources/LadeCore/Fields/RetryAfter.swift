#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// When a server asks to be called again: `120` or `Fri, 31 Dec 1999 23:59:59 GMT` (RFC 9110 §10.2.3).
public enum RetryAfter: Sendable, Hashable {
    /// After this long, counted from when the answer arrived.
    case delay(Duration)
    /// Not before this date, by the server's clock.
    case date(Date)

    /// Reads a whole number of seconds or an HTTP date in any of its three forms.
    ///
    /// However many digits there are, the delay is at most 2³¹ seconds (68 years).
    ///
    /// - Parameters:
    ///   - string: the field value.
    ///   - now: what two-digit years are measured against; see `HTTPDate.init(_:now:)`.
    /// - Throws: `FieldError` for anything else: negative, fractional and exponential numbers, a number with a tail.
    public init(_ string: some StringProtocol, now: Date) throws(FieldError) {
        try self.init(bytes: Array(string.utf8), now: now)
    }

    /// Reads the field from bytes as they were received; see `init(_:now:)`.
    ///
    /// - Throws: `FieldError` for anything but a whole number of seconds or an HTTP date.
    public init(bytes: [UInt8], now: Date) throws(FieldError) {
        var cursor = FieldCursor(bytes, field: "Retry-After")
        cursor.skipWhitespace()
        guard let seconds = cursor.deltaSeconds() else {
            self = .date(try HTTPDate.read(&cursor, now: now).date)
            return
        }
        cursor.skipWhitespace()
        guard cursor.isAtEnd else { throw cursor.error(.trailingBytes) }
        self = .delay(.seconds(seconds))
    }

    /// How long to wait from now on, from zero to 2³¹ seconds.
    ///
    /// - Parameters:
    ///   - serverDate: the `Date` field of the same answer. A date to retry at is measured against it, so that the wait
    ///     is right though the two clocks differ (policies PL-13).
    ///   - now: what a date is measured against without one.
    /// - Returns: the wait; zero for a date that has passed.
    public func delay(serverDate: Date?, now: Date) -> Duration {
        let limit = FieldCursor.deltaSecondsLimit
        switch self {
        case .delay(let delay):
            return min(max(delay, .zero), .seconds(limit))
        case .date(let date):
            let interval = date.timeIntervalSince(serverDate ?? now)
            // Not a number compares false: no wait.
            guard interval > 0 else { return .zero }
            return interval < Double(limit) ? .seconds(interval) : .seconds(limit)
        }
    }
}

extension RetryAfter: CustomStringConvertible {
    /// The field value: seconds, a fraction counted as a whole one so that nobody comes early, or IMF-fixdate.
    public var description: String {
        switch self {
        case .delay:
            let (seconds, attoseconds) = delay(serverDate: nil, now: .distantPast).components
            return String(seconds + (attoseconds > 0 ? 1 : 0))
        case .date(let date):
            return HTTPDate(date).description
        }
    }
}
