extension Response {
    /// A set of status codes: those that count as success, or those after which a request is sent again.
    ///
    /// ```swift
    /// settings.acceptableStatuses = .successful            // 200 to 299
    /// request.acceptableStatuses = [.successful, 404]      // 2xx or 404
    /// policy.statuses = [408, 429, .codes(500...504)]
    /// ```
    public struct StatusSet: Sendable, Hashable, ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral {
        // Most sets are one range, which needs no list. Ranges are in order, apart from each other, and not empty.
        private var first: Range<Int>
        private var others: [Range<Int>]

        /// Makes a set of the codes in a range.
        public init(_ codes: Range<Int>) {
            first = codes
            others = []
        }

        /// Makes a set of the codes in a range.
        public init(_ codes: ClosedRange<Int>) {
            self.init(codes.lowerBound..<codes.upperBound + 1)
        }

        /// Makes a set of one code.
        public init(integerLiteral code: Int) {
            self.init(code..<code + 1)
        }

        /// Makes a set of everything that is in one of several sets.
        public init(arrayLiteral sets: Response.StatusSet...) {
            self = sets.reduce(.none) { $0.union($1) }
        }

        /// Makes a set of single codes.
        public init(_ codes: some Sequence<Int>) {
            self.init(joining: codes.map { $0..<$0 + 1 })
        }

        private init(joining ranges: [Range<Int>]) {
            var joined: [Range<Int>] = []
            for range in ranges.filter({ !$0.isEmpty }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
                if let last = joined.last, range.lowerBound <= last.upperBound {
                    joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
                } else {
                    joined.append(range)
                }
            }
            first = joined.first ?? 0..<0
            others = Array(joined.dropFirst())
        }

        /// No code.
        public static var none: Response.StatusSet { Response.StatusSet(0..<0) }
        /// Every code, 100 to 999.
        public static var all: Response.StatusSet { Response.StatusSet(100..<1_000) }
        /// 100 to 199 (RFC 9110 §15.2).
        public static var informational: Response.StatusSet { Response.StatusSet(100..<200) }
        /// 200 to 299 (RFC 9110 §15.3).
        public static var successful: Response.StatusSet { Response.StatusSet(200..<300) }
        /// 300 to 399 (RFC 9110 §15.4).
        public static var redirection: Response.StatusSet { Response.StatusSet(300..<400) }
        /// 400 to 499 (RFC 9110 §15.5).
        public static var clientError: Response.StatusSet { Response.StatusSet(400..<500) }
        /// 500 to 599 (RFC 9110 §15.6).
        public static var serverError: Response.StatusSet { Response.StatusSet(500..<600) }
        /// The codes in a range.
        public static func codes(_ codes: Range<Int>) -> Response.StatusSet { Response.StatusSet(codes) }
        /// The codes in a range.
        public static func codes(_ codes: ClosedRange<Int>) -> Response.StatusSet { Response.StatusSet(codes) }

        private var ranges: [Range<Int>] { first.isEmpty ? [] : [first] + others }

        /// Whether the set has no code.
        public var isEmpty: Bool { first.isEmpty }

        /// Whether a code is in the set.
        public func contains(_ code: Int) -> Bool {
            first.contains(code) || (!others.isEmpty && others.contains { $0.contains(code) })
        }

        /// Whether the code of a status is in the set.
        public func contains(_ status: Response.Status) -> Bool { contains(status.code) }

        /// The codes of both sets.
        public func union(_ other: Response.StatusSet) -> Response.StatusSet {
            Response.StatusSet(joining: ranges + other.ranges)
        }

        /// The codes that are not in the other set.
        public func subtracting(_ other: Response.StatusSet) -> Response.StatusSet {
            Response.StatusSet(
                joining: other.ranges.reduce(ranges) { left, taken in
                    left.flatMap { range in
                        [
                            range.lowerBound..<max(range.lowerBound, min(range.upperBound, taken.lowerBound)),
                            min(range.upperBound, max(range.lowerBound, taken.upperBound))..<range.upperBound,
                        ]
                    }
                }
            )
        }
    }
}

extension Response.StatusSet: CustomStringConvertible {
    /// The codes, as `200–299, 404`.
    public var description: String {
        isEmpty
            ? "none"
            : ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)–\($0.upperBound - 1)" }
                .joined(separator: ", ")
    }
}
