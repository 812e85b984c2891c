import LadeCore

/// Delivers pages in order, and loads a limited number ahead of the consumer.
///
/// Only the content of a page determines its successor. Without prefetch, each page is loaded in the task that asks for
/// it. With it, each page is loaded in its own task, which this object owns and cancels in ``cancel()``. Where pages
/// are addressable, pages beyond the known ones are loaded speculatively, on the assumption that they are as long as
/// the last known page. When the predecessor is loaded, it confirms the assumption, or the page and all after it are
/// dropped.
package final class PageFeed<Content: Sendable>: Sendable {
    package typealias Piece = PagePiece<Content>

    /// A page in order, and its successor.
    package struct Delivery: Sendable {
        package var page: PageRequest
        package var next: PageRequest?
        /// Why the page after it cannot be followed.
        package var nextFailure: PageError?
        /// Whether the list ends here; otherwise, a page without a next page has one that cannot be followed.
        package var isLast: Bool
        /// The number of items on all pages, according to the response.
        package var total: Int?
        package var piece: Piece
    }

    private let source: Source
    private let prefetch: Int
    private let isParallel: Bool
    private let state: Locked<State>

    package init(_ source: Source) {
        self.source = source
        prefetch = min(source.prefetch, Source.prefetchLimit)
        isParallel = source.next == nil && source.walk.isAddressable && prefetch > 0
        var state = State()
        state.upcoming = source.start
        state.visited = source.visited.union(source.start.trail.keys)
        if let fault = source.startFault {
            state.upcoming = nil
            state.slots[0] = Slot(id: 0, page: source.start, arrival: .failure(fault))
        } else if !state.visited.insert(PageMarks.key(of: source.start)).inserted {
            state.upcoming = nil
            state.slots[0] = Slot(id: 0, page: source.start, arrival: .failure(.loop))
        }
        if let limit = source.pageLimit { state.end = max(limit, 0) }
        self.state = Locked(state)
    }

    /// The next page in order; nil after the last, and after a failure.
    ///
    /// - Throws: The error that kept the page from being loaded. Cancelling the task cancels everything in flight, and
    ///   pages that were loaded ahead are not delivered.
    package func next() async throws(PageError) -> Delivery? {
        let position = state.withLock { state in
            state.demanded += 1
            return state.delivered
        }
        if Task.isCancelled {
            cancel()
            guard let page = state.withLock({ pending($0, at: position) }) else { return nil }
            throw .cancelled(at: page)
        }
        if prefetch > 0 {
            pump()
            await wait(for: position)
        } else if let (id, page) = begin(position) {
            await load(page, id, position)
        }
        return try take(position)
    }

    /// Cancels everything in flight.
    package func cancel() {
        let (tasks, wake) = state.withLock { state in
            state.isCancelled = true
            return (state.slots.values.compactMap(\.task), state.wait.end(()))
        }
        for task in tasks { task.cancel() }
        wake?.resume()
    }

    // MARK: - Loading

    /// Takes the page that must be loaded in the caller's task.
    private func begin(_ position: Int) -> (id: UInt64, page: PageRequest)? {
        state.withLock { state in
            guard position < state.end, !state.isCancelled, let page = state.upcoming else { return nil }
            let id = state.makeID()
            state.slots[position] = Slot(id: id, page: page)
            state.started = position + 1
            state.upcoming = nil
            return (id, page)
        }
    }

    private func load(_ page: PageRequest, _ id: UInt64, _ position: Int) async {
        let arrival: Arrival
        do throws(LoadingError) {
            arrival = .piece(try await source.load(page))
        } catch {
            if case .unacceptableStatus(let status) = error.kind, page.number > 0,
                source.endStatuses.contains(status.code)
            {
                arrival = .end
            } else {
                arrival = .failure(.loading(error))
            }
        }
        finish(arrival, id, position)
    }

    /// Starts as many pages as may be started now.
    private func pump() {
        state.withLock { state in
            while !state.isCancelled, state.started < state.end, state.started - state.demanded < prefetch,
                let page = state.upcoming, state.started <= state.frontier || state.started < state.guessEnd
            {
                let position = state.started
                let id = state.makeID()
                state.started += 1
                state.upcoming = isParallel ? state.stride.flatMap { source.walk.guess(after: page, stride: $0) } : nil
                // Owned by this object: `cancel()` ends it.
                let task = Task { await self.load(page, id, position) }
                state.slots[position] = Slot(id: id, page: page, task: task)
            }
        }
    }

    private func finish(_ arrival: Arrival, _ id: UInt64, _ position: Int) {
        let isWanted = state.withLock { state in
            guard state.slots[position]?.id == id else { return false }
            state.slots[position]?.task = nil
            state.slots[position]?.arrival = arrival
            return true
        }
        guard isWanted else { return }
        followAll()
        state.withLock { $0.wait.end(()) }?.resume()
        if prefetch > 0 { pump() }
    }

    // MARK: - Following

    /// Determines the successors of all loaded and certain pages, in order.
    ///
    /// The paginator may be the caller's closure, so it runs outside the lock. Only one task at a time determines
    /// successors.
    private func followAll() {
        while let (position, page, piece) = takeFollowing() {
            // Where the server names the pages, equal content alone is no fault; see `settle`.
            if repeatsContent(page, piece), comparesContents {
                let dropped = state.withLock { state in
                    state.isFollowing = false
                    return endRepeated(position, &state)
                }
                for task in dropped { task.cancel() }
                return
            }
            let next: Result<PageRequest?, PageError.Cause>
            do throws(PageError.Cause) {
                next = .success(try successor(of: page, piece))
            } catch {
                next = .failure(error)
            }
            let dropped = state.withLock { state in
                state.isFollowing = false
                return settle(next, after: page, piece, position, &state)
            }
            for task in dropped { task.cancel() }
        }
    }

    private func takeFollowing() -> (position: Int, page: PageRequest, piece: Piece)? {
        let (following, dropped) = state.withLock {
            state -> ((position: Int, page: PageRequest, piece: Piece)?, [Task<Void, Never>]) in
            guard !state.isFollowing, let slot = state.slots[state.frontier] else { return (nil, []) }
            switch slot.arrival {
            case .piece(let piece):
                state.isFollowing = true
                return ((state.frontier, slot.page, piece), [])
            case .end:
                state.end = min(state.end, state.frontier)
                return (nil, state.drop(from: state.frontier))
            case .failure, nil: return (nil, [])
            }
        }
        for task in dropped { task.cancel() }
        return following
    }

    private func successor(of page: PageRequest, _ piece: Piece) throws(PageError.Cause) -> PageRequest? {
        guard let facts = piece.facts else { return nil }
        if let next = source.next { return try next(page, piece) }
        let step = try source.walk.step(after: page, facts)
        if !source.walk.isCommon {
            for (rule, cause) in step.skipped {
                source.note(.pageRuleSkipped(rule: rule.description, reason: cause.description(in: page.request)))
            }
        }
        if step.isCut, source.refusesCut, let more = source.walk.more { throw .cut(more: more) }
        return step.page
    }

    /// Whether a page with the content of an earlier one is no page of its own.
    private var comparesContents: Bool { source.comparesContents ?? source.walk.composesPages }

    private func repeatsContent(_ page: PageRequest, _ piece: Piece) -> Bool {
        // Pages that are kept in any case have none.
        guard let checksum = piece.checksum else { return false }
        return page.contents?.contains(checksum) == true
    }

    /// Ends the list at a page that repeats another one.
    ///
    /// - Returns: The tasks to cancel.
    private func endRepeated(_ position: Int, _ state: inout State) -> [Task<Void, Never>] {
        guard source.repeatedPages == .refused else {
            state.end = min(state.end, position)
            return state.drop(from: position)
        }
        state.slots[position]?.arrival = .failure(.repeated)
        return state.drop(from: position + 1)
    }

    /// Records the successor of a page, and drops wrong speculative pages.
    ///
    /// - Returns: The tasks to cancel.
    private func settle(
        _ next: Result<PageRequest?, PageError.Cause>,
        after page: PageRequest,
        _ piece: Piece,
        _ position: Int,
        _ state: inout State
    ) -> [Task<Void, Never>] {
        state.frontier = position + 1
        switch next {
        case .success(nil):
            state.end = min(state.end, state.frontier)
            return state.drop(from: state.frontier)
        case .failure(let cause):
            let dropped = state.drop(from: state.frontier)
            // The page itself is delivered first.
            fail(page, cause, &state)
            return dropped
        case .success(var next?):
            next.contents = .following(piece.checksum, after: page.contents)
            // Counted pages cannot form a loop.
            if !source.walk.isAddressable {
                next.trail = page.trail
                next.trail.add(PageMarks.key(of: page), at: page.number)
            }
            state.following[position] = next
            if !source.walk.isAddressable, !state.visited.insert(PageMarks.key(of: next)).inserted {
                // A page with the items of an earlier one, which leads in a circle, has been delivered already.
                if repeatsContent(page, piece), source.repeatedPages != .kept {
                    state.following[position] = nil
                    state.frontier = position
                    state.slots[position]?.arrival = .failure(.loop)
                    return state.drop(from: position + 1)
                }
                let dropped = state.drop(from: state.frontier)
                fail(next, .loop, &state)
                return dropped
            }
            estimate(from: next, piece, &state)
            guard state.slots[state.frontier]?.page.request.url == next.request.url else {
                let dropped = state.drop(from: state.frontier)
                state.upcoming = next
                return dropped
            }
            // The assumption about the request was right; the number of items before it may still have been wrong.
            state.slots[state.frontier]?.page = next
            return []
        }
    }

    /// Ends the list with a page that cannot be followed to.
    private func fail(_ page: PageRequest, _ cause: PageError.Cause, _ state: inout State) {
        state.slots[state.frontier] = Slot(id: state.makeID(), page: page, arrival: .failure(cause))
        state.broken = (state.frontier, PageError(page: page, cause: cause))
    }

    /// Guesses from a page how long those after it are, and how many there are.
    private func estimate(from next: PageRequest, _ piece: Piece, _ state: inout State) {
        // The items of counted pages are known, and a page without items is the last.
        guard isParallel, let facts = piece.facts, let stride = facts.itemCount, stride > 0 else { return }
        state.stride = stride
        state.guessEnd = .max
        guard let total = source.walk.total(facts), let before = next.itemsBefore, total > before else { return }
        let (pages, rest) = (total - before).quotientAndRemainder(dividingBy: stride)
        let (end, overflow) = state.frontier.addingReportingOverflow(pages + (rest > 0 ? 1 : 0))
        if !overflow { state.guessEnd = end }
    }

    // MARK: - Delivering

    private func wait(for position: Int) async {
        while state.withLock({ $0.mustWait(for: position) }) {
            await Waiter<Void>.outcome { resumption in
                state.withLock { $0.wait.wait(resumption) }
            } _: {
                cancel()
            }
        }
    }

    /// The page at a position that was not delivered; nil at the end of the list.
    private func pending(_ state: State, at position: Int) -> PageRequest? {
        guard position < state.end else { return nil }
        return state.slots[position]?.page ?? (position == state.started ? state.upcoming : nil) ?? source.start
    }

    private func take(_ position: Int) throws(PageError) -> Delivery? {
        let (slot, next, broken, lost) = state.withLock { state -> (Slot?, PageRequest?, PageError?, PageRequest?) in
            guard state.isCertain(position), let slot = state.slots[position] else {
                let isCut = state.isCancelled && Task.isCancelled
                return (nil, nil, nil, isCut ? pending(state, at: position) : nil)
            }
            state.slots[position] = nil
            switch slot.arrival {
            case .piece: state.delivered = position + 1
            case .failure, .end, nil: state.end = position
            }
            let next = state.following.removeValue(forKey: position)
            let broken = state.broken.flatMap { $0.position == position + 1 ? $0.failure : nil }
            return (slot, next, broken, nil)
        }
        switch slot?.arrival {
        case .end, nil:
            guard let lost else { return nil }
            throw .cancelled(at: lost)
        case .failure(let cause):
            throw PageError(page: slot?.page ?? source.start, cause: cause, isCounted: source.walk.countsPages)
        case .piece(let piece):
            let page = slot?.page ?? source.start
            let total = piece.facts.flatMap { source.walk.total($0) }
            source.meter?.add(items: piece.facts?.itemCount ?? 0, bytes: piece.byteCount, total: total)
            return Delivery(
                page: page,
                next: next,
                nextFailure: broken,
                isLast: next == nil && broken == nil,
                total: total,
                piece: piece
            )
        }
    }
}
