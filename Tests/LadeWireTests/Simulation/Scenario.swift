import CNghttp2
import Foundation
import LadeCore
import TransportDoubles

@testable import LadeWire

/// A situation of the simulation: servers, and the calls that meet them.
struct Scenario: CustomStringConvertible, Sendable {
    let description: String
    let answers: [String: SimulatedServer.Answer]
    let lanes: [[Simulation.Call]]
    /// The addresses to which connecting fails.
    var refused: Set<String> = []
    /// The proxy of the settings, and what it does; nil without one.
    var proxy: (settings: TransportSettings.ProxyChoice.Proxy, behaviour: SimulatedProxy)?
    /// The names that have addresses.
    var names: [String: SimulatedSystem.Name] = [:]
    /// Makes the server of a connection; nil for one of HTTP/1.1 in clear text with the answers.
    var makePeer: (@Sendable () -> any SimulatedPeer)?

    init(_ description: String, _ answers: [String: SimulatedServer.Answer], _ lanes: [[Simulation.Call]]) {
        self.description = description
        self.answers = answers
        self.lanes = lanes
    }

    func system(
        place: SimulatedSystem.Place? = nil,
        replacement: SimulatedSystem.Replacement? = nil,
        weather: Weather? = nil,
        wakeUpDescriptor: Int32
    ) -> SimulatedSystem {
        let system = SimulatedSystem(
            place: place,
            replacement: replacement,
            random: weather,
            wakeUpDescriptor: wakeUpDescriptor
        ) { endpoint in
            if case .address(let address, _) = endpoint, refused.contains(address.text) { return .refusal(111) }
            if let proxy, case .address(_, SimulatedProxy.port) = endpoint { return .proxy(proxy.behaviour, answers) }
            return makePeer.map { .peer($0()) } ?? .server(answers)
        }
        system.names = names
        return system
    }

    /// The settings of the transport.
    var settings: TransportSettings {
        var settings = Simulation.settings
        if let proxy { settings.proxy = .proxy(proxy.settings) }
        if lanes.contains(where: { $0.contains { $0.scheme == "https" } }) {
            settings.tls.trustsSystemAuthorities = false
            settings.tls.authorities = SimulatedRealm.authorities
        }
        return settings
    }

    /// The same over TLS, where the end of a connection completes a body only after close_notify.
    var secured: Scenario {
        let answers = answers
        let makePeer = makePeer ?? { SimulatedServer(answers) }
        var scenario = Scenario(
            description + ", over TLS",
            answers,
            lanes.map { lane in
                lane.map { call in
                    var call = call
                    call.scheme = "https"
                    call.knowsHTTP2 = false
                    call.endsAnywhere = false
                    return call
                }
            }
        )
        scenario.refused = refused
        scenario.names = names
        scenario.makePeer = { SimulatedRealm.secure(makePeer()) }
        return scenario
    }

    // MARK: - The table

    typealias Call = Simulation.Call
    typealias Answer = SimulatedServer.Answer

    private static let ten = "0123456789"
    private static let length = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + ten
    private static let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6;x=\"y\"\r\n456789\r\n0\r\nX-T: 1\r\n\r\n"
    private static let untilClose = "HTTP/1.1 200 OK\r\n\r\n" + ten
    private static let empty = "HTTP/1.1 204 No Content\r\n\r\n"

    private static func one(_ name: String, _ answer: Answer, _ change: (inout Call) -> Void = { _ in }) -> Scenario {
        var call = Call(target: "/0", content: ten)
        change(&call)
        return Scenario(name, ["/0": answer], [[call]])
    }

    private static func post(_ call: inout Call, _ body: Request.Body) {
        call.method = .post
        call.body = body
        call.upload = "uploaded"
    }

    private static var pipe: Request.Body {
        .writer { write in
            for part in ["up", "load", "ed"] { try await write(Data(part.utf8)) }
        }
    }

    /// Calls through a proxy, with credentials for it and secrets for the origins.
    private static func proxied(
        _ name: String,
        _ kind: TransportSettings.ProxyChoice.Proxy.Kind,
        _ behaviour: SimulatedProxy,
        tunnels: Bool = false,
        exceptions: [String] = [],
        _ lanes: [[Call]]
    ) -> Scenario {
        var lanes = lanes
        for lane in lanes.indices {
            for call in lanes[lane].indices {
                lanes[lane][call].headers = ["Authorization": "Bearer \(Simulation.originSecret)"]
            }
        }
        let answers = ["/0": Answer(length), "/1": Answer(chunked)]
        var scenario = Scenario(name, answers, lanes)
        var settings = TransportSettings.ProxyChoice.Proxy(
            kind,
            host: "10.0.0.9",
            port: Int(SimulatedProxy.port),
            exceptions: exceptions
        )
        settings.credentials = SimulatedProxy.credentials
        settings.tunnels = tunnels
        scenario.proxy = (settings, behaviour)
        return scenario
    }

    private static func get(
        _ host: String = "10.0.0.1",
        _ target: String = "/0",
        fails error: LoadingError.Kind? = nil
    ) -> Call {
        Call(target: target, host: host, content: error == nil ? ten : "", error: error)
    }

    private static var posted: Call {
        Call(target: "/1", method: .post, body: .text("uploaded"), content: ten, upload: "uploaded")
    }

    private static let proxyName = "10.0.0.9:\(SimulatedProxy.port)"
    private static let challenge =
        "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 4\r\n\r\nnope"

    static let proxies: [Scenario] = [
        proxied("the absolute form", .http, SimulatedProxy(.forward), [[get(), posted]]),
        proxied(
            "the absolute form, and an exception",
            .http,
            SimulatedProxy(.forward),
            exceptions: ["10.0.0.2"],
            [[get()], [get("10.0.0.2", "/1")]]
        ),
        proxied(
            "a tunnel by CONNECT",
            .http,
            SimulatedProxy(.connect("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nVia: x\r\n\r\n")),
            tunnels: true,
            [[get(), posted]]
        ),
        proxied(
            "a tunnel by CONNECT that is refused",
            .http,
            SimulatedProxy(.connect("HTTP/1.1 403 No\r\nContent-Length: 4\r\n\r\nnope")),
            tunnels: true,
            [[get(fails: .proxy(.refused(proxy: proxyName, status: 403)))]]
        ),
        proxied(
            "a tunnel by CONNECT with a challenge",
            .http,
            SimulatedProxy(.connect(challenge)),
            tunnels: true,
            [[get(fails: .proxy(.authenticationRequired(proxy: proxyName)))]]
        ),
        proxied(
            "a tunnel by SOCKS 5 with credentials",
            .socks5,
            SimulatedProxy(.socks5(), asksForCredentials: true),
            [[get("origin.test"), posted]]
        ),
        proxied(
            "a tunnel by SOCKS 5 that is refused",
            .socks5,
            SimulatedProxy(.socks5(5)),
            [[get(fails: .cannotConnect(host: "10.0.0.1", reason: .refused))]]
        ),
        proxied(
            "tunnels by SOCKS 5 to two hosts",
            .socks5,
            SimulatedProxy(.socks5()),
            [[get()], [get("10.0.0.2", "/1")]]
        ),
    ]

    /// Over HTTP/1.1, HTTP/2 and TLS, and through proxies.
    static let all = clear + named + streams + clear.map(\.secured) + streams.map(\.secured) + proxies

    private static let clear: [Scenario] = [
        one("a body of known length", Answer(length)),
        one("a body in chunks with an extension and a trailer", Answer(chunked)),
        one("a body until the connection ends", Answer(untilClose, closes: true)) { $0.endsAnywhere = true },
        one("HEAD with a length", Answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")) {
            $0.method = .head
            $0.content = ""
        },
        one("204", Answer(empty)) { ($0.status, $0.content) = (204, "") },
        one("304 with a length", Answer("HTTP/1.1 304 \r\nContent-Length: 10\r\n\r\n")) {
            ($0.status, $0.content) = (304, "")
        },
        one("a length of zero", Answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) { $0.content = "" },
        one(
            "interim heads",
            Answer(onHead: "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n", onWhole: "HTTP/1.1 102 \r\n\r\n" + length)
        ),
        one(
            "a response with close",
            Answer("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\n" + ten, closes: true)
        ),
        one("HTTP/1.0 with a length", Answer("HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\n" + ten, closes: true)),
        one("surplus after the response", Answer(length + "more")),
        one("an upload of bytes", Answer(length)) { post(&$0, .text("uploaded")) },
        one("an upload of a stream", Answer(length)) { post(&$0, pipe) },
        one("an upload with trailers", Answer(length)) {
            var body = pipe
            body.trailers = { ["X-Sum": "1"] }
            post(&$0, body)
        },
        one("an upload that waits for 100", Answer(onHead: "HTTP/1.1 100 Continue\r\n\r\n", onWhole: length)) {
            post(&$0, .text("uploaded"))
            $0.headers = ["Expect": "100-continue"]
        },
        one("an upload whose 100 never comes", Answer(length)) {
            post(&$0, .text("uploaded"))
            $0.headers = ["Expect": "100-continue"]
        },
        one("an upload that is refused at its head", Answer(onHead: "HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno")) {
            post(&$0, .text("uploaded"))
            $0.headers = ["Expect": "100-continue"]
            ($0.status, $0.content, $0.upload) = (413, "no", nil)
        },
        one("an upload of a stream that is refused", Answer(onHead: "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")) {
            post(&$0, pipe)
            ($0.status, $0.content, $0.upload) = (403, "no", nil)
        },
        one(
            "a response that begins before the upload ends",
            Answer(onHead: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123", onWhole: "456789")
        ) {
            post(&$0, pipe)
        },
        one(
            "an early response with a slow reader, before the upload ends",
            Answer(onHead: "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n" + sixty)
        ) {
            post(&$0, pipe)
            ($0.content, $0.reader, $0.upload) = (sixty, .slow, nil)
        },
        one("an early coded response with a slow reader, before the upload ends", earlyCoded) {
            post(&$0, pipe)
            ($0.content, $0.reader, $0.upload) = (text, .slow, nil)
        },
        one("a stream with a fast reader", Answer(length)) { $0.reader = .eager },
        one(
            "a stream with a slow reader",
            Answer("HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n" + String(repeating: ten, count: 6))
        ) {
            $0.reader = .slow
            $0.content = String(repeating: ten, count: 6)
        },
        one("a stream in chunks with a slow reader", Answer(chunked)) { $0.reader = .slow },
        one("a stream until the end with a slow reader", Answer(untilClose, closes: true)) {
            $0.reader = .slow
            $0.endsAnywhere = true
        },
        Scenario(
            "two calls on one connection",
            ["/0": Answer(length), "/1": Answer(chunked)],
            [[Call(target: "/0", content: ten), Call(target: "/1", content: ten)]]
        ),
        Scenario(
            "a POST after a GET on one connection",
            ["/0": Answer(length), "/1": Answer(length)],
            [
                [
                    Call(target: "/0", content: ten),
                    Call(target: "/1", method: .post, body: .text("uploaded"), content: ten, upload: "uploaded"),
                ]
            ]
        ),
        Scenario(
            "a stream after a HEAD on one connection",
            ["/0": Answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), "/1": Answer(length)],
            [[Call(target: "/0", method: .head), Call(target: "/1", reader: .slow, content: ten)]]
        ),
        Scenario(
            "two hosts",
            ["/0": Answer(length), "/1": Answer(length)],
            [
                [Call(target: "/0", headers: ["Authorization": "Basic secret"], content: ten)],
                [Call(target: "/1", host: "10.0.0.2", content: ten)],
            ]
        ),
        Scenario(
            "four calls to a host that may have two connections",
            ["/0": Answer(length), "/1": Answer(length), "/2": Answer(length), "/3": Answer(empty)],
            [
                [Call(target: "/0", content: ten)], [Call(target: "/1", content: ten)],
                [Call(target: "/2", content: ten)], [Call(target: "/3", status: 204)],
            ]
        ),
        {
            var scenario = Scenario(
                "a race whose first address refuses",
                ["/0": Answer(length)],
                [[Call(target: "/0", host: "localhost", content: ten)]]
            )
            scenario.refused = ["::1"]
            return scenario
        }(),
    ]

    // MARK: - Names

    private static func named(_ name: String, _ names: [String: SimulatedSystem.Name], _ calls: [Call]) -> Scenario {
        var scenario = Scenario(name, ["/0": Answer(length), "/1": Answer(length)], calls.map { [$0] })
        scenario.names = names
        return scenario
    }

    private static let one = SimulatedSystem.Name(addresses: ["10.0.0.1"], delay: 500_000_000)

    private static let named: [Scenario] = [
        named("a name", ["a.test": one], [Call(target: "/0", host: "a.test", content: ten)]),
        named(
            "two calls to one name",
            ["a.test": one],
            [Call(target: "/0", host: "a.test", content: ten), Call(target: "/1", host: "a.test", content: ten)]
        ),
        {
            var scenario = named(
                "a name whose first two addresses refuse, and another name",
                [
                    "a.test": SimulatedSystem.Name(addresses: ["10.0.0.9", "fd00::9", "10.0.0.1"], delay: 2_000_000),
                    "b.test": SimulatedSystem.Name(addresses: ["10.0.0.2"], delay: 0),
                ],
                [Call(target: "/0", host: "a.test", content: ten), Call(target: "/1", host: "b.test", content: ten)]
            )
            scenario.refused = ["10.0.0.9", "fd00::9"]
            return scenario
        }(),
        named(
            "a name that does not exist",
            ["a.test": one],
            [
                Call(target: "/0", host: "a.test", content: ten),
                Call(target: "/1", host: "b.test", error: .nameNotResolved(host: "b.test")),
            ]
        ),
        named(
            "a name whose look-up hangs",
            ["a.test": one, "b.test": SimulatedSystem.Name(addresses: [], delay: nil)],
            [
                Call(target: "/0", host: "a.test", content: ten),
                Call(target: "/1", host: "b.test", error: .timedOut(.nameLookup)),
            ]
        ),
    ]

    // MARK: - HTTP/2

    private typealias Streamed = HTTP2Peer.Answer

    private static func multiplexed(
        _ name: String,
        _ answers: [String: Streamed],
        _ lanes: [[Call]],
        streams: UInt32 = 100
    ) -> Scenario {
        var scenario = Scenario(
            name + ", over HTTP/2",
            [:],
            lanes.map { lane in
                lane.map { call in
                    var call = call
                    call.knowsHTTP2 = true
                    return call
                }
            }
        )
        scenario.makePeer = { HTTP2Peer(answers, settings: [(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams)]) }
        return scenario
    }

    private static func stream(_ name: String, _ answer: Streamed, _ change: (inout Call) -> Void = { _ in })
        -> Scenario
    {
        var call = Call(target: "/0", content: ten)
        change(&call)
        return multiplexed(name, ["/0": answer], [[call]])
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static let plain = Streamed(body: bytes(ten))
    private static let sixty = String(repeating: ten, count: 6)
    private static let text = String(repeating: "0123456789abcdef", count: 40)

    private static var earlyCoded: Answer {
        let body = Array(Coded.deflated(Data(text.utf8)))
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n"
        var answer = Answer(onHead: head)
        answer.pieces[0].bytes += body
        return answer
    }

    private static func coded(_ text: String) -> Streamed {
        Streamed(fields: [("content-encoding", "gzip")], body: Array(Coded.deflated(Data(text.utf8))))
    }

    private static let streams: [Scenario] = [
        stream("a body", plain),
        stream("a body of known length", Streamed(fields: [("content-length", "10")], body: bytes(ten))),
        stream("204", Streamed(status: 204)) { ($0.status, $0.content) = (204, "") },
        stream("HEAD", Streamed(fields: [("content-length", "10")])) { ($0.method, $0.content) = (.head, "") },
        stream("an interim head and trailers", Streamed(interim: 103, body: bytes(ten), trailers: [("x-sum", "1")])),
        stream("an upload of bytes", plain) { post(&$0, .text("uploaded")) },
        stream("an upload of a stream", plain) { post(&$0, pipe) },
        stream("an upload with trailers", plain) {
            var body = pipe
            body.trailers = { ["X-Sum": "1"] }
            post(&$0, body)
        },
        stream("an upload that waits for 100", Streamed(interim: 100, body: bytes(ten))) {
            post(&$0, .text("uploaded"))
            $0.headers = ["Expect": "100-continue"]
        },
        stream("an upload of a stream that is refused", Streamed(isEarly: true, status: 403, body: bytes("no"))) {
            post(&$0, pipe)
            ($0.status, $0.content, $0.upload) = (403, "no", nil)
        },
        stream(
            "a response after which the rest of the upload is not wanted",
            Streamed(isEarly: true, body: bytes(ten), resetAfter: NGHTTP2_NO_ERROR)
        ) {
            post(&$0, pipe)
            $0.upload = nil
        },
        stream(
            "a body that is reset before its end",
            Streamed(body: bytes(ten), isEndless: true, resetAfter: NGHTTP2_NO_ERROR)
        ) { $0.error = .connectionLost(.body(received: 10), isSafeToRepeat: false) },
        stream(
            "a body whose stream is excluded before its end",
            Streamed(body: bytes(ten), isEndless: true, excludes: true)
        ) {
            post(&$0, .text("uploaded"))
            ($0.reader, $0.upload) = (.eager, nil)
            $0.error = .connectionLost(.body(received: 10), isSafeToRepeat: false)
        },
        stream("a refused stream", Streamed(reset: NGHTTP2_REFUSED_STREAM)) {
            $0.error = .connectionLost(.nothing, isSafeToRepeat: true)
        },
        stream("a coded body", coded(text)) { $0.content = text },
        stream("a coded stream with a slow reader", coded(text)) { ($0.content, $0.reader) = (text, .slow) },
        multiplexed(
            "slow readers beside a fast one",
            ["/0": Streamed(body: bytes(sixty)), "/1": coded(text), "/2": plain],
            [
                [Call(target: "/0", reader: .slow, content: sixty)], [Call(target: "/1", reader: .slow, content: text)],
                [Call(target: "/2", content: ten)],
            ]
        ),
        multiplexed(
            "two calls after each other and two beside them",
            ["/0": plain, "/1": plain, "/2": plain, "/3": Streamed(status: 204)],
            [
                [Call(target: "/0", content: ten), Call(target: "/1", content: ten)],
                [Call(target: "/2", content: ten)], [Call(target: "/3", status: 204)],
            ]
        ),
        // More than it allows are not sent before its settings, for a server may refuse those.
        multiplexed(
            "four calls to a server that allows two streams",
            ["/0": plain, "/1": plain, "/2": plain, "/3": plain],
            (0..<4).map { [Call(target: "/\($0)", content: ten)] },
            streams: 2
        ),
        multiplexed(
            "a server that leaves after a response",
            ["/0": Streamed(body: bytes(ten), leaves: true), "/1": plain],
            [[Call(target: "/0", content: ten), Call(target: "/1", content: ten)]]
        ),
    ]
}
