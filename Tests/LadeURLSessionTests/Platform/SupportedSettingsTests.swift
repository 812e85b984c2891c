import Foundation
import LadeCore
import Testing

@testable import LadeURLSession

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)))
struct SupportedSettingsTests {
    private func refusedSetting(
        environment: [String: String] = [:],
        _ change: (inout TransportSettings) -> Void
    ) -> String? {
        var settings = TransportSettings()
        change(&settings)
        do {
            try settings.checkSupport(environment: EnvironmentProxy(environment))
            return nil
        } catch {
            guard case .invalidSetting(let name, _) = error.kind else { return "another error" }
            return name
        }
    }

    @Test("settings that no URLSession can carry out are refused by name")
    func refused() {
        #expect(refusedSetting { _ in } == nil)
        #expect(refusedSetting { $0.tls.clientIdentity = .init(certificateFile: "/c") } == "tls.clientIdentity")
        #expect(refusedSetting { $0.tls.revocationLists = ["/c"] } == "tls.revocationLists")
        #expect(refusedSetting { $0.connections.total = 5 } == "connections.total")
        #expect(refusedSetting { $0.connections.streamsPerHost = 5 } == "connections.streamsPerHost")
        #expect(refusedSetting { $0.connections.idleLife = .seconds(1) } == "connections.idleLife")
        #expect(refusedSetting { $0.tolerances = .foldedFields } == "tolerances")
        #expect(refusedSetting { $0.decodesContent = false } == "decodesContent")
    }

    #if canImport(FoundationNetworking)
        @Test("settings of trust are refused where certificates cannot be checked: transport TR-70 TR-72 TR-75")
        func refusedTrust() {
            #expect(refusedSetting { $0.tls.trustsSystemAuthorities = false } == "tls.trustsSystemAuthorities")
            #expect(refusedSetting { $0.tls.authorities = [.file("/ca")] } == "tls.authorities")
            let pin = "sha256/" + Data(count: 32).base64EncodedString()
            #expect(refusedSetting { try? $0.tls.pins.pin([pin], for: "example.com") } == "tls.pins")
            #expect(refusedSetting { $0.tls.pinScope = .chain } == "tls.pinScope")
            #expect(refusedSetting { $0.tls.verification = .unsafelyAcceptEveryCertificate } == "tls.verification")
            #expect(refusedSetting { $0.tls.minimumVersion = .tls1_3 } == "tls.minimumVersion")
        }

        @Test("transport TR-57 a proxy can come from the environment only, and cannot be escaped")
        func proxies() {
            let proxy = TransportSettings.ProxyChoice.proxy(.init(.http, host: "proxy", port: 1))
            #expect(refusedSetting { $0.proxy = proxy } == "proxy")
            #expect(refusedSetting { $0.proxy = .direct } == nil)
            #expect(refusedSetting(environment: ["no_proxy": "a"]) { $0.proxy = .direct } == nil)
            #expect(refusedSetting(environment: ["NO_PROXY": "a"]) { $0.proxy = .direct } == nil)
            #expect(refusedSetting(environment: ["http_proxy": "http://p"]) { $0.proxy = .direct } == "proxy")
        }
    #endif

    @Test(
        "cache CA-04 the configuration keeps nothing between requests, follows the limit per host and has no time-outs"
    )
    func configuration() {
        let configuration = URLSessionConfiguration.default
        var settings = TransportSettings()
        settings.connections.perHost = 3
        settings.apply(to: configuration)
        #expect(configuration.urlCache == nil)
        #expect(configuration.httpCookieStorage == nil)
        #expect(configuration.httpCookieAcceptPolicy == .never)
        #expect(!configuration.httpShouldSetCookies)
        #expect(configuration.urlCredentialStorage == nil)
        #expect(configuration.httpMaximumConnectionsPerHost == 3)
        #expect(configuration.timeoutIntervalForRequest == TransportSettings.never)
        #expect(configuration.timeoutIntervalForResource == TransportSettings.never)
    }

    @Test(
        "a request to this machine that a proxy would get is noticed",
        arguments: [
            ("http://localhost/", ["http_proxy": "p"], true),
            ("http://127.0.0.1:8080/", ["http_proxy": "p"], true),
            ("http://[::1]/", ["http_proxy": "p"], true),
            ("http://a.localhost/", ["all_proxy": "p"], true),
            ("https://localhost/", ["HTTPS_PROXY": "p"], true),
            ("https://localhost/", ["http_proxy": "p"], false),
            ("http://localhost/", ["HTTP_PROXY": "p"], false),
            ("http://localhost/", ["http_proxy": ""], false),
            ("http://localhost/", ["http_proxy": "p", "no_proxy": "a, localhost"], false),
            ("http://localhost/", ["http_proxy": "p", "no_proxy": ".localhost"], false),
            ("http://localhost/", ["http_proxy": "p", "no_proxy": "..localhost"], true),
            ("http://a.localhost/", ["http_proxy": "p", "no_proxy": "localhost"], false),
            ("http://a.localhost/", ["http_proxy": "p", "no_proxy": ".Localhost"], false),
            ("http://localhost/", ["http_proxy": "p", "no_proxy": "ocalhost"], true),
            ("http://localhost/", ["http_proxy": "p", "NO_PROXY": "*"], false),
            ("http://localhost/", ["http_proxy": "p", "no_proxy": "a,*"], true),
            ("http://127.0.0.1/", ["http_proxy": "p", "no_proxy": "127.0.0.1"], false),
            ("http://127.0.0.1/", ["http_proxy": "p", "no_proxy": ".127.0.0.1"], true),
            ("http://127.0.0.1/", ["http_proxy": "p", "no_proxy": "0.0.1"], true),
            ("http://localhost/", ["http_proxy": "p", "no_proxy": "example.com"], true),
            ("http://example.com/", ["http_proxy": "p"], false),
        ] as [(String, [String: String], Bool)]
    )
    func loopback(_ address: String, _ environment: [String: String], _ expected: Bool) throws {
        let url = try #require(URL(string: address))
        #expect(EnvironmentProxy(environment).capturesLoopback(url) == expected)
    }
}
