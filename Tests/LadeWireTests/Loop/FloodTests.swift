import CNghttp2
import Foundation
import LadeCore
import Testing
import TransportDoubles

@testable import LadeExchange
@testable import LadeWire

/// One host floods its connections, and calls to another host are served.
@Suite("Floods", .timeLimit(.minutes(5)))
struct FloodTests {
    private typealias Call = Simulation.Call

    /// What a host sends without an end.
    enum Flood: CaseIterable {
        case interimHeads
        case chunkExtensions
        case trailers
        case codedZeros
        case windowUpdates
        case pings
        case settings
        case priorities
        case emptyData
        case unknownFrames
        case headerReferences

        var isHTTP2: Bool {
            switch self {
            case .interimHeads, .chunkExtensions, .trailers, .codedZeros: false
            default: true
            }
        }

        /// What comes first, and what is repeated after it.
        fileprivate var bytes: (start: [UInt8], piece: [UInt8]) {
            let frames = RawFrame.settings() + RawFrame.head([(":status", "200")])
            switch self {
            case .interimHeads: return ([], Array("HTTP/1.1 103 Hints\r\n\r\n".utf8))
            case .chunkExtensions:
                return (
                    Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;".utf8),
                    Array("a=b;".utf8)
                )
            case .trailers:
                return (
                    Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n".utf8),
                    Array("X: y\r\n".utf8)
                )
            case .codedZeros:
                return (
                    Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".utf8),
                    Array(Coded.deflated(Data(count: 8 << 20)))
                )
            case .windowUpdates: return (frames, RawFrame.bytes(RawFrame.windowUpdate, stream: 1, RawFrame.number(1)))
            case .pings: return (frames, RawFrame.bytes(RawFrame.ping, Array(repeating: 0, count: 8)))
            case .settings: return (frames, RawFrame.settings())
            case .priorities: return (frames, RawFrame.bytes(RawFrame.priority, stream: 1, [0, 0, 0, 0, 1]))
            case .emptyData: return (frames, RawFrame.bytes(RawFrame.data, stream: 1))
            case .unknownFrames: return (frames, RawFrame.bytes(0xFA, stream: 1, [0]))
            case .headerReferences:
                // The status of the static table, 16,000 times, as trailers.
                return (
                    frames,
                    RawFrame.bytes(
                        RawFrame.headers,
                        flags: RawFrame.endHeaders | RawFrame.endStream,
                        stream: 1,
                        Array(repeating: 0x80 | 54, count: 16_000)
                    )
                )
            }
        }
    }

    /// A server that floods as soon as it has received bytes, as fast as they are read.
    private struct FloodPeer: SimulatedPeer {
        let bytes: [UInt8]
        private var hasBegun = false

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        var requests: [SimulatedServer.Seen] { [] }
        var hasEnded: Bool { false }

        mutating func receive(_: [UInt8]) -> [UInt8] {
            defer { hasBegun = true }
            return hasBegun ? [] : bytes
        }
    }

    @Test(
        "wire WR-21 while a host floods, calls to another one take the same turns, and little is done between",
        arguments: Flood.allCases,
        [false, true]
    )
    func floods(flood: Flood, isSecure: Bool) {
        let (start, piece) = flood.bytes
        let bytes = start + Array(repeatElement(piece, count: (1 << 19) / piece.count + 1).joined())
        let scheme = isSecure ? "https" : "http"
        var settings = Simulation.settings
        settings.limits.decompressionRatio = 10_000
        settings.tls.trustsSystemAuthorities = false
        settings.tls.authorities = SimulatedRealm.authorities
        let quiet = Call(target: "/", scheme: scheme, host: "10.0.0.2", content: "ok")
        let answers = ["/": SimulatedServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]
        func run(_ lanes: [[Call]]) -> (simulation: Simulation, most: Int, turns: [Int]) {
            let system = SimulatedSystem { endpoint in
                guard case .address(let address, _) = endpoint, address.text == "10.0.0.1" else {
                    let server = SimulatedServer(answers)
                    return .peer(isSecure ? SimulatedRealm.secure(server) : server)
                }
                let peer = FloodPeer(bytes)
                guard isSecure else { return .peer(peer) }
                return .peer(SimulatedRealm.secure(peer, speaksHTTP2: flood.isHTTP2))
            }
            // Reading a mebibyte takes a millisecond.
            system.costOfByte = 1
            let simulation = Simulation(lanes, settings, on: system)
            var most = 0
            var before = 0
            var turns: [Int] = []
            var last = 0
            simulation.start()
            while !simulation.outcomes.suffix(8).allSatisfy(\.isOver), simulation.turns < 3_000 {
                simulation.turn()
                let all = system.receipts.reduce(0, +)
                most = max(most, all - before)
                before = all
                let over = simulation.outcomes.suffix(8).count(where: \.isOver)
                if over > turns.count {
                    turns.append(simulation.turns - last)
                    last = simulation.turns
                }
            }
            return (simulation, most, turns)
        }
        let alone = run([Array(repeating: quiet, count: 8)])
        let flooded = Call(
            target: "/",
            scheme: scheme,
            knowsHTTP2: flood.isHTTP2 && !isSecure,
            host: "10.0.0.1",
            content: ""
        )
        let beside = run([
            Array(repeating: flooded, count: 10), Array(repeating: flooded, count: 10),
            Array(repeating: quiet, count: 8),
        ])
        #expect(alone.turns.count == 8)
        #expect(beside.turns == alone.turns)
        // Two connections that flood have the shares of two, and the other one has little to say.
        #expect(beside.most <= 512 << 10 + 16 << 10)
        #expect(beside.simulation.outcomes.suffix(8).allSatisfy { $0.isSuccess })
        #expect(beside.simulation.system.servers.count > 1)
        beside.simulation.stop()
        alone.simulation.stop()
    }
}
