import Testing

@testable import LadeCore

/// The grammar of the hosts that no proxy is used for.
@Suite("Proxy exceptions", .timeLimit(.minutes(5)))
struct ProxyExceptionsTests {
    struct Row: CustomTestStringConvertible {
        var entry: String
        var excepted: [String]
        var others: [String]
        var testDescription: String { entry }
    }

    static let rows: [Row] = [
        Row(entry: "*", excepted: ["a.test", "192.0.2.1", "[::1]"], others: []),
        Row(entry: "a.test", excepted: ["a.test", "A.TEST.", "b.a.test"], others: ["ba.test", "test", "a.test.b"]),
        Row(entry: ".a.test", excepted: ["a.test", "b.a.test"], others: ["ba.test"]),
        Row(entry: "A.Test.", excepted: ["a.test"], others: ["b.test"]),
        Row(entry: "*.a.test", excepted: ["b.a.test", "c.b.a.test"], others: ["a.test", "ba.test"]),
        Row(entry: "bücher.test", excepted: ["xn--bcher-kva.test", "bücher.test"], others: ["bucher.test"]),
        Row(entry: "192.0.2.7", excepted: ["192.0.2.7", "0xC0.0.2.7"], others: ["192.0.2.70", "a.192.0.2.7"]),
        Row(entry: "192.0.2.", excepted: ["192.0.2.0", "192.0.2.255"], others: ["192.0.3.1", "192.0.20.1"]),
        Row(entry: "10.", excepted: ["10.1.2.3"], others: ["100.1.2.3"]),
        Row(entry: "192.0.2.0/24", excepted: ["192.0.2.0", "192.0.2.255"], others: ["192.0.3.0"]),
        Row(entry: "192.0.2.128/25", excepted: ["192.0.2.128"], others: ["192.0.2.127"]),
        Row(entry: "0.0.0.0/0", excepted: ["192.0.2.1"], others: ["[::1]", "a.test"]),
        Row(entry: "2001:db8::7", excepted: ["[2001:db8:0::7]", "2001:DB8::7"], others: ["[2001:db8::8]"]),
        Row(entry: "[2001:db8::7]", excepted: ["[2001:db8::7]"], others: ["[2001:db8::8]"]),
        Row(entry: "2001:db8::/32", excepted: ["[2001:db8:1::1]"], others: ["[2001:db9::1]", "192.0.2.1"]),
        Row(entry: "a.test:8080", excepted: ["a.test:8080", "b.a.test:8080"], others: ["a.test", "a.test:80"]),
        Row(entry: "192.0.2.7:8080", excepted: ["192.0.2.7:8080"], others: ["192.0.2.7"]),
        Row(entry: "[2001:db8::7]:8080", excepted: ["[2001:db8::7]:8080"], others: ["[2001:db8::7]"]),
    ]

    /// Whether a host, with the port after its last colon or 443, is excepted.
    private func isExcepted(_ host: String, _ exceptions: ProxyExceptions) throws -> Bool {
        let isBare = host.hasSuffix("]") || host.split(separator: ":").count > 2 && !host.hasPrefix("[")
        let colon = isBare ? nil : host.lastIndex(of: ":")
        let port = colon.flatMap { Int(host[host.index(after: $0)...]) } ?? 443
        return exceptions.covers(String(colon.map { host[..<$0] } ?? host[...]), port: port)
    }

    @Test(
        "finding LF-16 an entry excepts what the documented grammar says, in settings and in no_proxy",
        arguments: rows
    )
    func excepts(row: Row) throws {
        let settings = try ProxyExceptions(["other.test", row.entry])
        let (environment, ignored) = ProxyExceptions.reading("other.test, \(row.entry)")

        #expect(ignored.isEmpty)
        for exceptions in [settings, environment] {
            for host in row.excepted { #expect(try isExcepted(host, exceptions), "\(host)") }
            for host in row.others { #expect(try !isExcepted(host, exceptions), "\(host)") }
        }
    }

    @Test(
        "finding LF-16 an unknown entry is refused in settings, and skipped in no_proxy",
        arguments: [
            "a..b", "ex*", "a.*", "**", "192.0.2.0/33", "192.0.2.0/x", "a.test/8", "a.test:0", "a.test:65536",
            "a.test:x",
            "[::1", "2001:db8::/129", "1.2.3.4.5", "http://a.test", "a b", "[a.test]", "192.0.300.", "*.192.0.2.1",
            "/8", ":80",
        ]
    )
    func unknown(entry: String) throws {
        let error = #expect(throws: LoadingError.self) { try ProxyExceptions(["a.test", entry]) }
        guard case .invalidSetting(name: "proxy.exceptions", _)? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        guard !entry.contains(" ") else { return }
        let (exceptions, ignored) = ProxyExceptions.reading("a.test,\(entry),b.test")
        #expect(ignored == [entry])
        #expect(exceptions.covers("a.test", port: 80))
        #expect(exceptions.covers("b.test", port: 80))
    }

    static let environments: [([String: String], Bool, String?)] = [
        (["http_proxy": "http://p:1"], false, "p:1 (from http_proxy)"), (["http_proxy": "http://p:1"], true, nil),
        (["HTTP_PROXY": "http://p:1"], false, nil), (["HTTPS_PROXY": "p:1"], true, "p:1 (from HTTPS_PROXY)"),
        (["https_proxy": "u:secret@p:1/", "HTTPS_PROXY": "q:1"], true, "p:1 (from https_proxy)"),
        (["ALL_PROXY": "socks5://p:1"], false, "p:1 (from ALL_PROXY)"),
        (["http_proxy": "", "all_proxy": "p:1"], false, "p:1 (from all_proxy)"),
        (["http_proxy": "p:1", "no_proxy": "a.test"], false, nil),
        (["http_proxy": "p:1", "NO_PROXY": "*.test"], false, nil),
        (["http_proxy": "p:1", "no_proxy": "", "NO_PROXY": "a.test"], false, nil),
        (["http_proxy": "p:1", "no_proxy": "b.test ex* a.test:80"], false, nil), ([:], false, nil),
    ]

    @Test(
        "finding CF-18 the proxy of the environment is that of curl, and its name says which variable it is from",
        arguments: environments
    )
    func environment(variables: [String: String], isSecure: Bool, name: String?) {
        let proxies = EnvironmentProxies(variables)
        #expect(proxies.proxy(isSecure: isSecure, host: "a.test", port: isSecure ? 443 : 80)?.name == name)
        #expect(proxies.proxy(isSecure: isSecure, host: "localhost", port: 80) == nil)
    }

    @Test("finding CF-18 exceptions that are given replace those of the environment, also by none")
    func replaced() throws {
        let variables = ["http_proxy": "p:1", "no_proxy": "a.test"]
        let none = EnvironmentProxies(variables, exceptions: ProxyExceptions())
        let other = EnvironmentProxies(variables, exceptions: try ProxyExceptions(["b.test"]))

        #expect(none.proxy(isSecure: false, host: "a.test", port: 80) != nil)
        #expect(other.proxy(isSecure: false, host: "a.test", port: 80) != nil)
        #expect(other.proxy(isSecure: false, host: "b.test", port: 80) == nil)
    }
}
