import LadeCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An endpoint whose list comes in pages: its first page, how a size is requested, and how the next page is found.
///
/// ```swift
/// let shows = PagedEndpoint(
///     Endpoint(showsURL).decoding(Shows.self),
///     sizer: .query("pageSize"),
///     paginator: .target(\.next)
/// )
/// for try await page in loader.pages(of: shows, size: 50, prefetch: 2) {
///     render(page.value.showList)
/// }
/// ```
public struct PagedEndpoint<Value: Sendable>: Sendable {
    /// The first page.
    public var endpoint: Endpoint<Value>
    /// How a size is requested; nil when the service has no such parameter.
    public var sizer: Pages.Sizer?
    /// The sizes that the service delivers; nil, the default, when any size is sent as requested.
    public var sizes: Pages.Sizes?
    /// How the next page is found.
    public var paginator: Pages.Paginator<Value>
    /// The number of items on a page; nil when it cannot be determined.
    ///
    /// Pages found by number or offset end with a page without items, and need this closure. In other lists a page without
    /// items is followed as any other; see ``emptyPageLimit``.
    public var itemCount: (@Sendable (Value) -> Int)?
    /// Where a response contains the number of items on all pages; nil when none does.
    public var total: Pages.Rule.Place?
    /// Where a response says whether there is a next page, such as `has_more`; nil, the default, where only the
    /// paginator's rules say so.
    ///
    /// `true` and a number other than 0 mean that there is one. Then it is an error when no rule names it.
    public var more: Pages.Rule.Place?
    /// The statuses that mean the end of the list for a page after the first one; none by default.
    ///
    /// Some services response with 404, 400 or 416 behind the last page of a list that is counted.
    public var endStatuses: Set<Int> = []
    /// The number of pages without items in a row that are followed; 100 by default.
    ///
    /// One more that names a next page is ``PageError/Cause/emptyPages(limit:)``.
    public var emptyPageLimit = 100
    /// The treatment of a next page on another origin; by default it is loaded without credentials.
    public var otherOrigins = Pages.Rule.OtherOrigins.withoutCredentials

    /// The treatment of a page with the same content as the first page or the page before it; it is refused by default.
    ///
    /// Contents are the bytes of the bodies. They are compared where pages are found by counting, by a cursor or by a
    /// closure, and ``itemCount`` says that the page has items. Elsewhere the server names the next page itself.
    public var repeatedPages = Pages.Rule.RepeatedPages.refused

    /// Makes a paged endpoint.
    public init(
        _ endpoint: Endpoint<Value>,
        sizer: Pages.Sizer? = nil,
        paginator: Pages.Paginator<Value>,
        itemCount: (@Sendable (Value) -> Int)? = nil
    ) {
        self.endpoint = endpoint
        self.sizer = sizer
        self.paginator = paginator
        self.itemCount = itemCount
    }

    /// Makes a paged endpoint whose pages are collections of their items.
    public init(
        _ endpoint: Endpoint<Value>,
        sizer: Pages.Sizer? = nil,
        paginator: Pages.Paginator<Value>
    ) where Value: Collection {
        self.init(endpoint, sizer: sizer, paginator: paginator, itemCount: { $0.count })
    }

    /// The first page, with this many items, or the nearest of ``sizes``; for 0 the service chooses, and the sizer is
    /// not called.
    public func firstPage(size: Int = 0) -> PageRequest {
        walk(size: size).first
    }

    /// The first page with a size that a caller requests, where 0 is a size as any other if the sizes are known.
    package func firstPage(requesting size: Int) -> PageRequest {
        firstPage(size: sizes?.nearest(size) ?? size)
    }

    /// The endpoint of one page.
    package func endpoint(of page: PageRequest) -> Endpoint<Value> {
        endpoint.request { $0 = page.request }
    }

    func walk(size: Int) -> PageWalk {
        PageWalk(
            original: endpoint.request,
            size: size > 0 ? sizes?.nearest(size) ?? size : 0,
            standardSize: sizes?.standard ?? 0,
            sizer: sizer,
            rules: paginator.rules,
            more: more,
            total: total,
            otherOrigins: otherOrigins,
            emptyPageLimit: emptyPageLimit
        )
    }

    func facts(_ value: Value, _ response: Response, _ walk: PageWalk) -> PageWalk.Facts {
        // The count may come from a number that the server sent, so it is clamped to 0.
        var facts = PageWalk.Facts(response: response, itemCount: (itemCount?(value)).map { max(0, $0) })
        guard !walk.pointers.isEmpty, let bytes = response.body.bytes else { return facts }
        var splitter = JSONSplitter(.init(list: nil, values: walk.pointers))
        // A body that is not JSON names no next page; the endpoint's processors decide whether that is an error.
        guard (try? splitter.consume(bytes)) != nil else { return facts }
        facts.take(splitter, walk, bytes)
        return facts
    }

    /// The checksum of a page's content; nil where it is not compared with earlier pages.
    func checksum(of response: Response, _ facts: PageWalk.Facts) -> UInt64? {
        guard repeatedPages != .kept, facts.itemCount ?? 0 > 0 else { return nil }
        return response.body.bytes.map(PageContents.checksum)
    }

    /// Whether a page with the content of an earlier one is no page of its own.
    var comparesContents: Bool {
        switch paginator.kind {
        case .rules(let rules): rules != Pages.Rule.common && rules.contains(where: \.isComposed)
        case .closure: true
        case .target: false
        }
    }

    /// The next page, where a target or a closure names it; the walk finds pages that rules name.
    func next(
        after page: PageRequest,
        _ value: Value,
        _ facts: PageWalk.Facts,
        _ walk: PageWalk
    ) throws(PageError.Cause) -> PageRequest? {
        let request: Request
        switch paginator.kind {
        case .rules: return try walk.step(after: page, facts).page
        case .target(let target):
            guard let text = target(value), !text.isEmpty else { return nil }
            guard let url = URL(reference: text, against: facts.response.request.url) else {
                throw .invalidTarget(text.escapedForDisplay(limit: 120))
            }
            request = try walk.moved(to: url, from: facts.response.request)
            if !request.canRepeatBody {
                throw .loading(LoadingError(.invalidRequest(.bodyNotReplayable), LoadingError.Context(request)))
            }
        case .closure(let next):
            let loaded = Pages.Paginator<Value>.Loaded(
                original: endpoint.request,
                value: value,
                response: facts.response,
                size: page.size,
                number: page.number.addingSaturated(1)
            )
            let made: Request?
            do { made = try next(loaded) } catch { throw .paginator(error) }
            guard let made else { return nil }
            request = try walk.vetted(made)
        }
        var next = PageRequest(
            size: page.size,
            number: page.number.addingSaturated(1),
            request: request,
            itemsBefore: nil
        )
        next.emptyBefore = try walk.emptyPages(page, facts)
        return next
    }
}
