#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Headers {
    /// The earliest time of the next request that a server allows: `120` or `Fri, 31 Dec 1999 23:59:59 GMT` (RFC 9110 §10.2.3).
    public enum RetryAfter: Sendable, Hashable {
        /// After this long, counted from the arrival of the response.
        case delay(Duration)
        /// Not before this date, by the server's clock.
        case date(Date)

        /// Reads a whole number of seconds or an HTTP date in any of its three forms.
        ///
        /// The delay is at most 2³¹ seconds (68 years), for any number of digits.
        ///
        /// - Parameters:
        ///   - string: the field value.
        ///   - now: the reference for two-digit years; see `Headers.HTTPDate.init(_:now:)`.
        /// - Throws: `Headers.FieldError` for anything else: negative, fractional and exponential numbers, a number with a tail.
        public init(_ string: some StringProtocol, now: Date) throws(Headers.FieldError) {
            try self.init(bytes: Array(string.utf8), now: now)
        }

        /// Reads the field from bytes as they were received; see `init(_:now:)`.
        ///
        /// - Throws: `Headers.FieldError` for anything but a whole number of seconds or an HTTP date.
        public init(bytes: [UInt8], now: Date) throws(Headers.FieldError) {
            var cursor = FieldCursor(bytes, field: "Retry-After")
            cursor.skipWhitespace()
            guard let seconds = cursor.deltaSeconds() else {
                self = .date(try Headers.HTTPDate.read(&cursor, now: now).date)
                return
            }
            cursor.skipWhitespace()
            guard cursor.isAtEnd else { throw cursor.error(.trailingBytes) }
            self = .delay(.seconds(seconds))
        }

        /// How long to wait from now, from zero to 2³¹ seconds.
        ///
        /// - Parameters:
        ///   - serverDate: the `Date` field of the same response. A retry date is compared with it, so that the wait is right
        ///     even if the two clocks differ.
        ///   - now: what a retry date is compared with when `serverDate` is nil.
        /// - Returns: the wait; zero for a date that has passed.
        public func delay(serverDate: Date?, now: Date) -> Duration {
            let limit = FieldCursor.deltaSecondsLimit
            switch self {
            case .delay(let delay):
                return Swift.min(Swift.max(delay, .zero), .seconds(limit))
            case .date(let date):
                let interval = date.timeIntervalSince(serverDate ?? now)
                // NaN compares false: no wait.
                guard interval > 0 else { return .zero }
                return interval < Double(limit) ? .seconds(interval) : .seconds(limit)
            }
        }
    }
}

extension Headers.RetryAfter: CustomStringConvertible {
    /// The field value: seconds, rounded up so that no client comes early, or an IMF-fixdate.
    public var description: String {
        switch self {
        case .delay:
            let (seconds, attoseconds) = delay(serverDate: nil, now: .distantPast).components
            return String(seconds + (attoseconds > 0 ? 1 : 0))
        case .date(let date):
            return Headers.HTTPDate(date).description
        }
    }
}
