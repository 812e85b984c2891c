import LadeCore
import LadeExchange
import Testing

@testable import LadeWire

/// The proxies that settings and variables name.
@Suite("Proxies of settings and environment", .timeLimit(.minutes(5)))
struct ProxyTests {
    private static func found(_ value: String, _ variable: String = "all_proxy") throws -> EnvironmentProxies.Found {
        let proxies = EnvironmentProxies([variable: value])
        return try #require(proxies.proxy(isSecure: true, host: "h.test", port: 443))
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var value: String
        var kind: Proxy.Kind
        var host: String
        var port: UInt16
        var user: String?
        var password: String?
        var testDescription: String { value }

        init(
            _ value: String,
            _ kind: Proxy.Kind,
            _ host: String,
            _ port: UInt16,
            _ user: String? = nil,
            _ password: String? = nil
        ) {
            (self.value, self.kind, self.host, self.port) = (value, kind, host, port)
            (self.user, self.password) = (user, password)
        }
    }

    private static let rows = [
        Row("http://p.test:3128", .http, "p.test", 3_128), Row("p.test:3128", .http, "p.test", 3_128),
        Row("P.test", .http, "p.test", 1_080), Row("HTTP://p.test/", .http, "p.test", 1_080),
        Row("https://p.test", .https, "p.test", 443), Row("https://p.test:8443/x?y#z", .https, "p.test", 8_443),
        Row("socks5://10.0.0.1:9", .socks5(resolvesNames: false), "10.0.0.1", 9),
        Row("socks5h://[2001:db8::1]:9", .socks5(resolvesNames: true), "2001:db8::1", 9),
        Row("socks5h://[2001:db8::1]", .socks5(resolvesNames: true), "2001:db8::1", 1_080),
        Row("http://me:pw@p.test:1", .http, "p.test", 1, "me", "pw"), Row("me@p.test:1", .http, "p.test", 1, "me", ""),
        Row("http://m%3Ae:p%40%2Fw@p.test:1", .http, "p.test", 1, "m:e", "p@/w"),
        Row("http://me:a:b@c@p.test:1", .http, "p.test", 1, "me", "a:b@c"),
        Row("http://:@p.test:1", .http, "p.test", 1, "", ""),
    ]

    @Test("wire WR-65 reads a variable of the environment", arguments: rows)
    func reads(row: Row) throws {
        let proxy = try Proxy(Self.found(row.value))
        #expect(proxy.kind == row.kind)
        #expect(proxy.host == row.host)
        #expect(proxy.port == row.port)
        #expect(proxy.credentials?.user == row.user)
        #expect(proxy.credentials?.password.reveal() == row.password)
        #expect(!proxy.name.contains("pw") && proxy.name.hasSuffix("(from all_proxy)"))
    }

    @Test(
        "wire WR-65 a variable that names no proxy is an error with its name, and without its value",
        arguments: [
            ("ftp://me:secret@p.test:1", "ftp"), ("socks4://me:secret@p.test", "socks4"), ("http://me:secret@", "host"),
            ("http://me:secret@p.test:0", "port"), ("http://me:secret@p.test:65536", "port"),
            ("http://me:secret@p.test:x", "port"), ("http://me:secret@p.test:", "port"),
            ("http://me:secret@[::1", "host"),
            ("://me:secret@p.test", "protocol"),
        ]
    )
    func refuses(value: String, reason: String) throws {
        let found = try Self.found(value, "https_proxy")
        let error = #expect(throws: LoadingError.self) { try Proxy(found) }
        guard case .invalidSetting(let name, let text)? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(name == "https_proxy")
        #expect(text.contains(reason), "\(text)")
        #expect(!"\(error as Any)".contains("secret"))
    }

    @Test("SOCKS 5 takes credentials of 255 bytes, and longer ones are an invalid setting", arguments: [255, 256])
    func longCredentials(count: Int) {
        var settings = TransportSettings.ProxyChoice.Proxy(.socks5, host: "p.test", port: 1)
        settings.credentials = .init(user: String(repeating: "x", count: count), password: "secret")
        if count > 255 {
            #expect(throws: LoadingError.self) { try Proxy(settings) }
        } else {
            #expect(throws: Never.self) { try Proxy(settings) }
        }
    }

    @Test("the settings' SOCKS 5 proxy resolves names, and credentials are Basic")
    func settings() throws {
        var settings = TransportSettings.ProxyChoice.Proxy(.socks5, host: "[::1]", port: 9)
        #expect(try Proxy(settings).kind == .socks5(resolvesNames: true))
        #expect(try Proxy(settings).host == "::1")
        #expect(try Proxy(settings).authorization == nil)
        settings.kind = .http
        settings.credentials = .init(user: "Aladdin", password: "open sesame")
        // RFC 7617 §2.
        #expect(try Proxy(settings).authorization == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
    }

    @Test(
        "finding PT-4 exceptions count for host and port, in the settings as in the environment",
        arguments: [
            ("intern.test:8080", "http://intern.test:8080/", true), ("intern.test:8080", "http://intern.test/", false),
            ("intern.test:8080", "https://a.intern.test:8080/", true), ("intern.test:80", "http://intern.test/", true),
            ("intern.test:80", "https://intern.test/", false), ("intern.test:443", "https://intern.test/", true),
            ("intern.test", "http://intern.test:8080/", true), (".test", "http://intern.test:8080/", true),
            ("10.0.0.0/8", "http://10.1.2.3:81/", true), ("10.0.0.7:8080", "http://10.0.0.7/", false),
            ("[2001:db8::7]:8080", "http://[2001:db8::7]:8080/", true),
            ("[2001:db8::7]:8080", "http://[2001:db8::7]/", false), ("*", "https://intern.test/", true),
        ]
    )
    func exceptions(entry: String, address: String, isDirect: Bool) throws {
        var settings = TransportSettings()
        let exchange = try Exchange(
            Request(address),
            call: Call(),
            rules: Exchange.Rules(settings),
            lane: .direct
        )
        let variables = ["http_proxy": "p.test:1", "https_proxy": "p.test:1", "no_proxy": "other.test,\(entry)"]
        settings.proxy = .environment
        let environment = try ProxyRules(settings, environment: variables)
        #expect(try (environment.proxy(for: exchange) == nil) == isDirect)

        settings.proxy = .proxy(.init(.http, host: "p.test", port: 1, exceptions: ["other.test", entry]))
        #expect(try (ProxyRules(settings).proxy(for: exchange) == nil) == isDirect)
    }

    @Test("only an HTTPS proxy has a TLS peer, which is marked as a proxy")
    func peer() throws {
        #expect(try Proxy(Self.found("http://p.test")).peer == nil)
        let peer = try #require(try Proxy(Self.found("https://[::1]:1")).peer)
        #expect(peer.isProxy && peer.isAddress && peer.host == "::1")
    }
}
