#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore
public import Observation

/// The input of a ``PagedContentModel``'s refresh.
public enum PagedInput<Query: Sendable>: Sendable {
    /// The first page, replacing all loaded pages.
    case startOver(Query?)
    /// The page after the loaded ones.
    case nextPage
}

extension PagedInput: Equatable where Query: Equatable {}

/// Loads a list page by page.
///
/// ```swift
/// let model = try PagedContentModel<String, Show>(pageSize: 50) { [loader, shows] position in
///     let page = position.cursor as? PageRequest ?? shows.firstPage(size: position.size)
///     let loaded = try await loader.load(page, of: shows)
///     return ContentPage(loaded.value.showList, cursor: loaded.next)
/// }
/// model.startOver(with: "news")
/// model.loadNextPage()          // when the list has scrolled near its end
/// ```
///
/// Loaded pages stay available while another loads and after a failure. ``loadNextPage()`` has no effect while a load
/// is in progress, or when there is no further page. So a view may call it for each row that it shows.
///
/// For search as the user types, call ``ContentModel/refresh(whenChanged:after:)`` with ``PagedInput/startOver(_:)``.
/// ``ContentModel/retry()`` requests the failed page again.
///
/// A refresh without input, a trigger and a change of the page size start over. They use the query of the load in progress,
/// else the query of the loaded pages, else the last query. Source: TDCContentLoading, `PagingContentLoadingViewModel`.
@Observable
open class PagedContentModel<Query: Sendable, Item: Sendable>: ContentModel<PagedInput<Query>, PagedContent<Item>> {
    /// Loads one page.
    public typealias PageLoad = @concurrent @Sendable (PagePosition<Query>) async throws -> ContentPage<Item>

    /// How many items a page has; 25 by default.
    ///
    /// ``setPageSize(_:)`` changes it.
    public private(set) var pageSize: Int
    @ObservationIgnored private let loadPage: PageLoad
    /// The query of the load in progress, or of the last one.
    @ObservationIgnored private var lastQuery: Query?

    /// Makes a model of a list.
    ///
    /// - Parameters:
    ///   - pageSize: How many items a page has.
    ///   - triggers: When in a view's lifetime the list starts over; never by default.
    ///   - cancelsOn: When in a view's lifetime a load is cancelled; never by default.
    ///   - policy: Whether a trigger starts over when there is content; always by default.
    ///   - time: The time source for debounces and the age of content.
    ///   - loadPage: Loads one page; runs outside the main actor.
    /// - Throws: `LoadingError.Kind.invalidSetting` for a page size of less than 1.
    public init(
        pageSize: Int = 25,
        triggers: Set<ViewLifetime> = [],
        cancelsOn: Set<ViewLifetime> = [],
        policy: TriggerPolicy = .always,
        time: any TimeSource = SystemTime(),
        loadPage: @escaping PageLoad
    ) throws(LoadingError) {
        try Self.validate(pageSize: pageSize)
        self.pageSize = pageSize
        self.loadPage = loadPage
        super.init(triggers: triggers, cancelsOn: cancelsOn, policy: policy, time: time)
    }

    /// The loaded items; empty without content.
    public var items: [Item] { content?.items ?? [] }

    /// Whether there is a page after the loaded ones; false without content.
    public var hasMore: Bool { content?.hasMore ?? false }

    /// Loads the first page and replaces all loaded pages.
    public func startOver(with query: Query? = nil) {
        refresh(.startOver(query))
    }

    /// Loads the next page; has no effect while a load is in progress and when there is no further page.
    public func loadNextPage() {
        guard hasMore, !isLoading else { return }
        handle(.refresh(.nextPage, .nextPage))
    }

    /// Sets the page size, and starts over if it changes and pages were loaded.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for less than 1; then nothing changes.
    public func setPageSize(_ size: Int) throws(LoadingError) {
        try Self.validate(pageSize: size)
        guard size != pageSize else { return }
        pageSize = size
        if case .unloaded = state { return }
        startOver(with: currentQuery)
    }

    private static func validate(pageSize: Int) throws(LoadingError) {
        guard pageSize < 1 else { return }
        throw LoadingError(.invalidSetting(name: "page size", reason: "\(pageSize) is less than 1"))
    }

    /// The query for a list that starts over without a query.
    ///
    /// A list that was cancelled, or failed, leaves the loaded pages of another on the screen: those are reloaded.
    private var currentQuery: Query? {
        guard !isLoading, let content else { return lastQuery }
        return content.query as? Query
    }

    /// Determines the query of a refresh without input before the refresh becomes the load in progress.
    @discardableResult
    override func handle(_ event: ContentMachine<PagedInput<Query>, PagedContent<Item>>.Event) -> Bool {
        if case .refresh = event { lastQuery = currentQuery }
        return super.handle(event)
    }

    /// Makes the load of a page, whose items are appended to the loaded ones.
    public final override func makeLoad(_ input: PagedInput<Query>?) -> ContentLoad<PagedContent<Item>> {
        let base: PagedContent<Item>?
        switch input {
        case .nextPage: base = content
        case .startOver(let query):
            lastQuery = query
            base = nil
        case nil: base = nil
        }
        let position = PagePosition(
            query: base.map { $0.query as? Query } ?? lastQuery,
            index: base?.pageCount ?? 0,
            size: base?.pageSize ?? pageSize,
            itemsBefore: base?.items.count ?? 0,
            cursor: base?.cursor
        )
        let loadPage = loadPage
        return ContentLoad {
            let page = try await loadPage(position)
            return PagedContent(
                items: (base?.items ?? []) + page.items,
                hasMore: page.hasMore(size: position.size),
                pageCount: position.index + 1,
                cursor: page.cursor,
                query: position.query,
                pageSize: position.size
            )
        }
    }

    /// Whether no items are loaded and there is no further page.
    open override func isEmpty(_ value: PagedContent<Item>) -> Bool { value.items.isEmpty && !value.hasMore }

    override func reason(of input: PagedInput<Query>?) -> LoadReason? {
        if case .nextPage = input { .nextPage } else { nil }
    }
}
