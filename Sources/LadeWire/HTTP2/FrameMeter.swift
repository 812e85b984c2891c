/// Counts the frames of a peer that bring nothing, relative to those that do, and what frames cost.
///
/// It reads frame headers from the received bytes itself, because nghttp2 does not report frames that it ignores. Only a
/// frame of a stream that is open and not over brings something, and only its end does so without content. At most 1,000
/// frames may exceed the useful ones, which count for ten each. A second of time counts like a useful frame, so that a peer
/// may send a PING now and then for hours.
struct FrameMeter {
    /// What became of received bytes.
    struct Share: Equatable {
        /// How many may be handled now.
        var count = 0
        /// How many of them are content, or a header section, of a stream that is open.
        var content = 0
        /// Whether the frame after them is one too many.
        var isFlood = false
    }

    /// The number of bytes of a frame's header (RFC 9113 §4.1).
    private static let headerSize = 9
    private static let limit = 1_000
    private static let worth = 10
    /// How many bytes of frames other than DATA cost a unit: a field may have one byte.
    private static let bytesOfUnit = 8
    /// What a frame of a stream that was ended here takes of what may be in flight, beside its content.
    private static let inFlight = 64

    private enum Kind {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
        static let pushPromise: UInt8 = 5
        static let continuation: UInt8 = 9
    }

    private enum Flag {
        static let endStream: UInt8 = 1
        static let endHeaders: UInt8 = 4
        static let padded: UInt8 = 8
    }

    /// How many frames brought nothing.
    private(set) var count = 0
    /// The streams on which the peer may still send something.
    private var open: Set<Int32> = []
    /// What the peer may have sent on streams that were ended here, before it knew: bytes of content, and other frames.
    private var covered = (bytes: 0, frames: 0)
    /// The beginning of a header, and the length of the padding behind it.
    private var header: [UInt8] = []
    /// How many bytes of the present frame are left.
    private var left = 0
    /// How many of them are content of a stream that is open, or a header section of one; padding follows content.
    private var contentLeft = 0
    private var isData = false
    /// The size of the present header section, and how large one may be.
    private var sectionBytes = 0
    private let mostSectionBytes: Int
    private var countedAt: Int64

    /// - Parameters:
    ///   - now: The time in nanoseconds.
    ///   - headBytes: The limit of heads; a section of four times as many bytes is a flood (RFC 9113 §10.5.1).
    init(at now: Int64, headBytes: Int = .max) {
        countedAt = now
        mostSectionBytes = headBytes.multipliedReportingOverflow(by: 4).overflow ? .max : 4 * headBytes
        header.reserveCapacity(Self.headerSize + 1)
    }

    /// Records that a stream was opened.
    mutating func opened(_ stream: Int32) { open.insert(stream) }

    /// Records that a stream was ended here: the window that its peer has covers what is in flight.
    mutating func ended(_ stream: Int32, window: Int) {
        guard open.remove(stream) != nil else { return }
        // A head, trailers, and the end.
        covered.frames += 3
        covered.bytes += window
    }

    /// Counts the frames that begin in received bytes, as far as units last.
    mutating func take(_ bytes: UnsafeRawBufferPointer, at now: Int64, units: inout Int) -> Share {
        forgive(at: now)
        var share = Share()
        while share.count < bytes.count {
            guard left == 0 else {
                guard isData || units > 0 else { return share }
                let most = isData || units > left ? left : min(left, units * Self.bytesOfUnit)
                let skipped = min(most, bytes.count - share.count)
                if !isData { units -= skipped / Self.bytesOfUnit }
                let content = min(skipped, contentLeft)
                share.content += content
                contentLeft -= content
                left -= skipped
                share.count += skipped
                continue
            }
            guard units > 0 else { return share }
            header.append(bytes[share.count])
            share.count += 1
            guard header.count >= Self.headerSize else { continue }
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            let isPadded = header[3] == Kind.data && header[4] & Flag.padded != 0 && length > 0
            guard header.count > Self.headerSize || !isPadded else { continue }
            let padding = isPadded ? Int(header[Self.headerSize]) + 1 : 0
            units -= 1
            begin(length: length, content: max(0, length - padding))
            left = length - (header.count - Self.headerSize)
            let size = header.count
            header.removeAll(keepingCapacity: true)
            guard count <= Self.limit, sectionBytes <= mostSectionBytes else {
                share.count = max(0, share.count - size)
                share.isFlood = true
                return share
            }
        }
        return share
    }

    /// Counts a DATA frame that was sent, for which the peer returns windows.
    mutating func sentData() { count = max(0, count - Self.worth) }

    private mutating func begin(length: Int, content: Int) {
        let type = header[3]
        let flags = header[4]
        let number = header[5...8].reduce(0) { $0 << 8 | Int32(truncatingIfNeeded: UInt32($1)) } & .max
        let isEnd = flags & Flag.endStream != 0
        isData = type == Kind.data
        contentLeft = 0
        switch type {
        case Kind.data:
            if open.contains(number) {
                contentLeft = content
                if content > 0 { progress() } else if !isEnd { count += 1 }
                if isEnd { open.remove(number) }
            } else if content > 0, covered.bytes >= content + Self.inFlight {
                covered.bytes -= content + Self.inFlight
                contentLeft = content
            } else {
                cover()
            }
        case Kind.headers:
            sectionBytes = length
            if open.contains(number) {
                contentLeft = length
                progress()
                if isEnd { open.remove(number) }
            } else {
                cover()
            }
        case Kind.reset: if open.remove(number) == nil { cover() }
        case Kind.continuation:
            sectionBytes += length
            count += 1
        default: count += 1
        }
        if type != Kind.headers, type != Kind.continuation || flags & Flag.endHeaders != 0 { sectionBytes = 0 }
    }

    private mutating func progress() { count = max(0, count - Self.worth) }

    /// Counts a frame of a stream that is over, unless it was in flight when the stream was ended here.
    private mutating func cover() {
        if covered.frames > 0 { covered.frames -= 1 } else { count += 1 }
    }

    private mutating func forgive(at now: Int64) {
        let seconds = max(0, (now - countedAt) / 1_000_000_000)
        countedAt += seconds * 1_000_000_000
        count = max(0, count - Int(clamping: seconds) * Self.worth)
    }
}
