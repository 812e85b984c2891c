/// How the next page is found: from the answer, or by counting.
public enum PageRule: Sendable, Hashable {
    /// The target of a `Link` field with this relation (RFC 8288); `next` is the usual one.
    case link(relation: String)
    /// An address in the body, absolute or relative to the address of the answer.
    case body(JSONPointer)
    /// A cursor in the body, set as a query item of the first page's request.
    case bodyCursor(JSONPointer, query: String)
    /// A cursor in a header field, set as a query item of the first page's request.
    case headerCursor(String, query: String)
    /// A page number, set as a query item of the first page's request; `first` is the number of the first page.
    case pageNumber(query: String, first: Int)
    /// The number of items before the page, as a query item of the first page's request.
    case offset(query: String)

    /// The pointer into the body, if the rule has one.
    var pointer: JSONPointer? {
        switch self {
        case .body(let pointer), .bodyCursor(let pointer, _): pointer
        case .link, .headerCursor, .pageNumber, .offset: nil
        }
    }

    /// The query item that the rule sets, if any.
    var query: String? {
        switch self {
        case .bodyCursor(_, let query), .headerCursor(_, let query), .pageNumber(let query, _), .offset(let query):
            query
        case .link, .body: nil
        }
    }

    /// Whether the pages can be requested in any order.
    var isAddressable: Bool {
        switch self {
        case .pageNumber, .offset: true
        case .link, .body, .bodyCursor, .headerCursor: false
        }
    }
}

extension PageRule: CustomStringConvertible {
    /// The rule in a few words.
    public var description: String {
        switch self {
        case .link(let relation): "link \(relation)"
        case .body(let pointer): "body \(pointer)"
        case .bodyCursor(let pointer, let query): "cursor \(pointer) in \(query)"
        case .headerCursor(let name, let query): "cursor \(name) in \(query)"
        case .pageNumber(let query, let first): "page from \(first) in \(query)"
        case .offset(let query): "offset in \(query)"
        }
    }
}

/// Where an answer contains the number of items on all pages.
public enum PageTotal: Sendable, Hashable {
    /// A number in the body.
    case body(JSONPointer)
    /// A number in a header field, such as `X-Total-Count`.
    case header(String)
}

extension PageTotal: CustomStringConvertible {
    /// The location in a few words.
    public var description: String {
        switch self {
        case .body(let pointer): "body \(pointer)"
        case .header(let name): "header \(name)"
        }
    }
}

/// What happens when the next page has another origin than the first.
public enum OtherOrigins: Sendable, Hashable {
    /// It is loaded without credentials: decorators that may add one do not run, and of the header fields only those
    /// for content negotiation are sent (`Accept`, `Accept-Language`, `User-Agent` …).
    ///
    /// A request with a body is refused.
    case withoutCredentials
    /// The same, but a body is sent too.
    case withBody
    /// It is refused.
    case refused
    /// Its path and query are loaded from the first page's origin instead, with everything that the first page sends.
    ///
    /// For a service behind another address than the one in its answers, such as a mirror or a test server.
    case replacedByFirst
}
