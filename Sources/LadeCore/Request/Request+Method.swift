extension Request {
    /// A request method: a token, case-sensitive (RFC 9110 §9).
    public struct Method: Sendable, Hashable {
        /// The token as it is sent.
        public let rawValue: String

        /// Makes a method from any token, known or not.
        ///
        /// - Throws: ``LoadingError/Kind/invalidRequest(_:)`` when the text is empty or has a character no token may have.
        public init(_ token: String) throws(LoadingError) {
            guard !token.isEmpty, token.utf8.allSatisfy(\.isTokenCharacter) else {
                throw LoadingError(.invalidRequest(.method(token.escapedForDisplay(limit: 64))))
            }
            rawValue = token
        }

        private init(known token: String) {
            rawValue = token
        }

        /// Transfer a current representation of the target.
        public static var get: Method { Method(known: "GET") }
        /// The same as GET without the content.
        public static var head: Method { Method(known: "HEAD") }
        /// Process the content as the target sees fit.
        public static var post: Method { Method(known: "POST") }
        /// Replace the target by the content.
        public static var put: Method { Method(known: "PUT") }
        /// Change the target in part (RFC 5789).
        public static var patch: Method { Method(known: "PATCH") }
        /// Remove the target.
        public static var delete: Method { Method(known: "DELETE") }
        /// Describe the target's communication options.
        public static var options: Method { Method(known: "OPTIONS") }
        /// Loop the request message back.
        public static var trace: Method { Method(known: "TRACE") }
        /// Open a tunnel.
        ///
        /// The transport uses it for a proxy; a caller's request with it is refused.
        public static var connect: Method { Method(known: "CONNECT") }

        /// Whether the method is defined to change nothing on the server (RFC 9110 §9.2.1).
        public var isSafe: Bool {
            switch rawValue {
            case "GET", "HEAD", "OPTIONS", "TRACE": true
            default: false
            }
        }

        /// Whether sending it twice has the effect of sending it once (RFC 9110 §9.2.2).
        public var isIdempotent: Bool {
            isSafe || rawValue == "PUT" || rawValue == "DELETE"
        }
    }
}

extension Request.Method: CustomStringConvertible {
    /// The token.
    public var description: String { rawValue }
}
