public import LadeCore

extension Pages {
    /// How the next page is found from a loaded one.
    ///
    /// ```swift
    /// let paginators: [Pages.Paginator<Shows>] = [
    ///     .rule(.link(relation: "next")),
    ///     .rules([.link(relation: "next"), .body(["next"])]),  // the first that names a page
    ///     .target(\.next),                                     // a member of the decoded value
    ///     Pages.Paginator { page in page.number < 10 ? page.original : nil },
    /// ]
    /// ```
    public struct Paginator<Value: Sendable>: Sendable {
        /// The facts that are known when the next page is determined.
        public struct Loaded: Sendable {
            /// The first page's original request, without a size.
            public let original: Request
            /// The decoded value of the page.
            public let value: Value
            /// The response.
            public let response: Response
            /// The size that was requested; 0 when it was left to the service.
            public let size: Int
            /// The number of the next page.
            public let number: Int
        }

        enum Kind: Sendable {
            case rules([Pages.Rule])
            case target(@Sendable (Value) -> String?)
            case closure(@Sendable (Loaded) throws -> Request?)
        }

        let kind: Kind

        private init(kind: Kind) {
            self.kind = kind
        }

        /// Makes a paginator from a closure that returns the request of the next page, or nil after the last.
        ///
        /// It is called once for each page that was loaded successfully. An error that it throws ends the pages with
        /// ``PageError/Cause/paginator(_:)``.
        public init(_ next: @escaping @Sendable (Loaded) throws -> Request?) {
            kind = .closure(next)
        }

        /// Finds the next page by a rule.
        public static func rule(_ rule: Pages.Rule) -> Pages.Paginator<Value> {
            Pages.Paginator<Value>(kind: .rules([rule]))
        }

        /// Finds the next page by the first of several rules that names one.
        ///
        /// Rules that count (`pageNumber`, `offset`) always name a page, so they must be the only rule or the last.
        public static func rules(_ rules: [Pages.Rule]) -> Pages.Paginator<Value> {
            Pages.Paginator<Value>(kind: .rules(rules))
        }

        /// Finds the next page at an address in the decoded value, absolute or relative to the address of the response.
        public static func target(_ target: @escaping @Sendable (Value) -> String?) -> Pages.Paginator<Value> {
            Pages.Paginator<Value>(kind: .target(target))
        }

        var rules: [Pages.Rule] {
            if case .rules(let rules) = kind { rules } else { [] }
        }
    }
}
