import CBrotli

/// Decodes Brotli (RFC 7932).
///
/// The window is at most 16 MiB: the large-window extension is off.
package final class BrotliStage: CodingStage {
    private let decoder = BrotliDecoderCreateInstance(nil, nil, nil)
    package private(set) var isAtEnd = false
    private var mayHoldOutput = false

    deinit {
        BrotliDecoderDestroyInstance(decoder)
    }

    package func decode(
        _ input: inout UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> Int {
        guard let decoder else { throw .damaged(.brotli, "no memory") }
        guard !isAtEnd else {
            guard input.isEmpty else { throw .surplus(.brotli) }
            return 0
        }
        guard !input.isEmpty || mayHoldOutput else { return 0 }
        var left = input.count
        var room = output.count
        var next = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var end = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = BrotliDecoderDecompressStream(decoder, &left, &next, &room, &end, nil)
        input = UnsafeRawBufferPointer(rebasing: input[(input.count - left)...])
        switch result {
        case BROTLI_DECODER_RESULT_SUCCESS:
            isAtEnd = true
            guard input.isEmpty else { throw .surplus(.brotli) }
        case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT, BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: break
        default:
            let code = BrotliDecoderGetErrorCode(decoder)
            let text = BrotliDecoderErrorString(code).map { String(cString: $0) } ?? ""
            throw .damaged(.brotli, "error \(text)")
        }
        mayHoldOutput = room == 0
        return output.count - room
    }
}
