import CProcess
import Foundation
import LadeCore
import LadeTesting
import Testing

@testable import LadeExchange
@testable import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Exchanges through proxies, with the whole transport over simulated sockets.
@Suite("Exchanges through proxies", .serialized, .timeLimit(.minutes(5)))
struct ProxyLoopTests {
    private typealias Call = Simulation.Call
    private static let answers = [
        "/": ok, "/?b": ok, "/2": ok, "/3": ok, "/4": ok, "/5": ok,
        "/407": SimulatedServer.Answer("HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nok"),
    ]
    private static let ok = SimulatedServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    private static let consent = "HTTP/1.1 200 OK\r\n\r\n"

    private func proxy(_ kind: TransportSettings.ProxyChoice.Proxy.Kind = .http, host: String = "10.0.0.9")
        -> TransportSettings.ProxyChoice.Proxy
    {
        TransportSettings.ProxyChoice.Proxy(
            kind,
            host: host,
            port: Int(SimulatedProxy.port),
            credentials: SimulatedProxy.credentials
        )
    }

    private func simulation(
        _ lanes: [[Call]],
        _ proxy: TransportSettings.ProxyChoice.Proxy,
        place: SimulatedSystem.Place? = nil,
        _ behaviour: SimulatedProxy
    ) -> Simulation {
        var settings = Simulation.settings
        settings.proxy = .proxy(proxy)
        return simulation(lanes, settings, place: place) { endpoint in
            if case .address(_, SimulatedProxy.port) = endpoint { return .proxy(behaviour, Self.answers) }
            return .server(Self.answers)
        }
    }

    private func simulation(
        _ lanes: [[Call]],
        _ settings: TransportSettings,
        place: SimulatedSystem.Place? = nil,
        welcome: @escaping (Endpoint) -> SimulatedSystem.Welcome
    ) -> Simulation {
        let system = SimulatedSystem(place: place, wakeUpDescriptor: lade_event_descriptor(), welcome: welcome)
        let simulation = Simulation(lanes, settings, on: system)
        simulation.recordsEvents = true
        return simulation
    }

    private func call(_ host: String = "10.0.0.1", _ target: String = "/") -> Call {
        Call(target: target, host: host, content: "ok")
    }

    private func seenByProxy(_ simulation: Simulation, _ connection: Int = 0) -> String {
        String(decoding: simulation.system.servers[connection].proxy?.seen ?? [], as: UTF8.self)
    }

    private func check(_ simulation: Simulation) {
        simulation.checkOutcomes()
        #expect(simulation.findings.isEmpty)
    }

    // MARK: - HTTP proxies

    @Test(
        "wire WR-43 the absolute form goes to an HTTP proxy without a tunnel, with its credentials, and not elsewhere"
    )
    func absoluteForm() {
        var call = call("origin.test:8080", "/?b")
        call.headers = ["Host": "other.test", "X-A": "1", "Proxy-Authorization": "Basic other"]
        call.target = "/?b#c"
        let simulation = simulation([[call]], proxy(), SimulatedProxy(.forward))
        simulation.run()
        let lines = simulation.system.requests.first?.head.components(separatedBy: "\r\n") ?? []
        #expect(lines.first == "GET http://origin.test:8080/?b HTTP/1.1")
        #expect(lines.dropFirst().first == "Host: other.test")
        #expect(lines.filter { $0.hasPrefix("Proxy-Auth") } == ["Proxy-Authorization: Basic \(SimulatedProxy.basic)"])
        #expect(simulation.system.endpoints.count == 1)

        let tunnelled = self.simulation(
            [[self.call("origin.test:80")]],
            {
                var proxy = proxy()
                proxy.tunnels = true
                return proxy
            }(),
            SimulatedProxy(.connect(Self.consent))
        )
        tunnelled.run()
        #expect(tunnelled.outcomes[0].isSuccess)
        #expect(tunnelled.system.requests.first?.head.hasPrefix("GET / HTTP/1.1\r\nHost: origin.test\r\n") == true)
        #expect(seenByProxy(tunnelled).hasPrefix("CONNECT origin.test:80 HTTP/1.1\r\nHost: origin.test:80\r\n"))
        #expect(seenByProxy(tunnelled).contains("Proxy-Authorization: Basic \(SimulatedProxy.basic)\r\n"))
        check(tunnelled)
    }

    @Test(
        "a request with a destination, or for HTTP/2 in clear text, needs a tunnel, because the absolute form has neither"
    )
    func destination() {
        var call = call("origin.test")
        call.destination = .host("[2001:db8::7]", port: 8_080)
        let simulation = simulation([[call]], proxy(), SimulatedProxy(.connect(Self.consent)))
        simulation.run()
        #expect(simulation.outcomes[0].isSuccess)
        #expect(seenByProxy(simulation).hasPrefix("CONNECT [2001:db8::7]:8080 HTTP/1.1\r\n"))
        #expect(simulation.system.requests.first?.head.contains("Host: origin.test\r\n") == true)
        check(simulation)
    }

    @Test("wire WR-66 a proxy's 407 to the absolute form is its own error, one through a tunnel is a response")
    func challenge() {
        let forwarded = simulation([[call("10.0.0.1", "/407")]], proxy(), SimulatedProxy(.forward))
        forwarded.run()
        #expect(forwarded.outcomes[0].error == .proxy(.authenticationRequired(proxy: "10.0.0.9:3128")))
        check(forwarded)

        let tunnelled = simulation([[call("10.0.0.1", "/407")]], proxy(.socks5), SimulatedProxy(.socks5()))
        tunnelled.run()
        #expect(tunnelled.outcomes[0].status == 407)
    }

    @Test("wire WR-66 a proxy that sends no end of its head is refused at the limit, and its error has no secret")
    func flood() {
        let flood =
            "HTTP/1.1 200 OK\r\n" + String(repeating: "X: \(String(repeating: "x", count: 990))\r\n", count: 300)
        var settings = proxy()
        settings.tunnels = true
        let simulation = simulation([[call()]], settings, SimulatedProxy(.connect(flood)))
        simulation.run()
        #expect(simulation.outcomes[0].error == .proxy(.refused(proxy: "10.0.0.9:3128", status: nil)))
        #expect(simulation.system.receipts.reduce(0, +) <= (256 << 10) + (16 << 10))
        check(simulation)
    }

    @Test("wire WR-64 what follows the consent is bytes before the request, which end the connection")
    func surplus() {
        var settings = proxy()
        settings.tunnels = true
        let simulation = simulation(
            [[call()]],
            settings,
            SimulatedProxy(.connect(Self.consent + "HTTP/1.1 200 OK\r\n\r\n"))
        )
        simulation.run()
        guard case .malformedResponse(let fault)? = simulation.outcomes[0].error else {
            Issue.record("\(String(describing: simulation.outcomes[0].error))")
            return
        }
        #expect(fault.rule == .beforeRequest)
        #expect(simulation.system.requests.isEmpty)
        check(simulation)
    }

    // MARK: - Connections

    @Test("wire WR-68 an excepted host is connected to directly, and connections of several hosts are not shared")
    func keys() {
        var settings = proxy(.socks5)
        settings.exceptions = ["10.0.0.2"]
        let lanes = [
            [call(), call("10.0.0.2", "/2"), call("10.0.0.3", "/3"), call("10.0.0.1", "/4"), call("10.0.0.2", "/5")]
        ]
        let simulation = simulation(lanes, settings, SimulatedProxy(.socks5(), asksForCredentials: true))
        simulation.run()
        #expect(simulation.haveAllSucceeded)
        #expect(simulation.system.servers.map { $0.proxy != nil } == [true, false, true])
        #expect(simulation.system.servers.map(\.requests.count) == [2, 2, 1])
        check(simulation)
    }

    @Test("wire WR-18 no proxy applies to a Unix socket")
    func unix() {
        var call = call()
        call.destination = .unixSocket(path: "/tmp/s")
        let simulation = simulation([[call]], proxy(), SimulatedProxy(.forward))
        simulation.run()
        #expect(simulation.outcomes[0].isSuccess)
        #expect(simulation.system.endpoints == [.unix(path: "/tmp/s")])
        #expect(simulation.system.requests.first?.head.hasPrefix("GET / HTTP/1.1\r\n") == true)
        check(simulation)
    }

    @Test("wire WR-17 a zone is in nothing that is sent to a proxy")
    func zone() {
        for (kind, behaviour) in [
            (TransportSettings.ProxyChoice.Proxy.Kind.http, SimulatedProxy(.forward)),
            (.socks5, SimulatedProxy(.socks5())),
        ] {
            let simulation = simulation([[call("[fe80::1%25lo]")]], proxy(kind), behaviour)
            simulation.run()
            #expect(simulation.outcomes[0].isSuccess)
            #expect(simulation.system.requests.first?.head.contains("%") == false)
            check(simulation)
        }
    }

    @Test(
        "a proxy that cannot be connected to is named, and a lack of descriptors is not its fault",
        arguments: [ECONNREFUSED, EHOSTUNREACH, EMFILE]
    )
    func unreachable(code: Int32) {
        var settings = Simulation.settings
        settings.proxy = .proxy(proxy())
        let simulation = simulation([[call()]], settings) { _ in .refusal(code) }
        simulation.run()
        #expect(
            simulation.outcomes[0].error
                == (code == EMFILE
                    ? .cannotConnect(host: "10.0.0.1", reason: .other(errno: EMFILE))
                    : .proxy(.cannotConnect(proxy: "10.0.0.9:3128")))
        )
        check(simulation)
    }

    @Test("a proxy of a zone that this machine does not have cannot be connected to")
    func zoneOfProxy() {
        let simulation = simulation([[call()]], proxy(host: "[fe80::1%25nowhere]"), SimulatedProxy(.forward))
        simulation.run()
        guard case .proxy(.cannotConnect)? = simulation.outcomes[0].error else {
            Issue.record("\(String(describing: simulation.outcomes[0].error))")
            return
        }
    }

    @Test("the connect limit includes the tunnel, and a cancellation in it closes the connection")
    func patience() {
        let place = SimulatedSystem.Place(connection: 0, direction: .inward, offset: 3, fault: .stall)
        let slow = simulation([[call()]], proxy(.socks5), place: place, SimulatedProxy(.socks5()))
        slow.run()
        #expect(slow.outcomes[0].error == .timedOut(.connect))
        check(slow)

        let cancelled = simulation([[call()]], proxy(.socks5), place: place, SimulatedProxy(.socks5()))
        cancelled.system.leaps = false
        cancelled.start()
        cancelled.turn { cancelled.system.delivered.first == 3 }
        cancelled.cancel(lane: 0)
        cancelled.turn { cancelled.outcomes[0].isOver }
        #expect(cancelled.outcomes[0].error == .cancelled)
        cancelled.turn()
        #expect(cancelled.system.openSockets == 0)
        cancelled.stop()
        check(cancelled)
    }

    // MARK: - The environment

    private func simulation(_ call: Call, environment: [String: String]) throws -> Simulation {
        var settings = Simulation.settings
        settings.proxy = .environment
        settings.addressFamily = .v4
        let system = SimulatedSystem(wakeUpDescriptor: lade_event_descriptor()) { endpoint in
            if case .address(_, SimulatedProxy.port) = endpoint {
                .proxy(SimulatedProxy(.socks5()), Self.answers)
            } else {
                .server(Self.answers)
            }
        }
        let proxies = try ProxyRules(settings, environment: environment)
        return Simulation([[call]], settings, proxies: proxies, on: system)
    }

    @Test(
        "wire WR-65 names are looked up by a socks5h proxy, and by this machine for a socks5 one",
        arguments: [true, false]
    )
    func names(resolvesNames: Bool) throws {
        var call = call("known.test")
        // `localhost` needs no look-up on this machine; the exceptions are about the address of the request.
        call.destination = .host("localhost", port: 80)
        let scheme = resolvesNames ? "socks5h" : "socks5"
        let simulation = try simulation(call, environment: ["all_proxy": "\(scheme)://10.0.0.9:\(SimulatedProxy.port)"])
        simulation.run()
        #expect(simulation.outcomes[0].isSuccess)
        let seen = simulation.system.servers[0].proxy?.seen ?? []
        let target: [UInt8] = resolvesNames ? [3, 9] + Array("localhost".utf8) : [1, 127, 0, 0, 1]
        #expect(seen.dropFirst(3).elementsEqual([5, 1, 0] + target + [0, 80]))
        check(simulation)
    }

    @Test("wire WR-65 a variable with another scheme fails the call with its name, before anything is sent")
    func scheme() throws {
        let simulation = try simulation(call(), environment: ["http_proxy": "gopher://me:proxy-secret@10.0.0.9"])
        simulation.run()
        guard case .invalidSetting(let name, let reason)? = simulation.outcomes[0].error else {
            Issue.record("\(String(describing: simulation.outcomes[0].error))")
            return
        }
        #expect(name == "http_proxy")
        #expect(reason.contains("gopher"))
        #expect(simulation.system.endpoints.isEmpty)
        check(simulation)
    }

    @Test(
        "wire WR-65 the variables and exceptions are those of the grammar for all transports",
        arguments: [
            (["http_proxy": "socks5h://10.0.0.9:3128"], true), (["HTTP_PROXY": "socks5h://10.0.0.9:3128"], false),
            (["https_proxy": "socks5h://10.0.0.9:3128"], false), (["ALL_PROXY": "socks5h://10.0.0.9:3128"], true),
            (["http_proxy": "socks5h://10.0.0.9:3128", "no_proxy": "10.0.0.0/24"], false),
            (["http_proxy": "socks5h://10.0.0.9:3128", "no_proxy": "10.0.0.1:81"], true),
            (["http_proxy": "socks5h://10.0.0.9:3128", "NO_PROXY": "*"], false),
        ] as [([String: String], Bool)]
    )
    func variables(environment: [String: String], isProxied: Bool) throws {
        let simulation = try simulation(call(), environment: environment)
        simulation.run()
        #expect(simulation.outcomes[0].isSuccess)
        #expect((simulation.system.servers[0].proxy != nil) == isProxied)
        check(simulation)
    }
}
