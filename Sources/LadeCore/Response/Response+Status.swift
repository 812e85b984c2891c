extension Response {
    /// A response status code, 100 to 999 (RFC 9110 §15).
    public struct Status: Sendable, Hashable, ExpressibleByIntegerLiteral {
        /// The three-digit number.
        public let code: Int

        /// Makes a status from its number.
        public init(_ code: Int) {
            self.code = code
        }

        /// Makes a status from a literal.
        public init(integerLiteral value: Int) {
            code = value
        }

        /// The classes of status codes (RFC 9110 §15); codes of 600 and more belong to none.
        public enum Class: Int, Sendable, Hashable {
            /// 1xx: interim.
            case informational = 1
            /// 2xx: received, understood and accepted.
            case successful = 2
            /// 3xx: further action is needed.
            case redirection = 3
            /// 4xx: the request is at fault.
            case clientError = 4
            /// 5xx: the server is at fault.
            case serverError = 5
        }

        /// The class of the code, or nil for 600 to 999.
        public var statusClass: Class? { Class(rawValue: code / 100) }

        /// Whether the code is 2xx.
        public var isSuccessful: Bool { code / 100 == 2 }
    }
}

extension Response.Status: CustomStringConvertible {
    /// The number.
    public var description: String { String(code) }
}
