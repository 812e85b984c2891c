import LadeCore

/// A page that was loaded, with what was made of it.
struct PagePiece<Content: Sendable>: Sendable {
    var content: Content
    var facts: PageWalk.Facts
    var byteCount: Int
}

/// What a feed reads from: a first page, how a page is loaded, and what comes after it.
struct PageSource<Content: Sendable>: Sendable {
    typealias Piece = PagePiece<Content>

    var walk: PageWalk
    var start: Page
    var load: @Sendable (Page) async throws(LoadingError) -> Piece
    /// What comes after a page, when it is not the walk that knows.
    var next: (@Sendable (Page, Piece) throws(PageFailure.Cause) -> Page?)?
    var prefetch = 0
    var pageLimit: Int?
    var meter: PageMeter?
    /// Pages that were passed before the start; to come to one of them is to go in a circle.
    var visited: Set<UInt64> = []
}

/// Gives page after page in order, loading at most so many ahead of what was asked for (pages PA-10 … PA-13).
///
/// Without prefetch each page is loaded in the task that asks for it. With it, each page is loaded in a task of its own,
/// which this object owns and cancels in ``cancel()``: where each page names the next, one after the other, and where
/// pages are addressable, all at once as soon as the first has told how long its pages are.
final class PageFeed<Content: Sendable>: Sendable {
    typealias Piece = PagePiece<Content>

    /// A page in its turn, and the one after it.
    struct Delivery: Sendable {
        var page: Page
        var next: Page?
        /// Whether the list ends here; a page without a next one may also be one whose next cannot be followed.
        var isLast: Bool
        /// How many items there are on all pages, as the answer says.
        var total: Int?
        var piece: Piece
    }

    private enum Outcome {
        case piece(Page, Piece)
        case failure(PageFailure)
    }

    private struct State {
        /// How many pages the consumer has asked for.
        var demanded = 0
        /// How many were started to be loaded.
        var started = 0
        /// How many were handed over.
        var delivered = 0
        /// The page to be started next.
        var upcoming: Page?
        /// What was loaded and not handed over, by position.
        var outcomes: [Int: Outcome] = [:]
        /// What comes after a page that was not handed over yet, by position.
        var following: [Int: Page] = [:]
        var tasks: [Int: Task<Void, Never>] = [:]
        /// Nothing is started at or after this position.
        var end = Int.max
        /// How many items each page has, once the first of addressable ones was loaded.
        var stride: Int?
        /// Which requests were sent, to notice a circle; their keys, for a long list must not fill the memory.
        var visited: Set<UInt64> = []
        var isCancelled = false
        var waiter: CheckedContinuation<Void, Never>?

        mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
            defer { waiter = nil }
            return waiter
        }
    }

    private let source: PageSource<Content>
    private let isParallel: Bool
    private let state: Locked<State>

    init(_ source: PageSource<Content>) {
        self.source = source
        isParallel = source.next == nil && source.walk.isAddressable && source.prefetch > 0
        var state = State()
        state.upcoming = source.start
        state.visited = source.visited
        if !state.visited.insert(PageMarks.key(of: source.start.request)).inserted {
            state.upcoming = nil
            state.outcomes[0] = .failure(PageFailure(page: source.start, cause: .loop))
        }
        if let limit = source.pageLimit { state.end = max(limit, 0) }
        self.state = Locked(state)
    }

    /// The next page in order; nil after the last, and after a failure.
    ///
    /// - Throws: What kept the page from coming. Cancelling the task ends everything that is under way.
    func next() async throws(PageFailure) -> Delivery? {
        let position = state.withLock { state in
            state.demanded += 1
            return state.delivered
        }
        if source.prefetch > 0 {
            pump()
            await wait(for: position)
        } else {
            await loadHere(position)
        }
        return try take(position)
    }

    /// Cancels what is under way.
    func cancel() {
        let (tasks, waiter) = state.withLock { state in
            state.isCancelled = true
            return (Array(state.tasks.values), state.takeWaiter())
        }
        for task in tasks { task.cancel() }
        waiter?.resume()
    }

    // MARK: - Loading

    private func loadHere(_ position: Int) async {
        let page = state.withLock { state -> Page? in
            guard position < state.end, !state.isCancelled else { return nil }
            defer { state.upcoming = nil }
            return state.upcoming
        }
        if let page { await load(page, position) }
    }

    private func load(_ page: Page, _ position: Int) async {
        let outcome: Outcome
        do throws(LoadingError) {
            outcome = .piece(page, try await source.load(page))
        } catch {
            outcome = .failure(PageFailure(page: page, cause: .loading(error)))
        }
        finish(outcome, position)
    }

    /// Starts as many pages as may be started now.
    private func pump() {
        state.withLock { state in
            while !state.isCancelled, state.started < state.end, state.started < state.demanded + source.prefetch,
                let page = state.upcoming
            {
                let position = state.started
                state.started += 1
                state.upcoming = nil
                if isParallel, let stride = state.stride {
                    state.upcoming = source.walk.page(1, after: page, stride: stride)
                }
                // Owned by this object: `cancel()` ends it.
                state.tasks[position] = Task { await self.load(page, position) }
            }
        }
    }

    private func finish(_ outcome: Outcome, _ position: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.tasks[position] = nil
            state.outcomes[position] = outcome
            if case .piece(let page, let piece) = outcome {
                if !isParallel {
                    follow(page, piece, position, &state)
                } else if state.stride == nil {
                    // A server may give less than it was asked for; then its word counts.
                    let stride = piece.facts.itemCount.flatMap { $0 > 0 ? $0 : nil } ?? max(page.size, 1)
                    state.stride = stride
                    state.upcoming = source.walk.page(1, after: page, stride: stride)
                    if let total = source.walk.total(piece.facts), let before = page.itemsBefore {
                        let pages = (max(total - before, 1) + stride - 1) / stride
                        state.end = min(state.end, position + pages)
                    }
                }
            } else if !isParallel {
                state.end = min(state.end, position + 1)
            }
            return state.takeWaiter()
        }
        waiter?.resume()
        if source.prefetch > 0 { pump() }
    }

    /// Finds what comes after a page.
    ///
    /// Called with the lock held.
    private func follow(_ page: Page, _ piece: Piece, _ position: Int, _ state: inout State) {
        do throws(PageFailure.Cause) {
            let next =
                if let next = source.next { try next(page, piece) } else {
                    try source.walk.next(after: page, piece.facts)
                }
            guard let next else {
                state.end = min(state.end, position + 1)
                return
            }
            state.following[position] = next
            guard state.visited.insert(PageMarks.key(of: next.request)).inserted else {
                // The page that revealed the circle is delivered first (PA-04).
                state.outcomes[position + 1] = .failure(PageFailure(page: next, cause: .loop))
                return
            }
            state.upcoming = next
        } catch {
            state.outcomes[position + 1] = .failure(PageFailure(page: page, cause: error))
        }
    }

    // MARK: - Delivering

    private func wait(for position: Int) async {
        await withTaskCancellationHandler {
            while true {
                let isReady = state.withLock { state in
                    state.outcomes[position] != nil || position >= state.end || state.isCancelled
                }
                if isReady { return }
                await withCheckedContinuation { continuation in
                    let isLate = state.withLock { state in
                        if state.outcomes[position] != nil || position >= state.end || state.isCancelled { return true }
                        state.waiter = continuation
                        return false
                    }
                    if isLate { continuation.resume() }
                }
            }
        } onCancel: {
            cancel()
        }
    }

    private func take(_ position: Int) throws(PageFailure) -> Delivery? {
        let (outcome, isCancelled) = state.withLock { state in
            (state.outcomes.removeValue(forKey: position), state.isCancelled)
        }
        switch outcome {
        case nil:
            guard isCancelled, Task.isCancelled else { return nil }
            let page = state.withLock { $0.upcoming } ?? source.start
            throw PageFailure(page: page, cause: .loading(.cancelled(ErrorContext(page.request))))
        case .failure(let failure):
            finishDelivery(at: position)
            throw failure
        case .piece(let page, let piece):
            return try deliver(page, piece, position)
        }
    }

    private func deliver(_ page: Page, _ piece: Piece, _ position: Int) throws(PageFailure) -> Delivery {
        var next: Page?
        if isParallel {
            // Only now, in order, the end counts: pages beyond it may have been loaded in vain.
            do throws(PageFailure.Cause) {
                next = try source.walk.next(after: page, piece.facts)
            } catch {
                finishDelivery(at: position)
                throw PageFailure(page: page, cause: error)
            }
            if next == nil { finishDelivery(at: position + 1) }
        }
        let total = source.walk.total(piece.facts)
        let isLast = state.withLock { state in
            state.delivered = position + 1
            if !isParallel { next = state.following.removeValue(forKey: position) }
            return next == nil && state.outcomes[position + 1] == nil
        }
        source.meter?.add(items: piece.facts.itemCount ?? 0, bytes: piece.byteCount, total: total)
        return Delivery(page: page, next: next, isLast: isLast, total: total, piece: piece)
    }

    /// Ends the feed at a position and cancels what was started beyond it.
    private func finishDelivery(at position: Int) {
        let tasks = state.withLock { state in
            state.end = min(state.end, position)
            state.outcomes = state.outcomes.filter { $0.key < position }
            return state.tasks.filter { $0.key >= position }.map(\.value)
        }
        for task in tasks { task.cancel() }
    }
}
