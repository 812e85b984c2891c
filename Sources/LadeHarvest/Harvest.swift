public import Lade

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Synchronization

/// Loads a whole paged API as lines of JSON: one line per item, in order, byte for byte as the server sent it.
///
/// ```swift
/// var harvest = Harvest(try Request("https://api.example.com/items"))
/// harvest.items = ["items"]
/// harvest.prefetch = 2
/// let summary = try await harvest.run(with: loader, to: .file("items.ndjson"))
/// ```
///
/// Beside a file it keeps a journal, which records the part of the file that is safe on the disk. A run after an error, an
/// interrupt, `kill -9` or a loss of power truncates the file to the length that the journal confirms, and continues. The
/// result is the same as without the interruption. Once complete, running it again does nothing.
public struct Harvest: Sendable {
    /// Where the lines are written.
    public enum Destination: Sendable {
        /// A file, with a journal beside it: the path with `.journal` appended, unless another path is given.
        case file(String, journal: String? = nil)
        /// An open descriptor, such as 1 for the standard output; it stays open.
        ///
        /// Without a journal, the harvest cannot be resumed.
        case descriptor(Int32)
        /// A closure that receives whole lines, in order; an error that it throws ends the harvest.
        ///
        /// There is no journal.
        case writer(@Sendable (Data) throws -> Void)

        /// A file, with a journal beside it unless another one is named.
        ///
        /// - Throws: `LoadingError.Kind.file` for a URL that names no file.
        public static func file(_ file: URL, journal: URL? = nil) throws(LoadingError) -> Destination {
            let path = try file.localPath(for: .write)
            guard let journal else { return .file(path) }
            return .file(path, journal: try journal.localPath(for: .write))
        }
    }

    /// The forms of a page.
    public enum PageFormat: String, Sendable, Hashable {
        /// One JSON document that contains the list.
        case document
        /// Lines of JSON, each an item; ``Harvest/items`` is not used.
        case lines
    }

    /// The treatment of items whose identity occurred before.
    public enum Duplicates: String, Sendable, Hashable {
        /// They are counted and written.
        case kept
        /// They are counted and left out.
        case dropped
    }

    /// The first page.
    public var request: Request
    /// The location of the list in each page; the document itself by default.
    public var items: JSONPointer = []
    /// The form of a page; a document by default.
    public var format = PageFormat.document
    /// How the next page is found; the first rule that names a page counts.
    ///
    /// The places where common APIs name it by default.
    public var rules = Pages.Rule.common
    /// Where a response says whether there is a next page, such as `has_more`; nil, the default, where only the rules
    /// say so.
    public var more: Pages.Rule.Place?
    /// The statuses that mean the end of the list for a page after the first one; none by default.
    public var endStatuses: Set<Int> = []
    /// The number of pages without items in a row that are followed; 100 by default.
    public var emptyPageLimit = 100
    /// How a size is requested; nil when the service has no such parameter.
    public var sizer: Pages.Sizer?
    /// The number of items per page; 0 leaves it to the service.
    public var size = 0
    /// Where a response contains the total number of items; nil, the default, for the usual places.
    ///
    /// Only a place that is given here ends a list that is counted. Elsewhere the total shows whether the list is whole.
    public var total: Pages.Rule.Place?
    /// The treatment of a next page on another origin; by default it is loaded without credentials.
    public var otherOrigins = Pages.Rule.OtherOrigins.withoutCredentials
    /// The treatment of a page with the same items as the first page or the page before it; it is refused by default.
    ///
    /// Pages are compared where a rule counts them or carries a cursor. Elsewhere the server names the next page
    /// itself.
    public var repeatedPages = Pages.Rule.RepeatedPages.refused
    /// The location of each item's identity, a string or a number; nil to count no duplicates.
    ///
    /// It takes about 16 bytes of memory for each item.
    public var identity: JSONPointer?
    /// The treatment of duplicates; they are kept by default.
    public var duplicates = Duplicates.kept
    /// The further facts that decide what the server returns, by name: the user of the loader's account, its client,
    /// its audience.
    ///
    /// A journal keeps keyed digests of the values, and is refused when one of them differs.
    public var circumstances: [String: String] = [:]
    /// The secrets that decide what the server returns, by name: a token, the cookies of a session.
    ///
    /// They count as ``circumstances``, and as credentials in fields and in the query of the request do. Where one of
    /// them has another value, the journal is refused unless ``isSameSignIn`` is true.
    public var secrets: [String: String] = [:]
    /// Whether secrets with other values than in the journal are renewed ones of the same user; false by default.
    ///
    /// The journal remembers it, so that it need not be set again in later runs.
    public var isSameSignIn = false
    /// How many pages are loaded ahead; none by default, 64 at most.
    ///
    /// See `Loader.pages(of:size:prefetch:pageLimit:from:meter:)` of `Lade`.
    public var prefetch = 0
    /// The maximum number of pages, pages of earlier runs included; nil for all.
    public var pageLimit: Int?
    /// The maximum number of items, items of earlier runs included; nil for all.
    public var itemLimit: Int?
    /// The maximum size of an item in bytes, without white space; 16 MiB by default.
    public var itemByteLimit = 16 << 20
    /// How deep arrays and objects may be nested; 512 by default.
    public var nestingLimit = 512
    /// The time between flushes of the output, each of which updates the journal; 200 ms by default.
    ///
    /// If pages take longer, each page is flushed; if they come faster, 5 times a second. Flushing takes a disk some
    /// milliseconds. With `.zero` each page is flushed in any case.
    public var saveInterval: Duration = .milliseconds(200)
    /// The time source for this interval.
    public var time: any TimeSource = SystemTime()
    /// The calls that write files; the system's except in tests.
    var calls: any DiskCalls = SystemDiskCalls()

    /// Makes a harvest for a list that is the document itself, with next pages in `Link` or `/next`.
    public init(_ request: Request) {
        self.request = request
    }

    /// How a harvest ended, and how much it loaded.
    public struct Summary: Sendable, Hashable {
        /// Why it ended.
        public enum Ending: Sendable, Hashable {
            /// The last page was written.
            case complete
            /// The allowed number of pages or items was written; there are more.
            case limit
            /// A stop was requested; there are more.
            case stopped
        }

        /// Why it ended.
        public var ending: Ending
        /// The number of pages in the output, pages of earlier runs included.
        public var pages: Int
        /// The number of items in the output.
        public var items: Int
        /// The size of the output in bytes.
        public var bytes: Int64
        /// The number of pages from earlier runs.
        public var resumedPages: Int
        /// The number of items whose identity occurred before.
        public var duplicates: Int
        /// The total number of items according to the last response; nil if it does not say.
        public var total: Int?
        /// How many items of that total never arrived, if the harvest is complete.
        ///
        /// Without an identity, items that came twice count twice.
        public var missing: Int?
        /// Why the list may lack items although its last page was written, certain reasons first.
        public var doubts: [Doubt] = []

        /// Whether the list certainly lacks items.
        public var isCut: Bool { doubts.contains(where: \.isCertain) }
    }

    /// Makes a harvest finish its current page, save and end.
    public final class Stop: Sendable {
        private let isAsked = Atomic(false)

        /// Makes a stop that is not requested yet.
        public init() {}

        /// Requests the stop.
        public func request() { isAsked.store(true, ordering: .relaxed) }

        /// Whether the stop was requested.
        public var isRequested: Bool { isAsked.load(ordering: .relaxed) }
    }

    /// Runs the harvest.
    ///
    /// - Parameters:
    ///   - loader: Loads the pages; its service's policies decide about retries, limits and credentials.
    ///   - destination: Where the lines are written.
    ///   - restart: Whether to start again, ignoring existing output and journal.
    ///   - stop: Ends the harvest after the current page.
    ///   - meter: Receives the progress with every page.
    /// - Returns: How it ended.
    /// - Throws: ``HarvestError``; the journal is valid in all cases. Cancelling the task ends the harvest immediately,
    ///   with its whole pages saved.
    ///
    /// Pages are parsed and written off the caller's actor; the closure of ``Destination/writer(_:)`` runs there too.
    @concurrent
    public func run(
        with loader: Loader,
        to destination: Destination,
        restart: Bool = false,
        stop: Stop? = nil,
        meter: Pages.Progress.Meter? = nil
    ) async throws(HarvestError) -> Summary {
        try await run(to: destination, restart: restart, stop: stop, meter: meter) {
            (request) async throws(LoadingError) in
            try await loader.load(request)
        } note: { event in
            loader.note(event)
        }
    }

    /// Runs the harvest with any closure that loads a page.
    func run(
        to destination: Destination,
        restart: Bool = false,
        stop: Stop? = nil,
        meter: Pages.Progress.Meter? = nil,
        fetch: @escaping @Sendable (Request) async throws(LoadingError) -> Response,
        note: @escaping @Sendable (Call.Event) -> Void = { _ in }
    ) async throws(HarvestError) -> Summary {
        let walk = makeWalk()
        let ledger = try HarvestLedger(
            self,
            HarvestArguments(self, walk),
            destination,
            restart: restart,
            isNumbered: walk.isAddressable
        )
        if ledger.journal.isComplete { return ledger.summary(.complete) }
        meter?.begin(with: ledger.progress)
        let start = try ledger.start(in: walk)
        // A failure is met again by the next page.
        if let content = ledger.comparableFirstPage, let response = try? await fetch(walk.first.request),
            let now = (try? split(response, walk.first, walk))?.checksum, now != content
        {
            ledger.noteChangedFirstPage()
        }
        var source = makeSource(walk, from: start, fetch: fetch)
        source.note = note
        source.meter = meter
        source.visited = ledger.visited
        source.pageLimit = pageLimit.map { max(0, max(0, $0) - ledger.journal.pages) }
        let feed = PageFeed(source)
        defer { feed.cancel() }
        return try await consume(feed, ledger, stop)
    }

    /// Makes the walk of the list that begins with ``request``.
    func makeWalk() -> PageWalk {
        PageWalk(
            original: request,
            size: size,
            sizer: sizer,
            rules: rules,
            more: more,
            total: total,
            findsTotal: true,
            otherOrigins: otherOrigins,
            emptyPageLimit: emptyPageLimit
        )
    }

    /// Makes the source of a feed that begins at a page.
    func makeSource(
        _ walk: PageWalk,
        from start: PageRequest,
        fetch: @escaping @Sendable (Request) async throws(LoadingError) -> Response
    ) -> PageFeed<SplitPage>.Source {
        var source = PageFeed<SplitPage>.Source(
            walk: walk,
            start: start,
            load: { @concurrent (page) async throws(LoadingError) in
                try split(try await fetch(page.request), page, walk)
            }
        )
        source.prefetch = prefetch
        source.repeatedPages = repeatedPages
        source.endStatuses = endStatuses
        source.refusesCut = false
        return source
    }

    private func consume(
        _ feed: PageFeed<SplitPage>,
        _ ledger: HarvestLedger,
        _ stop: Stop?
    ) async throws(HarvestError) -> Summary {
        while true {
            if let itemLimit, ledger.journal.items >= itemLimit { return try ledger.end(.limit) }
            if stop?.isRequested == true { return try ledger.end(.stopped) }
            let delivery: PageFeed<SplitPage>.Delivery?
            do throws(PageError) {
                delivery = try await feed.next()
            } catch {
                try ledger.save()
                ledger.withdraw()
                throw .page(error)
            }
            guard let delivery else {
                let isLimited = pageLimit.map { ledger.journal.pages >= $0 } ?? false
                return try ledger.end(isLimited ? .limit : .complete)
            }
            try ledger.add(delivery)
            // The page is known to be the last: recorded immediately, so that an interrupted harvest counts as
            // complete.
            if delivery.isLast, !ledger.isWithinPage { return try ledger.end(.complete) }
        }
    }

    private func split(
        _ response: Response,
        _ page: PageRequest,
        _ walk: PageWalk
    ) throws(LoadingError) -> PagePiece<SplitPage> {
        guard let bytes = response.body.bytes else {
            let clause = "A streamed body cannot be harvested: load the pages with buffered delivery"
            throw LoadingError(.invalidRequest(.streamedBody(clause)), LoadingError.Context(response.request))
        }
        guard !response.isUnrequestedPart else {
            throw LoadingError(.unacceptableStatus(response.status), LoadingError.Context(response))
        }
        // A response without content is a page without items.
        guard response.status != 204 else { return piece(response, page, walk, SplitPage(), bytes) }
        return try format == .lines
            ? splitLines(response, page, walk, bytes) : splitDocument(response, page, walk, bytes)
    }

    private func splitDocument(
        _ response: Response,
        _ page: PageRequest,
        _ walk: PageWalk,
        _ bytes: Data
    ) throws(LoadingError) -> PagePiece<SplitPage> {
        var settings = JSONSplitter.Settings(list: items, values: walk.pointers, identity: identity)
        settings.itemLimit = itemByteLimit
        settings.nestingLimit = nestingLimit
        var splitter = JSONSplitter(settings)
        do throws(JSONError) {
            try splitter.consume(bytes)
            try splitter.finish()
        } catch {
            throw LoadingError(.decoding, LoadingError.Context(response), underlyingError: error)
        }
        // Later pages may omit an empty list; if the first page has none, its location is wrong.
        let isAbsent = splitter.listState == .missing || splitter.listState == .null
        guard splitter.listState == .array || (isAbsent && page.number > 0) else {
            throw LoadingError(
                .decoding,
                LoadingError.Context(response),
                underlyingError: ProcessingError.missingList(
                    .init(
                        pointer: items,
                        found: splitter.listState,
                        lists: ProcessingError.MissingList.lists(in: bytes)
                    )
                )
            )
        }
        let content = SplitPage(
            lines: splitter.takeLines(),
            identities: splitter.takeIdentities(),
            itemCount: splitter.itemCount
        )
        return piece(response, page, walk, content, bytes) { facts in facts.take(splitter, walk, bytes) }
    }

    private func splitLines(
        _ response: Response,
        _ page: PageRequest,
        _ walk: PageWalk,
        _ bytes: Data
    ) throws(LoadingError) -> PagePiece<SplitPage> {
        var content = SplitPage()
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes
        for line in text.split(separator: 0x0A) where !line.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) {
            var settings = JSONSplitter.Settings(list: [], identity: identity)
            settings.itemLimit = itemByteLimit
            settings.nestingLimit = nestingLimit
            var whole = JSONSplitter(.init(list: nil))
            var splitter = JSONSplitter(settings)
            do throws(JSONError) {
                // Alone first: as the element of an array, a line could be two items.
                try whole.consume(Data(line))
                try whole.finish()
                try splitter.consume(Data([0x5B] + line + [0x5D]))
                try splitter.finish()
            } catch {
                throw LoadingError(
                    .decoding,
                    LoadingError.Context(response),
                    underlyingError: LineFault(line: content.itemCount + 1, fault: error)
                )
            }
            content.lines += splitter.takeLines()
            content.identities += splitter.takeIdentities()
            content.itemCount += 1
        }
        return piece(response, page, walk, content, bytes)
    }

    /// Puts together the known facts of a page.
    private func piece(
        _ delivered: Response,
        _ page: PageRequest,
        _ walk: PageWalk,
        _ content: SplitPage,
        _ bytes: Data,
        _ complete: (inout PageWalk.Facts) -> Void = { _ in }
    ) -> PagePiece<SplitPage> {
        // Only the lines are kept; the body would take the same space again.
        var response = delivered
        response.body = Response.Body()
        var facts = PageWalk.Facts(response: response, itemCount: content.itemCount)
        complete(&facts)
        var content = content
        // A page that cannot be followed is an error, which is found again when the successor is determined.
        if let step = try? walk.step(after: page, facts), step.page == nil {
            content.doubts = doubts(page, step, facts, walk, bytes)
        }
        return PagePiece(
            content: content,
            facts: facts,
            byteCount: bytes.count,
            checksum: repeatedPages != .kept && content.itemCount > 0 ? PageContents.checksum(content.lines) : nil
        )
    }

    /// The signs that more follows a page after which no rule names one.
    private func doubts(
        _ page: PageRequest,
        _ step: PageWalk.Step,
        _ facts: PageWalk.Facts,
        _ walk: PageWalk,
        _ bytes: Data
    ) -> [Doubt] {
        var doubts: [Doubt] = []
        if step.isCut, let more { doubts.append(Doubt(certain: true, "\(more) says that there is more.")) }
        // Lists that are counted end at an empty page, whatever it says.
        guard !walk.countsPages else { return doubts }
        // The condition that the caller names decides: a cursor may stand on the last page, too.
        guard !step.isEnd else { return doubts }
        let signs = PageSigns(
            document: format == .document ? JSONValue(tolerant: bytes) : nil,
            headers: facts.response.headers,
            items: self.items,
            itemCount: facts.itemCount ?? 0,
            itemsSoFar: page.itemsBefore?.addingSaturated(facts.itemCount ?? 0),
            size: size,
            request: request,
            isFirst: page.number == 0,
            rules: rules == Pages.Rule.common ? [] : rules,
            total: walk.total(facts),
            redaction: Redaction(request)
        )
        doubts += signs.doubts()
        if doubts.isEmpty, rules.count > 1, case .invalidTarget(let text)? = step.skipped.first?.cause {
            doubts.append(Doubt(certain: false, "A link cannot be read: \(text)."))
        }
        return doubts
    }
}

/// The items of a page as lines.
struct SplitPage: Sendable {
    var lines = Data()
    var identities: [UInt64?] = []
    var itemCount = 0
    /// Why more may follow the page, if it is the last.
    var doubts: [Harvest.Doubt] = []
}

/// A line of a page that is no JSON.
struct LineFault: Error, CustomStringConvertible {
    let line: Int
    let fault: JSONError

    var description: String { "Line \(line) is not one JSON value: \(fault)" }
}
