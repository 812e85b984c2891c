public import LadeCore

/// How the next page is found from the one that was loaded (pages PA-01).
///
/// ```swift
/// Paginator.rule(.link(relation: "next"))
/// Paginator.rules([.link(relation: "next"), .body(["next"])])   // the first that names a page
/// Paginator.target(\.links.next)                                 // a member of the decoded value
/// Paginator { page in … }                                        // anything else
/// ```
public struct Paginator<Value: Sendable>: Sendable {
    /// What is known when the next page is looked for.
    public struct Loaded: Sendable {
        /// The first page's request as it was made, without a size.
        public let original: Request
        /// What the page's answer was turned into.
        public let value: Value
        /// The answer.
        public let response: Response
        /// The size that was asked for; 0 when it was left to the service.
        public let size: Int
        /// The number of the page to come.
        public let number: Int
    }

    enum Kind: Sendable {
        case rules([PageRule])
        case target(@Sendable (Value) -> String?)
        case closure(@Sendable (Loaded) throws -> Request?)
    }

    let kind: Kind

    private init(kind: Kind) {
        self.kind = kind
    }

    /// Makes a paginator from a closure that gives the request of the next page, or nil after the last.
    ///
    /// It is called once for each page that was loaded well. What it throws ends the pages with
    /// ``PageFailure/Cause/paginator(_:)``.
    public init(_ next: @escaping @Sendable (Loaded) throws -> Request?) {
        kind = .closure(next)
    }

    /// Finds the next page by a rule.
    public static func rule(_ rule: PageRule) -> Paginator {
        Paginator(kind: .rules([rule]))
    }

    /// Finds the next page by the first of several rules that names one.
    ///
    /// Rules that count (`pageNumber`, `offset`) always name one, so they stand alone or last.
    public static func rules(_ rules: [PageRule]) -> Paginator {
        Paginator(kind: .rules(rules))
    }

    /// Finds the next page at an address in the decoded value, absolute or relative to the answer's.
    public static func target(_ target: @escaping @Sendable (Value) -> String?) -> Paginator {
        Paginator(kind: .target(target))
    }

    var rules: [PageRule] {
        if case .rules(let rules) = kind { rules } else { [] }
    }
}
