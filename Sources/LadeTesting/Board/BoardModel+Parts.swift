import Lade
import LadeCore

// Parts that arrive, and pages that fail.
extension BoardModel {
    mutating func commit(
        _ lease: BoardLease,
        _ part: BoardPart?,
        _ sequel: BoardSequel,
        _ worker: String,
        _ now: Int
    ) -> BoardReply {
        let segment = lease.segment
        let pages = part?.pages ?? 0
        if case .done(_, lease.epoch, lease.fence, _) = entries[segment] { return .done }
        switch entries[segment] {
        case .open(let count, let attempts, let hasLasting, let fence, _):
            guard fence > 0, fence == lease.fence || broken == .commitWithoutFence else { break }
            guard isPossible(pages, of: count, sequel) else { return .refused }
            remove(segment)
            settle(segment, count, pages > 0 ? 0 : attempts, hasLasting && pages == 0, part, sequel, lease, worker, now)
            return .done
        case .done where broken == .commitTwice:
            guard let part else { break }
            entries[segment] = .done(part, epoch: lease.epoch, fence: lease.fence, worker: worker)
            return .done
        default: break
        }
        run?.extra += pages
        return .refused
    }

    /// Whether the pages are some of a segment, and its walk can continue after them.
    private func isPossible(_ pages: Int, of count: Int, _ sequel: BoardSequel) -> Bool {
        guard pages <= count else { return false }
        let next: Secret?
        switch sequel {
        case .end: return true
        case .failed where settings.isNumbered: return pages < count
        case .more(let cursor), .failed(_, let cursor): next = cursor
        }
        return settings.isNumbered || pages == 0 || next != nil
    }

    /// Puts the pages of a segment that was taken out, and continues its walk.
    private mutating func settle(
        _ segment: BoardSegment,
        _ count: Int,
        _ attempts: Int,
        _ hasLasting: Bool,
        _ part: BoardPart?,
        _ sequel: BoardSequel,
        _ lease: BoardLease,
        _ worker: String,
        _ now: Int
    ) {
        var walk = self.walk(segment.walk)
        let pages = part?.pages ?? 0
        let cursor = cursors.removeValue(forKey: segment)
        run?.lastCommit = now
        if let part {
            put(part, segment, epoch: lease.epoch, fence: lease.fence, worker)
            walk.failures = 0
            if walk.announced ?? 0 >= 0 { walk.announced = part.announced ?? walk.announced }
        }
        defer { walks[segment.walk] = walk }
        let place = BoardSegment(walk: segment.walk, first: segment.first + pages)
        switch sequel {
        case .end:
            if settings.isNumbered { clear(segment.walk, from: segment.first + count, to: walk.next) }
            (walk.next, walk.end) = (place.first, place.first)
            return
        case .more(let next), .failed(_, let next):
            guard !settings.isNumbered else { break }
            walk.next = place.first
            if pages > 0, span(from: place.first) == 0 {
                walk.end = place.first
                return
            }
            cursors[place] = pages > 0 ? next : cursor
        }
        let rest = settings.isNumbered || pages == 0 ? count - pages : span(from: place.first)
        if rest == 0 {
            if let announced = walk.announced, place.first >= announced { walk.announced = -1 }
            return
        }
        guard case .failed(let failure, _) = sequel else {
            if broken == .dropForgets, pages == 0 { return }
            return wait(place, rest, max(0, attempts - 1), hasLasting, "", now)
        }
        let failures = max(1, attempts)
        switch failure.kind {
        case .temporary where failures < Self.mostAttempts:
            wait(place, rest, failures, hasLasting, "", now + Self.delays[min(failures, 3) - 1])
        case .lasting where failures < Self.mostAttempts && !hasLasting: wait(place, rest, failures, true, worker, now)
        case .expired where settings.restartsWalks && !settings.isNumbered && walk.generation < Self.mostGenerations:
            restart(&walk, segment.walk, now)
        default: giveUp(&walk, place, rest, failure.detail, isWhole: false, now)
        }
    }

    /// The part of an earlier epoch, which fills what is missing.
    mutating func take(_ offer: BoardOffer, _ worker: String, _ now: Int) -> BoardReply {
        guard let run, !run.dead.contains(offer.epoch) else { return .refused }
        let (part, segment) = (offer.part, offer.segment)
        guard segment.walk < settings.walks, part.pages <= settings.size else { return .refused }
        if case .done(_, offer.epoch, offer.fence, _) = entries[segment] { return .done }
        if broken == .offerReplaces, case .done = entries[segment] {
            entries[segment] = .done(part, epoch: offer.epoch, fence: offer.fence, worker: worker)
            return .done
        }
        var lease = BoardLease(epoch: offer.epoch, segment: segment, count: part.pages, fence: offer.fence)
        lease.generation = offer.generation
        var sequel = offer.sequel
        if case .failed(_, let cursor) = sequel { sequel = .more(cursor) }
        guard isPossible(part.pages, of: part.pages, sequel) else { return .refused }
        let reply = settings.isNumbered ? clearRange(segment, part.pages, now) : clearLive(segment, offer, now)
        guard reply == .done else { return reply }
        if !run.epochs.contains(offer.epoch) {
            self.run?.epochs = Array(([offer.epoch] + run.epochs).prefix(Self.mostEpochs))
        }
        settle(segment, part.pages, 0, false, part, sequel, lease, worker, now)
        if self.run?.phase == .incomplete { self.run?.phase = .running }
        return .done
    }

    /// Takes the pages of a part out of the segments that wait for them.
    private mutating func clearRange(_ segment: BoardSegment, _ pages: Int, _ now: Int) -> BoardReply {
        let size = settings.size
        let cell = segment.first / size * size
        let end = segment.first + pages
        var walk = self.walk(segment.walk)
        guard end <= cell + size, end <= walk.end ?? .max else { return .refused }
        var overlaps: [(first: Int, count: Int)] = []
        var place = cell
        while place < end, let entry = entries[BoardSegment(walk: segment.walk, first: place)] {
            if place + entry.count > segment.first {
                if case .done = entry { return .refused }
                overlaps.append((place, entry.count))
            }
            place += entry.count
        }
        for _ in 0..<Self.mostSteps where walk.next <= cell {
            let count = min(size, (walk.end ?? .max) - walk.next)
            let new = BoardSegment(walk: segment.walk, first: walk.next)
            wait(new, count, 0, false, "", now)
            if walk.next == cell { overlaps.append((cell, count)) }
            walk.next += count
        }
        walks[segment.walk] = walk
        // A part far ahead: the segments before it are begun by several offers.
        guard walk.next > cell else { return .early }
        for (first, count) in overlaps {
            remove(BoardSegment(walk: segment.walk, first: first))
            if first < segment.first {
                wait(BoardSegment(walk: segment.walk, first: first), segment.first - first, 0, false, "", now)
            }
            if first + count > end {
                wait(BoardSegment(walk: segment.walk, first: end), first + count - end, 0, false, "", now)
            }
        }
        return .done
    }

    /// Takes out the live segment of a walk by links, if the part begins there.
    private mutating func clearLive(_ segment: BoardSegment, _ offer: BoardOffer, _ now: Int) -> BoardReply {
        var walk = self.walk(segment.walk)
        guard offer.generation >= walk.generation else { return .refused }
        if offer.generation > walk.generation {
            guard segment.first == 0 else { return .early }
            clear(segment.walk, from: 0, to: .max)
            walk = Walk(generation: offer.generation)
        }
        guard walk.end == nil, segment.first >= walk.next else { return .refused }
        guard segment.first == walk.next else { return .early }
        remove(segment)
        walks[segment.walk] = walk
        return .done
    }

    // MARK: - Entries

    func walk(_ number: Int) -> Walk { walks[number] ?? Walk(end: settings.isNumbered ? settings.limit : nil) }

    /// The most pages of a segment by links that begins at a position.
    func span(from first: Int) -> Int { min(settings.size, max(0, (settings.limit ?? .max) - first)) }

    private mutating func put(_ part: BoardPart, _ segment: BoardSegment, epoch: UInt64, fence: Int, _ worker: String) {
        var stored = part
        stored.announced = nil
        entries[segment] = .done(stored, epoch: epoch, fence: fence, worker: worker)
        run?.done += 1
        run?.pages += part.pages
        run?.items += part.items
        run?.bytes += part.length
    }

    private mutating func wait(
        _ segment: BoardSegment,
        _ count: Int,
        _ attempts: Int,
        _ hasLasting: Bool,
        _ worker: String,
        _ instant: Int
    ) {
        entries[segment] = .open(count: count, attempts: attempts, hasLasting: hasLasting, fence: 0, worker: worker)
        ready[segment] = instant
    }

    /// Fails a page for good; or the rest of a segment, whose workers ended or which follows many failed pages.
    mutating func giveUp(
        _ walk: inout Walk,
        _ segment: BoardSegment,
        _ count: Int,
        _ detail: String,
        isWhole: Bool,
        _ now: Int
    ) {
        walk.failures += 1
        let failed = settings.isNumbered && (isWhole || walk.failures >= Self.mostFailures) ? count : 1
        entries[segment] = .failed(count: failed, detail: detail)
        run?.failed += 1
        guard settings.isNumbered, failed < count else { return }
        wait(BoardSegment(walk: segment.walk, first: segment.first + failed), count - failed, 0, false, "", now)
    }

    /// Begins a walk by links again; its parts leave the manifest.
    private mutating func restart(_ walk: inout Walk, _ number: Int, _ now: Int) {
        clear(number, from: 0, to: .max)
        walk = Walk(generation: walk.generation + 1)
        wait(BoardSegment(walk: number, first: 0), span(from: 0), 0, false, "", now)
    }

    mutating func retry(_ now: Int) -> BoardReply {
        for (segment, entry) in entries {
            guard case .failed(let count, _) = entry else { continue }
            remove(segment)
            wait(segment, settings.isNumbered ? count : span(from: segment.first), 0, false, "", now)
        }
        for number in walks.keys { walks[number]?.failures = 0 }
        run?.firstWalk = 0
        if run?.phase == .incomplete { run?.phase = .running }
        return .done
    }

    mutating func reload(_ segment: BoardSegment, _ now: Int) -> BoardReply {
        guard case .done(let part, _, _, _) = entries[segment] else { return .refused }
        if settings.isNumbered {
            remove(segment)
            wait(segment, part.pages, 0, false, "", now)
        } else {
            var walk = self.walk(segment.walk)
            restart(&walk, segment.walk, now)
            walks[segment.walk] = walk
        }
        if run?.phase == .complete || run?.phase == .incomplete { run?.phase = .running }
        run?.isMerged = false
        return .done
    }

    /// Removes an entry, with the effect that it had on the numbers; returns how many pages it has.
    @discardableResult
    mutating func remove(_ segment: BoardSegment) -> Int {
        guard let entry = entries.removeValue(forKey: segment) else { return 0 }
        (leases[segment], ready[segment]) = (nil, nil)
        switch entry {
        case .open: break
        case .failed: run?.failed -= 1
        case .done(let part, _, _, _):
            run?.done -= 1
            run?.pages -= part.pages
            run?.items -= part.items
            run?.bytes -= part.length
            run?.extra += part.pages
        }
        return entry.count
    }

    private mutating func clear(_ walk: Int, from first: Int, to end: Int) {
        var place = first
        while place < end {
            let segment = BoardSegment(walk: walk, first: place)
            cursors[segment] = nil
            let count = remove(segment)
            if count == 0 { break }
            place += count
        }
    }
}
