#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The walk of one segment by the code of a single harvest: pages in, lines of a part out.
struct SegmentWalk {
    /// The reason why the pages of a segment ended.
    enum Ending {
        /// The part is to be committed.
        case sequel(BoardSequel)
        /// The lease is held by another worker.
        case lost
        /// A fault of this worker, after which others continue.
        case fault(HarvestError, BoardSequel)
    }

    /// The harvest of the partition.
    let harvest: Harvest
    let walk: PageWalk
    let lease: BoardLease
    let isNumbered: Bool
    let fetch: @Sendable (Request) async throws(LoadingError) -> Response
    let note: @Sendable (Call.Event) -> Void
    let meter: Pages.Progress.Meter?
    /// The standing of the lease, and whether a stop was requested.
    let standing: @Sendable () -> BoardStanding
    /// The facts of the last page, for the output as a whole.
    private(set) var end = ListEnd()
    /// The number of pages that were loaded.
    private(set) var loaded = 0

    private var start: PageRequest
    private var marks: PageMarks
    /// Where a walk by links continues.
    private var next: PageRequest?

    init(
        _ harvest: Harvest,
        _ walk: PageWalk,
        _ lease: BoardLease,
        isNumbered: Bool,
        meter: Pages.Progress.Meter?,
        fetch: @escaping @Sendable (Request) async throws(LoadingError) -> Response,
        note: @escaping @Sendable (Call.Event) -> Void,
        standing: @escaping @Sendable () -> BoardStanding
    ) throws(HarvestError) {
        (self.harvest, self.walk, self.lease, self.isNumbered) = (harvest, walk, lease, isNumbered)
        (self.meter, self.fetch, self.note, self.standing) = (meter, fetch, note, standing)
        marks = PageMarks()
        if isNumbered {
            guard var page = walk.page(numbered: lease.segment.first) else { throw .store }
            if lease.segment.first > 0, let known = lease.start ?? lease.before {
                page.contents = PageContents(first: lease.start ?? known, last: lease.before ?? known)
            }
            start = page
        } else if let text = lease.cursor {
            guard let stored = PageStart(text.reveal(), in: walk), stored.number == lease.segment.first else {
                throw .store
            }
            start = try stored.page(in: walk)
            marks = stored.marks ?? PageMarks()
        } else {
            guard lease.segment.first == 0 else { throw .store }
            start = walk.first
        }
        next = lease.cursor == nil ? nil : start
    }

    /// The position behind the segment, in items, where pages are requested by the position of their items.
    private var itemEnd: Int? {
        guard isNumbered, harvest.rules.first?.isOffset == true else { return nil }
        return (lease.segment.first + lease.count) * walk.first.size
    }

    /// Loads the pages, and writes their lines.
    mutating func run(into writer: PartWriter) async throws(HarvestError) -> Ending {
        var isWhole = false
        while !isWhole {
            var source = harvest.makeSource(walk, from: start, fetch: fetch)
            source.note = note
            source.meter = meter
            source.visited = Set(marks.keys)
            source.pageLimit = pagesLeft(writer.part.pages)
            let feed = PageFeed(source)
            defer { feed.cancel() }
            var expected = source.pageLimit ?? 0
            while expected > 0, pagesLeft(writer.part.pages) > 0 {
                switch standing() {
                case .held: break
                case .lost: return .lost
                case .cancelled: return .sequel(try more(writer))
                }
                let delivery: PageFeed<SplitPage>.Delivery?
                do throws(PageError) {
                    delivery = try await feed.next()
                } catch {
                    return try failed(error, writer)
                }
                // A status, or a page that came before, has ended the list.
                guard let delivery else { return finish(writer) }
                loaded += 1
                expected -= 1
                if let failure = delivery.nextFailure { return try failed(failure, writer) }
                try add(delivery, to: writer)
                if delivery.isLast {
                    end.doubts = delivery.piece.content.doubts
                    return finish(writer)
                }
            }
            // Pages by position may be shorter than requested.
            isWhole = pagesLeft(writer.part.pages) == 0
        }
        return .sequel(try more(writer))
    }

    private func pagesLeft(_ pages: Int) -> Int {
        guard let itemEnd, let before = start.itemsBefore else { return max(0, lease.count - pages) }
        let (whole, rest) = max(0, itemEnd - before).quotientAndRemainder(dividingBy: max(1, walk.first.size))
        return whole + (rest > 0 ? 1 : 0)
    }

    private mutating func add(_ delivery: PageFeed<SplitPage>.Delivery, to writer: PartWriter) throws(HarvestError) {
        var limit = Int.max
        var pages: Int? = writer.part.pages + 1
        if let itemEnd, let before = delivery.page.itemsBefore {
            let count = delivery.piece.content.itemCount
            limit = max(0, itemEnd - before)
            let (whole, rest) = (before + min(count, limit)).quotientAndRemainder(dividingBy: walk.first.size)
            pages = rest == 0 ? whole - lease.segment.first : nil
        }
        try writer.add(delivery.piece.content, limit: limit, checksum: delivery.piece.checksum, pages: pages)
        end.total = delivery.total ?? end.total
        if !isNumbered { marks.add(PageMarks.key(of: delivery.page), at: delivery.page.number) }
        next = delivery.next
        if let next = delivery.next { start = next }
    }

    /// The end of the list, after all pages that were loaded.
    private func finish(_ writer: PartWriter) -> Ending {
        writer.end(pages: itemEnd == nil ? writer.part.pages : min(lease.count, loaded))
        return .sequel(.end)
    }

    /// The continuation after the pages that are in the part.
    private func more(_ writer: PartWriter) throws(HarvestError) -> BoardSequel {
        try writer.cutToWholePages()
        return .more(try cursor)
    }

    private var cursor: Secret? {
        get throws(HarvestError) {
            guard !isNumbered, let next else { return nil }
            guard let text = PageStart(next, marks: marks).text(in: walk) else {
                throw .page(PageError(page: next, cause: .invalidTarget("an address of more than 16 KiB")))
            }
            return Secret(text)
        }
    }

    /// A page that could not be loaded: the pages before it are kept.
    private func failed(_ error: PageError, _ writer: PartWriter) throws(HarvestError) -> Ending {
        let sequel = try more(writer)
        let isFirst = !isNumbered && lease.cursor != nil && loaded == 0
        guard let kind = BoardFailure.Kind(error.cause, isContinued: isFirst) else {
            return .fault(.page(error), sequel)
        }
        // The number of the page is that of the segment.
        let text = error.clause.escapedForDisplay(limit: 150)
        let detail = String(decoding: text.utf8.prefix(BoardFailure.detailLimit - 3), as: UTF8.self)
        guard case .more(let cursor) = sequel else { return .sequel(sequel) }
        return .sequel(.failed(BoardFailure(kind, detail: detail), cursor))
    }
}

/// The facts that only the last page of a list has.
struct ListEnd: Codable, Equatable, Sendable {
    var total: Int?
    var doubts: [Harvest.Doubt]?
}

extension BoardFailure.Kind {
    /// The kind of a failure; nil for a fault of the worker itself.
    ///
    /// A page that a worker continues with after another one may have a cursor that has expired.
    init?(_ cause: PageError.Cause, isContinued: Bool) {
        guard case .loading(let error) = cause else {
            // Behind such a page each further page would fail, in a list without an end.
            if case .repeated = cause { return nil }
            self = .lasting
            return
        }
        switch error.kind {
        case .unacceptableStatus(let status):
            switch status.code {
            case 401: return nil
            case 400, 404, 410: self = isContinued ? .expired : .lasting
            case 408, 425, 429, 500...: self = .temporary
            default: self = .lasting
            }
        case .timedOut, .nameNotResolved, .cannotConnect, .proxy, .connectionLost, .incompleteBody, .deadlineExceeded,
            .rateLimited, .transport, .malformedResponse:
            self = .temporary
        case .headTooLarge, .bodyTooLarge, .decompressionRatioExceeded, .redirectRefused, .decoding, .notStored:
            self = .lasting
        default: return nil
        }
    }
}

extension Pages.Rule {
    /// Whether pages are requested by the position of their first item.
    var isOffset: Bool { if case .offset = self { true } else { false } }
}
