import CZstd

/// Decodes Zstandard (RFC 8878): frames, one after the other, skippable ones too.
///
/// A window above 8 MiB is refused, as RFC 9659 has it for this content coding.
final class ZstdStage: CodingStage {
    private static let windowLog: Int32 = 23

    private let context: OpaquePointer?
    /// Between frames, after the first.
    private(set) var isAtEnd = false
    private var mayHoldOutput = false

    init() {
        context = ZSTD_createDCtx()
        if let context { ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLog) }
    }

    deinit {
        ZSTD_freeDCtx(context)
    }

    /// Begins a stream.
    func begin() {
        if let context { ZSTD_DCtx_reset(context, ZSTD_reset_session_only) }
        isAtEnd = false
        mayHoldOutput = false
    }

    /// Whether it holds little memory: the window of its largest stream stays with it.
    var isSmall: Bool { ZSTD_sizeof_DCtx(context) <= 1 << 20 }

    func decode(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> Int {
        guard let context else { throw .damaged(.zstd, "no memory") }
        var out = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        while !input.isEmpty || mayHoldOutput, out.pos < out.size {
            var coded = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
            let before = out.pos
            let result = ZSTD_decompressStream(context, &out, &coded)
            input = UnsafeRawBufferPointer(rebasing: input[coded.pos...])
            guard ZSTD_isError(result) == 0 else { throw fault(result) }
            // Zero says that a frame is complete and all of it was written.
            isAtEnd = result == 0
            mayHoldOutput = out.pos == out.size && !isAtEnd
            if coded.pos == 0, out.pos == before { break }
        }
        return out.pos
    }

    private func fault(_ result: Int) -> CodingFault {
        let text = ZSTD_getErrorName(result).map { String(cString: $0) } ?? ""
        // What is no frame after a frame is not a damaged one.
        guard isAtEnd, ZSTD_getErrorCode(result) == ZSTD_error_prefix_unknown else { return .damaged(.zstd, text) }
        return .surplus(.zstd)
    }
}
