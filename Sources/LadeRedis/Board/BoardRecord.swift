package import Lade
import LadeCore

/// A run in the store, as its script receives and returns it.
package struct BoardRecord: Sendable {
    /// The name of the run.
    package var name: String
    package var worker: String
    package var lease: Duration

    package init(name: String, worker: String, lease: Duration) {
        (self.name, self.worker, self.lease) = (name, worker, lease)
    }

    /// The names of the six keys of the run, before the digest of its name.
    package static let keys = ["r:", "rw:", "rs:", "rc:", "rl:", "rr:"]

    /// The arguments of the script for an order.
    package func arguments(of order: BoardOrder) -> [String] {
        let (word, epoch, rest) = Self.words(of: order)
        return [word, worker, epoch.map(Self.text) ?? "", "\(max(1, lease.wholeNanoseconds / 1_000))"] + rest
    }

    private static func words(of order: BoardOrder) -> (String, epoch: UInt64?, rest: [String]) {
        switch order {
        case .open(let run, let opening, let epoch, let lost):
            let how =
                switch opening {
                case .join: "join"
                case .resume: "resume"
                case .restart(let force): force ? "force" : "restart"
                }
            let numbers = ["\(run.walks)", flag(run.isNumbered), "\(run.size)", "\(run.limit ?? 0)"]
            return (
                "open", epoch, [run.digest, run.text] + numbers + [flag(run.restartsWalks), how, lost.map(text) ?? ""]
            )
        case .claim(let epoch): return ("claim", epoch, [])
        case .commit(let lease, let part, let sequel):
            let names = [text(lease.epoch), "\(lease.generation)"]
            return ("commit", lease.epoch, place(lease.segment) + ["\(lease.fence)"] + words(part, sequel) + names)
        case .offer(let epoch, let offer):
            var sequel = offer.sequel
            // The page that failed then is tried again.
            if case .failed(_, let cursor) = sequel { sequel = .more(cursor) }
            let names = [text(offer.epoch), "\(offer.generation)"]
            return ("offer", epoch, place(offer.segment) + ["\(offer.fence)"] + words(offer.part, sequel) + names)
        case .manifest(let epoch, let from): return ("manifest", epoch, place(from))
        case .merge(let epoch): return ("merge", epoch, [])
        case .merged(let epoch, let fence): return ("merged", epoch, ["\(fence)"])
        case .state: return ("state", nil, [])
        case .beat(let epoch, let fences, let merge):
            let leases = fences.sorted { $0.key < $1.key }.flatMap { place($0.key) + ["\($0.value)"] }
            return ("beat", epoch, [merge.map(String.init) ?? ""] + leases)
        case .cancel: return ("cancel", nil, [])
        case .retry: return ("retry", nil, [])
        case .reload(let segment): return ("reload", nil, place(segment))
        case .forget: return ("forget", nil, [])
        }
    }

    private static func words(_ part: BoardPart?, _ sequel: BoardSequel) -> [String] {
        var words = ["0", "0", "0", "0", "0", "-", "-", ""]
        if let part {
            words = ["\(part.pages)", "\(part.items)", "\(part.lines)", "\(part.length)", text(part.checksum)]
            words += [part.firstPage.map(text) ?? "-", part.lastPage.map(text) ?? "-"]
            words.append(part.announced.map(String.init) ?? "")
        }
        switch sequel {
        case .end: return words + ["end", "", "", ""]
        case .more(let cursor): return words + ["more", cursor?.reveal() ?? "", "", ""]
        case .failed(let failure, let cursor):
            return words + ["failed", cursor?.reveal() ?? "", failure.kind.rawValue, failure.detail]
        }
    }

    private static func place(_ segment: BoardSegment) -> [String] { ["\(segment.walk)", "\(segment.first)"] }

    private static func flag(_ value: Bool) -> String { value ? "1" : "0" }

    /// Sixteen digits, so that no number is part of another one.
    private static func text(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension BoardReply {
    /// Reads a reply of the script; nil for anything that it does not return to the order.
    package init?(_ reply: StoreReply, to order: BoardOrder) {
        guard case .list(let all) = reply, all.count > 1, all[0].number != nil, let word = all[1].string else {
            return nil
        }
        let items = BoardReader(items: Array(all.dropFirst(2)))
        guard let reply = Self.read(word, items, order) else { return nil }
        self = reply
    }

    private static func read(_ word: String, _ items: BoardReader, _ order: BoardOrder) -> BoardReply? {
        switch (word, order, items.items.count) {
        case ("opened", .open, 2): items.hex(0).map { .opened(epoch: $0, isNew: items.flag(1)) }
        case ("differs", .open, 1): items.items[0].string.map(BoardReply.differs)
        case ("complete", _, 3):
            if let epoch = items.hex(0), let since = items.duration(1) {
                .complete(epoch: epoch, since: since, isMerged: items.flag(2))
            } else {
                nil
            }
        case ("cancelled", _, 0): .cancelled
        case ("busy", .open, 1): items.number(0).map(BoardReply.busy)
        case ("lease", .claim(let epoch), 9): items.lease(epoch: epoch).map(BoardReply.lease)
        case ("merge", .merge, 1): items.number(0).map(BoardReply.merge)
        case ("wait", _, 1): items.duration(0).map { .wait(min($0, .seconds(2))) }
        case ("nothing", .claim, 1): items.phase(0).map(BoardReply.nothing)
        case ("done", _, 0): .done
        case ("refused", _, 0): .refused
        case ("early", .offer, 0): .early
        case ("unknown", _, 0): .unknown
        case ("manifest", .manifest(_, let from), 3): items.manifest(from: from)
        case ("state", .state, 11): items.state.map(BoardReply.state)
        case ("beat", .beat(_, let fences, _), 3): items.beat(fences.keys.sorted())
        default: nil
        }
    }
}

/// Reads the parts of a reply, which nothing makes trustworthy.
private struct BoardReader {
    var items: [StoreReply]

    func number(_ index: Int) -> Int? { items[index].number.flatMap(Self.whole) }

    func flag(_ index: Int) -> Bool { items[index].number == 1 }

    func hex(_ index: Int) -> UInt64? { items[index].string.flatMap { Self.hex(Substring($0)) } }

    func duration(_ index: Int) -> Duration? { number(index).map { .microseconds($0) } }

    func phase(_ index: Int) -> BoardState.Phase? { items[index].string.flatMap(BoardState.Phase.init) }

    func lease(epoch: UInt64) -> BoardLease? {
        let numbers = (0..<6).compactMap(number)
        guard numbers.count == 6, let cursor = items[6].string, let first = items[7].string,
            let before = items[8].string, let segment = Self.segment(numbers[0], numbers[1]),
            (1...1_000).contains(numbers[2]), numbers[4] > 0, cursor.utf8.count <= BoardSequel.cursorLimit
        else { return nil }
        var lease = BoardLease(epoch: epoch, segment: segment, count: numbers[2], fence: numbers[4])
        (lease.generation, lease.attempt) = (numbers[3], numbers[5])
        lease.cursor = cursor.isEmpty ? nil : Secret(cursor)
        (lease.start, lease.before) = (Self.hex(Substring(first)), Self.hex(Substring(before)))
        return lease
    }

    var state: BoardState? {
        let numbers = (1..<11).compactMap(number)
        guard numbers.count == 10, let phase = phase(0) else { return nil }
        var state = BoardState()
        state.phase = phase
        (state.done, state.leased, state.ready, state.failed) = (numbers[0], numbers[1], numbers[2], numbers[3])
        (state.pages, state.items, state.bytes) = (numbers[4], numbers[5], Int64(numbers[6]))
        (state.age, state.idle) = (.microseconds(numbers[7]), .microseconds(numbers[8]))
        state.extraPages = numbers[9]
        return state
    }

    /// The lost leases, as positions in the order.
    func beat(_ segments: [BoardSegment]) -> BoardReply? {
        guard case .list(let positions) = items[2] else { return nil }
        let lost = positions.compactMap { $0.number.flatMap(Self.whole) }
        guard lost.count == positions.count, lost.allSatisfy(segments.indices.contains) else { return nil }
        return .beat(lost: lost.map { segments[$0] }, losesMerge: flag(1), isCancelled: flag(0))
    }

    func manifest(from: BoardSegment) -> BoardReply? {
        guard case .list(let texts) = items[2] else { return nil }
        var (entries, place) = ([BoardEntry](), from)
        for text in texts {
            // Segments come in the order of the output, or the next ones would never end.
            guard let entry = text.string.flatMap({ Self.entry($0) }), entry.segment >= place else { return nil }
            entries.append(entry)
            place = BoardSegment(walk: entry.segment.walk, first: entry.segment.first + 1)
        }
        if items[0].string == "" { return .manifest(entries, next: nil) }
        guard let walk = number(0), let first = number(1), let next = Self.segment(walk, first), next >= place,
            next > from
        else { return nil }
        return .manifest(entries, next: next)
    }

    private static func entry(_ text: String) -> BoardEntry? {
        let words = text.parts(at: " ")
        guard words.count > 4, let walk = Int(words[0]), let first = Int(words[1]),
            let segment = segment(walk, first), let count = Int(words[3]), (1...1_000).contains(count)
        else { return nil }
        switch (words[2], words.count) {
        case ("o", 8):
            let worker = words[6] == "0" ? "" : String(words[7]).escapedForDisplay(limit: 64)
            return BoardEntry(segment: segment, state: .open(pages: count), worker: worker)
        case ("f", _):
            let detail = words.dropFirst(4).joined(separator: " ").escapedForDisplay(limit: BoardFailure.detailLimit)
            return BoardEntry(segment: segment, state: .failed(pages: count, detail: detail), worker: "")
        case ("d", 13):
            let numbers = [words[5], words[7], words[8], words[9]].compactMap { Int($0) }.filter { $0 >= 0 }
            guard let epoch = hex(words[4]), let checksum = hex(words[10]), numbers.count == 4 else { return nil }
            var part = BoardPart(
                pages: count,
                items: numbers[1],
                lines: numbers[2],
                length: Int64(numbers[3]),
                checksum: checksum
            )
            (part.firstPage, part.lastPage) = (hex(words[11]), hex(words[12]))
            let state = BoardEntry.State.committed(part, epoch: epoch, fence: numbers[0])
            return BoardEntry(segment: segment, state: state, worker: String(words[6]).escapedForDisplay(limit: 64))
        default: return nil
        }
    }

    private static func segment(_ walk: Int, _ first: Int) -> BoardSegment? {
        guard (0...10_000_000).contains(walk), (0...1_100_000_000).contains(first) else { return nil }
        return BoardSegment(walk: walk, first: first)
    }

    private static func whole(_ number: Double) -> Int? { (0...9e15).contains(number) ? Int(number) : nil }

    private static func hex(_ digits: Substring) -> UInt64? {
        digits.utf8.count == 16 ? UInt64(digits, radix: 16) : nil
    }
}
