import LadeCore
import LadePolicies
import LadeTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ServiceKeyTests {
    @Test(
        "policies PL-20 uses host, effective port and first path component as the default key",
        arguments: [
            ("https://API.example.com/v1/shows?x=1", "api.example.com:443/v1"),
            ("https://api.example.com:443/v1", "api.example.com:443/v1"),
            ("http://api.example.com", "api.example.com:80/"),
            ("http://api.example.com/", "api.example.com:80/"),
            ("http://api.example.com//a/b", "api.example.com:80/a"),
            ("http://api.example.com.:8080/a", "api.example.com:8080/a"),
            ("http://api.example.com:1?x=/y", "api.example.com:1/"), ("http://[::1]:65535/a#b", "[::1]:65535/a"),
            ("data:,x", "data:"), ("file:///etc/hosts", ":0/etc"),
        ]
    )
    func takesHostPortAndFirstComponent(url: String, key: String) throws {
        #expect(try ServiceKey(Request(url)).description == key)
    }

    @Test(
        "finding UF-3 one key per host and port is a rule with a name",
        arguments: [
            ("https://API.example.com/a/b", "api.example.com:443"),
            ("https://api.example.com/c?d", "api.example.com:443"),
            ("http://api.example.com:8080", "api.example.com:8080"), ("https://[::1]/x", "[::1]:443"),
            ("data:,x", "data:"),
        ]
    )
    func perHost(address: String, key: String) throws {
        #expect(ServiceKey.perHost(try Request(address)).description == key)
    }

    @Test("finding UF-3 five a second for a host are five over all of its paths, and the error names the key")
    func ratePerHost() async throws {
        let time = VirtualTime()
        var limits = RateLimits(default: .perSecond(5))
        limits.keyRule = ServiceKey.perHost
        let limiter = try RateLimiter(limits, time: time, random: SeededRandom(seed: 1))

        for path in ["a", "b", "c", "d"] {
            let request = try Request("https://svc.test/\(path)")
            try await time.runAutomatically { try await limiter.start(request, call: Call(time: time))?.finish() }
        }

        #expect(time.now == Instant(nanoseconds: 600_000_000))
        let error = LoadingError(.rateLimited(key: "svc.test:443", wait: .seconds(5)))
        #expect(error.description.contains("svc.test:443"))
    }
}
