import LadeCore
import Testing

@testable import LadeWire

/// The dialogue with a SOCKS 5 proxy, without sockets.
@Suite("SOCKS 5", .timeLimit(.minutes(5)))
struct SOCKS5Tests {
    private static let name = Tunnel.Target(host: "a.test", port: 0x0102)
    private static let connectName: [UInt8] = [5, 1, 0, 3, 6] + Array("a.test".utf8) + [1, 2]
    private static let credentials = TransportSettings.ProxyChoice.Proxy.Credentials(user: "me", password: "pw!")
    private static let offer: [UInt8] = [1, 2, 0x6D, 0x65, 3, 0x70, 0x77, 0x21]

    /// Gives a proxy's bytes in two pieces, cut at a byte.
    ///
    /// - Returns: The steps that are not a wish for more, and the bytes that were not taken.
    private static func steps(
        _ bytes: [UInt8],
        cut: Int,
        _ target: Tunnel.Target = name,
        _ credentials: TransportSettings.ProxyChoice.Proxy.Credentials? = nil
    ) -> (steps: [Tunnel.Step], rest: [UInt8]) {
        var tunnel = Tunnel.socks5(SOCKS5(to: target, credentials: credentials))
        var steps: [Tunnel.Step] = []
        var rest = bytes[..<cut]
        for piece in [[], bytes[cut...]] {
            rest += piece
            loop: while true {
                let step = tunnel.receive(&rest)
                if step != .more { steps.append(step) }
                switch step {
                case .more: break loop
                case .send: continue
                case .open, .refused: return (steps, Array(rest) + (piece.isEmpty ? bytes[cut...] : []))
                }
            }
        }
        return (steps, Array(rest))
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var bytes: [UInt8]
        var credentials: TransportSettings.ProxyChoice.Proxy.Credentials?
        var steps: [Tunnel.Step]
    }

    private static let address: [UInt8] = [1, 10, 0, 0, 9, 4, 0]
    private static let rows: [Row] = [
        Row(testDescription: "IPv4", bytes: [5, 0, 5, 0, 0] + address, steps: [.send(connectName), .open]),
        Row(
            testDescription: "IPv6",
            bytes: [5, 0, 5, 0, 0, 4] + Array(repeating: 7, count: 18),
            steps: [.send(connectName), .open]
        ),
        Row(
            testDescription: "a name",
            bytes: [5, 0, 5, 0, 0, 3, 2, 65, 66, 1, 2],
            steps: [.send(connectName), .open]
        ),
        Row(
            testDescription: "credentials",
            bytes: [5, 2, 1, 0, 5, 0, 0] + address,
            credentials: credentials,
            steps: [.send(offer), .send(connectName), .open]
        ),
        Row(
            testDescription: "credentials that are not needed",
            bytes: [5, 0, 5, 0, 0] + address,
            credentials: credentials,
            steps: [.send(connectName), .open]
        ),
        Row(
            testDescription: "wrong credentials",
            bytes: [5, 2, 1, 1],
            credentials: credentials,
            steps: [.send(offer), .refused(.credentials)]
        ),
        Row(testDescription: "no acceptable method", bytes: [5, 0xFF], steps: [.refused(.credentials)]),
    ]

    @Test("wire WR-67 a dialogue is the same at any split, and what follows it is left", arguments: rows)
    func table(row: Row) {
        let isOpen = row.steps.last == .open
        for cut in 0...row.bytes.count {
            let surplus: [UInt8] = isOpen ? [9, 9] : []
            let (steps, rest) = Self.steps(row.bytes + surplus, cut: cut, Self.name, row.credentials)
            #expect(steps == row.steps, "cut at \(cut)")
            #expect(rest == surplus, "cut at \(cut)")
        }
    }

    @Test("wire WR-67 each reply but success is refused with its code, as soon as that has arrived", arguments: 1...255)
    func replies(code: UInt8) {
        #expect(Self.steps([5, 0, 5, code], cut: 3).steps == [.send(Self.connectName), .refused(.reply(code))])
    }

    @Test(
        "wire WR-67 the replies that are about the host have its errors, the others are a refusal",
        arguments: [
            (1, nil), (2, nil), (3, .unreachable), (4, .unreachable), (5, .refused), (6, nil), (7, nil), (8, nil),
            (9, nil), (255, nil),
        ] as [(UInt8, LoadingError.ConnectCause?)]
    )
    func kinds(code: UInt8, cause: LoadingError.ConnectCause?) {
        let kind = WireFault.tunnel(.reply(code), proxy: "p:1", host: "h").kind
        #expect(
            kind == cause.map { .cannotConnect(host: "h", reason: $0) } ?? .proxy(.refused(proxy: "p:1", status: nil))
        )
    }

    @Test(
        "wire WR-67 what is no SOCKS 5 is refused with the first byte that shows it",
        arguments: [
            [4], [0x48], [5, 1], [5, 2], [5, 0, 4], [5, 0, 5, 0, 0, 2, 0],
        ] as [[UInt8]]
    )
    func malformed(bytes: [UInt8]) {
        for cut in 0...bytes.count {
            guard case .refused(.malformed)? = Self.steps(bytes, cut: cut).steps.last else {
                Issue.record("\(bytes) cut at \(cut): \(Self.steps(bytes, cut: cut).steps)")
                continue
            }
            #expect(
                Self.steps(Array(bytes.dropLast()), cut: 0).steps.allSatisfy {
                    if case .send = $0 { true } else { false }
                }
            )
        }
    }

    @Test("wire WR-67 no credentials are offered when there are none, and addresses are sent as such")
    func greeting() {
        #expect(SOCKS5(to: Self.name, credentials: nil).greeting == [5, 1, 0])
        #expect(SOCKS5(to: Self.name, credentials: Self.credentials).greeting == [5, 2, 0, 2])
        var target = Tunnel.Target(host: "10.0.0.1", port: 80)
        if case .address(let address) = SocketAddress.parse("10.0.0.1") { target.address = address }
        #expect(Self.steps([5, 0], cut: 0, target).steps == [.send([5, 1, 0, 1, 10, 0, 0, 1, 0, 80])])
        target = Tunnel.Target(host: "::1", port: 80)
        if case .address(let address) = SocketAddress.parse("::1") { target.address = address }
        let zeros = [UInt8](repeating: 0, count: 15)
        #expect(Self.steps([5, 0], cut: 0, target).steps == [.send([5, 1, 0, 4] + zeros + [1, 0, 80])])
    }

    @Test("wire WR-67 a name of 255 bytes is sent whole")
    func longName() {
        let name = String(repeating: "x", count: 255)
        let steps = Self.steps([5, 0], cut: 0, Tunnel.Target(host: name, port: 1)).steps
        #expect(steps == [.send([5, 1, 0, 3, 255] + Array(name.utf8) + [0, 1])])
    }
}
