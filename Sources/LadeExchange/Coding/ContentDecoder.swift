/// Decodes one content coding.
package protocol CodingStage: AnyObject {
    /// Decodes into `output` until it is full or no input is left.
    ///
    /// Decoded input is removed from the front of `input`. When `output` comes back full, the stage may hold more
    /// output: call it again, with empty input if none is left.
    ///
    /// - Returns: The number of bytes written. A number below the capacity of `output` means that more input is needed,
    ///   or that the stream has ended.
    func decode(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> Int

    /// Whether the coded stream may end here.
    var isAtEnd: Bool { get }
}

/// Decodes the content codings of one body in bounded memory.
///
/// A state machine without I/O: the caller passes input and room for output, and keeps the input that was not decoded.
/// Owned by the loop.
package final class ContentDecoder {
    private static let roomBetween = 16 << 10
    /// How often the room between stages is filled in one call.
    private static let mostFillings = 4
    /// How much may be decoded without a byte of output: far more than any coder needs, and what blocks without content
    /// need no more than.
    private static let mostBarren = 1 << 20

    /// The codings in the order of decoding: the one that was applied last comes first.
    private let codings: [ContentCoding]
    private let stages: [any CodingStage]
    /// The buffers between the stages: the output of each stage but the last.
    private var between: [Between]
    /// The error for the first byte, when the codings cannot be decoded.
    private let refusal: CodingFault?
    private let pool: DecoderPool
    /// The number of input bytes that were decoded.
    package private(set) var consumedBytes: Int64 = 0
    /// How much was decoded since the last output.
    private var barren = 0
    private var fillings = 0
    private var filledBytes = 0
    /// Whether the last call has ended although there may be more output without more input.
    package private(set) var isInterrupted = false
    /// The number of bytes that the most productive stage has written.
    private var producedBytes: [Int64]

    private struct Between {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: ContentDecoder.roomBetween, alignment: 16)
        var range = 0..<0
        /// Whether the previous stage filled the buffer and may hold more output.
        var wasFilled = false
    }

    /// Makes a decoder for the value of a `Content-Encoding` field; nil when it names no coding but `identity`.
    ///
    /// Codings that cannot be decoded throw at the first byte of the body, because a response without a body has no
    /// coding.
    package init?(field: String, pool: DecoderPool) {
        do {
            codings = try ContentCoding.list(field).reversed()
            refusal = nil
        } catch {
            codings = []
            refusal = error
        }
        guard refusal != nil || !codings.isEmpty else { return nil }
        self.pool = pool
        stages = codings.map { pool.take($0) }
        between = stages.dropLast().map { _ in Between() }
        producedBytes = stages.map { _ in 0 }
    }

    deinit {
        for between in between { between.buffer.deallocate() }
        for (coding, stage) in zip(codings, stages) { pool.give(stage, coding) }
    }

    /// Whether the codings of the body can be decoded.
    package var isDecoding: Bool { refusal == nil }

    /// The largest number of bytes that any coding has produced.
    ///
    /// The output of the last coding does not limit the work: the first of two codings can grow a thousandfold while
    /// the second produces nothing.
    package var mostBytes: Int64 { producedBytes.max() ?? 0 }

    /// Whether the body may end here: every coding is at its end, and the buffers between them are empty.
    package var isComplete: Bool {
        refusal == nil && stages.allSatisfy { $0.isAtEnd } && between.allSatisfy { $0.range.isEmpty }
    }

    /// Decodes into `output`, with the contract of ``CodingStage/decode(_:into:)``.
    ///
    /// - Parameters:
    ///   - input: The coded bytes; those that were decoded are removed.
    ///   - output: Receives the decoded bytes.
    ///   - isBounded: Whether the call may end before its input does, because what lies between two codings may be a
    ///     thousand times as much; ``isInterrupted`` says so.
    /// - Returns: The number of bytes written.
    /// - Throws: Why the bytes are refused.
    package func decode(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        isBounded: Bool = false
    ) throws(CodingFault) -> Int {
        if let refusal { throw refusal }
        let before = input.count
        defer { consumedBytes += Int64(before - input.count) }
        fillings = isBounded ? Self.mostFillings : .max
        filledBytes = 0
        isInterrupted = false
        let count = try decode(stages.count - 1, &input, into: output)
        barren = count > 0 ? 0 : barren + before - input.count + filledBytes
        guard barren <= Self.mostBarren else { throw .barren }
        return count
    }

    private func decode(
        _ index: Int,
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> Int {
        guard index > 0 else {
            let count = try stages[0].decode(&input, into: output)
            producedBytes[0] += Int64(count)
            return count
        }
        var written = 0
        while true {
            let room = UnsafeMutableRawBufferPointer(rebasing: output[written...])
            var coded = UnsafeRawBufferPointer(rebasing: between[index - 1].buffer[between[index - 1].range])
            let count = try stages[index].decode(&coded, into: room)
            between[index - 1].range =
                (between[index - 1].range.upperBound - coded.count)..<between[index - 1].range.upperBound
            producedBytes[index] += Int64(count)
            written += count
            guard written < output.count else { return written }
            guard !input.isEmpty || between[index - 1].wasFilled else { return written }
            guard fillings > 0 else {
                isInterrupted = true
                return written
            }
            fillings -= 1
            let buffer = between[index - 1].buffer
            let filled = try decode(index - 1, &input, into: buffer)
            filledBytes += filled
            between[index - 1].range = 0..<filled
            between[index - 1].wasFilled = filled == buffer.count
            if filled == 0 { return written }
        }
    }
}

/// A pool of decoders, because making one costs as much as decoding a small body.
///
/// Owned by the loop.
package final class DecoderPool {
    private static let most = 8

    private var inflaters: [Inflater] = []
    private var zstd: [ZstdStage] = []

    package init() {}

    /// Returns a stage at the beginning of a stream.
    package func take(_ coding: ContentCoding) -> any CodingStage {
        switch coding {
        case .gzip, .deflate:
            let inflater = inflaters.popLast() ?? Inflater()
            inflater.begin(coding)
            return inflater
        case .brotli: return BrotliStage()
        case .zstd:
            let stage = zstd.popLast() ?? ZstdStage()
            stage.begin()
            return stage
        }
    }

    package func give(_ stage: any CodingStage, _ coding: ContentCoding) {
        switch stage {
        case let inflater as Inflater where inflaters.count < Self.most: inflaters.append(inflater)
        case let stage as ZstdStage where zstd.count < Self.most && stage.isSmall: zstd.append(stage)
        default: break
        }
    }
}
