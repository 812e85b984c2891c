import LadeCore
import Testing

@testable import LadeWire

/// The opening of a tunnel through an HTTP proxy, without sockets.
@Suite("CONNECT", .timeLimit(.minutes(5)))
struct ConnectTunnelTests {
    private static let target = Tunnel.Target(host: "origin.test", port: 443)

    private static func limits(_ bytes: Int = 2_000) -> TransportSettings.ResponseLimits {
        var limits = TransportSettings.ResponseLimits()
        limits.headBytes = bytes
        return limits
    }

    /// Gives a response in two pieces, cut at a byte.
    ///
    /// - Returns: The first step that is not a wish for more, and the bytes that were not taken.
    private static func step(_ response: String, cut: Int, limit: Int = 2_000) -> (step: Tunnel.Step, rest: [UInt8]) {
        var tunnel = Tunnel.connect(ConnectTunnel(to: target, authorization: nil, limits: limits(limit)))
        let bytes = Array(response.utf8)
        var first = bytes[..<cut]
        let step = tunnel.receive(&first)
        guard step == .more else { return (step, Array(first) + bytes[cut...]) }
        var second = bytes[cut...]
        return (tunnel.receive(&second), Array(second))
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var response: String
        var step: Tunnel.Step
        var testDescription: String { String(response.prefix(40)) }
    }

    private static let rows = [
        Row(response: "HTTP/1.1 200 Connection established\r\n\r\n", step: .open),
        Row(response: "HTTP/1.0 200 OK\r\nVia: x\r\n\r\n", step: .open),
        Row(response: "HTTP/1.1 299 Yes\r\n\r\n", step: .open),
        // The fields about a body mean nothing with a consent (RFC 9110 §9.3.6), whatever they say.
        Row(response: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", step: .open),
        Row(response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\ncontent-length: x\r\n\r\n", step: .open),
        Row(response: "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", step: .open),
        Row(
            response: "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 9\r\n\r\n",
            step: .refused(.credentials)
        ),
        Row(response: "HTTP/1.1 403 Forbidden\r\n\r\n", step: .refused(.status(403))),
        Row(response: "HTTP/1.1 302 Elsewhere\r\nLocation: http://x/\r\n\r\n", step: .refused(.status(302))),
        Row(response: "HTTP/1.1 502 \r\n\r\n", step: .refused(.status(502))),
    ]

    @Test("wire WR-66 a response is the same at any split, and what follows it is left", arguments: rows)
    func table(row: Row) {
        for cut in 0...row.response.utf8.count {
            let (step, rest) = Self.step(row.response + "surplus", cut: cut)
            #expect(step == row.step, "cut at \(cut)")
            #expect(rest == Array("surplus".utf8), "cut at \(cut)")
        }
    }

    @Test(
        "wire WR-66 what is no response is refused, at any split",
        arguments: [
            "SSH-2.0-OpenSSH\r\n", "\u{5}\u{0}", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\n\n",
            "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
            "HTTP/1.1 101 Switching\r\n\r\n",
        ]
    )
    func malformed(response: String) {
        for cut in 0...response.utf8.count {
            guard case .refused(.malformed) = Self.step(response, cut: cut).step else {
                Issue.record("cut at \(cut): \(Self.step(response, cut: cut).step)")
                continue
            }
        }
    }

    @Test("wire WR-66 a first line that is none of HTTP is named as such at any split, however long it is")
    func longAndForeign() {
        let response = String(repeating: "x", count: 90) + "\r\n"
        for cut in 0...response.utf8.count {
            let step = Self.step(response, cut: cut, limit: 50).step
            #expect(step == .refused(.malformed("its response is not HTTP")), "cut at \(cut)")
        }
    }

    @Test("wire WR-66 heads are bounded by headBytes in all, with and without line ends, and a refusal stays one")
    func bounds() {
        let field = "X-Filler: \(String(repeating: "x", count: 90))\r\n"
        let filler = String(repeating: field, count: 30)
        let lengths = String(repeating: "Content-Length: 1\r\n", count: 200)
        let hints = String(repeating: "HTTP/1.1 103 Hints\r\n\(field)\r\n", count: 30)
        for (response, step) in [
            ("HTTP/1.1 200 OK\r\n" + filler, .refused(.tooLarge)), (hints, .refused(.tooLarge)),
            ("HTTP/1.1 200 OK\r\n" + lengths, .refused(.tooLarge)),
            ("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 2_001), .refused(.tooLarge)),
            ("HTTP/1.1 407 No\r\n" + filler, .refused(.credentials)),
            ("HTTP/1.1 500 No\r\n" + filler, .refused(.status(500))),
        ] as [(String, Tunnel.Step)] {
            #expect(Self.step(response, cut: 1).step == step, "\(response.prefix(30))")
        }
    }

    @Test("wire WR-66 at the end of what a head may have, the first byte that is wrong decides, at any split")
    func boundary() {
        let hints = "HTTP/1.1 103 Hints\r\n\r\n"
        let size = hints.utf8.count
        for (next, limit, step) in [
            ("HTTP/1.1 200 OK\r\n\r\n", size + 19, .open), ("HTTP/1.1 200 OK\r\n\r\n", size + 18, .refused(.tooLarge)),
            ("HTTP/\r\n\r\n", size + 4, .refused(.tooLarge)),
            ("HTTP/\r\n\r\n", size + 5, .refused(.malformed("its response is not HTTP"))),
            ("SSH", size, .refused(.malformed("its response is not HTTP"))), ("H", size, .refused(.tooLarge)),
        ] as [(String, Int, Tunnel.Step)] {
            for cut in 0...(size + next.utf8.count) {
                #expect(
                    Self.step(hints + next, cut: cut, limit: limit).step == step,
                    "\(next), \(limit), cut at \(cut)"
                )
            }
        }
    }

    @Test("wire WR-66 the request names the target, and the credentials once")
    func request() {
        let plain = ConnectTunnel(to: Self.target, authorization: nil, limits: Self.limits())
        let address = Tunnel.Target(host: "2001:db8::1", port: 8_443)
        let secret = ConnectTunnel(to: address, authorization: "Basic abc", limits: Self.limits())

        #expect(
            String(decoding: plain.request, as: UTF8.self)
                == "CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n\r\n"
        )
        #expect(
            String(decoding: secret.request, as: UTF8.self)
                == "CONNECT [2001:db8::1]:8443 HTTP/1.1\r\nHost: [2001:db8::1]:8443\r\nProxy-Authorization: Basic abc\r\n\r\n"
        )
    }

    @Test("records the head of the proxy as it was received, its framing fields among it")
    func record() {
        let heads = HeadRecord()
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: y\r\n\r\n"
        var tunnel = Tunnel.connect(ConnectTunnel(to: Self.target, authorization: nil, limits: Self.limits()))
        var bytes = Array(head.utf8)[...]
        #expect(tunnel.receive(&bytes, heads) == .open)
        #expect(heads.heads.map { String(decoding: $0, as: UTF8.self) } == [head])
    }
}
