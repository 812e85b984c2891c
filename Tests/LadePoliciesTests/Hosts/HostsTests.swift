import Foundation
import Lade
import LadeCallbacks
import LadeTesting
import Testing

@testable import LadeCore
@testable import LadePolicies

private let refused = ScriptedResponse.fails(LoadingError(.cannotConnect(host: "", reason: .refused)))

@Suite(.timeLimit(.minutes(5)))
struct HostDirectoryTests {
    private let now = Instant(nanoseconds: 0)

    @Test("service RE-01 a directory can be made")
    func makes() {
        #expect(HostDirectory().addresses(for: "a.test").isEmpty)
    }

    @Test("service RE-02 without a list the host is its own address")
    func withoutList() {
        #expect(HostDirectory().address(for: "A.test", at: now) == "a.test")
    }

    @Test("service RE-03 with a list its first address is used")
    func withList() {
        let directory = HostDirectory(["svc.test": ["192.168.0.1", "192.168.0.2"]])

        #expect(directory.address(for: "SVC.test", at: now) == "192.168.0.1")
    }

    @Test(
        "brackets belong to a host in pairs alone",
        arguments: [("[::1]", "::1"), ("[::1", "[::1"), ("::1]", "::1]"), ("A]", "a]"), ("[]", "")]
    )
    func brackets(written: String, host: String) {
        #expect(HostDirectory.Address(written).host == host)
    }

    @Test("hosts are compared in their normal form", arguments: ["API.Test.", "api.test", "ap%69.test"])
    func normalForm(written: String) {
        let directory = HostDirectory([written: ["B.test."]])

        #expect(directory.address(for: "api.test.", at: now) == "b.test")
        #expect(directory.addresses(for: "Api.test") == ["b.test"])
        directory.mark("b.test.", at: now)
        #expect(directory.isMarked("B.TEST", at: now))
        directory.setAddresses([], for: "api.test")
        #expect(directory.addresses(for: written).isEmpty)
    }

    @Test("service RE-04 with the reference's settings the host itself stands in when every address is marked")
    func allMarkedReference() {
        let directory = HostDirectory(["svc.test": ["192.168.0.1"]], marking: .dataLoader)
        directory.mark("192.168.0.1", at: now)

        #expect(directory.address(for: "svc.test", at: now) == "svc.test")
        #expect(directory.isMarked("192.168.0.1", at: now.advanced(by: .seconds(3599))))
        #expect(directory.address(for: "svc.test", at: now.advanced(by: .seconds(3600))) == "192.168.0.1")
    }

    @Test("policies PL-32 when every address is marked, the one marked longest ago is tried")
    func allMarked() {
        let directory = HostDirectory(["svc.test": ["a", "b", "c"]])
        directory.mark("b", at: now)
        directory.mark("a", at: now.advanced(by: .seconds(1)))
        directory.mark("c", at: now.advanced(by: .seconds(2)))

        #expect(directory.address(for: "svc.test", at: now.advanced(by: .seconds(3))) == "b")
    }

    @Test("the app marks and unmarks by hand; a mark holds for every host and outlives a new list")
    func byHand() {
        let directory = HostDirectory(["one.test": ["a", "b"], "two.test": ["a", "c"]])
        directory.mark("a", at: now)
        directory.mark("unknown", at: now)

        #expect(directory.address(for: "one.test", at: now) == "b")
        #expect(directory.address(for: "two.test", at: now) == "c")
        #expect(!directory.isMarked("unknown", at: now))
        directory.setAddresses(["a", "d"], for: "one.test")
        #expect(directory.address(for: "one.test", at: now) == "d")
        directory.unmark("a")
        #expect(directory.address(for: "one.test", at: now) == "a")
        directory.setAddresses([], for: "one.test")
        #expect(directory.address(for: "one.test", at: now) == "one.test")
    }
}

@Suite(.timeLimit(.minutes(5)))
struct HostsInterceptorTests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()
    private let events = EventRecorder()

    private var call: Call { Call(time: time, random: SeededRandom(seed: 1), events: [events]) }

    private func send(_ request: Request, _ links: any Interceptor...) async throws(LoadingError) -> Response {
        try await Chain(links, transport: transport).send(request, call: call)
    }

    private func answer(_ host: String?, _ answer: ScriptedResponse) -> ScriptedTransport.Rule {
        transport.on("to \(host ?? "itself")") { request in
            guard case .host(let name, _) = request.destination else { return host == nil }
            return name == host
        }.respond(answer)
    }

    @Test("service SV-07 service D-07 dials the address of the list while the request keeps its own")
    func dialsElsewhere() async throws {
        _ = answer("192.168.0.1", .status(200))
        let hosts = AttemptInterceptor(hosts: HostDirectory(["svc.example.com": ["192.168.0.1"]]))

        let response = try await send(Request("https://svc.example.com/thing"), hosts)

        #expect(transport.requests[0].url.absoluteString == "https://svc.example.com/thing")
        #expect(transport.requests[0].destination == .host("192.168.0.1", port: nil))
        #expect(response.request.url.absoluteString == "https://svc.example.com/thing")
        #expect(events.story.contains { $0.contains("hostChosen") })
    }

    @Test("service SV-30 a redirect goes through the list, with its headers unchanged where its target may have them")
    func redirects() async throws {
        transport.on(.get, "http://start.test/").respond(.status(302, headers: ["Location": "http://localhost/x"]))
        transport.on(.get, "http://localhost/x").respond(.status(200))
        let hosts = AttemptInterceptor(hosts: HostDirectory(["localhost": ["newhost"]]))

        let request = try Request("http://start.test/", headers: ["Test-Header": "1"])
        var policy = RedirectPolicy()
        policy.credentialOrigins = [try Origin("http://localhost")]
        _ = try await send(request, HopInterceptor(redirects: policy), hosts)

        #expect(transport.requests.map(\.destination) == [nil, .host("newhost", port: nil)])
        #expect(transport.requests[1].headers["Test-Header"] == "1")
    }

    @Test(
        "service D-07 policies PL-34 a refused connection marks by itself, and the same attempt goes on to the backup"
    )
    func failsOver() async throws {
        _ = answer(nil, refused)
        _ = answer("backup.test", .status(200))
        let directory = HostDirectory(["svc.test": ["svc.test", HostDirectory.Address("backup.test", port: 8443)]])
        let hosts = AttemptInterceptor(hosts: directory)

        let first = try await send(Request("https://svc.test/"), hosts)
        let response = try await send(Request("https://svc.test/"), hosts)

        #expect(first.status == 200 && response.status == 200)
        let backup = Request.Destination.host("backup.test", port: 8443)
        #expect(transport.requests.map(\.destination) == [nil, backup, backup])
        #expect(transport.requests.allSatisfy { $0.url.host() == "svc.test" })
        #expect(directory.isMarked("svc.test", at: time.now))
    }

    @Test("service D-07 the request keeps its name, so an authoriser for that host still claims it after a 401")
    func keepsAuthoriser() async throws {
        _ = answer("10.0.0.1", .status(401)).then(.status(200))
        let number = Locked(0)
        let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://svc.test")) {
            (_, _) throws(LoadingError) in
            .init(
                Secret(
                    "token-\(number.withLock { number in number += 1; return number })"
                )
            )
        }

        let response = try await send(
            Request("https://svc.test/"),
            AttemptInterceptor(hosts: HostDirectory(["svc.test": ["10.0.0.1"]])),
            AttemptInterceptor(authorisers: [authoriser])
        )

        #expect(response.status == 200)
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer token-1", "Bearer token-2"])
    }

    @Test("policies PL-34 traffic is back at the primary within one interval, by one probe")
    func comesBack() async throws {
        let primary = answer(nil, refused).then(.status(200))
        _ = answer("backup.test", .status(200))
        let hosts = AttemptInterceptor(hosts: HostDirectory(["svc.test": ["svc.test", "backup.test"]]))
        _ = try await send(Request("https://svc.test/"), hosts)
        for _ in 0..<5 { _ = try await send(Request("https://svc.test/"), hosts) }
        #expect(primary.givenCount == 1)

        time.advance(by: .seconds(30))
        _ = try await send(Request("https://svc.test/"), hosts)
        _ = try await send(Request("https://svc.test/"), hosts)

        #expect(primary.givenCount == 3)
        #expect(events.events.count { if case .hostRecovered = $0 { true } else { false } } == 1)
    }

    @Test("policies PL-31 while one call finds out whether an address is back, the others go past it")
    func probesAlone() async throws {
        let gate = Signal()
        let primary = answer(nil, refused).then(.status(200).after(gate))
        _ = answer("backup.test", .status(200))
        let hosts = AttemptInterceptor(hosts: HostDirectory(["svc.test": ["svc.test", "backup.test"]]))
        _ = try await send(Request("https://svc.test/"), hosts)
        time.advance(by: .seconds(30))

        async let probe = send(Request("https://svc.test/"), hosts)
        try await gate.arrivals(atLeast: 1)
        for _ in 0..<3 { _ = try await send(Request("https://svc.test/"), hosts) }

        #expect(primary.givenCount == 2)
        gate.raise()
        _ = try await probe
    }

    @Test("policies PL-31 a 503 with Retry-After is for the rate limiter and marks no address; one without marks")
    func heedsRetryAfter() async throws {
        _ = answer(nil, .status(503, headers: ["Retry-After": "3"])).then(.status(503))
        let directory = HostDirectory(["svc.test": ["svc.test", "backup.test"]])

        _ = try await send(Request("https://svc.test/"), AttemptInterceptor(hosts: directory))
        #expect(!directory.isMarked("svc.test", at: time.now))
        _ = try await send(Request("https://svc.test/"), AttemptInterceptor(hosts: directory))
        #expect(directory.isMarked("svc.test", at: time.now))
    }

    @Test("policies PL-30 a port of the list is dialled, the host itself with its own port is not a detour")
    func ports() async throws {
        transport.onAnyRequest().respond(.status(200))
        let directory = HostDirectory(["svc.test": [HostDirectory.Address("svc.test", port: 443)]])

        _ = try await send(Request("https://svc.test/"), AttemptInterceptor(hosts: directory))
        directory.setAddresses([HostDirectory.Address("[::1]", port: 8443)], for: "svc.test")
        _ = try await send(Request("https://svc.test/"), AttemptInterceptor(hosts: directory))

        #expect(transport.requests.map(\.destination) == [nil, .host("::1", port: 8443)])
    }

    @Test(
        "policies PL-33 an entry that is a host of its own is called under its own name, without the other's credentials"
    )
    func hostOfItsOwn() async throws {
        transport.onAnyRequest().respond(.status(200, headers: ["Set-Cookie": "mirror=1"]))
        let jar = CookieJar()
        jar.insert(Cookie(name: "sid", value: "1", domain: "svc.test"), at: time.date)
        let mirror = HostDirectory.Address("mirror.test", port: 8443, isHostOfItsOwn: true)
        let links: [any Interceptor] = [
            AttemptInterceptor(hosts: HostDirectory(["svc.test": [mirror]])), ExchangeInterceptor(jar: jar),
            AttemptInterceptor(authorisers: [
                Authorisation.Bearer(token: "svc", scope: try Authorisation.Scope("https://svc.test")),
                Authorisation.Bearer(
                    token: "mirror",
                    scope: try Authorisation.Scope("https://mirror.test:8443"),
                    identifier: "m"
                ),
            ]),
        ]
        let chain = Chain(links, transport: transport)

        for _ in 0..<2 { _ = try await chain.send(Request("https://svc.test/a?b=c"), call: call) }

        #expect(
            transport.requests.map(\.url.absoluteString) == Array(repeating: "https://mirror.test:8443/a?b=c", count: 2)
        )
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer mirror", "Bearer mirror"])
        #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, "mirror=1"])
        #expect(transport.requests.allSatisfy { $0.destination == nil })
    }

    @Test("a host of its own gets its name and port, and neither credentials nor the name of the other")
    func ownHost() async throws {
        transport.onAnyRequest().respond(.status(200))
        let address = HostDirectory.Address("mirror.test", port: 8443, isHostOfItsOwn: true)
        let hosts = AttemptInterceptor(hosts: HostDirectory(["svc.example.com": [address]]))
        let headers =
            ["Authorization": "Bearer t", "Cookie": "a=b", "Host": "svc.example.com", "X-Own": "1", "Accept": "a/b"]
            as Headers

        _ = try await send(Request("https://svc.example.com/thing", headers: headers), hosts)

        let sent = transport.requests[0]
        #expect(sent.url.absoluteString == "https://mirror.test:8443/thing" && sent.destination == nil)
        #expect(sent.headers.map(\.name) == ["Accept"])
    }

    @Test("a destination of the caller's own is left alone")
    func leavesDestination() async throws {
        transport.onAnyRequest().respond(.status(200))
        var request = try Request("https://svc.test/")
        request.destination = .unixSocket(path: "/run/x")

        _ = try await send(request, AttemptInterceptor(hosts: HostDirectory(["svc.test": ["other"]])))

        #expect(transport.requests[0].destination == .unixSocket(path: "/run/x"))
    }

    @Test("finding FP-19 forgets what was known of addresses that no list has any more")
    func boundsBreakers() async throws {
        transport.onAnyRequest().respond(refused)
        let directory = HostDirectory(["svc.test": ["a"], "other.test": ["kept"]])
        let hosts = AttemptInterceptor(hosts: directory)
        directory.mark("kept", at: time.now)

        for number in 0..<1_000 {
            directory.setAddresses(
                [HostDirectory.Address("10.0.0.\(number)"), HostDirectory.Address("10.1.0.\(number)")],
                for: "svc.test"
            )
            _ = try? await send(Request("https://svc.test/"), hosts)
        }
        // An exchange that began under an old list ends under a new one.
        let gate = Signal()
        let slow = ScriptedTransport(answering: refused.after(gate))
        let late = Task { [call] in
            _ = try? await Chain([hosts], transport: slow).send(Request("https://svc.test/"), call: call)
        }
        try await gate.arrivals(atLeast: 1)
        directory.setAddresses(["b"], for: "svc.test")
        gate.raise()
        await late.value

        // The call has gone on to the address of the new list.
        #expect(directory.knownAddressCount == 2)
        #expect(directory.isMarked("kept", at: time.now))
        directory.setAddresses([], for: "other.test")
        #expect(directory.knownAddressCount == 1)
        directory.setAddresses([], for: "svc.test")
        #expect(directory.knownAddressCount == 0)
    }
}
