/// One parser and what must hold for any bytes given to it.
///
/// A trap, an endless loop, memory out of bounds and a broken `expect` are findings.
struct Target: Sendable {
    /// The name on the command line and of the folder in `corpus/`.
    let name: String
    /// Parses the bytes and checks what came out.
    let check: @Sendable ([UInt8]) -> Void
}

/// All targets.
///
/// A new parser is one line here, one file beside, and one folder of seeds in `corpus/`.
let targets: [Target] = [
    .httpDate,
    .retryAfter,
    .link,
    .mediaType,
    .contentDisposition,
    .cacheControl,
    .structuredField,
    .responseHead,
    .contentCoding,
    .jsonSplitter,
    .jsonDecoder,
    .jsonEncoder,
    .images,
    .http1Exchange,
    .http2Session,
    .tlsRecords,
    .connectTunnel,
    .socks5,
    .proxyEnvironment,
    .fleetReplies,
]

/// Ends the process with what does not hold, so that libFuzzer keeps the input.
func expect(_ claim: Bool, _ message: @autoclosure () -> String) {
    if !claim { fatalError(message()) }
}

/// The input as the lines of a field of several lines: a line feed, which no field value holds, ends each.
func lines(_ bytes: [UInt8]) -> [[UInt8]] {
    bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
}
