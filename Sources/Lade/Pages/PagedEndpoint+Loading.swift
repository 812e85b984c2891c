public import LadeCore

extension PagedEndpoint {
    /// The pages, each loaded by a closure; the sequence keeps everything that the closure captures.
    package func pages(
        size: Int = 0,
        prefetch: Int = 0,
        pageLimit: Int? = nil,
        from start: PageRequest? = nil,
        meter: Pages.Progress.Meter? = nil,
        note: @escaping @Sendable (Call.Event) -> Void = { _ in },
        _ load: @escaping @Sendable (Endpoint<Value>) async throws(LoadingError) -> Loader.Loaded<Value>
    ) -> Pages.Sequence<Value> {
        var source = source(size: size, from: start, { $0 }, load)
        source.prefetch = prefetch
        source.pageLimit = pageLimit
        source.meter = meter
        source.note = note
        return Pages.Sequence(source)
    }

    /// Loads one page by a closure, and finds the next page as a ``Pages/Sequence`` does.
    ///
    /// - Parameters:
    ///   - page: The page.
    ///   - value: The value in the loaded result; nil when no page can follow.
    ///   - load: Loads the value of the page's endpoint.
    /// - Returns: The loaded page, with the next one.
    /// - Throws: ``PageError`` for a stored page that cannot be followed, and for errors of `load`.
    @concurrent
    package func load<Content: Sendable>(
        _ page: PageRequest,
        _ value: @escaping @Sendable (Content) -> Loader.Loaded<Value>?,
        _ load: @escaping @Sendable (Endpoint<Value>) async throws(LoadingError) -> Content
    ) async throws(PageError) -> Pages.Page<Content> {
        var source = source(size: page.size, from: page, value, load)
        // There is no list here that could end before the page.
        if repeatedPages == .end { source.repeatedPages = .refused }
        source.endStatuses = []
        guard let delivery = try await PageFeed(source).next() else {
            throw .cancelled(at: page)
        }
        return Pages.Page(delivery)
    }

    private func source<Content: Sendable>(
        size: Int,
        from start: PageRequest?,
        _ value: @escaping @Sendable (Content) -> Loader.Loaded<Value>?,
        _ load: @escaping @Sendable (Endpoint<Value>) async throws(LoadingError) -> Content
    ) -> PageFeed<Content>.Source {
        let walk = walk(size: start?.size ?? size)
        var source = PageFeed<Content>.Source(
            walk: walk,
            start: start ?? walk.first,
            load: { @concurrent (page) async throws(LoadingError) in
                let content = try await load(self.endpoint(of: page))
                guard let loaded = value(content) else { return PagePiece(content: content, byteCount: 0) }
                let facts = self.facts(loaded.value, loaded.response, walk)
                return PagePiece(
                    content: content,
                    facts: facts,
                    byteCount: loaded.response.body.bytes?.count ?? 0,
                    checksum: self.checksum(of: loaded.response, facts)
                )
            }
        )
        source.repeatedPages = repeatedPages
        source.comparesContents = comparesContents
        source.endStatuses = endStatuses
        do throws(PageError.Cause) {
            source.start = try walk.attached(source.start)
        } catch {
            source.startFault = error
        }
        if paginator.rules.isEmpty {
            source.next = { (page, piece) throws(PageError.Cause) in
                guard let loaded = value(piece.content), let facts = piece.facts else { return nil }
                return try self.next(after: page, loaded.value, facts, walk)
            }
        }
        return source
    }
}

extension Loader {
    /// Loads the value of the first page of a list.
    ///
    /// ```swift
    /// let first = try await loader.load(shows, size: 50)
    /// ```
    ///
    /// ``pages(of:size:prefetch:pageLimit:from:meter:)`` loads the other pages, too, and ``load(_:of:)`` one page with the
    /// request of the next.
    ///
    /// - Parameters:
    ///   - endpoint: The list.
    ///   - size: The number of items on the page; 0, the default, leaves it to the service.
    /// - Returns: The value of the first page.
    /// - Throws: The same as `load(_:)` of an endpoint. Cancelling the task cancels the call.
    @concurrent
    public func load<Value>(_ endpoint: PagedEndpoint<Value>, size: Int = 0) async throws(LoadingError) -> Value {
        try await load(endpoint.endpoint(of: endpoint.firstPage(size: size)))
    }
}
