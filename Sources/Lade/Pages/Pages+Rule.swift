/// The parts of lists that come in pages: how the next page is found, how a size is requested, and what was loaded.
///
/// A ``PagedEndpoint`` is made of a ``Pages/Paginator`` and a ``Pages/Sizer``.
/// ``Loader/pages(of:size:prefetch:pageLimit:from:meter:)`` returns a ``Pages/Sequence``.
public enum Pages {}

extension Pages {
    /// How the next page is found: from the response, or by counting.
    ///
    /// Null, `false`, an empty string and a missing value name no page. Any other value that names no page, such as a
    /// number where an address is expected, is an error.
    public enum Rule: Sendable, Hashable {
        /// The target of a `Link` field with this relation (RFC 8288); `next` is the usual one.
        case link(relation: String)
        /// An address in the body, absolute or relative to the address of the response.
        ///
        /// Also a link object with `href` or `url`, or an array of such objects, of which the one with the relation `next`
        /// counts.
        case body(JSONPointer)
        /// An address in a header field, such as `Next-Page`; or JSON in the field with an address in a member.
        case header(String)
        /// A cursor that is copied from a response into the next request, which otherwise equals the first page's request.
        ///
        /// ```swift
        /// let rules: [Pages.Rule] = [
        ///     .cursor(.body(["meta", "next"]), to: .query("cursor")),
        ///     .cursor(.body(["data", "-", "id"]), to: .query("starting_after")),  // of the last item
        ///     .cursor(.body(["LastEvaluatedKey"]), to: .body(["ExclusiveStartKey"])),  // an object
        /// ]
        /// ```
        case cursor(Rule.Place, to: Rule.CursorTarget)
        /// A page number, set as a query item of the first page's request.
        ///
        /// `first` is the number of the first page; nil stands for the number in the first page's address, or 1.
        case pageNumber(query: String, first: Int? = nil)
        /// An object whose members are query items of the next request, which otherwise equals the first page's request:
        /// MediaWiki's `continue`.
        ///
        /// The members are strings, numbers and Boolean values; null removes an item.
        case queryItems(Rule.Place)
        /// The number of items before the page, as a query item of the first page's request.
        ///
        /// `first` is the number of the first item. If it is nil, the number in the first page's address counts. Without
        /// one, the 0 or 1 counts that the first page states under the same name, else 0.
        case offset(query: String, first: Int? = nil)

        /// A cursor in the body, set as a query item of the first page's request.
        public static func bodyCursor(_ pointer: JSONPointer, query: String) -> Rule {
            .cursor(.body(pointer), to: .query(query))
        }

        /// A cursor in a header field, set as a query item of the first page's request.
        public static func headerCursor(_ name: String, query: String) -> Rule {
            .cursor(.header(name), to: .query(query))
        }

        /// The places where common APIs name the next page: `Link`, `Next-Page`, `next`, `links.next`, `_links.next.href`,
        /// `@odata.nextLink`, `next_page_url` and their relatives, and JSON in `X-Pagination`.
        ///
        /// Only a clear address is followed there, with one exception. A whole number in `X-Next-Page`, `Next-Page` or
        /// `next_page` of `X-Pagination` is the query item `page` of the next page.
        public static let common: [Rule] =
            [.link(relation: "next")]
            + ["Next-Page", "X-Next-Page"].flatMap { [.header($0), .cursor(.header($0), to: .query("page"))] }
            + commonPointers.map { .body($0) } + [
                .header("X-Pagination"), .cursor(.header("X-Pagination", ["next_page"]), to: .query("page")),
                .body(["links"]), .body(["link"]),
            ]

        private static let commonPointers: [JSONPointer] = [
            ["next"], ["links", "next", "href"], ["links", "next"], ["_links", "next", "href"], ["_links", "next"],
            ["@odata.nextLink"], ["odata.nextLink"], ["nextLink"], ["next_link"], ["d", "__next"], ["next_page_url"],
            ["nextPageUrl"], ["next_url"], ["nextUrl"], ["next_page"], ["nextPage"], ["next_href"], ["nextRecordsUrl"],
            ["nextPageLink"], ["next_page_link"], ["next", "href"], ["meta", "next"], ["meta", "next_url"],
            ["meta", "next_page_url"], ["meta", "links", "next"], ["meta", "pagination", "links", "next"],
            ["pagination", "next"], ["pagination", "next_url"], ["pagination", "next_page_url"],
            ["pagination", "links", "next"], ["paging", "next"], ["paging", "next", "link"], ["page", "next"],
            ["view", "next"], ["hydra:view", "hydra:next"],
        ]

        /// Whether the pages can be requested in any order.
        package var isAddressable: Bool {
            switch self {
            case .pageNumber, .offset: true
            case .link, .body, .header, .cursor, .queryItems: false
            }
        }

        /// Whether the request of the next page is composed here and not by the server, which may not understand it.
        var isComposed: Bool {
            switch self {
            case .pageNumber, .offset, .cursor, .queryItems: true
            case .link, .body, .header: false
            }
        }

        /// The place in a response that the rule reads; nil for a rule that counts, and for links.
        var place: Rule.Place? {
            switch self {
            case .body(let pointer): .body(pointer)
            case .header(let name): .header(name)
            case .cursor(let place, _), .queryItems(let place): place
            case .link, .pageNumber, .offset: nil
            }
        }
    }
}

extension Pages.Rule: CustomStringConvertible {
    /// The rule in a few words.
    public var description: String {
        switch self {
        case .link(let relation): "link \(relation)"
        case .body(let pointer): "body \(pointer)"
        case .header(let name): "header \(name)"
        case .cursor(.body(let pointer), .query(let query)): "cursor \(pointer) in \(query)"
        case .cursor(.header(let name, let pointer), .query(let query)): "cursor \(name)\(pointer) in \(query)"
        case .cursor(let place, let target): "cursor \(place) to \(target)"
        case .pageNumber(let query, let first?): "page from \(first) in \(query)"
        case .pageNumber(let query, nil): "page in \(query)"
        case .queryItems(let place): "query items of \(place)"
        case .offset(let query, let first?): "offset from \(first) in \(query)"
        case .offset(let query, nil): "offset in \(query)"
        }
    }

    /// Some rules in a few words.
    package static func description(of rules: [Pages.Rule]) -> String {
        rules == common ? "the common places" : rules.map(\.description).joined(separator: ", ")
    }
}

extension Pages.Rule {
    /// A place in a response: a cursor, a number of items, or whether there is more.
    public enum Place: Sendable, Hashable {
        /// A value in the body. The token `-` stands for the last element of an array.
        case body(JSONPointer)
        /// A header field, such as `X-Total-Count`; with a pointer, a value in the JSON that the field contains.
        case header(String, JSONPointer = [])

        /// The pointer into the body, if that is where the place is.
        var bodyPointer: JSONPointer? {
            if case .body(let pointer) = self { pointer } else { nil }
        }

        /// Whether the place is the whole value of a header field.
        var isPlainField: Bool { if case .header(_, []) = self { true } else { false } }

        /// The usual places of the number of all items.
        static let commonTotals: [Pages.Rule.Place] =
            ["X-Total-Count", "X-Total", "X-WP-Total", "Total-Count", "Total-Records", "Total-Objects"].map {
                .header($0)
            }
            + [.header("X-Pagination"), .header("Content-Range")]
            + ([
                ["total"], ["total_count"], ["totalCount"], ["totalItems"], ["total_items"], ["totalResults"],
                ["total_results"], ["totalElements"], ["total_elements"], ["totalRecords"], ["total_records"],
                ["totalHits"], ["hydra:totalItems"], ["@odata.count"], ["numFound"], ["total_rows"], ["meta", "total"],
                ["meta", "total_count"], ["meta", "totalCount"], ["meta", "page", "total"],
                ["meta", "pagination", "count"], ["meta", "pagination", "total"], ["_meta", "total"],
                ["pagination", "total"], ["pagination", "total_count"], ["pagination", "totalCount"],
                ["paging", "total"],
                ["meta", "pagination", "total_count"], ["meta", "pagination", "totalCount"], ["meta", "total_items"],
                ["meta", "totalItems"], ["pagination", "total_items"], ["pagination", "totalItems"],
                ["pagination", "count"], ["paging", "total_count"], ["page_info", "total_results"],
                ["pageInfo", "totalResults"], ["info", "count"],
                ["page", "totalElements"], ["response", "numFound"], ["hits", "total", "value"], ["meta", "count"],
                ["count"],
            ] as [JSONPointer]).map { .body($0) }
    }
}

extension Pages.Rule.Place: CustomStringConvertible {
    /// The location in a few words.
    public var description: String {
        switch self {
        case .body(let pointer): "body \(pointer)"
        case .header(let name, let pointer): "header \(name)\(pointer)"
        }
    }
}

extension Pages.Rule {
    /// Where a cursor is written in the request of the next page.
    public enum CursorTarget: Sendable, Hashable {
        /// A query item; the cursor is a string or a number.
        case query(String)
        /// A header field; the cursor is a string or a number.
        case header(String)
        /// A value in the JSON of the request's body; the cursor keeps its type, and may be an object or an array.
        ///
        /// Objects on the way to the value are made where they are missing.
        case body(JSONPointer)
    }
}

extension Pages.Rule.CursorTarget: CustomStringConvertible {
    /// The target in a few words.
    public var description: String {
        switch self {
        case .query(let name): "query \(name)"
        case .header(let name): "header \(name)"
        case .body(let pointer): "body \(pointer)"
        }
    }
}

extension Pages.Rule {
    /// The treatment of a next page on another origin than the first.
    public enum OtherOrigins: Sendable, Hashable {
        /// It is loaded without credentials. Decorators that may add one do not run. Only the header fields for content
        /// negotiation are sent (`Accept`, `Accept-Language`, `User-Agent` …).
        ///
        /// A request with a body is refused.
        case withoutCredentials
        /// The same, but a body is sent too.
        case withBody
        /// It is refused.
        case refused
        /// Its path and query are loaded from the first page's origin instead, with everything that the first page sends.
        ///
        /// For a service whose address differs from the one in its responses, such as a mirror or a test server.
        case replacedByFirst
    }
}
