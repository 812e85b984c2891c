import LadeCore

extension PageFeed {
    /// The parts of a feed: a first page, how a page is loaded, and how its successor is found.
    package struct Source: Sendable {
        var walk: PageWalk
        var start: PageRequest
        /// Loads a page and parses it, off the caller's actor.
        var load: @concurrent @Sendable (PageRequest) async throws(LoadingError) -> Piece
        /// The page after a page, if the walk does not determine it.
        var next: (@Sendable (PageRequest, Piece) throws(PageError.Cause) -> PageRequest?)?
        /// How many pages are loaded ahead, at most ``PageFeed/Source/prefetchLimit``.
        package var prefetch = 0
        package var pageLimit: Int?
        package var meter: Pages.Progress.Meter?
        /// The treatment of a page with the content of an earlier one, where pieces have checksums.
        package var repeatedPages = Pages.Rule.RepeatedPages.refused
        /// Whether the contents of pages are compared, to find pages that the server sends again; nil where the walk's rules
        /// decide.
        var comparesContents: Bool?
        /// Statuses that mean the end of the list, for a page after the first.
        package var endStatuses: Set<Int> = []
        /// Whether a list that says that there is more, although no rule names a page, is an error.
        package var refusesCut = true
        /// Receives events about the pages, outside any call.
        package var note: @Sendable (Call.Event) -> Void = { _ in }
        /// Pages before the start; returning to one of them is a loop.
        package var visited: Set<UInt64> = []
        /// Why the start cannot be loaded; nil when it can.
        var startFault: PageError.Cause?

        /// The most pages that are loaded ahead, for any setting: 64.
        static var prefetchLimit: Int { 64 }

        package init(
            walk: PageWalk,
            start: PageRequest,
            load: @concurrent @escaping @Sendable (PageRequest) async throws(LoadingError) -> Piece
        ) {
            self.walk = walk
            self.start = start
            self.load = load
        }
    }
}
