#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The flattened segments of a chapter: in order, without overlaps.
struct SegmentTrack: Sendable, Hashable {
    var segments: [Catalogue.Segment]

    init(segments: [Catalogue.Segment]) {
        self.segments = segments
    }

    /// Flattens segments; a date decides which of them are blocked.
    init(_ raw: [Catalogue.Segment], at date: Date) {
        let valid = raw.enumerated().filter { $0.element.duration > .zero && $0.element.markIn < $0.element.markOut }
            .map { Candidate(segment: $0.element, position: $0.offset, date: date) }
        let marks = Set(valid.flatMap { [$0.segment.markIn, $0.segment.markOut] }).sorted()
        let byBeginning = valid.sorted { $0.segment.markIn < $1.segment.markIn }
        var next = byBeginning.startIndex
        // A response may contain very many segments. Examining all of them at each mark would take quadratic time.
        var earlier = CandidateHeap()
        segments = []
        for (start, end) in zip(marks, marks.dropFirst()) {
            var starting: [Candidate] = []
            while next < byBeginning.endIndex, byBeginning[next].segment.markIn == start {
                starting.append(byBeginning[next])
                next += 1
            }
            defer { for candidate in starting { earlier.insert(candidate) } }
            earlier.removeFirst { $0.segment.markOut <= start }
            let best = starting.max { $1.goesBefore($0) }
            // Between segments of equal rank, a segment that begins here precedes a segment that began earlier.
            let winner =
                switch (best, earlier.first) {
                case (let best?, let first?): first.rank > best.rank ? first : best
                case (let best, let first): best ?? first
                }
            guard let winner = winner?.segment else { continue }
            if let last = segments.last, !last.urn.isEmpty, last.urn == winner.urn, last.markOut == start {
                segments[segments.count - 1].markOut = end
            } else {
                var part = winner
                part.markIn = start
                part.markOut = end
                segments.append(part)
            }
        }
        for index in segments.indices { segments[index].duration = segments[index].markOut - segments[index].markIn }
        segments.removeAll { $0.duration < .seconds(1) && $0.blockingReason(at: date) == .none }
    }
}

/// A segment that competes with others for the same time.
private struct Candidate {
    let segment: Catalogue.Segment
    let position: Int
    /// Blocked segments precede others, then visible ones precede hidden ones.
    let rank: Int

    init(segment: Catalogue.Segment, position: Int, date: Date) {
        self.segment = segment
        self.position = position
        rank = (segment.blockingReason(at: date) == .none ? 0 : 2) + (segment.isHidden ? 0 : 1)
    }

    /// Whether it precedes another segment that began at the same time or earlier.
    func goesBefore(_ other: Candidate) -> Bool {
        if rank != other.rank { return rank > other.rank }
        if segment.duration != other.segment.duration { return segment.duration < other.segment.duration }
        return position > other.position
    }
}

/// A heap of candidates; the first precedes all others.
private struct CandidateHeap {
    private var elements: [Candidate] = []

    var first: Candidate? { elements.first }

    mutating func insert(_ candidate: Candidate) {
        elements.append(candidate)
        var index = elements.count - 1
        while index > 0, elements[index].goesBefore(elements[(index - 1) / 2]) {
            elements.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Removes the first candidates while a condition holds for them.
    mutating func removeFirst(while isOver: (Candidate) -> Bool) {
        while let first, isOver(first) {
            elements.swapAt(0, elements.count - 1)
            elements.removeLast()
            var index = 0
            while true {
                let children = [2 * index + 1, 2 * index + 2].filter { $0 < elements.count }
                guard let best = children.max(by: { elements[$1].goesBefore(elements[$0]) }),
                    elements[best].goesBefore(elements[index])
                else { break }
                elements.swapAt(index, best)
                index = best
            }
        }
    }
}
