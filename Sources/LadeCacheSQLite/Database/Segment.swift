import LadeCache

/// A run of bytes of a body, which lie in a blob.
///
/// Several entries may use one blob, which never changes.
struct Segment: Sendable, Hashable {
    /// Where the run begins in the body.
    var start: Int64
    var length: Int64
    /// The number of the blob.
    var blob: UInt64
    /// Where the run begins in the blob.
    var offset: Int64

    var end: Int64 { start + length }

    /// The part of a run that lies within a range; nil when there is none.
    func clamped(to span: Range<Int64>) -> Segment? {
        let (lower, upper) = (max(start, span.lowerBound), min(end, span.upperBound))
        guard lower < upper else { return nil }
        return Segment(start: lower, length: upper - lower, blob: blob, offset: offset + lower - start)
    }

    /// The runs of both without overlaps; where both have bytes, the older ones stay.
    static func joined(_ older: [Segment], _ newer: Segment) -> [Segment] {
        var segments = older
        var lower = newer.start
        for run in older where run.end > lower && run.start < newer.end {
            if lower < run.start, let gap = newer.clamped(to: lower..<run.start) { segments.append(gap) }
            lower = max(lower, run.end)
        }
        if lower < newer.end, let rest = newer.clamped(to: lower..<newer.end) { segments.append(rest) }
        return segments.sorted { $0.start < $1.start }
    }

    /// The runs that have the bytes of a range; nil when some are missing.
    static func covering(_ span: Range<Int64>, _ segments: [Segment]) -> [Segment]? {
        var found: [Segment] = []
        var lower = span.lowerBound
        for run in segments {
            guard lower < span.upperBound else { break }
            guard let part = run.clamped(to: lower..<span.upperBound) else { continue }
            guard part.start == lower else { return nil }
            found.append(part)
            lower = part.end
        }
        return lower == span.upperBound ? found : nil
    }

    static func encode(_ segments: [Segment]) -> [UInt8] {
        var writer = OctetWriter()
        for run in segments {
            for number in [UInt64(run.start), UInt64(run.length), run.blob, UInt64(run.offset)] {
                writer.writeNumber(number)
            }
        }
        return writer.octets
    }

    /// Reads runs; nil for bytes that are none.
    static func decode(_ octets: [UInt8]) -> [Segment]? {
        var reader = OctetReader(octets)
        var segments: [Segment] = []
        while !reader.isAtEnd {
            guard let start = reader.readNumber(), let length = reader.readNumber(), let blob = reader.readNumber(),
                let offset = reader.readNumber(), max(start, length, offset) < 1 << 61, length > 0,
                Int64(start) >= segments.last?.end ?? 0
            else { return nil }
            segments.append(Segment(start: Int64(start), length: Int64(length), blob: blob, offset: Int64(offset)))
        }
        return segments
    }
}
