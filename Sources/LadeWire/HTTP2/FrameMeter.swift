/// Counts the frames of a peer that bring nothing, relative to those that do, and what frames cost.
///
/// It reads frame headers from the received bytes itself, because nghttp2 does not report frames that it ignores. Only a
/// frame of a stream that is open and not over brings something, and only its end does so without content. At most 1,000
/// frames may exceed the useful ones, which count for ten each. A second of time counts like a useful frame, so that a peer
/// may send a PING now and then for hours.
struct FrameMeter {
    /// The division of received bytes.
    struct Share: Equatable {
        /// How many may be handled now.
        var count = 0
        /// How many of them are content, or a header section, of a stream that is open.
        var content = 0
        /// Whether the frame after them is one too many.
        var isFlood = false
    }

    private static let limit = 1_000
    private static let worth = 10
    /// How many bytes of frames other than DATA cost a unit: a field may have one byte.
    private static let bytesOfUnit = 8
    /// The bytes in flight that a frame of a stream that was ended here takes, beside its content.
    private static let inFlight = 64

    private typealias Kind = FrameHeader.Kind

    /// How many frames brought nothing.
    private(set) var count = 0
    /// The streams on which the peer may still send something.
    private var open: Set<Int32> = []
    /// The bytes of content and the other frames that the peer may have sent on streams that were ended here, before it knew.
    private var covered = (bytes: 0, frames: 0)
    /// The beginning of a header that has not arrived whole.
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
        header.reserveCapacity(FrameHeader.smallest + 1)
    }

    /// Records that a stream was opened.
    mutating func opened(_ stream: Int32) { open.insert(stream) }

    /// Records that a stream was ended here: the window of its peer covers the bytes in flight.
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
            let rest = UnsafeRawBufferPointer(rebasing: bytes[share.count...])
            // A header that has arrived whole is read where it lies.
            let size: Int
            if header.isEmpty, let frame = FrameHeader(rest) {
                size = frame.size
                share.count += size
                begin(frame)
            } else {
                header.append(rest[0])
                share.count += 1
                guard let frame = header.withUnsafeBytes(FrameHeader.init) else { continue }
                size = frame.size
                header.removeAll(keepingCapacity: true)
                begin(frame)
            }
            units -= 1
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

    private mutating func begin(_ frame: FrameHeader) {
        let (type, flags, length, content, number) = (
            frame.type, frame.flags, frame.length, frame.content, frame.stream
        )
        let isEnd = flags & FrameHeader.Flag.endStream != 0
        left = length - (frame.size - FrameHeader.smallest)
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
        if type != Kind.headers, type != Kind.continuation || flags & FrameHeader.Flag.endHeaders != 0 {
            sectionBytes = 0
        }
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

/// The header of a frame (RFC 9113 §4.1), with the length of the padding behind it.
private struct FrameHeader {
    enum Kind {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
        static let continuation: UInt8 = 9
    }

    enum Flag {
        static let endStream: UInt8 = 1
        static let endHeaders: UInt8 = 4
        static let padded: UInt8 = 8
    }

    /// The size of a header without the length of padding.
    static let smallest = 9

    let type: UInt8
    let flags: UInt8
    let stream: Int32
    let length: Int
    /// How much of the frame is not padding.
    let content: Int
    /// How many bytes it has itself.
    let size: Int

    /// Reads the header at the beginning of bytes; nil when it is not whole.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.smallest else { return nil }
        length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        (type, flags) = (bytes[3], bytes[4])
        stream = Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: 5, as: Int32.self)) & .max
        let isPadded = type == Kind.data && flags & Flag.padded != 0 && length > 0
        size = isPadded ? Self.smallest + 1 : Self.smallest
        guard bytes.count >= size else { return nil }
        content = max(0, length - (isPadded ? Int(bytes[Self.smallest]) + 1 : 0))
    }
}
