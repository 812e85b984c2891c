/// Counts the frames of a peer that bring nothing, relative to those that do.
///
/// It reads frame headers from the received bytes itself, because nghttp2 does not report frames that it ignores. At
/// most 1,000 frames may exceed the useful ones, which count for ten each. A second of time counts like a useful frame,
/// so that a peer may send a PING now and then for hours.
struct FrameMeter {
    /// The number of bytes of a frame's header (RFC 9113 §4.1).
    private static let headerSize = 9
    private static let limit = 1_000
    private static let worth = 10

    private enum Kind {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
    }

    private enum Flag {
        static let endStream: UInt8 = 1
        static let padded: UInt8 = 8
    }

    /// How many frames brought nothing.
    private(set) var count = 0
    /// The beginning of a header, and the length of the padding behind it.
    private var header: [UInt8] = []
    /// How many bytes of the present frame are left.
    private var left = 0
    private var countedAt: Int64

    /// - Parameter now: The time in nanoseconds.
    init(at now: Int64) {
        countedAt = now
        header.reserveCapacity(Self.headerSize + 1)
    }

    /// Counts the frames that begin in received bytes.
    ///
    /// - Returns: The number of bytes before the frame that exceeds the limit; nil when there is none.
    mutating func take(_ bytes: UnsafeRawBufferPointer, at now: Int64) -> Int? {
        forgive(at: now)
        var position = 0
        while position < bytes.count {
            guard left == 0 else {
                let skipped = min(left, bytes.count - position)
                left -= skipped
                position += skipped
                continue
            }
            header.append(bytes[position])
            position += 1
            guard header.count >= Self.headerSize else { continue }
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            let isPadded = header[3] == Kind.data && header[4] & Flag.padded != 0 && length > 0
            guard header.count > Self.headerSize || !isPadded else { continue }
            let padding = isPadded ? Int(header[Self.headerSize]) + 1 : 0
            count(type: header[3], flags: header[4], content: length - padding)
            left = length - (header.count - Self.headerSize)
            let size = header.count
            header.removeAll(keepingCapacity: true)
            if count > Self.limit { return max(0, position - size) }
        }
        return nil
    }

    /// Counts a DATA frame that was sent, for which the peer returns windows.
    mutating func sentData() { count = max(0, count - Self.worth) }

    private mutating func count(type: UInt8, flags: UInt8, content: Int) {
        switch type {
        case Kind.data where content > 0: count = max(0, count - Self.worth)
        // The end of a body, and of a stream, are progress that happens once.
        case Kind.data where flags & Flag.endStream != 0, Kind.reset: break
        case Kind.headers: count = max(0, count - Self.worth)
        default: count += 1
        }
    }

    private mutating func forgive(at now: Int64) {
        let seconds = max(0, (now - countedAt) / 1_000_000_000)
        countedAt += seconds * 1_000_000_000
        count = max(0, count - Int(clamping: seconds) * Self.worth)
    }
}
