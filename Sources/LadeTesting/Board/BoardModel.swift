package import Lade
import LadeCore

/// The rules of the board as a pure value: an order, a worker and an instant give a reply and the next value.
///
/// The script of a store does the same. Instants are whole microseconds of one clock.
package struct BoardModel: Sendable, Hashable {
    /// A rule that is broken on purpose, for tests that must find it.
    package enum Break: String, Sendable, CaseIterable {
        /// A part is accepted from any worker that once had the segment.
        case commitWithoutFence
        /// A segment whose lease has ended is claimed under the same fence.
        case claimWithoutFence
        /// A part may replace another one.
        case commitTwice
        /// A segment that is given back is forgotten.
        case dropForgets
        /// A part of an earlier epoch replaces the one in the board.
        case offerReplaces
    }

    /// The facts about a run.
    struct Run: Sendable, Hashable {
        var settings: BoardRun
        var epoch: UInt64
        /// The epochs of the parts, and those of runs that were begun anew.
        var epochs: [UInt64]
        var dead: [UInt64] = []
        var phase = BoardState.Phase.running
        /// When the phase became complete or incomplete.
        var since = 0
        var made: Int
        var lastCommit: Int
        /// Nothing is claimed before.
        var grace = 0
        var fence = 0
        /// All walks before this one are begun or, with numbers, claimed to their end.
        var firstWalk = 0
        var done = 0
        var failed = 0
        var pages = 0
        var items = 0
        var bytes: Int64 = 0
        var extra = 0
        var mergeFence = 0
        var mergeEnd = 0
        var merger = ""
        var isMerged = false
    }

    /// How far a walk is.
    struct Walk: Sendable, Hashable {
        /// The position after the segments that were begun.
        var next = 0
        /// The position after the last page, if known.
        var end: Int?
        /// The position after the last page as the server announces it; negative once that was wrong.
        var announced: Int?
        var generation = 0
        /// The number of pages that failed since a page was last committed.
        var failures = 0
    }

    enum Entry: Sendable, Hashable {
        /// A segment that waits, with fence 0 and the worker that is to leave it to others, or one that a worker has.
        case open(count: Int, attempts: Int, hasLasting: Bool, fence: Int, worker: String)
        case failed(count: Int, detail: String)
        case done(BoardPart, epoch: UInt64, fence: Int, worker: String)

        var count: Int {
            switch self {
            case .open(let count, _, _, _, _), .failed(let count, _): count
            case .done(let part, _, _, _): part.pages
            }
        }
    }

    var run: Run?
    var walks: [Int: Walk] = [:]
    var entries: [BoardSegment: Entry] = [:]
    var cursors: [BoardSegment: Secret] = [:]
    /// When leases end, and from when on segments can be claimed.
    var leases: [BoardSegment: Int] = [:]
    var ready: [BoardSegment: Int] = [:]
    /// The time of a lease.
    let lease: Int
    package var broken: Break?

    /// The longest time between two claims of a worker that finds nothing.
    static let longestWait = 1_000_000
    static let graceTime = 2_000_000
    /// The delays after the first failures of a page, of which the last one lasts.
    static let delays = [1_000_000, 5_000_000, 25_000_000]
    static let mostAttempts = 5
    /// How long a worker leaves a page that it could not load to others.
    static let avoidance = 5_000_000
    /// The most pages that fail in a row before the rest of their segments is not tried.
    static let mostFailures = 8
    static let mostGenerations = 5
    static let mostSteps = 1_000
    static let mostEntries = 100
    static let mostEpochs = 32

    package init(lease: Duration = .seconds(30)) {
        self.lease = Int(lease.wholeNanoseconds / 1_000)
    }

    /// When the next lease ends but those given, or the next segment can be claimed; nil without any.
    package func due(after now: Int, except held: Set<BoardSegment>) -> Int? {
        let ends = leases.filter { !held.contains($0.key) }.values
        return ([run?.grace ?? 0] + ends + ready.flatMap { [$0.value, $0.value + Self.avoidance] })
            .filter { $0 > now }.min()
    }

    /// The numbers of the run, as orders see them.
    var settings: BoardRun { run?.settings ?? BoardRun(digest: "", text: "") }

    // MARK: - Orders

    package mutating func carryOut(_ order: BoardOrder, of worker: String, at now: Int) -> BoardReply {
        guard order.isValid else { return .refused }
        switch order {
        case .open(let run, let opening, let epoch, let lost): return open(run, opening, epoch, lost, now)
        case .forget:
            self = BoardModel(self)
            return .done
        default: break
        }
        guard let run, order.epoch.map({ $0 == run.epoch }) ?? true else { return .unknown }
        switch order {
        case .claim: return claim(worker, now)
        case .commit(let lease, let part, let sequel): return commit(lease, part, sequel, worker, now)
        case .offer(_, let offer): return take(offer, worker, now)
        case .manifest(_, let from): return manifest(from)
        case .merge: return merge(worker, now)
        case .merged(_, let fence):
            guard fence == run.mergeFence, fence > 0 else { return .refused }
            self.run?.isMerged = true
            return .done
        case .state: return .state(state(now))
        case .beat(_, let fences, let merge): return beat(fences, merge, now)
        case .cancel:
            if run.phase == .running { self.run?.phase = .cancelled }
            return .done
        case .retry: return retry(now)
        case .reload(let segment): return reload(segment, now)
        case .open, .forget: return .refused
        }
    }

    private init(_ earlier: BoardModel) { (lease, broken) = (earlier.lease, earlier.broken) }

    private mutating func open(
        _ settings: BoardRun,
        _ opening: BoardOpening,
        _ epoch: UInt64,
        _ lost: UInt64?,
        _ now: Int
    ) -> BoardReply {
        guard let run else {
            begin(settings, epoch, dead: [], now)
            if lost != nil { self.run?.grace = now + Self.graceTime }
            return .opened(epoch: epoch, isNew: true)
        }
        if case .restart(let force) = opening {
            let held = leases.values.count { $0 > now }
            guard force || held == 0 else { return .busy(held) }
            begin(settings, epoch, dead: Array((run.epochs + run.dead).prefix(Self.mostEpochs)), now)
            return .opened(epoch: epoch, isNew: true)
        }
        guard run.settings.digest == settings.digest else { return .differs(run.settings.text) }
        if run.phase == .complete { return complete(run, now) }
        if run.phase == .cancelled {
            guard opening == .resume else { return .cancelled }
            self.run?.phase = .running
        }
        return .opened(epoch: run.epoch, isNew: false)
    }

    private mutating func begin(_ settings: BoardRun, _ epoch: UInt64, dead: [UInt64], _ now: Int) {
        self = BoardModel(self)
        run = Run(settings: settings, epoch: epoch, epochs: [epoch], dead: dead, made: now, lastCommit: now)
    }

    // MARK: - Claims

    private mutating func claim(_ worker: String, _ now: Int) -> BoardReply {
        guard let run else { return .unknown }
        if run.phase == .cancelled { return .cancelled }
        if run.phase != .running { return .nothing(run.phase) }
        if run.grace > now { return .wait(.microseconds(min(Self.longestWait, run.grace - now))) }
        // A clock that was set back.
        for (segment, end) in leases where end > now + lease { leases[segment] = now + lease }
        for (segment, start) in ready where start > now + Self.delays[2] { ready[segment] = now + Self.delays[2] }
        for (segment, _) in Self.ordered(leases, until: now).prefix(Self.mostEntries) {
            guard case .open(let count, let attempts, let hasLasting, let fence, _) = entries[segment] else { continue }
            if attempts >= Self.mostAttempts {
                var walk = self.walk(segment.walk)
                remove(segment)
                giveUp(&walk, segment, count, "its workers ended", isWhole: true, now)
                walks[segment.walk] = walk
                continue
            }
            return grant(segment, count, attempts + 1, hasLasting, worker, now, fence: fence)
        }
        for (segment, start) in Self.ordered(ready, until: now).prefix(Self.mostEntries) {
            guard case .open(let count, let attempts, let hasLasting, _, let other) = entries[segment],
                other != worker || start + Self.avoidance <= now
            else { continue }
            return grant(segment, count, attempts + 1, hasLasting, worker, now)
        }
        if let reply = begin(worker, now, beyondAnnounced: false) { return reply }
        if leases.isEmpty, ready.isEmpty {
            if let reply = begin(worker, now, beyondAnnounced: true) { return reply }
            let phase = (self.run?.failed ?? 0) == 0 ? BoardState.Phase.complete : .incomplete
            self.run?.phase = phase
            self.run?.since = now
            return .nothing(phase)
        }
        let next = [leases.values.min(), ready.values.filter { $0 > now }.min()].compactMap { $0.map { $0 - now } }
        return .wait(.microseconds(max(10_000, min(Self.longestWait, next.min() ?? Self.longestWait))))
    }

    /// A new segment of the lowest walk that has one; nil without one.
    private mutating func begin(_ worker: String, _ now: Int, beyondAnnounced: Bool) -> BoardReply? {
        var number = run?.firstWalk ?? 0
        for _ in 0..<Self.mostSteps {
            guard number < settings.walks else { return nil }
            let isBegun = walks[number] != nil
            var walk = self.walk(number)
            let isDone =
                settings.isNumbered
                ? walk.end.map { walk.next >= $0 } ?? (walk.failures >= Self.mostFailures) : isBegun
            if isDone {
                if number == run?.firstWalk { run?.firstWalk += 1 }
                number += 1
                continue
            }
            if let announced = walk.announced, announced >= 0, walk.next >= announced, walk.end == nil {
                guard beyondAnnounced else {
                    number += 1
                    continue
                }
                walk.announced = -1
            }
            let first = walk.next
            let count = settings.isNumbered ? min(settings.size, (walk.end ?? .max) - first) : span(from: 0)
            if settings.isNumbered { walk.next += count }
            walks[number] = walk
            return grant(BoardSegment(walk: number, first: first), count, 1, false, worker, now)
        }
        return .wait(.microseconds(10_000))
    }

    private mutating func grant(
        _ segment: BoardSegment,
        _ count: Int,
        _ attempt: Int,
        _ hasLasting: Bool,
        _ worker: String,
        _ now: Int,
        fence: Int = 0
    ) -> BoardReply {
        guard var run else { return .unknown }
        if broken != .claimWithoutFence || fence == 0 { run.fence += 1 }
        self.run = run
        entries[segment] = .open(
            count: count,
            attempts: attempt,
            hasLasting: hasLasting,
            fence: run.fence,
            worker: worker
        )
        ready[segment] = nil
        leases[segment] = now + lease
        var lease = BoardLease(epoch: run.epoch, segment: segment, count: count, fence: run.fence)
        lease.generation = walk(segment.walk).generation
        (lease.attempt, lease.cursor) = (attempt, cursors[segment])
        if case .done(let part, _, _, _) = entries[BoardSegment(walk: segment.walk, first: 0)] {
            lease.start = part.firstPage
        }
        let place = segment.first - settings.size
        if place >= 0, case .done(let part, _, _, _) = entries[BoardSegment(walk: segment.walk, first: place)],
            part.pages == settings.size
        {
            lease.before = part.lastPage
        }
        return .lease(lease)
    }

    private mutating func beat(_ fences: [BoardSegment: Int], _ merge: Int?, _ now: Int) -> BoardReply {
        var lost: [BoardSegment] = []
        for (segment, fence) in fences.sorted(by: { $0.key < $1.key }) {
            if case .open(_, _, _, fence, _) = entries[segment] {
                leases[segment] = now + lease
            } else {
                lost.append(segment)
            }
        }
        let holdsMerge = merge == nil || (merge == run?.mergeFence && merge != 0)
        if merge != nil, holdsMerge { run?.mergeEnd = now + lease }
        return .beat(lost: lost, losesMerge: !holdsMerge, isCancelled: run?.phase == .cancelled)
    }

    private mutating func merge(_ worker: String, _ now: Int) -> BoardReply {
        guard var run, run.phase == .complete else { return .refused }
        if run.isMerged { return complete(run, now) }
        let end = min(run.mergeEnd, now + lease)
        if end > now, run.merger != worker {
            return .wait(.microseconds(max(10_000, min(Self.longestWait, end - now))))
        }
        run.fence += 1
        (run.mergeFence, run.mergeEnd, run.merger) = (run.fence, now + lease, worker)
        self.run = run
        return .merge(fence: run.fence)
    }

    private func complete(_ run: Run, _ now: Int) -> BoardReply {
        .complete(epoch: run.epoch, since: .microseconds(max(0, now - run.since)), isMerged: run.isMerged)
    }

    /// The segments up to an instant, as a sorted set of the store has them.
    private static func ordered(_ set: [BoardSegment: Int], until now: Int) -> [(key: BoardSegment, value: Int)] {
        set.filter { $0.value <= now }.sorted {
            $0.value == $1.value ? name($0.key).utf8.lexicographicallyPrecedes(name($1.key).utf8) : $0.value < $1.value
        }
    }

    private static func name(_ segment: BoardSegment) -> String { "\(segment.walk).\(segment.first)" }

    // MARK: - Reports

    private func state(_ now: Int) -> BoardState {
        var state = BoardState()
        guard let run else { return state }
        state.phase = run.phase
        (state.done, state.leased, state.ready, state.failed) = (run.done, leases.count, ready.count, run.failed)
        (state.pages, state.items, state.bytes, state.extraPages) = (run.pages, run.items, run.bytes, run.extra)
        (state.age, state.idle) = (.microseconds(max(0, now - run.made)), .microseconds(max(0, now - run.lastCommit)))
        return state
    }

    private func manifest(_ from: BoardSegment) -> BoardReply {
        var (found, place) = ([BoardEntry](), from)
        for _ in 0..<Self.mostSteps {
            guard place.walk < settings.walks else { return .manifest(found, next: nil) }
            guard found.count < Self.mostEntries else { break }
            guard let entry = entries[place] else {
                place = BoardSegment(walk: place.walk + 1, first: 0)
                continue
            }
            let state: BoardEntry.State
            var worker = ""
            switch entry {
            case .open(let count, _, _, let fence, let holder):
                state = .open(pages: count)
                if fence > 0 { worker = holder }
            case .failed(let count, let detail): state = .failed(pages: count, detail: detail)
            case .done(let part, let epoch, let fence, let holder):
                state = .committed(part, epoch: epoch, fence: fence)
                worker = holder
            }
            found.append(BoardEntry(segment: place, state: state, worker: worker))
            place.first += entry.count
        }
        return .manifest(found, next: place)
    }
}

extension BoardOrder {
    /// The run for which the order is meant; nil for any.
    fileprivate var epoch: UInt64? {
        switch self {
        case .claim(let epoch), .offer(let epoch, _), .manifest(let epoch, _), .merge(let epoch): epoch
        case .merged(let epoch, _), .beat(let epoch, _, _): epoch
        case .commit(let lease, _, _): lease.epoch
        case .open, .state, .cancel, .retry, .reload, .forget: nil
        }
    }
}
