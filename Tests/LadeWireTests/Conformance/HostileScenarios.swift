import CNghttp2
import Foundation
import LadeCore
import TransportDoubles

@testable import LadeExchange
@testable import LadeWire

/// A server that makes work without content, and how the call that meets it must end.
///
/// A new case is a row of ``all``: the short form runs it over simulated sockets and counts units of work, the long form
/// (`make hostile`) over real ones and prints times.
struct HostileScenario: CustomStringConvertible, Sendable {
    /// How a call ends.
    enum Ending {
        /// The response is complete, and the connection is closed.
        case success
        /// `malformedResponse(.overhead)` with these words.
        case overhead(OverheadMeter.Kind)
        case headTooLarge
        case coding
        case handshake

        func fits(_ error: LoadingError.Kind?) -> Bool {
            switch (self, error) {
            case (.success, nil), (.headTooLarge, .headTooLarge?), (.handshake, .cannotConnect(_, .handshakeFailed)?):
                true
            case (.coding, .decompressionRatioExceeded?): true
            case (.overhead(let kind), .malformedResponse(let fault)?):
                fault.rule == .overhead && fault.excerpt == kind.name
            case (.coding, .malformedResponse(let fault)?): fault.rule == .contentCoding
            default: false
            }
        }
    }

    let finding: String
    let description: String
    var isSecure = false
    var isHTTP2 = false
    let ending: Ending
    let makePeer: @Sendable () -> any SimulatedPeer

    static func of(_ finding: String) -> [HostileScenario] { all.filter { $0.finding == finding } }

    static let all = records + frames + framing + codings + handshakes

    // MARK: - TLS

    private static let long = "HTTP/1.1 200 OK\r\nContent-Length: 4000000000\r\n\r\n"
    private static let short = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func record(_ name: String, _ flood: SecurePeer.Flood, _ ending: Ending, _ head: String = long)
        -> Self
    {
        HostileScenario(finding: "WF-3", description: name, isSecure: true, ending: ending) {
            SimulatedRealm.secure(EndlessPeer(Array(head.utf8), piece: []), speaksHTTP2: false, flood)
        }
    }

    private static let records = [
        record("key updates", .keyUpdates(isAsked: false), .overhead(.keyUpdates)),
        record("key updates that ask for others", .keyUpdates(isAsked: true), .overhead(.keyUpdates)),
        record("session tickets", .tickets, .overhead(.tickets)),
        record("records of one byte", .bytes, .overhead(.records)),
        record("key updates on an idle connection", .keyUpdates(isAsked: false), .success, short),
        record("session tickets on an idle connection", .tickets, .success, short),
    ]

    // MARK: - HTTP/2

    private static func frame(
        _ finding: String,
        _ name: String,
        _ start: [UInt8],
        _ piece: [UInt8],
        _ ending: Ending,
        isSecure: Bool = false
    ) -> Self {
        HostileScenario(finding: finding, description: name, isSecure: isSecure, isHTTP2: true, ending: ending) {
            let peer = EndlessPeer(RawFrame.head([(":status", "200")]) + start, piece: piece, isHTTP2: true)
            return isSecure ? SimulatedRealm.secure(peer, speaksHTTP2: true) : peer
        }
    }

    private static let end = RawFrame.bytes(RawFrame.data, flags: RawFrame.endStream, stream: 1, [0x6F, 0x6B])
    private static let references = [UInt8](repeating: 0x80 | 54, count: 16_000)
    private static let byte = RawFrame.bytes(RawFrame.data, stream: 1, [0x78])

    private static let frames = [
        frame("WF-4", "DATA on a stream that has ended", end, byte, .success),
        frame("WF-4", "the end of a stream again and again", end, end, .success),
        frame(
            "WF-4",
            "heads of references on a stream that has ended",
            end,
            RawFrame.bytes(RawFrame.headers, flags: RawFrame.endHeaders, stream: 1, references),
            .success
        ),
        frame("WF-4", "RST_STREAM again and again", end, RawFrame.reset(NGHTTP2_CANCEL), .success),
        HostileScenario(finding: "WF-4", description: "a head without an end", isHTTP2: true, ending: .headTooLarge) {
            let start = RawFrame.bytes(RawFrame.headers, stream: 1, RawFrame.literals([(":status", "200")]))
            let piece = RawFrame.bytes(RawFrame.continuation, stream: 1, references)
            return EndlessPeer(start, piece: piece, isHTTP2: true)
        },
        frame("WF-5", "DATA of one byte", [], byte, .overhead(.framing)),
        frame("WF-5", "DATA of one byte over TLS", [], byte, .overhead(.framing), isSecure: true),
        frame(
            "WF-5",
            "DATA of padding",
            [],
            RawFrame.bytes(
                RawFrame.data,
                flags: RawFrame.padded,
                stream: 1,
                [200, 0x78] + Array(repeating: 0, count: 200)
            ),
            .overhead(.framing)
        ),
    ]

    // MARK: - HTTP/1.1

    private static func chunked(_ name: String, _ piece: String) -> Self {
        HostileScenario(finding: "WF-5", description: name, ending: .overhead(.framing)) {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            return EndlessPeer(Array(head.utf8), piece: Array(piece.utf8))
        }
    }

    private static let framing = [
        chunked("chunks of one byte", "001\r\nx\r\n"),
        chunked("chunk extensions", "1" + String(repeating: ";a=b", count: 1_000) + "\r\nx\r\n"),
        chunked("chunk extensions of short chunks", "4;a=\"0123456789\"\r\nxxxx\r\n"),
    ]

    private static func coded(_ name: String, _ coding: String, _ start: [UInt8], _ piece: [UInt8]) -> [Self] {
        [false, true].map { isHTTP2 in
            HostileScenario(
                finding: "WF-6",
                description: isHTTP2 ? name + ", over HTTP/2" : name,
                isHTTP2: isHTTP2,
                ending: .coding
            ) {
                if isHTTP2 {
                    let head = RawFrame.head([(":status", "200"), ("content-encoding", coding)])
                    let pieces = Array(repeatElement(piece, count: 12_000 / piece.count).joined())
                    let data = RawFrame.bytes(RawFrame.data, stream: 1, pieces)
                    let first = start.isEmpty ? [] : RawFrame.bytes(RawFrame.data, stream: 1, start)
                    return EndlessPeer(head + first, piece: data, isHTTP2: true)
                }
                let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\n\r\n"
                return EndlessPeer(Array(head.utf8) + start, piece: piece)
            }
        }
    }

    private static let gzip: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

    private static let codings =
        coded("gzip blocks without content", "gzip", gzip, [0, 0, 0, 0xFF, 0xFF])
        + coded("gzip members without content", "gzip", [], gzip + [3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        + coded("brotli blocks without content", "br", [0x0C], [0x06])
        + coded("zstd frames without content", "zstd", [], [0x28, 0xB5, 0x2F, 0xFD, 0x20, 0, 1, 0, 0])
        + coded("skipped frames of zstd", "zstd", [], [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0])
        + [
            // A kilobyte becomes a megabyte of blocks without content before the second coding.
            coded("a coding within a coding", "gzip, gzip", [], doubled)[0]
        ]

    private static let doubled: [UInt8] = {
        let empty = gzip + Array(repeatElement([0, 0, 0, 0xFF, 0xFF] as [UInt8], count: 200_000).joined())
        return Array(Coded.deflated(Data(empty)))
    }()

    // MARK: - Handshakes

    private static let handshakes = [
        HostileScenario(
            finding: "WF-9",
            description: "a hundred certificates of the issuer's name",
            isSecure: true,
            ending: .handshake
        ) { SimulatedRealm.withLongChain(EndlessPeer([], piece: [])) }
    ]
}

/// A server that answers the first request with a beginning, and goes on with a piece for ever.
final class EndlessPeer: SimulatedPeer, @unchecked Sendable {
    private let start: [UInt8]
    private let pieces: [UInt8]
    private let isHTTP2: Bool
    private var seen: [UInt8] = []
    private var hasGreeted = false
    private(set) var hasBegun = false

    init(_ start: [UInt8], piece: [UInt8], isHTTP2: Bool = false) {
        self.start = start
        pieces = piece.isEmpty ? [] : Array(repeatElement(piece, count: max(1, (32 << 10) / piece.count)).joined())
        self.isHTTP2 = isHTTP2
    }

    var requests: [SimulatedServer.Seen] { [] }
    var hasEnded: Bool { false }

    func receive(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        if isHTTP2, !hasGreeted { output += RawFrame.settings() }
        hasGreeted = true
        guard !hasBegun else { return output }
        seen += bytes
        let isAsked = isHTTP2 ? !RawFrame.requests(in: seen).isEmpty : seen.suffix(4) == [13, 10, 13, 10]
        guard isAsked else { return output }
        hasBegun = true
        // Only then are windows as large as the client says.
        if isHTTP2 { output += RawFrame.bytes(RawFrame.settings, flags: 1) }
        return output + start
    }

    func more() -> [UInt8] { hasBegun ? pieces : [] }
}
