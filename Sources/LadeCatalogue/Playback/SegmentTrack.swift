#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The segments of a chapter, flattened: in order, none overlapping another.
struct SegmentTrack: Sendable, Hashable {
    var segments: [Segment]

    init(segments: [Segment]) {
        self.segments = segments
    }

    /// Flattens segments; which of them are blocked is decided at a date.
    init(_ raw: [Segment], at date: Date) {
        let valid = raw.enumerated().filter { $0.element.duration > .zero && $0.element.markIn < $0.element.markOut }
            .map { Candidate(segment: $0.element, position: $0.offset, date: date) }
        let marks = Set(valid.flatMap { [$0.segment.markIn, $0.segment.markOut] }).sorted()
        // Those over the interval, kept while the marks are walked: a list of all of them at each mark would cost the
        // square of their number.
        let byBeginning = valid.sorted { $0.segment.markIn < $1.segment.markIn }
        var next = byBeginning.startIndex
        var active: [Candidate] = []
        segments = []
        for (start, end) in zip(marks, marks.dropFirst()) {
            active.removeAll { $0.segment.markOut <= start }
            while next < byBeginning.endIndex, byBeginning[next].segment.markIn <= start {
                active.append(byBeginning[next])
                next += 1
            }
            guard let winner = active.max(by: { $1.goesBefore($0, at: start) })?.segment else { continue }
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

    private struct Candidate {
        let segment: Segment
        let position: Int
        let isBlocked: Bool

        init(segment: Segment, position: Int, date: Date) {
            self.segment = segment
            self.position = position
            isBlocked = segment.blockingReason(at: date) != .none
        }

        /// Whether it is shown where both are, in an interval that begins at `start`.
        func goesBefore(_ other: Candidate, at start: Duration) -> Bool {
            if isBlocked != other.isBlocked { return isBlocked }
            if segment.isHidden != other.segment.isHidden { return other.segment.isHidden }
            if segment.markIn != other.segment.markIn, (segment.markIn == start) != (other.segment.markIn == start) {
                return segment.markIn == start
            }
            if segment.duration != other.segment.duration { return segment.duration < other.segment.duration }
            return position > other.position
        }
    }
}

extension SegmentTrack: Decodable {
    init(from decoder: any Decoder) throws {
        let date = decoder.userInfo[.mappingDate] as? Date
        // Models are decodable by any decoder; the catalogue's own says the date.
        self.init(try Sparse<Segment>(from: decoder).elements, at: date ?? Date())
    }
}
