#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import Lade

/// The output of one run with its record: the bytes that were written, and how many of them are safe on the disk.
final class HarvestLedger {
    private enum Sink {
        case file(Disk, JournalFile)
        case descriptor(Disk)
        case writer(@Sendable (Data) throws -> Void)
    }

    /// The state of the output; the journal on the disk has it as of the last save.
    private(set) var journal: HarvestJournal
    private let harvest: Harvest
    private let sink: Sink
    private let resumedPages: Int
    private var checksum: CRC64
    private var lastSaved: Instant
    private var hasUnsaved = false
    /// Whether this run created the output and its journal.
    private var isNew = false
    /// Whether the output ends where the journal does, so that it can be written to.
    private var isBegun = true
    /// The checksums of all identities so far.
    private var seen: Set<UInt64> = []

    init(
        _ harvest: Harvest,
        _ arguments: HarvestArguments,
        _ destination: Harvest.Destination,
        restart: Bool,
        isNumbered: Bool
    ) throws(HarvestError) {
        self.harvest = harvest
        lastSaved = harvest.time.now
        journal = HarvestJournal(arguments)
        switch destination {
        case .descriptor(let descriptor):
            sink = .descriptor(Disk(descriptor: descriptor, harvest.calls))
        case .writer(let write):
            sink = .writer(write)
        case .file(let path, let journalPath):
            let journalFile = JournalFile(path: journalPath ?? path + ".journal", calls: harvest.calls)
            let existed = FileIdentity(path: path) != nil
            let isOutput = HarvestError.file(
                LoadingError.FileCause(path: journalFile.path, operation: .write, reason: "it is the output as well")
            )
            guard ![journalFile.path, journalFile.temporaryPath].contains(path) else { throw isOutput }
            // The lock comes first: before it is held, another harvest may change output and journal.
            let disk = try Disk(locking: path, harvest.calls)
            guard !journalFile.isSameFile(as: path) else { throw isOutput }
            var stored: HarvestJournal?
            do throws(HarvestError) {
                stored = restart ? nil : try journalFile.read()
            } catch {
                if !existed { Self.discard(disk) }
                throw error
            }
            if stored?.isUntouched == true, disk.size == 0 { stored = nil }
            isNew = !existed
            if let stored {
                let differences = stored.differences(from: arguments)
                let isSameSignIn = harvest.isSameSignIn || stored.renewsSecrets == true
                guard differences.allSatisfy({ isSameSignIn && $0.isRenewal }) else {
                    throw .argumentsDiffer(journal: journalFile.path, differences)
                }
                journal = stored
                if !differences.isEmpty || (harvest.isSameSignIn && stored.renewsSecrets != true) {
                    journal.renew(arguments)
                    hasUnsaved = true
                }
            } else if harvest.isSameSignIn {
                journal.renewsSecrets = true
            }
            guard let size = disk.size else {
                let reason = "it is no regular file, so it cannot be cut where the journal ends"
                throw .file(LoadingError.FileCause(path: path, operation: .write, reason: reason))
            }
            guard restart || stored != nil || size == 0 else { throw .outputExists(path: path) }
            sink = .file(disk, journalFile)
        }
        // Numbered pages cannot form a loop.
        if journal.pages == 0, !isNumbered { journal.marks = PageMarks() }
        resumedPages = journal.pages
        checksum = CRC64()
        guard case .file(let disk, let journalFile) = sink else { return }
        try verify(disk)
        // Bytes after the end of a complete run do not belong to it.
        guard !journal.isComplete else { return }
        // Further bytes of the output are removed when there is a page in their place, not before.
        if let size = disk.size, size > journal.bytes {
            isBegun = false
            return
        }
        try begin(disk, journalFile)
    }

    private func begin() throws(HarvestError) {
        guard !isBegun, case .file(let disk, let file) = sink else { return }
        try begin(disk, file)
    }

    /// Makes the output agree with the journal, before the first page is written.
    private func begin(_ disk: Disk, _ file: JournalFile) throws(HarvestError) {
        // The journal is written first, even before the first byte. It must never refer to bytes that the output no
        // longer has, and an output must always have a journal.
        if journal.bytes == 0 {
            do throws(HarvestError) {
                try file.write(journal)
            } catch {
                if isNew { Self.discard(disk) }
                throw error
            }
        }
        try disk.truncate(to: journal.bytes)
        isBegun = true
    }

    /// Removes an output that this run has created and that has no journal; an output that another program uses stays.
    private static func discard(_ disk: Disk) {
        if disk.isUnchanged(size: 0) { Disk.remove(disk.path) }
    }

    // MARK: - Beginning

    /// Reads the existing output, which must be the one that was written; its identities are needed.
    private func verify(_ disk: Disk) throws(HarvestError) {
        guard journal.bytes > 0 else { return }
        var crc = CRC64()
        var identities: Set<UInt64> = []
        var splitter = LineIdentities(harvest.identity)
        try disk.read(journal.bytes) { bytes in
            crc.update(bytes)
            splitter?.consume(bytes, into: &identities)
        }
        guard String(crc.value, radix: 16) == journal.checksum else {
            throw .outputChanged(path: disk.path, reason: "its first \(journal.bytes) bytes are others")
        }
        checksum = crc
        seen = identities
    }

    /// The page to start with.
    func start(in walk: PageWalk) throws(HarvestError) -> PageRequest {
        var start = PageStart()
        start.number = journal.nextNumber
        start.url = journal.nextURL
        start.cursor = journal.cursor
        start.itemsBefore = journal.itemsBefore
        start.contents = journal.contents
        return try start.page(in: walk)
    }

    /// The content that the first page had, if only that shows whether a counted list has changed since; else nil.
    ///
    /// An announced total shows it without a further request.
    var comparableFirstPage: UInt64? {
        let isCounted = harvest.rules.contains { $0.isAddressable }
        return isCounted && journal.pages > 0 && journal.total == nil ? journal.contents?.first : nil
    }

    /// Records that the first page has other items than when the harvest began.
    func noteChangedFirstPage() { journal.hasOtherStart = true }

    /// The marks of the pages in the output.
    var visited: Set<UInt64> { Set(journal.marks?.keys ?? []) }

    var progress: Pages.Progress {
        var progress = Pages.Progress()
        progress.pages = journal.pages
        progress.items = journal.items
        progress.bytes = journal.bodyBytes
        progress.total = journal.total
        return progress
    }

    // MARK: - Adding

    /// Whether only a part of the last page was written, because of the item limit.
    var isWithinPage: Bool { journal.skippedItems > 0 }

    /// Writes a page, and saves if it is time to.
    func add(_ delivery: PageFeed<SplitPage>.Delivery) throws(HarvestError) {
        try begin()
        var after = journal
        let count = delivery.piece.facts?.itemCount ?? 0
        let room = harvest.itemLimit.map { max(0, max(0, $0) - journal.items) } ?? .max
        let lines: Data
        let written: Int
        if harvest.identity == nil, journal.skippedItems == 0, count <= room {
            lines = delivery.piece.content.lines
            written = count
        } else {
            (lines, written) = choose(delivery.piece.content, room, &after)
        }
        try write(lines)
        after.bytes += Int64(lines.count)
        after.items += written
        after.bodyBytes += Int64(delivery.piece.byteCount)
        after.checksum = String(checksum.value, radix: 16)
        note(delivery, &after)
        // The next page cannot be determined now: the next run loads this page again, and writes none of its items
        // twice.
        if delivery.next == nil, !delivery.isLast { after.skippedItems = count }
        // The rest of a page that was written in part comes next, so the next page remains the same.
        if after.skippedItems == 0 {
            after.marks?.add(PageMarks.key(of: delivery.page), at: journal.pages)
            after.pages += 1
            after.nextURL = delivery.next?.request.url.absoluteString
            after.cursor = delivery.next?.cursor
            after.nextNumber = delivery.page.number + 1
            after.itemsBefore = delivery.next?.itemsBefore
            after.contents = delivery.next?.contents
            // Recorded together with the page: a run that is killed here has nothing left to load.
            after.isComplete = delivery.isLast
            if delivery.isLast { after.doubts = delivery.piece.content.doubts }
        }
        journal = after
        hasUnsaved = true
        if lastSaved.duration(to: harvest.time.now) >= harvest.saveInterval { try save() }
    }

    /// Compares the announced total with the one before.
    private func note(_ delivery: PageFeed<SplitPage>.Delivery, _ after: inout HarvestJournal) {
        guard let total = delivery.total, after.ignoresTotal != true else { return }
        // In a usual place, the number of items of the page may stand as well.
        // A list that is counted has a next page until an empty one.
        let before = (delivery.next?.itemsBefore ?? after.items) - (harvest.rules.contains { $0.isAddressable } ? 1 : 0)
        let count = delivery.piece.facts?.itemCount ?? 0
        if harvest.total == nil, delivery.next != nil, total <= before, total <= count {
            after.ignoresTotal = true
            (after.total, after.firstTotal, after.hasShrunk) = (nil, nil, nil)
            return
        }
        after.firstTotal = after.firstTotal ?? total
        let isByPosition = harvest.rules.contains { $0.isAddressable } || delivery.page.request.url.hasPosition
        if let before = journal.total, total < before, isByPosition { after.hasShrunk = true }
        after.total = total
    }

    /// Leaves out items that were written before, items above the limit, and duplicates if they are to be dropped.
    private func choose(_ page: SplitPage, _ room: Int, _ after: inout HarvestJournal) -> (Data, Int) {
        var chosen = Data()
        var written = 0
        var index = 0
        var rest = page.lines[...]
        let skipped = journal.skippedItems
        after.skippedItems = 0
        while let end = rest.firstIndex(of: 0x0A) {
            if index >= skipped {
                guard written < room else {
                    after.skippedItems = index
                    break
                }
                var isNew = true
                if index < page.identities.count, let identity = page.identities[index] {
                    isNew = seen.insert(identity).inserted
                    if !isNew { after.duplicates += 1 }
                }
                if isNew || harvest.duplicates == .kept {
                    chosen.append(rest[...end])
                    written += 1
                }
            }
            index += 1
            rest = rest[(end + 1)...]
        }
        return (chosen, written)
    }

    private func write(_ lines: Data) throws(HarvestError) {
        guard !lines.isEmpty else { return }
        switch sink {
        case .writer(let write):
            do {
                try write(lines)
            } catch let error as HarvestError {
                throw error
            } catch {
                throw .file(LoadingError.FileCause(path: "the output", operation: .write, reason: "\(error)"))
            }
        case .file(let disk, _), .descriptor(let disk):
            // Writing after the end of a truncated file would leave a hole.
            if case .file = sink { try check(disk) }
            do throws(HarvestError) {
                try disk.write(lines)
            } catch {
                rescue(disk)
                throw error
            }
        }
        lines.withUnsafeBytes { checksum.update($0) }
    }

    /// Throws when another program has changed the output since the last page.
    private func check(_ disk: Disk) throws(HarvestError) {
        guard !disk.isUnchanged(size: journal.bytes) else { return }
        throw .outputChanged(path: disk.path, reason: "another program has changed or replaced it meanwhile")
    }

    /// Saves the whole pages before a page that could not be written, if possible.
    private func rescue(_ disk: Disk) {
        guard case .file = sink else { return }
        // Truncating the incomplete page frees space. If that fails too, the journal on the disk is still valid.
        try? disk.truncate(to: journal.bytes)
        try? save()
    }

    /// Synchronises the output, then records it in the journal.
    func save() throws(HarvestError) {
        guard hasUnsaved, case .file(let disk, let file) = sink else { return }
        try check(disk)
        try disk.synchronise()
        try file.write(journal)
        hasUnsaved = false
        lastSaved = harvest.time.now
    }

    // MARK: - Ending

    /// Removes the output and its journal when this run created them and received nothing.
    ///
    /// An output that another program has changed or replaced stays.
    func withdraw() {
        guard isNew, journal.isUntouched, case .file(let disk, let file) = sink, disk.isUnchanged(size: 0) else {
            return
        }
        Disk.remove(file.path)
        Disk.remove(disk.path)
    }

    func end(_ ending: Harvest.Summary.Ending) throws(HarvestError) -> Harvest.Summary {
        if ending == .complete, !journal.isComplete {
            try begin()
            journal.isComplete = true
            hasUnsaved = true
        }
        try save()
        return summary(ending)
    }

    func summary(_ ending: Harvest.Summary.Ending) -> Harvest.Summary {
        harvest.summary(of: journal, ending, resumedPages: resumedPages)
    }
}

extension Harvest {
    /// The summary of an output.
    func summary(of journal: HarvestJournal, _ ending: Summary.Ending, resumedPages: Int) -> Summary {
        let unique = duplicates == .kept ? journal.items - journal.duplicates : journal.items
        let missing = ending == .complete ? journal.total.map { max(0, $0 - unique) } : nil
        var summary = Summary(
            ending: ending,
            pages: journal.pages,
            items: journal.items,
            bytes: journal.bytes,
            resumedPages: resumedPages,
            duplicates: journal.duplicates,
            total: journal.total,
            missing: missing
        )
        summary.doubts = changeDoubts(journal)
        guard ending == .complete else { return summary }
        summary.doubts += journal.doubts ?? []
        if let missing, missing > 0, let total = journal.total {
            let text = "\(missing) of the \(total) announced items never came."
            // A list that is begun in its middle lacks those before.
            summary.doubts.append(Doubt(certain: !request.url.isInside, text))
        }
        if let total = journal.total, total > 0, unique > total {
            summary.doubts.append(surplus(unique, of: total, journal))
        }
        summary.doubts = summary.doubts.filter(\.isCertain) + summary.doubts.filter { !$0.isCertain }
        return summary
    }

    /// More items than are announced: some came twice, or the list has grown.
    private func surplus(_ count: Int, of total: Int, _ journal: HarvestJournal) -> Doubt {
        let text = "\(count) items came, more than the \(total) that are announced, so that some may have come twice."
        // Pages that begin one item early have the last item of the page before.
        guard case .offset(let query, nil)? = rules.first, rules.count == 1, request.url.queryValue(query) == nil,
            count - total < max(2, journal.pages)
        else { return Doubt(certain: false, text) }
        return Doubt(certain: false, text, .offset(query: query, first: 1))
    }

    /// The change of the announced total.
    private func changeDoubts(_ journal: HarvestJournal) -> [Doubt] {
        if journal.hasOtherStart == true {
            let text = "The first page has other items than when the list was begun, so that items may have moved."
            return [Doubt(certain: false, text)]
        }
        guard let first = journal.firstTotal, let last = journal.total, first != last || journal.hasShrunk == true
        else {
            return []
        }
        let text = "The announced number of items went from \(first) to \(last) while the list was read"
        guard journal.hasShrunk == true else { return [Doubt(certain: false, text + ".")] }
        return [Doubt(certain: true, text + ", so that items have moved to pages that were read before.")]
    }
}

extension URL {
    private static let positionNames: Set<String> = [
        "page", "pagenumber", "pageindex", "pageno", "paged", "offset", "skip", "start", "startindex", "startat",
        "pageoffset", "from", "first", "begin",
    ]
    private static let cursorNames: Set<String> = [
        "cursor", "after", "startingafter", "pagetoken", "nexttoken", "continuationtoken", "marker", "next", "sinceid",
        "pagecursor", "pageafter",
    ]

    /// The numbers in the query that say which part of a list is meant.
    private var positions: [(name: String, number: Int)] {
        queryItems.compactMap { item in
            let name = PageNames.normal(item.name)
            guard Self.positionNames.contains(name), let number = Int(wholeNumber: item.value) else { return nil }
            return (name, number)
        }
    }

    /// Whether the address means a part of a list by its position, so that removed items move others to other parts.
    fileprivate var hasPosition: Bool { !positions.isEmpty }

    /// Whether the address means a part of a list behind its beginning.
    var isInside: Bool {
        positions.contains { $0.number > (["offset", "skip", "pageoffset"].contains($0.name) ? 0 : 1) }
            || queryItems.contains { Self.cursorNames.contains(PageNames.normal($0.name)) && !$0.value.isEmpty }
    }
}

/// Finds the identities of the lines written by earlier runs.
struct LineIdentities {
    private let settings: JSONSplitter.Settings
    private var line: [UInt8] = []

    init?(_ identity: JSONPointer?) {
        guard let identity else { return nil }
        settings = JSONSplitter.Settings(identity: identity)
    }

    mutating func consume(_ bytes: UnsafeRawBufferPointer, into identities: inout Set<UInt64>) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0x0A) {
            line.append(contentsOf: rest[..<end])
            if let identity = identity(of: line) { identities.insert(identity) }
            line.removeAll(keepingCapacity: true)
            rest = rest[(end + 1)...]
        }
        line.append(contentsOf: rest)
    }

    /// The checksum of the identity of an item; nil when it has none.
    func identity(of line: [UInt8]) -> UInt64? {
        // Each line was written by a splitter and the checksum is right, so it is a valid item.
        var splitter = JSONSplitter(settings)
        try? splitter.consume(Data([0x5B] + line + [0x5D]))
        return splitter.takeIdentities().first ?? nil
    }
}
