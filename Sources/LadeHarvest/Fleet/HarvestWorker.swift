#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// A worker of a harvest by several processes: it claims segments of a list, writes them to parts, and commits these.
///
/// The parts are in a folder. A worker that finds nothing left to claim merges them into the output.
package struct HarvestWorker: Sendable {
    /// The list, its limits, and how it is paged.
    package var harvest: Harvest
    /// The name of the run, which is the same for all workers.
    package var run: String
    /// The name of the worker: letters, digits, `-`, `_` and `.`.
    package var name: String
    /// The path of the output; the parts are in the folder of this path with `.parts` appended.
    package var output: String
    /// The walks of the run; one by default.
    package var partitions = HarvestPartitions.none
    /// The most pages of a segment, from 1 to 1,000; 32 by default.
    package var segmentSize = 32
    /// The wish about a run that exists already; to resume it also tries its failed pages again.
    package var opening = BoardOpening.join
    /// Whether a list whose cursor has expired begins again; otherwise it fails.
    package var restartsWalks = false
    /// For how long a store that does not respond is waited for; 10 minutes by default.
    package var patience = Duration.seconds(600)
    /// The source of the random number of a run that begins.
    package var random: any RandomSource = SystemRandom()

    /// Makes a worker with the usual settings.
    package init(_ harvest: Harvest, run: String, name: String, output: String) {
        (self.harvest, self.run, self.name, self.output) = (harvest, run, name, output)
    }

    /// The end of the work of a worker.
    package enum Ending: Sendable, Hashable {
        /// The output is complete, by this worker or another one.
        case complete
        /// It was complete when this worker came, for so long.
        case completeBefore(Duration)
        /// Pages failed; one line for each.
        case incomplete([String])
        /// All pages are in parts, of which this machine lacks some.
        case lacking([String])
        /// A stop was requested.
        case stopped
        /// The run is cancelled.
        case cancelled
        /// A new run cannot begin while so many workers hold segments.
        case busy(Int)
        /// The store has not responded for as long as was waited.
        case unreachable
    }

    /// The work of a worker.
    package struct Summary: Sendable, Hashable {
        package var ending: Ending
        /// The output, if this worker has merged it.
        package var merged: Harvest.Summary?
        /// The pages that this worker loaded, and those that are in parts of the run.
        package var ownPages = 0
        package var state: BoardState?
    }

    /// Whether many workers can share one list; otherwise each list has one worker at a time, and others take over.
    package var isParallel: Bool { harvest.makeWalk().page(numbered: 1) != nil }

    /// Works until nothing is left to do.
    ///
    /// - Parameters:
    ///   - board: The board of this worker in the run.
    ///   - loader: Loads the pages.
    ///   - stop: Ends the work after the current page; the rest of the segment is given back.
    ///   - meter: Receives the progress with every page.
    /// - Returns: How it ended, also when the store does not respond.
    /// - Throws: `HarvestError` for faults of this worker alone, such as a full disk or refused credentials, and for
    ///   other arguments than those of the run. Cancelling the task gives the segment back.
    @concurrent
    package func work(
        on board: any WorkBoard,
        with loader: Loader,
        stop: Harvest.Stop? = nil,
        meter: Pages.Progress.Meter? = nil
    ) async throws(HarvestError) -> Summary {
        try await work(on: board, stop: stop, meter: meter) { (request) async throws(LoadingError) in
            try await loader.load(request)
        } note: { event in
            loader.note(event)
        }
    }

    func work(
        on board: any WorkBoard,
        stop: Harvest.Stop? = nil,
        meter: Pages.Progress.Meter? = nil,
        fetch: @escaping @Sendable (Request) async throws(LoadingError) -> Response,
        note: @escaping @Sendable (Call.Event) -> Void = { _ in }
    ) async throws(HarvestError) -> Summary {
        let session = try WorkSession(self, board, stop, meter, fetch, note)
        var summary = Summary(ending: .stopped)
        do throws(WorkSession.End) {
            summary.ending = try await session.work()
        } catch {
            switch error {
            case .fault(let fault): throw fault
            case .ending(let ending): summary.ending = ending
            }
        }
        summary.merged = session.merged
        summary.ownPages = session.ownPages
        guard summary.ending != .unreachable, case .state(let state)? = await board.carryOut(.state) else {
            return summary
        }
        summary.state = state
        return summary
    }
}

/// The work of a worker from its start to its end.
final class WorkSession {
    /// The reason why the work ends early.
    enum End: Error {
        case ending(HarvestWorker.Ending)
        case fault(HarvestError)
    }

    private let worker: HarvestWorker
    private let board: any WorkBoard
    private let stop: Harvest.Stop?
    private let meter: Pages.Progress.Meter?
    private let fetch: @Sendable (Request) async throws(LoadingError) -> Response
    private let note: @Sendable (Call.Event) -> Void
    private let walk: PageWalk
    private let arguments: FleetArguments
    private let run: BoardRun
    private let folder: String
    private let journal: WorkerJournal
    private var epoch: UInt64 = 0
    private(set) var ownPages = 0
    /// The number of segments in a row without a page.
    private var failures = 0
    private(set) var merged: Harvest.Summary?

    private var harvest: Harvest { worker.harvest }

    init(
        _ worker: HarvestWorker,
        _ board: any WorkBoard,
        _ stop: Harvest.Stop?,
        _ meter: Pages.Progress.Meter?,
        _ fetch: @escaping @Sendable (Request) async throws(LoadingError) -> Response,
        _ note: @escaping @Sendable (Call.Event) -> Void
    ) throws(HarvestError) {
        (self.worker, self.board, self.stop, self.meter) = (worker, board, stop, meter)
        (self.fetch, self.note) = (fetch, note)
        walk = worker.harvest.makeWalk()
        arguments = FleetArguments(worker, walk)
        var run = BoardRun(digest: arguments.digest, text: arguments.text)
        run.walks = worker.partitions.count
        run.isNumbered = worker.isParallel
        run.size = min(max(1, worker.segmentSize), 1_000)
        run.limit = worker.harvest.pageLimit
        run.restartsWalks = worker.restartsWalks
        self.run = run
        folder = worker.output + ".parts"
        var restarts = false
        if case .restart = worker.opening { restarts = true }
        // An output of something else stays.
        if FileIdentity(path: folder) == nil, FileIdentity(path: worker.output) != nil, !restarts {
            throw .outputExists(path: worker.output)
        }
        try Disk.makeFolder(folder)
        journal = try WorkerJournal(
            "\(folder)/worker-\(worker.name).journal",
            run: worker.run,
            arguments,
            restart: restarts,
            worker.harvest.calls
        )
    }

    // MARK: - The board

    /// Sends an order, and waits for a store that does not respond.
    private func send(_ order: BoardOrder, waits: Bool = true) async throws(End) -> BoardReply {
        let start = harvest.time.now
        while true {
            if let reply = await board.carryOut(order) { return reply }
            guard waits, start.duration(to: harvest.time.now) < worker.patience else { throw .ending(.unreachable) }
            try await sleep(.seconds(1))
        }
    }

    private func sleep(_ duration: Duration) async throws(End) {
        if stop?.isRequested == true { throw .ending(.stopped) }
        do throws(LoadingError) {
            try await harvest.time.sleep(for: duration)
        } catch {
            throw .fault(.page(PageError.cancelled(at: walk.first)))
        }
    }

    /// Joins the run, or begins it.
    private func open(_ opening: BoardOpening, lost: UInt64?, waits: Bool) async throws(End) {
        let before = lost
        while true {
            let order = BoardOrder.open(run, opening, epoch: worker.random.next(), lost: lost)
            switch try await send(order, waits: waits) {
            case .opened(let epoch, _):
                self.epoch = epoch
                if opening == .resume { _ = try await send(.retry) }
                if epoch == before { try await commitAgain() } else if try await !offerAll() { continue }
                return
            case .differs(let text):
                throw .fault(.argumentsDiffer(journal: "of the run \(worker.run)", arguments.differences(from: text)))
            case .complete(let epoch, let since, let isMerged):
                self.epoch = epoch
                guard isMerged else { return }
                if since >= Self.tidyDelay { try await tidy() }
                throw .ending(.completeBefore(since))
            case .cancelled: throw .ending(.cancelled)
            case .busy(let count): throw .ending(.busy(count))
            case .wait(let duration): try await sleep(duration)
            default: throw .fault(.store)
            }
        }
    }

    /// Commits the last part of the journal, which may have been written shortly before the end of the process.
    private func commitAgain() async throws(End) {
        guard let last = journal.records.last, hasFile(last), let (lease, part, sequel) = last.commit,
            lease.epoch == epoch
        else { return }
        if case .refused = try await send(.commit(lease, part, sequel)) { removeFiles(of: last.name) }
    }

    /// Offers all parts to a run that was lost.
    ///
    /// - Returns: Whether the run was not lost again meanwhile.
    private func offerAll() async throws(End) -> Bool {
        var left = journal.records.filter(hasFile).compactMap(\.commit).map { BoardOffer($0.lease, $0.part, $0.sequel) }
        left.sort { ($0.segment.walk, $0.segment.first) < ($1.segment.walk, $1.segment.first) }
        while !left.isEmpty {
            var early: [BoardOffer] = []
            for offer in left {
                switch try await send(.offer(epoch: epoch, offer)) {
                case .unknown: return false
                case .early: early.append(offer)
                default: break
                }
            }
            // The parts before these are those of other workers, or are loaded again.
            guard early.count < left.count else { break }
            left = early
        }
        return true
    }

    private func hasFile(_ record: PartRecord) -> Bool {
        (try? Disk(reading: "\(folder)/\(record.name)", harvest.calls).size) == record.length
    }

    private func removeFiles(of name: String) {
        Disk.remove("\(folder)/\(name)")
        Disk.remove("\(folder)/\(name).end")
    }

    /// For how long parts that are in no output are kept, because a store that returns may name them.
    private static let tidyDelay = Duration.seconds(3_600)

    /// Removes the parts of this worker that the complete run does not name.
    private func tidy() async throws(End) {
        guard let entries = try await manifest() else { return }
        var named: Set<String> = []
        for entry in entries {
            guard case .committed(_, let epoch, let fence) = entry.state else { continue }
            named.insert(PartRecord.name(entry.segment, epoch, fence))
        }
        for record in journal.records where !named.contains(record.name) { removeFiles(of: record.name) }
    }

    // MARK: - Working

    func work() async throws(End) -> HarvestWorker.Ending {
        let last = journal.records.last?.commit?.lease.epoch
        try await open(worker.opening, lost: last, waits: false)
        while true {
            if stop?.isRequested == true { return .stopped }
            switch try await send(.claim(epoch: epoch)) {
            case .lease(let lease): try await load(lease)
            case .wait(let duration): try await sleep(duration)
            case .nothing(.complete):
                if let ending = try await merge() { return ending }
            case .nothing(.incomplete): return .incomplete(try await failures())
            case .nothing(.cancelled), .cancelled: return .cancelled
            case .complete: return .complete
            case .unknown: try await open(.join, lost: epoch, waits: true)
            default: throw .fault(.store)
            }
        }
    }

    private func load(_ lease: BoardLease) async throws(End) {
        let writer: PartWriter
        var segment: SegmentWalk
        let ending: SegmentWalk.Ending
        do throws(HarvestError) {
            guard (0..<run.walks).contains(lease.segment.walk), lease.segment.first >= 0, lease.fence >= 0,
                (1...run.size).contains(lease.count)
            else { throw .store }
            var list = harvest
            list.request = worker.partitions.request(lease.segment.walk, of: harvest.request)
            writer = try PartWriter("\(folder)/worker-\(worker.name).part", harvest.calls)
            segment = try SegmentWalk(
                list,
                list.makeWalk(),
                lease,
                isNumbered: run.isNumbered,
                meter: meter,
                fetch: fetch,
                note: note,
                standing: { [board, stop] in
                    let standing = board.standing(of: lease)
                    return standing == .held && stop?.isRequested == true ? .cancelled : standing
                }
            )
            ending = try await segment.run(into: writer)
        } catch {
            _ = await board.carryOut(.drop(lease))
            throw .fault(error)
        }
        ownPages += segment.loaded
        switch ending {
        case .lost: return
        case .sequel(let sequel):
            try await commit(lease, writer, sequel, segment.end)
            guard case .failed = sequel, writer.part.pages == 0 else {
                failures = 0
                return
            }
            // Where each page fails, the next ones are likely to fail as well.
            failures += 1
            try await sleep(.milliseconds(250 << min(failures - 1, 4)))
        case .fault(let fault, let sequel):
            try await commit(lease, writer, sequel, segment.end)
            throw .fault(fault)
        }
    }

    /// Publishes a part, notes it in the journal, and commits it, in this order.
    private func commit(
        _ lease: BoardLease,
        _ writer: PartWriter,
        _ sequel: BoardSequel,
        _ end: ListEnd
    ) async throws(End) {
        var part: BoardPart? = writer.part.pages > 0 ? writer.part : nil
        // Only a total whose place the caller names ends a list.
        if run.isNumbered, let total = end.total, harvest.total != nil, harvest.size > 0 {
            part?.announced = total / harvest.size + (total % harvest.size > 0 ? 1 : 0)
        }
        if let part {
            do throws(HarvestError) {
                let path = "\(folder)/\(lease.partName)"
                if sequel == .end { try write(end, to: path + ".end") }
                try writer.publish(as: path)
                try journal.add(PartRecord(lease, part, sequel))
            } catch {
                removeFiles(of: lease.partName)
                _ = await board.carryOut(.drop(lease))
                throw .fault(error)
            }
        }
        switch try await send(.commit(lease, part, sequel)) {
        case .refused: removeFiles(of: lease.partName)
        case .unknown: try await open(.join, lost: epoch, waits: true)
        default: break
        }
    }

    private func write(_ end: ListEnd, to path: String) throws(HarvestError) {
        guard let bytes = try? JSONEncoder().encode(end) else { throw .store }
        let file = try Disk(creating: path, harvest.calls, mode: 0o644)
        try file.write(bytes)
    }

    // MARK: - Ending

    /// The state of all segments, in the order of the output.
    private func manifest() async throws(End) -> [BoardEntry]? {
        var entries: [BoardEntry] = []
        var from: BoardSegment? = BoardSegment(walk: 0, first: 0)
        while let begin = from {
            guard case .manifest(let more, let next) = try await send(.manifest(epoch: epoch, from: begin)) else {
                return nil
            }
            entries += more
            // A store that leads back would never end.
            if let next, (next.walk, next.first) <= (begin.walk, begin.first) { throw .fault(.store) }
            from = next
        }
        return entries
    }

    /// The pages that failed, one line each, without secrets.
    private func failures() async throws(End) -> [String] {
        try await (manifest() ?? []).compactMap { entry in
            guard case .failed(let pages, let detail) = entry.state else { return nil }
            let list = worker.partitions.count > 1 ? " of list \(entry.segment.walk + 1)" : ""
            let first = entry.segment.first + 1
            let numbers = pages > 1 ? "Pages \(first) to \(entry.segment.first + pages)" : "Page \(first)"
            return "\(numbers)\(list): \(detail.escapedForDisplay(limit: 200))"
        }
    }

    /// Merges the parts, unless another worker does.
    ///
    /// - Returns: nil where there is work again.
    private func merge() async throws(End) -> HarvestWorker.Ending? {
        switch try await send(.merge(epoch: epoch)) {
        case .merge(let fence):
            guard let entries = try await manifest() else { return nil }
            do throws(HarvestError) {
                let chosen = try chosenParts(entries)
                let missing = PartMerge.missing(chosen.map(\.entry), in: [folder])
                guard missing.isEmpty else { return .lacking(missing.map(\.name)) }
                merged = try write(chosen) { [board] in board.holdsMerge(fence: fence) }
            } catch {
                throw .fault(error)
            }
            guard merged != nil else { return nil }
            _ = try await send(.merged(epoch: epoch, fence: fence))
            return .complete
        case .wait(let duration): try await sleep(duration)
        case .complete, .done: return .complete
        case .unknown: try await open(.join, lost: epoch, waits: true)
        default: break
        }
        return nil
    }

    private typealias ChosenPart = (walk: Int, part: BoardPart, entry: PartMerge.Entry)

    /// The parts of the output, in its order.
    ///
    /// A server may ignore the numbers of pages, so that a part begins with a page that came before.
    private func chosenParts(_ entries: [BoardEntry]) throws(HarvestError) -> [ChosenPart] {
        var chosen: [ChosenPart] = []
        var contents: (walk: Int, first: UInt64?, last: UInt64?, isEnded: Bool) = (-1, nil, nil, false)
        for entry in entries {
            guard case .committed(let part, let epoch, let fence) = entry.state else { continue }
            if contents.walk != entry.segment.walk { contents = (entry.segment.walk, nil, nil, false) }
            if run.isNumbered, harvest.repeatedPages != .kept, let page = part.firstPage,
                page == contents.first || page == contents.last
            {
                guard harvest.repeatedPages == .end else {
                    let page = walk.page(numbered: entry.segment.first) ?? walk.first
                    throw .page(PageError(page: page, cause: .repeated))
                }
                contents.isEnded = true
            }
            guard !contents.isEnded else { continue }
            contents.first = contents.first ?? part.firstPage
            contents.last = part.lastPage ?? contents.last
            let name = PartRecord.name(entry.segment, epoch, fence)
            let file = PartMerge.Entry(name: name, bytes: part.length, checksum: part.checksum, lines: part.lines)
            chosen.append((entry.segment.walk, part, file))
        }
        return chosen
    }

    private func write(
        _ parts: [ChosenPart],
        while holds: () -> Bool
    ) throws(HarvestError) -> Harvest.Summary? {
        var merge = PartMerge()
        merge.identity = harvest.identity
        merge.duplicates = harvest.duplicates
        merge.itemLimit = harvest.itemLimit.map { max(0, $0) }
        merge.calls = harvest.calls
        guard let outcome = try merge.write(parts.map(\.entry), from: [folder], to: worker.output, while: holds) else {
            return nil
        }
        var journal = HarvestJournal(HarvestArguments(harvest, walk))
        journal.pages = parts.reduce(0) { $0 + $1.part.pages }
        (journal.items, journal.bytes, journal.duplicates) = (outcome.items, outcome.bytes, outcome.duplicates)
        let ends = parts.indices.filter { $0 == parts.count - 1 || parts[$0 + 1].walk != parts[$0].walk }.map { index in
            let path = "\(folder)/\(parts[index].entry.name).end"
            let bytes = try? Disk.contents(of: path, limit: 1 << 20, harvest.calls)
            return bytes.flatMap { try? JSONDecoder().decode(ListEnd.self, from: $0) }
        }
        let totals = ends.compactMap { $0?.total }
        if totals.count == worker.partitions.count { journal.total = totals.reduce(0) { $0.addingSaturated($1) } }
        journal.doubts = ends.flatMap { $0?.doubts ?? [] }
        let isLimited = outcome.isCut || (harvest.pageLimit != nil && ends.contains { $0 == nil })
        return harvest.summary(of: journal, isLimited ? .limit : .complete, resumedPages: 0)
    }
}
