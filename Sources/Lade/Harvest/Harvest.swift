public import LadeCore

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Synchronization

/// A whole paged API as lines of JSON: one line per item, in order, byte for byte what the server sent.
///
/// ```swift
/// var harvest = Harvest(try Request("https://api.example.com/items"))
/// harvest.items = ["items"]
/// harvest.prefetch = 2
/// let summary = try await harvest.run(with: loader, to: .file("items.ndjson"))
/// ```
///
/// Beside a file it keeps a journal of what the file holds for certain. Run again after an error, an interrupt, `kill -9`
/// or a loss of power, it cuts off what the journal does not know of and goes on; the file ends up as if nothing had
/// happened. Once complete, running it again does nothing.
public struct Harvest: Sendable {
    /// Where the lines go.
    public enum Destination: Sendable {
        /// A file, with a journal beside it: the path with `.journal` added, unless another one is named.
        case file(String, journal: String? = nil)
        /// An open descriptor, such as 1 for the standard output; it stays open. There is no journal, so no resuming.
        case descriptor(Int32)
        /// A closure that gets whole lines, in order; what it throws ends the harvest. There is no journal.
        case writer(@Sendable (Data) throws -> Void)
    }

    /// What becomes of items whose identity came up before.
    public enum Duplicates: String, Sendable, Hashable {
        /// They are counted and written.
        case kept
        /// They are counted and left out.
        case dropped
    }

    /// The first page.
    public var request: Request
    /// Where in each page the list is; the document itself by default.
    public var items: JSONPointer = []
    /// How the next page is found; the first rule that names one.
    ///
    /// `Link` and `/next` by default.
    public var rules: [PageRule] = [.link(relation: "next"), .body(["next"])]
    /// How a size is asked for; nil when the service has none.
    public var sizer: Sizer?
    /// How many items a page is to have; 0 leaves it to the service.
    public var size = 0
    /// Where an answer says how many items there are; nil when none says.
    public var total: PageTotal?
    /// What happens when a next page lies on another origin; it is fetched without credentials by default.
    public var otherOrigins = OtherOrigins.withoutCredentials
    /// Where in each item its identity is, a string or a number; nil to count no duplicates (pages PA-26).
    ///
    /// It costs 16 bytes of memory or so for each item.
    public var identity: JSONPointer?
    /// What becomes of duplicates; they are kept by default.
    public var duplicates = Duplicates.kept
    /// How many pages are loaded ahead; none by default, 64 at most.
    ///
    /// See ``Loader/pages(of:size:prefetch:pageLimit:from:meter:)``.
    public var prefetch = 0
    /// How many pages are written at most, those of earlier runs included; nil for all.
    public var pageLimit: Int?
    /// How many items are written at most, those of earlier runs included; nil for all.
    public var itemLimit: Int?
    /// How many bytes an item may have without its white space; 16 MiB by default.
    public var itemByteLimit = 16 << 20
    /// How many arrays and objects may stand within one another; 512 by default.
    public var nestingLimit = 512
    /// How long pages may pile up before the output is flushed and the journal replaced; 200 ms by default.
    ///
    /// That is after each page when pages take longer, and 5 times a second when they come faster: making a page safe
    /// takes a disk some milliseconds. With `.zero` it is after each page in any case.
    public var saveInterval: Duration = .milliseconds(200)
    /// Where the time between savings comes from.
    public var time: any TimeSource = SystemTime()
    /// How files are written; the system's calls but in tests.
    var calls: any DiskCalls = SystemDiskCalls()

    /// Makes a harvest of a list that is the document itself, with next pages in `Link` or `/next`.
    public init(_ request: Request) {
        self.request = request
    }

    /// How a harvest ended, and what it met.
    public struct Summary: Sendable, Hashable {
        /// Why it ended.
        public enum Ending: Sendable, Hashable {
            /// The last page is written.
            case complete
            /// As many pages or items as allowed are written; there are more.
            case limit
            /// It was asked to stop; there are more.
            case stopped
        }

        /// Why it ended.
        public var ending: Ending
        /// How many pages are in the output, those of earlier runs included.
        public var pages: Int
        /// How many items are in the output.
        public var items: Int
        /// How many bytes the output has.
        public var bytes: Int64
        /// How many pages of earlier runs were found.
        public var resumedPages: Int
        /// How many items had an identity that came up before.
        public var duplicates: Int
        /// How many items there should be by the last answer's word; nil when none says.
        public var total: Int?
        /// How many items by that word never came up, when it is complete and an identity tells them apart.
        public var missing: Int?
    }

    /// Asks a harvest to finish its page, save and end.
    public final class Stop: Sendable {
        private let isAsked = Atomic(false)

        /// Makes one that asks for nothing yet.
        public init() {}

        /// Asks.
        public func request() { isAsked.store(true, ordering: .relaxed) }

        /// Whether it was asked.
        public var isRequested: Bool { isAsked.load(ordering: .relaxed) }
    }

    /// Runs it.
    ///
    /// - Parameters:
    ///   - loader: What loads the pages; its service's policies decide about retries, limits and credentials.
    ///   - destination: Where the lines go.
    ///   - restart: Whether to begin anew, whatever output and journal there are.
    ///   - stop: Ends it after the page at hand (PA-24).
    ///   - meter: Is told of every page.
    /// - Returns: How it ended.
    /// - Throws: ``HarvestError``; the journal is valid whatever is thrown. Cancelling the task ends it immediately, with
    ///   what was whole saved.
    ///
    /// Pages are split and written off the caller's actor; the closure of ``Destination/writer(_:)`` runs there too.
    @concurrent
    public func run(
        with loader: Loader,
        to destination: Destination,
        restart: Bool = false,
        stop: Stop? = nil,
        meter: PageMeter? = nil
    ) async throws(HarvestError) -> Summary {
        try await run(to: destination, restart: restart, stop: stop, meter: meter) {
            (request) async throws(LoadingError) in
            try await loader.load(request)
        }
    }

    /// Runs it over whatever loads a page.
    func run(
        to destination: Destination,
        restart: Bool = false,
        stop: Stop? = nil,
        meter: PageMeter? = nil,
        fetch: @escaping @Sendable (Request) async throws(LoadingError) -> Response
    ) async throws(HarvestError) -> Summary {
        let walk = PageWalk(
            original: request,
            size: size,
            sizer: sizer,
            rules: rules,
            total: total,
            otherOrigins: otherOrigins
        )
        let arguments = arguments(walk)
        let ledger = try HarvestLedger(
            self,
            arguments,
            destination,
            restart: restart,
            isNumbered: walk.isAddressable
        )
        if ledger.journal.isComplete { return ledger.summary(.complete) }
        meter?.begin(with: ledger.progress)
        let start = try ledger.start(in: walk)
        var source = PageSource<SplitPage>(
            walk: walk,
            start: start,
            load: { @concurrent (page) async throws(LoadingError) in
                try split(try await fetch(page.request), page, walk)
            }
        )
        source.prefetch = prefetch
        source.meter = meter
        source.visited = ledger.visited
        source.pageLimit = pageLimit.map { max(0, max(0, $0) - ledger.journal.pages) }
        let feed = PageFeed(source)
        defer { feed.cancel() }
        return try await consume(feed, ledger, stop)
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
            do throws(PageFailure) {
                delivery = try await feed.next()
            } catch {
                try ledger.save()
                throw .page(error)
            }
            guard let delivery else {
                let isLimited = pageLimit.map { ledger.journal.pages >= $0 } ?? false
                return try ledger.end(isLimited ? .limit : .complete)
            }
            try ledger.add(delivery)
            // Known to be the last: said at once, so that an interrupt now finds it complete.
            if delivery.isLast, !ledger.isWithinPage { return try ledger.end(.complete) }
        }
    }

    /// What must be the same for a journal to go on: all that decides which bytes come out.
    private func arguments(_ walk: PageWalk) -> [String: String] {
        var arguments = [
            "url": walk.first.request.url.redacted(secretQueryNames: request.secretQueryNames),
            "method": request.method.rawValue,
            "items": items.description,
            "next": rules.map(\.description).joined(separator: ", "),
            "size": String(size),
            "duplicates": duplicates.rawValue,
        ]
        if let identity { arguments["identity"] = identity.description }
        if let total { arguments["total"] = total.description }
        for name in ["Accept", "Accept-Language"] {
            if let value = request.headers[name] { arguments[name.lowercased()] = value }
        }
        switch request.body?.content {
        case .bytes(let bytes): arguments["body"] = String(CRC64.checksum(Array(bytes)), radix: 16)
        case .file(let path, let offset): arguments["body"] = "\(path) from \(offset)"
        default: break
        }
        return arguments
    }

    private func split(
        _ answer: Response,
        _ page: Page,
        _ walk: PageWalk
    ) throws(LoadingError) -> PagePiece<SplitPage> {
        guard let bytes = answer.body.bytes else {
            throw .invalidRequest(.unsupportedFeature("harvesting of streamed bodies"), ErrorContext(answer.request))
        }
        var settings = JSONSplitter.Settings(list: items, values: walk.pointers, identity: identity)
        settings.itemLimit = itemByteLimit
        settings.nestingLimit = nestingLimit
        var splitter = JSONSplitter(settings)
        do throws(JSONFault) {
            try splitter.consume(bytes)
            try splitter.finish()
        } catch {
            throw .decoding(error, ErrorContext(answer))
        }
        // Later pages may leave the list out when it is empty; a first page without it was asked in the wrong place.
        let isAbsent = splitter.listState == .missing || splitter.listState == .null
        guard splitter.listState == .array || (isAbsent && page.number > 0) else {
            throw .decoding(MissingListFault(pointer: items, found: splitter.listState), ErrorContext(answer))
        }
        // Only the lines are kept; the body would take the same room once more.
        var response = answer
        response.body = ResponseBody()
        let facts = PageWalk.Facts(
            response: response,
            scalars: walk.pointers.indices.map { splitter.value(at: $0) },
            itemCount: splitter.itemCount
        )
        let content = SplitPage(lines: splitter.takeLines(), identities: splitter.takeIdentities())
        return PagePiece(content: content, facts: facts, byteCount: bytes.count)
    }
}

/// The items of a page as lines.
struct SplitPage: Sendable {
    var lines: Data
    var identities: [UInt64?]
}
