import CZlib

/// Decodes gzip (RFC 1952) and deflate (RFC 9110 §8.4.1.2) with zlib.
package final class Inflater: CodingStage {
    private enum State {
        /// Before the first byte of `deflate`, which determines its format.
        case undecided
        /// Within a stream or a member.
        case inside
        /// After a member of gzip; another member may follow (RFC 1952 §2.2).
        case afterMember
        /// Within zeros after the last member, with which some servers pad their blocks.
        ///
        /// The gzip program also skips zeros without a warning, and only zeros.
        case padding
        /// After the end of `deflate`.
        case ended
    }

    // Stays at one address for its whole life, because zlib checks the address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let isReady: Bool
    private var coding = ContentCoding.gzip
    private var state = State.ended

    package init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        isReady = inflateInit2_(stream, 15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    }

    deinit {
        if isReady { inflateEnd(stream) }
        stream.deallocate()
    }

    /// Begins a stream of gzip or deflate.
    package func begin(_ coding: ContentCoding) {
        self.coding = coding
        state = .undecided
    }

    package var isAtEnd: Bool {
        switch state {
        case .undecided, .inside: false
        case .afterMember, .padding, .ended: true
        }
    }

    package func decode(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> Int {
        var written = 0
        while true {
            switch state {
            case .undecided:
                guard let first = input.first else { return written }
                try reset(Self.windowBits(coding, first: first))
            case .inside:
                guard written < output.count else { return written }
                let room = UnsafeMutableRawBufferPointer(rebasing: output[written...])
                let (count, isStuck) = try inflate(&input, into: room)
                written += count
                if isStuck { return written }
            case .afterMember:
                guard let first = input.first else { return written }
                switch first {
                case 0x1F: try reset(31)
                case 0: state = .padding
                default: throw .surplus(coding)
                }
            case .padding:
                guard input.allSatisfy({ $0 == 0 }) else { throw .surplus(coding) }
                input = UnsafeRawBufferPointer(rebasing: input[input.endIndex...])
                return written
            case .ended:
                guard input.isEmpty else { throw .surplus(coding) }
                return written
            }
        }
    }

    /// The format for zlib: gzip, zlib or raw.
    ///
    /// Servers send `deflate` with and without the zlib wrapper. The first byte of the wrapper has 8 in its low half
    /// (CM, RFC 1950 §2.2) and at most 7 in its high half. As raw deflate, that byte would start a stored block with
    /// nonzero padding bits, which no encoder writes.
    private static func windowBits(_ coding: ContentCoding, first: UInt8) -> Int32 {
        guard coding == .deflate else { return 31 }
        return first & 0x0F == 8 && first >> 4 <= 7 ? 15 : -15
    }

    private func reset(_ windowBits: Int32) throws(CodingFault) {
        guard isReady, inflateReset2(stream, windowBits) == Z_OK else { throw .damaged(coding, "no memory") }
        state = .inside
    }

    /// Calls zlib once; the call makes no progress when zlib needs more input or more room.
    private func inflate(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> (count: Int, isStuck: Bool) {
        let offered = min(input.count, Int(UInt32.max))
        let room = min(output.count, Int(UInt32.max))
        // zlib only reads its input, although the type of the pointer is not constant.
        stream.pointee.next_in = UnsafeMutableRawPointer(mutating: input.baseAddress)?.assumingMemoryBound(
            to: UInt8.self
        )
        stream.pointee.avail_in = UInt32(offered)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(room)
        let code = CZlib.inflate(stream, Z_NO_FLUSH)
        input = UnsafeRawBufferPointer(rebasing: input[(offered - Int(stream.pointee.avail_in))...])
        let count = room - Int(stream.pointee.avail_out)
        switch code {
        case Z_OK, Z_BUF_ERROR: return (count, count == output.count || input.isEmpty)
        case Z_STREAM_END:
            state = coding == .gzip ? .afterMember : .ended
            return (count, false)
        case Z_NEED_DICT: throw .damaged(coding, "it needs a dictionary")
        default: throw .damaged(coding, stream.pointee.msg.map { String(cString: $0) } ?? "zlib error \(code)")
        }
    }
}
