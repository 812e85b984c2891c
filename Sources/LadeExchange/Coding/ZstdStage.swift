import CZstd

/// Decodes Zstandard (RFC 8878): a sequence of frames, which may be skippable ones.
///
/// A window above 8 MiB is refused, as RFC 9659 requires for this content coding.
package final class ZstdStage: CodingStage {
    private static let windowLog: Int32 = 23

    private let context: OpaquePointer?
    /// After a complete frame, before the next.
    package private(set) var isAtEnd = false
    private var mayHoldOutput = false

    package init() {
        context = ZSTD_createDCtx()
        if let context { ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLog) }
    }

    deinit {
        ZSTD_freeDCtx(context)
    }

    /// Begins a stream.
    package func begin() {
        if let context { ZSTD_DCtx_reset(context, ZSTD_reset_session_only) }
        isAtEnd = false
        mayHoldOutput = false
    }

    /// Whether the stage holds little memory: it keeps the window of its largest stream.
    package var isSmall: Bool { ZSTD_sizeof_DCtx(context) <= 1 << 20 }

    package func decode(
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
            // Zero means that a frame is complete and all of its output was written.
            isAtEnd = result == 0
            mayHoldOutput = out.pos == out.size && !isAtEnd
            if coded.pos == 0, out.pos == before { break }
        }
        return out.pos
    }

    private func fault(_ result: Int) -> CodingFault {
        let text = ZSTD_getErrorName(result).map { String(cString: $0) } ?? ""
        // Bytes after a frame that do not start another frame are trailing bytes, not a damaged frame.
        guard isAtEnd, ZSTD_getErrorCode(result) == ZSTD_error_prefix_unknown else { return .damaged(.zstd, text) }
        return .surplus(.zstd)
    }
}
